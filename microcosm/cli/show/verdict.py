"""An online verdict as it is answered: in words, as JSON fields, with its proof in sentences and as a tree.

The derivation is the explanation; the sentences only say it. Rules are known by the shape of their steps, so
that other rule files are explained too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from microcosm.cli import exits, output
from microcosm.cli.reading import is_without_messages, may_be_complete
from microcosm.cli.show.proofs import Provenance, Style, events_field, proof_lines
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation, Words, is_transitive, links, proof_object
from microcosm.logic.rule import ABSENT
from microcosm.queries.events import caption
from microcosm.text.names import quote

if TYPE_CHECKING:
    from microcosm.engine.steps import PremiseLine
    from microcosm.state.microcosm import Microcosm


def verdict_fields(
    left: str, right: str, verdict: Relation, proof: Derivation | None, offline: bool = False
) -> dict[str, object]:
    """The JSON fields of a verdict with its derivation."""
    derivation = None if proof is None else proof_object(proof)
    about = {"pair": [left, right], "verdict": verdict.value, "derivation": derivation}
    return about | concluded_field(offline)


def verdict_exit(verdict: Relation) -> int:
    """0 where something is known, 3 for `?` and silence."""
    return exits.UNDECIDED if verdict in (Relation.UNKNOWN, Relation.SILENT) else exits.HOLDS


NO_MESSAGES = (
    "this log names no message, and only messages order what different processes do: --pattern says where a "
    "line names one (docs/five-minutes.md), and a line `know` which events are its two ends"
)
COMPLETE = "if every message of this system is in the log, say --complete: then they are concurrent"


def by_complete(known: Microcosm) -> str:
    """That something was concluded offline, and from what: the log, or some processes, being complete."""
    named = known.givens.complete
    if not isinstance(named, tuple):
        return "concluded offline (⊩), as the log is said to be complete"
    *others, last = map(quote, named)
    which = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return f"concluded offline (⊩), as {which} said to be complete"


def stands(known: Microcosm, left: str, right: str) -> tuple[Relation, bool]:
    """What is shown of two events, and whether that was concluded offline, as the log is said to be complete.

    That is no online conclusion: a later correspondence may take it away (docs/theory/reading-orderings.md).
    """
    if not known.givens.complete:
        return known.online(left, right), False
    from microcosm.queries.batch import ConcludedOffline

    shown = known.concluded.verdict(left, right)
    return (Relation.CONCURRENT, True) if isinstance(shown, ConcludedOffline) else (shown, False)


def proof_of(known: Microcosm, left: str, right: str, *, offline: bool) -> Derivation | None:
    """The proof of what `stands`."""
    return known.concluded.proof(left, right) if offline else known.why(left, right)


def concluded_field(offline: bool) -> dict[str, object]:
    """The JSON field that says that a verdict was concluded offline; empty where it was not."""
    return {"concluded": "offline"} if offline else {}


def hint(known: Microcosm, left: str, verdict: Relation, right: str) -> str | None:
    """What would settle a verdict that says nothing of two events of a log."""
    table = known.givens.events
    if verdict not in (Relation.UNKNOWN, Relation.SILENT) or table is None:
        return None
    if left not in table or right not in table:
        return None
    return COMPLETE if may_be_complete(known) else NO_MESSAGES if is_without_messages(known) else None


def verdict_lines(left: str, verdict: Relation, right: str, words: Words = quote) -> Iterator[str]:
    """The verdict for people; what `?` and silence mean is said."""
    yield verdict_line(left, verdict, right, words)
    if verdict in MEANING:
        yield from prose(MEANING[verdict])


def proof_tree(known: Microcosm, proof: Derivation, provenance: Provenance | None = None) -> Iterator[str]:
    """The tree of a derivation, as standard output wants it, its leaves with their provenance."""
    if provenance is None:
        provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    return proof_lines(proof, stream=sys.stdout, provenance=provenance)


def proof_below(known: Microcosm, proof: Derivation | None) -> Iterator[str]:
    """The tree of a derivation, if there is one, below what was said before."""
    if proof is not None:
        yield ""
        yield from proof_tree(known, proof)


def prose(text: str) -> list[str]:
    """The lines of a paragraph, wrapped to the width of the terminal (80 columns in a pipe)."""
    columns, text = output.width(sys.stdout), output.plain(text, sys.stdout)
    return wrap(text, columns, break_long_words=False, break_on_hyphens=False)


def explained(known: Microcosm, left: str, verdict: Relation, right: str, proof: Derivation) -> Iterator[str]:
    """Why a verdict is what it is: in sentences, each a paragraph, and as a tree."""
    provenance = Provenance(known.givens, at_most=Style.of(sys.stdout).signs.at_most)
    for sentence in sentences(left, verdict, right, proof, provenance):
        yield from prose(sentence)
    yield ""
    yield from proof_tree(known, proof, provenance.afresh())


def premise_lines(premises: Sequence[PremiseLine]) -> Iterator[str]:
    """Each rule with its premises under it, ticked or crossed; `or` between two ways to apply it."""
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


def why_not(
    known: Microcosm, left: str, relation: Relation, right: str
) -> tuple[bool, Callable[[], dict[str, object]], Iterator[str]]:
    """Whether a relation holds, and what each rule that could conclude it lacks: JSON fields, and lines."""
    shown, offline = stands(known, left, right)
    found = known.why_not(left, relation, right)
    holds = found.holds or (offline and relation is shown)

    def fields() -> dict[str, object]:
        named = events_field(known, left, right, *(event for each in found.premises for event in each.events))
        premises = [{"rule": each.rule, "text": each.text, "holds": each.holds} for each in found.premises]
        about = concluded_field(offline) | unknown_events(known, left, right) | named
        return {"holds": holds, "premises": premises, **about}

    def lines() -> Iterator[str]:
        words = words_of(known)
        text = statement(left, str(relation), right, words)
        yield f"{text} {'holds' if holds else 'does not hold'}"
        if offline:
            yield from prose(f"{statement(left, str(shown), right, words)} is {by_complete(known)}")
        yield from premise_lines(known.why_not(left, relation, right, words=words).premises)

    return holds, fields, lines()


def unknown_events(known: Microcosm, *events: str) -> dict[str, object]:
    """The JSON field that lists those of some events that nothing names; empty where there are none."""
    unknown = [event for event in dict.fromkeys(events) if event not in known]
    return {"unknown_events": unknown} if unknown else {}


def note_unknown_events(known: Microcosm, *events: str) -> None:
    """Say which events the microcosm does not know, and which names come near."""
    for note in strangers(known, *events):
        output.note(note)


def strangers(known: Microcosm, *events: str) -> Iterator[str]:
    """What is to be said of those of `events` that the microcosm does not know, a line for each."""
    table = known.givens.events
    for event in events:
        if known.has_member(event):
            continue
        if table is not None and event in table:
            yield f"{words_of(known)(event)} is in the log, but nothing relates it to another event"
        elif event in known:
            yield f"{quote(event)} is named in this microcosm, but nothing relates it to another event"
        else:
            near = known.nearest(event)
            meant = f"; did you mean {' or '.join(map(quote, near))}?" if near else ""
            yield f"{quote(event)} is not in this microcosm{meant}"


IN_WORDS = {
    Relation.BEFORE: "happens before",
    Relation.AFTER: "happens after",
    Relation.CONCURRENT: "concurrent",
    Relation.RELATED: "causally related, in a direction that is not known",
    Relation.UNKNOWN: "unknown",
    Relation.SILENT: "silent",
}

MEANING = {
    Relation.UNKNOWN: "unknown: what is given does not tell how the two stand to each other; "
    "they may well be ordered",
    Relation.SILENT: "silent: no rule says anything about this pair; "
    "it is neither known to be concurrent nor unknown",
}
"""What a verdict that says nothing of a pair means."""

MOST_LINKS = 8
"""A chain of more links is told by its ends; the tree has them all."""

MOST_STEPS = 4
"""So many steps from one `?` to the next are told."""


def verdict_line(left: str, verdict: Relation, right: str, words: Words = quote) -> str:
    """The verdict as people read it: `a < b   (happens before)`; silence has no sign."""
    if verdict is Relation.SILENT:
        return f"{words(left)}, {words(right)}   ({IN_WORDS[verdict]})"
    return f"{words(left)} {verdict} {words(right)}   ({IN_WORDS[verdict]})"


def statement(left: str, sign: str, right: str, words: Words = quote) -> str:
    """`left sign right` as a microcosm file would write it; for people with their `words`."""
    return f"{words(left)} {sign} {words(right)}"


def words_of(*known: Microcosm) -> Words:
    """How the events of microcosms are shown: by name, and with the words of the first log that has some."""
    tables = [each.givens.events for each in known if each.givens.events is not None]
    if len(tables) < 2:
        return partial(caption, table=tables[0] if tables else None)
    return lambda event: caption(event, next((each for each in tables if each.label(event)), None))


def sentences(
    left: str, relation: Relation, right: str, proof: Derivation, provenance: Provenance
) -> Iterator[str]:
    """Why the conclusion of `proof` holds, a sentence at a time, each a paragraph of its own.

    `left relation right` is the verdict as it was asked for: `b > a`, where the proof concludes `a < b`.
    """
    text = ""
    if (left, str(relation)) != (proof.conclusion.left, proof.conclusion.relation):
        text = f"{statement(left, str(relation), right, provenance.words)}, that is "
    node: Derivation | None = proof
    for _ in range(MOST_STEPS):
        if node is None:
            return
        sentence, node = _sentence(node, provenance)
        yield text + sentence
        text = ""
    if node is not None:
        yield "And so on: the tree has every step."


def _sentence(node: Derivation, provenance: Provenance) -> tuple[str, Derivation | None]:
    """One step in words, and the step that is to be told next, if any."""
    evolution = node.evidence.get("evolution")
    if evolution is not None:
        return _evolved(node, _change(evolution), provenance), _next_known(node)
    if node.conclusion.relation != "?":
        return f"{provenance.fact(node.conclusion)}, because {_because(node, provenance)}.", None
    return _unknown(node, provenance)


def _because(node: Derivation, provenance: Provenance) -> str:
    """The reason of a relation that is known: what is given, or a chain of it."""
    node = _ground(node)
    if not node.premises:
        return provenance.rests_on(node, clause=True)
    if is_transitive(node):
        return _chain(links(node), provenance)
    parts = [_cited(premise, provenance) for premise in node.premises]
    return f"{output.listed(parts)} (rule {node.rule})"


def _ground(node: Derivation) -> Derivation:
    """The step below those that only hand a fact on: an approval (In-OK), or the same read from the right."""
    while True:
        known = [premise for premise in node.premises if premise.rule != ABSENT]
        if len(known) != 1 or not _same_pair(node.conclusion, known[0].conclusion):
            return node
        node = known[0]


def _same_pair(one: Conclusion, other: Conclusion) -> bool:
    return one.relation == other.relation and {one.left, one.right} == {other.left, other.right}


def _chain(chain: Sequence[Derivation], provenance: Provenance) -> str:
    if len(chain) <= MOST_LINKS:
        return output.listed([_cited(link, provenance) for link in chain])
    first, last = chain[:2], chain[-1]
    middle = f"{len(chain) - 3} more links"
    parts = [_cited(link, provenance) for link in first]
    return f"of a chain of {len(chain)} links: {', '.join(parts)}, … {middle} …, {_cited(last, provenance)}"


def _cited(node: Derivation, provenance: Provenance) -> str:
    """A premise with what it rests on: `a < b (message m7)`, or the rule that concludes it."""
    below = _ground(node)
    if below.rule == ABSENT:
        return _lacking(below, provenance)
    if not below.premises:
        return f"{provenance.fact(node.conclusion)} ({provenance.rests_on(below)})"
    if is_transitive(below):
        count = len(links(below))
        return f"{provenance.fact(node.conclusion)} (a chain of {count} links)"
    return f"{provenance.fact(node.conclusion)} (rule {below.rule})"


def _unknown(node: Derivation, provenance: Provenance) -> tuple[str, Derivation | None]:
    """A step that concludes `?`: what it rests on, and above all what is absent."""
    fact = provenance.fact(node.conclusion)
    known = [premise for premise in node.premises if premise.rule != ABSENT]
    lacking = [_lacking(premise, provenance) for premise in node.premises if premise.rule == ABSENT]
    again = next((premise for premise in known if premise.conclusion.relation == "?"), None)
    if again is not None and _same_pair(node.conclusion, again.conclusion):
        other = provenance.fact(again.conclusion)
        return f"{fact}, because {other}: unknown reads the same from either side.", again
    if not known:
        why = output.listed(lacking) or "the rule asks for nothing"
        return f"{fact}, because {why} (rule {node.rule}).", None
    parts = [provenance.fact(p.conclusion) if p is again else _cited(p, provenance) for p in known]
    tells = "which together tell nothing of the pair"
    if again is not None:
        tells = "and nothing more is known of the pair"
    without = f"; {output.listed(lacking)}" if lacking else ""
    return f"{fact}, because {output.listed(parts)}, {tells} (rule {node.rule}){without}.", again


def _evolved(node: Derivation, change: str, provenance: Provenance) -> str:
    fact = provenance.fact(node.conclusion)
    known = _next_known(node)
    if known is None:
        absent = output.listed([_lacking(premise, provenance, "could") for premise in node.premises])
        lacking = absent or "the pair was undecided"
        return f"{fact}, because of {change}: before it, {lacking} (rule {node.rule})."
    if _same_pair(node.conclusion, known.conclusion):
        return f"{fact} held before {change}, which takes nothing away (rule {node.rule})."
    before = f"before it, the verdict was {provenance.fact(known.conclusion)}"
    return f"{fact}, because of {change}: {before} (rule {node.rule})."


def _change(evolution: Any) -> str:
    [(kind, (left, sign, right))] = evolution.items()
    what = "addition of" if kind == "add" else f"update of {statement(left, '<>', right)} to"
    return f"the {what} {statement(left, sign, right)}"


def _next_known(node: Derivation) -> Derivation | None:
    return next((premise for premise in node.premises if premise.rule != ABSENT), None)


def _lacking(leaf: Derivation, provenance: Provenance, can: str = "can") -> str:
    """A negative premise: what is absent."""
    fact = leaf.conclusion
    left = provenance.words(fact.left)
    if fact.relation == "not-in" or fact.right is None:
        return f"{left} is not in the microcosm: nothing that is given speaks of it"
    right = provenance.words(fact.right)
    if fact.relation in ("in-both", "none"):
        return f"no event is related to both {left} and {right}"
    if fact.relation == "_":
        return f"no relation between {left} and {right} {can} be derived"
    return f"{left} {fact.relation} {right} {can} not be derived"
