"""Rows that Spark gathers in packets: to Spark a packet is one value, to a kernel a batch of Arrow.

A row that goes by itself from Python through Spark's shuffle and back costs some microseconds, and sorting
it there costs more of them. A task that has its rows as columns already puts those of each part together,
and Spark moves a few thousand of them at a time. No row is lost or doubled where a task is tried again:
the packets are rows of Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.io.inputs import Made

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

ROWS = 1 << 12
"""Rows of a packet that has a key, at most: a packet costs as much as some 100 rows to make and to open."""

TASK = 1 << 18
"""So many rows of a task are put into packets together, that each part has many of them."""

NONE = "\0none"
"""In the place of a text that is null."""

HELD = 1 << 16
"""So many rows are merged at a time, at least."""

_PACKET = "part int, text string, number long, rows binary"
_SCHEMA = pa.schema(
    [("part", pa.int32()), ("text", pa.string()), ("number", pa.int64()), ("rows", pa.binary())]
)
_WRITTEN = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)  # to begin threads costs more than they save

Key = tuple[str, str]
"""A column of texts and one of numbers, by which, and then by `at`, rows are put in order."""


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Some batches, not all of them empty, as one; dictionaries may differ."""
    [found] = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()
    return found


def together(batches: Batches) -> Batches:
    """The rows of some batches in fewer ones, of `TASK` rows or a batch more."""
    kept: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        if count >= TASK:
            yield joined(kept)
            kept, count = [], 0
    if count:
        yield joined(kept)


def packed(rows: pa.RecordBatch, part: Any, key: Key | None = None) -> pa.RecordBatch:
    """Packets of the rows of each part, in the order in which they stand, given the part of each row.

    A part has one packet. With a `key` rows are put into the order of it, and each packet, of some `ROWS`,
    has that of its first row.
    """
    order = np.argsort(part, kind="stable") if key is None else _order(rows, key, part)
    rows, part = rows.take(pa.array(order)), part[order]
    begins = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    most = len(part) if key is None else ROWS
    cuts = [
        (at, min(at + most, end))
        for begin, end in zip(begins, [*begins[1:], len(part)], strict=True)
        for at in range(begin, end, most)
    ]
    firsts = pa.array([begin for begin, _ in cuts], pa.int64())
    keys = [pa.nulls(len(cuts), kind) for kind in (pa.string(), pa.int64())]
    if key is not None:
        keys = [_texts(rows.column(key[0]).take(firsts)), rows.column(key[1]).take(firsts)]
    made = pa.array([_written(rows.slice(begin, end - begin)) for begin, end in cuts], pa.binary())
    parts = pa.array(part[firsts.to_numpy()], pa.int32())
    return pa.RecordBatch.from_arrays([parts, *keys, made], schema=_SCHEMA)


def _order(rows: pa.RecordBatch, key: Key, part: Any = None) -> Any:
    words = _texts(rows.column(key[0])).dictionary_encode()
    order = pc.sort_indices(words.dictionary).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    numbers = (rows.column(name).to_numpy() for name in dict.fromkeys(("at", key[1])))
    return np.lexsort((*numbers, rank[words.indices.to_numpy()], *(() if part is None else (part,))))


def _texts(column: pa.Array) -> pa.Array:
    return pc.fill_null(column, NONE)


def _written(rows: pa.RecordBatch) -> bytes:
    columns = [
        # of a dictionary that other packets use too, what is used here
        each.cast(each.type.value_type).dictionary_encode()
        if isinstance(each, pa.DictionaryArray) and len(each.dictionary) > len(each)
        else each
        for each in rows.columns
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_WRITTEN) as writer:
        writer.write_batch(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpacked(packets: Batches) -> Batches:
    """What was put into packets.

    >>> rows = pa.RecordBatch.from_pydict({"process": ["p", "q", "p"], "seq": [1, 1, 2]})
    >>> [part.to_pydict() for part in unpacked(iter([packed(rows, np.array([1, 0, 1]))]))]
    [{'process': ['q'], 'seq': [1]}, {'process': ['p', 'p'], 'seq': [1, 2]}]
    """
    return (rows for _, _, rows in _unpacked(packets))


def _unpacked(packets: Batches) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    for batch in packets:
        keys = (batch.column(name).to_pylist() for name in ("text", "number"))
        for text, number, rows in zip(*keys, batch.column("rows"), strict=True):
            with pa.ipc.open_stream(rows.as_buffer(), options=_READ) as reader:
                yield text, number, reader.read_next_batch()


def merged(packets: Batches, key: Key) -> Batches:
    """The rows of packets that come in the order of their keys, in that order; equal keys are in one batch.

    Memory: the rows of packets of which one begins before the other ends.
    """
    held: list[pa.RecordBatch] = []
    count, enough = 0, HELD
    for text, number, rows in _unpacked(packets):
        if count >= enough:
            every = joined(held)
            every = every.take(pa.array(_order(every, key)))
            texts = _texts(every.column(key[0]))
            same = pc.and_(pc.equal(texts, text), pc.less(every.column(key[1]), number))
            done = pc.sum(pc.or_(pc.less(texts, text), same)).as_py()
            if done:
                yield every.slice(0, done)
            held, count = [every.slice(done)], every.num_rows - done
            enough = HELD + 2 * count
        held.append(rows)
        count += rows.num_rows
    if count:
        every = joined(held)
        yield every.take(pa.array(_order(every, key)))


def gathered(
    work: tuple[DataFrame | None, Callable[[Batches], Batches]],
    parts: int,
    kernel: Callable[[Batches], Iterator[Made]],
    *,
    keyed: bool,
) -> tuple[DataFrame | None, Callable[[Batches], Iterator[Made]]]:
    """A table of the packets that tasks make, and the kernel, which has those of each part: in the order of
    their keys where they are `keyed`. No table: the one task is so small that this process does all
    (`inputs.work`)."""
    table, run = work
    if table is not None:
        made = map_in_arrow(table, run, _PACKET).repartitionById(parts, "part")
        return made.sortWithinPartitions("text", "number") if keyed else made, kernel

    def here(batches: Batches) -> Iterator[Made]:
        packets = pa.Table.from_batches(run(batches), _SCHEMA)
        packets = packets.sort_by([(name, "ascending") for name in ("part", "text", "number")])
        for part in pc.unique(packets.column("part")).to_pylist():
            yield from kernel(iter(packets.filter(pc.field("part") == part).to_batches()))

    return None, here


def spread(texts: pa.Array, parts: int) -> Any:
    """A part for each text, the same wherever it stands, by its CRC-32; one for all that are null.

    >>> first, second = spread(pa.array(["m1", "m2", None]), 8), spread(pa.array(["m2", None, "m1"]), 8)
    >>> bool((first[[1, 2, 0]] == second).all())
    True
    """
    words = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    of = np.array([*(crc32(word.encode()) % parts for word in words.dictionary.to_pylist()), 0])
    return of[pc.fill_null(words.indices, len(of) - 1).to_numpy()]


_LISTS = {"array", "map"}


def map_in_arrow(
    table: DataFrame, kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], columns: str
) -> DataFrame:
    """What a kernel makes of the rows of each partition, as `DataFrame.mapInArrow` says."""
    lists = frozenset(
        field.name for field in table.schema if field.nullable and field.dataType.typeName() in _LISTS
    )

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel(unlisted(batch, lists) for batch in map(_usual, batches))

    if not lists:
        return table.mapInArrow(run, columns)
    from pyspark.sql import functions as F

    def packed(name: str) -> Any:
        column = table[name]
        return F.when(column.isNull(), F.array()).otherwise(F.array(column)) if name in lists else column

    return table.select(*(packed(name).alias(name) for name in table.columns)).mapInArrow(run, columns)


def _usual(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with texts as kernels have them, whatever Spark was told of `arrow.useLargeVarTypes`."""
    if not any("large_" in str(kind) for kind in batch.schema.types):
        return batch
    columns = [column.cast(_small(column.type)) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _small(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return pa.map_(_small(kind.key_type), _small(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_small(kind.value_type))
    return pa.string() if pa.types.is_large_string(kind) else kind


def unlisted(batch: pa.RecordBatch, lists: frozenset[str]) -> pa.RecordBatch:
    """The batch with what is in some columns of lists of one or none, and null for none.

    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({"to": [[["p", "q"]], [], [[]]]})
    >>> unlisted(batch, frozenset(["to"])).column("to").to_pylist()
    [['p', 'q'], None, []]
    """
    for name in lists:
        column = batch.column(name)
        there = pc.list_value_length(column).to_numpy() > 0
        found = column.flatten()
        if not there.all():
            found = found.take(pa.array(np.cumsum(there) - 1, mask=~there))
        batch = batch.set_column(batch.schema.get_field_index(name), name, found)
    return batch
