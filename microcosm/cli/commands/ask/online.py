"""Questions about one pair of events: `online`, `why`, `why-not`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.engine.proofs.why_not import PremiseLine
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
    from microcosm.cli.commands.ask.check import warn_if_inconsistent

    reading.distinct(left, right)
    known = reading.load(file, rules, strict=strict)
    verdict, proof = known.online(left, right, must_exist=must_exist), known.why(left, right)
    note_unknown_events(known, left, right)
    warn_if_inconsistent(known, file)
    if json:
        output.emit({**answer(left, right, verdict, proof), **unknown_events(known, left, right)})
    else:
        show_verdict(left, verdict, right)
        if proof is not None:
            output.say("")
            show_proof(known, proof)
    return exit_of(verdict)


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
        from microcosm.cli.commands.ask import offline as decisions

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
        output.emit({**answer(left, right, verdict, proof), **unknown_events(known, left, right)})
    else:
        _explain(known, file, left, verdict, right, proof)
    return exit_of(verdict)


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
        from microcosm.cli.show.explain import statement

        said = statement(asked.left, str(asked.relation), asked.right)
        output.say(f"{said} {'holds' if found.holds else 'does not hold'}")
        output.say_all(premise_lines(found.premises))
    return exits.REFUTED if found.holds else exits.HOLDS


def premise_lines(premises: Sequence[PremiseLine]) -> Iterator[str]:
    """Each rule with its premises under it, ticked or crossed; `or` between two ways to apply it."""
    from microcosm.cli.show.style import Style

    style = Style.of(sys.stdout)
    heading, first = "", ""
    for premise in premises:
        margin = "  " * premise.depth
        text = style.readable(premise.text)
        concludes = f" for {style.readable(premise.conclusion)}" if premise.depth else ""
        if heading != f"{margin}{premise.rule}{concludes}":
            heading, first = f"{margin}{premise.rule}{concludes}", text
            yield from ("", heading)
        elif text == first:
            yield f"{margin}  or"
        yield f"{margin}  {style.signs.yes if premise.holds else style.signs.no} {text}"


def answer(left: str, right: str, verdict: Relation, proof: Derivation | None) -> dict[str, object]:
    """The JSON fields of a verdict with its derivation."""
    from microcosm.cli.show.lemmas import proof_object

    return {
        "pair": [left, right],
        "verdict": verdict.value,
        "derivation": None if proof is None else proof_object(proof),
    }


def exit_of(verdict: Relation) -> int:
    """0 where something is known, 3 for `?` and silence."""
    from microcosm.givens.relation import Relation

    return exits.UNDECIDED if verdict in (Relation.UNKNOWN, Relation.SILENT) else exits.HOLDS


def show_verdict(left: str, verdict: Relation, right: str) -> None:
    """The verdict for people; what `?` and silence mean is said."""
    from microcosm.cli.show import explain
    from microcosm.givens.relation import Relation

    output.say(explain.verdict_line(left, verdict, right))
    if verdict is Relation.UNKNOWN:
        show_prose(explain.UNKNOWN)
    elif verdict is Relation.SILENT:
        show_prose(explain.SILENT)


def show_proof(known: Microcosm, proof: Derivation) -> None:
    """The tree of a derivation, its leaves with their provenance."""
    from microcosm.cli.show.provenance import Provenance
    from microcosm.cli.show.style import Style, proof_lines

    provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    output.say_all(proof_lines(proof, stream=sys.stdout, provenance=provenance))


def show_prose(text: str) -> None:
    """A paragraph, wrapped to the width of the terminal (80 columns in a pipe)."""
    columns = output.width(sys.stdout)
    text = output.plain(text, sys.stdout)
    output.say(fill(text, columns, break_long_words=False, break_on_hyphens=False))


def unknown_events(known: Microcosm, *events: str) -> dict[str, object]:
    """The JSON field that lists those of some events that nothing names; empty where there are none."""
    unknown = [event for event in dict.fromkeys(events) if event not in known]
    return {"unknown_events": unknown} if unknown else {}


def note_unknown_events(known: Microcosm, *events: str) -> None:
    """Say which events the microcosm does not know, and which names come near."""
    for told in strangers(known, *events):
        output.note(told)


def strangers(known: Microcosm, *events: str) -> Iterator[str]:
    """What is to be said of those of `events` that the microcosm does not know, a line for each."""
    from microcosm.text.names import quote

    for event in events:
        if known.has_member(event):
            continue
        if event in known:
            yield f"{quote(event)} is named in this microcosm, but nothing relates it to another event"
        else:
            near = known.nearest(event)
            meant = f"; did you mean {' or '.join(map(quote, near))}?" if near else ""
            yield f"{quote(event)} is not in this microcosm{meant}"


def _explain(
    known: Microcosm, file: str, left: str, verdict: Relation, right: str, proof: Derivation | None
) -> None:
    from shlex import join

    from microcosm.cli.show import explain
    from microcosm.cli.show.provenance import Provenance
    from microcosm.cli.show.style import Style

    if proof is None:
        show_verdict(left, verdict, right)
        asked = explain.statement(left, "<", right)
        output.say("", "What each rule lacks:", f"  {join(['microcosm', 'why-not', file, asked])}")
        return
    provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    asked = explain.statement(left, str(verdict), right)
    for sentence in explain.sentences(asked, proof, provenance):
        show_prose(sentence)
    output.say("")
    show_proof(known, proof)
