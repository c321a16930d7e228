"""Derivations as they go out: a tree as a stream wants it, and where each leaf comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import NamedTuple, TextIO

from microcosm.cli import output
from microcosm.cli.output import can_show, is_terminal, printable, styled, width
from microcosm.givens.facts import Evidence, GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation
from microcosm.logic.derivation import Conclusion, Derivation, Fold, from_the_leaves, tree_lines
from microcosm.logic.rule import ABSENT
from microcosm.logic.rule_grammar import ASCII, PAPER, Signs
from microcosm.queries.events import Named, caption
from microcosm.text.names import quote
from microcosm.text.statement import is_default


class Style(NamedTuple):
    """What `stream` asks for; `columns` is None where long lines are no trouble (a pipe, a file)."""

    signs: Signs
    colour: bool
    columns: int | None
    prose: int

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """The style of a stream as it is now."""
        fits = can_show("⊢₀⊬⊩⊮├─└│✓✗≤·", stream)
        columns = width(stream)
        return cls(
            PAPER if fits else ASCII, styled(stream), columns if is_terminal(stream) else None, columns
        )

    def readable(self, text: str) -> str:
        """`text` with turnstiles in these signs, and nothing in it that a terminal would obey."""
        if self.signs is ASCII:
            for theirs, ours in ((PAPER.underivable, ASCII.underivable), (PAPER.derivable, ASCII.derivable)):
                for judgement in ("initial", "online", "offline"):
                    text = text.replace(theirs[judgement], ours[judgement])
        return printable(text)

    def dim(self, text: str) -> str:
        """Text that stands back."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Text that stands out."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour and text else text


def proof_lines(
    derivation: Derivation, *, stream: TextIO, provenance: Provenance | None = None
) -> Iterator[str]:
    """The lines of the tree of `derivation` as `stream` wants them. Cost: linear in the derivation."""
    look = Style.of(stream)
    if provenance is None:
        return tree_lines(derivation, look)
    fold = None if output.wanted["full"] else Fold(provenance.run, "--full shows them")
    lines = tree_lines(derivation, look, provenance.of, words=provenance.words, fold=fold)
    return map(partial(output.plain, stream=stream), lines)


GIVEN = "given"


class Provenance:
    """Looks up what stands behind the leaves of derivations from some `Givens`; constant time a leaf."""

    def __init__(self, *givens: Givens, at_most: str = "≤") -> None:
        self._facts = [GivenFacts(each) for each in givens]
        self._at_most = at_most
        self._table = next((each.events for each in givens if each.events is not None), None)
        self._introduced: set[str] = set()

    def afresh(self) -> Provenance:
        """The provenance for another text, in which no event was mentioned yet. Cost: constant."""
        other = copy(self)
        other._introduced = set()
        return other

    def words(self, event: str) -> str:
        """An event by its name; where it is mentioned for the first time with its words, if it has any."""
        if event in self._introduced:
            return quote(event)
        self._introduced.add(event)
        return caption(event, self._table)

    def fact(self, conclusion: Conclusion) -> str:
        """A conclusion without its judgement, its events with their words."""
        if conclusion.right is None:
            return self.words(conclusion.left)
        return f"{self.words(conclusion.left)} {conclusion.relation} {self.words(conclusion.right)}"

    def run(self, link: Derivation) -> str | None:
        """What a link has in common with the next ones of its process; None of a link between two."""
        if link.premises or link.conclusion.right is None:
            return None
        text = self.rests_on(link)
        return text if text.startswith("process ") or text == "internal events" else None

    def of(self, leaf: Derivation) -> str:
        """What a leaf that rests on a given rests on; just `given` where nothing more is known."""
        fact = leaf.conclusion
        where = "" if fact.right is None else self._places(fact.left, fact.right)
        if leaf.rule == ABSENT:
            return where if fact.relation == "_" else ""
        text = self.rests_on(leaf)
        return f"{text}; {where}" if where else text

    def rests_on(self, leaf: Derivation, *, clause: bool = False) -> str:
        """What a leaf rests on, without its place in a log; or as a clause: `it is given (album.mc:4)`,
        `of their clocks (…)`.
        """
        fact = leaf.conclusion
        if fact.right is None:
            return GIVEN
        return self.between(fact.left, Relation(fact.relation), fact.right, clause=clause)

    def _places(self, *events: str) -> str:
        """Where a log tells of some events, in the order of the events; empty where nobody knows."""
        table = self._table
        found = [] if table is None else [place for each in events if (place := table.place(each))]
        return printable(" and ".join(dict.fromkeys(found)))

    def between(self, left: str, relation: Relation, right: str, *, clause: bool = False) -> str:
        """What `left relation right` rests on, read in either direction where it is symmetric."""
        for facts in self._facts:
            for one, other in ((left, right), (right, left))[: 2 if relation.symmetric else 1]:
                for evidence in facts.evidence(one, relation, other):
                    return self._words(evidence, facts.givens.clocks, left, right, clause)
        return "it is given" if clause else GIVEN

    def _words(
        self, evidence: Evidence, clocks: Mapping[str, Clock], left: str, right: str, clause: bool
    ) -> str:
        match evidence.kind:
            case "internal":
                return "both are internal events, in this order" if clause else "internal events"
            case "token":
                token = f"token {quote(evidence.source or '')}"
                return f"both are under {token}, which no two hold at once" if clause else token
            case "clocks":
                read = "; ".join(self._clocks(clocks[left], clocks[right]))
                return f"of their clocks ({read})" if clause else f"clocks {read}"
            case _:
                source = given_from(evidence.source)
                return f"it is given ({source.removeprefix(f'{GIVEN}, ')})" if clause else source

    def _clocks(self, a: Clock, b: Clock) -> Iterator[str]:
        if a.beside(b):
            process, (low, high) = quote(a.process), sorted((a.own, b.own))
            if low == high:
                yield f"{process}:{low} = {process}:{high}, in program order"
            else:
                yield f"{process}:{low} < {process}:{high}"
        elif a.reached_by(b):
            yield self._seen(a, self._at_most, b)
        elif b.reached_by(a):
            yield self._seen(b, self._at_most, a)
        else:
            yield self._seen(a, ">", b)
            yield self._seen(b, ">", a)

    @staticmethod
    def _seen(one: Clock, sign: str, other: Clock) -> str:
        process = quote(one.process)
        seen = other.entries.get(one.process, 0)
        return f"{process}:{one.own} {sign} {quote(other.process)} sees {process}:{seen}"


def given_from(source: str | None) -> str:
    """`given, album.mc:4` for a place in a file, the source itself (`message m7`) where it was stated."""
    if source is None:
        return GIVEN
    shown = printable(source)
    return f"{GIVEN}, {shown}" if is_default(source) else shown


def events_field(
    known: Named | Givens, *names: str, proofs: Iterable[Derivation | None] = ()
) -> dict[str, object]:
    """The JSON field `events`: the words and places of the events of an answer; empty where there are none.

    Cost: linear in the distinct steps of the proofs.
    """
    table = (known if isinstance(known, Givens) else known.givens).events
    if table is None:
        return {}
    named = dict.fromkeys(names)
    for proof in proofs:
        for node in () if proof is None else from_the_leaves(proof):
            named[node.conclusion.left] = None
            if node.conclusion.right is not None:
                named[node.conclusion.right] = None
    rows = ((name, table.row(name)) for name in named)
    return {
        "events": {
            name: {"label": row.label, "file": row.file or None, "line": row.line or None}
            for name, row in rows
            if row is not None
        }
    }
