"""Whether a single fact is given, and by what: plain and complete, for proofs rest on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from microcosm.givens.clock import between
from microcosm.givens.relation import GIVEN_RELATIONS, Relation

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a fact is given: the kind of given and where it came from."""

    kind: Literal["internal", "external", "clocks", "token"]
    source: str | None = None
    """The provenance of an external correspondence, or the name of the token."""


class GivenFacts:
    """Answers "is `a R b` given, and by what?" for fixed givens.

    Cost: linear in what is given to make; constant for each question.
    """

    def __init__(self, givens: Givens) -> None:
        self.givens = givens
        self.members = frozenset(givens.members())
        self._chain = {event: at for at, event in enumerate(givens.internal)}
        self._end = len(givens.internal)
        self._stated = {event: at for at, event in enumerate(givens.clocks)}
        self._tokens: dict[str, list[str]] = {}
        self._groups = {token: frozenset(group) for token, group in givens.tokens.items()}
        for token, group in givens.tokens.items():
            for event in group:
                self._tokens.setdefault(event, []).append(token)

    def evidence(self, left: str, relation: Relation, right: str) -> Iterator[Evidence]:
        """Each given that states `left relation right` exactly so (`||` and `<>` of X as written)."""
        if left == right:
            return
        if relation is Relation.BEFORE and self._chain.get(left, self._end) < self._chain.get(right, -1):
            yield Evidence("internal")
        stated = self.givens.external if relation in GIVEN_RELATIONS else self.givens.refuted
        for key in ((left, relation.value or "", right), (right, relation.value or "", left)):
            fact = stated.get(key)
            if fact is not None and (fact.left, fact.right) == (left, right):
                yield Evidence("external", fact.source)
        if self._by_clocks(left, right) is relation or (
            relation is Relation.NOT_BEFORE and self._missed(left, right)
        ):
            yield Evidence("clocks")
        if relation is Relation.RELATED:
            for token in self._tokens.get(left, ()):
                if right in self._groups[token]:
                    yield Evidence("token", token)

    def shown(self, left: str, relation: Relation, right: str) -> dict[str, object]:
        """What an `Init` of a fact shows beside its conclusion: nothing, its clocks, or its token."""
        found = next(self.evidence(left, relation, right), None)
        if found is not None and found.kind == "token":
            return {"token": found.source}
        if found is not None and found.kind == "clocks":
            clocks = self.givens.clocks
            return {"clocks": {event: clocks[event].stated() for event in (left, right)}}
        return {}

    def _missed(self, left: str, right: str) -> bool:
        """Whether the clocks show that `left` is not before `right`."""
        a, b = self.givens.clocks.get(left), self.givens.clocks.get(right)
        return a is not None and b is not None and not a.beside(b) and a.missed_by(b)

    def _by_clocks(self, left: str, right: str) -> Relation | None:
        a, b = self.givens.clocks.get(left), self.givens.clocks.get(right)
        if a is None or b is None:
            return None
        if not a.beside(b):
            return between(a, b)
        before = (a.own, self._stated[left]) < (b.own, self._stated[right])
        return Relation.BEFORE if before else Relation.AFTER
