"""Relations between two events, and correspondences: facts `a R b` (Worlds of Events, 2.1, 2.3, 3.8)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NoReturn


class Relation(Enum):
    """How one event stands to another, as a given, a judgement or a verdict.

    The value is the sign used in files and JSON. `AFTER` is only the converse reading of
    `BEFORE`; `UNKNOWN` and `SILENT` are verdicts of a microcosm and never given. The three
    refuted relations say what cannot hold (offline only).

    A relation has no truth value: compare it with a member.

    >>> Relation.UNKNOWN == Relation.SILENT
    False
    >>> bool(Relation.SILENT)
    Traceback (most recent call last):
    ...
    TypeError: a Relation is neither true nor false; compare it, e.g. `verdict is Relation.BEFORE`
    """

    BEFORE = "<"
    AFTER = ">"
    CONCURRENT = "||"
    RELATED = "<>"
    UNKNOWN = "?"
    SILENT = None
    NOT_BEFORE = "!<"
    NOT_AFTER = "!>"
    NOT_CONCURRENT = "!||"
    NOT_RELATED = "!<>"

    def __bool__(self) -> NoReturn:
        raise TypeError("a Relation is neither true nor false; compare it, e.g. `verdict is Relation.BEFORE`")

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is slow

    def __str__(self) -> str:
        return "silent" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Relation.{self.name}"

    @property
    def converse(self) -> Relation:
        """The same fact read from the other event: `<` and `>` swap, the rest are symmetric."""
        return _CONVERSE.get(self, self)

    @property
    def symmetric(self) -> bool:
        """Whether `a R b` says the same as `b R a`."""
        return self not in _CONVERSE

    def at_most_as_accurate_as(self, other: Relation) -> bool:
        """`self ⊑ other` of Definition 3.8: `?` ⊏ `<>` ⊏ `<`, `>`; `?` ⊏ `||`; reflexive.

        Silence and the refuted relations are comparable only to themselves.

        >>> Relation.RELATED.at_most_as_accurate_as(Relation.AFTER)
        True
        >>> Relation.RELATED.at_most_as_accurate_as(Relation.CONCURRENT)
        False
        """
        return self is other or other in MORE_ACCURATE.get(self, ())


_CONVERSE = {
    Relation.BEFORE: Relation.AFTER,
    Relation.AFTER: Relation.BEFORE,
    Relation.NOT_BEFORE: Relation.NOT_AFTER,
    Relation.NOT_AFTER: Relation.NOT_BEFORE,
}

MORE_ACCURATE: dict[Relation, tuple[Relation, ...]] = {
    Relation.UNKNOWN: (Relation.RELATED, Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT),
    Relation.RELATED: (Relation.BEFORE, Relation.AFTER),
}
"""What is strictly more accurate than a relation (Definition 3.8, transitively closed)."""

GIVEN_RELATIONS = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)
"""The relations that an external correspondence may state; `>` is read as the converse of `<`."""


@dataclass(frozen=True, slots=True)
class Correspondence:
    """`left relation right`, with the place or message it came from (`source`, not compared).

    Where one is handed to a microcosm, `relation` may also be a sign or a name (`givens.spelling.checked`).

    >>> Correspondence("b", Relation.AFTER, "a").normal()
    Correspondence(left='a', relation=Relation.BEFORE, right='b', source=None)
    """

    left: str
    relation: Relation
    right: str
    source: str | None = field(default=None, compare=False)

    def normal(self) -> Correspondence:
        """The same fact without `>`: `b > a` becomes `a < b`, `b !> a` becomes `a !< b`."""
        return self.converse() if self.relation in (Relation.AFTER, Relation.NOT_AFTER) else self

    def converse(self) -> Correspondence:
        """The same fact read from the right."""
        return replace(self, left=self.right, relation=self.relation.converse, right=self.left)

    def key(self) -> tuple[str, str, str]:
        """Equal for two spellings of one fact: symmetric relations are unordered, `>` is turned."""
        if self.relation is Relation.BEFORE:
            return (self.left, "<", self.right)
        fact = self.normal()
        left, right = fact.left, fact.right
        if fact.relation.symmetric and right < left:
            left, right = right, left
        return (left, fact.relation.value or "", right)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"
