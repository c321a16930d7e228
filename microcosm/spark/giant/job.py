"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes and messages matched (`giant.chains`); what remains are pairs
of four numbers. These are cut into slices that are consistent cuts (`giant.slices`), each slice is scanned by
a task of its own whose memory depends on the slice alone, and the few vectors that come out are put together
here. The number of passes does not depend on the size of the trace. Traces in which more
orders than processes and messages are done elsewhere (`extract.routes`).

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import MicrocosmError
from microcosm.spark.giant import slices as cutting
from microcosm.spark.giant.chains import LastEvent, exchanged, irregularities, put_in_order, read_ends
from microcosm.spark.giant.slices import NEVER, Base, Knowledge, Pairs, begins_of, monotone, moved, slice_of
from microcosm.spark.io import inputs, staging
from microcosm.spark.io.events import FRONTIERS, arrow_names, arrow_schema, batches_of, odd_rows
from microcosm.spark.io.packets import gathered, packed, together, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from microcosm.spark.giant.slices import Numbers
    from microcosm.spark.io.staging import Output


class NotInSlices(MicrocosmError):
    """What stands against doing a trace in slices, found when it was begun: it goes whole to a worker."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is found of a giant trace: edges (`left, relation, right, source`), frontiers, as
    `microcosm.spark.extract.job` has them, and the folders of what is odd (`ODD_ROWS`)."""

    edges: DataFrame
    frontiers: pa.Table
    odd: list[Path]
    lost: DataFrame
    """The places (`at`) of events that are there already."""


def found_in_slices(
    output: Output, name: str, trace: tuple[str | None, int], several: bool, slices: int | None
) -> Found:
    """Everything of a trace, given its name and number of staged events; what takes long is staged.

    `name` tells its stages from those of other traces. Where there are `several` traces, its name stands
    before those of processes and messages. It is done in so many `slices` (None: by size). Raises
    `NotInSlices`.
    """
    from pyspark.sql import functions as F

    in_order = put_in_order(output, f"chains-{name}", trace, several)
    chains, folder = in_order["chains"], output.staged(f"chains-{name}")
    places, last = folder / "chains", read_ends(folder / "ends")
    if any(row.again for row in last):
        raise NotInSlices("a process that may begin again")
    numbers = {row.process: number for number, row in enumerate(last)}
    pairs = exchanged(output, name, places, last)["pairs"]
    met = output.staged(f"pairs-{name}")
    odd = [met / "odd"]
    cuts = Cutting(output, name, places, met / "pairs", numbers).cuts(slices)
    knowledge, cyclic = scanned_by_tasks(output, name, met / "pairs", cuts)
    believed = pairs.where("not near")
    if cyclic:
        gone = output.spark.createDataFrame(cyclic, "receiver long, received long")
        on = ["receiver", "received"]
        where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
        told_of = pairs.select("left", "right", "message", *on).join(gone, on, "left_semi")
        detail = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
        circular = odd_rows(told_of.join(where, "right"), "message-cycle", F.concat("right", *detail))
        odd.append(output.stage(f"cycles-{name}", lambda: circular))
        believed = believed.join(gone, on, "left_anti")
    frontiers = _frontiers(trace[0], last, knowledge)
    wide = frontiers.filter(pc.is_null(frontiers.column("knows"))).column("last").to_pylist()
    alone = [row.process for row in last if row.events == 1]
    odd.append(irregularities(output, name, places, alone, wide))
    prefix = f"{trace[0]}/" if several and trace[0] is not None else ""
    edges = _edges(chains, believed, prefix)
    return Found(edges, frontiers, odd, chains.where("twice").select("at"))


def _edges(chains: DataFrame, pairs: DataFrame, prefix: str) -> DataFrame:
    from pyspark.sql import functions as F

    def source(what: str, name: str) -> Column:
        return F.concat(F.lit(f"{what} {prefix}"), name).alias("source")

    before = F.lit("<").alias("relation")
    follows = chains.where("prior is not null and not twice")
    edges = follows.select(
        F.col("prior").alias("left"), before, F.col("id").alias("right"), source("process", "process")
    )
    return edges.unionByName(pairs.select("left", before, "right", source("message", "message")))


def _frontiers(trace: str | None, ends: Sequence[LastEvent], knowledge: Knowledge) -> pa.Table:
    found: list[dict[str, Any]] = []
    for number, row in enumerate(ends):
        vector = knowledge.of(number, row.seq)
        knows = None if vector is None else [(ends[at].process, seq) for at, seq in sorted(vector.items())]
        found.append({"trace": trace, "process": row.process, "last": row.id, "knows": knows})
    return pa.Table.from_pylist(found, schema=arrow_schema(FRONTIERS))


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
_PLACED = 1 << 20
"""So many places of events, more or less, tell where cuts begin."""
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
        from pyspark.sql import functions as F

        shares, accuracy = [at / slices for at in range(1, slices)], max(10_000, 10 * slices)
        chains = self._output.spark.read.schema("at long").parquet(str(self._chains))
        chains = chains.sample(min(1.0, _PLACED / max(1, staging.rows(self._chains))), 1)
        [firsts] = chains.agg(F.percentile_approx("at", shares, accuracy)).collect()[0]
        numbers = self._numbers
        never = np.full((len(numbers), slices - 1), NEVER, dtype=np.int64)

        def positions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = never.copy()
            for batch in batches:
                process = _numbered(batch.column(0), numbers)
                seq, at = batch.column(1).to_numpy(), batch.column(2).to_numpy()
                cut = np.searchsorted(firsts, at, "right") - 1  # of those that it is behind, the last
                np.minimum.at(found, (process[cut >= 0], cut[cut >= 0]), seq[cut >= 0])
            yield _moved(*moved(never, monotone(found)))

        answers = self._ask(self._chains, ["process", "seq", "at"], positions, _MOVED, len(numbers) * slices)
        cuts = never.copy()
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
                least = cutting.lowered(least, part)
                received = slice_of(cuts, part.receiver, part.received)
                sizes += np.bincount(received, minlength=len(sizes))
            yield _moved(*moved(cuts, least))
            yield _moved(np.full(len(sizes), _SIZE), np.arange(len(sizes)), sizes)

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


def _moved(*columns: Numbers) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*map(pa.array, columns)], schema=arrow_schema(_MOVED))


def pairs_of(batch: pa.RecordBatch) -> Pairs:
    """The pairs in the columns `FOUR` of a batch, or of a table."""
    return Pairs(*(batch.column(name).to_numpy() for name in FOUR))


_SLICED = f"slice long, {NUMBERS}"
_BASES = "process long, seq long, others array<long>, seqs array<long>"
_CYCLIC = "process long, seq long"


def scanned_by_tasks(
    output: Output, name: str, folder: Path, cuts: Numbers
) -> tuple[Knowledge, list[tuple[int, int]]]:
    """What the processes knew, and the receptions (process, position) on cycles, of the pairs in a folder.

    Cost: a shuffle of the pairs; each slice is scanned by a task of its own.
    """
    slices = cuts.shape[1] + 1

    def slice_(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in (_sliced(batch, cuts) for batch in together(batches)):
            yield packed(part, part.column("slice").to_numpy())

    def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        members = [*unpacked(batches)]
        if members:
            at = members[0].column("slice")[0].as_py()
            table = pa.Table.from_batches(members)
            yield from scanned_slice(table, at, begins_of(cuts, at))

    work = inputs.over(output.spark, folder, FOUR, slice_)
    done = f"bases-{name}"
    output.tables(done, {"bases": _BASES, "cyclic": _CYCLIC}, *gathered(work, slices, kernel, keyed=False))
    bases = str(output.staged(done) / "bases")
    circular = output.spark.read.schema(_CYCLIC).parquet(str(output.staged(done) / "cyclic"))

    def read_() -> Iterator[tuple[list[Base], Numbers]]:
        return ((bases_of(bases, at), begins_of(cuts, at)) for at in range(slices))

    return cutting.put_together(read_), [(row.process, row.seq) for row in circular.collect()]


def _sliced(batch: pa.RecordBatch, cuts: Numbers) -> pa.RecordBatch:
    """The pairs with the slice of their reception; receiver -1: with that of a sending that leaves it."""
    part = pairs_of(batch)
    slices = slice_of(cuts, part.receiver, part.received)
    leaving = [(*each, -1, -1) for each in cutting.crossing(part, cuts)]
    numbers = np.array(leaving, dtype=np.int64).reshape(-1, 5).T
    columns = zip((slices, *(getattr(part, name) for name in FOUR)), numbers, strict=True)
    arrays = [pa.array(np.concatenate(both)) for both in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(_SLICED))


def scanned_slice(table: pa.Table, slice_: int, begins: Numbers) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The bases of a slice, given its pairs and the sendings that leave it, and its receptions on cycles.

    Memory: the pairs of the slice and their vectors.
    """
    every = pairs_of(table)
    inside = every.receiver >= 0
    leaving = every[~inside]
    pairs = every[inside]
    wanted = set(zip(leaving.sender.tolist(), leaving.sent.tolist(), strict=True))
    bases, cyclic = cutting.scanned(pairs, begins, wanted)
    rows = (
        {
            "process": base.process,
            "seq": base.seq,
            "others": None if base.knows is None else list(base.knows),
            "seqs": None if base.knows is None else list(base.knows.values()),
        }
        for base in bases
    )
    for batch in batches_of(rows, _BASES):
        yield f"bases/{slice_}", batch
    if cyclic:
        columns = (pa.array(column[cyclic]) for column in (pairs.receiver, pairs.received))
        yield "cyclic", pa.RecordBatch.from_arrays([*columns], schema=arrow_schema(_CYCLIC))


def bases_of(folder: str, slice_: int) -> list[Base]:
    """The bases of a slice that are staged in `folder`; none where it has none."""
    try:
        table = pq.read_table(f"{folder}/{slice_}", columns=arrow_names(_BASES), partitioning=None)
    except FileNotFoundError:
        return []
    return [
        Base(process, seq, None if others is None else dict(zip(others, seqs, strict=True)))
        for process, seq, others, seqs in zip(*(each.to_pylist() for each in table.columns), strict=True)
    ]
