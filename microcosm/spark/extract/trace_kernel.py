"""The kernel of `spark extract`: rows sorted by trace become edges, frontiers and irregularities.

Plain traces are done many at a time, column by column. Plain is a trace in which only processes and messages
order, whose positions count from 1 without a hole, and whose messages are each sent by one event and received
by the processes that they were meant for, or not at all. Every other trace is done by the code for one trace.
No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.extract.plain_events import (
    Messages,
    PlainEvents,
    bounds,
    messages,
    vectors,
    whole_traces,
)
from microcosm.spark.io import events as rows
from microcosm.spark.io.odd import report_rows
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Irregularity, Report

FOREIGN = "trace string, left string, right string, last boolean, file string, line long"
"""Links to events that are not in the trace; `last`: nothing in the trace comes after the linking event."""

LOST = "at long"
"""Events that are there already."""
RENAMED = "at long, now string"
"""Events that are in other executions than they name, for their processes began again."""

TABLES = {
    "edges": rows.EDGES,
    "frontiers": rows.FRONTIERS,
    "odd": rows.ODD,
    "foreign": FOREIGN,
    "lost": LOST,
    "renamed": RENAMED,
}

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
    """What is found of one trace; to the code for it an event's line is its row, which is told in the end."""
    files, lines, places = (table.column(name).to_pylist() for name in ("file", "line", "at"))
    at = table.schema.get_field_index("line")
    table = table.set_column(at, "line", pa.array(range(1, 1 + table.num_rows)))
    lost: list[Irregularity] = []
    report = Report(each=lambda each: lost.append(each) if each.lost else None)
    trace = table.column("trace")[0].as_py()
    chosen: list[tuple[str, int]] = []
    if "chosen" in table.column_names:
        some = table.filter(table.column("chosen"))
        chosen = [*zip(*(some.column(name).to_pylist() for name in ("process", "seq")), strict=True)]
    events: list[TraceEvent] = []
    of: dict[str, str | None] = {}
    for event, renamed in rows.once_each(rows.events_in(table), report):
        events.append(event)
        if renamed:
            of[event.full_id] = event.trace
            yield "renamed", {"at": places[event.line - 1], "now": event.trace}
    made = covering(
        events,
        report,
        full_names=several or bool(of),
        token=token,
        chosen=chosen,
        complete=complete,
    )
    for left, relation, right, source in made.edges:
        whose = of.get(right, trace)
        yield "edges", {"trace": whose, "left": left, "relation": relation, "right": right, "source": source}
    for link in made.foreign:
        row = {"trace": of.get(link.right, trace), "left": link.left, "right": link.right, "last": link.last}
        yield "foreign", {**row, "file": files[link.line - 1], "line": lines[link.line - 1]}
    for each in made.frontiers:
        knows = None if each.knows is None else list(each.knows.items())
        whose = of.get(each.last, trace)
        yield "frontiers", {"trace": whose, "process": each.process, "last": each.last, "knows": knows}
    for row in report_rows(report, lost):
        if row["line"] is not None:
            number = row["line"] - 1
            row |= {"file": files[number], "line": lines[number]}
            if row["lost"]:
                yield "lost", {"at": places[number]}
        yield "odd", {"trace": trace, **row}


@dataclass(frozen=True, slots=True)
class Plain:
    """Batches of `EDGES`, `FRONTIERS` and `ODD`, and where each trace begins and ends that is not plain."""

    edges: pa.RecordBatch
    frontiers: pa.RecordBatch
    odd: pa.RecordBatch
    others: list[tuple[int, int]]


def plain(table: pa.Table, several: bool) -> Plain:
    """What is found of the traces in a table, the events of each of which stand together.

    Columns: `trace process seq kind message to file line`, of which `to` may be missing, `chosen` and those
    of `plain_events.OTHERS`. `several` puts the trace before names. Cost: some sorting of the events, and a
    few array operations for each step of the longest chain of messages.
    """
    events = PlainEvents(table, several)
    met = messages(events)
    known = vectors(events, met.sending, met.reception)
    fit, bounds = events.fit, events.bounds
    others = [(int(bounds[at]), int(bounds[at + 1])) for at in np.flatnonzero(~fit).tolist()]
    sending, reception = met.sending, met.reception
    follows = (events.seq[reception] > 1) & (reception == sending + 1)  # that is an edge already
    kept = events.fits(reception) & ~follows
    edges = _edges(events, sending[kept], reception[kept])
    chosen = np.flatnonzero(fit[events.trace])
    return Plain(edges, _frontiers(events, known, chosen), _odd(events, met), others)


def _edges(events: PlainEvents, sending: Any, reception: Any) -> pa.RecordBatch:
    later = np.ones(len(events.own), dtype=bool)
    later[events.first] = False
    later &= events.fits(slice(None))
    after = np.flatnonzero(later)
    by_process = pc.binary_join_element_wise("process", events.full, " ")
    message = events.with_trace(events.column("trace", reception), events.column("message", reception))
    by_message = pc.binary_join_element_wise("message", message, " ")
    left = events.id.take(pa.array(np.concatenate((after - 1, sending))))
    right = np.concatenate((after, reception))
    source = pa.concat_arrays([by_process.take(pa.array(events.own[after])), by_message])
    columns = [events.column("trace", right), left, pa.repeat(pa.scalar("<"), len(right))]
    columns += [events.id.take(pa.array(right)), source]
    return pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(rows.EDGES))


def _frontiers(events: PlainEvents, known: Any, chosen: Any) -> pa.RecordBatch:
    last = (events.first + events.size - 1)[chosen]
    base = chosen - events.place[chosen]
    # Processes of a trace stand in the order in which they were met: `knows` is sorted by name.
    rank = _by_name(events)
    line, place = np.nonzero(known[chosen])
    other = base[line] + place
    order = np.lexsort((rank[other], line))
    line, place, other = line[order], place[order], other[order]
    offsets = np.searchsorted(line, np.arange(len(chosen) + 1)).astype(np.int32)
    seqs = pa.array(known[chosen[line], place]) if len(line) else pa.array([], pa.int64())
    knows = pa.MapArray.from_arrays(pa.array(offsets), events.process.take(pa.array(other)), seqs)
    chosen_ = pa.array(chosen)
    columns = [events.of.take(chosen_), events.process.take(chosen_), events.id.take(pa.array(last)), knows]
    return pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(rows.FRONTIERS))


def _by_name(events: PlainEvents) -> Any:
    """The rank of each process by its name."""
    rank = np.empty(len(events.process), dtype=np.int64)
    rank[pc.sort_indices(events.process).to_numpy()] = np.arange(len(rank))
    return rank


def _odd(events: PlainEvents, met: Messages) -> pa.RecordBatch:
    """Messages of which an end is missing, and events that nothing relates to another."""
    lonely = events.first[(events.size == 1) & ~met.meets[events.first]]
    batches = []
    for kind, some in (
        ("unreceived-send", met.unreceived),
        ("unmatched-receive", met.unmatched),
        ("isolated-event", lonely),
    ):
        at = some[events.fits(some)]
        name = events.id.take(pa.array(at))
        if kind == "isolated-event":
            said = pc.binary_join_element_wise(name, "nothing relates it to another event", ": ")
        else:
            message = events.column("message", at)
            what = "reception" if kind == "unreceived-send" else "sending"
            whose = pc.binary_join_element_wise(f"the {what} of", message, " ")
            if kind == "unreceived-send" and events.has("to"):
                to = pc.binary_join(events.column("to", at), ", ")
                whose = pc.coalesce(pc.binary_join_element_wise(whose, to, " by "), whose)
            told = pc.binary_join_element_wise(whose, "is not in the log", " ")
            short = events.named(events.process, at)
            said = pc.binary_join_element_wise(short, told, ": ")
        count = len(at)
        columns = [events.column(each, at) for each in ("trace", "file", "line")]
        columns += [pa.repeat(pa.scalar(kind), count), said]
        columns += [pa.repeat(pa.scalar(1), count), pa.repeat(pa.scalar(0), count)]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(rows.ODD)))
    return pa.concat_batches(batches)
