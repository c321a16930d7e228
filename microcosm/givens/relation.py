"""Relations between two events, correspondences `a R b` (Worlds of Events, 2.1, 2.3, 3.8), and clocks.

Vector times are up to n² givens in few words. A clock is kept as recorded. What it says about another clock
is decided by comparing two numbers; an absent entry is 0. Clocks of different executions say nothing of each
other: neither counted the other's events.

A stamp, a Lamport time or an interval of a physical clock, proves no order; it only says of some pairs that
the first event is not before the second (theory/reading-worlds.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from microcosm.givens.exact import Number


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


@dataclass(frozen=True, slots=True)
class Clock:
    """The vector time recorded at an event of `process`.

    `ticked` says that the event itself advanced its process's component, so that whoever has seen
    that value has seen the event. An own component of 0 is never ticked. `execution` names the execution
    whose events the clock counts, where a microcosm has clocks of several.
    """

    process: str
    entries: dict[str, int]
    ticked: bool = True
    execution: str | None = None

    @property
    def own(self) -> int:
        """The component of the event's own process."""
        return self.entries.get(self.process, 0)

    def beside(self, other: Clock) -> bool:
        """Whether `other` is of the same process of the same execution."""
        return self.process == other.process and self.execution == other.execution

    def stated(self) -> list[object]:
        """The clock as JSON has it: `[process, entries, ticked]`, and the execution where it names one."""
        found: list[object] = [self.process, dict(self.entries), self.ticked]
        return found if self.execution is None else [*found, self.execution]

    def reached_by(self, other: Clock) -> bool:
        """Whether `other`, of another process, has seen this event: x′ > x, or x′ = x and ticked."""
        if self.execution != other.execution:
            return False
        seen = other.entries.get(self.process, 0)
        return seen > self.own or (seen == self.own and self.ticked and self.own > 0)

    def missed_by(self, other: Clock) -> bool:
        """Whether `other`, of another process, cannot have seen this event: x′ < x."""
        return self.execution == other.execution and other.entries.get(self.process, 0) < self.own


def between(a: Clock, b: Clock) -> Relation | None:
    """What the clocks of two events of *different* processes say, or None.

    >>> a, b = Clock("p", {"p": 2}), Clock("q", {"p": 1, "q": 1})
    >>> between(a, b), between(Clock("p", {"p": 1}), b)
    (Relation.CONCURRENT, Relation.BEFORE)
    >>> print(between(Clock("p", {"p": 1}, execution="run 1"), Clock("q", {"q": 1}, execution="run 2")))
    None
    """
    if a.reached_by(b):
        return Relation.BEFORE
    if b.reached_by(a):
        return Relation.AFTER
    if a.missed_by(b) and b.missed_by(a):
        return Relation.CONCURRENT
    return None


Stamp: TypeAlias = "int | tuple[Number, Number]"
"""A Lamport time, or a physical interval [earliest, latest]; in exact numbers, as they were written."""


def too_late(first: Stamp | None, second: Stamp | None) -> bool:
    """Whether an event with the first stamp cannot be before one with the second."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return first[0] > second[1]
    return isinstance(first, int) and isinstance(second, int) and first >= second
