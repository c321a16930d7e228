"""What may be: `offline` and `possible` of one pair, with proofs and worlds; `check` of all that is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option, Typer

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.cli.show import offline as show
from microcosm.cli.show.proofs import events_field
from microcosm.cli.show.verdict import note_unknown_events, proof_tree, unknown_events, words_of
from microcosm.engine.ground import Universe
from microcosm.engine.lowering import closes_givens
from microcosm.errors import MissingLibrary, Stopped
from microcosm.givens.givens import Givens
from microcosm.queries.possible import Worlds, shown_by
from microcosm.state.evolve import clash_node
from microcosm.state.microcosm import Microcosm
from microcosm.text.names import quote
from microcosm.tuning import kept

if TYPE_CHECKING:
    from microcosm.logic.rulebook import RuleBook
    from microcosm.queries.offline import Offline
    from microcosm.state.opening import Source
    from microcosm.worlds.search import Stop


app = Typer()

PROFILE_HELP = (
    "How the rules are read: full, or paper (Worlds of Events: assumed only where online is silent)."
)


@app.command("offline")
def offline(
    asked: options.Pair,
    profile: Annotated[str, Option(metavar="full|paper", help=PROFILE_HELP)] = "full",
    depth: Annotated[
        str, Option(metavar="N|exact", help="How deep assumptions nest; 0: none at all.")
    ] = "exact",
    limit: options.Limit = None,
    certificate: Annotated[
        str | None,
        Option(metavar="OUT", help="Where only a solver decided: write OUT.cnf and its refutation OUT.drat."),
    ] = None,
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
    from microcosm.queries.offline import PROFILES

    if profile not in PROFILES:
        raise exits.UsageError(f"there is no profile {profile!r}: it is {' or '.join(PROFILES)}")
    known, _, pair = reading.pair_in(asked, strict=strict, must_exist=must_exist)
    nests = options.natural("--depth", depth, {"exact": None})
    return decided(known, *pair, limit=limit, certificate=certificate, profile=profile, depth=nests)


NOTHING: dict[str, object] = {
    "verdict": None,
    "refuted": [],
    "possible": [],
    "exact": True,
    "derivations": {},
}
"""What is said of a pair where no world fits."""


def decided(
    known: Microcosm,
    left: str,
    right: str,
    *,
    limit: float | None = None,
    certificate: str | None = None,
    **how: Any,
) -> int:
    """Answer with what cannot be and what must be of two events; the exit code.

    `how` are the options of `Microcosm.offline`.
    """
    from microcosm.queries.offline import Inconsistent

    try:
        with output.progress("deciding", units="steps") as steps:
            found = known.offline(left, right, stop=steps.stopping(options.stop_after(limit)), **how)
    except Inconsistent as problem:
        answer = {"pair": [left, right], **NOTHING, **show.inconsistent_fields(problem)}
        return output.answer(answer, show.inconsistent_lines(known, problem), exits.REFUTED)
    note_unknown_events(known, *(event for event in (left, right) if event not in known))
    written = certify(known, left, right, found, certificate)

    def fields() -> dict[str, object]:
        proofs = found.derivations.values()
        named = {**unknown_events(known, left, right), **events_field(known, left, right, proofs=proofs)}
        return {**show.offline_fields(left, right, found), **written, **named}

    code = exits.REFUTED if found.refuted else exits.UNDECIDED
    code = code if found.relation is None else exits.HOLDS
    return output.answer(fields, show.shown_offline(known, left, right, found), code)


def certify(known: Microcosm, left: str, right: str, found: Offline, out: str | None) -> dict[str, object]:
    """Write the certificate of what has no derivation; the JSON field that names it, if there is such."""
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


@app.command("possible")
def possible(
    asked: options.Pair,
    limit: options.Limit = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Which of <, > and || can be true of two events, and a world for each.

    The answer is exact: what is not listed is true in no world that fits the file, and what is listed is
    true in one. (Where the file states an ordering of messages, or a log to be complete that leaves out what
    such a log says, what is listed may be impossible all the same; the answer says so.) Exit 0; 1 if no
    world fits the file, with the givens that contradict one another; 3 if --limit came first.

    \b
    Example:
      microcosm possible album.mc notify like
    """
    known, files, pair = reading.pair_in(asked, strict=strict, must_exist=must_exist)
    return may_be(known, files, *pair, limit=limit)


def may_be(
    known: Microcosm, files: Sequence[str], left: str, right: str, *, limit: float | None = None
) -> int:
    """Answer with what is possible of two events of what some files give; the exit code."""
    stop = options.stop_after(limit)
    with output.progress("searching", units="steps") as steps:
        found = known.possible(left, right, steps.stopping(stop))
    note_unknown_events(known, left, right)
    if found.ignored:
        output.warn(show.too_wide(known.givens, found.ignored))
    conflict = {}
    if not found.relations:
        conflict["conflict"] = show.say_inconsistent(", ".join(files), known.givens, stop)
    if output.for_machines():
        fields = {**show.possible_fields(left, right, found), **unknown_events(known, left, right)}
        output.emit({**fields, **events_field(known, left, right), **conflict})
    elif found.relations:
        output.say(*show.possible_lines(left, right, found, words_of(known)))
    if not found.relations:
        return exits.REFUTED
    return exits.HOLDS if found.decided else exits.UNDECIDED


UNDECIDED = "undecided: the search was stopped before it was known whether any world fits"


@app.command("check")
def check(files: options.Files, limit: options.Limit = None, strict: options.StrictLog = False) -> int:
    """Whether all that is given can be true together.

    Finds every contradiction, also those that only a search by cases sees, and names as few givens as
    contradict one another. Exit 0 if some world fits each file, 1 if not.

    \b
    Example:
      microcosm check phone.mc laptop.mc
    """
    book = reading.rulebook()
    return exits.worst(
        [_check(each, book, strict, options.stop_after(limit)) for each in reading.sources(files)]
    )


def _check(source: Source, book: RuleBook, strict: bool, stop: Stop | None) -> int:
    from microcosm.queries.conflict import conflict
    from microcosm.queries.offline import are_shipped

    file = source.name
    try:
        shown: exits.InconsistentGivens | None = None
        with kept():
            givens = reading.given_in(source, strict=strict)
            line = cache(lambda: Universe.of(givens))
            fits = shown_by(givens, lambda names: line().places(names))
        if not (fits and closes_givens(book)):  # else there is a world, and the rules say no more
            try:
                reading.microcosm_of(givens, book)
            except exits.InconsistentGivens as error:
                shown, fits = error, False
        with output.progress(f"checking {file}", units="steps") as steps:
            stop = steps.stopping(stop)
            fits = fits or (shown is None and Worlds(givens).fits(stop))
            found, proof = None, None
            try:
                found = None if fits else conflict(givens, stop)
                if shown is not None:
                    proof = clash_node(shown)
                elif not fits or givens.beyond_worlds or not are_shipped(book):
                    proof = Microcosm(givens, rules=book).contradiction(stop=stop)
                unfit = show.NO_WORLD if found else show.beyond(givens)
            except Stopped:
                if fits:  # of orderings and complete logs worlds know nothing
                    raise
                unfit = show.NO_WORLD if found else show.NONE_FITS
        consistent = fits and proof is None
    except Stopped:
        fields = show.check_fields(Givens(), None, None, None)
        return output.answer(fields, f"{output.printable(file)}: {UNDECIDED}", exits.UNDECIDED)
    except exits.EXPECTED as error:
        return exits.failure(error, "microcosm check")

    def lines() -> Iterator[str]:
        if shown is not None:
            yield output.printable(f"{file}: {shown}")
            yield from exits.side_lines(shown, sys.stdout, givens)
            return
        yield f"{output.printable(file)}: {show.FITS if consistent else unfit}"
        yield from show.conflict_lines(found or ())
        if proof is not None:
            yield ""
            yield from proof_tree(reading.microcosm_of(givens, book), proof)

    stated = partial(show.check_fields, givens, consistent, found, proof)
    return output.answer(stated, lines(), exits.holding(consistent))
