"""Rows that Spark gathers in packets: to Spark a packet is one value, to a kernel a batch of Arrow.

A row that goes by itself from Python through Spark's shuffle and back costs some microseconds, and sorting
it there costs more of them. A task that has its rows as columns already puts those of each part together,
and Spark moves a few thousand of them at a time. No row is lost or doubled where a task is tried again:
the packets are rows of Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microcosm.spark.io.input_splits import partitions
from microcosm.spark.io.lists import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

ROWS = 1 << 12
"""Rows of a packet, at most. Measured: a packet costs as much as some 100 rows to make and to open."""

TASK = 1 << 18
"""So many rows of a task are put into packets together, that each part has many of them."""

_PACKET = "part int, process string, seq long, rows binary"
_SCHEMA = pa.schema(
    [("part", pa.int32()), ("process", pa.string()), ("seq", pa.int64()), ("rows", pa.binary())]
)
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Some batches, not all of them empty, as one."""
    [found] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return found


def together(batches: Batches, rows: int = TASK) -> Iterator[pa.RecordBatch]:
    """The rows of some batches in fewer ones, of so many rows or a batch more."""
    kept: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield joined(kept)
            kept, count = [], 0
    if count:
        yield joined(kept)


def packed(batch: pa.RecordBatch, part: Any, keyed: bool = False) -> pa.RecordBatch:
    """Packets of the rows of each part, in the order in which they stand, one part number for each row.

    A packet that is `keyed` tells the columns `process` and `seq` of its first row.
    """
    order = np.argsort(part, kind="stable")
    rows, part = batch.take(pa.array(order)), part[order]
    begins = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    cuts = [
        (at, min(at + ROWS, end))
        for begin, end in zip(begins, [*begins[1:], len(part)], strict=True)
        for at in range(begin, end, ROWS)
    ]
    firsts = pa.array([begin for begin, _ in cuts], pa.int64())
    keys = [
        rows.column(field.name).take(firsts) if keyed else pa.nulls(len(cuts), field.type)
        for field in (_SCHEMA.field("process"), _SCHEMA.field("seq"))
    ]
    made = [_written(rows.slice(begin, end - begin)) for begin, end in cuts]
    parts = pa.array(part[[begin for begin, _ in cuts]], pa.int32())
    return pa.RecordBatch.from_arrays([parts, *keys, pa.array(made, pa.binary())], schema=_SCHEMA)


def _written(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
        writer.write_batch(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpacked(batches: Batches) -> Iterator[tuple[str | None, int | None, pa.RecordBatch]]:
    """What was put into packets, with the keys of each.

    >>> rows = pa.RecordBatch.from_pydict({"process": ["p", "q", "p"], "seq": [1, 1, 2]})
    >>> made = packed(rows, np.array([1, 0, 1]), keyed=True)
    >>> [(process, seq, rows.num_rows) for process, seq, rows in unpacked(iter([made]))]
    [('q', 1, 1), ('p', 1, 2)]
    """
    for batch in batches:
        keys = (batch.column(name).to_pylist() for name in ("process", "seq"))
        for process, seq, rows in zip(*keys, batch.column("rows"), strict=True):
            with pa.ipc.open_stream(rows.as_buffer()) as reader:
                yield process, seq, reader.read_next_batch()


def gathered(
    work: tuple[DataFrame | None, Callable[[Batches], Batches]], spark: Any, parts: int
) -> DataFrame:
    """The packets that tasks make, those of each part in a task of its own, in the order of their keys."""
    table, run = work
    table = table if table is not None else partitions(spark, 1)
    made = map_in_arrow(table, run, _PACKET).repartitionById(parts, "part")
    return made.sortWithinPartitions("process", "seq")


def spread(texts: pa.Array, parts: int) -> Any:
    """A part for each text, the same wherever it stands: a polynomial of its bytes, for all at once.

    >>> first, second = spread(pa.array(["m1", "m2", ""]), 8), spread(pa.array(["m2", "", "m1"]), 8)
    >>> bool((first[[1, 2, 0]] == second).all())
    True
    """
    if parts == 1:
        return np.zeros(len(texts), dtype=np.int64)
    _, ends, content = texts.buffers()
    bounds = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, last = int(bounds[0]), int(bounds[-1])
    letters = np.frombuffer(content or b"", np.uint8)[first:last].astype(np.uint64)
    sizes = np.diff(bounds)
    powers = np.full(int(sizes.max(initial=0)) + 1, 0x9E3779B97F4A7C15, dtype=np.uint64)
    place = np.arange(last - first) - np.repeat(bounds[:-1] - first, sizes)
    sums = np.append(np.uint64(0), np.cumsum(letters * np.multiply.accumulate(powers)[place]))
    found = sums[bounds[1:] - first] - sums[bounds[:-1] - first]
    return ((found >> np.uint64(33)) % np.uint64(parts)).astype(np.int64)
