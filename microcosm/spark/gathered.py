"""Events of many traces gathered by trace without Spark, where the staged files allow it.

A shuffle takes each row into Java, through a sort and back to Python, which is more than finding its edges
takes. Logs mostly have the events of a trace together: then a task reads the file in which they were staged,
and has whole traces. Only a trace that is in several files needs the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from microcosm.spark import progress, tasks
from microcosm.spark.tasks import Made

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST = 1_000_000
"""Of so many traces, each counted once a piece of input, it is looked here where they are."""

LARGEST = 2_000_000
"""Events of a file that a task holds, at most."""

TOGETHER = 250_000
"""So many events, more or less, are for one task: more files, where they are small."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files for each task, each with whole traces but for those that are `apart`: all, or these."""

    files: list[list[Path]]
    apart: pa.Array
    all_apart: bool


def places(events: Path, sizes: Path) -> Places:
    """Where the traces are whose `sizes` were staged with their events (`microcosm.spark.reading`).

    Cost: the sizes are read, and the end of each file of events.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if progress.rows(sizes) > MOST:
        return Places([], pa.array([], pa.string()), True)
    columns = ["trace", "first", "last"]
    counted = pa.concat_tables([pq.read_table(path, columns=columns) for path in sizes.glob("*.parquet")])
    ends = counted.group_by("trace").aggregate([("first", "min"), ("last", "max")])
    found = sorted(described for path in events.glob("*.parquet") if (described := _described(path)))
    begins = np.array([begin for begin, _, _ in found], dtype=np.int64)
    large = np.array([rows > LARGEST for _, rows, _ in found], dtype=bool)
    first, last = (
        np.searchsorted(begins, ends.column(name).to_numpy(), "right") - 1
        for name in ("first_min", "last_max")
    )
    apart = (first != last) | large[first]
    files: list[list[Path]] = []
    room = 0
    for _, rows, path in found:
        if not files or rows > room:
            files.append([])
            room = TOGETHER
        files[-1].append(path)
        room -= rows
    traces = ends.column("trace").filter(pa.array(apart)).combine_chunks()
    return Places(files, traces, bool(apart.all()))


def over(
    spark: SparkSession,
    files: Sequence[Sequence[Path]],
    columns: Sequence[str],
    without: pa.Array,
    kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[Made]],
) -> tuple[DataFrame, Callable[[Iterator[pa.RecordBatch]], Iterator[Made]]]:
    """A table with a partition for each task, and what a task makes of the traces of its files.

    `kernel` is given the events of one trace after the other, in the order of `at`; not those of the traces
    `without`.
    """
    own, names = list(columns), [list(map(str, some)) for some in files]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[Made]:
        asked = [path for batch in batches for at in batch.column(0).to_pylist() for path in names[at]]
        return kernel(batch for path in asked for batch in _by_trace(path, own, without))

    return tasks.partitions(spark, len(names)), run


def _described(path: Path) -> tuple[int, int, Path] | None:
    """The least `at` of a file and the number of its rows; None where it has none."""
    import pyarrow.parquet as pq

    described = pq.read_metadata(path)
    if not described.num_rows:
        return None
    column = described.schema.names.index("at")
    groups = (described.row_group(group) for group in range(described.num_row_groups))
    return min(group.column(column).statistics.min for group in groups), described.num_rows, path


def _by_trace(path: str, columns: list[str], without: pa.Array) -> list[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=columns, partitioning=None)
    if len(without):
        table = table.filter(pc.invert(pc.is_in(table.column("trace"), without)))
    trace = table.column("trace").combine_chunks().dictionary_encode()
    code = pc.fill_null(trace.indices, -1).to_numpy(zero_copy_only=False)
    if len(code) and len(np.flatnonzero(np.diff(code))) >= len(np.unique(code)):  # some trace comes again
        table = table.take(pa.array(np.argsort(code, kind="stable")))
    found: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return found
