"""The events of traces as flat rows, read from logs of any format and from Parquet. No Spark here.

An irregularity is a row as well: `reported` is its kind, and `count` how often it was met. Edges know an
event by its name: `trace/process:seq` unless the log names it.
"""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import TextError
from microcosm.givens.exact import json_text, of_float
from microcosm.givens.exact import number as exact_number
from microcosm.givens.relation import Stamp
from microcosm.traces.event import NOTHING, Counted, TraceEvent
from microcosm.traces.formats.jsonl import in_execution
from microcosm.traces.formats.parquet import stamp_columns
from microcosm.traces.options import Options
from microcosm.traces.report import Irregularity, Report

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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


def arrow_names(columns: str) -> list[str]:
    """The names of the columns in a text such as `EVENT`."""
    return [column.split(" ")[0] for column in columns.split(", ")]


@cache
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


_BATCH = 8192


def batched(
    rows: Iterable[tuple[str, Row | pa.RecordBatch]], tables: Mapping[str, str], most: int = _BATCH
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of several `tables`, whose columns are texts such as `EVENT`, as batches of `most` rows of one.

    What is a batch already goes on as it is, unless it has no rows.

    >>> rows = [("p", {"at": 1}), ("q", {}), ("p", {"at": 2})]
    >>> [(name, batch.to_pylist()) for name, batch in batched(rows, {"p": "at long", "q": "id string"})]
    [('p', [{'at': 1}, {'at': 2}]), ('q', [{'id': None}])]
    """
    waiting: dict[str, list[Row]] = {name: [] for name in tables}
    for name, row in rows:
        if isinstance(row, pa.RecordBatch):
            yield from [(name, row)] if row.num_rows else ()
            continue
        waiting[name].append(row)
        if len(waiting[name]) == most:
            yield name, pa.RecordBatch.from_pylist(waiting[name], schema=arrow_schema(tables[name]))
            waiting[name] = []
    for name, left in waiting.items():
        if left:
            yield name, pa.RecordBatch.from_pylist(left, schema=arrow_schema(tables[name]))


def batches_of(rows: Iterable[Row], columns: str) -> Iterator[pa.RecordBatch]:
    """As `batched`, of the rows of one table."""
    return (batch for _, batch in batched((("", row) for row in rows), {"": columns}))


_FIELDS = arrow_names(EVENT)

_NO_STAMP = dict.fromkeys(("lamport", "earliest", "latest", "written"))


def row_of(event: TraceEvent) -> Row:
    """An event as a row."""
    return {
        "trace": event.trace,
        "name": event.name,
        "process": event.process,
        "seq": event.seq,
        "kind": event.kind,
        "message": event.message,
        "to": list(event.to) or None,
        "clock": None if event.clock is None else list(event.clock.items()),
        **(_NO_STAMP if event.stamp is None else stamp_columns(event.stamp)),
        "label": event.label,
        "attributes": json_text(dict(event.attributes)) if event.attributes else None,
        "after": list(event.after) or None,
        "links": list(event.links) or None,
        "counted": event.counted or None,
        "file": event.file,
        "line": event.line,
    }


def events_in(table: pa.Table) -> Iterator[TraceEvent]:
    """The events of rows, of which some columns may be absent."""
    return map(event_of, table.to_pylist())


def event_of(row: Row) -> TraceEvent:
    """The event of a row."""
    said = row.get
    made = said("counted") or ()
    message, name, clock, attributes = map(said, ("message", "name", "clock", "attributes"))
    stamp: Stamp | None = said("lamport")
    if stamp is None and said("earliest") is not None and said("latest") is not None:
        written = said("written")
        ends = (row["earliest"], row["latest"]) if written is None else map(exact_number, written)
        first, last = map(of_float, ends)
        stamp = (first, last)
    return TraceEvent(
        row["process"],
        row["seq"],
        row["kind"],
        Counted(message) if message is not None and "message" in made else message,
        tuple(said("to") or ()),
        None if clock is None else dict(clock),
        stamp,
        said("label"),
        json.loads(attributes) if attributes else NOTHING,
        said("trace"),
        Counted(name) if name is not None and "id" in made else name,
        tuple(said("after") or ()),
        row["file"],
        row["line"],
        "seq" in made,
        links=tuple(said("links") or ()),
    )


def once_each(
    events: Iterable[TraceEvent], report: Report, names: Iterable[str] = ()
) -> Iterator[tuple[TraceEvent, bool]]:
    """The events of a trace, in the order of the log, without those whose positions are taken.

    Where a process begins again another execution does, as for the reader of the own format: `True` says of
    an event that it is in another one than it names. Other executions have `names`.
    """
    options = Options(names=dict.fromkeys(names, 1))
    for event in events:
        if (found := in_execution(event, options, report)) is not None:
            yield found, found.trace != event.trace


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
    schema = arrow_schema(NAMED)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True)) | {"id": names_of(batch, several)}
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def names_of(batch: pa.RecordBatch, several: bool) -> pa.Array:
    """The names of events in rows, of which the column `name` may be absent."""
    own = pc.binary_join_element_wise(batch.column("process"), pc.cast(batch.column("seq"), pa.string()), ":")
    made = in_traces(batch.column("trace"), own) if several else own
    return pc.coalesce(batch.column("name"), made) if "name" in batch.schema.names else made


def in_traces(trace: pa.Array, name: pa.Array) -> pa.Array:
    """Names with those of their traces in front, where these have names."""
    return pc.coalesce(pc.binary_join_element_wise(trace, name, "/"), name)


def in_full(column: pa.Array) -> pa.Array:
    """A column with its values in the place of a dictionary of them."""
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def id_of(several: bool) -> Column:
    """The name of an event as a column of a table of Spark's."""
    from pyspark.sql import functions as F

    own = F.concat_ws(":", "process", F.col("seq").cast("string"))
    return F.coalesce("name", F.concat_ws("/", "trace", own) if several else own)  # a null is left out


BAD = frozenset({"bad-clock", "bad-host", "bad-line", "long-line", "unreadable"})
"""The kinds of which there is no event: a line, row or file that could not be read."""

MANY = 100_000
"""So many bad lines of a piece have a row each; beyond it they are counted, lest they fill the memory."""


@dataclass(frozen=True, slots=True)
class MaxBad:
    """How many lines or rows may be bad: a number, or a part of all; read from a text by `max_bad`."""

    text: str
    most: int | Fraction

    def refuse(self, reported: Mapping[str, int], events: int, first: str) -> None:
        """Raise `TextError` where more is bad than may be, given what was read and the `first` fault.

        A file that cannot be read, or not to its end, is one that is bad; as nobody knows how many rows it
        has, it is beyond each share but the whole.

        >>> max_bad("10%").refuse({"bad-line": 1, "seq-gap": 5}, 9, "a.jsonl:3: not JSON")
        """
        bad = bad_of(reported)
        most = self.most if isinstance(self.most, int) else self.most * (events + bad)
        unknown = bool(reported.get("unreadable")) and isinstance(self.most, Fraction) and self.most < 1
        if unknown or bad > most:
            hint = "Nothing was committed. Mend the input, or let --max-bad be more."
            message = f"{bad:,} of {events + bad:,} lines or rows are bad, and --max-bad is {self.text}"
            raise TextError(f"{message}; first {first}", hint=hint)


def max_bad(text: str) -> MaxBad:
    """A number of lines or rows, `N`, or a part of all, `P%`. Raises `TextError`.

    >>> max_bad("5").most, max_bad("0.5%").most
    (5, Fraction(1, 200))
    """
    found = re.fullmatch(r"([0-9]+)|([0-9]+\.?[0-9]*|\.[0-9]+)%", text.strip())
    share = Fraction(found[2] or 0) / 100 if found else 2
    if found is None or share > 1:
        message = f"{text!r} is neither a number of lines, such as 100, nor a part of all, such as 0.5%"
        raise TextError(message, file="--max-bad")
    return MaxBad(text, int(found[1]) if found[1] else share)


def bad_of(reported: Mapping[str, int]) -> int:
    """How many of the irregularities are bad, by their counts.

    >>> bad_of({"bad-line": 2, "duplicate-event": 7})
    2
    """
    return sum(count for kind, count in reported.items() if kind in BAD)


def noting(bad: list[Irregularity]) -> Report:
    """A report that also keeps what is bad one by one, up to `MANY`, in the list that is given."""

    def note(found: Irregularity) -> None:
        if found.kind in BAD and len(bad) < MANY:
            bad.append(found)

    return Report(each=note)


def report_rows(report: Report, whole: Iterable[Irregularity] = ()) -> Iterator[dict[str, Any]]:
    """The irregularities of a report: the first of each kind one by one and the rest counted.

    Those of `whole` are told one by one, and no others of their kinds.
    """
    whole = list(whole)
    one_by_one = {found.kind for found in whole}
    counts = dict.fromkeys(report.counts, 0)
    for found in [*whole, *(each for each in report.findings if each.kind not in one_by_one)]:
        counts[found.kind] += 1
        values = (found.kind, found.file, found.line, found.message, 1, found.lost)
        yield dict(zip(_COLUMNS, values, strict=True))
    for kind, count in report.counts.items():
        if count > counts[kind]:
            yield dict(zip(_COLUMNS, (kind, None, None, None, count - counts[kind], 0), strict=True))


_TOLD = 5
"""So many irregularities of a kind are told one by one."""

_COLUMNS = ["reported", "file", "line", "fault", "count", "lost"]


def irregularity_counts(folders: Iterable[Path]) -> tuple[dict[str, int], list[str], int]:
    """The irregularities in folders of Parquet: counts by kind, the first of each with places, events lost.

    Read here, a batch at a time: there is mostly little to read, and a job on Spark takes longer to begin.
    """
    counts: Counter[str] = Counter()
    first: dict[str, list[tuple[str, int, str]]] = {}
    lost = 0
    for path in (path for folder in folders for path in sorted(folder.rglob("*.parquet"))):
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(columns=_COLUMNS):
                columns = (batch.column(name).to_pylist() for name in _COLUMNS)
                for kind, file, line, fault, count, events in zip(*columns, strict=True):
                    counts[kind] += count
                    lost += events or 0
                    if fault is not None:
                        told = first.setdefault(kind, [])
                        insort(told, (file or "", line or 0, fault))
                        del told[_TOLD:]
    faults = [
        f"{file and (f'{file}:{line}: ' if line else f'{file}: ')}{fault} [{kind}]"
        for kind, told in sorted(first.items())
        for file, line, fault in told
    ]
    return dict(counts), faults, lost + counts["unreadable"]


def odd_rows(table: DataFrame, kind: str, fault: Column, columns: str = ODD_ROWS) -> DataFrame:
    """The rows of a table of Spark's as irregularities, in the columns of `ODD_ROWS` or of `ODD`."""
    from pyspark.sql import functions as F

    counts = (F.lit(1).cast("long").alias("count"), F.lit(0).cast("long").alias("lost"))
    where = arrow_names(columns)[: -len(counts) - 2]
    return table.select(*where, F.lit(kind).alias("reported"), fault.alias("fault"), *counts)
