"""Events of many traces in tables of whole traces. No Spark here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


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
