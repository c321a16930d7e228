"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes by Spark (`microcosm.spark.chains`), and messages matched by
tasks (`exchanged`); what remains are pairs of four numbers. These are cut into slices that are consistent
cuts, each slice is scanned by a task of its own whose memory depends on the slice alone (`slices`, `scan`),
and the few vectors that come out are put together here. The number of passes does not depend on the size of
the trace.

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from microcosm.spark.chains import ODD, chains_of, irregular, isolated, odd_rows
from microcosm.spark.exchanged import exchanged
from microcosm.spark.output import Output
from microcosm.spark.scan import Knowledge
from microcosm.spark.slices import Slices
from microcosm.traces.covering import HOLES, MOST_CHOSEN, WIDEST

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LARGE = 200_000
"""A trace of so many events is done in slices."""


@dataclass(frozen=True, slots=True)
class Found:
    """Tables of a giant trace: edges (`left, relation, right, source`), frontiers (`process, last, knows`)
    and irregularities, as `microcosm.spark.extract` has them."""

    edges: DataFrame
    frontiers: DataFrame
    odd: DataFrame


class Giant:
    """A trace of many events, whose columns are those of `rows.EVENT`, `at`, `id` and `chosen`.

    `full` puts the execution before names where there are several, `name` tells its stages from those of
    other traces, `slices` is their number (None: by size), `asked` whether events are chosen, and
    `complete` whether nothing of the log is missing.
    """

    def __init__(
        self,
        spark: SparkSession,
        output: Output,
        events: DataFrame,
        name: str,
        prefix: str,
        slices: int | None,
        asked: bool,
        complete: bool,
    ) -> None:
        self._spark = spark
        self._output = output
        self._events = events
        self._name = name
        self._prefix = prefix
        self._slices = slices
        self._asked = asked
        self._complete = complete

    def find(self) -> Found:
        """Everything of the trace; what takes long is staged."""
        from pyspark.sql import functions as F

        spark, output, name = self._spark, self._output, self._name
        chains = self._stage("chains", lambda: chains_of(self._events))
        ends = (
            chains.where("not twice")
            .groupBy("process")
            .agg(F.max("seq").alias("seq"), F.max_by("id", "seq").alias("id"), F.count("*").alias("events"))
        )
        last = sorted(ends.collect())
        numbers = {row.process: number for number, row in enumerate(last)}
        places = output.staged(f"chains-{name}")
        met = exchanged(spark, output, name, places, sum(row.events for row in last), numbers)
        slices = Slices(spark, output, name, places, output.staged(f"pairs-{name}") / "pairs", numbers)
        asked, too_many = self._chosen(chains, numbers)
        knowledge, cyclic = slices.scan(slices.cuts(self._slices), asked)
        odd = irregular(chains).unionByName(met["odd"].select(*ODD))
        believed = met["pairs"].where("not near")
        if cyclic:
            gone = spark.createDataFrame(cyclic, "receiver long, received long")
            on = ["receiver", "received"]
            where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
            told = met["pairs"].select("left", "right", "message", *on).join(gone, on, "left_semi")
            said = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
            circular = odd_rows(told.join(where, "right"), "message-cycle", F.concat("right", *said))
            odd = odd.unionByName(circular)
            believed = believed.join(gone, on, "left_anti")
        if too_many is not None:
            odd = odd.unionByName(too_many)
        apart: list[tuple[str, str, str, str]] = []
        if asked and self._complete:
            kinds = {row[0] for row in odd.select("reported").distinct().collect()}
            apart = _apart(asked, knowledge) if HOLES.isdisjoint(kinds) else []
        related = {each for left, _, right, _ in apart for each in (left, right)}
        if any(row.events == 1 for row in last):
            odd = odd.unionByName(isolated(chains, ends, related))
        frontiers, wide = self._frontiers(last, knowledge, numbers)
        if wide:
            told = chains.join(spark.createDataFrame([(end,) for end in wide], "id string"), "id")
            fault = F.concat("process", F.lit(f" knew of more than {WIDEST:,} processes"))
            odd = odd.unionByName(odd_rows(told.where("not twice"), "wide-frontier", fault))
        odd = self._stage("odd", lambda: odd)
        return Found(self._edges(chains, believed, apart), frontiers, odd)

    def _edges(
        self, chains: DataFrame, pairs: DataFrame, apart: list[tuple[str, str, str, str]]
    ) -> DataFrame:
        from pyspark.sql import functions as F

        def source(what: str, name: str) -> Column:
            return F.concat(F.lit(f"{what} {self._prefix}"), name).alias("source")

        follows = chains.where("prior is not null and not twice")
        edges = follows.select(
            F.col("prior").alias("left"), _is("<"), F.col("id").alias("right"), source("process", "process")
        )
        edges = edges.unionByName(pairs.select("left", _is("<"), "right", source("message", "message")))
        if apart:
            told = self._spark.createDataFrame(
                apart, "left string, relation string, right string, source string"
            )
            edges = edges.unionByName(told)
        return edges

    def _stage(self, name: str, table: Any) -> DataFrame:
        return self._output.stage(self._spark, f"{name}-{self._name}", table)

    def _chosen(
        self, chains: DataFrame, numbers: dict[str, int]
    ) -> tuple[list[tuple[int, int, str]], DataFrame | None]:
        """The events to be told `||` of, by number of process; or that they are too many."""
        from pyspark.sql import functions as F

        if not self._asked:
            return [], None
        chosen = chains.where("chosen and not twice")
        asked = chosen.select("process", "seq", "id").limit(MOST_CHOSEN + 1).collect()
        if len(asked) > MOST_CHOSEN:
            fault = F.lit(f"{chosen.count():,} events are chosen, more than {MOST_CHOSEN:,}")
            return [], odd_rows(chosen.orderBy("process", "seq").limit(1), "too-many-chosen", fault)
        return [(numbers[row.process], row.seq, row.id) for row in asked], None

    def _frontiers(
        self, ends: Sequence[Any], knowledge: Knowledge, numbers: dict[str, int]
    ) -> tuple[DataFrame, list[str]]:
        processes = list(numbers)
        found: list[tuple[str, str, dict[str, int] | None]] = []
        for row in ends:
            vector = knowledge.of(numbers[row.process], row.seq)
            knows = None if vector is None else {processes[at]: seq for at, seq in sorted(vector.items())}
            found.append((row.process, row.id, knows))
        table = self._spark.createDataFrame(found, "process string, last string, knows map<string,long>")
        return table, [last for _, last, knows in found if knows is None]


def _is(relation: str) -> Column:
    from pyspark.sql import functions as F

    return F.lit(relation).alias("relation")


def _apart(asked: Sequence[tuple[int, int, str]], knowledge: Knowledge) -> list[tuple[str, str, str, str]]:
    """The pairs of chosen events neither of which knows the other."""
    seen = [knowledge.of(process, seq) for process, seq, _ in asked]
    found = []
    for (one, (p, i, a)), (other, (q, j, b)) in combinations(enumerate(asked), 2):
        first, second = seen[one], seen[other]
        if p == q or first is None or second is None:
            continue
        if second.get(p, 0) < i and first.get(q, 0) < j:
            left, right = sorted((a, b))
            found.append((left, "||", right, "concurrent"))
    return found
