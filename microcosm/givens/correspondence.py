"""A correspondence: one fact `a R b` about two events (seed 003, Definition 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from microcosm.givens.relation import Relation, read_relation

GIVEN_RELATIONS = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)
"""The relations that an external correspondence may state; `>` is read as the converse of `<`."""


@dataclass(frozen=True, slots=True)
class Correspondence:
    """`left relation right`, with the place or message it came from (`source`, not compared).

    Where a correspondence is handed to a microcosm, `relation` may also be a sign or a name (`checked`).

    >>> Correspondence("b", Relation.AFTER, "a").normal()
    Correspondence(left='a', relation=Relation.BEFORE, right='b', source=None)
    """

    left: str
    relation: Relation
    right: str
    source: str | None = field(default=None, compare=False)

    def checked(self) -> Correspondence:
        """The same with a relation for a sign or a name. Raises `Undefined` for what is no relation.

        >>> Correspondence("a", "||", "b").checked()  # type: ignore[arg-type]
        Correspondence(left='a', relation=Relation.CONCURRENT, right='b', source=None)
        """
        relation = read_relation(self.relation)
        return self if relation is self.relation else replace(self, relation=relation)

    def normal(self) -> Correspondence:
        """The same fact without `>`: `b > a` becomes `a < b`, `b !> a` becomes `a !< b`."""
        if self.relation in (Relation.AFTER, Relation.NOT_AFTER):
            return self.converse()
        return self

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
