"""The messages of a giant trace: its sendings and receptions gathered by message, and matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from microcosm.spark.giant.chains import ODD_ROWS
from microcosm.spark.giant.matching import ENDS, PAIR, matched
from microcosm.spark.io import events as rows
from microcosm.spark.io import tasks
from microcosm.traces.event import MESSAGE_KINDS

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from microcosm.spark.io.staging import Output

TOGETHER = 500_000
"""So many events, more or less, have their messages matched by one task."""

_AT_ONCE = 1 << 16


def exchanged(
    spark: SparkSession, output: Output, name: str, chains: Path, events: int, numbers: Mapping[str, int]
) -> dict[str, DataFrame]:
    """`pairs`, with the columns of `PAIR`, and `odd`, of the messages of events that are staged in order.

    `events` is how many there are, `numbers` are those of processes.
    """
    buckets = max(1, -(-events // TOGETHER))
    columns = ["twice", *rows.arrow_names(ENDS)]

    def gather(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for batch in batches:
            yield from _gathered(batch, buckets)

    output.tables(spark, f"ends-{name}", {"ends": ENDS}, *tasks.over(spark, chains, columns, gather))
    folder = str(output.staged(f"ends-{name}") / "ends")

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for batch in batches:
            for bucket in batch.column(0).to_pylist():
                yield from _matched(folder, bucket, numbers)

    made = tasks.partitions(spark, buckets)
    return output.tables(spark, f"pairs-{name}", {"pairs": PAIR, "odd": ODD_ROWS}, made, match)


def _gathered(batch: pa.RecordBatch, buckets: int) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The ends of messages in a batch, by bucket."""
    import pyarrow as pa
    import pyarrow.compute as pc

    meets = pc.and_(
        pc.is_in(batch.column("kind"), pa.array(MESSAGE_KINDS)), pc.is_valid(batch.column("message"))
    )
    ends = batch.filter(pc.and_not(meets, batch.column("twice")))
    if not ends.num_rows:
        return
    names = ends.column("message").cast(pa.binary()).to_pylist()
    bucket = np.array([crc32(name) for name in names], dtype=np.int64) % buckets
    ends = ends.select(rows.arrow_names(ENDS))
    for number in np.unique(bucket).tolist():
        yield f"ends/{number}", ends.filter(pa.array(bucket == number))


def _matched(folder: str, bucket: int, numbers: Mapping[str, int]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What is found of the messages of a bucket. Memory: its ends."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(f"{folder}/{bucket}", partitioning=None)
    except FileNotFoundError:  # no message is in it
        return
    codes = table.column("message").combine_chunks().dictionary_encode()
    codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
    order = np.argsort(codes.indices.to_numpy(), kind="stable")
    table = table.take(pa.array(order))
    pair, odd = rows.arrow_names(PAIR), rows.arrow_names(ODD_ROWS)
    for batch in matched(iter(table.to_batches(_AT_ONCE)), numbers):
        good: Any = pc.is_valid(batch.column("left"))
        for name, columns, which in (("pairs", pair, good), ("odd", odd, pc.invert(good))):
            some = batch.filter(which).select(columns)
            if some.num_rows:
                yield name, some
