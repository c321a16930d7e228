"""Tasks that read staged Parquet themselves: columns straight from the file, without a pass through Java.

A row that goes from Spark's own reader to Python costs several times what reading it costs. Where a kernel
needs no order that Spark makes, its tasks are told which row groups to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from microcosm.spark.io import input_splits as pieces
from microcosm.spark.io.input_splits import Made

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_BATCH = 1 << 16


def over(
    spark: SparkSession,
    folder: Path,
    columns: Sequence[str],
    kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[Made]],
) -> tuple[DataFrame, Callable[[Iterator[pa.RecordBatch]], Iterator[Made]]]:
    """A table with a partition for each task over the files of a folder, and what a task makes of it.

    `kernel` is given the columns of some row groups, and called once in each task.
    """
    groups, own = row_groups(folder), list(columns)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[Made]:
        asked = [at for batch in batches for at in batch.column(0).to_pylist()]
        return kernel(_read([piece for at in asked for piece in groups[at]], own))

    return partitions(spark, len(groups)), run


def row_groups(folder: Path) -> list[list[pieces.Piece]]:
    """What each task over the files of a folder reads."""
    parts = sorted(folder.glob("*.parquet"))
    return list(chain.from_iterable(pieces.by_row_groups(path) for path in parts))


def partitions(spark: SparkSession, count: int) -> DataFrame:
    """The numbers below `count`, each in a partition of its own."""
    return spark.range(0, count, 1, max(1, count))


def _read(asked: Sequence[pieces.Piece], columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for piece in asked:
        with pq.ParquetFile(piece.path) as table:
            groups = None if piece.stop is None else range(piece.start, piece.stop)
            for batch in table.iter_batches(_BATCH, row_groups=groups, columns=columns):
                yield batch.select(columns)
