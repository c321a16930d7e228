"""The vector times of a whole log: vectors of counts, each packed into one whole number, and their columns.

Component c of a vector has the bits from `c * FIELD` on; its highest one, the guard, is 0, so that two
vectors are compared, and merged, in a few operations on whole numbers. All events of one process between two
receptions have seen the same of the other processes: they share one vector, and differ in how many events of
their own there were. A clock as such is made when somebody asks for it.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain, pairwise
from struct import Struct

from microcosm.givens.relation import Clock
from microcosm.tuning import CLOCKED_PROCESSES

FIELD = 32
"""Bits a component."""

COMPONENT = (1 << FIELD) - 1
"""A mask of one component."""


def guards(components: int) -> int:
    """The guard bits of so many components.

    >>> hex(guards(2))
    '0x8000000080000000'
    """
    return int.from_bytes(b"\0\0\0\x80" * components, "little")


def merged(one: int, other: int, guard: int) -> int:
    """The larger of both in each component; `guard` has at least as many components as either.

    >>> hex(merged(0x5_00000002, 0x3_00000007, guards(2)))
    '0x500000007'
    """
    larger = ((one | guard) - other) & guard  # where no borrow ate the guard, `one` is at least `other`
    return other ^ ((one ^ other) & (larger - (larger >> (FIELD - 1))))


def total(vector: int) -> int:
    """The sum of all components.

    >>> total(0x5_00000002)
    7
    """
    count = -(-vector.bit_length() // FIELD)
    return sum(memoryview(vector.to_bytes(4 * count, sys.byteorder)).cast("I"))


def covering(one: int, other: int, guard: int) -> bool:
    """Whether each component of `one` is at least that of `other`; `guard` is as in `merged`.

    >>> covering(0x5_00000002, 0x5_00000001, guards(2)), covering(0x5_00000002, 0x3_00000007, guards(2))
    (True, False)
    """
    return ((one | guard) - other) & guard == guard


def components(vector: int, many: int) -> tuple[int, ...]:
    """The components of a vector that has so many.

    >>> components(0x5_00000002, 3)
    (2, 5, 0)
    """
    return _struct(many).unpack(vector.to_bytes(FIELD // 8 * many, "little"))


def vectors_of(counts: array[int], many: int) -> list[int]:
    """The vectors whose components stand one after another, so many of each.

    >>> [*map(hex, vectors_of(array("I", [2, 5, 0, 1]), 2))]
    ['0x500000002', '0x100000000']
    """
    if sys.byteorder == "big":
        counts = counts[:]
        counts.byteswap()
    packed, width = counts.tobytes(), FIELD // 8 * many
    return [int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width)]


@cache
def _struct(many: int) -> Struct:
    return Struct(f"<{many}I")


@dataclass(eq=False, repr=False)
class ClockColumns(Mapping[str, Clock]):
    """The clocks of events that have right ones: each process counts its events from 1, each of which ticked.

    A clock is right that covers the clock of every event which it has seen; whoever makes such columns has
    made sure of that. `names` are those of the events; `threads` has the events of each process, by its
    number among `processes`, the processes in the order of the givens. Of each event `owners` has the
    process, `counts` its own component, `vectors` what it has seen of the others (its own component is 0
    there), `totals` the sum of all, and `shapes` the processes that its clock names, in their order there.

    Cost of a look-up: that of an entry of a clock, for each process. Memory: some hundred bytes an event with
    its name, and four for each process where an event has heard of others.
    """

    names: Sequence[str]
    processes: Sequence[str]
    threads: Mapping[int, array[int]]
    owners: Sequence[int]
    counts: Sequence[int]
    vectors: Sequence[int]
    totals: Sequence[int]
    shapes: Sequence[tuple[int, ...]]

    __hash__ = None  # type: ignore[assignment]  # as of every mapping

    @classmethod
    def of(cls, clocks: Mapping[str, Clock]) -> ClockColumns | None:
        """The same clocks in columns; None where they are not right, or not given process by process.

        Nor where an event is not called by its process and count, nor for more than `CLOCKED_PROCESSES`.
        Cost: that of the entries, and a sort.

        >>> clocks = {"p:1": Clock("p", {"p": 1}), "q:1": Clock("q", {"p": 1, "q": 1})}
        >>> ClockColumns.of(clocks) == clocks, ClockColumns.of({"a": Clock("p", {"p": 1})})
        (True, None)
        """
        sizes = Counter(clock.process for clock in clocks.values())
        numbers, most = {process: number for number, process in enumerate(sizes)}, [*sizes.values()]
        if len(sizes) > CLOCKED_PROCESSES:
            return None
        if any(process not in numbers for clock in clocks.values() for process in clock.entries):
            return None
        owners, counts, totals = (array("q") for _ in range(3))
        vectors, shapes, nothing = list[int](), list[tuple[int, ...]](), bytes(FIELD // 8 * len(sizes))
        in_turn = ((process, count) for process, size in sizes.items() for count in range(1, size + 1))
        for (event, clock), (process, own) in zip(clocks.items(), in_turn, strict=True):
            counted = clock.process == process and clock.own == own and event == f"{process}:{own}"
            if not counted or not clock.ticked or clock.execution is not None:
                return None
            shape, recorded = tuple(map(numbers.__getitem__, clock.entries)), clock.entries.values()
            if any(not 0 <= count <= most[number] for number, count in zip(shape, recorded, strict=True)):
                return None
            seen = array("I", nothing)
            deque(map(seen.__setitem__, shape, recorded), maxlen=0)
            seen[owner := numbers[process]] = 0
            (vector,) = vectors_of(seen, len(seen))
            owners.append(owner)
            counts.append(own)
            totals.append(sum(recorded))
            vectors.append(vectors[-1] if own > 1 and vectors[-1] == vector else vector)
            shapes.append(shape)
        ends = [0, *accumulate(most)]
        threads = {number: array("q", range(*both)) for number, both in enumerate(pairwise(ends))}
        found = cls([*clocks], [*sizes], threads, owners, counts, vectors, totals, shapes)
        line = found.along()
        return found if found.hold_along(sorted(line, key=line.__getitem__)) else None

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.places())

    def __getitem__(self, event: str) -> Clock:
        at = self.place(event)
        if at is None:
            raise KeyError(event)
        return self.clock(at)

    def __contains__(self, event: object) -> bool:
        return isinstance(event, str) and self.place(event) is not None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {process: number for number, process in enumerate(self.processes)}

    def place(self, event: str) -> int | None:
        """The place of an event in the columns; None where it is not there. Cost: constant."""
        process, _, count = event.rpartition(":")
        thread = self.threads.get(self._numbers.get(process, -1), ())
        if not (count.isdecimal() and len(count) < FIELD and 0 < int(count) <= len(thread)):
            return None
        at = thread[int(count) - 1]
        return at if self.names[at] == event else None

    def places(self) -> Iterator[int]:
        """All events, process by process."""
        return chain.from_iterable(self.threads.values())

    def along(self) -> list[int]:
        """All events in an order that extends theirs. Cost: that of sorting what is sorted by process."""
        return sorted(self.places(), key=self.totals.__getitem__)

    def seen(self, at: int, process: int) -> int:
        """How much the clock of an event has seen of a process."""
        if self.owners[at] == process:
            return self.counts[at]
        return self.vectors[at] >> process * FIELD & COMPONENT

    def recorded(self, at: int) -> tuple[int, ...]:
        """The entries of the clock of an event, in their order."""
        seen = components(self.whole(at), len(self.processes))
        return tuple(map(seen.__getitem__, self.shapes[at]))

    def clock(self, at: int) -> Clock:
        """The clock of an event."""
        named = map(self.processes.__getitem__, self.shapes[at])
        return Clock(self.processes[self.owners[at]], dict(zip(named, self.recorded(at), strict=True)))

    def whole(self, at: int) -> int:
        """The clock of an event as a vector."""
        return self.vectors[at] | self.counts[at] << self.owners[at] * FIELD

    def hold_along(self, places: Iterable[int]) -> bool:
        """Whether each clock covers those of all that it has seen, which stand before it in a line of events.

        `places` are those of its names there. Then the line is a world, in which those pairs are
        ordered that the clocks order. Cost: linear in the events times the processes.
        """
        place, guard = [*places], guards(len(self.processes))
        for thread in self.threads.values():
            before = -1
            for event in thread:
                seen = [] if before < 0 else [before]
                if before < 0 or self.vectors[event] is not self.vectors[before]:
                    seen += self.heard(before, event)
                whole = self.whole(event)
                for other in seen:
                    if place[other] >= place[event] or not covering(whole, self.whole(other), guard):
                        return False
                before = event
        return True

    def heard(self, before: int, at: int) -> list[int]:
        """The latest events of other processes that an event has seen, and one before it of its process not.

        In the order in which its clock names them; `before` is -1 where no event is before it.
        """
        many = len(self.processes)
        now = components(self.vectors[at], many)
        then = components(self.vectors[before], many) if before >= 0 else (0,) * many
        return [self.threads[p][now[p] - 1] for p in self.shapes[at] if now[p] != then[p]]
