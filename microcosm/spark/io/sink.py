"""Tables that tasks write themselves: Parquet straight from a kernel's columns, several tables in one pass.

Rows that go back from Python to Spark to be written there cost more than finding them. So a task writes what
it finds into files of its own and tells Spark only their names. What counts is what the tasks that succeeded
have told: a file of a task that was killed, or tried again, is in nobody's list and is deleted. The folder
has another name until it is whole.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from microcosm import files
from microcosm.spark.io.folders import SCHEMA
from microcosm.spark.io.inputs import first
from microcosm.spark.io.packets import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WHOLE = "_SUCCESS"
"""What stands in a folder that was written to the end, as Spark leaves it in its own."""


LARGE = 128 << 20
"""A file ends after so many bytes."""

_WORDS = 1 << 16
"""Bytes of different values after which a column is written without a dictionary.

Names of events differ from row to row: with a megabyte, as is usual, writing edges takes 1.15 times as long,
and they are 1.3 times as large.
"""

_NAMES = frozenset(("id", "left", "right", "source", "message"))
"""Columns without statistics, which tell little beside those of `trace` and take a fifth of writing edges."""

_GROUP = 8 << 20
"""Bytes of columns that are written together, before they are compressed."""

Kernel = Callable[[Iterator["pa.RecordBatch"]], Iterator[tuple[str, "pa.RecordBatch"]]]
"""What makes of batches rows of several tables, by their names; `name/part` goes into a folder of its own."""

_WRITTEN = "table string, file string, rows long, filled string"


def write(table: DataFrame | None, kernel: Kernel, tables: Mapping[str, pa.Schema], folder: Path) -> None:
    """Write the `tables` that a kernel makes of a DataFrame, each into a folder of its name in `folder`.

    The kernel is called once for each partition; without a DataFrame in this process, as the first task of
    `inputs.work` is. Beside the tables stands what `filled` reads.
    """
    schemas = {name: schema.with_metadata({"schema": SCHEMA}) for name, schema in tables.items()}
    here = table is None

    def run(attempt: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not here:
            _settle()
        writing: dict[str, _Writing] = {}
        for name, batch in kernel(batches):
            if name not in writing:
                writing[name] = _Writing(attempt / name, name, schemas[name.partition("/")[0]])
            writing[name].take(batch, _GROUP // (1 + len(writing) // 16))
        written = [row for each in writing.values() for row in each.end()]
        text = pa.string()
        schema = pa.schema([("table", text), ("file", text), ("rows", pa.int64()), ("filled", text)])
        if written:
            yield pa.RecordBatch.from_pylist(written, schema=schema)

    with replacing(folder) as attempt:
        if table is not None:
            written = [row.asDict() for row in map_in_arrow(table, partial(run, attempt), _WRITTEN).collect()]
        else:
            written = [row for batch in run(attempt, first()) for row in batch.to_pylist()]
        _keep(attempt, schemas, written)


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Another folder, which takes the place of this one when all has been written; else it goes away."""
    attempt = folder.with_name(f"{folder.name}.{uuid4().hex}")
    try:
        yield attempt
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(attempt, folder)
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


@cache
def _settle() -> None:
    """Keep what a worker has loaded out of the search for garbage that Spark makes after each task.

    The search takes some 60 ms, as long as many tasks take; the worker goes on to other tasks.
    """
    gc.freeze()


def filled(folder: Path, table: str) -> set[str]:
    """The columns of a table in a folder that are not null everywhere."""
    return set(json.loads((folder / WHOLE).read_text(encoding="utf-8"))[table])


def link(sources: Sequence[Path], folder: Path) -> None:
    """A folder with the Parquet files of others; they are the same files where the file system can."""
    with replacing(folder) as attempt:
        attempt.mkdir(parents=True)
        for source in sources:
            for path in source.glob("*.parquet"):
                place = attempt / f"part-{uuid4().hex}.parquet"
                try:
                    os.link(path, place)
                except OSError:
                    shutil.copyfile(path, place)
        files.write_text(attempt / WHOLE, "")


def _keep(attempt: Path, schemas: Mapping[str, pa.Schema], rows: list[dict[str, Any]]) -> None:
    """Leave the files that were told of, one without rows where a table has none, and mark the folder."""
    columns: dict[str, set[str]] = {name: set() for name in schemas}
    for row in rows:
        columns[row["table"].partition("/")[0]].update(json.loads(row["filled"]))
    kept = {attempt / row["table"] / row["file"] for row in rows}
    for path in attempt.rglob("*.parquet"):
        if path not in kept:
            path.unlink()
    for name in schemas.keys() - {row["table"].partition("/")[0] for row in rows}:
        (attempt / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(schemas[name].empty_table(), attempt / name / "part-none.parquet")
    files.write_text(attempt / WHOLE, json.dumps({name: sorted(found) for name, found in columns.items()}))


class _Writing:
    """A table that a task writes, in files that are not too large."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        self._folder = folder
        self._name = name
        self._schema = schema
        self._kept: list[pa.RecordBatch] = []
        self._size = 0
        self._rows = 0
        self._filled: set[str] = set()
        self._file: Any = None
        self._writer: Any = None
        self._files: list[dict[str, object]] = []

    def take(self, batch: pa.RecordBatch, enough: int) -> None:
        """Take rows, and write those at hand where they are bytes enough."""
        self._kept.append(batch)
        self._size += batch.nbytes
        if self._size >= enough:
            self._flush()

    def end(self) -> list[dict[str, object]]:
        """The files that were written."""
        self._flush()
        self._close()
        return self._files

    def _flush(self) -> None:
        if not self._kept:
            return
        table = pa.Table.from_batches(self._kept).cast(self._schema)
        self._kept, self._size = [], 0
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = (self._folder / f"part-{uuid4().hex}.parquet").open("wb")
            self._writer = pq.ParquetWriter(
                self._file,
                self._schema,
                compression="zstd",
                dictionary_pagesize_limit=_WORDS,
                write_statistics=[name for name in self._schema.names if name not in _NAMES],
            )
        self._writer.write_table(table)
        self._rows += table.num_rows
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if column.null_count < len(column):
                self._filled.add(name)
        if self._file.tell() >= LARGE:
            self._close()

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._file.close()
        file: dict[str, object] = {"table": self._name, "file": Path(self._file.name).name}
        self._files.append({**file, "rows": self._rows, "filled": json.dumps(sorted(self._filled))})
        self._writer, self._rows, self._filled = None, 0, set()
