"""Traces in text as a data source: `spark.read.format("microcosm")` and `spark.readStream` of a folder.

What is odd about a file, up to its not being readable at all, is a row with `reported`; no file and no line
ends a job. One trace is asked for by the option `trace`: row groups of Parquet without it are not read. No
conditions are taken from Spark: what it has told a source in Python of one question it keeps for all others
about the same DataFrame (4.3.0), and these would lack rows. A stream takes new files, and of files in the own
format what is appended; others must be put in place whole.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from microcosm.errors import TextError
from microcosm.spark.io import inputs as input_files
from microcosm.spark.io import reading
from microcosm.spark.io.events import EVENT, REPORTED, arrow_schema
from microcosm.spark.io.reading import Reading
from microcosm.traces import reading as formats
from microcosm.traces.text.lines import LINE_LIMIT
from microcosm.traces.text.records import compiled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if TYPE_CHECKING or find_spec("pyspark") is not None:
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
else:  # the rest of the package goes without
    DataSource = DataSourceReader = InputPartition = SupportsTriggerAvailableNow = object
    DataSourceStreamReader = type("DataSourceStreamReader", (), {})  # two bases of a class must differ

NAME = "microcosm"
COLUMNS = f"{EVENT}, {REPORTED}"
ARRIVED = "arrived timestamp"
"""A column of streams that may be asked for: when the batch was planned that a row came with."""

_OPTIONS = ("format", "pattern", "trace", "path")
_BLOCK = 8 << 20
_WHOLE = -1
"""In the place of lines read: a file that is read at once."""
_MARK = 4096
"""Bytes at each end of what was taken of a file by which it is known again."""
_APART = 10
"""Milliseconds that the batches of a stream are apart at least."""


def register(spark: SparkSession) -> None:
    """Let the session read `format("microcosm")`."""
    spark.createDataFrame(
        [], "none int"
    )  # makes it the active one: 4.3.0 asks that whether it has the source
    spark.dataSource.register(TraceSource)


class TraceSource(DataSource):
    """Traces of the formats of `microcosm.traces`; options `format`, `pattern` as in `extract`, and `trace`,
    the name of the only one that is asked for.

    The path is a file or a folder. Events that name no trace are, in a folder, of one named after the
    file, as in `extract`; a file is one partition or more. The columns are `COLUMNS`, of which a schema may
    ask for some. Raises `ValueError` for options.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: Any) -> TraceReader:
        return TraceReader(_chosen_options(self.options, schema))

    def streamReader(self, schema: Any) -> TraceStreamReader:
        return TraceStreamReader(_chosen_options(self.options, schema))


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is read: a path, how, the columns of it, and of which trace (None: of all)."""

    path: str
    how: Reading
    columns: tuple[str, ...]
    trace: str | None = None

    def files(self) -> list[Path]:
        """The files that are there now. Raises `TextError`."""
        return input_files.expand([self.path])

    def grows(self, path: Path) -> bool:
        """Whether the file is in the own format, whose lines stand for themselves."""
        return (
            path.suffix != input_files.PARQUET
            and reading.own_head(path, self.how) is not None
            and input_files.has_cuts(path)
        )


def _chosen_options(options: Mapping[str, str], schema: Any) -> SourceOptions:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"no option {unknown[0]!r}; options: format, pattern, trace and the path")
    if "path" not in options:
        raise ValueError("what should be read? Give load() a file or a folder")
    form, pattern = options.get("format"), options.get("pattern")
    if form is not None:
        formats.format_of(form)
    if pattern is not None:
        compiled(pattern, "pattern")
    known = f"{COLUMNS}, {ARRIVED}".replace("long", "bigint").split(", ")
    for field in schema.fields:
        column = f"{field.name} {field.dataType.simpleString()}{'' if field.nullable else ' not null'}"
        if column not in known:
            raise ValueError(f"no column {column!r}; columns: {', '.join(known)}")
    return SourceOptions(options["path"], Reading(form, pattern), tuple(schema.names), options.get("trace"))


class TraceReader(DataSourceReader):
    """Reads the files that are there when the job is planned."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        planned = chain.from_iterable(
            reading.planned([self._options.path], self._options.files(), self._options.how)
        )
        return [InputPartition((piece, None)) for piece in planned if _may_have(piece, self._options.trace)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(self._options, *partition.value)


class TraceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what has come since. An offset has the bytes and lines of every file that were taken."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._once = False
        self._last: dict[str, Any] | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on there is nothing beyond what the next look finds.

        Without this Spark would end before the batch that gives up waiting.
        """
        self._once = True

    def initialOffset(self) -> dict[str, Any]:
        return {"at": 0, "files": {}}

    def latestOffset(self, start: dict[str, Any], limit: object = None) -> dict[str, Any]:
        """Cost: what is new of growing files is read once, to find the end of its last line."""
        if self._once and self._last is not None:
            return self._last
        self._last = self._look(start)
        return self._last

    def _look(self, start: dict[str, Any]) -> dict[str, Any]:
        taken: dict[str, _Taken] = start["files"]
        paths = {str(path): path for path in self._options.files()}
        every = map(Path, {**paths, **taken})
        named = reading.names_of_traces([self._options.path], [*every], set())
        files: dict[str, _Taken] = {}
        for name in paths.keys() & taken.keys():
            with suppress(OSError):
                if _goes_on(paths[name], taken[name]):
                    files[name] = self._reached(paths[name], taken[name], named.get(name))
        others = {name: before for name, before in taken.items() if name not in files}
        for name in [name for name in paths if name not in files]:
            with suppress(OSError):  # gone again, or not yet readable: next time
                old = next(
                    (old for old, it in others.items() if it["ends"] and _goes_on(paths[name], it)), ""
                )
                before = others.pop(old, None)
                if before is not None:
                    before = {**before, "since": [before["bytes"], before["lines"]]}
                trace = named.get(name)
                if name in taken:  # what stands there now goes on with it
                    trace = taken[name].get("trace", trace)
                files[name] = self._reached(paths[name], before, trace)
        for name in others.keys() & files.keys():
            message = "is another file than it was, and what it was is not here"
            hint = "Put that into the folder, by any name: its rest is read then."
            raise TextError(message, file=name, hint=hint)
        files |= others
        files = {name: reached for name, reached in files.items() if reached["bytes"]}
        if files == taken:
            return start
        return {"at": max(time.time_ns() // 1_000_000, start["at"] + _APART), "files": files}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        parts = []
        for name, reached in end["files"].items():
            if reached == start["files"].get(name):
                continue
            piece = input_files.Piece(name, trace=reached.get("trace"))
            first, line = reached["since"]
            if reached["lines"] != _WHOLE:
                piece = replace(piece, start=first, stop=reached["bytes"], line=line)
            if reached["lines"] == _WHOLE or first < reached["bytes"]:
                parts.append(InputPartition((piece, end["at"])))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(self._options, *partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is to be done: files are not deleted."""

    def stop(self) -> None:
        """Nothing is open."""

    def _reached(self, path: Path, before: _Taken | None, trace: str | None) -> _Taken:
        size = path.stat().st_size
        if before is not None:
            trace = before.get("trace", trace)
            if before["lines"] == _WHOLE:
                return before
        elif not self._options.grows(path):
            return {"bytes": size, "lines": _WHOLE, "since": [0, 0], "ends": [], "trace": trace}
        first, line = (before["bytes"], before["lines"]) if before is not None else (0, 0)
        stop, lines = _whole_lines(path, first)
        if before is not None and stop == first:
            return before
        ends, since = _ends(path, stop), [first, line]
        return {"bytes": stop, "lines": line + lines, "since": since, "ends": ends, "trace": trace}


class _Taken(TypedDict):
    """What was taken of a file: bytes and lines, those before the last time, and a mark of its content.

    `trace` is that of events that name none, and stays that of what stands in the place of the file, and of
    the file where it is renamed.
    """

    bytes: int
    lines: int
    since: list[int]
    ends: list[str]
    trace: NotRequired[str | None]


def _ends(path: Path, stop: int) -> list[str]:
    """What tells the part of a file up to a place from others: both of its ends, as hashes."""
    with path.open("rb") as stream:
        head = stream.read(min(stop, _MARK))
        stream.seek(max(0, stop - _MARK))
        return [sha256(part).hexdigest()[:16] for part in (head, stream.read(min(stop, _MARK)))]


def _goes_on(path: Path, before: _Taken) -> bool:
    """Whether a file begins with what was taken of one; one that was read at once is not looked at again."""
    if before["lines"] == _WHOLE:
        return True
    return path.stat().st_size >= before["bytes"] and _ends(path, before["bytes"]) == before["ends"]


def _whole_lines(path: Path, start: int) -> tuple[int, int]:
    """Where the lines after `start` end that are written whole, and how many line ends these have.

    A last line without an end is whole if it is an object: what is yet to come would spoil it.
    """
    stop, lines, at, alone = start, 0, start, 0
    with path.open("rb") as stream:
        stream.seek(start)
        while block := stream.read(_BLOCK):
            while block.endswith(b"\r") and (half := stream.read(1)):  # perhaps of one line end
                block += half
            end = block.rfind(b"\n") + 1
            if end:
                stop = at + end
                lines += block.count(b"\n") + alone + input_files.lone_returns(block[:end])
                alone = 0
            alone += input_files.lone_returns(block[end:])
            at += len(block)
        if stop < at <= stop + LINE_LIMIT:
            stream.seek(stop)
            last = stream.read(at - stop)
            with suppress(ValueError):
                if isinstance(json.loads(last), dict):
                    stop = at
    return stop, lines


def _batches(
    options: SourceOptions, piece: input_files.Piece, arrived_at: int | None
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece: of the trace that is asked for, and what is odd, which may be of it.

    Of a stream the batch was planned at a time in milliseconds.
    """
    full = {field.name: field for field in arrow_schema(COLUMNS)}
    full["arrived"] = pa.field("arrived", pa.timestamp("us", tz="UTC"))
    schema = pa.schema([full[name] for name in options.columns])
    arrived = pa.scalar(None if arrived_at is None else arrived_at * 1000, full["arrived"].type)
    for name, found in reading.read(piece, options.how):
        if name == "sizes":
            continue
        batch = found
        if name != "odd" and options.trace is not None:
            batch = found.filter(pc.equal(found.column("trace"), options.trace))
        there = dict(zip(batch.schema.names, batch.columns, strict=True))
        there["arrived"] = pa.repeat(arrived, batch.num_rows)
        made = [there.get(each.name, pa.nulls(batch.num_rows, each.type)) for each in schema]
        if batch.num_rows:
            yield pa.RecordBatch.from_arrays(made, schema=schema)


def _may_have(piece: input_files.Piece, trace: str | None) -> bool:
    """Whether rows of a trace may be in a piece, by what Parquet says of its row groups."""
    if trace is None or Path(piece.path).suffix != input_files.PARQUET or piece.stop is None:
        return True
    # A row without a trace may be of one that its folder names.
    wanted = (pc.field("trace") == trace) | pc.field("trace").is_null()
    try:
        [file] = ds.dataset(piece.path, format="parquet").get_fragments()
        groups = file.subset(row_group_ids=range(piece.start, piece.stop))
        return bool(groups.split_by_row_group(wanted))
    except (pa.ArrowException, OSError):  # which reading it says
        return True
