"""What a job reads: paths that all workers see, and URIs that only Spark can open.

What lies behind a URI (an object store, a Hadoop file system) Spark lists, and its tasks copy to where the
tables are staged; from there it is read like other files, and goes away with what is staged. In tables a file
is called by its URI. A file may have 2 GB, as Spark reads it whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import glob
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import json

from microcosm import files
from microcosm.errors import TextError
from microcosm.spark.io import folders
from microcosm.spark.io.folders import ELSEWHERE, is_far
from microcosm.traces.text.lines import encoding_of
from microcosm.traces.text.packed import PACKED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from microcosm.spark.io.staging import Kernel, Output

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
        self.paths = expand([name for name in names if not is_far(name)], endings)
        self._far = {name: folders.listed(spark, name, endings) for name in names if is_far(name)}
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
                found = expand([name], self._endings)
                names.append(name)
            paths.update(dict.fromkeys(found))
        return names, list(paths)

    def work(
        self, tasks: Sequence[Sequence[Piece]], read: Callable[[Piece], Rows]
    ) -> tuple[DataFrame | None, Kernel]:
        """As `input_splits.work`, of what is read of each piece; what was fetched is called by its URI."""
        table, kernel = work(self._spark, tasks, lambda some: chain.from_iterable(map(read, some)))
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
            with folders.explaining(name):
                some = folders.opened(self._spark, name, self._endings).select("path", "content")
                some.mapInArrow(fetch, "path string").collect()
            for path in (_place(root, path) for path, size, _ in self._far[name] if not size):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        return sum(map(len, self._far.values()))


def _events_of(spark: SparkSession, name: str) -> str:
    """A name; that of the events where it is the folder of an earlier job behind a URI."""
    if not is_far(name) or set(name) & set("*?[{") or "tables" not in folders.FarFolder(spark, name).manifest:
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
    """Rows with URIs in the place of the files that were fetched from them."""
    for name in {"file", "fault", "trace"}.intersection(batch.schema.names):
        at = batch.schema.get_field_index(name)
        column = pc.replace_substring_regex(batch.column(name), re.escape(root) + "/([^/:]+):/", r"\1:/")
        column = pc.replace_substring_regex(column, re.escape(root) + "/([^/]+)/", r"\1://")
        batch = batch.set_column(at, name, column)
    return batch


LARGEST = 8 << 20
"""Bytes of a piece of lines, and of a piece that is several small files."""

FILE = 1 << 11
"""A file counts as so many bytes, at least: a task has some 4,000, which take as long as Spark to start."""

STAGED = 16 << 20
"""Bytes of staged columns that a task reads: some 700,000 plain events, of which it holds a part."""

HERE = 1 << 20
"""A single task over so many bytes is done in this process."""

PARQUET = ".parquet"
LINES = (".jsonl", ".ndjson")

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes `start` to `stop` of a file (None: all of it), which `line` lines precede.

    Of a Parquet file these are row groups and rows. `size` is that of what is read, in bytes, `number` its
    place among the pieces of a job, `trace` that of events that name none; `own` is whether each line stands
    for itself, `first` the first copied log of the job whose names were counted.
    """

    path: str
    start: int = 0
    stop: int | None = None
    line: int = 0
    number: int = 0
    trace: str | None = None
    own: bool = False
    first: str | None = None
    size: int = field(default=0, compare=False)

    @classmethod
    def whole(cls, path: Path) -> Piece:
        """A file that is read at once."""
        return cls(str(path), size=path.stat().st_size)

    @contextmanager
    def stream(self) -> Iterator[BufferedReader]:
        """The content to be read on and on, whatever its size. Raises `TextError`."""
        try:
            with Path(self.path).open("rb") as file:
                if self.stop is None:
                    yield file
                else:
                    some = pa.PythonFile(file, "r").get_stream(self.start, self.stop - self.start)
                    yield BufferedReader(some)
        except OSError as error:
            raise TextError(f"cannot be read: {error.strerror}", file=self.path) from None


def local_path(name: str) -> Path:
    """The path of a file or folder, which may be written as a URI. Raises `TextError` for others, and "", and
    for a name that is no UTF-8.

    >>> local_path("file:///data/a%20b"), local_path("logs/")
    (PosixPath('/data/a b'), PosixPath('logs'))
    """
    if name.startswith("file:/"):
        return _told(Path(unquote(urlsplit(name).path, errors="surrogateescape")))
    if "://" in name or not name:
        raise TextError("is no path", file=name or "''", hint="Name a folder that this and all workers see.")
    return _told(Path(name))


def _told(path: Path) -> Path:
    """The path. Raises `TextError` for one that tables cannot tell."""
    name = str(path)
    if (shown := name.encode(errors="backslashreplace").decode()) != name:
        raise TextError("has a name that is no UTF-8, as those in tables are", file=shown, hint="Rename it.")
    return path


def expand(inputs: Iterable[str], endings: Sequence[str] = ()) -> list[Path]:
    """The files of some inputs: files as they are, those below a folder that have the endings (none: all).

    A name that no file has may be a pattern. What is hidden, or marked by Spark with `_`, is no input; of the
    folder of a job's tables `events` is, and within other folders nothing of it. Raises `TextError`, for a
    name that is no UTF-8 too.
    """
    found: dict[Path, None] = {}
    for name in inputs:
        path = local_path(name)
        paths = [path] if path.exists() else _matching(path)
        if not paths:
            raise TextError("no such file", file=name, hint="Check the path; `-` cannot be read here.")
        for each in paths:
            own = each / "events"
            here = own if own.is_dir() and _has_tables(each) else each
            found.update(dict.fromkeys(map(_told, _within(here, endings) if each.is_dir() else [each])))
    return list(found)


def _matching(pattern: Path) -> list[Path]:
    """The paths that a pattern means, but for what is hidden."""
    found = map(Path, sorted(glob(str(pattern), recursive=True)))
    return [path for path in found if not any(part[0] in "._" for part in {*path.parts} - {*pattern.parts})]


def _within(folder: Path, endings: Sequence[str]) -> Iterator[Path]:
    for path in files.listing(folder):
        if path.name[0] in "._":
            continue
        if path.is_dir():
            if not _has_tables(path):
                yield from _within(path, endings)
        elif path.is_file() and (not endings or path.suffix in endings):
            yield path


def _has_tables(folder: Path) -> bool:
    """Whether a job has put its tables into a folder."""
    return any((folder / name).is_file() for name in (folders.MANIFEST, "stream.json"))


def partition_of(path: Path) -> dict[str, str]:
    """What the folders of a file say of all of its rows, as Spark and Hive write it.

    >>> partition_of(Path("m6/date=2024-05-01/trace=a%2Fb/part.parquet"))
    {'date': '2024-05-01', 'trace': 'a/b'}
    >>> [partition_of(Path(f"trace=%{byte}/part.parquet")) for byte in ("FE", "FF")]
    [{'trace': '\\\\xfe'}, {'trace': '\\\\xff'}]
    """
    parts = (part.partition("=") for part in path.parts[:-1] if "=" in part)
    given = ((name, value) for name, _, value in parts if value != "__HIVE_DEFAULT_PARTITION__")
    return {name: unquote(value, errors="backslashreplace") for name, value in given}


def tasks(files: Iterable[Sequence[Piece]], largest: int | None = None) -> list[list[Piece]]:
    """What each task reads, given the pieces of each file: one, or several small files in their order.

    >>> [len(task) for task in tasks([Piece(f"{at}.jsonl", size=9)] for at in range(5000))]
    [4096, 904]
    """
    largest = LARGEST if largest is None else largest
    found: list[list[Piece]] = []
    room = 0
    for cuts in files:
        size = max(cuts[0].size, FILE)
        if len(cuts) > 1 or room < size or not found:
            found += [[piece] for piece in cuts]
            room = largest - size if len(cuts) == 1 else 0
        else:
            found[-1] += cuts
            room -= size
    numbers = count()
    return [[replace(piece, number=next(numbers)) for piece in task] for task in found]


def has_cuts(path: Path) -> bool:
    """Whether a file may be cut at the bytes that are line ends in UTF-8; what is packed is read whole."""
    with path.open("rb") as stream:
        head = stream.read(1024)
    return encoding_of(head) is None and not head.startswith(PACKED)


def cut(path: Path, lines: bool) -> list[Piece]:
    """A file in pieces, each for a task: by row groups, by `lines` where it is made of such, or whole."""
    if path.suffix == PARQUET:
        return by_row_groups(path)
    return by_lines(path) if lines else [Piece.whole(path)]


def by_lines(path: Path, largest: int | None = None) -> list[Piece]:
    """Pieces of whole lines. Cost: a large file is read once, to number them."""
    largest = LARGEST if largest is None else largest
    found: list[Piece] = []
    size = path.stat().st_size
    if size <= largest:
        return [Piece(str(path), 0, size, size=size)]
    at = lines = 0
    with path.open("rb") as stream:
        while block := stream.read(largest):
            start, line = at, lines
            while block:
                while block.endswith(b"\r") and (half := stream.read(1)):  # perhaps of one line end
                    block += half
                at += len(block)
                lines += block.count(b"\n") + lone_returns(block)
                block = b"" if block.endswith(b"\n") else stream.readline(largest)
            found.append(Piece(str(path), start, at, line, size=at - start))
    return found


def lone_returns(block: bytes) -> int:
    """How many carriage returns end a line alone.

    >>> lone_returns(b"a\\r\\nb\\rc\\n")
    1
    """
    return block.count(b"\r") - block.count(b"\r\n")


def by_row_groups(path: Path, largest: int | None = None) -> list[Piece]:
    """Row groups of a Parquet file in pieces; one that cannot be read is a piece."""
    largest = LARGEST if largest is None else largest
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return [Piece.whole(path)]  # the task says what is wrong with it
    found: list[Piece] = []
    start = rows = size = line = 0
    for group in range(metadata.num_row_groups):
        described = metadata.row_group(group)
        rows, size = rows + described.num_rows, size + described.total_byte_size
        if size >= largest or group == metadata.num_row_groups - 1:
            found.append(Piece(str(path), start, group + 1, line, size=size))
            start, line, size = group + 1, rows, 0
    return found or [Piece.whole(path)]


def work(
    spark: SparkSession, tasks: Sequence[Sequence[Piece]], read: Callable[[Iterator[Piece]], Iterator[Made]]
) -> tuple[DataFrame | None, Callable[[Iterator[pa.RecordBatch]], Iterator[Made]]]:
    """A table with a partition for each task, and the kernel that makes of it what `read` makes of the pieces
    of a task. No table: the one task is so small that this process is done before it would begin."""

    def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[Made]:
        return read(piece for batch in batches for at in batch.column(0).to_pylist() for piece in tasks[at])

    paths = {piece.path for task in tasks for piece in task} if len(tasks) == 1 else ()
    here = bool(paths) and sum(Path(path).stat().st_size for path in paths) <= HERE
    each = max(1, len(tasks))  # in a partition of its own
    return None if here else spark.range(0, len(tasks), 1, each), kernel


def json_rows(block: bytes, count: int, schema: pa.Schema) -> pa.RecordBatch | None:
    """So many lines as rows; None unless each is a JSON object with columns of the schema alone, none null.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    >>> json_rows(b'{"a": 1}\\n{"b": "x"}', 2, schema).to_pylist()
    [{'a': 1, 'b': None}, {'a': None, 'b': 'x'}]
    >>> json_rows(b'{"a": 1, "c": 2}', 1, schema), json_rows(b'{"a": null}', 1, schema)
    (None, None)
    """
    # The reader takes objects wherever lines end; after a brace no other can go on within one.
    if block[:1] != b"{" or block[-1:] != b"}" or block.count(b"}\n{") != count - 1 or b"null" in block:
        return None
    whole = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    alone = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json.read_json(pa.BufferReader(block), whole, alone)
        table.validate(full=True)  # the reader takes any bytes for text
    except pa.ArrowException:
        return None
    return table.combine_chunks().to_batches()[0] if table.num_rows == count else None


_BATCH = 1 << 16


def over(
    spark: SparkSession,
    folder: Path,
    columns: Sequence[str],
    kernel: Callable[[Iterator[pa.RecordBatch]], Iterator[Made]],
    words: Sequence[str] = (),
) -> tuple[DataFrame | None, Callable[[Iterator[pa.RecordBatch]], Iterator[Made]]]:
    """As `work`, of the tasks over the files of a folder.

    `kernel` is given the columns of some row groups, `words` as dictionaries, and called once in each task.
    """
    names = list(columns)
    return work(spark, row_groups(folder), lambda some: kernel(_read(some, names, words)))


def row_groups(folder: Path) -> list[list[Piece]]:
    """What each task over the files of a folder reads."""
    paths = sorted(folder.glob("*.parquet"))
    return tasks((by_row_groups(path, STAGED) for path in paths), STAGED)


def first() -> Iterator[pa.RecordBatch]:
    """What the first of the tasks of `work` is given."""
    yield pa.RecordBatch.from_pydict({"id": [0]})


def _read(pieces: Iterable[Piece], columns: list[str], words: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for piece in pieces:
        with pq.ParquetFile(piece.path, read_dictionary=words) as table:
            groups = None if piece.stop is None else range(piece.start, piece.stop)
            for batch in table.iter_batches(_BATCH, row_groups=groups, columns=columns):
                yield batch.select(columns)


def refuse_within(paths: Iterable[str | Path], out: str, tables: Collection[str]) -> None:
    """Raise `TextError` for an input that is the folder of a job's tables, or within one of them."""
    there = is_far(out)
    folder = Path() if there else local_path(out).resolve()
    places = {folder / table for table in tables}
    for name in map(str, paths):
        if there or is_far(name):
            inside = there and folders.within(name, out, tables)
        else:
            found = local_path(name).resolve()
            inside = found == folder or not places.isdisjoint((found, *found.parents))
        if inside:
            raise TextError(f"is within the output {out}, which is replaced", file=name, hint=ELSEWHERE)


def fingerprint(paths: Sequence[Path]) -> list[list[object]]:
    """What tells whether files are still the same: name, size and time of change of each."""
    found = ((path, path.stat()) for path in paths)
    return [[str(path.resolve()), status.st_size, status.st_mtime_ns] for path, status in found]
