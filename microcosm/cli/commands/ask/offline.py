"""`offline`: what cannot be and what must be of one pair, with proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.queries.offline import Offline
    from microcosm.state.microcosm import Microcosm

app = typer.Typer()

PROFILES = ("full", "paper")

PROFILE_HELP = "How the rules are read: full, or paper (assumptions only where online says nothing)."


@app.command("offline")
def offline(
    file: options.File,
    left: options.First,
    right: options.Second,
    profile: Annotated[str, typer.Option("--profile", metavar="full|paper", help=PROFILE_HELP)] = "full",
    depth: Annotated[
        str, typer.Option("--depth", metavar="N|exact", help="How deep assumptions nest; 0: none at all.")
    ] = "exact",
    limit: options.Limit = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            "--certificate",
            metavar="OUT",
            help="Where only a solver decided: write OUT.cnf and its refutation OUT.drat.",
        ),
    ] = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """What cannot be and what must be of two events, with proofs.

    Each of <, >, || and <> may be refuted; <, >, || or <> may be proved. What is left is possible.
    Exit 0 if a relation is proved, 1 if something is refuted and nothing proved (or the microcosm is
    inconsistent), 3 if nothing is.

    \b
    Examples:
      microcosm offline album.mc view "log in"
      microcosm offline album.mc view "log in" --depth 0 --json
    """
    from microcosm.cli import reading
    from microcosm.cli.show.offline import offline_exit, offline_fields, report_inconsistent, show_offline
    from microcosm.cli.show.verdict import note_unknown_events, unknown_events
    from microcosm.queries.offline import Inconsistent

    if profile not in PROFILES:
        raise exits.UsageError(f"there is no profile {profile!r}: it is {' or '.join(PROFILES)}")
    reading.distinct(left, right)
    known = reading.load(file, rules, strict=strict)
    try:
        found = known.offline(
            left,
            right,
            profile=profile,
            depth=None if depth == "exact" else number(depth),
            stop=options.stop_after(limit),
            must_exist=must_exist,
        )
    except Inconsistent as problem:
        report_inconsistent(known, problem, {"pair": [left, right], "verdict": None} if json else None)
        return exits.REFUTED
    note_unknown_events(known, *(event for event in (left, right) if event not in known))
    written = certify(known, left, right, found, certificate)
    if json:
        unknown = unknown_events(known, left, right)
        output.emit({**offline_fields(left, right, found), **written, **unknown})
    else:
        show_offline(known, left, right, found)
    return offline_exit(found)


def certify(known: Microcosm, left: str, right: str, found: Offline, out: str | None) -> dict[str, object]:
    """Write the certificate of what has no derivation; the JSON field that names it, if there is such."""
    from microcosm import files
    from microcosm.errors import MissingLibrary
    from microcosm.queries.offline import PROVED, REFUTED

    lacking = [
        r for r, as_ in REFUTED.items() if found.derivations.get(str(as_), "") is None and r in PROVED[:3]
    ]
    if not lacking:
        return {}
    try:
        parts = [known.worlds.certificate(left, relation, right) for relation in lacking]
    except MissingLibrary:
        output.note("without python-sat (the extra `sat`) there is no certificate of what has no derivation")
        return {"certificate": None}
    if out is None:
        output.note("what has no derivation has a certificate: --certificate OUT writes it")
        return {"certificate": None}
    from microcosm.text.names import quote

    names = [quote(event) for event in known.worlds.events]
    written = []
    for relation, part in zip(lacking, parts, strict=True):
        kind = ("before", "after", "concurrent")[PROVED.index(relation)]
        name = out if len(lacking) == 1 else f"{out}-{kind}"
        if part is not None:
            assumed = f"c assumed: {quote(left)} {relation} {quote(right)}\n"
            files.write_text(f"{name}.cnf", assumed + part.dimacs(names))
            files.write_text(f"{name}.drat", part.proof())
            written.append(f"{name}.drat")
    return {"certificate": written[0] if len(written) == 1 else written}


def number(text: str) -> int:
    """How deep assumptions nest. Raises `UsageError`."""
    if not text.isascii() or not text.isdigit():
        raise exits.UsageError("--depth is a number from 0 on, or `exact`")
    return int(text)
