"""Recorded clocks as relations over positions, never expanded into pairs.

The events of a process form a chain, ordered by own component, then as stated. Along such a chain the
component of any process normally never falls, so whatever a clock says of a whole chain is a prefix or a
suffix of it, found by bisection; a chain whose recorded components do fall is scanned instead. Chains of
different executions have nothing to do with each other.

Right clocks in columns say what labels are: the processes are the chains, and an event's clock without its
own component is the vector of its label. Nothing has to be made of either; a clock as such is made only where
its entries are asked for one by one.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, count, islice
from operator import le

from microcosm import tuning
from microcosm.givens.clock_columns import COMPONENT, FIELD, ClockColumns, covering, guards
from microcosm.givens.relation import Clock, Relation, between
from microcosm.order.bits import from_positions, row_of
from microcosm.order.chain_cover import UNPLACED, ChainCover
from microcosm.order.labels import Labels


class ClockRows:
    """What the clocks of n events of P processes give, as rows of bits.

    `relation` decides one pair in constant time; a row costs O(P · log n) steps on chains. Up to `KEPT`
    events a mask is kept for each prefix of a chain, n²/8 bytes over all chains; for more events a mask for
    each chain, out of which a prefix is cut.
    """

    KEPT = tuning.CLOCK_MASKS_UP_TO

    def __init__(self, clocks: Mapping[str, Clock], position: Mapping[str, int]) -> None:
        self._clock: Mapping[int, Clock] = {
            position[event]: _by_execution(clock) for event, clock in clocks.items()
        }
        self._chains: dict[str, list[int]] = {}
        for at, clock in self._clock.items():
            self._chains.setdefault(clock.process, []).append(at)
        by_execution: dict[str | None, list[str]] = {}
        for process, chain in self._chains.items():
            by_execution.setdefault(self._clock[chain[0]].execution, []).append(process)
        self._together = by_execution
        """The processes of each execution."""
        self._own: dict[str, Sequence[int]] = {}
        for process, chain in self._chains.items():
            own = {at: self._clock[at].own for at in chain}
            chain.sort(key=own.__getitem__)  # stable: as stated where equal
            self._own[process] = [*map(own.__getitem__, chain)]
        self._rank = {at: rank for chain in self._chains.values() for rank, at in enumerate(chain)}
        self._ticked_last = {p: self._reach_ends(p) for p in self._chains}
        self._nothing_kept()

    def _nothing_kept(self) -> None:
        """No row was asked for yet."""
        self._many = len(self._clock)
        self._prefixes: dict[str, list[int]] = {}
        self._masks: dict[str, tuple[int, bool]] = {}  # of whole chains, and whether positions rise along
        self._components: dict[tuple[str, str], tuple[list[int], bool]] = {}

    def __bool__(self) -> bool:
        return bool(self._clock)

    def relation(self, a: int, b: int) -> Relation | None:
        """What the clocks give between two positions (`AFTER` included), or None."""
        one, other = self._clock.get(a), self._clock.get(b)
        if one is None or other is None or a == b:
            return None
        if one.process == other.process:
            return Relation.BEFORE if self.rank(a) < self.rank(b) else Relation.AFTER
        return between(one, other)

    def rank(self, at: int) -> int:
        """How many events of its process are before a clocked position."""
        return self._rank[at]

    def of(self, at: int) -> Clock | None:
        """The clock of a position, its processes unique over all executions; None where it has none."""
        return self._clock.get(at)

    def chains(self) -> Iterable[tuple[str, list[int]]]:
        """Each process and its clocked positions, in their order."""
        return self._chains.items()

    are_right = False
    """Whether every clock is known to cover those of all that it has seen."""

    def labels(self, size: int) -> ChainCover | None:
        """The labels of positions below `size` by the clocks alone, where these say them as they are."""
        return None

    def support(self) -> int:
        """The positions of all clocked events."""
        return from_positions(self._clock, max(self._clock, default=0) + 1)

    def cover(self) -> Iterator[tuple[int, int]]:
        """Edges given by the clocks whose transitive closure is that of all that the clocks give.

        Consecutive events of a process; and, for each event and other process, the last event of that
        process that the clock has seen, unless the event's predecessor already had.
        """
        for process, chain in self._chains.items():
            reached: dict[str, int] = {}
            before: Mapping[str, int] = {}
            for rank, at in enumerate(chain):
                if rank:
                    yield chain[rank - 1], at
                last, before = before, self._clock[at].entries
                for other, seen in before.items():
                    if last.get(other) == seen or other == process or other not in self._chains:
                        continue  # most of a clock is as it was
                    count = self._reached(other, seen)
                    if count > reached.get(other, 0):
                        reached[other] = count
                        yield self._chains[other][count - 1], at

    def past(self, b: int) -> int:
        """The row of all a with a < b by the clocks alone."""
        clock = self._clock.get(b)
        if clock is None:
            return 0
        row = self._prefix(clock.process, self.rank(b))
        for other, seen in clock.entries.items():
            if other == clock.process or other not in self._chains:
                continue
            count = self._reached(other, seen)
            chain, last = self._chains[other], count - 1
            # Among events of one own component a later, unticked one may follow the ticked one.
            row |= self._prefix(other, count) & ~self._unreached(chain, last, seen)
        return row

    def future(self, a: int) -> int:
        """The row of all b with a < b by the clocks alone."""
        clock = self._clock.get(a)
        if clock is None:
            return 0
        process, own = clock.process, clock.own
        row = self._prefix(process) & ~self._prefix(process, self.rank(a) + 1)
        least = own if clock.ticked and own > 0 else own + 1
        return row | self._elsewhere(clock, least, above=True)

    def unseen(self, b: int) -> int:
        """The row of all a of other processes with a !< b by the clocks: b has not seen their component."""
        clock = self._clock.get(b)
        if clock is None:
            return 0
        row = 0
        for other in self._together[clock.execution]:
            if other != clock.process:
                seen = clock.entries.get(other, 0)
                row |= self._prefix(other) & ~self._prefix(other, bisect_right(self._own[other], seen))
        return row

    def misses(self, a: int, b: int) -> bool:
        """Whether the clocks alone give a !< b, a and b being of different processes."""
        one, other = self._clock.get(a), self._clock.get(b)
        return one is not None and other is not None and one.process != other.process and one.missed_by(other)

    def covered(self, earlier: int, later: int) -> bool:
        """Whether the clock of the second position has seen all that the first one's has, and its event."""
        one, other = self.of(earlier), self.of(later)
        if one is None or other is None or one.execution != other.execution:
            return False
        get = other.entries.get
        return all(get(process, 0) >= count for process, count in one.entries.items())

    def concurrent(self, b: int) -> int:
        """The row of all a with a || b by the clocks alone."""
        unseen = self.unseen(b)
        return unseen & self.missed(b) if unseen else 0

    def missed(self, a: int) -> int:
        """The row of all b of other processes that cannot have seen a, so that a !< b."""
        clock = self._clock.get(a)
        return 0 if clock is None else self._elsewhere(clock, clock.own, above=False)

    def _reach_ends(self, process: str) -> dict[int, int]:
        """For each own component, the length of the chain's prefix that ends at its last ticked event."""
        chain, clock = self._chains[process], self._clock
        numbered = zip(self._own[process], chain, count(1))
        return {own: end for own, at, end in numbered if own > 0 and clock[at].ticked}

    def _reached(self, process: str, seen: int) -> int:
        """How many events of `process`, from the first, end at the last one that `seen` has reached."""
        return max(bisect_left(self._own[process], seen), self._ticked_last[process].get(seen, 0))

    def _unreached(self, chain: list[int], last: int, seen: int) -> int:
        """Unticked events with own component `seen` that stand before a ticked one (odd input only)."""
        row = 0
        while last >= 0 and self._clock[chain[last]].own == seen:
            if not self._clock[chain[last]].ticked:
                row |= 1 << chain[last]
            last -= 1
        return row

    def _prefix(self, process: str, length: int | None = None) -> int:
        if self._many > self.KEPT:
            return self._cut_out(process, length)
        prefixes = self._prefixes.get(process)
        if prefixes is None:
            prefixes = [0]
            for at in self._chains[process]:
                prefixes.append(prefixes[-1] | 1 << at)
            self._prefixes[process] = prefixes
        return prefixes[-1 if length is None else length]

    def _cut_out(self, process: str, length: int | None) -> int:
        chain = self._chains[process]
        if process not in self._masks:
            rising = all(a < b for a, b in itertools.pairwise(chain))
            self._masks[process] = from_positions(chain, max(chain) + 1), rising
        mask, rising = self._masks[process]
        if length is None or length == len(chain):
            return mask
        if rising:
            return mask & (1 << chain[length]) - 1
        if process not in self._prefixes:
            row, kept = 0, []
            for first in range(0, len(chain), tuning.EVENTS_CUT_OUT):
                kept.append(row)
                row |= row_of(chain[first : first + tuning.EVENTS_CUT_OUT])
            self._prefixes[process] = kept
        kept, rest = self._prefixes[process], length % tuning.EVENTS_CUT_OUT
        return kept[length // tuning.EVENTS_CUT_OUT] | row_of(chain[length - rest : length])

    def _seen_along(self, chain_of: str, component_of: str) -> list[int]:
        """What each event of a chain has seen of a process."""
        return [self._clock[at].entries.get(component_of, 0) for at in self._chains[chain_of]]

    def _elsewhere(self, clock: Clock, value: int, *, above: bool) -> int:
        """The events of other processes that have seen less of a clock's own than a value, or all others."""
        row, process = 0, clock.process
        for other in self._together[clock.execution]:
            if other != process:
                row |= self._where(other, process, value, above=above)
        return row

    def _where(self, chain_of: str, component_of: str, value: int, *, above: bool) -> int:
        """The events of a chain whose component for a process is below a value, or all others."""
        key = (chain_of, component_of)
        if key not in self._components:
            values = self._seen_along(chain_of, component_of)
            self._components[key] = values, all(x <= y for x, y in itertools.pairwise(values))
        values, rising = self._components[key]
        if rising:
            below = self._prefix(chain_of, bisect_left(values, value))
            return self._prefix(chain_of) & ~below if above else below
        row = 0
        for at, x in zip(self._chains[chain_of], values, strict=True):
            if (x >= value) is above:
                row |= 1 << at
        return row


def _by_execution(clock: Clock) -> Clock:
    """The same clock with its execution in the name of each process: no two executions share a process."""
    if clock.execution is None:
        return clock
    execution = clock.execution
    entries = {f"{execution}\0{process}": count for process, count in clock.entries.items()}
    return Clock(f"{execution}\0{clock.process}", entries, clock.ticked, execution)


def agreeing(clocks: ClockRows, labels: Labels) -> int:
    """A row of clocked positions b such that by the clocks no event before b is concurrent with b.

    Not all such positions need be found; none is where a process has its clocked events on several chains.
    Cost: P comparisons an event.

    >>> from microcosm.givens.relation import Clock
    >>> clocks = ClockRows({"a": Clock("p", {"p": 1}), "b": Clock("q", {"q": 1})}, {"a": 0, "b": 1})
    >>> agreeing(clocks, Labels(2, [])), agreeing(clocks, Labels(2, [(0, 1)]))
    (0, 1)
    """
    largest: dict[str | None, list[tuple[str, int, list[int]]]] = {}
    """By execution."""
    cover, clock = labels.cover, clocks._clock
    for process, members in clocks.chains():
        numbers = {cover.chain[at] for at in members}
        (number,) = numbers if len(numbers) == 1 else (-1,)
        if not 0 <= number < len(cover.chains):
            return 0
        own = {at: clock[at].own for at in members}
        line = [own.get(at, 0) for at in cover.chains[number]]
        execution = clock[members[0]].execution
        largest.setdefault(execution, []).append((process, number, [0, *accumulate(line, max)]))
    found = []
    for process, members in clocks.chains():
        others = [each for each in largest[clock[members[0]].execution] if each[0] != process]
        mine = cover.chain[members[0]]
        for at in members:
            entries, known, index = clock[at].entries, cover.vector[at], cover.index[at]
            for other, number, seen in others:
                reached = index if number == mine else known >> number * FIELD & COMPONENT
                if entries.get(other, 0) < seen[reached]:
                    break
            else:
                found.append(at)
    return from_positions(found, labels.size)


def clock_rows(clocks: Mapping[str, Clock], position: Mapping[str, int]) -> ClockRows:
    """What clocks give, at the position of each of their events. Cost: linear.

    >>> clock_rows({"a": Clock("p", {"p": 1})}, {"a": 0}).support()
    1
    """
    if isinstance(clocks, ClockColumns):
        return ClockColumnRows(clocks, map(position.__getitem__, clocks.names))
    return ClockRows(clocks, position)


class ClockColumnRows(ClockRows):
    """`ClockRows` of columns, of which `places` are the positions of the names.

    Cost: as there, but that a clock is made for each row; to make, linear.
    """

    are_right = True

    def __init__(self, clocks: ClockColumns, places: Iterable[int]) -> None:
        self._columns = clocks
        self._place = place = array("q", places)
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
        relation = self.relation(a, b)
        return relation in (Relation.AFTER, Relation.CONCURRENT) and owners[event[a]] != owners[event[b]]

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
        return self._support

    @cached_property
    def _support(self) -> int:
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
