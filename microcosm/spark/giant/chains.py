"""The processes of a giant trace, each in its order; and what is odd about positions and single events.

Tasks put their events into the order of processes and positions before Spark gathers those of a process, in
packets (`microcosm.spark.io.packets`) that it sorts by their first events. A task then merges them: logs are
mostly in the order of each process, so it holds no more than a few packets at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.spark.io.events import ODD_ROWS, arrow_names, arrow_schema, in_traces
from microcosm.spark.io.input_splits import over
from microcosm.spark.io.packets import gathered, joined, merged, packed, spread, together
from microcosm.traces.covering import WIDEST
from microcosm.traces.event import MESSAGE_KINDS
from microcosm.traces.execution import missing

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from microcosm.spark.io.staging import Output, Staged

CHAINS = (
    "process string, seq long, id string, kind string, message string, to array<string>, chosen boolean, "
    "file string, line long, at long, twice boolean, before long, prior string"
)
"""Events in the order of each process; `twice` says that the position is taken.

`before` is the position and `prior` the id of the event before in the process.
"""

CLOCKS = (
    "clock map<string,long>, own long, prior_own long, ownless boolean, earlier_seq long, "
    "earlier_clock map<string,long>"
)
"""Of clocks, beside: the own value, that of the event before if it has a clock, whether there is none, and
the event with a clock before it."""

LOOKED_AT = ("process", "seq", "id", "kind", "message", "file", "line", "twice", "before")
"""What is needed of events to see what is odd about them."""

OWN = ("own", "prior_own", "ownless")
"""What is needed of clocks beside."""

ENDS = "process string, seq long, id string, events long, again long"
"""The last event of some events of a process, how many they are without those `twice`, and how many may be
where the process begins `again`, with another event at a position that is taken."""


class LastEvent(NamedTuple):
    """A process: its last event, and sums of the others of `ENDS`."""

    process: str
    seq: int
    id: str
    events: int
    again: int


SAID = ("kind", "message", "to", "name", "lamport", "label", "attributes", "clock")
"""What an event says, but where it is."""

NEEDED = ("process", "seq", "file", "line")
"""What every event has."""

TOGETHER = 500_000
"""So many events, more or less, are put in order by one task; all of a process by the same."""

KEY = ("process", "seq")


def put_in_order(
    output: Output,
    stage: str,
    marked: DataFrame | None,
    trace: tuple[str | None, int],
    several: bool,
    columns: str,
) -> Staged:
    """Tables `chains`, with some `columns`, and `ends`, of a trace, given its name and number of events.

    Tasks read what was staged of all traces, or Spark does, where some events are to be `marked` as chosen.
    """
    name, count = trace
    parts = max(1, -(-count // TOGETHER))
    used = {*SAID, *arrow_names(columns)} & output.filled("read", "events") | {"at", "trace", *NEEDED}
    needed = sorted(used | ({"chosen"} if marked is not None else set()))
    send = partial(sent, trace=name, parts=parts)
    folder = output.staged("read") / "events"
    work = (marked.select(needed), send) if marked is not None else over(output.spark, folder, needed, send)

    def order(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return in_order(batches, several, columns)

    tables = {"chains": columns, "ends": ENDS}
    return output.tables(stage, tables, *gathered(work, parts, order))


def read_ends(folder: Path) -> list[LastEvent]:
    """The ends of all processes, in the order of their names, of a table `ends`."""
    table = pq.read_table(folder, partitioning=None)
    found: dict[str, LastEvent] = {}
    for process, seq, name, events, again in zip(*(c.to_pylist() for c in table.columns), strict=True):
        end = LastEvent(process, seq, name, events, again)
        other = found.get(process, LastEvent(process, 0, "", 0, 0))
        last = max(end, other)
        found[process] = last._replace(events=events + other.events, again=again + other.again)
    return sorted(found.values())


def sent(batches: Iterator[pa.RecordBatch], trace: str | None, parts: int) -> Iterator[pa.RecordBatch]:
    """Packets of the events of one trace, by process."""
    for batch in together(batches):
        column = batch.column("trace")
        own = pc.is_null(column) if trace is None else pc.fill_null(pc.equal(column, trace), False)
        rows = batch.filter(own)
        if rows.num_rows:
            yield packed(rows, spread(rows.column("process"), parts), KEY)


def in_order(
    packets: Iterator[pa.RecordBatch], several: bool, columns: str = CHAINS
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The tables `chains` and `ends` of events in packets that are in the order of their first ones."""
    passed: pa.RecordBatch | None = None  # what those that come later must know of those before
    for rows in merged(packets, KEY):
        chain = _Chain(passed, rows)
        yield from chain.tables(several, columns)
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
        self.last = self._last(self.new)
        clocks = self.rows.column("clock") if "clock" in self.rows.schema.names else None
        self.clocked = None if clocks is None else self.new & clocks.is_valid().to_numpy(zero_copy_only=False)

    def _last(self, which: Any) -> Any:
        """By event the last of some events that is before it in its process, or -1."""
        count = len(which)
        found = np.maximum.accumulate(np.where(which, np.arange(count), -1))
        found = np.append(-1, found[:-1])
        begin = np.maximum.accumulate(np.where(self.firsts, np.arange(count), 0))
        return np.where(found >= begin, found, -1)

    def passed(self) -> pa.RecordBatch:
        """What those that come later must know: the last event, the last with a clock, and the first line."""
        begin = int(np.flatnonzero(self.firsts)[-1])
        kept = {begin + int(np.flatnonzero(self.new[begin:])[-1]), begin + int(self.at[begin:].argmin())}
        if self.clocked is not None and self.clocked[begin:].any():
            kept.add(begin + int(np.flatnonzero(self.clocked[begin:])[-1]))
        return self.rows.take(pa.array(sorted(kept)))

    def tables(self, several: bool, columns: str) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of `chains`, and those of `ends`."""
        rows, here = self.rows, slice(self.skipped, None)
        made = dict(zip(rows.schema.names, rows.columns, strict=True))
        own = pc.binary_join_element_wise(made["process"], pc.cast(made["seq"], pa.string()), ":")
        named = in_traces(made["trace"], own) if several else own
        made["id"] = pc.coalesce(made["name"], named) if "name" in made else named
        made["twice"] = pa.array(~self.new)
        made["before"], made["prior"] = (_of(made[name], self.last) for name in ("seq", "id"))
        if self.clocked is not None:
            made["own"], made["ownless"] = _own(made["process"], made["clock"])
            made["prior_own"] = _of(made["own"], self.last)
            earlier = self._last(self.clocked)
            made["earlier_seq"], made["earlier_clock"] = (
                _of(made[name], earlier) for name in ("seq", "clock")
            )
        made.setdefault("chosen", pa.repeat(False, len(rows)))
        schema = arrow_schema(columns)
        arrays = [made.get(field.name, pa.nulls(len(rows), field.type)) for field in schema]
        yield "chains", pa.RecordBatch.from_arrays(arrays, schema=schema).slice(self.skipped)
        begins = np.flatnonzero(np.diff(self.rank[here], prepend=-1)) + self.skipped
        ends = np.append(begins[1:], len(rows)) - 1
        last = pa.array(np.where(self.new[ends], ends, self.last[ends]))
        counted = [np.add.reduceat(each.astype(np.int64), begins) for each in (self.new, self._again())]
        arrays = [*(made[name].take(last) for name in ("process", "seq", "id")), *map(pa.array, counted)]
        yield "ends", pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(ENDS))

    def _again(self) -> Any:
        """Which events are at a taken position, say something else, and follow the first line so far."""
        found = np.zeros(len(self.new), dtype=bool)
        begins = np.append(np.flatnonzero(self.firsts), len(self.new))
        twice = np.flatnonzero(~self.new)
        said = self.rows.select([name for name in SAID if name in self.rows.schema.names])
        for process in np.unique(self.rank[twice]).tolist():
            begin, end = begins[process : process + 2].tolist()
            first = np.minimum.accumulate(self.at[begin:end])
            some = twice[slice(*np.searchsorted(twice, (begin, end)))]
            some = some[self.at[self.last[some]] == first[some - begin - 1]]
            says, holds = (said.take(pa.array(each)).to_pylist() for each in (some, self.last[some]))
            found[some] = [one != other for one, other in zip(says, holds, strict=True)]
        return found


def _of(column: pa.Array, events: Any) -> pa.Array:
    """What a column has of some events; null of -1."""
    return column.take(pa.array(events, mask=events < 0))


def _own(processes: pa.Array, clocks: pa.Array) -> tuple[pa.Array, pa.Array]:
    """What clocks have of their own processes, 0 where nothing, and whether there is nothing; or null."""
    there = clocks.is_valid()
    bounds = clocks.offsets.to_numpy()
    of = np.repeat(np.arange(len(clocks)), np.diff(bounds))
    names, counts = (each.slice(bounds[0], len(of)) for each in (clocks.keys, clocks.items))
    own = pc.equal(names, processes.take(pa.array(of))).to_numpy(zero_copy_only=False)
    value = np.zeros(len(clocks), dtype=np.int64)
    found = np.zeros(len(clocks), dtype=bool)
    value[of[own]], found[of[own]] = counts.to_numpy()[own], True
    given = pc.if_else(there, pa.array(value), pa.scalar(None, pa.int64()))
    return given, pc.and_(there, pa.array(~found))


def odd_rows(table: DataFrame, kind: str, fault: Column, lost: int = 0) -> DataFrame:
    from pyspark.sql import functions as F

    counts = (F.lit(1).cast("long").alias("count"), F.lit(lost).cast("long").alias("lost"))
    return table.select("file", "line", F.lit(kind).alias("reported"), fault.alias("fault"), *counts)


def irregularities(
    batches: Iterator[pa.RecordBatch], alone: Collection[str], wide: Collection[str]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What is odd about events by themselves, given those in order with the columns of `LOOKED_AT`.

    `alone` are the processes of one event, and `wide` the last events of those whose frontiers are too wide.
    """
    for batch in batches:
        found = list(_odd_of(batch, alone, wide))
        if found:
            yield "odd", pa.RecordBatch.from_pylist(found, schema=arrow_schema(ODD_ROWS))


def _odd_of(
    batch: pa.RecordBatch, alone: Collection[str], wide: Collection[str]
) -> Iterator[dict[str, object]]:
    after = pc.add(pc.fill_null(batch.column("before"), 0), 1)
    meets = pc.is_in(batch.column("kind"), pa.array(MESSAGE_KINDS))
    nameless = pc.is_null(batch.column("message"))
    lonely = pc.is_in(batch.column("process"), pa.array(sorted(alone), pa.string()))
    looked = pc.or_(batch.column("twice"), pc.greater(batch.column("seq"), after))
    clocks = "own" in batch.schema.names
    if clocks:
        leap = pc.greater(batch.column("own"), pc.add(pc.fill_null(batch.column("prior_own"), 0), 1))
        for case in (pc.fill_null(leap, False), pc.fill_null(batch.column("ownless"), False)):
            looked = pc.or_(looked, case)
    for case in (
        pc.and_(meets, nameless),
        pc.and_(lonely, pc.or_(pc.invert(meets), nameless)),
        pc.is_in(batch.column("id"), pa.array(sorted(wide), pa.string())),
    ):
        looked = pc.or_(looked, case)
    for row in batch.filter(looked).to_pylist():
        place = {"file": row["file"], "line": row["line"], "count": 1, "lost": 0}
        first, seq = (row["before"] or 0) + 1, row["seq"]
        if row["twice"]:
            said = f"there is an event {row['id']} already"
            yield {**place, "reported": "duplicate-event", "fault": said, "lost": 1}
            continue
        own = row["own"] if clocks else None
        if own is not None and row["ownless"]:
            said = f"{row['process']}: the clock has no entry for its own process"
            yield {**place, "reported": "own-missing", "fault": said}
        known = (row["prior_own"] or 0) + 1 if clocks else 0
        if own is not None and own > known and (row["before"] is None or row["prior_own"] is not None):
            said = f"{row['process']}: own clock values {missing(known - 1, own)} are missing"
            yield {**place, "reported": "clock-gap", "fault": said}
        elif seq > first:
            said = f"{row['process']}: events {missing(first - 1, seq)} are missing"
            yield {**place, "reported": "seq-gap", "fault": said}
        meeting = row["kind"] in MESSAGE_KINDS
        if meeting and row["message"] is None:
            said = f"{row['id']}: a {row['kind']} that does not name its message"
            yield {**place, "reported": "no-message", "fault": said}
        if row["process"] in alone and own is None and not (meeting and row["message"] is not None):
            said = f"{row['id']}: nothing relates it to another event"
            yield {**place, "reported": "isolated-event", "fault": said}
        if row["id"] in wide:
            said = f"{row['process']} knew of more than {WIDEST:,} processes"
            yield {**place, "reported": "wide-frontier", "fault": said}
