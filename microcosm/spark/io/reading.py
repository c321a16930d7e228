"""What is read of the inputs of `spark extract`: events, irregularities, and how large each trace is.

Rows of Parquet and lines of JSON that are plainly events go from column to column; all others through the
readers of `microcosm.traces`. No Spark here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BufferedReader, RawIOBase
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import TextError
from microcosm.spark.io import events as rows
from microcosm.spark.io import input_splits as pieces
from microcosm.spark.io.events import OWN, Reading
from microcosm.spark.io.odd import noting, report_rows
from microcosm.traces import reading as formats
from microcosm.traces.event import KINDS
from microcosm.traces.report import Irregularity, Report
from microcosm.traces.text.lines import open_lines
from microcosm.traces.text.values import BadLine, json_object

EVENTS = f"at long, {rows.EVENT}"
"""`at` orders all events as they were read."""

ORDERING = ("clock", "lamport", "earliest", "after", "name")
"""Columns with which more than processes and messages orders, or names, an event."""

COUNTED = (*ORDERING, "message", "counted")
"""Columns of which it is known how many events of a trace have them."""

SIZES = (
    "trace string, events long, " + ", ".join(f"{name} long" for name in COUNTED) + ", first long, last long"
)
"""How many events of a trace there are in a piece, and in how many a column is not null; and the `at` of the
first and of the last."""

TABLES = {"events": EVENTS, "odd": rows.ODD, "sizes": SIZES}

_BATCH = 1 << 14
_ROWS = 1 << 32
"""More rows than a piece has."""

_COLUMNS = (
    "trace string, process string, seq long, kind string, message string, to array<string>, label string"
)
"""What a plain event has."""
_TAKEN = frozenset(rows.arrow_names(_COLUMNS))
_LINES = 1 << 18
"""Bytes of lines, more or less, that are looked at together."""


def planned(inputs: Sequence[str], paths: Sequence[Path], reading: Reading) -> Iterator[list[pieces.Piece]]:
    """The files of some inputs in pieces, each for a task."""
    own = {path for path in paths if is_own(path, reading)}
    named = names_of_traces(inputs, paths, own)
    for path in paths:
        lines = path in own and path.suffix != pieces.PARQUET and pieces.has_cuts(path)
        cuts = pieces.cut(path, lines)
        yield [replace(piece, trace=named.get(str(path)), own=path in own) for piece in cuts]


def read(piece: pieces.Piece, reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `TABLES`. Memory: a batch, and what the format must keep."""
    sizes: dict[str | None, list[int]] = {}
    schemas = {name: rows.arrow_schema(columns) for name, columns in TABLES.items()}
    begin = piece.number * _ROWS
    if Path(piece.path).suffix == pieces.PARQUET:
        groups = _by_columns(piece)
    elif piece.stop is None:
        groups = iter([rows.rows(piece, reading)])
    else:
        groups = _by_lines(piece, reading)
    for group in groups:
        if isinstance(group, pa.RecordBatch):
            at = pa.array(range(begin, begin + group.num_rows), pa.int64())
            begin += group.num_rows
            batch = pa.RecordBatch.from_arrays([at, *group.columns], schema=schemas["events"])
            _count(batch, sizes)
            yield "events", batch
            continue
        while made := list(islice(group, _BATCH)):
            odd = [row for row in made if "reported" in row]
            good = [row for row in made if "reported" not in row] if odd else made
            for at_, row in enumerate(good, begin):
                row["at"] = at_
            begin += len(good)
            for name, some in (("events", good), ("odd", odd)):
                if some:
                    batch = pa.RecordBatch.from_pylist(some, schema=schemas[name])
                    if name == "events":
                        _count(batch, sizes)
                    yield name, batch
    if sizes:
        counted = [(trace, *counts) for trace, counts in sizes.items()]
        columns = zip(*counted, strict=True)
        kinds = schemas["sizes"].types
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        yield "sizes", pa.RecordBatch.from_arrays(arrays, schema=schemas["sizes"])


def _count(batch: pa.RecordBatch, sizes: dict[str | None, list[int]]) -> None:
    table = pa.Table.from_batches([batch]).select(["at", "trace", "process", *COUNTED])
    asked = [*((name, "count") for name in ("process", *COUNTED)), ("at", "min"), ("at", "max")]
    counted = table.group_by("trace").aggregate(asked)
    for row in counted.to_pylist():
        counts = sizes.setdefault(row["trace"], [*[0] * (1 + len(COUNTED)), row["at_min"], 0])
        for at, name in enumerate(("process", *COUNTED)):
            counts[at] += row[f"{name}_count"]
        counts[-1] = row["at_max"]


def _by_columns(piece: pieces.Piece) -> Iterator[Any]:
    """Batches of events as they stand in a Parquet file, and rows one by one where these are not plain."""
    bad: list[Irregularity] = []
    report = noting(bad)
    try:
        for before, batch in rows.parquet_batches(piece, _BATCH):
            try:
                yield _as_event(batch, piece, before)
            except (TextError, pa.ArrowException):
                events = rows.stated(batch, piece.path, before, report)
                yield (rows.row_of(event, piece.trace) for event in events)
    except TextError as error:
        report.add("unreadable", error.message, file=piece.path)
    yield report_rows(report, bad)


def _by_lines(piece: pieces.Piece, reading: Reading) -> Iterator[Any]:
    """Batches of events as lines of JSON state them, and rows one by one where these are not plain."""
    schema = rows.arrow_schema(_COLUMNS)
    begin, line = piece.start, piece.line
    with piece.stream() as stream:
        lines = BufferedReader(cast(RawIOBase, stream))
        while block := lines.read(_LINES):
            block += lines.readline(_LINES)
            here = replace(piece, start=begin, stop=begin + len(block), line=line)
            begin, line = begin + len(block), line + block.count(b"\n")
            if len(block) == 2 * _LINES and block[-1:] != b"\n":  # a line longer than that
                yield rows.rows(replace(here, stop=piece.stop), reading)
                return
            batch = pieces.json_rows(
                block.removesuffix(b"\n"), line - here.line + (block[-1:] != b"\n"), schema
            )
            try:
                if batch is None:
                    raise TextError("says more of an event")
                yield _as_event(batch, piece, here.line)
            except (TextError, pa.ArrowException):
                yield rows.rows(here, reading)


def _as_event(batch: pa.RecordBatch, piece: pieces.Piece, line: int) -> pa.RecordBatch:
    """The rows of a batch, which `line` others precede, as events.

    Raises `TextError` where one is not, `ArrowException` for odd types.
    """
    count = batch.num_rows
    schema = rows.arrow_schema(rows.EVENT)
    given = {
        name: column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if column.null_count < count and name not in ("file", "line")
    }
    if not {"process", "seq", "kind"} <= given.keys() <= _TAKEN:
        raise TextError("says more of an event", file=piece.path)
    batch.validate(full=True)  # Parquet may have any bytes for text
    for name in ("process", "kind", "trace", "message", "label"):
        if name in given:
            kind = given[name].type
            if pa.types.is_dictionary(kind):
                kind = kind.value_type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
                raise TextError(f"{name} is no text", file=piece.path)
            given[name] = given[name].cast(pa.string())
    if not pa.types.is_integer(given["seq"].type):
        raise TextError("seq is no number", file=piece.path)
    given["seq"] = given["seq"].cast(pa.int64())
    sound = [pc.greater_equal(given["seq"], 1), pc.is_in(given["kind"], pa.array(sorted(KINDS)))]
    sound += [
        pc.coalesce(pc.greater(pc.binary_length(given[name]), 0), pa.scalar(name != "process"))
        for name in ("process", "trace", "message")
        if name in given
    ]
    if not all(pc.fill_null(pc.all(pc.fill_null(each, False)), True).as_py() for each in sound):
        raise TextError("has rows that are no events", file=piece.path)
    if "to" in given:
        to = given["to"]
        lengths = pc.list_value_length(to) if pa.types.is_list(to.type) else None
        if lengths is None or pc.max(lengths).as_py() not in (None, 1):
            raise TextError("has lists of receivers that may repeat one", file=piece.path)
        flat = pc.list_flatten(to).cast(pa.string())
        if flat.null_count or not pc.fill_null(pc.all(pc.greater(pc.binary_length(flat), 0)), True).as_py():
            raise TextError("has a receiver without a name", file=piece.path)
    if piece.trace is not None:
        trace = given.get("trace", pa.nulls(count, pa.string()))
        given["trace"] = pc.fill_null(trace, piece.trace)
    given["file"] = pa.repeat(pa.scalar(piece.path), count)
    given["line"] = pa.array(range(line + 1, line + 1 + count), pa.int64())
    columns = [
        given[field.name].cast(field.type) if field.name in given else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def is_own(path: Path, reading: Reading) -> bool:
    """Whether a file is in an own format, whose lines or rows stand for themselves, by its head."""
    if path.suffix == pieces.PARQUET:
        return True
    if reading.pattern is not None or reading.format not in (None, OWN):
        return False
    try:
        with open_lines(path, Report()) as stream:
            head = stream.head
        return formats.detect(head, str(path)) == OWN and not any(map(_leaves_out, head.split("\n")))
    except (TextError, OSError):
        return False  # the task that reads it says so


def _leaves_out(line: str) -> bool:
    """Whether a line leaves to those before it, or after it, what it says of an event."""
    try:
        record = json_object(line)
    except BadLine:
        return False
    says = record.keys() & {"kind", "message", "label"}
    return "process" in record and bool(says) and not record.keys() >= {"seq", "kind"}


def names_of_traces(inputs: Sequence[str], paths: Sequence[Path], own: set[Path]) -> dict[str, str]:
    """The trace of the events that name none, by file: the file's name, or its path where that is shared."""
    given = {pieces.local_path(name) for name in inputs}
    many = len(paths) > 1
    naming = [p for p in paths if p.suffix != pieces.PARQUET and (p not in given or (many and p not in own))]
    stems = Counter(path.stem for path in naming)
    named = {str(path): path.stem if stems[path.stem] == 1 else str(path) for path in naming}
    for path in paths:
        if path not in given and "trace" in (said := pieces.partition_of(path)):
            named[str(path)] = said["trace"]
    return named
