"""The own format in columns: Apache Parquet. Needs the extra `parquet` (pyarrow).

The columns are the fields of `microcosm.traces.event.TraceEvent`: `trace process seq kind message to
clock stamp label attributes id after links counted origin origin_line`; the last two say from which file and
line of another log an event was read. `clock` is a map from processes to 64-bit counts; `stamp` has
`lamport`, or `earliest` and `latest`, which are doubles: an interval with more digits is widened to the next
ones, so that nothing follows from it that did not, and `written` has both ends as they are. The values of
`attributes` are JSON. In place of maps there may be lists of their entries, structs of two. Names are encoded
by dictionaries. The metadata has the version of this schema under `microcosm.schema`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from functools import partial
from itertools import islice
from math import isfinite
from typing import IO, TYPE_CHECKING, Any

from microcosm.errors import TextError, installing
from microcosm.givens.exact import above, as_float, below, json_text, number_or_infinity, written
from microcosm.givens.relation import Stamp
from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.formats.jsonl import event_of, in_execution, of_copy, record_stating
from microcosm.traces.options import LeftOut, Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines

if TYPE_CHECKING:
    import pyarrow

NAME = "parquet"

MAGIC = "PAR1"
VERSION = "events/1"
"""The version of the schema."""

NO_TEXT = "has bytes that are no UTF-8"
_UNREAD = (ArithmeticError, LookupError, ValueError)
"""What values raise that Python has not: such bytes, a date after the year 9999, a time zone that is none."""

_BATCH = 16_384
"""Events at hand while reading."""
_GROUP = 1 << 16
"""Events of a row group, at hand while writing."""
_REQUIRED = ("process", "seq", "kind")


def detects(head: str, path: str) -> int:
    """2 where the file bears Parquet's mark."""
    return 2 * head.startswith(MAGIC)


def schema() -> pyarrow.Schema:
    """The columns and their types. Raises `TextError` without pyarrow."""
    arrow = _arrow()
    name, text = arrow.dictionary(arrow.int32(), arrow.string()), arrow.string()
    stamp = [("lamport", arrow.int64()), ("earliest", arrow.float64()), ("latest", arrow.float64())]
    stamp.append(("written", arrow.list_(text)))
    columns = (
        ("trace", name),
        ("process", name),
        ("seq", arrow.int64()),
        ("kind", name),
        ("message", text),
        ("to", arrow.list_(text)),
        ("clock", arrow.map_(text, arrow.int64())),
        ("stamp", arrow.struct(stamp)),
        ("label", text),
        ("attributes", arrow.map_(text, text)),
        ("id", text),
        ("after", arrow.list_(text)),
        ("links", arrow.list_(text)),
        ("counted", arrow.list_(text)),
        ("origin", name),
        ("origin_line", arrow.int64()),
    )
    return arrow.schema(
        [arrow.field(column, kind, column not in _REQUIRED) for column, kind in columns],
        metadata={"microcosm.schema": VERSION},
    )


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; rows that are none are reported as `bad-line`, `line` being their number.

    Raises `TextError` for what is no Parquet, lacks a column or has one twice. Memory: a row group's pages.
    """
    arrow = _arrow()
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(stream.binary())
        expect_once(table.schema_arrow, file)
        missing = [column for column in _REQUIRED if column not in table.schema_arrow.names]
        if missing:
            raise TextError(f"has no column {', '.join(missing)}", file=file)
        number, left_out = 0, options.one(LeftOut, report)
        copy = copy_in(table.schema_arrow, stream.file)
        for batch in table.iter_batches(batch_size=_BATCH):
            for row in records(batch):
                number += 1
                try:
                    if isinstance(row, str):
                        raise BadLine(row)
                    event = event_of(record_of(row), file, number)
                    left_out.check_stated(event.process, event.trace, file)
                except (BadLine, ValueError, TypeError) as fault:
                    report.add("bad-line", f"row {number}: {fault}", file=file, line=number, lost=1, lines=1)
                    continue
                if type(event.name) is Counted:
                    event = of_copy(event, copy, options)
                if (placed := in_execution(event, options, report)) is not None:
                    yield placed
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TextError(f"is damaged or no Parquet: {str(error).splitlines()[0]}", file=file) from None


def expect_once(columns: pyarrow.Schema, file: str) -> None:
    """Raise `TextError` where two columns have one name: which of them is meant, nobody knows."""
    for name in columns.names:
        if columns.names.count(name) > 1:
            raise TextError(f"has two columns {name}", file=file, hint="Rename one of them.")


def copy_in(columns: pyarrow.Schema, file: str) -> str:
    """What tells a copy of a log from others: the file, as `write` makes it, else the folder of the table."""
    return file if b"microcosm.schema" in (columns.metadata or {}) else os.path.dirname(file)


def records(batch: pyarrow.RecordBatch) -> Iterator[dict[str, Any] | str]:
    """The rows of a batch; of one with a value that cannot be read, why."""
    try:
        yield from batch.to_pylist()
    except _UNREAD:
        for at in range(batch.num_rows):
            try:
                yield from batch.slice(at, 1).to_pylist()
            except UnicodeDecodeError:
                yield NO_TEXT
            except _UNREAD as error:
                yield f"has a value that cannot be read: {error}"


def write(events: Iterable[TraceEvent], stream: IO[bytes]) -> int:
    """Write events in the order given; how many there were. Memory: a row group."""
    arrow = _arrow()
    from pyarrow import parquet

    columns = schema()
    count = 0
    waiting = iter(events)
    with parquet.ParquetWriter(stream, columns, compression="zstd") as writer:
        while rows := [_row(event) for event in islice(waiting, _GROUP)]:
            writer.write_table(arrow.Table.from_pylist(rows, schema=columns))
            count += len(rows)
    return count


def _row(event: TraceEvent) -> dict[str, object]:
    row = record_stating(event)
    if event.clock is not None:
        row["clock"] = [*event.clock.items()]
    if event.stamp is not None:
        row["stamp"] = stamp_columns(event.stamp)
    if event.attributes:
        more = event.attributes.items()
        row["attributes"] = [(name, json_text(value)) for name, value in more]
    if event.origin is not None:
        row["origin"], row["origin_line"] = event.origin
    return row


def stamp_columns(stamp: Stamp) -> dict[str, object]:
    """A stamp as `lamport`, or `earliest` and `latest`; `written` has its ends where these are others."""
    if isinstance(stamp, int):
        return {"lamport": stamp, "earliest": None, "latest": None, "written": None}
    exact = [*map(written, stamp)] if None in map(as_float, stamp) else None
    return {"lamport": None, "earliest": below(stamp[0]), "latest": above(stamp[1]), "written": exact}


_STAMPED = ("lamport", "earliest", "latest", "written")
_PLACES = (("file", "line"), ("origin", "origin_line"))
"""Columns that say where an event was read before it was put into a table."""


def record_of(row: Mapping[str, Any]) -> dict[str, object]:
    """A row as an object of the own format in JSON, also one of the tables of events that Spark jobs write.

    There the columns of a stamp stand for themselves, and attributes are one JSON text. Values that JSON does
    not know are texts: dates and times, decimals that are no whole numbers. Raises `ValueError`.
    """
    record = {column: value for column, value in row.items() if value is not None}
    for file, line in _PLACES:
        if file in record and line in record:
            record["origin"] = [record.pop(file), record.pop(line)]
    for column, value in record.items():
        if type(value) not in _JSON:
            record[column] = _as_json(column, value)
    for column in ("clock", "attributes"):
        if isinstance(record.get(column), str):
            record[column] = json.loads(record[column])
    stamp = record.pop("stamp") if isinstance(record.get("stamp"), dict) else record
    columns = {column: stamp.get(column) for column in _STAMPED}
    if stamp is record:
        for column in _STAMPED:
            record.pop(column, None)
    if columns["lamport"] is not None:
        record["stamp"] = columns["lamport"]
    elif columns["written"]:
        record["stamp"] = [*map(number_or_infinity, columns["written"])]
    elif columns["earliest"] is not None or columns["latest"] is not None:
        record["stamp"] = [columns["earliest"], columns["latest"]]
    return record


_JSON = {str, int, bool}
_WHOLE = ("seq", "lamport", "stamp")
_ENDS = ("earliest", "latest")
_WITHIN = {"clock": "seq", "stamp": "earliest", "origin": "seq"}
"""Columns of whole numbers, of ends of intervals, and of these in lists and objects."""


def _as_json(column: str, value: object) -> object:
    """A value of a column as JSON has it."""
    within = _WITHIN.get(column, "")
    match value:
        case float() if column not in _WHOLE or not isfinite(value):
            return value
        case float() | Decimal() if column in _ENDS or value != int(value):
            return value if column in _WHOLE or column in _ENDS else str(value)
        case float() | Decimal():
            return int(value)
        case dict():
            of = {name: each for name, each in value.items() if each is not None}
            return {name: _as_json(name if column == "stamp" else within, each) for name, each in of.items()}
        case list() if value and isinstance(value[0], tuple):  # the entries of a map
            decoded = _of_text if column == "attributes" else partial(_as_json, within)
            entries = {k if type(k) is str else str(_as_json("", k)): decoded(each) for k, each in value}
            if column == "clock" and len(entries) < len(value):
                raise ValueError("`clock` has a process twice")
            return entries
        case list() if column in ("clock", "attributes") and all(
            type(e) is dict and len(e) == 2 for e in value
        ):
            return _as_json(column, [(*entry.values(),) for entry in value]) if value else {}
        case list():
            return [_as_json(within, each) for each in value]
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case str() | int() | None:
            return value
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _of_text(value: object) -> object:
    """What the JSON says that a value of `attributes` is; any other value, and any other text, is itself.

    >>> [_of_text(value) for value in ('"a"', "a", "1", 2, None)]
    ['a', 'a', 1, 2, None]
    """
    with suppress(ValueError):
        return json.loads(value) if isinstance(value, str) else _as_json("", value)
    return value


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise TextError("Parquet needs pyarrow", hint=installing("parquet")) from None
    return pyarrow
