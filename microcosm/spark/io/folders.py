"""Where a job's tables are put: a folder, or a place behind a URI that only Spark can open.

Both have a manifest that comes last, and what it does not name is refused. What is behind a URI is read and
written by DataFrames alone, so that it works through Spark Connect too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from microcosm import files
from microcosm.errors import TextError
from microcosm.spark.installation import cache

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANIFEST = "manifest.json"
"""What a finished job made of what, with the names of its files: no others are ever removed."""

_REPLACING = ".replacing.json"
"""The same as the manifest, while tables are put in the places of others."""

STAGING = "MICROCOSM_STAGING"
"""The variable that names a folder which all workers see, where tables for a URI are staged."""

ELSEWHERE = "Name another folder with --out."

_FOREIGN = "stands where a table is to be, and no job has put it there"


def _manifest(text: str) -> dict[str, Any]:
    """What a manifest says; nothing where it is none of these tables."""
    with suppress(ValueError, KeyError, TypeError):
        manifest = json.loads(text)
        if manifest["schema"] == SCHEMA:
            return dict(manifest)
    return {}


def held(folder: Path) -> int:
    """A folder, made if need be, that this job has to itself until what is returned is closed.

    Raises `TextError` where it cannot be made, or another job is at work in it.
    """
    import fcntl  # which commands have seen to be there (`require_posix`)

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TextError(f"cannot be made: {error.strerror}", file=str(folder)) from None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TextError("another job is at work here", file=str(folder), hint=ELSEWHERE) from None
    except OSError:  # a file system without locks
        pass
    return descriptor


class SharedFolder:
    """A folder that this and all workers see. `manifest` is what the last job said that put tables here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.manifest, replacing = map(self._stated, (MANIFEST, _REPLACING))
        self._named = {*self.manifest.get("files", ()), *replacing.get("files", ())}

    def refuse_others(self, tables: Sequence[str]) -> None:
        """Raise `TextError` for a file in the place of a table that no earlier job has put there."""
        for table in tables:
            others = sorted(set(_files(self._path / table)) - self._named)
            if others:
                raise TextError(_FOREIGN, file=str(self._path / others[0]), hint=ELSEWHERE)

    def commit(self, staged: Mapping[str, Path], manifest: Mapping[str, Any]) -> None:
        """Put the staged tables in their places, those of earlier jobs away, and say so in the manifest.

        The old manifest goes first and the new one comes last: between the two there is no result.
        """
        made = sorted(name for folder in staged.values() for name in _files(folder))
        stated = {"schema": SCHEMA, "files": sorted(self._named.union(made))}
        files.write_text(self._path / _REPLACING, json.dumps(stated, ensure_ascii=False) + "\n")
        try:
            (self._path / MANIFEST).unlink(missing_ok=True)
            self._remove(staged)
            self.refuse_others([*staged])
            for name, folder in staged.items():
                os.replace(folder, self._path / name)
        except OSError as error:
            raise TextError(f"cannot be written: {error.strerror}", file=str(self._path)) from None
        text = json.dumps({**manifest, "files": made}, ensure_ascii=False, indent=1)
        files.write_text(self._path / MANIFEST, text + "\n")
        (self._path / _REPLACING).unlink(missing_ok=True)

    def _stated(self, name: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return _manifest((self._path / name).read_text(encoding="utf-8"))
        return {}

    def _remove(self, made: Iterable[str]) -> None:
        """Remove the files of earlier jobs, and the folders of tables that are empty then."""
        for name in self._named:
            (self._path / name).unlink(missing_ok=True)
        for table in {*made, *(name.partition("/")[0] for name in self._named)}:
            for folder, _, _ in os.walk(self._path / table, topdown=False):
                with suppress(OSError):  # what others have put there stays
                    os.rmdir(folder)


def _files(table: Path) -> Iterator[str]:
    """The files of a table, as paths from its folder on."""
    for path in table.rglob("*"):
        if not path.is_dir():
            yield path.relative_to(table.parent).as_posix()


def staging_of(spark: SparkSession, uri: str) -> Path:
    """The folder where tables for a URI are staged, which all workers see. Raises `TextError` for none."""
    root = os.environ.get(STAGING)
    if root is None and not str(spark.conf.get("spark.master", "")).startswith("local"):
        message = "needs a folder that all workers see, where tables are staged"
        raise TextError(message, file=uri, hint=f"Name it in the environment, by {STAGING}.")
    folder = Path(root) if root is not None else cache(os.environ) / "staged"
    return folder / sha256(uri.rstrip("/").encode()).hexdigest()[:16]


class FarFolder:
    """The folder of a job's tables behind a URI. Spark's own writers put there what was staged elsewhere.

    A writer puts a table in place when all of it is written, with `_SUCCESS`, by the committer that is set
    for the file system; the manifest, a folder with a line of JSON, comes last, and without it there is no
    result. Nothing keeps jobs of two machines from working here at the same time. Raises `TextError` where
    Spark cannot open the URI.
    """

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark = spark
        self._uri = uri.rstrip("/")
        place = f"{self._uri}/{MANIFEST}"
        rows = self._there(lambda: spark.read.text(place, wholetext=True).collect())
        self.manifest = _manifest("".join(row.value for row in rows))

    def refuse_others(self, tables: Sequence[str]) -> None:
        """Refuse what no job made, and an earlier job's table that this one does not make."""
        more = sorted(set(self.manifest.get("tables", ())) - set(tables))
        if more:
            message = "is of an earlier job, and this one does not make it"
            raise TextError(message, file=f"{self._uri}/{more[0]}", hint=ELSEWHERE)
        named = set(self.manifest.get("files", ()))
        for table in sorted(set(tables) - set(self.manifest.get("writing", ()))):
            others = [name for name in self._files(table) if name not in named]
            if others:
                raise TextError(_FOREIGN, file=f"{self._uri}/{others[0]}", hint=ELSEWHERE)

    def commit(self, staged: Mapping[str, Path], manifest: Mapping[str, Any]) -> None:
        """As of `SharedFolder`."""
        self.refuse_others([*staged])
        writing = {"schema": SCHEMA, "writing": [*staged], "files": self.manifest.get("files", [])}
        self._write_manifest(writing)
        for name, folder in staged.items():
            with explaining(self._uri):
                table = versioned(self._spark.read.parquet(str(folder)))
                table.write.mode("overwrite").parquet(f"{self._uri}/{name}")
        self._write_manifest({**manifest, "files": [name for table in staged for name in self._files(table)]})

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        text = json.dumps(manifest, ensure_ascii=False)
        with explaining(self._uri):
            line = self._spark.createDataFrame([(text,)], "value string").coalesce(1)
            line.write.mode("overwrite").text(f"{self._uri}/{MANIFEST}")
        self.manifest = dict(manifest)

    def _files(self, table: str) -> list[str]:
        """The files of a table, as paths from its folder on; not those that are hidden from Spark."""
        place = f"{self._uri}/{table}"
        paths = [row.path for row in self._there(lambda: opened(self._spark, place).select("path").collect())]
        return sorted(f"{table}/{path.rpartition(f'/{table}/')[2]}" for path in paths)

    def _there(self, read: Any) -> list[Any]:
        """What is read; nothing where there is nothing."""
        from pyspark.errors import AnalysisException

        with explaining(self._uri):
            try:
                return list(read())
            except AnalysisException as error:
                if error.getCondition() != "PATH_NOT_FOUND":
                    raise
                return []


_HINT = "Spark needs the file system's library: spark-submit --packages, or spark.jars.packages."

_NO_LIBRARY = ("No FileSystem for scheme", "ClassNotFoundException")


def is_far(name: str) -> bool:
    """Whether only Spark can open what is named.

    >>> [is_far(name) for name in ("s3a://bucket/logs", "file:///logs", "logs/a:b")]
    [True, False, False]
    """
    return "://" in name and not name.startswith("file:/")


def opened(spark: SparkSession, name: str, endings: Sequence[str] = ()) -> DataFrame:
    """The files behind a URI, as Spark's `binaryFile` has them; of those that have `endings`, if any."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if endings:
        reader = reader.option("pathGlobFilter", f"*{{{','.join(endings)}}}")
    return reader.load(name)


def listed(spark: SparkSession, name: str, endings: Sequence[str] = ()) -> list[tuple[str, int, str]]:
    """The files behind a URI by name: path, bytes, time of change. Raises `TextError`."""
    with explaining(name):
        table = opened(spark, name, endings)
        # Spark has no rows of files of no bytes, but lists them.
        found = {unquote(path): (0, "") for path in table.inputFiles()}
        for path, *rest in table.select("path", "length", "modificationTime").collect():
            found[path] = (rest[0], str(rest[1]))
    return sorted((path, *rest) for path, rest in found.items())


@contextmanager
def explaining(name: str) -> Iterator[None]:
    """Say of a URI why Spark cannot open it."""
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as error:
        of_spark = isinstance(error, PySparkException) or type(error).__module__.startswith("py4j.")
        if not of_spark or "Python worker" in str(error):  # a task that cannot write is another matter
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "Exception: " in line), lines[0] if lines else "")
        hint = _HINT if any(each in reason for each in _NO_LIBRARY) else None
        raise TextError(f"cannot be opened by Spark: {reason}", file=name, hint=hint) from error


def within(name: str, out: str, tables: Collection[str]) -> bool:
    """Whether a URI is that of a job's tables, or within one of them.

    >>> [within(f"s3a://b/out{rest}", "s3a://b/out/", ["edges"]) for rest in ("", "/edges/part", "/edges2")]
    [True, True, False]
    """
    root = out.rstrip("/")
    return name.rstrip("/") == root or any(f"{name}/".startswith(f"{root}/{table}/") for table in tables)


SCHEMA = "microcosm.tables/1"
"""The version of the tables, in the manifest and in the metadata of each Parquet file."""


def versioned(table: DataFrame) -> DataFrame:
    """A table with the version of its schema in the metadata of its first column."""
    first, *rest = table.columns
    return table.select(table[first].alias(first, metadata={"schema": SCHEMA}), *rest)
