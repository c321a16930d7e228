"""Slices of one trace that are consistent cuts, and who knew what in each and then in all. No Spark here.

A cut names for each process the position from which its events are behind it: nothing comes before what is in
an earlier slice. Any start will do: while a message goes from behind a cut to before it, the cut is moved
before the reception. Each move is due to a path of messages, and a shortest one meets no process twice, so at
most as many rounds are needed as there are processes; with a start near the order of things one or two are.

In a slice the past of an event is worked out as if nothing had been before; a message from an earlier slice
counts as the position of its sending. So the slices can be done at the same time. Afterwards they are put
together in their order: whoever has seen a process in this slice knows what that knew at its beginning,
and whoever has seen a sending of an earlier slice what was known there. Only receptions add to what a
process knows, so vectors are kept for those that matter: the last of a process in a slice, and those before
a sending that leaves the slice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.traces.causality import Causality
from microcosm.traces.covering import WIDEST
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import executions
from microcosm.traces.report import Report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The position of a cut in a process that has nothing behind it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sendings and their receptions, by number of process and position: four arrays of one length."""

    sender: Numbers
    sent: Numbers
    receiver: Numbers
    received: Numbers

    def __len__(self) -> int:
        return len(self.sender)

    def __getitem__(self, chosen: Any) -> Pairs:
        return Pairs(self.sender[chosen], self.sent[chosen], self.receiver[chosen], self.received[chosen])


def slice_of(cuts: Numbers, process: Numbers, seq: Numbers) -> Numbers:
    """The slice of each event. Cost: linear in the events times the logarithm of the cuts.

    >>> slice_of(np.array([[3, 5]]), np.array([0, 0, 0]), np.array([2, 3, 9]))
    array([0, 1, 2])
    """
    found = np.zeros(len(process), dtype=np.int64)
    count = cuts.shape[1]
    flat, rows = cuts.ravel(), process * count - 1
    for step in reversed([1 << bit for bit in range(count.bit_length())]):
        further = found + step
        further[further > count] = 0
        found = np.where((further > 0) & (flat[rows + further] <= seq), further, found)
    return found


def monotone(cuts: Numbers) -> Numbers:
    """Cuts of which each lies within the next: what is behind the next one is behind this one.

    >>> monotone(np.array([[4, 2, 7]]))
    array([[2, 2, 7]])
    """
    return np.minimum.accumulate(cuts[:, ::-1], axis=1)[:, ::-1]


def lowered(cuts: Numbers, pairs: Pairs) -> Numbers:
    """The cuts moved, as little as can be, until no message of these leads from behind to before one."""
    cuts = cuts.copy()
    left = pairs
    while len(left):
        sent, received = (
            slice_of(cuts, left.sender, left.sent),
            slice_of(cuts, left.receiver, left.received),
        )
        wrong = sent > received
        if not wrong.any():
            break
        # The cuts between are moved as well, by being within the last of them.
        np.minimum.at(cuts, (left.receiver[wrong], sent[wrong] - 1), left.received[wrong])
        cuts = monotone(cuts)
    return cuts


def moved(before: Numbers, after: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Process, cut and position of every entry that differs."""
    process, cut = np.nonzero(before != after)
    return process, cut, after[process, cut]


def by_depth(pairs: Pairs, processes: int, slices: int) -> Numbers:
    """Cuts by causal depth, from all pairs or a sample of them: for logs whose lines tell no order.

    The depth of an end of a message is the length of the longest path to it. Ends on cycles have that of
    what is before them in their process; `lowered` sees to the rest. Cost: linear, plus sorting.
    """
    count = len(pairs)
    process = np.concatenate((pairs.sender, pairs.receiver))
    seq = np.concatenate((pairs.sent, pairs.received))
    order = np.lexsort((seq, process))
    place = np.empty(2 * count, dtype=np.int64)
    place[order] = np.arange(2 * count)
    needs = np.full(2 * count, -1, dtype=np.int64)
    needs[place[count:]] = place[:count]
    bounds = np.searchsorted(process[order], np.arange(processes + 1)).tolist()
    depth = _depths(needs.tolist(), bounds)
    ranked = np.sort(depth)
    cuts = np.full((processes, slices - 1), NEVER, dtype=np.int64)
    ends, positions = process[order], seq[order]
    for cut in range(slices - 1):
        if count:
            behind = depth >= ranked[(cut + 1) * 2 * count // slices]
            np.minimum.at(cuts[:, cut], ends[behind], positions[behind])
    return monotone(cuts)


def _depths(needs: list[int], bounds: list[int]) -> Numbers:
    """The depth of every end; the ends of process p stand from `bounds[p]` to `bounds[p + 1]`."""
    depth = [0] * len(needs)
    next_ = bounds[:-1].copy()
    blocked: dict[int, list[int]] = {}
    waiting = list(range(len(next_)))
    while waiting:
        process = waiting.pop()
        at, end = next_[process], bounds[process + 1]
        last = depth[at - 1] if at > bounds[process] else 0
        while at < end:
            needed = needs[at]
            if needed >= 0:
                if not depth[needed]:
                    blocked.setdefault(needed, []).append(process)
                    break
                last = max(last, depth[needed])
            last += 1
            depth[at] = last
            waiting += blocked.pop(at, ())
            at += 1
        next_[process] = at
    found = np.array(depth, dtype=np.int64)
    for begin, end in pairwise(bounds):
        np.maximum.accumulate(found[begin:end], out=found[begin:end])
    return found


Vector = dict[int, int]
"""By number of process the highest position in the past."""


@dataclass(frozen=True, slots=True)
class Base:
    """What process `process` knew from its reception at `seq` on; None: of more than `WIDEST` processes."""

    process: int
    seq: int
    knows: Vector | None


def scanned(pairs: Pairs, begins: Numbers, wanted: Iterable[tuple[int, int]]) -> tuple[list[Base], list[int]]:
    """One slice: its bases, and the numbers of the pairs that contradict the order of processes.

    `pairs` have a reception in it; it `begins` at positions. An event is `wanted` by process and position;
    the base up to it is told, and so are the last ones of all processes. Cost: linear in the pairs times the
    processes, plus sorting. Memory: the pairs, and a vector for each reception that another still needs.
    """
    order = np.lexsort((pairs.received, pairs.receiver))
    cyclic: list[int] = []
    while True:
        part = _Slice(pairs[order], begins)
        left = part.run(wanted)
        if not left:
            return part.bases(), cyclic
        gone = _cyclic(part.pairs, left)
        cyclic += order[gone].tolist()
        order = np.delete(order, gone)


class _Slice:
    """Pairs sorted by receiver and position; `needs[i]` is the reception that the sending of i follows."""

    def __init__(self, pairs: Pairs, begins: Numbers) -> None:
        self.pairs = pairs
        self._begins = begins
        names, firsts = np.unique(pairs.receiver, return_index=True)
        self._bounds = dict(zip(names.tolist(), pairwise([*firsts.tolist(), len(pairs)]), strict=True))
        self._needs = self._before(pairs.sender, pairs.sent)
        self._kept: dict[int, Vector | None] = {}
        self._wanted: set[int] = set()

    def _before(self, process: Numbers, seq: Numbers) -> Numbers:
        """The last reception of a process in this slice up to a position of this slice, or -1."""
        found = np.full(len(process), -1, dtype=np.int64)
        order = np.argsort(process, kind="stable")
        ends = np.flatnonzero(np.diff(process[order], append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            members = order[begin:end]
            begin = end
            first, last = self._bounds.get(int(process[members[0]]), (0, 0))
            if first < last:
                at = first + np.searchsorted(self.pairs.received[first:last], seq[members], "right") - 1
                found[members] = np.where(at >= first, at, -1)
        found[seq < self._begins[process]] = -1
        return found

    def run(self, wanted: Iterable[tuple[int, int]]) -> list[int]:
        """Work out the vectors; the receptions that could not be reached because of a cycle."""
        pairs = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
        self._wanted = set(self._before(pairs[:, 0], pairs[:, 1]).tolist()) - {-1}
        self._wanted.update(end - 1 for _, end in self._bounds.values())
        nothing: Vector | None = {}
        needs = self._needs.tolist()
        uses = np.bincount(self._needs[self._needs >= 0], minlength=len(needs)).tolist()
        for reception in self._wanted:
            uses[reception] += 1
        senders, sent = self.pairs.sender.tolist(), self.pairs.sent.tolist()
        kept = self._kept
        done = bytearray(len(needs))
        state = {process: (first, nothing) for process, (first, _) in self._bounds.items()}
        blocked: dict[int, list[int]] = {}
        waiting = list(self._bounds)
        while waiting:
            process = waiting.pop()
            at, known = state[process]
            end = self._bounds[process][1]
            while at < end:
                needed = needs[at]
                if needed < 0:
                    known = _merged(known, nothing, senders[at], sent[at])
                else:
                    if not done[needed]:
                        blocked.setdefault(needed, []).append(process)
                        break
                    known = _merged(known, kept[needed], senders[at], sent[at])
                    uses[needed] -= 1
                    if not uses[needed]:
                        del kept[needed]
                done[at] = 1
                if uses[at]:
                    kept[at] = known
                if at in blocked:
                    waiting += blocked.pop(at)
                at += 1
            state[process] = (at, known)
        return [at for process, (next_, _) in state.items() for at in range(next_, self._bounds[process][1])]

    def bases(self) -> list[Base]:
        """The bases that were asked for, the last ones of all processes among them."""
        receivers, received = self.pairs.receiver, self.pairs.received
        return [Base(int(receivers[at]), int(received[at]), self._kept[at]) for at in sorted(self._wanted)]


def _merged(first: Vector | None, second: Vector | None, process: int, seq: int) -> Vector | None:
    """What two vectors know together, and a position of a process; None where that is of too many."""
    if first is None or second is None:
        return None
    found = dict(first)
    for name, position in second.items():
        if position > found.get(name, 0):
            found[name] = position
    if seq > found.get(process, 0):
        found[process] = seq
    return found if len(found) <= WIDEST else None


def _cyclic(pairs: Pairs, left: Sequence[int]) -> list[int]:
    """The pairs on cycles, by the same code that looks for them in a trace that is read at once."""
    events: dict[tuple[int, int], TraceEvent] = {}
    number: dict[tuple[int, int], int] = {}
    for at in left:
        sending = (int(pairs.sender[at]), int(pairs.sent[at]))
        reception = (int(pairs.receiver[at]), int(pairs.received[at]))
        message = f"{sending[0]}:{sending[1]}"
        events[sending] = TraceEvent(str(sending[0]), sending[1], "send", message)
        events[reception] = TraceEvent(str(reception[0]), reception[1], "receive", message)
        number[reception] = at
    report = Report()
    [run] = executions(events.values(), report)
    pairs_left = Causality(run, False, report).before.pairs
    believed = {(int(run.events[r].process), run.events[r].seq) for _, r in pairs_left}
    return [at for reception, at in number.items() if reception not in believed]


Bases = Iterable[tuple[Sequence[Base], "Numbers"]]
"""The bases of each slice in order, and the positions at which it begins."""

_GONE: Vector = {}
"""In the place of a vector that nobody asks for any more."""


class Knowledge:
    """What every process knew at its bases, put together slice by slice, in their order.

    `until` says of a base, by process and position, which slice is the last to ask for it (`last_uses`): its
    vector is kept as long.
    """

    def __init__(self, until: Mapping[tuple[int, int], float]) -> None:
        self._until = until
        self._slices = 0
        self._due: dict[float, list[tuple[int, int]]] = {}
        self._seqs: dict[int, list[int]] = {}
        self._vectors: dict[int, list[Vector | None]] = {}

    def add(self, bases: Sequence[Base], begins: Numbers) -> None:
        """Add the next slice. Cost: the bases times the processes that each knows, squared."""
        needed = [(base, self._until.get((base.process, base.seq))) for base in bases]
        whole = [(base, due, _GONE if due is None else self._whole(base, begins)) for base, due in needed]
        for base, due, vector in sorted(whole, key=lambda each: each[0].seq):
            seqs = self._seqs.setdefault(base.process, [])
            if due is not None:
                self._due.setdefault(due, []).append((base.process, len(seqs)))
            seqs.append(base.seq)
            self._vectors.setdefault(base.process, []).append(vector)
        for process, at in self._due.pop(self._slices, ()):
            self._vectors[process][at] = _GONE
        self._slices += 1

    def of(self, process: int, seq: int) -> Vector | None:
        """What was known at the last event of a process, itself included."""
        vector = self._at(process, seq + 1)
        if vector is None:
            return None
        found = {**vector, process: seq}
        return found if len(found) <= WIDEST else None

    def _whole(self, base: Base, begins: Numbers) -> Vector | None:
        if base.knows is None:
            return None
        found = {**base.knows, base.process: base.seq}
        for process, seq in tuple(found.items()):
            earlier = self._at(process, asked_at(seq, begins, process))
            if earlier is None:
                return None
            for other, position in earlier.items():
                if position > found.get(other, 0):
                    found[other] = position
        return found if len(found) <= WIDEST else None

    def _at(self, process: int, seq: int) -> Vector | None:
        """What a process knew just before a position, but for itself."""
        at = bisect_left(self._seqs.get(process, ()), seq) - 1
        return self._vectors[process][at] if at >= 0 else {}


def asked_at(seq: int, begins: Numbers, process: int) -> int:
    """Before which position it counts what a process knew that was seen at `seq`; it may have heard there."""
    return min(seq + 1, int(begins[process]))


def last_uses(slices: Bases) -> dict[tuple[int, int], float]:
    """Of each base that is asked for the last slice that does; infinity for the last ones of processes.

    Cost: the bases times the processes that each knows.
    """
    seqs: dict[int, list[int]] = {}
    until: dict[tuple[int, int], float] = {}
    for number, (bases, begins) in enumerate(slices):
        for base in bases:
            for process, seq in {**(base.knows or {}), base.process: base.seq}.items():
                at = bisect_left(seqs.get(process, ()), asked_at(seq, begins, process)) - 1
                if at >= 0:
                    until[process, seqs[process][at]] = number
        for process, seq in sorted((base.process, base.seq) for base in bases):
            seqs.setdefault(process, []).append(seq)
    return until | {(process, of[-1]): inf for process, of in seqs.items()}


def put_together(read: Callable[[], Bases]) -> Knowledge:
    """What is known at the ends of processes; the slices are read twice, in order.

    Memory: of all slices a number for each base, and the vectors that are still asked for.
    """
    knowledge = Knowledge(last_uses(read()))
    for bases, begins in read():
        knowledge.add(bases, begins)
    return knowledge


def crossing(pairs: Pairs, cuts: Numbers) -> list[tuple[int, int, int]]:
    """The sendings that are received in a later slice: slice, process and position of each."""
    sent = slice_of(cuts, pairs.sender, pairs.sent)
    leaves = sent < slice_of(cuts, pairs.receiver, pairs.received)
    columns = (sent[leaves], pairs.sender[leaves], pairs.sent[leaves])
    return list(dict.fromkeys(zip(*(column.tolist() for column in columns), strict=True)))


def begins_of(cuts: Numbers, slice_: int) -> Numbers:
    """The positions at which a slice begins, by process.

    >>> begins_of(np.array([[3, 5]]), 0), begins_of(np.array([[3, 5]]), 2)
    (array([0]), array([5]))
    """
    return np.zeros(len(cuts), dtype=np.int64) if slice_ == 0 else cuts[:, slice_ - 1]
