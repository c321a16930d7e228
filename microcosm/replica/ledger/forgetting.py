"""How much a replica keeps: per process, by age, and in all.

What goes is the oldest, and what followed through it of the rest stays as correspondences of its own
(`microcosm.state.forget`). So memory and disk are bounded by what is kept, not by what has happened.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from microcosm.replica.ledger.dots import Dot, DotRun, Stream
from microcosm.replica.ledger.evolution import Add, Append
from microcosm.replica.ledger.ledger import Ledger

SLACK = 8
"""Nothing is forgotten before a bound is passed by one part in so many: forgetting costs what is kept."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Bounds on what a replica keeps; None is no bound. All of them hold, up to one part in eight."""

    window: int | None = None
    """So many events of each process, and so many of no known process."""
    age: float | None = None
    """Nothing that happened longer ago, in seconds by the clock of whoever says when (`at`, `now`)."""
    size: int | None = None
    """So many evolutions in all, without those that cannot be read. Who has said most is forgotten first:
    nobody displaces what others say."""

    def due(self, ledger: Ledger, now: float | None) -> tuple[list[DotRun], list[str]]:
        """What is to be forgotten: of each process the events up to the end of a run, and other events."""
        if self == BOUNDLESS:
            return [], []
        events = {stream: len(numbers) for stream, numbers in ledger.numbers.items()}
        excess = {stream: _excess(count, self.window) for stream, count in events.items()}
        homeless = [event for event in ledger.naming if event not in ledger.places]  # the first named first
        others = _excess(len(homeless), self.window)
        surplus = _excess(len(ledger.held) - len(ledger.newer), self.size)
        if surplus:
            shares = _shares(ledger, surplus)
            for stream, n in excess.items():
                excess[stream] = max(n, ceil(events[stream] * shares.get(stream[0], 0.0)))
            homeless, foreign = _by_author(ledger, homeless, shares)
            others = max(others, foreign)
        if self.age is not None and now is not None:
            late = now - self.age
            for stream, numbers in ledger.numbers.items():
                old = 0
                while old < len(numbers) and self._before(ledger, stream, numbers[old], late):
                    old += 1
                if old > (len(numbers) - old) // SLACK:
                    excess[stream] = max(excess[stream], old)
            aged = [event for event in homeless if self._said_before(ledger, event, late)]
            if len(aged) > (len(homeless) - len(aged)) // SLACK:
                homeless = _first(aged, homeless)
                others = max(others, len(aged))
        marks = [
            DotRun(*stream, 1, ledger.numbers[stream][count - 1] + 1)
            for stream, count in excess.items()
            if count
        ]
        return sorted(marks), homeless[:others]

    def _before(self, ledger: Ledger, stream: Stream, number: int, late: float) -> bool:
        append = ledger.held[Dot(*stream, number)]
        assert isinstance(append, Append)
        return append.at is not None and append.at < late

    def _said_before(self, ledger: Ledger, event: str, late: float) -> bool:
        """Whether all that is given of an event was given before."""
        for key in ledger.naming[event]:
            for dot in ledger.facts[key]:
                add = ledger.held[dot]
                assert isinstance(add, Add)
                if add.at is None or add.at >= late:
                    return False
        return True


def _shares(ledger: Ledger, surplus: int) -> dict[str, float]:
    """Which part of what is held of each author is too much: of those who have most, down to a level."""
    held = Counter(dot.replica for dot in ledger.held if dot not in ledger.newer)
    left, level = surplus, 0
    counts = sorted(held.values(), reverse=True)
    for among, (count, following) in enumerate(pairwise([*counts, 0]), 1):
        level = following
        if among * (count - following) >= left:
            level = count - ceil(left / among)
            break
        left -= among * (count - following)
    return {name: (count - level) / count for name, count in held.items() if count > level}


def _by_author(ledger: Ledger, homeless: list[str], shares: dict[str, float]) -> tuple[list[str], int]:
    """Events that stand in no chain, those first that go, and how many: of each author its share.

    An event is of the author that holds least of those who name it, so that nobody displaces what others say.
    """
    of: dict[str, list[str]] = {}
    for event in homeless:
        names = {dot.replica for key in ledger.naming[event] for dot in ledger.facts[key]}
        of.setdefault(min(names, key=lambda name: (shares.get(name, 0.0), name)), []).append(event)
    going = [e for name, events in of.items() for e in events[: ceil(len(events) * shares.get(name, 0.0))]]
    return _first(going, homeless), len(going)


def _first(some: list[str], events: list[str]) -> list[str]:
    """Events, some of them first. Cost: linear."""
    return [*dict.fromkeys((*some, *events))]


BOUNDLESS = Forgetting()
"""Everything is kept."""


def _excess(count: int, most: int | None) -> int:
    return count - most if most is not None and count > most + most // SLACK else 0
