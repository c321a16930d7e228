"""What clocks recorded: vector times, up to n² givens in few words, and stamps (theory/reading-worlds.md).

A clock is kept as recorded. What it says about another clock is decided by comparing two numbers;
an absent entry is 0. Clocks of different executions say nothing of each other: neither counted the other's
events.

A stamp, a Lamport time or an interval of a physical clock, proves no order; it only says of some pairs that
the first event is not before the second (calculus of Worlds of Events, extended by negative givens).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from microcosm.givens.relation import Relation

if TYPE_CHECKING:
    from microcosm.givens.exact import Number


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
