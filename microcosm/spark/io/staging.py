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
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from microcosm import __version__, files
from microcosm.errors import TextError
from microcosm.spark.io import sink
from microcosm.spark.io.events import arrow_schema
from microcosm.spark.io.sink import SCHEMA, WHOLE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


MANIFEST = "manifest.json"
_STAGED = ".staged-"


class Output:
    """The folder of a job's tables. `stages` are the seconds that each took in this run.

    `identity` is everything that the result depends on: the inputs as `fingerprint` sees them, and the
    options. Raises `TextError` where the folder cannot be made.
    """

    def __init__(self, folder: str, identity: Mapping[str, object]) -> None:
        self.folder = Path(folder)
        self.stages: dict[str, float] = {}
        text = json.dumps({"schema": SCHEMA, "code": __version__, **identity}, sort_keys=True)
        self._identity = sha256(text.encode()).hexdigest()
        self._staged = self.folder / f"{_STAGED}{self._identity[:16]}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TextError(f"cannot be made: {error.strerror}", file=folder) from None

    def committed(self) -> dict[str, Any] | None:
        """The summary of the same job, if it was committed here."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            return dict(manifest["summary"]) if manifest["identity"] == self._identity else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def stage(self, spark: SparkSession, name: str, table: Callable[[], DataFrame]) -> DataFrame:
        """A table as it was staged, now or by an earlier run."""
        folder = self.staged(name)
        begin = time.monotonic()
        if not (folder / WHOLE).is_file():
            writer = versioned(table()).write.mode("overwrite")
            with stage(name, folder):
                writer.parquet(str(folder))
        self.stages[name] = round(time.monotonic() - begin, 3)
        return spark.read.parquet(str(folder))

    def tables(
        self,
        spark: SparkSession,
        name: str,
        schemas: Mapping[str, str],
        table: DataFrame,
        kernel: sink.Kernel,
    ) -> dict[str, DataFrame]:
        """Tables that a kernel makes of another, as they were staged, now or by an earlier run."""
        folder = self.staged(name)
        begin = time.monotonic()
        if not (folder / WHOLE).is_file():
            with stage(name, folder):
                kinds = {each: arrow_schema(columns) for each, columns in schemas.items()}
                sink.write(table, kernel, kinds, folder)
        self.stages[name] = round(time.monotonic() - begin, 3)
        return {
            each: spark.read.schema(columns).parquet(str(folder / each)) for each, columns in schemas.items()
        }

    def put(self, name: str, table: pa.Table) -> Path:
        """Stage a table that is here; where it is."""
        import pyarrow.parquet as pq

        folder = self.staged(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        versioned_ = table.replace_schema_metadata({"schema": SCHEMA})
        pq.write_table(versioned_, folder / "part.parquet", compression="zstd")
        files.write_text(folder / WHOLE, "")
        return folder

    def filled(self, name: str, table: str) -> set[str]:
        """The columns of one of the `tables` of a stage that are not null everywhere."""
        return sink.filled(self.staged(name), table)

    def gather(self, name: str, sources: Sequence[Path]) -> int:
        """Stage the rows of several tables as one, without copying them; how many there are."""
        folder = self.staged(name)
        begin = time.monotonic()
        if not (folder / WHOLE).is_file():
            sink.link(sources, folder)
        self.stages[name] = round(time.monotonic() - begin, 3)
        return rows(folder)

    def staged(self, name: str) -> Path:
        """The folder in which a table is staged: an absolute path, for tasks that read it themselves."""
        return (self._staged / name).absolute()

    def remembered(self, name: str, value: Callable[[], Any]) -> Any:
        """A JSON value that later stages depend on, as this or an earlier run found it."""
        file = self._staged / f"{name}.json"
        begin = time.monotonic()
        if not file.is_file():
            self._staged.mkdir(exist_ok=True)
            files.write_text(file, json.dumps(value()))
        self.stages[name] = round(time.monotonic() - begin, 3)
        return json.loads(file.read_text(encoding="utf-8"))

    def commit(self, tables: Sequence[str], summary: Mapping[str, object]) -> None:
        """Put the staged `tables` in their places, all others of the job away, and say so in the manifest.

        The old manifest goes first and the new one comes last: between the two there is no result.
        """
        try:
            (self.folder / MANIFEST).unlink(missing_ok=True)
            for name in tables:
                if (self._staged / name / WHOLE).is_file():
                    shutil.rmtree(self.folder / name, ignore_errors=True)
                    os.replace(self._staged / name, self.folder / name)
        except OSError as error:
            raise TextError(f"cannot be written: {error.strerror}", file=str(self.folder)) from None
        manifest = {
            "schema": SCHEMA,
            "code": __version__,
            "identity": self._identity,
            "tables": list(tables),
            "summary": dict(summary),
        }
        files.write_text(self.folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
        for left in self.folder.glob(f"{_STAGED}*"):
            shutil.rmtree(left, ignore_errors=True)


def versioned(table: DataFrame) -> DataFrame:
    """The same table with the version of its schema in the metadata of its first column."""
    first, *rest = table.columns
    return table.select(table[first].alias(first, metadata={"schema": SCHEMA}), *rest)


def fingerprint(paths: Sequence[Path]) -> list[list[object]]:
    """What tells whether files are still the same: name, size and time of change of each."""
    found: list[list[object]] = []
    for path in paths:
        status = path.stat()
        found.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    return found


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
            _log.info("%s: %.0f s, %s written", name, seconds, _size(written(folder)))

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    seconds = time.monotonic() - begin
    if seconds >= long:
        _log.info("%s: %s rows, %.1f s", name, f"{rows(folder):,}", seconds)


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
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = 0
    for path in folder.rglob("*.parquet"):
        with suppress(OSError, pa.ArrowException):
            found += pq.read_metadata(path).num_rows
    return found


def _size(count: int) -> str:
    """A number of bytes for people.

    >>> _size(900), _size(2_500_000)
    ('900 B', '2.5 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
