"""Consistent cuts of one trace: slices such that nothing comes before what is in an earlier slice.

A cut names for each process the position from which its events are behind it. Any start will do: while a
message goes from behind a cut to before it, the cut is moved before the reception. Each move is due to a
path of messages, and a shortest one meets no process twice, so at most as many rounds are needed as there
are processes; with a start near the order of things one or two are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microcosm.spark.io import inputs, staging
from microcosm.spark.io.events import arrow_schema

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from microcosm.spark.io.staging import Output

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


SLICE = 250_000
"""Receptions of a slice, unless the number of slices is given."""

SAMPLE = 400_000
"""So many pairs at most tell the causal depth."""

FOUR = ("sender", "sent", "receiver", "received")
"""The columns of pairs that slices look at."""

NUMBERS = "sender long, sent long, receiver long, received long"
_MOVED = "process long, cut long, position long"
_SIZE = -1
"""In the place of a process: the row tells how many receptions are in a slice."""
_PLACES = "place long, step long"
_PLACED = 1 << 20
"""So many places of events tasks tell of together, evenly spread."""
_MOVES = 1 << 20
"""More entries of cuts than so many, of all tasks, Spark puts together before they are told."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """Finds the cuts of a trace whose events in order are staged in `_chains`, its pairs in `_pairs`.

    Each step is tasks over the pairs, four numbers each, as they are staged; the driver has a position for
    each process and cut.
    """

    _output: Output
    _name: str
    _chains: Path
    _pairs: Path
    _numbers: Mapping[str, int]

    def cuts(self, slices: int | None) -> Numbers:
        """Consistent cuts into so many slices (None: by size).

        `cuts[p, k]` is the first position of process p in slice k + 1 or later; it grows with k.
        """

        def found() -> list[list[int]]:
            count = staging.rows(self._pairs)
            wanted = slices or -(-max(1, count) // SLICE)
            if wanted == 1:
                return [[] for _ in self._numbers]
            best, even = self._consistent(self._by_lines(wanted))
            if even > 2 * count / wanted + wanted:
                sample = self._sample(-(-count // SAMPLE))
                other, size = self._consistent(by_depth(sample, len(self._numbers), wanted))
                best = other if size < even else best
            return [[int(position) for position in row] for row in best]

        made = self._output.remembered(f"cuts-{self._name}", found)
        return np.array(made, dtype=np.int64).reshape(len(self._numbers), -1)

    def _ask(
        self, folder: Path, columns: Sequence[str], kernel: Any, schema: str, size: int = 0
    ) -> list[Numbers]:
        """What tasks over the files of a folder find, by columns; a task at most `size` rows of `_MOVED`."""
        from pyspark.sql import functions as F

        table, run = inputs.over(self._output.spark, folder, columns, kernel)
        if table is None:
            found = pa.Table.from_batches(run(inputs.first()), arrow_schema(schema))
        else:
            made = table.mapInArrow(run, schema)
            if size * len(inputs.row_groups(folder)) > _MOVES:
                least = F.expr(f"if(process = {_SIZE}, sum(position), min(position)) position")
                made = made.groupBy("process", "cut").agg(least)
            found = made.toArrow()
        return [column.to_numpy() for column in found.columns]

    def _by_lines(self, slices: int) -> Numbers:
        """Where the cuts are if the places of events in the log are their order."""
        most = max(1, _PLACED // max(1, len(inputs.row_groups(self._chains))))

        def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            at = np.concatenate([np.empty(0, np.int64), *(batch.column(0).to_numpy() for batch in batches)])
            step = -(-max(1, len(at)) // most)
            chosen = np.sort(at)[step // 2 :: step]
            yield pa.RecordBatch.from_pydict({"place": chosen, "step": np.full(len(chosen), step)})

        sampled, steps = self._ask(self._chains, ["at"], places, _PLACES)
        order = np.argsort(sampled)
        weights = np.cumsum(steps[order])
        targets = weights[-1] * np.arange(1, slices) / slices
        firsts = sampled[order][np.minimum(np.searchsorted(weights, targets), len(sampled) - 1)]
        numbers = self._numbers
        shape = (len(numbers), slices - 1)

        def positions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = np.full(shape, NEVER, dtype=np.int64)
            for batch in batches:
                process = _numbered(batch.column(0), numbers)
                seq, at = batch.column(1).to_numpy(), batch.column(2).to_numpy()
                cut = np.searchsorted(firsts, at, "right") - 1  # of those that it is behind, the last
                np.minimum.at(found, (process[cut >= 0], cut[cut >= 0]), seq[cut >= 0])
            found = monotone(found)
            yield _moved(moved(np.full(shape, NEVER, dtype=np.int64), found))

        answers = self._ask(self._chains, ["process", "seq", "at"], positions, _MOVED, len(numbers) * slices)
        cuts = np.full(shape, NEVER, dtype=np.int64)
        np.minimum.at(cuts, (answers[0], answers[1]), answers[2])
        return monotone(cuts)

    def _consistent(self, cuts: Numbers) -> tuple[Numbers, int]:
        """The cuts made consistent with all pairs, and the receptions of the largest slice."""
        while True:
            process, cut, position = self._round(cuts)
            sizes, moves = process == _SIZE, process != _SIZE
            if not moves.any():
                widest = np.zeros(cuts.shape[1] + 1, dtype=np.int64)
                np.add.at(widest, cut[sizes], position[sizes])
                return cuts, int(widest.max())
            least = cuts.copy()
            np.minimum.at(least, (process[moves], cut[moves]), position[moves])
            cuts = monotone(least)

    def _round(self, cuts: Numbers) -> list[Numbers]:
        """What has to move; of process `_SIZE`, how many receptions are in a slice as the cuts are."""

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            least = cuts
            sizes = np.zeros(cuts.shape[1] + 1, dtype=np.int64)
            for batch in batches:
                part = pairs_of(batch)
                least = lowered(least, part)
                received = slice_of(cuts, part.receiver, part.received)
                sizes += np.bincount(received, minlength=len(sizes))
            yield _moved(moved(cuts, least))
            yield _moved([(_SIZE, at, size) for at, size in enumerate(sizes.tolist())])

        return self._ask(self._pairs, FOUR, kernel, _MOVED, cuts.size + cuts.shape[1])

    def _sample(self, step: int) -> Pairs:
        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                part = pairs_of(batch)
                # What chooses a pair must depend on nothing but the pair.
                chosen = (part.received * 2_654_435_761 + part.receiver * 40_503) % step == 0
                yield batch.filter(pa.array(chosen))

        return Pairs(*self._ask(self._pairs, FOUR, kernel, NUMBERS))


def _numbered(names: pa.Array, numbers: Mapping[str, int]) -> Any:
    words = names.dictionary_encode()
    known = np.array([numbers[name] for name in words.dictionary.to_pylist()], dtype=np.int64)
    return known[words.indices.to_numpy()]


def _moved(changes: Sequence[tuple[int, int, int]]) -> pa.RecordBatch:
    columns = np.array(changes, dtype=np.int64).reshape(-1, 3).T
    arrays = [pa.array(column) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(_MOVED))


def pairs_of(batch: pa.RecordBatch) -> Pairs:
    """The pairs in the columns `FOUR` of a batch, or of a table."""
    return Pairs(*(batch.column(name).to_numpy() for name in FOUR))
