"""Recorded vector times: up to n² givens in compressed form (docs/reading-003.md, clocks).

A clock is kept as recorded. What it says about another clock is decided by comparing two numbers;
an absent entry is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from microcosm.relations.relation import Relation


@dataclass(frozen=True, slots=True)
class Clock:
    """The vector time recorded at an event of `process`.

    `ticked` says that the event itself advanced its process's component, so that whoever has seen
    that value has seen the event. An own component of 0 is never ticked.
    """

    process: str
    entries: dict[str, int]
    ticked: bool = True

    @property
    def own(self) -> int:
        """The component of the event's own process."""
        return self.entries.get(self.process, 0)

    def reached_by(self, other: Clock) -> bool:
        """Whether `other`, of another process, has seen this event: x′ > x, or x′ = x and ticked."""
        seen = other.entries.get(self.process, 0)
        return seen > self.own or (seen == self.own and self.ticked and self.own > 0)

    def missed_by(self, other: Clock) -> bool:
        """Whether `other`, of another process, cannot have seen this event: x′ < x."""
        return other.entries.get(self.process, 0) < self.own


def between(a: Clock, b: Clock) -> Relation | None:
    """What the clocks of two events of *different* processes say, or None.

    >>> a, b = Clock("p", {"p": 2}), Clock("q", {"p": 1, "q": 1})
    >>> between(a, b), between(Clock("p", {"p": 1}), b)
    (Relation.CONCURRENT, Relation.BEFORE)
    """
    if a.reached_by(b):
        return Relation.BEFORE
    if b.reached_by(a):
        return Relation.AFTER
    if a.missed_by(b) and b.missed_by(a):
        return Relation.CONCURRENT
    return None
