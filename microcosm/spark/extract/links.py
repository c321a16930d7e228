"""Links from one execution to another: which of them are edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from microcosm.spark.io.events import arrow_schema
from microcosm.traces.extract import on_circles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CIRCLE = "left string, right string"


def linked(foreign: DataFrame, events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Links from one execution to another as edges, and those that are not believed as irregularities.

    Only links of events after which nothing of their own execution comes are believed. So links close
    a circle only among themselves, from one such event to the next; those between events that are both on a
    circle, or come after one, are not believed either. Cost: three joins; links between linking events go to
    one task.
    """
    from pyspark.sql import functions as F

    known = events.select(F.col("id").alias("left"), F.lit(True).alias("known")).distinct()
    joined = foreign.join(known, "left", "left")
    believed = joined.where("known and last").drop("known", "last")
    linking = believed.select(F.col("right").alias("left")).distinct()
    among = believed.select("left", "right").join(linking, "left", "left_semi").distinct()
    circles = (
        among.withColumn("all", F.lit(0))
        .groupBy("all")
        .applyInArrow(_circles, _CIRCLE)
        .withColumn("circle", F.lit(True))
    )
    marked = believed.join(circles, ["left", "right"], "left")
    edges = marked.where("circle is null").select(
        "trace", "left", F.lit("<").alias("relation"), "right", F.lit("link").alias("source")
    )

    def odd(links: DataFrame, kind: str, before: str, after: str) -> DataFrame:
        return links.select(
            "trace",
            "file",
            "line",
            F.lit(kind).alias("reported"),
            F.concat("right", F.lit(before), "left", F.lit(after)).alias("fault"),
            F.lit(1).cast("long").alias("count"),
            F.lit(0).cast("long").alias("lost"),
        )

    unknown = odd(joined.where("known is null"), "unknown-event", ": ", " is not in the log")
    inner = odd(joined.where("known and not last"), "unknown-event", ": ", " is of another execution")
    circular = odd(marked.where("circle"), "link-cycle", ": is after ", " and before it")
    return edges, unknown.unionByName(inner).unionByName(circular)


def _circles(links: pa.Table) -> pa.Table:
    pairs = zip(links.column("left").to_pylist(), links.column("right").to_pylist(), strict=True)
    found = sorted(on_circles(pairs))
    columns = list(zip(*found, strict=True)) if found else [(), ()]
    return pa.table([pa.array(each, pa.string()) for each in columns], schema=arrow_schema(_CIRCLE))
