"""From digests to classes: the first row of each id counts, and a class is what has one digest.

Rows are gathered by this process where they fit into its memory; a shuffle takes longer to begin. More of
them are gathered by Spark, in parts that do, and the same is done with each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.spark.io import staging
from microcosm.spark.io.events import arrow_names, arrow_schema

if TYPE_CHECKING:
    from microcosm.spark.io.staging import Output

DIGESTED = "id string, digest string, consistent boolean, at long"
"""What is needed of a row."""

CLASSES = "id string, digest string, class string, consistent boolean"
REPEATED = "id string, at long, times long"
COUNTS = "microcosms long, classes long, inconsistent long"

TOGETHER = 1 << 20
"""So many rows are gathered in one place."""

_TOLD = 5
"""So many ids that occur again are told one by one."""


@dataclass(frozen=True, slots=True)
class Classes:
    """How many microcosms and classes there are, how many are `inconsistent`, how many `repeated` an id;
    and some of these: ids and how often they occur."""

    microcosms: int
    classes: int
    inconsistent: int
    repeated: int
    some: list[tuple[str, int]]


def classes(output: Output, digested: Path) -> Classes:
    """Stage the table `classes` of rows in a folder, which have the columns of `DIGESTED` and maybe more."""
    rows = staging.rows(digested)
    names = arrow_names(DIGESTED)
    if rows <= TOGETHER:
        made = dict(_first(_table(digested, names)))
        made.update(_classed(made["kept"]))
        for name in ("repeated", "counts", "classes"):
            output.put(name, made[name])
        return _counted(output.staged("counts"), output.staged("repeated"))
    from pyspark.sql import functions as F

    parts = -(-rows // TOGETHER)
    by_id = output.spark.read.parquet(str(digested)).select(*names).repartition(parts, "id")
    kinds = {"kept": DIGESTED, "repeated": REPEATED}
    kept = output.tables("first", kinds, by_id, _of_all(_first))["kept"]
    by_digest = kept.repartition(parts, F.coalesce("digest", "id"))
    output.tables("classed", {"classes": CLASSES, "counts": COUNTS}, by_digest, _of_all(_classed))
    output.gather("classes", [output.staged("classed") / "classes"])
    return _counted(output.staged("classed") / "counts", output.staged("first") / "repeated")


def first_of_each(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The first row of each id, and the ids that occur again.

    >>> import pyarrow as pa
    >>> rows = {"id": ["x", "y", "x"], "digest": ["2", "1", "1"], "consistent": [True] * 3, "at": [5, 6, 4]}
    >>> kept, repeated = first_of_each(pa.table(rows))
    >>> sorted(kept.column("at").to_pylist()), repeated.to_pylist()
    ([4, 6], [{'id': 'x', 'at': 4, 'times': 2}])
    """
    found = table.group_by("id").aggregate([("at", "min"), ("at", "count")])
    found = found.rename_columns(["id", "at", "times"])
    again = found.filter(pc.field("times") > 1)
    kept = (
        table.join(found.drop_columns("times"), ["id", "at"], join_type="inner") if again.num_rows else table
    )
    return kept, again


def classed(table: pa.Table) -> pa.Table:
    """The rows with the least id that has the digest of each; a row without a digest is in no class.

    >>> import pyarrow as pa
    >>> rows = pa.table({"id": ["y", "x", "z"], "digest": ["1", "1", None], "consistent": [True] * 3})
    >>> sorted(classed(rows).column("class").to_pylist(), key=str)
    [None, 'x', 'x']
    """
    least = table.group_by("digest").aggregate([("id", "min")])  # by bytes, which is by code points
    found = table.join(least.rename_columns(["digest", "class"]), "digest", use_threads=False)
    return found.select(arrow_names(CLASSES)).cast(arrow_schema(CLASSES))


def _first(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    yield from zip(("kept", "repeated"), first_of_each(table), strict=True)


def _classed(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    found = classed(table)
    own = pc.sum(pc.equal(found.column("id"), found.column("class"))).as_py()
    without = pc.sum(pc.invert(found.column("consistent"))).as_py()
    yield "classes", found
    counts = {"microcosms": found.num_rows, "classes": own or 0, "inconsistent": without or 0}
    yield "counts", pa.Table.from_pylist([counts], schema=arrow_schema(COUNTS))


def _of_all(
    made: Callable[[pa.Table], Iterator[tuple[str, pa.Table]]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[str, pa.RecordBatch]]]:
    """A kernel that makes tables of all rows of a partition."""

    def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        table = pa.Table.from_batches(batches, arrow_schema(DIGESTED))
        for name, found in made(table):
            for batch in found.to_batches():
                yield name, batch

    return kernel


def _counted(counts: Path, repeated: Path) -> Classes:
    """What is told in two folders, summed up."""
    sums = [pc.sum(column).as_py() or 0 for column in _table(counts, arrow_names(COUNTS)).columns]
    again = _table(repeated, arrow_names(REPEATED)).sort_by("at")
    times = (pc.sum(again.column("times")).as_py() or 0) - again.num_rows
    some = [(row["id"], row["times"]) for row in again.slice(0, _TOLD).to_pylist()]
    return Classes(sums[0], sums[1], sums[2], times, some)


def _table(folder: Path, columns: list[str]) -> pa.Table:
    return pa.concat_tables([pq.read_table(path, columns=columns) for path in folder.glob("*.parquet")])
