"""What only Spark can open: object stores and Hadoop's file systems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from microcosm.errors import TextError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        found = opened(spark, name, endings).select("path", "length", "modificationTime").collect()
    return sorted((row.path, row.length, str(row.modificationTime)) for row in found)


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
        said = next((line for line in lines if "Exception: " in line), lines[0] if lines else "")
        hint = _HINT if any(each in said for each in _NO_LIBRARY) else None
        raise TextError(f"cannot be opened by Spark: {said}", file=name, hint=hint) from error


def within(name: str, out: str, tables: Collection[str]) -> bool:
    """Whether a URI is that of a job's tables, or within one of them.

    >>> [within(f"s3a://b/out{rest}", "s3a://b/out/", ["edges"]) for rest in ("", "/edges/part", "/edges2")]
    [True, True, False]
    """
    root = out.rstrip("/")
    return name.rstrip("/") == root or any(f"{name}/".startswith(f"{root}/{table}/") for table in tables)
