"""What a job reads of its inputs: which lines are events, how large each trace is, and what is odd.

Rows of Parquet and lines of JSON that are plainly events go from column to column; all others through the
readers of `microcosm.traces`. Lines of the own format stand for themselves: a task reads those of its piece,
and whoever has a trace together tells which of them repeat others. No Spark here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import MicrocosmError, TextError
from microcosm.spark.io import events
from microcosm.spark.io import inputs as input_files
from microcosm.spark.io.events import EVENT, ODD, Row, arrow_names, arrow_schema
from microcosm.spark.io.inputs import PARQUET, Piece
from microcosm.traces import reading as formats
from microcosm.traces.event import KINDS, Counted, TraceEvent
from microcosm.traces.formats.jsonl import COPIES, event_stated, of_copy
from microcosm.traces.formats.parquet import copy_in, expect_once, record_of, records
from microcosm.traces.options import LeftOut, Options, Positions
from microcosm.traces.report import Irregularity, Report
from microcosm.traces.text.lines import BadLine, Lines, json_object, open_lines

OWN = "jsonl"
"""The format whose files are read in pieces."""


_TEXTS = {"trace", "process", "kind", "message", "label"}
"""Fields that the folders of a table may say, of all rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: as by `extract`."""

    format: str | None = None
    pattern: str | None = None


EVENTS = f"at long, {EVENT}"
"""`at` orders all events as they were read."""

ORDERING = ("clock", "lamport", "earliest", "after", "name")
"""Columns with which more than processes and messages orders, or names, an event."""

COUNTED = (*ORDERING, "slashed", "unstated")
"""Columns of which it is known how many events of a trace have them; `slashed` are those whose process has a
slash in its name, `unstated` those that are of the trace by the name of their file or folder."""

SIZES = (
    "trace string, events long, " + ", ".join(f"{name} long" for name in COUNTED) + ", first long, last long"
)
"""How many events of a trace there are in a piece, and in how many a column is not null; and the `at` of the
first and of the last."""

TABLES = {"events": EVENTS, "odd": ODD, "sizes": SIZES}

_BATCH = 1 << 14
_ROWS = 1 << 32
"""More rows than a piece has."""

_COLUMNS = (
    "trace string, process string, seq long, kind string, message string, to array<string>, label string"
)
"""What a plain event has."""
_TAKEN = frozenset(arrow_names(_COLUMNS))
_LINES = 1 << 18
"""Bytes of lines, more or less, that are looked at together."""


def planned(
    inputs: Sequence[str], paths: Sequence[Path], reading: Reading, stated: Collection[str] = ()
) -> Iterator[list[Piece]]:
    """The files of some inputs in pieces, each for a task; rows are known to name the traces `stated`."""
    own: set[Path] = set()
    first = None
    for path in paths:
        if (head := own_head(path, reading)) is not None:
            own.add(path)
            if first is None and path.suffix == PARQUET:
                first = _copy_in(path)
            elif first is None and _counts_names(head):
                first = str(path)
    named = names_of_traces(inputs, paths, own, stated)
    for path in paths:
        lines = path in own and path.suffix != PARQUET and input_files.has_cuts(path)
        cuts = input_files.cut(path, lines)
        yield [replace(piece, trace=named.get(str(path)), own=path in own, first=first) for piece in cuts]


def own_head(path: Path, reading: Reading) -> str | None:
    """How a file begins that is in an own format, whose lines or rows stand for themselves; else None."""
    if path.suffix == PARQUET:
        return ""
    if reading.pattern is not None or reading.format not in (None, OWN):
        return None
    try:
        with open_lines(path, Report()) as stream:
            head = stream.head
        own = formats.detect(head, str(path)).NAME == OWN
        return head if own and not any(map(_leaves_out, _objects(head))) else None
    except (TextError, OSError):
        return None  # the task that reads it says so


def _copy_in(path: Path) -> str | None:
    """The copy that a Parquet file is of, or in, if its first rows say that names of events were counted."""
    with suppress(pa.ArrowException, OSError, UnicodeDecodeError), pq.ParquetFile(path) as table:
        if "counted" in table.schema_arrow.names:
            head = next(table.iter_batches(16, columns=["counted"]), None)
            if head is not None and any("id" in (names or ()) for names in head.column(0).to_pylist()):
                return copy_in(table.schema_arrow, str(path))
    return None


def _counts_names(head: str) -> bool:
    """Whether a line says that the name of its event was counted, as one of a copied log may."""
    every = (record.get("counted") for record in _objects(head)) if '"counted"' in head else ()
    return any(isinstance(counted, list) and "id" in counted for counted in every)


def _objects(head: str) -> Iterator[Mapping[str, object]]:
    """The lines of a head that are JSON objects."""
    for line in head.split("\n"):
        with suppress(BadLine):
            yield json_object(line)


def _leaves_out(record: Mapping[str, object]) -> bool:
    """Whether a line leaves to those before it, or after it, what it says of an event."""
    says = record.keys() & {"kind", "message", "label"}
    return "process" in record and bool(says) and not record.keys() >= {"seq", "kind"}


def names_of_traces(
    inputs: Sequence[str], paths: Sequence[Path], own: set[Path], stated: Collection[str] = ()
) -> dict[str, str]:
    """The trace of the events that name none, by file: the file's name, or its path where that is shared
    with another file, or with a trace that is `stated`.
    """
    given = {input_files.local_path(name) for name in inputs}
    many = len(paths) > 1
    folders = folders_of_traces(inputs, paths)
    naming = [p for p in paths if p.suffix != PARQUET and (p not in given or (many and p not in own))]
    stems = Counter(path.stem for path in naming)
    shared = {*stated, *folders.values(), *(stem for stem, count in stems.items() if count > 1)}
    named = {str(path): str(path) if path.stem in shared else path.stem for path in naming}
    return named | folders


def folders_of_traces(inputs: Sequence[str], paths: Sequence[Path]) -> dict[str, str]:
    """The trace that the folders of a file in an input name, by file."""
    given = {input_files.local_path(name) for name in inputs}
    found = ((str(path), input_files.partition_of(path)) for path in paths if path not in given)
    return {path: partition["trace"] for path, partition in found if "trace" in partition}


def read(piece: Piece, reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `TABLES`. Memory: a batch, and what the format must keep."""
    sizes: list[pa.Table] = []
    begin = piece.number * _ROWS
    if Path(piece.path).suffix == PARQUET:
        groups = _by_columns(piece)
    elif piece.stop is None:
        groups = iter([rows(piece, reading)])
    else:
        groups = _by_lines(piece, reading)
    for name, batch in _tables(groups):
        if name == "odd":
            yield name, batch
            continue
        at = pa.array(range(begin, begin + batch.num_rows), pa.int64())
        begin += batch.num_rows
        numbered = pa.RecordBatch.from_arrays([at, *batch.columns], schema=arrow_schema(EVENTS))
        yield name, _in_trace(numbered, piece.trace, sizes)
    if sizes:
        [counted] = summed(pa.concat_tables(sizes)).cast(arrow_schema(SIZES)).combine_chunks().to_batches()
        yield "sizes", counted


def summed(sizes: pa.Table) -> pa.Table:
    """What parts of a log count of each trace, with the columns of `SIZES`, put together.

    Memory: some 100 bytes for a trace in a part.
    """
    trace, *names = sizes.column_names
    how = {"first": "min", "last": "max"}
    found = sizes.group_by(trace).aggregate([(name, how.get(name, "sum")) for name in names])
    return found.rename_columns([trace, *names])


def _tables(groups: Iterator[pa.RecordBatch | Iterator[Row]]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of events, and of what is odd, of such batches and of rows one by one."""
    for group in groups:
        if isinstance(group, pa.RecordBatch):
            yield "events", group
        else:
            rows = (("odd" if "reported" in row else "events", row) for row in group)
            yield from events.batched(rows, {"events": EVENT, "odd": ODD})


def _in_trace(batch: pa.RecordBatch, trace: str | None, sizes: list[pa.Table]) -> pa.RecordBatch:
    """Events of which those that state no trace are of this one; they are counted, as `SIZES` has it."""
    slashed = pc.if_else(pc.match_substring(batch.column("process"), "/"), True, None)
    stated = batch.column("trace")
    unstated = pc.if_else(
        pc.is_null(stated), pa.scalar(True if trace is not None else None, pa.bool_()), None
    )
    if trace is not None:
        at = batch.schema.get_field_index("trace")
        batch = batch.set_column(at, batch.schema.field(at), pc.fill_null(stated, trace))
    table = pa.Table.from_batches([batch])
    table = table.append_column("slashed", slashed).append_column("unstated", unstated)
    table = table.select(["at", "trace", "process", *COUNTED])
    aggregates = [*((name, "count") for name in ("process", *COUNTED)), ("at", "min"), ("at", "max")]
    sizes.append(table.group_by("trace").aggregate(aggregates).rename_columns(arrow_names(SIZES)))
    return batch


def _by_columns(piece: Piece) -> Iterator[Any]:
    """Batches of events as they stand in a Parquet file, and rows one by one where these are not plain."""
    bad: list[Irregularity] = []
    report = events.noting(bad)
    options = _EachAlone(piece.first)

    def row(event: TraceEvent, columns: pa.Schema) -> Row:
        counted = type(event.name) is Counted
        copied = of_copy(event, copy_in(columns, piece.path), options) if counted else event
        return events.row_of(copied)

    try:
        for before, batch in parquet_batches(piece, _BATCH):
            try:
                yield _as_event(batch, piece, before)
            except (TextError, pa.ArrowException):
                yield (row(event, batch.schema) for event in stated(batch, piece.path, before, report))
    except TextError as error:
        report.add("unreadable", error.message, file=piece.path)
    yield events.report_rows(report, bad)


def _by_lines(piece: Piece, reading: Reading) -> Iterator[Any]:
    """Batches of events as lines of JSON state them, and rows one by one where these are not plain."""
    schema = arrow_schema(_COLUMNS)
    begin, line = piece.start, piece.line
    try:
        with piece.stream() as lines:
            while block := lines.read(_LINES):
                block += lines.readline(_LINES)
                here = replace(piece, start=begin, stop=begin + len(block), line=line)
                begin, line = begin + len(block), line + block.count(b"\n")
                longer = len(block) == 2 * _LINES and block[-1:] != b"\n"
                if longer or input_files.lone_returns(block):  # these end lines, too
                    yield rows(replace(here, stop=piece.stop), reading)
                    return
                batch = input_files.json_rows(
                    block.removesuffix(b"\n"), line - here.line + (block[-1:] != b"\n"), schema
                )
                try:
                    if batch is None:
                        raise TextError("says more of an event")
                    yield _as_event(batch, piece, here.line)
                except (TextError, pa.ArrowException):
                    yield rows(here, reading)
    except TextError as error:
        report = Report()
        report.add("unreadable", error.message, file=piece.path)
        yield events.report_rows(report)


def _as_event(batch: pa.RecordBatch, piece: Piece, line: int) -> pa.RecordBatch:
    """The rows of a batch, which `line` others precede, as events.

    Raises `TextError` where one is not, `ArrowException` for odd types.
    """
    count = batch.num_rows
    schema = arrow_schema(EVENT)
    given = {
        name: column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if column.null_count < count and name not in ("file", "line")
    }
    if not {"process", "seq", "kind"} <= given.keys() <= _TAKEN:
        raise TextError("says more of an event", file=piece.path)
    batch.validate(full=True)  # Parquet may have any bytes for text
    texts = {name: given[name] for name in _TEXTS & given.keys()}
    if "to" in given:
        texts["to"] = pc.list_flatten(given["to"])
        if pc.any(pc.not_equal(pc.list_value_length(given["to"]), 1)).as_py():
            raise TextError("has lists of receivers that may repeat one, or are empty", file=piece.path)
    for name, text in texts.items():
        kind = text.type.value_type if pa.types.is_dictionary(text.type) else text.type
        if kind not in (pa.string(), pa.large_string()):
            raise TextError(f"{name} is no text", file=piece.path)
        texts[name] = text.cast(pa.string())
    if not pa.types.is_integer(given["seq"].type):
        raise TextError("seq is no number", file=piece.path)
    sound = [pc.greater_equal(given["seq"], 1), pc.is_in(texts["kind"], pa.array(sorted(KINDS)))]
    sound += [
        pc.coalesce(pc.greater(pc.binary_length(texts[name]), 0), pa.scalar(name in ("trace", "message")))
        for name in ("process", "trace", "message", "to")
        if name in texts
    ]
    if not all(pc.fill_null(pc.all(pc.fill_null(each, False)), True).as_py() for each in sound):
        raise TextError("has rows that are no events", file=piece.path)
    given["file"] = pa.repeat(pa.scalar(piece.path), count)
    given["line"] = pa.array(range(line + 1, line + 1 + count), pa.int64())
    columns = [
        given[field.name].cast(field.type) if field.name in given else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows(piece: Piece, reading: Reading) -> Iterator[Row]:
    """The events of a piece of a text in their order, then what was odd about it."""
    bad: list[Irregularity] = []
    report = events.noting(bad)
    try:
        for event in _events(piece, reading, report):
            yield events.row_of(event)
    except (MicrocosmError, OSError) as error:
        message = getattr(error, "message", str(error))
        report.add("unreadable", message, file=piece.path, line=getattr(error, "line", None))
    yield from events.report_rows(report, bad)


def _events(piece: Piece, reading: Reading, report: Report) -> Iterator[TraceEvent]:
    if piece.stop is None and not piece.own:
        yield from formats.read([piece.path], reading.format, reading.pattern, report, whole=False)
    else:
        with piece.stream() as stream:
            lines = Lines(stream, piece.path, report, before=piece.line)
            yield from formats.format_of(OWN).read(lines, piece.path, report, _EachAlone(piece.first))


class _Free(Positions):
    """Positions of which none is ever taken."""

    def add(self, position: int, digest: int = 0) -> bool:
        return True


class _Stated(LeftOut):
    """Nothing is left out where the lines before are not known."""

    def __init__(self, options: Options) -> None:
        super().__init__(Report(), options, remembers=False)

    def place(
        self, process: str, trace: str | None, file: str, line: int, own: object = None
    ) -> tuple[str, int]:
        raise BadLine("`seq` is missing, which the first lines of the file have")

    def remember_all(self) -> None:
        raise BadLine("`kind` is missing, which the first lines of the file have")


class _EachAlone(Options):
    """What lines say that stand for themselves: `once_each` tells which of a trace repeat others."""

    def __init__(self, first: str | None) -> None:
        super().__init__(whole=False, positions=defaultdict(_Free))
        self.state[COPIES] = [] if first is None else [first]
        self.state[LeftOut] = _Stated(self)


def parquet_batches(piece: Piece, size: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a piece of Parquet, and how many are before them in the file. Raises `TextError`."""
    number = piece.line
    partition = input_files.partition_of(Path(piece.path))
    try:
        with pq.ParquetFile(piece.path) as table:
            expect_once(table.schema_arrow, piece.path)
            groups = None if piece.stop is None else range(piece.start, piece.stop)
            for batch in table.iter_batches(size, row_groups=groups):
                for name in (_TEXTS & partition.keys()).difference(batch.schema.names):
                    batch = batch.append_column(name, pa.repeat(partition[name], batch.num_rows))  # noqa: PLW2901
                yield number, batch
                number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        raise TextError(f"no Parquet that can be read: {why}", file=piece.path) from None


def stated(batch: pa.RecordBatch, file: str, before: int, report: Report) -> Iterator[TraceEvent]:
    """The events that rows state; the others are reported."""
    for number, record in enumerate(records(batch), before + 1):
        try:
            if isinstance(record, str):
                raise TextError(record)
            yield event_stated(record_of(record), file, number)
        except (TextError, ValueError, TypeError) as error:
            message = getattr(error, "message", str(error))
            report.add("bad-line", message, file=file, line=number, lost=1, lines=1)
