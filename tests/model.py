"""Evolution by hand: which changes of a microcosm are defined, and what is given after them.

A `Givens` changed after Worlds of Events, sections 2 and 6, with the oracle as the judge of contradictions;
nothing of the state or the engine is used.
"""

from __future__ import annotations

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from tests import oracle


class Model:
    """What a microcosm is given, and which changes of it are defined."""

    def __init__(self, givens: Givens, strict: bool) -> None:
        self.givens = givens
        self.strict = strict

    def copy(self) -> Model:
        return Model(self.givens.copy(), self.strict)

    def knows(self, a: str, b: str) -> bool:
        return any({a, b} == {x, y} for x, _, y in oracle.initial(oracle.stated(self.givens)))

    def becomes(self, changed: Givens) -> type[Exception] | None:
        """Adopt `changed` unless it is contradictory; the expected error if it is."""
        if oracle.refusal(oracle.stated(changed), strict=self.strict) is not None:
            return Undefined if oracle.refusal(oracle.stated(changed)) is None else Contradiction
        self.givens = changed
        return None

    def add(self, fact: Correspondence) -> type[Exception] | None:
        if self.strict and self.knows(fact.left, fact.right):
            return Undefined
        changed = self.givens.copy()
        changed.add(fact)
        return self.becomes(changed)

    def update(self, fact: Correspondence) -> type[Exception] | None:
        vague = Correspondence(fact.left, Relation.RELATED, fact.right).key()
        if fact.normal().relation is not Relation.BEFORE or vague not in self.givens.external:
            return Undefined
        changed = self.givens.copy()
        del changed.external[vague]
        changed.add(fact)
        return self.becomes(changed)

    def remove(self, fact: Correspondence) -> type[Exception] | None:
        if fact.key() not in self.givens.external:
            return Undefined
        changed = self.givens.copy()
        del changed.external[fact.key()]
        if self.strict and Model(changed, True).knows(fact.left, fact.right):
            return Undefined
        return self.becomes(changed)

    def append(self, event: str) -> type[Exception] | None:
        if event in self.givens.internal:
            return Undefined
        changed = self.givens.copy()
        changed.internal.append(event)
        return self.becomes(changed)


def same_givens(one: Givens, other: Givens) -> bool:
    """Equal I and equal X, symmetric relations unordered; and whatever else is given."""
    return (
        one.internal == other.internal
        and one.external.keys() == other.external.keys()
        and one.clocks == other.clocks
        and {k: set(v) for k, v in one.tokens.items()} == {k: set(v) for k, v in other.tokens.items()}
    )
