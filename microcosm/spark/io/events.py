"""The events of traces as flat rows, read from logs of any format and from Parquet. No Spark here.

An irregularity is a row as well: `reported` is its kind, and `count` how often it was met. Edges know an
event by its name: `trace/process:seq` unless the log names it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import MicrocosmError, TextError
from microcosm.givens.clock import Stamp
from microcosm.givens.exact import number as exact_number
from microcosm.givens.exact import of_float
from microcosm.spark.io.input_splits import Piece, partition_of
from microcosm.spark.io.odd import noting, report_rows
from microcosm.traces import reading as formats
from microcosm.traces.event import NOTHING, Counted, TraceEvent
from microcosm.traces.formats.jsonl import event_stated, in_execution
from microcosm.traces.formats.left_out import LIVES, SHARED, EachByItsLife, LeftOut
from microcosm.traces.formats.parquet import NO_TEXT, record_of, records, stamp_columns
from microcosm.traces.options import Options, Positions
from microcosm.traces.report import Irregularity, Report
from microcosm.traces.text.lines import Lines
from microcosm.traces.text.values import BadLine

if TYPE_CHECKING:
    from pyspark.sql import Column


OWN = "jsonl"
"""The format whose files are read in pieces."""

EVENT = (
    "trace string, name string, process string, seq long, kind string, message string, to array<string>, "
    "clock map<string,long>, lamport long, earliest double, latest double, written array<string>, "
    "label string, attributes string, after array<string>, links array<string>, counted array<string>, "
    "file string, line long"
)
"""The columns of an event, as Spark names their types; a stamp is `lamport`, or `earliest` and `latest`.

An interval with more digits than a double has is widened to the next ones: less follows from these, never
more; `written` has both ends as they are then, and only then.
"""

REPORTED = "reported string, fault string, count long, lost long"

EDGES = "trace string, left string, relation string, right string, source string"
FRONTIERS = "trace string, process string, last string, knows map<string,long>"
ODD_ROWS = f"file string, line long, {REPORTED}"
ODD = f"trace string, {ODD_ROWS}"
"""The columns of edges, of frontiers, and of what is odd."""

Row = dict[str, Any]

_TEXTS = {"trace", "process", "kind", "message", "label"}
"""Fields that the folders of a table may say, of all rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: as by `extract`."""

    format: str | None = None
    pattern: str | None = None


def arrow_names(columns: str) -> list[str]:
    """The names of the columns in a text such as `EVENT`."""
    return [column.split(" ")[0] for column in columns.split(", ")]


def arrow_schema(columns: str) -> pa.Schema:
    """The columns that a text such as `EVENT` names, as Arrow has them."""
    types = {
        "string": pa.string(),
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "array<long>": pa.list_(pa.int64()),
        "array<string>": pa.list_(pa.string()),
        "map<string,long>": pa.map_(pa.string(), pa.int64()),
    }
    pairs = (column.split(" ") for column in columns.split(", "))
    return pa.schema([(name, types[kind]) for name, kind in pairs])


_FIELDS = arrow_names(EVENT)

_NO_STAMP = dict.fromkeys(("lamport", "earliest", "latest", "written"))


def rows(piece: Piece, reading: Reading) -> Iterator[Row]:
    """The events of a piece of a text in their order, then what was odd about it."""
    bad: list[Irregularity] = []
    report = noting(bad)
    try:
        for event in _events(piece, reading, report):
            yield row_of(event, piece.trace)
    except (MicrocosmError, OSError) as error:
        message = getattr(error, "message", str(error))
        report.add("unreadable", message, file=piece.path, line=getattr(error, "line", None))
    yield from report_rows(report, bad)


def row_of(event: TraceEvent, named: str | None = None) -> Row:
    """An event as a row; where it names no trace, it is of the one `named`."""
    return {
        "trace": event.trace if event.trace is not None else named,
        "name": event.name,
        "process": event.process,
        "seq": event.seq,
        "kind": event.kind,
        "message": event.message,
        "to": list(event.to) or None,
        "clock": None if event.clock is None else list(event.clock.items()),
        **(_NO_STAMP if event.stamp is None else stamp_columns(event.stamp)),
        "label": event.label,
        "attributes": json.dumps(dict(event.attributes), ensure_ascii=False) if event.attributes else None,
        "after": list(event.after) or None,
        "links": list(event.links) or None,
        "counted": event.counted or None,
        "file": event.file,
        "line": event.line,
    }


def events_in(table: pa.Table) -> Iterator[TraceEvent]:
    """The events of rows, column by column, of which some may be absent.

    Cost: measured with 60,000 rows, 0.7 of what a dictionary for each row and an event of that take.
    """
    there = set(table.column_names)
    return map(
        _event,
        *(
            table.column(name).to_pylist() if name in there else repeat(None, table.num_rows)
            for name in _FIELDS
        ),
    )


def _event(
    trace: str | None,
    name: str | None,
    process: str,
    seq: int,
    kind: str,
    message: str | None,
    to: list[str] | None,
    clock: list[tuple[str, int]] | None,
    lamport: int | None,
    earliest: float | None,
    latest: float | None,
    written: list[str] | None,
    label: str | None,
    attributes: str | None,
    after: list[str] | None,
    links: list[str] | None,
    counted: list[str] | None,
    file: str,
    line: int,
) -> TraceEvent:
    made = counted or ()
    stamp: Stamp | None = lamport
    if lamport is None and earliest is not None and latest is not None:
        ends = (earliest, latest) if written is None else map(exact_number, written)
        first, last = map(of_float, ends)
        stamp = (first, last)
    return TraceEvent(
        process,
        seq,
        kind,
        Counted(message) if message is not None and "message" in made else message,
        tuple(to) if to else (),
        None if clock is None else dict(clock),
        stamp,
        label,
        json.loads(attributes) if attributes else NOTHING,
        trace,
        Counted(name) if name is not None and "id" in made else name,
        tuple(after) if after else (),
        file,
        line,
        "seq" in made,
        links=tuple(links) if links else (),
    )


def _events(piece: Piece, reading: Reading, report: Report) -> Iterator[TraceEvent]:
    if piece.stop is None and not piece.own:
        yield from formats.read([piece.path], reading.format, reading.pattern, report, whole=False)
    else:
        with piece.stream() as stream:
            lines = Lines(stream, piece.path, report, before=piece.line)
            yield from formats.format_of(OWN).read(lines, piece.path, report, _EachAlone())


class _Free(Positions):
    """Positions of which none is ever taken."""

    def __init__(self) -> None:
        super().__init__()
        self.lowest = -1

    def add(self, position: int) -> bool:
        return True


_FREE = _Free()


class _AllFree(defaultdict[tuple[str | None, str], Positions]):
    """Those of whatever process, none of which is kept."""

    def __missing__(self, key: tuple[str | None, str]) -> Positions:
        return _FREE


class _Stated(LeftOut):
    """Nothing is left out where the lines before are not known."""

    def __init__(self, options: Options) -> None:
        super().__init__(Report(), options, remembers=False)

    def place(self, process: str, trace: str | None, file: str, line: int) -> tuple[str, int]:
        raise BadLine("`seq` is missing, which the first lines of the file have")

    def remember_all(self) -> None:
        raise BadLine("`kind` is missing, which the first lines of the file have")


class _EachAlone(Options):
    """What lines say that stand for themselves: `once_each` tells which of a trace repeat others."""

    def __init__(self) -> None:
        super().__init__(positions=_AllFree())
        self.state[SHARED] = _Stated(self)
        self.state[LIVES] = EachByItsLife(Report())


def once_each(events: Iterable[TraceEvent], report: Report) -> Iterator[tuple[TraceEvent, bool]]:
    """The events of a trace, in the order of the log, without those whose positions are taken.

    Where a process begins again another execution does, as for the reader of the own format: `True` says of
    an event that it is in another one than it names.
    """
    options = Options()
    for event in events:
        taken = options.positions[event.trace, event.process]
        found = event
        if options.again or event.seq <= taken.lowest or not taken.lowest:
            found = in_execution(event, options, report)
            taken = options.positions[found.trace, found.process]
        if taken.add(found.seq):
            yield found, found.trace != event.trace
        else:
            message = f"{found.process} has an event {found.seq} already"
            report.add("duplicate-event", message, file=event.file, line=event.line, lost=1, lines=1)


def parquet_batches(piece: Piece, size: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a piece of Parquet, and how many are before them in the file. Raises `TextError`."""
    number = piece.line
    said = {name: value for name, value in partition_of(Path(piece.path)).items() if name in _TEXTS}
    try:
        with pq.ParquetFile(piece.path) as table:
            groups = None if piece.stop is None else range(piece.start, piece.stop)
            for batch in table.iter_batches(size, row_groups=groups):
                for name in said.keys() - batch.schema.names:
                    batch = batch.append_column(name, pa.repeat(said[name], batch.num_rows))  # noqa: PLW2901
                yield number, batch
                number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise TextError(
            f"no Parquet that can be read: {str(error).splitlines()[0]}", file=piece.path
        ) from None


def stated(batch: pa.RecordBatch, file: str, before: int, report: Report) -> Iterator[TraceEvent]:
    """The events that rows state; the others are reported."""
    for number, record in enumerate(records(batch), before + 1):
        try:
            if record is None:
                raise TextError(NO_TEXT)
            yield event_stated(record_of(record), file, number)
        except (TextError, ValueError, TypeError) as error:
            message = getattr(error, "message", str(error))
            report.add("bad-line", message, file=file, line=number, lost=1, lines=1)


NAMED = EVENT.replace("name string, ", "id string, ")
"""The columns of an event with its name, which it always has."""


def named(batch: pa.RecordBatch, several: bool) -> pa.RecordBatch:
    """Rows of `events.EVENT` with their names; `several` puts the trace before them.

    >>> import pyarrow as pa
    >>> row = {"trace": "t", "process": "p", "seq": 2, "kind": "internal"}
    >>> batch = pa.RecordBatch.from_pylist([row], schema=arrow_schema(EVENT))
    >>> named(batch, True).column("id").to_pylist(), named(batch, False).column("id").to_pylist()
    (['t/p:2'], ['p:2'])
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    name, trace = columns.pop("name"), columns["trace"]
    own = pc.binary_join_element_wise(columns["process"], pc.cast(columns["seq"], pa.string()), ":")
    columns["id"] = pc.coalesce(name, in_traces(trace, own) if several else own)
    schema = arrow_schema(NAMED)
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def in_traces(trace: pa.Array, name: pa.Array) -> pa.Array:
    """Names with those of their traces in front, where these have names."""
    return pc.coalesce(pc.binary_join_element_wise(trace, name, "/"), name)


def id_of(several: bool) -> Column:
    """The name of an event as a column of a table of Spark's."""
    from pyspark.sql import functions as F

    own = F.concat_ws(":", "process", F.col("seq").cast("string"))
    full = F.when(F.col("trace").isNull(), own).otherwise(F.concat_ws("/", "trace", own)) if several else own
    return F.coalesce("name", full)
