"""The clocks and Lamport times of a giant trace: what clocks have seen, as pairs beside those of messages.

Where every event has a Lamport time it is enough to look at each edge: the times grow along all paths if
along each edge. Where one does not grow, or clocks do not agree, which are believed depends on the whole
trace, which is then read at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microcosm.errors import MicrocosmError
from microcosm.spark.giant.chains import odd_rows
from microcosm.spark.giant.clocked import CLOCKED, COVERED, JUDGED, MARK, covered, judged, marked
from microcosm.spark.io import tasks

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from microcosm.spark.io.staging import Output


class NotInSlices(MicrocosmError):
    """What stands against doing a trace in slices, found when it was begun: it goes whole to a worker."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What clocks have newly seen, the messages that they do not contradict, and those that they do."""

    covers: DataFrame
    pairs: DataFrame
    against: DataFrame
    marks: DataFrame


def agreed(
    spark: SparkSession,
    output: Output,
    name: str,
    chains: Path,
    pairs: DataFrame,
    numbers: Mapping[str, int],
    *,
    positions: bool = True,
) -> Agreed:
    """What the clocks of events that are staged in order say. Raises `NotInSlices` where they do not agree.

    Without `positions` these are the reader's, and a value that is repeated may be a line that is.
    Cost: each clock goes to what it has newly seen, and back; sorting.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    columns = ["twice", *CLOCKED]

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return (("judged", each) for each in judged(batches))

    made = output.tables(
        spark, f"judged-{name}", {"judged": JUDGED}, *tasks.over(spark, chains, columns, judge)
    )
    found = made["judged"].distinct().collect()
    _refuse(row.refused for row in found)
    repeating = frozenset(row.process for row in found)
    if repeating and not positions:
        raise NotInSlices("values of clocks that are repeated")

    def mark(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return (("marks", each) for each in marked(batches, repeating, numbers))

    marks = output.tables(spark, f"marks-{name}", {"marks": MARK}, *tasks.over(spark, chains, columns, mark))[
        "marks"
    ]
    before = Window.partitionBy("process").orderBy("value", "class", "seq")
    before = before.rowsBetween(Window.unboundedPreceding, -1)
    event = F.when(F.col("id").isNotNull(), F.struct("seq", "id", "value", "ticked", "clock"))
    seen = marks.withColumn("seen", F.last(event, ignorenulls=True).over(before))
    newly = "seen.value > last or (seen.value = last and not seen.ticked)"
    asking = seen.where(f"id is null and seen is not null and ({newly})")
    asking = asking.select("process", "asker", "asked_at", "asked", "ticked", "clock", "seen")

    def cover(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return (("covers", each) for each in covered(batches, numbers))

    together = asking.repartition("asker", "asked_at").sortWithinPartitions("asker", "asked_at")
    covers = output.tables(spark, f"covers-{name}", {"covers": COVERED}, together, cover)["covers"]
    _refuse(row.refused for row in covers.where("refused is not null").limit(1).collect())
    events = marks.where("id is not null").select("id", "process", "value", "ticked", "clock")
    against = _against(pairs, events)
    output.stage(spark, f"against-{name}", lambda: against)
    against = spark.read.parquet(str(output.staged(f"against-{name}")))
    believed = pairs.join(against, ["left", "right"], "left_anti")
    return Agreed(covers.drop("refused"), believed, against, events)


def _against(pairs: DataFrame, events: DataFrame) -> DataFrame:
    """The messages that clocks do not show to have been sent before they were received."""
    from pyspark.sql import functions as F

    sent = events.select(*(F.col(each).alias(f"s_{each}") for each in events.columns))
    received = events.select(*(F.col(each).alias(f"r_{each}") for each in events.columns))
    both = pairs.join(sent, pairs["left"] == sent["s_id"]).join(received, pairs["right"] == received["r_id"])
    there, back = _entry("r_clock", "s_process"), _entry("s_clock", "r_process")
    before = _reached(there, F.col("s_value"), F.col("s_ticked"))
    after = _reached(back, F.col("r_value"), F.col("r_ticked"))
    apart = (there < F.col("s_value")) & (back < F.col("r_value"))
    odd = (F.col("s_process") != F.col("r_process")) & ~before & (after | apart)
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
    said = ("right", F.lit(": its clock has not seen "), "left", F.lit(", the sending of "), "message")
    return odd_rows(against.join(where, "right"), "message-against-clock", F.concat(*said))


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
