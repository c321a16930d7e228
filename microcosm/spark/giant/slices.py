"""The slices of a giant trace: where they are cut, which pairs are in each, and what is known at their ends.

Each step is tasks over the pairs, four numbers each, as they are staged; the driver has a position for each
process and cut, and the vectors that leave a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from microcosm.spark.giant import cuts as cutting
from microcosm.spark.giant.cuts import NEVER, Pairs
from microcosm.spark.giant.scan import Base, Knowledge, begins_of, crossing, put_together, scanned
from microcosm.spark.io import events as rows
from microcosm.spark.io import input_splits, staging
from microcosm.spark.io.packets import gathered, packed, together, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from microcosm.spark.giant.cuts import Numbers
    from microcosm.spark.io.staging import Output

SLICE = 250_000
"""Receptions of a slice, unless the number of slices is given."""

SAMPLE = 400_000
"""So many pairs at most tell the causal depth."""

FOUR = ("sender", "sent", "receiver", "received")
"""The columns of pairs that slices look at."""

_FOUR = "sender long, sent long, receiver long, received long"
_SLICED = f"slice long, {_FOUR}"
_BASES = "process long, seq long, others array<long>, seqs array<long>"
_CYCLIC = "process long, seq long"
_MOVED = "process long, cut long, position long"
_SIZE = -1
"""In the place of a process: the row tells how many receptions are in a slice."""
_PLACES = "place long, step long"
_BATCH = 1024
_PLACED = 1 << 20
"""So many places of events tasks tell of together, evenly spread."""
_MOVES = 1 << 20
"""More entries of cuts than so many, of all tasks, Spark puts together before they are told."""

Asked = Sequence[tuple[int, int, str]]
"""Events that are asked about: number of process, position, name."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of a trace whose events in order are staged in `_chains`, its pairs in `_pairs`."""

    _output: Output
    _name: str
    _chains: Path
    _pairs: Path
    _numbers: Mapping[str, int]

    def cuts(self, slices: int | None) -> Numbers:
        """Consistent cuts into so many slices (None: by size); `cuts[p, k]` as in
        `microcosm.spark.giant.cuts`."""

        def found() -> list[list[int]]:
            count = staging.rows(self._pairs)
            wanted = slices or -(-max(1, count) // SLICE)
            if wanted == 1:
                return [[] for _ in self._numbers]
            best, even = self._consistent(self._by_lines(wanted))
            if even > 2 * count / wanted + wanted:
                sample = self._sample(-(-count // SAMPLE))
                other, size = self._consistent(cutting.by_depth(sample, len(self._numbers), wanted))
                best = other if size < even else best
            return [[int(position) for position in row] for row in best]

        made = self._output.remembered(f"cuts-{self._name}", found)
        return np.array(made, dtype=np.int64).reshape(len(self._numbers), -1)

    def _ask(
        self, folder: Path, columns: Sequence[str], kernel: Any, schema: str, size: int = 0
    ) -> list[Numbers]:
        """What tasks over the files of a folder find, by columns; a task at most `size` rows of `_MOVED`."""
        from pyspark.sql import functions as F

        table, run = input_splits.over(self._output.spark, folder, columns, kernel)
        if table is None:
            found = pa.Table.from_batches(run(input_splits.first()), rows.arrow_schema(schema))
        else:
            made = table.mapInArrow(run, schema)
            if size * len(input_splits.row_groups(folder)) > _MOVES:
                least = F.expr(f"if(process = {_SIZE}, sum(position), min(position)) position")
                made = made.groupBy("process", "cut").agg(least)
            found = made.toArrow()
        return [column.to_numpy() for column in found.columns]

    def _by_lines(self, slices: int) -> Numbers:
        """Where the cuts are if the places of events in the log are their order."""
        most = max(1, _PLACED // max(1, len(input_splits.row_groups(self._chains))))

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
            found = cutting.monotone(found)
            yield _moved(cutting.moved(np.full(shape, NEVER, dtype=np.int64), found))

        told = self._ask(self._chains, ["process", "seq", "at"], positions, _MOVED, len(numbers) * slices)
        cuts = np.full(shape, NEVER, dtype=np.int64)
        np.minimum.at(cuts, (told[0], told[1]), told[2])
        return cutting.monotone(cuts)

    def _consistent(self, cuts: Numbers) -> tuple[Numbers, int]:
        """The cuts made consistent with all pairs, and the receptions of the largest slice."""
        while True:
            process, cut, position = self._round(cuts)
            sizes, moves = process == _SIZE, process != _SIZE
            if not moves.any():
                widest = np.zeros(cuts.shape[1] + 1, dtype=np.int64)
                np.add.at(widest, cut[sizes], position[sizes])
                return cuts, int(widest.max())
            lowered = cuts.copy()
            np.minimum.at(lowered, (process[moves], cut[moves]), position[moves])
            cuts = cutting.monotone(lowered)

    def _round(self, cuts: Numbers) -> list[Numbers]:
        """What has to move; of process `_SIZE`, how many receptions are in a slice as the cuts are."""

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            lowered = cuts
            sizes = np.zeros(cuts.shape[1] + 1, dtype=np.int64)
            for batch in batches:
                part = _pairs_of(batch)
                lowered = cutting.lowered(lowered, part)
                received = cutting.slice_of(cuts, part.receiver, part.received)
                sizes += np.bincount(received, minlength=len(sizes))
            yield _moved(cutting.moved(cuts, lowered))
            yield _moved([(_SIZE, at, size) for at, size in enumerate(sizes.tolist())])

        return self._ask(self._pairs, FOUR, kernel, _MOVED, cuts.size + cuts.shape[1])

    def _sample(self, step: int) -> Pairs:
        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                part = _pairs_of(batch)
                # What chooses a pair must depend on nothing but the pair.
                chosen = (part.received * 2_654_435_761 + part.receiver * 40_503) % step == 0
                yield batch.filter(pa.array(chosen))

        return Pairs(*self._ask(self._pairs, FOUR, kernel, _FOUR))

    def scan(self, cuts: Numbers, asked: Asked) -> tuple[Knowledge, list[tuple[int, int]]]:
        """What the processes knew, and the receptions (process, position) on cycles; a shuffle of pairs."""
        slices = cuts.shape[1] + 1
        wanted: list[list[tuple[int, int]]] = [[] for _ in range(slices)]
        for process, seq, _ in asked:
            at = cutting.slice_of(cuts, np.array([process]), np.array([seq]))[0]
            wanted[int(at)].append((process, seq))

        def slice_(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in together(batches):
                part = _sliced(batch, cuts)
                yield packed(part, part.column("slice").to_numpy())

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
            members = [*unpacked(batches)]
            if members:
                at = members[0].column("slice")[0].as_py()
                table = pa.Table.from_batches(members)
                yield from scanned_slice(table, at, begins_of(cuts, at), wanted[at])

        work = input_splits.over(self._output.spark, self._pairs, FOUR, slice_)
        done = f"bases-{self._name}"
        self._output.tables(done, {"bases": _BASES, "cyclic": _CYCLIC}, *gathered(work, slices, kernel))
        bases = str(self._output.staged(done) / "bases")
        circular = self._output.spark.read.schema(_CYCLIC).parquet(str(self._output.staged(done) / "cyclic"))

        def read_() -> Iterator[tuple[list[Base], Numbers]]:
            return ((bases_of(bases, at), begins_of(cuts, at)) for at in range(slices))

        knowledge = put_together(read_, [(process, seq) for process, seq, _ in asked])
        return knowledge, [(row.process, row.seq) for row in circular.collect()]


def _numbered(names: pa.Array, numbers: Mapping[str, int]) -> Any:
    words = names.dictionary_encode()
    known = np.array([numbers[name] for name in words.dictionary.to_pylist()], dtype=np.int64)
    return known[words.indices.to_numpy()]


def _moved(changes: Sequence[tuple[int, int, int]]) -> pa.RecordBatch:
    columns = np.array(changes, dtype=np.int64).reshape(-1, 3).T
    arrays = [pa.array(column) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.arrow_schema(_MOVED))


def _pairs_of(batch: pa.RecordBatch) -> Pairs:
    return Pairs(*(batch.column(name).to_numpy() for name in FOUR))


def _sliced(batch: pa.RecordBatch, cuts: Numbers) -> pa.RecordBatch:
    """The pairs with the slice of their reception; receiver -1: with that of a sending that leaves it."""
    part = _pairs_of(batch)
    slices = cutting.slice_of(cuts, part.receiver, part.received)
    leaving = np.array([(*each, -1, -1) for each in crossing(part, cuts)], dtype=np.int64).reshape(-1, 5).T
    columns = zip((slices, *(getattr(part, name) for name in FOUR)), leaving, strict=True)
    arrays = [pa.array(np.concatenate(both)) for both in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.arrow_schema(_SLICED))


def scanned_slice(
    table: pa.Table, slice_: int, begins: Numbers, wanted: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The bases of a slice, given its pairs and the sendings that leave it, and its receptions on cycles.

    Memory: the pairs of the slice and their vectors.
    """
    every = Pairs(*(table.column(name).to_numpy() for name in FOUR))
    inside = every.receiver >= 0
    leaving = every[~inside]
    pairs = every[inside]
    asked = {*wanted, *zip(leaving.sender.tolist(), leaving.sent.tolist(), strict=True)}
    found = scanned(pairs, begins, asked)
    made: list[rows.Row] = [
        {
            "process": base.process,
            "seq": base.seq,
            "others": None if base.knows is None else list(base.knows),
            "seqs": None if base.knows is None else list(base.knows.values()),
        }
        for base in found.bases
    ]
    for begin in range(0, len(made), _BATCH):
        batch = pa.RecordBatch.from_pylist(made[begin : begin + _BATCH], schema=rows.arrow_schema(_BASES))
        yield f"bases/{slice_}", batch
    if found.cyclic:
        columns = (pa.array(column[found.cyclic]) for column in (pairs.receiver, pairs.received))
        yield "cyclic", pa.RecordBatch.from_arrays([*columns], schema=rows.arrow_schema(_CYCLIC))


def bases_of(folder: str, slice_: int) -> list[Base]:
    """The bases of a slice that are staged in `folder`; none where it has none."""
    found = []
    try:
        table = pq.read_table(f"{folder}/{slice_}", columns=rows.arrow_names(_BASES), partitioning=None)
    except FileNotFoundError:
        return []
    for process, seq, others, seqs in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.append(Base(process, seq, None if others is None else dict(zip(others, seqs, strict=True))))
    return found
