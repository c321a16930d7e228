"""Where a given comes from, in a few words: `given, album.mc:4`, `message m7`, `internal events`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from microcosm.cli.output import printable
from microcosm.givens.clock import Clock
from microcosm.givens.facts import Evidence, GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Derivation
from microcosm.text.names import quote
from microcosm.text.statement import is_default

GIVEN = "given"


class Provenance:
    """Looks up what stands behind the leaves of derivations from some `Givens`; constant time a leaf."""

    def __init__(self, *givens: Givens, at_most: str = "≤") -> None:
        self._facts = [GivenFacts(each) for each in givens]
        self._at_most = at_most

    def of(self, leaf: Derivation) -> str:
        """What a leaf that rests on a given rests on; just `given` where nothing more is known."""
        return self._told(leaf, False)

    def reason(self, leaf: Derivation) -> str:
        """What a leaf rests on, as a clause: `it is given (album.mc:4)`, `of their clocks (…)`."""
        return self._told(leaf, True)

    def _told(self, leaf: Derivation, clause: bool) -> str:
        fact = leaf.conclusion
        if fact.right is None:
            return GIVEN
        return self.between(fact.left, Relation(fact.relation), fact.right, clause=clause)

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
