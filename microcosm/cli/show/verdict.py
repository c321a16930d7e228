"""An online verdict as it is answered: in words, as JSON fields, with its proof; and names nobody knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from microcosm.cli import exits, output

if TYPE_CHECKING:
    from microcosm.engine.why_not import PremiseLine
    from microcosm.givens.relation import Relation
    from microcosm.logic.derivation import Derivation
    from microcosm.state.microcosm import Microcosm


def verdict_fields(left: str, right: str, verdict: Relation, proof: Derivation | None) -> dict[str, object]:
    """The JSON fields of a verdict with its derivation."""
    from microcosm.cli.show.lemmas import proof_object

    return {
        "pair": [left, right],
        "verdict": verdict.value,
        "derivation": None if proof is None else proof_object(proof),
    }


def verdict_exit(verdict: Relation) -> int:
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
    """The tree of a derivation on standard output, its leaves with their provenance."""
    output.say_all(proof_tree(known, proof))


def proof_tree(known: Microcosm, proof: Derivation) -> Iterator[str]:
    """The lines of the tree of a derivation, as standard output wants them."""
    from microcosm.cli.show.provenance import Provenance
    from microcosm.cli.show.style import Style, proof_lines

    provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    return proof_lines(proof, stream=sys.stdout, provenance=provenance)


def show_prose(text: str) -> None:
    """A paragraph, wrapped to the width of the terminal (80 columns in a pipe)."""
    columns = output.width(sys.stdout)
    text = output.plain(text, sys.stdout)
    output.say(fill(text, columns, break_long_words=False, break_on_hyphens=False))


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
