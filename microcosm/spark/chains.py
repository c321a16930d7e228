"""The processes of a giant trace, each in its order; and what is odd about positions and single events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.traces.event import SENDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MESSAGE_KINDS = (*SENDS, *SENDS.values())

ODD = ("file", "line", "reported", "fault", "count", "lost")
"""The columns of what is odd."""


def chains_of(events: DataFrame) -> DataFrame:
    """The events in the order of each process; `twice` says that the position is taken.

    `before` is the position and `prior` the id of the event before in the process.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("process").orderBy("seq", "at")
    columns = ["process", "seq", "id", "kind", "message", "to", "chosen", "file", "line", "at"]
    twice = F.col("seq").eqNullSafe(F.lag("seq").over(in_order))
    marked = events.select(*columns, twice.alias("twice"))
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    kept = {name: F.when(~F.col("twice"), F.col(name)) for name in ("seq", "id")}
    last = {name: F.last(column, ignorenulls=True).over(earlier) for name, column in kept.items()}
    return marked.select("*", last["seq"].alias("before"), last["id"].alias("prior"))


def odd_rows(table: DataFrame, kind: str, fault: Column, lost: int = 0) -> DataFrame:
    from pyspark.sql import functions as F

    counts = (F.lit(1).cast("long").alias("count"), F.lit(lost).cast("long").alias("lost"))
    return table.select("file", "line", F.lit(kind).alias("reported"), fault.alias("fault"), *counts)


def irregular(chains: DataFrame) -> DataFrame:
    """Positions that are taken or missing, and sends and receives without a message."""
    from pyspark.sql import functions as F

    before = F.coalesce("before", F.lit(0))
    first, final = (before + 1).cast("string"), (F.col("seq") - 1).cast("string")
    missing = F.when(F.col("seq") == before + 2, first).otherwise(F.concat(first, F.lit(" to "), final))
    kept = ~F.col("twice")
    unnamed = kept & F.col("kind").isin(*MESSAGE_KINDS) & F.col("message").isNull()
    cases = (
        ("duplicate-event", F.col("twice"), (F.lit("there is an event "), "id", F.lit(" already"))),
        (
            "seq-gap",
            kept & (F.col("seq") > before + 1),
            ("process", F.lit(": events "), missing, F.lit(" are missing")),
        ),
        ("no-message", unnamed, ("id", F.lit(": a "), "kind", F.lit(" that does not name its message"))),
    )
    told = [
        F.when(case, F.struct(F.lit(kind).alias("kind"), F.concat(*fault).alias("fault")))
        for kind, case, fault in cases
    ]
    odd = chains.select("file", "line", "twice", F.explode(F.array_compact(F.array(*told))).alias("told"))
    return odd.select(
        "file",
        "line",
        F.col("told.kind").alias("reported"),
        F.col("told.fault").alias("fault"),
        F.lit(1).cast("long").alias("count"),
        F.when(F.col("told.kind") == "duplicate-event", 1).otherwise(0).cast("long").alias("lost"),
    )


def isolated(chains: DataFrame, ends: DataFrame, related: set[str]) -> DataFrame:
    """Events that are alone in their process and take no part in a message."""
    from pyspark.sql import functions as F

    messages = F.col("kind").isin(*MESSAGE_KINDS) & F.col("message").isNotNull()
    first = chains.where(~F.col("twice") & F.col("prior").isNull() & ~messages)
    alone = first.join(ends.where("events = 1").select("process"), "process", "left_semi")
    if related:
        names = chains.sparkSession.createDataFrame([(name,) for name in sorted(related)], "id string")
        alone = alone.join(names, "id", "left_anti")
    return odd_rows(alone, "isolated-event", F.concat("id", F.lit(": nothing relates it to another event")))
