"""A giant trace in the order of its processes, and its messages matched: what slices are cut from.

Tasks put their events into the order of processes and positions before Spark gathers those of a process, in
packets (`microcosm.spark.io.packets`) that it sorts by their first events. A task then merges them: logs are
mostly in the order of each process, so it holds no more than a few packets at a time.

The ends of messages are gathered by message. Nearly every message has one sending and one reception; such
groups are found column by column. All others go through `microcosm.traces.causality`, as they do in a trace
that is read at once: what that says of a message depends on the events of this message alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.spark.io import events
from microcosm.spark.io.events import ODD_ROWS, Row, arrow_names, arrow_schema
from microcosm.spark.io.inputs import over
from microcosm.spark.io.packets import gathered, joined, merged, packed, spread, together, unpacked
from microcosm.traces.causality import exchange
from microcosm.traces.covering import WIDEST
from microcosm.traces.event import MESSAGE_KINDS, SENDS, Counted
from microcosm.traces.execution import Execution, missing
from microcosm.traces.report import Report

if TYPE_CHECKING:
    from pathlib import Path

    from microcosm.spark.io.staging import Output, Staged

CHAINS = (
    "process string, seq long, id string, kind string, message string, to array<string>, "
    "counted array<string>, file string, line long, at long, twice boolean, before long, prior string"
)
"""Events in the order of each process; `twice` says that the position is taken.

`before` is the position and `prior` the id of the event before in the process.
"""

LASTS = "process string, seq long, id string, events long, again long, above long"
"""The last event of some events of a process, how many they are without those `twice`, how many may be
where the process begins `again`, with another event at a position that is taken, and how many are ends of
messages of the application, `above` the network."""


class LastEvent(NamedTuple):
    """A process: its last event, and sums of the others of `LASTS`."""

    process: str
    seq: int
    id: str
    events: int
    again: int
    above: int


TEXTS = ("message", "label", "name")
"""What tells one event from another at one position (`microcosm.traces.formats.jsonl.in_execution`)."""
SAID = ("kind", "message", "to", "name", "label", "attributes")
"""What an event says, but where it is."""

NEEDED = ("process", "seq", "file", "line")
"""What every event has."""

APPLICATION = ("causal_send", "deliver")
"""The kinds of ends of messages of the application; others are of the network."""

TOGETHER = 500_000
"""So many events, more or less, are for one task: those of a process, and the ends of a message, for one."""

KEY = ("process", "seq")


def put_in_order(output: Output, stage: str, trace: tuple[str | None, int], several: bool) -> Staged:
    """Tables `chains` and `ends` of a trace, given its name and number of events."""
    name, count = trace
    parts = max(1, -(-count // TOGETHER))
    needed = sorted({*SAID, "counted"} & output.filled("read", "events") | {"at", "trace", *NEEDED})
    send = partial(by_process, trace=name, parts=parts)
    work = over(output.spark, output.staged("read") / "events", needed, send)

    def order(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return in_order(batches, several)

    tables = {"chains": CHAINS, "ends": LASTS}
    return output.tables(stage, tables, *gathered(work, parts, order, keyed=True))


def read_ends(folder: Path) -> list[LastEvent]:
    """The ends of all processes, in the order of their names, of a table `ends`."""
    table = pq.read_table(folder, partitioning=None)
    found: dict[str, LastEvent] = {}
    for row in zip(*(c.to_pylist() for c in table.columns), strict=True):
        end = LastEvent(*row)
        other = found.get(end.process, LastEvent(end.process, 0, "", 0, 0, 0))
        sums = (one + more for one, more in zip(end[3:], other[3:], strict=True))
        found[end.process] = LastEvent(*max(end, other)[:3], *sums)
    return sorted(found.values())


def by_process(batches: Iterator[pa.RecordBatch], trace: str | None, parts: int) -> Iterator[pa.RecordBatch]:
    """Packets of the events of one trace, by process."""
    for batch in together(batches):
        column = batch.column("trace")
        own = pc.is_null(column) if trace is None else pc.fill_null(pc.equal(column, trace), False)
        rows = batch.filter(own)
        if rows.num_rows:
            yield packed(rows, spread(rows.column("process"), parts), KEY)


def in_order(packets: Iterator[pa.RecordBatch], several: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The tables `chains` and `ends` of events in packets that are in the order of their first ones."""
    passed: pa.RecordBatch | None = None  # what those that come later must know of those before
    for rows in merged(packets, KEY):
        chain = _Chain(passed, rows)
        yield from chain.tables(several)
        passed = chain.passed()


class _Chain:
    """Events in order, after some of those before, of which only later ones must know.

    By event, these included: `rank` of its process, `seq`, `at`, whether its position is `new`, and `last`,
    the event before it in its process that has a position of its own, or -1.
    """

    def __init__(self, passed: pa.RecordBatch | None, rows: pa.RecordBatch) -> None:
        self.skipped = 0 if passed is None else passed.num_rows
        self.rows = rows if passed is None else joined([passed, rows])
        process = self.rows.column("process").dictionary_encode().indices.to_numpy()
        self.rank = process.astype(np.int64)  # those of a process stand together, so it is its place
        self.seq, self.at = (self.rows.column(name).to_numpy() for name in ("seq", "at"))
        self.firsts = np.diff(self.rank, prepend=-1) != 0
        self.new = self.firsts | (np.diff(self.seq, prepend=0) != 0)
        count = np.arange(len(self.new))
        found = np.append(-1, np.maximum.accumulate(np.where(self.new, count, -1))[:-1])
        begin = np.maximum.accumulate(np.where(self.firsts, count, 0))
        self.last = np.where(found >= begin, found, -1)

    def passed(self) -> pa.RecordBatch:
        """What those that come later must know: the last event, and the first line."""
        begin = int(np.flatnonzero(self.firsts)[-1])
        kept = {begin + int(np.flatnonzero(self.new[begin:])[-1]), begin + int(self.at[begin:].argmin())}
        return self.rows.take(pa.array(sorted(kept)))

    def tables(self, several: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of `chains`, and those of `ends`."""
        rows, here = self.rows, slice(self.skipped, None)
        made = dict(zip(rows.schema.names, rows.columns, strict=True))
        made["id"] = events.names_of(rows, several)
        made["twice"] = pa.array(~self.new)
        before = pa.array(self.last, mask=self.last < 0)
        made["before"], made["prior"] = (made[name].take(before) for name in ("seq", "id"))
        schema = arrow_schema(CHAINS)
        arrays = [made.get(field.name, pa.nulls(len(rows), field.type)) for field in schema]
        chains = pa.RecordBatch.from_arrays(arrays, schema=schema)
        yield "chains", chains.slice(self.skipped)
        begins = np.flatnonzero(np.diff(self.rank[here], prepend=-1)) + self.skipped
        ends = np.append(begins[1:], len(rows)) - 1
        last = pa.array(np.where(self.new[ends], ends, self.last[ends]))
        kind, message = chains.column("kind"), chains.column("message")
        above = pc.and_(pc.is_in(kind, pa.array(APPLICATION)), pc.is_valid(message))
        sums = (self.new, self._again(), self.new & above.to_numpy(zero_copy_only=False))
        counted = [np.add.reduceat(each.astype(np.int64), begins) for each in sums]
        arrays = [*(made[name].take(last) for name in ("process", "seq", "id")), *map(pa.array, counted)]
        yield "ends", pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(LASTS))

    def _again(self) -> Any:
        """Which events are at a taken position and say something else: another text, or anything where the
        first line so far stands.
        """
        found = np.zeros(len(self.new), dtype=bool)
        begins = np.append(np.flatnonzero(self.firsts), len(self.new))
        twice = np.flatnonzero(~self.new)
        content = self.rows.select([name for name in SAID if name in self.rows.schema.names])
        for process in np.unique(self.rank[twice]).tolist():
            begin, end = begins[process : process + 2].tolist()
            first = np.minimum.accumulate(self.at[begin:end])
            some = twice[slice(*np.searchsorted(twice, (begin, end)))]
            at_first = self.at[self.last[some]] == first[some - begin - 1]
            says, holds = (content.take(pa.array(each)).to_pylist() for each in (some, self.last[some]))
            found[some] = [
                one != other if whole else any(one.get(name) != other.get(name) for name in TEXTS)
                for one, other, whole in zip(says, holds, at_first.tolist(), strict=True)
            ]
        return found


ENDS = (
    "message string, process string, seq long, before long, kind string, to array<string>, id string, "
    "counted array<string>, file string, line long"
)
"""What is needed of an event that sends or receives; `before` is the position before it in its process."""

PAIR = (
    "sender long, sent long, receiver long, received long, left string, right string, message string, "
    "near boolean"
)
"""A sending and its reception; `near`: they are consecutive in one process."""

MATCHED = f"{PAIR}, file string, line long, {events.REPORTED}"


def matched(
    batches: Iterator[pa.RecordBatch], numbers: Mapping[str, int], alone: Mapping[str, bool]
) -> Iterator[pa.RecordBatch]:
    """The pairs and irregularities of messages, given all ends of each; `numbers` are the processes'.

    `alone` are the processes of one event, each with whether the trace has messages of the application.
    Memory: the ends, which are put in the order of messages here, by numbers, where Spark would sort texts.
    """
    some = [batch for batch in batches if batch.num_rows]
    if not some:
        return
    table = joined(some)
    code = table.column("message").dictionary_encode().indices.to_numpy()
    order = np.argsort(code, kind="stable")
    table = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    ends = np.append(starts[1:], table.num_rows)
    kinds = pc.index_in(table.column("kind"), pa.array(MESSAGE_KINDS)).to_numpy(zero_copy_only=False)
    half = len(SENDS)
    pairs = np.flatnonzero(ends - starts == 2)
    two = starts[pairs]
    first, second = kinds[two], kinds[two + 1]
    sends, receives = np.minimum(first, second), np.maximum(first, second)
    sending = np.where(first < second, two, two + 1)
    reception = np.where(first < second, two + 1, two)
    plain = (receives - sends == half) & _meant(table, sending, reception)
    if plain.any():
        yield _pairs(table, sending[plain], reception[plain], pa.array(numbers, pa.string()))
    others = np.delete(np.arange(len(starts)), pairs[plain])
    odd: list[Row] = []
    for begin, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
        odd += _exchanged(table.slice(begin, end - begin).to_pylist(), numbers, alone)
    if odd:
        yield pa.RecordBatch.from_pylist(odd, schema=arrow_schema(MATCHED))


def _meant(table: pa.RecordBatch, sending: Any, reception: Any) -> Any:
    """Whether the sending was to nobody in particular, or to the receiver alone."""
    to = table.column("to").take(sending)
    count = pc.fill_null(pc.list_value_length(to), 0).to_numpy(zero_copy_only=False)
    meant = count == 0
    [one] = np.nonzero(count == 1)
    if len(one):
        receiver = table.column("process").take(reception[one])
        meant[one] = pc.equal(pc.list_flatten(to.take(one)), receiver).to_numpy(zero_copy_only=False)
    return meant


def _pairs(table: pa.RecordBatch, sending: Any, reception: Any, processes: pa.Array) -> pa.RecordBatch:
    def of(name: str, at: Any) -> pa.Array:
        return table.column(name).take(at)

    sender, receiver = (pc.index_in(of("process", at), processes) for at in (sending, reception))
    sent = of("seq", sending)
    at_once = pc.fill_null(pc.equal(of("before", reception), sent), False)  # a first event has none before
    columns = [sender.cast(pa.int64()), sent, receiver.cast(pa.int64()), of("seq", reception)]
    columns += [of("id", sending), of("id", reception), of("message", reception)]
    columns.append(pc.and_(pc.equal(sender, receiver), at_once))
    schema = arrow_schema(MATCHED)
    columns += [pa.nulls(len(sending), kind) for kind in schema.types[len(columns) :]]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _exchanged(
    members: Sequence[Row], numbers: Mapping[str, int], alone: Mapping[str, bool]
) -> Iterator[Row]:
    """The pairs and irregularities of one message, by the code for traces that are read at once.

    An end that nothing answers, `alone` in its process, is isolated where its message is of the network and
    the trace has messages of the application, or has a name that was counted.
    """
    members = sorted(members, key=lambda row: (row["process"], row["seq"]))
    ends = [events.event_of({**row, "name": row["id"]}) for row in members]
    report = Report()
    found = exchange(Execution(None, ends, {}, frozenset(), [], {}, []), report)
    for s, r in found.pairs:
        sending, reception = members[s], members[r]
        same = sending["process"] == reception["process"]
        yield {
            "sender": numbers[sending["process"]],
            "sent": sending["seq"],
            "receiver": numbers[reception["process"]],
            "received": reception["seq"],
            "left": sending["id"],
            "right": reception["id"],
            "message": reception["message"],
            "near": same and reception["before"] == sending["seq"],
        }
    answered = {event for pair in found.pairs for event in pair}
    for at in sorted({*found.sent, *found.received} - answered):
        event = ends[at]
        above = alone.get(event.process)
        if above is not None and (type(event.message) is Counted or (event.kind in APPLICATION) is not above):
            detail = f"{event.id}: nothing relates it to another event"
            report.add("isolated-event", detail, file=event.file, line=event.line)
    yield from events.report_rows(report)


def by_message(batches: Iterator[pa.RecordBatch], parts: int) -> Iterator[pa.RecordBatch]:
    """Packets of the ends of messages, by message, of events that are in order."""
    for batch in together(batches):
        meets = pc.is_in(batch.column("kind"), pa.array(MESSAGE_KINDS))
        for other in (pc.is_valid(batch.column("message")), pc.invert(batch.column("twice"))):
            meets = pc.and_(meets, other)
        ends = batch.select(arrow_names(ENDS)).filter(meets)
        if ends.num_rows:
            yield packed(ends, spread(ends.column("message"), parts))


def exchanged(output: Output, name: str, chains: Path, last: Sequence[LastEvent]) -> Staged:
    """`pairs`, with the columns of `PAIR`, and `odd`, of the messages of events that are staged in order.

    `last` are the ends of all processes, by number. Cost: a shuffle of the ends of messages.
    """
    parts = max(1, -(-sum(row.events for row in last) // TOGETHER))
    numbers, above = {row.process: at for at, row in enumerate(last)}, any(row.above for row in last)
    alone = {row.process: above for row in last if row.events == 1}
    columns = [*arrow_names(ENDS), "twice"]
    work = over(output.spark, chains, columns, partial(by_message, parts=parts))
    pair, odd = arrow_names(PAIR), arrow_names(ODD_ROWS)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for batch in matched(unpacked(batches), numbers, alone):
            good: Any = pc.is_valid(batch.column("left"))
            for kind, columns, which in (("pairs", pair, good), ("odd", odd, pc.invert(good))):
                some = batch.filter(which).select(columns)
                if some.num_rows:
                    yield kind, some

    tables = {"pairs": PAIR, "odd": ODD_ROWS}
    return output.tables(f"pairs-{name}", tables, *gathered(work, parts, match, keyed=False))


_LOOKED_AT = ("process", "seq", "id", "kind", "message", "file", "line", "twice", "before")
"""What is needed of events to see what is odd about them."""


def irregularities(
    output: Output, name: str, chains: Path, alone: Collection[str], wide: Collection[str]
) -> Path:
    """What is odd about events by themselves (`ODD_ROWS`), of those that are staged in order: its folder.

    `alone` are the processes of one event, and `wide` the last events of those whose frontiers are too wide.
    """

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        found = (("odd", row) for batch in batches for row in _odd_of(batch, alone, wide))
        return events.batched(found, {"odd": ODD_ROWS})

    output.tables(f"looked-{name}", {"odd": ODD_ROWS}, *over(output.spark, chains, _LOOKED_AT, look))
    return output.staged(f"looked-{name}") / "odd"


def _odd_of(batch: pa.RecordBatch, alone: Collection[str], wide: Collection[str]) -> Iterator[Row]:
    after = pc.add(pc.fill_null(batch.column("before"), 0), 1)
    meets = pc.is_in(batch.column("kind"), pa.array(MESSAGE_KINDS))
    nameless = pc.is_null(batch.column("message"))
    lonely = pc.is_in(batch.column("process"), pa.array(sorted(alone), pa.string()))
    cases = [batch.column("twice"), pc.greater(batch.column("seq"), after), pc.and_(meets, nameless)]
    cases.append(pc.and_(lonely, pc.or_(pc.invert(meets), nameless)))
    cases.append(pc.is_in(batch.column("id"), pa.array(sorted(wide), pa.string())))
    for row in batch.filter(reduce(pc.or_, cases)).to_pylist():
        place = {"file": row["file"], "line": row["line"], "count": 1, "lost": int(row["twice"])}
        for kind, detail in _faults(row, alone, wide):
            yield {**place, "reported": kind, "fault": detail}


def _faults(row: Row, alone: Collection[str], wide: Collection[str]) -> Iterator[tuple[str, str]]:
    """What is odd about an event by itself: kinds and details."""
    process, name, kind = row["process"], row["id"], row["kind"]
    if row["twice"]:
        yield "duplicate-event", f"there is an event {name} already"
        return
    before, seq = row["before"] or 0, row["seq"]
    if seq > before + 1:
        yield "seq-gap", f"{process}: events {missing(before, seq)} are missing"
    tells = kind in MESSAGE_KINDS and row["message"] is not None
    if kind in MESSAGE_KINDS and not tells:
        yield "no-message", f"{name}: a {kind} that does not name its message"
    if process in alone and not tells:
        yield "isolated-event", f"{name}: nothing relates it to another event"
    if name in wide:
        yield "wide-frontier", f"{process} knew of more than {WIDEST:,} processes"
