"""The rows of the table `events`: an event with the name by which edges know it. No Spark here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.spark.io import events as rows

if TYPE_CHECKING:
    import pyarrow as pa

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
    full = pc.coalesce(pc.binary_join_element_wise(trace, own, "/"), own) if several else own
    columns["id"] = pc.coalesce(name, full)
    schema = rows.arrow_schema(NAMED)
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)
