"""The kernel of `spark extract`: rows sorted by trace become edges, frontiers and irregularities.

Plain traces are done many at a time, column by column. Plain is a trace in which only processes and messages
order, whose positions count from 1 without a hole, and whose messages are each sent by one event and received
by the processes that they were meant for, or not at all. Every other trace is done by the code for one trace.
No Spark here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.io import events as rows
from microcosm.spark.io.events import batched, in_full, in_traces, report_rows
from microcosm.traces.covering import covering
from microcosm.traces.event import MESSAGE_KINDS, SENDS, TraceEvent
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

EVENTS = 1 << 17
"""So many events, or one trace, are looked at together."""

Rows = Iterator[tuple[str, "pa.RecordBatch"]]


def found(
    batches: Iterator[pa.RecordBatch],
    several: bool,
    token: str | None,
    complete: bool,
    names: Collection[str] = (),
) -> Rows:
    """Rows of `TABLES` for the traces in batches. Columns of events that are absent are null.

    `several` puts the trace before names; `complete` says that nothing of the log is missing. `names` are
    those of traces that an execution which begins again must not be given.
    """

    def rows_() -> Iterator[tuple[str, rows.Row | pa.RecordBatch]]:
        for table in whole_traces(batches, EVENTS):
            if token is None:
                many, others = plain(table, several)
                yield from many.items()
            else:
                others = [*pairwise(bounds(table).tolist())]
            for begin, end in others:
                yield from _found(table.slice(begin, end - begin), several, token, complete, names)

    return batched(rows_(), TABLES)


def _found(
    table: pa.Table, several: bool, token: str | None, complete: bool, names: Collection[str]
) -> Iterator[tuple[str, rows.Row]]:
    """What is found of one trace; to the code for it an event's line is its row, which is told in the end."""
    table = pa.table({name: in_full(one_array(table.column(name))) for name in table.column_names})
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
    apart: list[TraceEvent] = []
    for event, renamed in rows.once_each(rows.events_in(table), report, names):
        events.append(event)
        apart += [event] if renamed else ()
    made = covering(
        events,
        report,
        full_names=several or bool(apart),
        token=token,
        chosen=chosen,
        complete=complete,
        names=names,
    )
    apart += made.apart
    of = {event.full_id: event.trace for event in apart}
    for number, now in {event.line: event.trace for event in apart}.items():
        yield "renamed", {"at": places[number - 1], "now": now}
    for left, relation, right, source in made.edges:
        owner = of.get(right, trace)
        yield "edges", {"trace": owner, "left": left, "relation": relation, "right": right, "source": source}
    for link in made.foreign:
        row = {"trace": of.get(link.right, trace), "left": link.left, "right": link.right, "last": link.last}
        yield "foreign", {**row, "file": files[link.line - 1], "line": lines[link.line - 1]}
    for each in made.frontiers:
        knows = None if each.knows is None else list(each.knows.items())
        owner = of.get(each.last, trace)
        yield "frontiers", {"trace": owner, "process": each.process, "last": each.last, "knows": knows}
    for row in report_rows(report, lost):
        if row["line"] is not None:
            number = row["line"] - 1
            row |= {"file": files[number], "line": lines[number]}
            if row["lost"]:
                yield "lost", {"at": places[number]}
        yield "odd", {"trace": trace, **row}


def plain(table: pa.Table, several: bool) -> tuple[dict[str, pa.RecordBatch], list[tuple[int, int]]]:
    """What is found of the traces in a table, the events of each of which stand together.

    Rows of `TABLES`, and where each trace begins and ends that is not plain.
    Columns: `trace process seq kind message to file line`, of which `to` may be missing, `chosen` and those
    of `OTHERS`. `several` puts the trace before names. Cost: some sorting of the events, and a
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
    chosen = np.flatnonzero(fit[events.trace])
    made = {
        "edges": _edges(events, sending[kept], reception[kept]),
        "frontiers": _frontiers(events, known, chosen),
        "odd": _odd(events, met),
    }
    return made, others


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
    rank = np.empty(len(events.process), dtype=np.int64)
    rank[pc.sort_indices(events.process).to_numpy()] = np.arange(len(rank))
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


def _odd(events: PlainEvents, met: Messages) -> pa.RecordBatch:
    """Messages of which an end is missing, and events that nothing relates to another."""
    lonely = events.first[(events.size == 1) & ~met.meets[events.first]]
    batches = []
    for kind, some, other in (
        ("unreceived-send", met.unreceived, "reception"),
        ("unmatched-receive", met.unmatched, "sending"),
        ("isolated-event", lonely, None),
    ):
        at = some[events.fits(some)]
        if other is None:
            name, detail = events.id.take(pa.array(at)), "nothing relates it to another event"
        else:
            end = pc.binary_join_element_wise(f"the {other} of", events.column("message", at), " ")
            if kind == "unreceived-send" and events.has("to"):
                to = pc.binary_join(events.column("to", at), ", ")
                end = pc.coalesce(pc.binary_join_element_wise(end, to, " by "), end)
            detail = pc.binary_join_element_wise(end, "is not in the log", " ")
            name = events.named(events.process, at)
        fault = pc.binary_join_element_wise(name, detail, ": ")
        of_each, once, never = (pa.repeat(pa.scalar(value), len(at)) for value in (kind, 1, 0))
        columns = [events.column(each, at) for each in ("trace", "file", "line")]
        columns += [of_each, fault, once, never]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(rows.ODD)))
    return pa.concat_batches(batches)


WIDEST = 64
"""Processes of a plain trace, at most: each vector has room for those of the widest one."""

OTHERS = ("name", "clock", "lamport", "earliest", "after")
"""Columns that order too, or name events; of a plain trace they are null."""


class PlainEvents:
    """Events in the order of their processes, of all traces: `own` numbers the process of each.

    By event: `own`, `seq` and `id`. By process: `first` event and `size`, `trace`
    (its number), `place` among the processes of the trace, name (`process`), `of` (the trace's name) and
    `full`, both names. By trace: `fit`, whether it is plain as far as is known, and `bounds`.
    """

    def __init__(self, table: pa.Table, several: bool) -> None:
        self._several = several
        self.bounds = ends = bounds(table)
        count = table.num_rows
        traces = len(ends) - 1
        of = np.repeat(np.arange(traces), np.diff(ends))
        fit = np.ones(traces, dtype=bool)
        for name in OTHERS:
            if name in table.column_names:
                used = pc.is_valid(one_array(table.column(name))).to_numpy(zero_copy_only=False)
                fit[of[used]] = False
        if "chosen" in table.column_names:
            fit[of[one_array(table.column("chosen")).to_numpy(zero_copy_only=False)]] = False
        words = one_array(table.column("process")).dictionary_encode()
        width = max(1, len(words.dictionary))
        keys = of * width + words.indices.to_numpy()
        seq = one_array(table.column("seq")).to_numpy()
        at = np.argsort(keys, kind="stable")
        if ((np.diff(seq[at]) < 0) & (np.diff(keys[at]) == 0)).any():  # not as the processes went on
            at = np.lexsort((seq, keys))
        keys, seq = keys[at], seq[at]
        begins = np.diff(keys, prepend=-1) != 0
        own = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        self.size = np.diff(np.append(first, count))
        fit[of[at][seq != np.arange(count) - first[own] + 1]] = False
        self.trace = (keys // width)[first]
        lowest = np.searchsorted(self.trace, np.arange(traces))
        self.place = np.arange(len(first)) - lowest[self.trace]
        fit[np.bincount(self.trace, minlength=traces) > WIDEST] = False
        self.own, self.seq, self.first, self.fit = own, seq, first, fit
        self._table, self._at = table, at
        self.process, self.of = self.column("process", first), self.column("trace", first)
        self.full = self.with_trace(self.of, self.process)
        self.id = self.named(self.full, slice(None))

    def column(self, name: str, events: Any) -> pa.Array:
        """What a column has of some events."""
        return in_full(one_array(self._table.column(name)).take(pa.array(self._at[events])))

    def kinds(self) -> Any:
        """By event the place of its kind among `MESSAGE_KINDS`, or -1."""
        words = one_array(self._table.column("kind")).dictionary_encode()
        places = pc.fill_null(pc.index_in(words.dictionary, pa.array(MESSAGE_KINDS)), -1)
        return places.to_numpy()[words.indices.to_numpy()][self._at]

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._table.column_names

    def named(self, process: pa.Array, events: Any) -> pa.Array:
        """The names of some events, given those of processes."""
        number = pc.cast(pa.array(self.seq[events]), pa.string())
        return pc.binary_join_element_wise(process.take(pa.array(self.own[events])), number, ":")

    def with_trace(self, trace: pa.Array, name: pa.Array) -> pa.Array:
        """Names with those of their traces in front, where there are several traces."""
        return in_traces(trace, name) if self._several and trace.null_count < len(trace) else name

    def fits(self, events: Any) -> Any:
        """Which of some events are of plain traces."""
        fits: Any = self.fit[self.trace[self.own[events]]]
        return fits

    def refuse(self, events: Any) -> None:
        """The traces of these events are not plain."""
        self.fit[self.trace[self.own[events]]] = False


def whole_traces(batches: Iterator[pa.RecordBatch], events: int) -> Iterator[pa.Table]:
    """Tables of whole traces with at least so many events, but for the last; traces stand together."""
    kept: list[pa.RecordBatch] = []
    count, enough = 0, events
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        if count < enough:
            continue
        table = pa.Table.from_batches(kept)
        last = int(bounds(table)[-2])
        if last:
            yield table.slice(0, last)
            kept, count, enough = table.slice(last).to_batches(), table.num_rows - last, events
        else:  # one long trace: the next look is when it has doubled
            enough = 2 * count
    if count:
        yield pa.Table.from_batches(kept)


def bounds(table: pa.Table) -> Any:
    """Where traces begin in a table, and at last its length."""
    if not table.num_rows:
        return np.zeros(1, dtype=np.int64)
    codes = one_array(table.column("trace")).dictionary_encode().indices
    ends = np.flatnonzero(np.diff(pc.fill_null(codes, -1).to_numpy())) + 1
    return np.concatenate(([0], ends, [table.num_rows]))


def one_array(column: Any) -> Any:
    """A column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


_HALF = len(SENDS)


@dataclass(frozen=True, slots=True)
class Messages:
    """Pairs of `sending` and `reception`, as numbers of events; sendings that are `unreceived` and receptions
    that are `unmatched`. `meets` says of each event whether it is an end of a message."""

    sending: Any
    reception: Any
    meets: Any
    unreceived: Any
    unmatched: Any


def messages(events: PlainEvents) -> Messages:
    """The messages of all traces; traces with others than such are refused.

    Each is sent by one event and received by the processes that it was meant for, or not at all.
    Cost: some sorting of the ends of messages.
    """
    kind = events.kinds()
    has = events.column("message", slice(None)).is_valid().to_numpy(zero_copy_only=False)
    meets = (kind >= 0) & has
    events.refuse(np.flatnonzero((kind >= 0) & ~has))
    ends = np.flatnonzero(meets)
    words = events.column("message", ends).dictionary_encode()
    width = max(1, len(words.dictionary))
    kind = kind[ends]
    answers, level = np.divmod(kind, _HALF)
    whole = events.trace[events.own[ends]] * width + words.indices.to_numpy()
    order = np.argsort((whole * _HALF + level) * 2 + answers, kind="stable")  # a sending first
    ends, kind, level, whole = ends[order], kind[order], level[order], whole[order]
    first = np.diff(whole * _HALF + level, prepend=-1) != 0
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    sends = np.bincount(group[kind < _HALF], minlength=len(starts))
    counts = np.diff(np.append(starts, len(ends)))
    events.refuse(ends[starts[sends > 1]])
    alone = sends == 0
    # A reception without a sending may answer one of the other level.
    both = np.zeros(len(starts), dtype=bool)
    same = whole[starts][1:] == whole[starts][:-1]
    both[1:] |= same
    both[:-1] |= same
    events.refuse(ends[starts[alone & both]])
    sending = np.repeat(ends[starts], counts)[kind >= _HALF]
    reception = ends[kind >= _HALF]
    matched = ~alone[group[kind >= _HALF]]
    found = Messages(
        sending[matched], reception[matched], meets, ends[starts[(counts == 1) & ~alone]], reception[~matched]
    )
    _check_receivers(events, found)
    lonely = np.concatenate((found.unreceived, found.unmatched))
    lonely = lonely[events.size[events.own[lonely]] == 1]  # of these alone it matters whether they tell
    of = events.trace[events.own]
    events.refuse(lonely[(events.kinds()[lonely] % _HALF == 0) & np.isin(of[lonely], of[ends[level > 0]])])
    if events.has("counted"):
        events.refuse(lonely[events.column("counted", lonely).is_valid().to_numpy(zero_copy_only=False)])
    return found


def _check_receivers(events: PlainEvents, found: Messages) -> None:
    """No process receives a message twice, or before it sends it, or one that was not sent to it."""
    sending, reception = found.sending, found.reception
    key = sending * (len(events.first) + 1) + events.own[reception]
    order = np.argsort(key, kind="stable")
    events.refuse(reception[order][1:][key[order][1:] == key[order][:-1]])
    same = events.own[sending] == events.own[reception]
    events.refuse(reception[same & (reception < sending)])
    if not events.has("to"):
        return
    to = events.column("to", slice(None))
    many = pc.fill_null(pc.list_value_length(to), 0).to_numpy(zero_copy_only=False)
    if not many.any():
        return
    meant = np.flatnonzero(many * found.meets)
    lists = to.take(pa.array(meant))
    meant_by = meant[pc.list_parent_indices(lists).to_numpy()]
    named = pc.list_flatten(lists)
    is_named = many[sending] > 0
    answered = np.zeros(len(many), dtype=bool)
    answered[sending] = True
    there, at = sending[is_named], events.own[reception[is_named]]
    words = pa.concat_arrays([named, events.process.take(pa.array(at))]).dictionary_encode()
    width, codes = len(words.dictionary), words.indices.to_numpy().astype(np.int64)
    one = meant_by * width + codes[: len(meant_by)]
    other = there * width + codes[len(meant_by) :]
    events.refuse(meant_by[~np.isin(one, other) & answered[meant_by]])
    events.refuse(there[~np.isin(other, one)])


def vectors(events: PlainEvents, sending: Any, reception: Any) -> Any:
    """What every process knew of the others of its trace at its end, given the messages.

    All traces go one reception further in each round.

    A row for each process: the highest position known of each process of its trace, by its `place`.
    Traces with messages on a cycle are refused. Cost: a few array operations for each step of the longest
    chain of messages.
    """
    kept = events.fits(reception) & (events.own[sending] != events.own[reception])
    order = np.argsort(reception[kept], kind="stable")  # by process, and in its order
    sending, reception = sending[kept][order], reception[kept][order]
    processes = len(events.first)
    plain = events.fit[events.trace]
    width = int(events.place[plain].max(initial=0)) + 1
    count = len(reception)
    until = np.cumsum(np.bincount(reception, minlength=len(events.own)))  # receptions up to each event
    ends = until[events.first + events.size - 1]
    starts = np.append(0, ends[:-1])
    needs = until[sending] - 1
    source = events.own[sending]
    needs[needs < starts[source]] = count  # nothing was received before
    place, sent = events.place[source], events.seq[sending]
    received = np.zeros((count + 1, width), dtype=np.int64)
    known = np.zeros((processes, width), dtype=np.int64)
    done = np.zeros(count + 1, dtype=bool)
    done[count] = True
    cursor = starts.copy()
    active = np.flatnonzero(starts < ends)
    while len(active):
        next_ = cursor[active]
        ready = done[needs[next_]]
        if not ready.any():
            events.fit[events.trace[active]] = False
            break
        going, now = active[ready], next_[ready]
        found = np.maximum(known[going], received[needs[now]])
        lines = np.arange(len(now))
        found[lines, place[now]] = np.maximum(found[lines, place[now]], sent[now])
        received[now] = known[going] = found
        done[now] = True
        cursor[going] += 1
        active = active[cursor[active] < ends[active]]
    known[np.flatnonzero(plain), events.place[plain]] = events.size[plain]
    return known
