"""A microcosm as it comes out of a log."""

from __future__ import annotations

from dataclasses import dataclass

from microcosm.givens.givens import Givens

COUNTED = ("events", "processes", "messages", "correspondences", "clocks")
"""What is told in one line of what a log gave."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """A microcosm and what it was made of.

    `events` counts the events of the trace (of the view, where one process was asked for), those
    included that nothing relates to another: they are `isolated` and the microcosm does not name
    them. `messages` are those with an id or, in a log without ids, the receptions that merged clocks
    show. `outside` counts the events that the process could not know. `correspondences` are those
    stated one by one: external ones and consecutive internal ones. `reported` counts irregularities
    by kind.
    """

    givens: Givens
    events: int
    processes: int
    messages: int
    correspondences: int
    isolated: int
    outside: int
    reported: dict[str, int]

    def counts(self) -> dict[str, object]:
        """What was found, in numbers."""
        found: dict[str, object] = {name: getattr(self, name) for name in COUNTED[:-1]}
        return {**found, "clocks": len(self.givens.clocks), "reported": dict(self.reported)}

    def summary(self) -> str:
        """The numbers on one line."""
        counts = self.counts()
        return ", ".join(f"{counts[name]:,} {name}" for name in COUNTED)
