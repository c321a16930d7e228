"""The processes of a giant trace, each in its order; and what is odd about positions and single events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.io.events import ODD_ROWS, arrow_schema
from microcosm.traces.covering import WIDEST
from microcosm.traces.event import MESSAGE_KINDS
from microcosm.traces.execution import missing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LOOKED_AT = ("process", "seq", "id", "kind", "message", "file", "line", "twice", "before")
"""What is needed of events to see what is odd about them."""


OWN = ("own", "prior_own", "ownless")
"""Of clocks, beside: the own value, that of the event before if it has a clock, whether there is none."""


def chains_of(events: DataFrame, clocks: bool = False, more: Sequence[str] = ()) -> DataFrame:
    """The events in the order of each process; `twice` says that the position is taken, and `again` that the
    process may begin again there, with another event.

    `before` is the position and `prior` the id of the event before in the process. With `clocks` also `OWN`,
    and `earlier_seq` and `earlier_clock` of the event with a clock before it. `more` are columns to be kept.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("process").orderBy("seq", "at")
    columns = ["process", "seq", "id", "kind", "message", "to", "chosen", "file", "line", "at", *more]
    said = ("kind", "message", "to", "name", "lamport", "label", "attributes")
    events = events.withColumn("said", F.xxhash64(*said, F.map_entries("clock")))
    if clocks:
        own = F.coalesce(F.try_element_at("clock", F.col("process")), F.lit(0))
        events = events.withColumn("own", F.when(F.col("clock").isNotNull(), own))
        columns += ["clock", "own"]
    twice = F.col("seq").eqNullSafe(F.lag("seq").over(in_order))
    marked = events.select(*columns, "said", twice.alias("twice"))
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    kept = {name: F.when(~F.col("twice"), F.col(name)) for name in ("seq", "id")}
    first = F.last(F.when(~F.col("twice"), F.struct("at", "said")), ignorenulls=True).over(earlier)
    begun = marked.select("*", first.alias("first"), F.min("at").over(earlier).alias("begun"))
    again = "coalesce(twice and first.at = begun and first.said <> said, false) again"
    marked = begun.selectExpr(*columns, "twice", again)
    last = {name: F.last(column, ignorenulls=True).over(earlier) for name, column in kept.items()}
    if not clocks:
        return marked.select("*", last["seq"].alias("before"), last["id"].alias("prior"))
    kept["before_"] = F.when(~F.col("twice"), F.struct("own"))
    kept["earlier"] = F.when(~F.col("twice") & F.col("clock").isNotNull(), F.struct("seq", "clock"))
    last = {name: F.last(column, ignorenulls=True).over(earlier) for name, column in kept.items()}
    found = marked.select("*", *(column.alias(f"last_{name}") for name, column in last.items()))
    return found.select(
        *marked.columns,
        F.col("last_seq").alias("before"),
        F.col("last_id").alias("prior"),
        F.col("last_before_.own").alias("prior_own"),
        (F.col("clock").isNotNull() & ~F.map_contains_key("clock", F.col("process"))).alias("ownless"),
        F.col("last_earlier.seq").alias("earlier_seq"),
        F.col("last_earlier.clock").alias("earlier_clock"),
    )


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
