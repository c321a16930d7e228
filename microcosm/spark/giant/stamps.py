"""The Lamport times of a giant trace: whether all of them grow along the order of things.

Where every event has one it is enough to look at each edge: they grow along all paths if along each edge.
Where one does not grow, which stamps are believed depends on the whole trace, which is then read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microcosm.spark.giant.agreeing import Whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_stamps(chains: DataFrame, pairs: Sequence[DataFrame]) -> None:
    """Raise `Whole` where a stamp is no later than that of an event that comes just before.

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
        raise Whole("stamps that do not grow")
