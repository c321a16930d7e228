"""Questions about one pair of events: `online`, `why`, `why-not`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output
from microcosm.cli.show.verdict import (
    note_unknown_events,
    premise_lines,
    show_proof,
    show_prose,
    show_verdict,
    unknown_events,
    verdict_exit,
    verdict_fields,
)

if TYPE_CHECKING:
    from microcosm.givens.relation import Relation
    from microcosm.logic.derivation import Derivation
    from microcosm.state.microcosm import Microcosm


app = typer.Typer()


@app.command("online")
def online(
    file: options.File,
    left: options.First,
    right: options.Second,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """The verdict on two events, and its proof.

    The verdict is < (A happens before B), >, || (concurrent), <> (causally related, direction not
    known), ? (unknown), or silence, where no rule says anything. Exit 0, or 3 for ? and silence.

    \b
    Example:
      microcosm online album.mc unshare upload
    """
    from microcosm.cli import reading
    from microcosm.cli.show.offline import warn_if_inconsistent

    reading.distinct(left, right)
    known = reading.load(file, rules, strict=strict)
    verdict, proof = known.online(left, right, must_exist=must_exist), known.why(left, right)
    note_unknown_events(known, left, right)
    warn_if_inconsistent(known, file)
    if json:
        output.emit({**verdict_fields(left, right, verdict, proof), **unknown_events(known, left, right)})
    else:
        show_verdict(left, verdict, right)
        if proof is not None:
            output.say("")
            show_proof(known, proof)
    return verdict_exit(verdict)


@app.command("why")
def why(
    file: options.File,
    left: options.First,
    right: options.Second,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="'C < D'",
            help="Explain through what this given brought (Strng, Weak); 'c <> d := c < d' for an update "
            "(Up-S, Up-W).",
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Why the offline verdict is what it is (see `offline`).")
    ] = False,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Why the verdict is what it is, in words and as a tree.

    Exits as `online` does: 0, or 3 for ? and silence.

    \b
    Examples:
      microcosm why album.mc unshare view
      microcosm why album.mc unshare view --since 'upload < view'
    """
    from microcosm.cli import reading

    if offline:
        from microcosm.cli.commands import offline as decisions

        if since is not None:
            raise exits.UsageError("--since explains an online verdict, not an offline one")
        return decisions.offline(
            file, left, right, json=json, rules=rules, strict=strict, must_exist=must_exist
        )
    reading.distinct(left, right)
    change = None if since is None else reading.change(since)
    known = reading.load(file, rules, strict=strict)
    verdict = known.online(left, right, must_exist=must_exist)
    proof = None if change is None else known.explain_evolution(left, right, change[0], update=change[1])
    if proof is None:
        proof = known.why(left, right)
        if since is not None and proof is not None:
            output.note(f"no evolution rule leads to this verdict from what was judged without {since}")
    note_unknown_events(known, left, right)
    if json:
        output.emit({**verdict_fields(left, right, verdict, proof), **unknown_events(known, left, right)})
    else:
        _explain(known, file, left, verdict, right, proof)
    return verdict_exit(verdict)


@app.command("why-not")
def why_not(
    file: options.File,
    judgement: Annotated[
        str, typer.Argument(metavar="'A < B'", help="What does not hold: events and one of < > || <> ?")
    ],
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Why a relation is not the verdict, rule by rule.

    Each rule that could conclude it is shown with its premises, those that hold and those that do not.
    Exit 0 if it does not hold, 1 if it does.

    \b
    Examples:
      microcosm why-not album.mc 'view < upload'
      microcosm why-not album.mc 'upload ? "log in"'
    """
    from microcosm.cli import reading

    asked = reading.question(judgement)
    known = reading.load(file, rules, strict=strict)
    found = known.why_not(asked.left, asked.relation, asked.right, must_exist=must_exist)
    note_unknown_events(known, asked.left, asked.right)
    if json:
        premises = [{"rule": p.rule, "text": p.text, "holds": p.holds} for p in found.premises]
        unknown = unknown_events(known, asked.left, asked.right)
        output.emit({"holds": found.holds, "premises": premises, **unknown})
    else:
        from microcosm.cli.show.verdict import statement

        said = statement(asked.left, str(asked.relation), asked.right)
        output.say(f"{said} {'holds' if found.holds else 'does not hold'}")
        output.say_all(premise_lines(found.premises))
    return exits.REFUTED if found.holds else exits.HOLDS


def _explain(
    known: Microcosm, file: str, left: str, verdict: Relation, right: str, proof: Derivation | None
) -> None:
    from shlex import join

    from microcosm.cli.show.proofs import Provenance, Style
    from microcosm.cli.show.verdict import sentences, statement

    if proof is None:
        show_verdict(left, verdict, right)
        asked = statement(left, "<", right)
        output.say("", "What each rule lacks:", f"  {join(['microcosm', 'why-not', file, asked])}")
        return
    provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    asked = statement(left, str(verdict), right)
    for sentence in sentences(asked, proof, provenance):
        show_prose(sentence)
    output.say("")
    show_proof(known, proof)
