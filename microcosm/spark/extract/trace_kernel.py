"""The kernel of `spark extract`: rows sorted by trace become edges, frontiers and irregularities.

Plain traces are done many at a time (`microcosm.spark.extract.plain_traces`), every other one by the code
for one trace. No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from microcosm.spark.extract.plain_events import bounds, whole_traces
from microcosm.spark.extract.plain_traces import EDGES, FRONTIERS, ODD, plain
from microcosm.spark.io import events as rows
from microcosm.traces.covering import covering
from microcosm.traces.report import Irregularity, Report

if TYPE_CHECKING:
    import pyarrow as pa

FOREIGN = "trace string, left string, right string, last boolean, file string, line long"
"""Links to events that are not in the trace; `last`: nothing in the trace comes after the linking event."""

TABLES = {"edges": EDGES, "frontiers": FRONTIERS, "odd": ODD, "foreign": FOREIGN}

EVENTS = 1 << 16
"""So many events, or one trace, are looked at together."""

_BATCH = 8192

Rows = Iterator[tuple[str, "pa.RecordBatch"]]


def found(batches: Iterator[pa.RecordBatch], several: bool, token: str | None, complete: bool) -> Rows:
    """Rows of `TABLES` for the traces in batches. Columns of events that are absent are null.

    `several` puts the trace before names; `complete` says that nothing of the log is missing.
    """
    for table in whole_traces(batches, EVENTS):
        others = [(int(begin), int(end)) for begin, end in pairwise(bounds(table))]
        if token is None:
            many = plain(table, several)
            others = many.others
            for name, batch in (("edges", many.edges), ("frontiers", many.frontiers), ("odd", many.odd)):
                if batch.num_rows:
                    yield name, batch
        for begin, end in others:
            yield from _batched(_found(table.slice(begin, end - begin), several, token, complete))


def _batched(made: Iterator[tuple[str, rows.Row]]) -> Rows:
    import pyarrow as pa

    schemas = {name: rows.arrow_schema(columns) for name, columns in TABLES.items()}
    waiting: dict[str, list[rows.Row]] = {name: [] for name in TABLES}
    for name, row in made:
        waiting[name].append(row)
        if len(waiting[name]) == _BATCH:
            yield name, pa.RecordBatch.from_pylist(waiting[name], schema=schemas[name])
            waiting[name] = []
    for name, left in waiting.items():
        if left:
            yield name, pa.RecordBatch.from_pylist(left, schema=schemas[name])


def _found(
    table: pa.Table, several: bool, token: str | None, complete: bool
) -> Iterator[tuple[str, rows.Row]]:
    lost: list[Irregularity] = []
    report = Report(each=lambda each: lost.append(each) if each.lost else None)
    trace = table.column("trace")[0].as_py()
    chosen: list[tuple[str, int]] = []
    if "chosen" in table.column_names:
        some = table.filter(table.column("chosen"))
        chosen = [*zip(*(some.column(name).to_pylist() for name in ("process", "seq")), strict=True)]
    made = covering(
        rows.events_in(table),
        report,
        full_names=several,
        token=token,
        chosen=chosen,
        complete=complete,
    )
    for left, relation, right, source in made.edges:
        yield "edges", {"trace": trace, "left": left, "relation": relation, "right": right, "source": source}
    for link in made.foreign:
        row = {"trace": trace, "left": link.left, "right": link.right, "last": link.last}
        yield "foreign", {**row, "file": link.file, "line": link.line}
    for each in made.frontiers:
        knows = None if each.knows is None else list(each.knows.items())
        yield "frontiers", {"trace": trace, "process": each.process, "last": each.last, "knows": knows}
    for row in rows.report_rows(report, lost):
        yield "odd", {"trace": trace, **row}
