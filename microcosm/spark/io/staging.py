"""Tables on disk that are there whole or not at all, however often a job is killed and started again.

A job stages each of its tables in a folder named after what it reads and how, and commits them with a
manifest at the end. Started again, it goes on after the last table that was staged whole; once committed,
it has nothing to do. A table without a manifest beside it is none. How far a job has come is told to the
logger `LOGGER`, which the command line shows.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from microcosm import __version__, files
from microcosm.errors import TextError
from microcosm.spark.io import sink
from microcosm.spark.io.events import MaxBad, arrow_schema, bad_of
from microcosm.spark.io.folders import (
    SCHEMA,
    FarFolder,
    SharedFolder,
    held,
    is_far,
    staging_of,
    versioned,
)
from microcosm.spark.io.inputs import local_path
from microcosm.spark.io.sink import WHOLE

if TYPE_CHECKING:
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession


_STAGED = ".staged-"


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
        self,
        name: str,
        schemas: Mapping[str, str],
        table: DataFrame | None,
        kernel: sink.Kernel,
    ) -> Staged:
        """Tables that a kernel makes of another (`sink.write`), as they were staged, now or earlier."""

        def write(folder: Path) -> None:
            with stage(name, folder):
                kinds = {each: arrow_schema(columns) for each, columns in schemas.items()}
                sink.write(table, kernel, kinds, folder)

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
        with sink.replacing(folder) as attempt:
            attempt.mkdir(parents=True)
            versioned_ = table.replace_schema_metadata({"schema": SCHEMA})
            pq.write_table(versioned_, attempt / "part.parquet", compression="zstd")
            files.write_text(attempt / WHOLE, "")
        return folder

    def filled(self, name: str, table: str) -> set[str]:
        """The columns of one of the `tables` of a stage that are not null everywhere."""
        return sink.filled(self.staged(name), table)

    def gather(self, name: str, sources: Sequence[Path]) -> int:
        """Stage the rows of several tables as one, without copying them; how many there are."""
        return rows(self._once(name, partial(sink.link, sources)))

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

    While tasks write, it has another name: its own and more after a dot (`microcosm.spark.io.sink`).
    """
    found = 0
    for place in (folder, *folder.parent.glob(f"{folder.name}.*")):
        with suppress(OSError):
            for path in place.rglob("*.parquet"):
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
