"""What is odd about traces, summed up; and links from one execution to another, which are odd or edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOLD = 5
"""So many irregularities of a kind are told one by one."""


def told(table: DataFrame) -> tuple[dict[str, int], list[str], int]:
    """The irregularities in a table: counts by kind, the first of each with their places, events lost."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    odd = table.where("reported is not null")
    sums = odd.groupBy("reported").agg(F.sum("count").alias("count"), F.sum("lost").alias("lost")).collect()
    counts = {row.reported: int(row["count"]) for row in sums}
    if not counts:
        return {}, [], 0
    place = Window.partitionBy("reported").orderBy("file", "line", "fault")
    first = odd.where("fault is not null").withColumn("nth", F.row_number().over(place))
    told = first.where(F.col("nth") <= _TOLD).orderBy("reported", "nth").collect()
    faults = []
    for row in told:
        where = row.file if row.line is None else f"{row.file}:{row.line}"
        faults.append(f"{where}: {row.fault} [{row.reported}]")
    lost = sum(int(row.lost) for row in sums)
    return counts, faults, lost + counts.get("unreadable", 0)


def linked(foreign: DataFrame, events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Links from one execution to another as edges, and those that are not believed as irregularities.

    Only links to last events are believed: these close no cycle.
    """
    from pyspark.sql import functions as F

    known = events.select(F.col("id").alias("left"), F.lit(True).alias("known")).distinct()
    joined = foreign.join(known, "left", "left")
    believed = joined.where("known and last")
    edges = believed.select(
        "trace", "left", F.lit("<").alias("relation"), "right", F.lit("link").alias("source")
    )
    what = F.when(F.col("known"), F.lit(" is of another execution")).otherwise(F.lit(" is not in the log"))
    unknown = joined.where("known is null or not last").select(
        "trace",
        "file",
        "line",
        F.lit("unknown-event").alias("reported"),
        F.concat("right", F.lit(": "), "left", what).alias("fault"),
        F.lit(1).cast("long").alias("count"),
        F.lit(0).cast("long").alias("lost"),
    )
    return edges, unknown
