"""The clocks and Lamport times of a giant trace: what clocks have seen, as pairs beside those of messages.

Where clocks agree with the order of their processes and with each other, all of them are believed, and what
one has newly seen follows from a few events: the one before it in its process, and the last that it has seen
of each other. So every clock is looked at beside these alone. Where every event has a Lamport time it is
enough to look at each edge: the times grow along all paths if along each edge. Where a time does not grow, or
clocks do not agree, which are believed depends on the whole trace, which is then read at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import MicrocosmError
from microcosm.spark.io import inputs
from microcosm.spark.io.events import Row, batches_of, odd_rows
from microcosm.spark.io.sink import only
from microcosm.traces.event import covers

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from microcosm.spark.io.staging import Output


class NotInSlices(MicrocosmError):
    """What stands against doing a trace in slices, found when it was begun: it goes whole to a worker."""


def agreed(
    output: Output,
    name: str,
    chains: Path,
    pairs: DataFrame,
    numbers: Mapping[str, int],
    *,
    positions: bool = True,
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """What the clocks of events that are staged in order say. Raises `NotInSlices` where they do not agree.

    That is what they have newly seen, the messages that they do not contradict, and those that they do.
    Without `positions` these are the reader's, and a value that is repeated may be a line that is.
    Cost: each clock goes to what it has newly seen, and back; sorting.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    columns = ["twice", *CLOCKED]

    judging = inputs.over(output.spark, chains, columns, only("judged", judged))
    made = output.tables(f"judged-{name}", {"judged": JUDGED}, *judging)
    found = made["judged"].distinct().collect()
    _refuse(row.refused for row in found)
    repeating = frozenset(row.process for row in found)
    if repeating and not positions:
        raise NotInSlices("values of clocks that are repeated")

    mark = only("marks", partial(marked, repeating=repeating, known=numbers))
    marking = inputs.over(output.spark, chains, columns, mark)
    marks = output.tables(f"marks-{name}", {"marks": MARK}, *marking)["marks"]
    before = Window.partitionBy("process").orderBy("value", "class", "seq")
    before = before.rowsBetween(Window.unboundedPreceding, -1)
    event = F.when(F.col("id").isNotNull(), F.struct("seq", "id", "value", "ticked", "clock"))
    seen = marks.withColumn("seen", F.last(event, ignorenulls=True).over(before))
    newly = "seen.value > last or (seen.value = last and not seen.ticked)"
    asking = seen.where(f"id is null and seen is not null and ({newly})")
    asking = asking.select("process", "asker", "asked_at", "asked", "ticked", "clock", "seen")

    cover = only("covers", partial(covered, numbers=numbers))
    together = asking.repartition("asker", "asked_at").sortWithinPartitions("asker", "asked_at")
    covers = output.tables(f"covers-{name}", {"covers": COVERED}, together, cover)["covers"]
    _refuse(row.refused for row in covers.where("refused is not null").limit(1).collect())
    events = marks.where("id is not null").select("id", "process", "value", "ticked", "clock")
    against = _against(pairs, events)
    output.stage(f"against-{name}", lambda: against)
    against = output.read(f"against-{name}")
    believed = pairs.join(against, ["left", "right"], "left_anti")
    return covers.drop("refused"), believed, against


def _against(pairs: DataFrame, events: DataFrame) -> DataFrame:
    """The messages that clocks do not show to have been sent before they were received."""
    from pyspark.sql import functions as F

    sent = events.select(*(F.col(each).alias(f"s_{each}") for each in events.columns))
    received = events.select(*(F.col(each).alias(f"r_{each}") for each in events.columns))
    both = pairs.join(sent, pairs["left"] == sent["s_id"]).join(received, pairs["right"] == received["r_id"])
    there, back = _entry("r_clock", "s_process"), _entry("s_clock", "r_process")
    before = _reached(there, F.col("s_value"), F.col("s_ticked"))
    after = _reached(back, F.col("r_value"), F.col("r_ticked"))
    concurrent = (there < F.col("s_value")) & (back < F.col("r_value"))
    odd = (F.col("s_process") != F.col("r_process")) & ~before & (after | concurrent)
    return both.where(odd).select("left", "right", "message")


def _entry(clock: str, process: str) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(F.try_element_at(F.col(clock), F.col(process)), F.lit(0))


def _reached(value: Column, own: Column, ticked: Column) -> Column:
    return (value > own) | ((value == own) & ticked & (own > 0))


def told_against(against: DataFrame, chains: DataFrame) -> DataFrame:
    """The messages that clocks contradict, as irregularities."""
    from pyspark.sql import functions as F

    where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
    detail = ("right", F.lit(": its clock has not seen "), "left", F.lit(", the sending of "), "message")
    return odd_rows(against.join(where, "right"), "message-against-clock", F.concat(*detail))


def _refuse(reasons: Any) -> None:
    for reason in reasons:
        if reason is not None:
            raise NotInSlices(reason)


def check_stamps(chains: DataFrame, pairs: Sequence[DataFrame]) -> None:
    """Raise `NotInSlices` where a stamp is no later than that of an event that comes just before.

    `chains` are the events in the order of their processes, `pairs` have the names `left` and `right` of two.
    """
    from pyspark.sql import functions as F

    stamped = chains.where("not twice").select("id", "prior", "lamport")
    edges = stamped.where("prior is not null").select(
        F.col("prior").alias("left"), F.col("id").alias("right")
    )
    for each in pairs:
        edges = edges.unionByName(each.select("left", "right"))
    earlier = stamped.select(F.col("id").alias("left"), F.col("lamport").alias("before"))
    later = stamped.select(F.col("id").alias("right"), "lamport")
    wrong = edges.join(earlier, "left").join(later, "right").where("lamport <= before")
    if wrong.limit(1).collect():
        raise NotInSlices("stamps that do not grow")


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
    found = (dict.fromkeys(each for each in map(_judged, _events(batch)) if each) for batch in batches)
    rows = ({"process": process, "refused": refused} for some in found for process, refused in some)
    return batches_of(rows, JUDGED)


def _judged(event: Row) -> tuple[str, str | None] | None:
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
    events = chain.from_iterable(map(_events, batches))
    return batches_of((mark for event in events for mark in _marks(event, repeating, known)), MARK)


def _marks(event: Row, repeating: frozenset[str], known: Mapping[str, int]) -> Iterator[Row]:
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
    asking = (row for batch in batches for row in batch.to_pylist())
    groups = groupby(asking, key=itemgetter("asker", "asked_at"))
    return batches_of((row for _, group in groups for row in _covered(list(group), numbers)), COVERED)


def _covered(members: list[Row], numbers: Mapping[str, int]) -> Iterator[Row]:
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


def _events(batch: pa.RecordBatch) -> Iterable[Row]:
    """The events that have clocks, and whose positions are not taken; clocks as dictionaries."""
    good: Any = pc.and_(pc.is_valid(batch.column("clock")), pc.invert(batch.column("twice")))
    for row in batch.filter(good).select(list(CLOCKED)).to_pylist():
        row["clock"] = dict(row["clock"])
        if row["earlier_clock"] is not None:
            row["earlier_clock"] = dict(row["earlier_clock"])
        yield row
