"""Recorded clocks of a giant trace: which are believed and what each has newly seen, event by event.

Where clocks agree with the order of their processes and with each other, all of them are believed, and what
one has newly seen follows from a few events: the one before it in its process, and the last that it has seen
of each other. So every clock is looked at beside these alone. Where one does not agree, which to believe
depends on the whole trace: then the trace is read at once. No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from microcosm.spark.io import events as rows
from microcosm.traces.clocks import covers

if TYPE_CHECKING:
    import pyarrow as pa

CLOCKED = ("process", "seq", "id", "own", "clock", "earlier_seq", "earlier_clock")
"""What is needed of an event with a clock; `earlier` is the event with a clock before it in its process."""

JUDGED = "process string, refused string"
"""A process that repeats values of its own clock; with `refused`, why clocks cannot be taken one by one."""

MARK = (
    "process string, value long, class long, seq long, id string, ticked boolean, clock map<string,long>, "
    "asker string, asked_at long, asked string, last long"
)
"""An event with a clock at the value of its process; or a clock that has seen a value of that process.

The latter is asked by an event of `asker` at `asked_at` named `asked`, whose process had seen `last` before;
`seq` and `id` are null then, and `ticked` and `clock` are those of the asking event. In the order of value,
class and position the last event before it is the last one that was seen.
"""

_TICKED, _ASKING, _REPEATED = range(3)

COVERED = "sender long, sent long, receiver long, received long, left string, right string, refused string"
"""An event that a clock has newly seen, and that of the clock; with `refused` two that do not agree."""

BACKWARDS = "clocks against the order of processes"
DISAGREEING = "clocks that do not agree"


def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The processes that repeat values, and what stands against taking clocks one by one (`JUDGED`)."""
    import pyarrow as pa

    for batch in batches:
        found = dict.fromkeys(each for each in map(_judged, _events(batch)) if each is not None)
        if found:
            told = [{"process": process, "refused": refused} for process, refused in found]
            yield pa.RecordBatch.from_pylist(told, schema=rows.arrow_schema(JUDGED))


def _judged(event: rows.Row) -> tuple[str, str | None] | None:
    process, own, earlier = event["process"], event["own"], event["earlier_clock"]
    if earlier is None:
        repeats = event["seq"] > 1 and event["seq"] > own
    else:
        grown = own - earlier.get(process, 0)
        if grown < 0 or not covers(event["clock"], earlier):
            return process, BACKWARDS
        repeats = grown == 0 or grown < event["seq"] - event["earlier_seq"]
    return (process, None) if repeats else None


def marked(
    batches: Iterator[pa.RecordBatch], repeating: frozenset[str], known: Mapping[str, int]
) -> Iterator[pa.RecordBatch]:
    """The events with clocks, and what these have newly seen of `known` processes (`MARK`)."""
    import pyarrow as pa

    for batch in batches:
        made = [mark for event in _events(batch) for mark in _marks(event, repeating, known)]
        if made:
            yield pa.RecordBatch.from_pylist(made, schema=rows.arrow_schema(MARK))


def _marks(event: rows.Row, repeating: frozenset[str], known: Mapping[str, int]) -> Iterator[rows.Row]:
    process, own, seq, clock = event["process"], event["own"], event["seq"], event["clock"]
    earlier = event["earlier_clock"] or {}
    if process in repeating:  # as `microcosm.traces.clocks.ticked` says
        ticked = own == earlier.get(process, 0) + 1 and seq == (event["earlier_seq"] or 0) + 1
    else:
        ticked = own > 0
    entries = list(clock.items())
    yield {
        "process": process,
        "value": own,
        "class": _TICKED if ticked else _REPEATED,
        "seq": seq,
        "id": event["id"],
        "ticked": ticked,
        "clock": entries,
    }
    asking = {"class": _ASKING, "ticked": ticked, "clock": entries}
    asking |= {"asker": process, "asked_at": seq, "asked": event["id"]}
    for other, value in entries:
        last = earlier.get(other, 0)
        if other != process and value > last and other in known:
            yield {**asking, "process": other, "value": value, "last": last}


@dataclass(frozen=True, slots=True)
class _Seen:
    process: str
    seq: int
    id: str
    own: int
    ticked: bool
    clock: dict[str, int]

    def seen_by(self, clock: Mapping[str, int]) -> bool:
        value = clock.get(self.process, 0)
        return value > self.own or (value == self.own and self.ticked)


def covered(batches: Iterator[pa.RecordBatch], numbers: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """What each clock has newly seen, of rows that ask, in the order of asker and position (`COVERED`).

    `seen` is the last event before the question, as a struct of the columns of a mark.
    """
    import pyarrow as pa

    asking = (row for batch in batches for row in batch.to_pylist())
    for _, members in groupby(asking, key=itemgetter("asker", "asked_at")):
        made = list(_covered(list(members), numbers))
        if made:
            yield pa.RecordBatch.from_pylist(made, schema=rows.arrow_schema(COVERED))


def _covered(members: list[rows.Row], numbers: Mapping[str, int]) -> Iterator[rows.Row]:
    first = members[0]
    clock = dict(first["clock"])
    own = clock.get(first["asker"], 0)
    seen = [
        _Seen(row["process"], s["seq"], s["id"], s["value"], s["ticked"], dict(s["clock"]))
        for row in members
        for s in (row["seen"],)
    ]
    for one in seen:
        mutual = first["ticked"] and own > 0 and covers(one.clock, clock)
        if mutual or not covers(clock, one.clock):
            yield {"left": one.id, "right": first["asked"], "refused": DISAGREEING}
            return
    for one in seen:
        if not any(other is not one and one.seen_by(other.clock) for other in seen):
            yield {
                "sender": numbers[one.process],
                "sent": one.seq,
                "receiver": numbers[first["asker"]],
                "received": first["asked_at"],
                "left": one.id,
                "right": first["asked"],
            }


def _events(batch: pa.RecordBatch) -> Iterable[rows.Row]:
    """The events that have clocks, and whose positions are not taken; clocks as dictionaries."""
    import pyarrow.compute as pc

    good: Any = pc.and_(pc.is_valid(batch.column("clock")), pc.invert(batch.column("twice")))
    for row in batch.filter(good).select(list(CLOCKED)).to_pylist():
        row["clock"] = dict(row["clock"])
        if row["earlier_clock"] is not None:
            row["earlier_clock"] = dict(row["earlier_clock"])
        yield row
