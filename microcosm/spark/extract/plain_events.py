"""The events of many traces in whole tables and as numbers, and which of the traces can be done so.

Plain is a trace in which only processes and messages order, whose positions count from 1 without a hole.
No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.spark.io.naming import in_traces

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST = 64
"""Processes of a plain trace, at most: each vector has room for those of the widest one."""

OTHERS = ("name", "clock", "lamport", "earliest", "after")
"""Columns that order too, or name events; of a plain trace they are null."""


class PlainEvents:
    """Events in the order of their processes, of all traces: `own` numbers the process of each.

    By event: `own`, `seq` and `id`. By process: `first` event and `size`, `trace`
    (its number), `place` among the processes of the trace, name (`process`), `of` (the trace's name) and
    `full`, both names. By trace: `fit`, whether it is plain as far as is known, and `bounds`.
    """

    def __init__(self, table: pa.Table, several: bool) -> None:
        import pyarrow.compute as pc

        self._several = several
        self.bounds = ends = bounds(table)
        count = table.num_rows
        traces = len(ends) - 1
        of = np.repeat(np.arange(traces), np.diff(ends))
        fit = np.ones(traces, dtype=bool)
        for name in OTHERS:
            if name in table.column_names:
                used = pc.is_valid(one_array(table.column(name))).to_numpy(zero_copy_only=False)
                fit[of[used]] = False
        if "chosen" in table.column_names:
            fit[of[one_array(table.column("chosen")).to_numpy(zero_copy_only=False)]] = False
        words = one_array(table.column("process")).dictionary_encode()
        width = max(1, len(words.dictionary))
        keys = of * width + words.indices.to_numpy()
        seq = one_array(table.column("seq")).to_numpy()
        at = np.lexsort((seq, keys))
        keys, seq = keys[at], seq[at]
        begins = np.concatenate(([True], keys[1:] != keys[:-1])) if count else np.zeros(0, dtype=bool)
        own = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        self.size = np.diff(np.append(first, count))
        fit[of[at][seq != np.arange(count) - first[own] + 1]] = False
        self.trace = (keys // width)[first]
        lowest = np.searchsorted(self.trace, np.arange(traces))
        self.place = np.arange(len(first)) - lowest[self.trace]
        fit[np.bincount(self.trace, minlength=traces) > WIDEST] = False
        self.own, self.seq, self.first, self.fit = own, seq, first, fit
        self._table, self._at = table, at
        self.process, self.of = self.column("process", first), self.column("trace", first)
        self.full = self.with_trace(self.of, self.process)
        self.id = self.named(self.full, slice(None))

    def column(self, name: str, events: Any) -> pa.Array:
        """What a column has of some events."""
        import pyarrow as pa

        return one_array(self._table.column(name)).take(pa.array(self._at[events]))

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._table.column_names

    def named(self, process: pa.Array, events: Any) -> pa.Array:
        """The names of some events, given those of processes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        number = pc.cast(pa.array(self.seq[events]), pa.string())
        return pc.binary_join_element_wise(process.take(pa.array(self.own[events])), number, ":")

    def with_trace(self, trace: pa.Array, name: pa.Array) -> pa.Array:
        """Names with those of their traces in front, where there are several traces."""
        return in_traces(trace, name) if self._several and trace.null_count < len(trace) else name

    def fits(self, events: Any) -> Any:
        """Which of some events are of plain traces."""
        fits: Any = self.fit[self.trace[self.own[events]]]
        return fits

    def refuse(self, events: Any) -> None:
        """The traces of these events are not plain."""
        self.fit[self.trace[self.own[events]]] = False


def whole_traces(batches: Iterator[pa.RecordBatch], events: int) -> Iterator[pa.Table]:
    """Tables of whole traces with at least so many events, but for the last; traces stand together."""
    import pyarrow as pa

    kept: list[pa.RecordBatch] = []
    count, enough = 0, events
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        if count < enough:
            continue
        table = pa.Table.from_batches(kept)
        last = int(bounds(table)[-2])
        if last:
            yield table.slice(0, last)
            kept, count, enough = table.slice(last).to_batches(), table.num_rows - last, events
        else:  # one long trace: the next look is when it has doubled
            enough = 2 * count
    if count:
        yield pa.Table.from_batches(kept)


def bounds(table: pa.Table) -> Any:
    """Where traces begin in a table, and at last its length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not table.num_rows:
        return np.zeros(1, dtype=np.int64)
    trace = pc.fill_null(one_array(table.column("trace")), "\0none")
    changes = pc.not_equal(trace[1:], trace[:-1]) if len(trace) > 1 else pa.array([], pa.bool_())
    ends = np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1
    return np.concatenate(([0], ends, [table.num_rows]))


def one_array(column: Any) -> Any:
    """A column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
