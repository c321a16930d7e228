"""Tables on disk that are there whole or not at all, however often a job is killed and started again.

A job stages each of its tables in a folder named after what it reads and how, and commits them with a
manifest at the end. Started again, it goes on after the last table that was staged whole; once committed,
it has nothing to do. A table without a manifest beside it is none. How far a job has come is told to the
logger `LOGGER`, which the command line shows.

Rows that go back from Python to Spark to be written there cost more than finding them. So a task writes what
it finds into files of its own, several tables in one pass, and tells Spark only their names. What counts is
what the tasks that succeeded have told: a file of a task that was killed, or tried again, is in nobody's list
and is deleted. The folder has another name until it is whole.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from microcosm import __version__, files
from microcosm.errors import TextError
from microcosm.spark.io.events import MaxBad, arrow_schema, bad_of
from microcosm.spark.io.folders import SCHEMA, FarFolder, SharedFolder, held, is_far, staging_of, versioned
from microcosm.spark.io.inputs import first, local_path
from microcosm.spark.io.packets import map_in_arrow

if TYPE_CHECKING:
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

_STAGED = ".staged-"

WHOLE = "_SUCCESS"
"""What stands in a folder that was written to the end, as Spark leaves it in its own."""

Kernel = Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[str, pa.RecordBatch]]]
"""What makes of batches rows of several tables, by their names; `name/part` goes into a folder of its own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job made: a summary, the first of what is odd, with places, and the seconds of its stages."""

    summary: dict[str, Any]
    faults: list[str]
    stages: dict[str, float]


@dataclass(frozen=True, slots=True)
class Staged:
    """Tables of a stage, each a DataFrame when it is asked for: Spark takes its time to look at files."""

    _spark: SparkSession
    _folder: Path
    _schemas: Mapping[str, str]

    def __getitem__(self, name: str) -> DataFrame:
        return self._spark.read.schema(self._schemas[name]).parquet(str(self._folder / name))


class Output:
    """The folder of a job's tables. `stages` are the seconds that each took in this run.

    `identity` is everything that the result depends on: the inputs as `fingerprint` sees them, and the
    options; `tables` are the names of those that are committed, `spark` makes what is staged. Tables for a
    URI that only Spark can open are staged elsewhere (`microcosm.spark.io.folders`). To be entered by `with`,
    for a job has its folder to itself. Raises `TextError` where the folder cannot be made, another job is at
    work in it, or it has files in the places of the tables that no job has put there.
    """

    def __init__(
        self, folder: str, identity: Mapping[str, object], tables: Sequence[str], spark: Any = None
    ) -> None:
        self.spark: SparkSession = spark
        self._name = folder
        self.folder = staging_of(spark, folder) if is_far(folder) else local_path(folder)
        self._tables = tables
        self._held: int | None = None
        self.stages: dict[str, float] = {}
        text = json.dumps({"schema": SCHEMA, "code": __version__, **identity}, sort_keys=True)
        self._identity = sha256(text.encode()).hexdigest()
        self._staged = self.folder / f"{_STAGED}{self._identity[:16]}"

    def __enter__(self) -> Self:
        self._held = held(self.folder)
        try:
            self._place = (
                FarFolder(self.spark, self._name) if is_far(self._name) else SharedFolder(self.folder)
            )
            self._place.refuse_others(self._tables)
        except TextError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if is_far(self._name):
            with suppress(OSError):  # what is staged there, for the next time
                self.folder.rmdir()

    def committed(self, strict: bool, max_bad: MaxBad | None) -> Outcome | None:
        """What the same job made, if it was committed here and need not be asked again whether it may be."""
        manifest = self._place.manifest
        if manifest.get("identity") != self._identity:
            return None
        summary = dict(manifest["summary"])
        reported = summary["reported"]
        again = (strict and reported) or (max_bad is not None and bad_of(reported))
        return None if again else Outcome(summary, [], {})

    def stage(self, name: str, table: Callable[[], DataFrame]) -> Path:
        """Where a table is staged, now or by an earlier run."""

        def write(folder: Path) -> None:
            writer = versioned(table()).write.mode("overwrite")
            with stage(name, folder):
                writer.parquet(str(folder))

        return self._once(name, write)

    def read(self, name: str) -> DataFrame:
        """A table that is staged."""
        return self.spark.read.parquet(str(self.staged(name)))

    def tables(
        self, name: str, schemas: Mapping[str, str], table: DataFrame | None, kernel: Kernel
    ) -> Staged:
        """Tables that a kernel makes of another (`write_tables`), as they were staged, now or earlier."""

        def write(folder: Path) -> None:
            with stage(name, folder):
                kinds = {each: arrow_schema(columns) for each, columns in schemas.items()}
                write_tables(table, kernel, kinds, folder)

        return Staged(self.spark, self._once(name, write), schemas)

    def _once(self, name: str, write: Callable[[Path], object], whole: Path | None = None) -> Path:
        """The folder of a stage, written now or by an earlier run, as a file says that is there then."""
        begin, folder = time.monotonic(), self.staged(name)
        if not (whole or folder / WHOLE).is_file():
            write(folder)
        self.stages[name] = round(time.monotonic() - begin, 3)
        return folder

    def put(self, name: str, table: pa.Table) -> Path:
        """Stage a table that is here; where it is."""
        folder = self.staged(name)
        with replacing(folder) as attempt:
            attempt.mkdir(parents=True)
            versioned_ = table.replace_schema_metadata({"schema": SCHEMA})
            pq.write_table(versioned_, attempt / "part.parquet", compression="zstd")
            files.write_text(attempt / WHOLE, "")
        return folder

    def filled(self, name: str, table: str) -> set[str]:
        """The columns of one of the `tables` of a stage that are not null everywhere."""
        return set(json.loads((self.staged(name) / WHOLE).read_text(encoding="utf-8"))[table])

    def gather(self, name: str, sources: Sequence[Path]) -> int:
        """Stage the rows of several tables as one, without copying them; how many there are."""
        return rows(self._once(name, partial(link, sources)))

    def staged(self, name: str) -> Path:
        """The folder in which a table is staged: an absolute path, for tasks that read it themselves."""
        return (self._staged / name).absolute()

    def remembered(self, name: str, value: Callable[[], Any]) -> Any:
        """A JSON value that later stages depend on, as this or an earlier run found it."""

        file = self._staged / f"{name}.json"

        def write(_: Path) -> None:
            self._staged.mkdir(exist_ok=True)
            files.write_text(file, json.dumps(value()))

        self._once(name, write, file)
        return json.loads(file.read_text(encoding="utf-8"))

    def commit(self, summary: Mapping[str, object]) -> None:
        """Put the staged tables in their places, say so in the manifest, and remove all that is staged."""
        manifest = {
            "schema": SCHEMA,
            "code": __version__,
            "identity": self._identity,
            "tables": list(self._tables),
            "summary": dict(summary),
        }
        self._place.commit({name: self._staged / name for name in self._tables}, manifest)
        for left in self.folder.glob(f"{_STAGED}{'[0-9a-f]' * 16}"):
            shutil.rmtree(left, ignore_errors=True)


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

_WRITTEN = "table string, file string, filled string"


def write_tables(
    table: DataFrame | None, kernel: Kernel, tables: Mapping[str, pa.Schema], folder: Path
) -> None:
    """Write the `tables` that a kernel makes of a DataFrame, each into a folder of its name in `folder`.

    The kernel is called once for each partition; without a DataFrame in this process, as the first task of
    `inputs.work` is. Beside the tables stands what `Output.filled` reads.
    """
    schemas = {name: schema.with_metadata({"schema": SCHEMA}) for name, schema in tables.items()}
    here = table is None

    def run(attempt: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not here:
            _settle()
        writing: dict[str, _Writing] = {}
        for name, batch in kernel(batches):
            if name not in writing:
                writing[name] = _Writing(attempt / name, schemas[name.partition("/")[0]])
            writing[name].take(batch, _GROUP // (1 + len(writing) // 16))
        told = [(name, *file) for name, each in writing.items() for file in each.end()]
        if told:
            yield pa.RecordBatch.from_arrays([*map(pa.array, zip(*told, strict=True))], schema=written)

    written = arrow_schema(_WRITTEN)
    with replacing(folder) as attempt:
        if table is not None:
            told = [*map(tuple, map_in_arrow(table, partial(run, attempt), _WRITTEN).collect())]
        else:
            told = [tuple(row.values()) for batch in run(attempt, first()) for row in batch.to_pylist()]
        _keep(attempt, schemas, told)


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


def _keep(attempt: Path, schemas: Mapping[str, pa.Schema], told: Sequence[tuple[str, str, str]]) -> None:
    """Leave the files that were told of, one without rows where a table has none, and mark the folder."""
    columns: dict[str, set[str]] = {name: set() for name in schemas}
    for table, _, filled in told:
        columns[table.partition("/")[0]].update(json.loads(filled))
    kept = {attempt / table / file for table, file, _ in told}
    for path in attempt.rglob("*.parquet"):
        if path not in kept:
            path.unlink()
    for name in schemas.keys() - {table.partition("/")[0] for table, _, _ in told}:
        (attempt / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(schemas[name].empty_table(), attempt / name / "part-none.parquet")
    files.write_text(attempt / WHOLE, json.dumps({name: sorted(found) for name, found in columns.items()}))


class _Writing:
    """A table that a task writes, in files that are not too large."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder, self._schema = folder, schema
        self._kept: list[pa.RecordBatch] = []
        self._size = 0
        self._filled: set[str] = set()
        self._path = folder
        self._writer: Any = None
        self._files: list[tuple[str, str]] = []

    def take(self, batch: pa.RecordBatch, enough: int) -> None:
        """Take rows, and write those at hand where they are bytes enough."""
        self._kept.append(batch)
        self._size += batch.nbytes
        if self._size >= enough:
            self._flush()

    def end(self) -> list[tuple[str, str]]:
        """The files that were written, each with the columns that are filled in it."""
        if self._kept:
            self._flush()
        self._close()
        return self._files

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._kept).cast(self._schema)
        self._kept, self._size = [], 0
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path = self._folder / f"part-{uuid4().hex}.parquet"
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression="zstd",
                dictionary_pagesize_limit=_WORDS,
                write_statistics=[name for name in self._schema.names if name not in _NAMES],
            )
        self._writer.write_table(table)
        columns = zip(table.schema.names, table.columns, strict=True)
        self._filled.update(name for name, column in columns if column.null_count < len(column))
        if self._path.stat().st_size >= LARGE:
            self._close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._files.append((self._path.name, json.dumps(sorted(self._filled))))
            self._writer, self._filled = None, set()


LOGGER = "microcosm.spark"

LONG = 1.0
"""Seconds of a stage that is worth a line."""
EVERY = 10.0
"""Seconds between the lines of a stage that goes on."""

_log = logging.getLogger(LOGGER)


@contextmanager
def stage(name: str, folder: Path, every: float = EVERY, long: float = LONG) -> Iterator[None]:
    """Tell how far a stage is that writes Parquet to a folder, and at its end how many rows it wrote."""
    begin = time.monotonic()
    ended = Event()

    def tell() -> None:
        while not ended.wait(every):
            seconds = time.monotonic() - begin
            _log.info("%s: %.0f s, %.1f MB written", name, seconds, written(folder) / 1e6)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    seconds = time.monotonic() - begin
    if seconds >= long:
        count = rows(folder)
        _log.info("%s: %s row%s, %.1f s", name, f"{count:,}", "s" * (count != 1), seconds)


def written(folder: Path) -> int:
    """The bytes of the Parquet files in a folder, those included that are being written.

    While tasks write, it has another name: its own and more after a dot (`replacing`).
    """
    found = 0
    for path in (*folder.glob("**/*.parquet"), *folder.parent.glob(f"{folder.name}.*/**/*.parquet")):
        with suppress(OSError):
            found += path.stat().st_size
    return found


def rows(folder: Path) -> int:
    """The rows of the Parquet files in a folder. Cost: the end of each file is read."""
    found = 0
    for path in folder.rglob("*.parquet"):
        with suppress(OSError, pa.ArrowException):
            found += pq.read_metadata(path).num_rows
    return found
