"""What a job reads: paths that all workers see, and URIs that only Spark can open.

What lies behind a URI (an object store, a Hadoop file system) Spark lists, and its tasks copy to where the
tables are staged; from there it is read like other files, and goes away with what is staged. In tables a file
is called by its URI. A file may have 2 GB, as Spark reads it whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import TextError
from microcosm.spark.io import input_splits as pieces
from microcosm.spark.io.far import explaining, is_far, listed, opened
from microcosm.spark.io.folders import FarFolder
from microcosm.spark.io.input_splits import Piece
from microcosm.spark.io.staging import Output, fingerprint, refuse_within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from microcosm.spark.io.sink import Kernel

    Rows = Iterator[tuple[str, pa.RecordBatch]]


class Inputs:
    """The files of some inputs, of which those of folders have the `endings` (none: all).

    `paths` are those that need not be fetched. Raises `TextError` for an input that is not there or cannot be
    opened, and where there are no files.
    """

    def __init__(self, spark: SparkSession, names: Sequence[str], endings: Sequence[str] = ()) -> None:
        self._spark = spark
        self._names = names = [_events_of(spark, name) for name in names]
        self._endings = endings
        self.paths = pieces.expand([name for name in names if not is_far(name)], endings)
        self._far = {name: listed(spark, name, endings) for name in names if is_far(name)}
        self._root: Path | None = None
        if not self.paths and not any(self._far.values()):
            hint = f"Files end in {', '.join(endings)}." if endings else None
            raise TextError("has no files in it", file=names[0], hint=hint)

    def refuse_within(self, out: str, tables: Sequence[str], *others: str | Path) -> None:
        """Raise `TextError` where an input, or another file, lies within the tables of a job."""
        far = [path for some in self._far.values() for path, _, _ in some]
        refuse_within([*self._names, *self.paths, *far, *others], out, tables)

    def fingerprint(self, *others: str | Path) -> list[list[object]]:
        """What tells whether the files, and others, are still the same."""
        far = [[*each] for some in self._far.values() for each in some]
        return [*fingerprint([*self.paths, *map(Path, others)]), *far]

    def fetched(self, output: Output) -> tuple[list[str], list[Path]]:
        """Names and files as tasks read them; what is far is copied, if no earlier run did."""
        if not self._far:
            return list(self._names), self.paths
        root = self._root = output.staged("fetched")
        output.remembered("fetched", lambda: self._fetch(root))
        names: list[str] = []
        paths: dict[Path, None] = {}
        for name in self._names:
            if is_far(name):
                found = [_place(root, path) for path, _, _ in self._far[name]]
                whole = len(found) == 1 and found[0] == _place(root, name)
                names.append(str(found[0] if whole else root))
            else:
                found = pieces.expand([name], self._endings)
                names.append(name)
            paths.update(dict.fromkeys(found))
        return names, list(paths)

    def work(
        self, tasks: Sequence[Sequence[Piece]], read: Callable[[Piece], Rows]
    ) -> tuple[DataFrame | None, Kernel]:
        """As `input_splits.work`, of what is read of each piece; what was fetched is called by its URI."""
        table, kernel = pieces.work(self._spark, tasks, lambda some: chain.from_iterable(map(read, some)))
        if self._root is None:
            return table, kernel
        root = str(self._root)

        def called(batches: Iterator[pa.RecordBatch]) -> Rows:
            return ((name, _by_uri(batch, root)) for name, batch in kernel(batches))

        return table, called

    def _fetch(self, root: Path) -> int:
        folder = str(root)

        def fetch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for path, content in zip(*batch.columns, strict=True):
                    place = _place(Path(folder), path.as_py())
                    place.parent.mkdir(parents=True, exist_ok=True)
                    beside = place.with_name(f".{uuid4().hex}")  # a task may be tried again
                    beside.write_bytes(content.as_buffer())
                    os.replace(beside, place)
                yield batch.select(["path"])

        for name in self._far:
            with explaining(name):
                some = opened(self._spark, name, self._endings).select("path", "content")
                some.mapInArrow(fetch, "path string").collect()
        return sum(map(len, self._far.values()))


def _events_of(spark: SparkSession, name: str) -> str:
    """A name; that of the events where it is the folder of an earlier job behind a URI."""
    if not is_far(name) or set(name) & set("*?[{") or "tables" not in FarFolder(spark, name).manifest:
        return name
    return f"{name.rstrip('/')}/events"


def _place(root: Path, uri: str) -> Path:
    """Where a file is put that lies behind a URI.

    >>> _place(Path("x"), "s3a://bucket/logs/a b"), _place(Path("x"), "viewfs:/logs/a")
    (PosixPath('x/s3a/bucket/logs/a b'), PosixPath('x/viewfs:/logs/a'))
    """
    scheme, _, rest = uri.partition(":")
    return root / (scheme if rest.startswith("//") else f"{scheme}:") / rest.lstrip("/")


def _by_uri(batch: pa.RecordBatch, root: str) -> pa.RecordBatch:
    """The same rows with URIs in the place of what was fetched."""
    for name in {"file", "fault", "trace"}.intersection(batch.schema.names):
        at = batch.schema.get_field_index(name)
        column = pc.replace_substring_regex(batch.column(name), re.escape(root) + "/([^/:]+):/", r"\1:/")
        column = pc.replace_substring_regex(column, re.escape(root) + "/([^/]+)/", r"\1://")
        batch = batch.set_column(at, name, column)
    return batch
