"""The names by which edges know events, in columns: `trace/process:seq` unless the log names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.spark.io import events as rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

NAMED = rows.EVENT.replace("name string, ", "id string, ")
"""The columns of an event with its name, which it always has."""


def named(batch: pa.RecordBatch, several: bool) -> pa.RecordBatch:
    """Rows of `events.EVENT` with their names; `several` puts the trace before them.

    >>> import pyarrow as pa
    >>> row = {"trace": "t", "process": "p", "seq": 2, "kind": "internal"}
    >>> batch = pa.RecordBatch.from_pylist([row], schema=rows.arrow_schema(rows.EVENT))
    >>> named(batch, True).column("id").to_pylist(), named(batch, False).column("id").to_pylist()
    (['t/p:2'], ['p:2'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    name, trace = columns.pop("name"), columns["trace"]
    own = pc.binary_join_element_wise(columns["process"], pc.cast(columns["seq"], pa.string()), ":")
    columns["id"] = pc.coalesce(name, in_traces(trace, own) if several else own)
    schema = rows.arrow_schema(NAMED)
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def in_traces(trace: pa.Array, name: pa.Array) -> pa.Array:
    """Names with those of their traces in front, where these have names."""
    import pyarrow.compute as pc

    return pc.coalesce(pc.binary_join_element_wise(trace, name, "/"), name)


def id_of(several: bool) -> Column:
    """The name of an event as a column of a table of Spark's."""
    from pyspark.sql import functions as F

    own = F.concat_ws(":", "process", F.col("seq").cast("string"))
    full = F.when(F.col("trace").isNull(), own).otherwise(F.concat_ws("/", "trace", own)) if several else own
    return F.coalesce("name", full)
