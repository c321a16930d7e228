"""Right clocks in columns as relations over positions, and as labels: what they say is what labels are.

The processes are the chains, and an event's clock without its own component is the vector of its label;
nothing has to be made of either. A clock as such is made only where its entries are asked for one by one.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from operator import le

from microcosm.givens.clock import Clock
from microcosm.givens.clock_columns import ClockColumns, covering, guards
from microcosm.givens.relation import Relation
from microcosm.order.bits import from_positions
from microcosm.order.chain_cover import UNPLACED, ChainCover
from microcosm.order.clock_order import ClockRows


def clock_rows(clocks: Mapping[str, Clock], position: Mapping[str, int]) -> ClockRows:
    """What clocks give, at the position of each of their events. Cost: linear.

    >>> clock_rows({"a": Clock("p", {"p": 1})}, {"a": 0}).support()
    1
    """
    if isinstance(clocks, ClockColumns):
        return ClockColumnRows(clocks, position)
    return ClockRows(clocks, position)


class ClockColumnRows(ClockRows):
    """`ClockRows` of columns. Cost: as there, but that a clock is made for each row; to make, linear."""

    are_right = True

    def __init__(self, clocks: ClockColumns, position: Mapping[str, int]) -> None:
        self._columns = clocks
        self._place = place = array("q", map(position.__getitem__, clocks.names))
        self._event = array("q", [-1]) * (max(place, default=-1) + 1)
        deque(map(self._event.__setitem__, place, count()), maxlen=0)
        self._clock = self._placed = _Placed(clocks, self._event)
        threads = {clocks.processes[number]: thread for number, thread in clocks.threads.items()}
        self._chains = {process: [*map(place.__getitem__, thread)] for process, thread in threads.items()}
        self._own = {process: range(1, len(thread) + 1) for process, thread in threads.items()}
        self._numbers = {process: number for number, process in enumerate(clocks.processes)}
        self._guard = guards(len(clocks.processes))
        self._together = {None: [*threads]}
        self._nothing_kept()

    def relation(self, a: int, b: int) -> Relation | None:
        one, other = self._placed.event(a), self._placed.event(b)
        if one is None or other is None or a == b:
            return None
        columns = self._columns
        if columns.counts[one] <= columns.seen(other, columns.owners[one]):
            return Relation.BEFORE
        after = columns.counts[other] <= columns.seen(one, columns.owners[other])
        return Relation.AFTER if after else Relation.CONCURRENT

    def misses(self, a: int, b: int) -> bool:
        owners, event = self._columns.owners, self._event
        told = self.relation(a, b)
        return told in (Relation.AFTER, Relation.CONCURRENT) and owners[event[a]] != owners[event[b]]

    def covered(self, earlier: int, later: int) -> bool:
        one, other = self._placed.event(earlier), self._placed.event(later)
        if one is None or other is None:
            return False
        return covering(self._columns.whole(other), self._columns.whole(one), self._guard)

    def rank(self, at: int) -> int:
        return self._columns.counts[self._event[at]] - 1

    def cover(self) -> Iterator[tuple[int, int]]:
        columns, place = self._columns, self._place
        for thread in columns.threads.values():
            before = -1
            for event in thread:
                at = place[event]
                if before >= 0:
                    yield place[before], at
                if before < 0 or columns.vectors[event] is not columns.vectors[before]:
                    for other in columns.heard(before, event):
                        yield place[other], at
                before = event

    def labels(self, size: int) -> ChainCover | None:
        """The labels of positions below `size`, where these extend the order; None where they do not.

        Nor where the log has a process without events. Cost: linear, at once.
        """
        columns, place = self._columns, self._place
        totals = [columns.totals[event] for event in self._event if event >= 0]
        if len(columns.threads) < len(columns.processes) or not all(map(le, totals, islice(totals, 1, None))):
            return None
        chain, index, vector = [UNPLACED] * size, [0] * size, [0] * size
        for column, values in ((chain, columns.owners), (index, columns.counts), (vector, columns.vectors)):
            deque(map(column.__setitem__, place, values), maxlen=0)
        index = [max(0, own - 1) for own in index]
        chains = [self._chains[process] for process in columns.processes]
        return ChainCover(chains, chain, index, vector, self._crossing, ascending=True, rising=True)

    def support(self) -> int:
        return from_positions(self._place, len(self._event))

    def _crossing(self) -> dict[int, list[int]]:
        """The edges of the cover that lead from one process to another, by where they lead."""
        found: dict[int, list[int]] = {}
        for a, b in self.cover():
            if self._columns.owners[self._event[a]] != self._columns.owners[self._event[b]]:
                found.setdefault(b, []).append(a)
        return found

    def _reached(self, process: str, seen: int) -> int:
        return seen

    def _unreached(self, chain: list[int], last: int, seen: int) -> int:
        return 0

    def _seen_along(self, chain_of: str, component_of: str) -> list[int]:
        seen, of = self._columns.seen, self._numbers[component_of]
        return [seen(event, of) for event in self._columns.threads[self._numbers[chain_of]]]


class _Placed(Mapping[int, Clock]):
    """The clock of each position, made when it is asked for."""

    def __init__(self, clocks: ClockColumns, events: Sequence[int]) -> None:
        self._clocks, self._events = clocks, events

    def event(self, at: int) -> int | None:
        """The event of a position; None where it has no clock."""
        event = self._events[at] if 0 <= at < len(self._events) else -1
        return event if event >= 0 else None

    def __getitem__(self, at: int) -> Clock:
        event = self.event(at)
        if event is None:
            raise KeyError(at)
        return self._clocks.clock(event)

    def __iter__(self) -> Iterator[int]:
        return (at for at, event in enumerate(self._events) if event >= 0)

    def __len__(self) -> int:
        return len(self._clocks)
