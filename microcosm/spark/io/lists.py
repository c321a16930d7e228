"""Columns of lists on their way from Spark to a kernel: one that is null costs as much as one that is not.

After each row Spark asks Arrow's Java how large the batch is, and that goes through all lists since the last
one that was not null. So a column that is mostly null costs the square of a batch: 667,000 rows in batches of
4,096 took 2.9 s of the processor with such a column and 1.1 s without, in batches of 65,536 27 s
(pyspark 4.3.0, where no setting turns this off). Lists travel in lists of one or none instead,
which are never null; kernels see nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LISTS = {"array", "map"}


def map_in_arrow(
    table: DataFrame, kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], columns: str
) -> DataFrame:
    """What a kernel makes of the rows of each partition, as `DataFrame.mapInArrow` says."""
    lists = frozenset(
        field.name for field in table.schema if field.nullable and field.dataType.typeName() in _LISTS
    )
    if not lists:
        return table.mapInArrow(kernel, columns)
    from pyspark.sql import functions as F

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel(unpacked(batch, lists) for batch in batches)

    def packed(name: str) -> Any:
        column = table[name]
        return F.when(column.isNull(), F.array()).otherwise(F.array(column)) if name in lists else column

    return table.select(*(packed(name).alias(name) for name in table.columns)).mapInArrow(run, columns)


def unpacked(batch: pa.RecordBatch, lists: frozenset[str]) -> pa.RecordBatch:
    """The batch with what is in some columns of lists of one or none, and null for none.

    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({"to": [[["p", "q"]], [], [[]]]})
    >>> unpacked(batch, frozenset(["to"])).column("to").to_pylist()
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
