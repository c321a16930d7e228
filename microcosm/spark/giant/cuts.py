"""Consistent cuts of one trace: slices such that nothing comes before what is in an earlier slice.

A cut names for each process the position from which its events are behind it. Any start will do: while a
message goes from behind a cut to before it, the cut is moved before the reception. Each move is due to a
path of messages, and a shortest one meets no process twice, so at most as many rounds are needed as there
are processes; with a start near the order of things one or two are. No Spark here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

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

    @staticmethod
    def of(rows: list[tuple[int, int, int, int]]) -> Pairs:
        """The pairs in rows of sender, sent, receiver, received."""
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return Pairs(*(np.ascontiguousarray(column) for column in columns))


Cuts = "Numbers"
"""`cuts[p, k]`: the first position of process p in slice k + 1 or later; it grows with k."""


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


def moved(before: Numbers, after: Numbers) -> list[tuple[int, int, int]]:
    """Process, cut and position of every entry that differs."""
    return [(int(p), int(k), int(after[p, k])) for p, k in zip(*np.nonzero(before != after), strict=True)]


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
    needs = [-1] * (2 * count)
    for sending, reception in zip(place[:count].tolist(), place[count:].tolist(), strict=True):
        needs[reception] = sending
    bounds = np.searchsorted(process[order], np.arange(processes + 1)).tolist()
    depth = _depths(needs, bounds)
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
