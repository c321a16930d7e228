"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes, and messages matched, by Spark; what remains are pairs of
four numbers. These are cut into slices that are consistent cuts, each slice is scanned by a task of its own
whose memory depends on the slice alone, and the few vectors that come out are put together here
(`microcosm.spark.scan`). The number of passes does not depend on the size of the trace.

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.spark import cuts as cutting
from microcosm.spark import events as rows
from microcosm.spark.cuts import NEVER, Pairs
from microcosm.spark.matching import ENDS, MATCHED, matched
from microcosm.spark.output import Output
from microcosm.spark.scan import Base, Knowledge, begins_of, crossing, scanned
from microcosm.traces.covering import HOLES, MOST_CHOSEN, WIDEST
from microcosm.traces.event import SENDS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from microcosm.spark.cuts import Whole

LARGE = 200_000
"""A trace of so many events is done in slices."""

SLICE = 250_000
"""Receptions of a slice, unless the number of slices is given."""

SAMPLE = 400_000
"""So many pairs at most tell the causal depth."""

_SLICED = "slice long, sender long, sent long, receiver long, received long"
_BASES = "process long, seq long, others array<long>, seqs array<long>, cyclic boolean"
_LOWERED = "process long, cut long, position long, size long"
_BATCH = 1024
_MESSAGE_KINDS = (*SENDS, *SENDS.values())


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

        chains = self._stage("chains", self._chains)
        ends = (
            chains.where("not twice")
            .groupBy("process")
            .agg(F.max("seq").alias("seq"), F.max_by("id", "seq").alias("id"), F.count("*").alias("events"))
        )
        last = sorted(ends.collect())
        numbers = {row.process: number for number, row in enumerate(last)}
        pairs = self._stage("pairs", lambda: self._matched(chains, numbers))
        met = pairs.where("left is not null")
        cuts = self._cuts(chains, met, numbers)
        asked, too_many = self._chosen(chains, numbers)
        knowledge, cyclic = self._scan(met, cuts, asked)
        odd = _irregular(chains).unionByName(pairs.where("reported is not null").select(*_ODD))
        believed = met.where("not near")
        if cyclic:
            gone = self._spark.createDataFrame(cyclic, "receiver long, received long")
            on = ["receiver", "received"]
            places = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
            told = met.select("left", "right", "message", *on).join(gone, on, "left_semi")
            said = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
            odd = odd.unionByName(_odd(told.join(places, "right"), "message-cycle", F.concat("right", *said)))
            believed = believed.join(gone, on, "left_anti")
        if too_many is not None:
            odd = odd.unionByName(too_many)
        apart: list[tuple[str, str, str, str]] = []
        if asked and self._complete:
            kinds = {row[0] for row in odd.select("reported").distinct().collect()}
            apart = _apart(asked, knowledge) if HOLES.isdisjoint(kinds) else []
        related = {name for left, _, right, _ in apart for name in (left, right)}
        if any(row.events == 1 for row in last):
            odd = odd.unionByName(self._isolated(chains, ends, related))
        frontiers, wide = self._frontiers(last, knowledge, numbers)
        if wide:
            told = chains.join(self._spark.createDataFrame([(end,) for end in wide], "id string"), "id")
            fault = F.concat("process", F.lit(f" knew of more than {WIDEST:,} processes"))
            odd = odd.unionByName(_odd(told.where("not twice"), "wide-frontier", fault))
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

    def _stage(self, name: str, table: Any, by: str | None = None) -> DataFrame:
        return self._output.stage(self._spark, f"{name}-{self._name}", table, by)

    def _chains(self) -> DataFrame:
        """The events in the order of each process; `twice` says that the position is taken.

        `before` is the position and `prior` the id of the event before in the process.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        in_order = Window.partitionBy("process").orderBy("seq", "at")
        columns = ["process", "seq", "id", "kind", "message", "to", "chosen", "file", "line", "at"]
        twice = F.col("seq").eqNullSafe(F.lag("seq").over(in_order))
        marked = self._events.select(*columns, twice.alias("twice"))
        earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
        kept = {name: F.when(~F.col("twice"), F.col(name)) for name in ("seq", "id")}
        last = {name: F.last(column, ignorenulls=True).over(earlier) for name, column in kept.items()}
        return marked.select("*", last["seq"].alias("before"), last["id"].alias("prior"))

    def _matched(self, chains: DataFrame, numbers: dict[str, int]) -> DataFrame:
        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return matched(batches, numbers)

        from pyspark.sql import functions as F

        ends = chains.where(
            ~F.col("twice") & F.col("kind").isin(*_MESSAGE_KINDS) & F.col("message").isNotNull()
        )
        by_message = ends.select(*_names(ENDS)).repartition("message").sortWithinPartitions("message")
        return by_message.mapInArrow(kernel, MATCHED)

    def _cuts(self, chains: DataFrame, pairs: DataFrame, numbers: dict[str, int]) -> Whole:
        def found() -> list[list[int]]:
            count = pairs.count()
            slices = self._slices or -(-max(1, count) // SLICE)
            if slices == 1:
                return [[] for _ in numbers]
            best, even = self._consistent(pairs, self._by_lines(chains, numbers, slices))
            if even > 2 * count / slices + slices:
                step = -(-count // SAMPLE)
                chosen = pairs if step == 1 else pairs.where(f"pmod(hash(received, receiver), {step}) = 0")
                sample = Pairs.of([tuple(row) for row in chosen.select(*_FOUR).collect()])
                other, size = self._consistent(pairs, cutting.by_depth(sample, len(numbers), slices))
                best = other if size < even else best
            return [[int(position) for position in row] for row in best]

        made = self._output.remembered(f"cuts-{self._name}", found)
        return np.array(made, dtype=np.int64).reshape(len(numbers), -1)

    def _by_lines(self, chains: DataFrame, numbers: dict[str, int], slices: int) -> Whole:
        """Where the cuts are if the places of events in the log are their order."""
        from pyspark.sql import functions as F

        shares = [cut / slices for cut in range(1, slices)]
        row = chains.select(F.percentile_approx("at", shares, 10_000)).first()
        assert row is not None
        positions = [F.min(F.when(F.col("at") >= at, F.col("seq"))) for at in row[0]]
        cuts = np.full((len(numbers), slices - 1), NEVER, dtype=np.int64)
        for name, *firsts in chains.groupBy("process").agg(*positions).collect():
            cuts[numbers[name]] = [NEVER if first is None else first for first in firsts]
        return cutting.monotone(cuts)

    def _consistent(self, pairs: DataFrame, cuts: Whole) -> tuple[Whole, int]:
        """The cuts made consistent with all pairs, and the receptions of the largest slice."""
        while True:
            changes, sizes = self._round(pairs, cuts)
            if not changes:
                return cuts, max(sizes, default=0)
            cuts = cuts.copy()
            for process, cut, position in changes:
                cuts[process, cut] = min(cuts[process, cut], position)
            cuts = cutting.monotone(cuts)

    def _round(self, pairs: DataFrame, cuts: Whole) -> tuple[list[tuple[int, int, int]], list[int]]:
        from pyspark.sql import functions as F

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            lowered = cuts
            sizes = np.zeros(cuts.shape[1] + 1, dtype=np.int64)
            for batch in batches:
                part = _pairs_of(batch)
                lowered = cutting.lowered(lowered, part)
                received = cutting.slice_of(cuts, part.receiver, part.received)
                sizes += np.bincount(received, minlength=len(sizes))
            found = [
                {"process": process, "cut": cut, "position": position}
                for process, cut, position in cutting.moved(cuts, lowered)
            ]
            found += [{"cut": cut, "size": size} for cut, size in enumerate(sizes.tolist())]
            yield pa.RecordBatch.from_pylist(found, schema=rows.arrow_schema(_LOWERED))

        table = pairs.select(*_FOUR).mapInArrow(kernel, _LOWERED)
        found = table.groupBy("process", "cut").agg(
            F.min("position").alias("position"), F.sum("size").alias("size")
        )
        changes, sizes = [], []
        for row in found.collect():
            if row.process is None:
                sizes.append(int(row["size"]))
            else:
                changes.append((int(row.process), int(row.cut), int(row.position)))
        return changes, sizes

    def _scan(
        self, pairs: DataFrame, cuts: Whole, asked: Sequence[tuple[int, int, str]]
    ) -> tuple[Knowledge, list[tuple[int, int]]]:
        self._stage("sliced", lambda: self._sliced(pairs, cuts), by="slice")
        slices = cuts.shape[1] + 1
        wanted: list[list[tuple[int, int]]] = [[] for _ in range(slices)]
        for process, seq, _ in asked:
            slice_ = cutting.slice_of(cuts, np.array([process]), np.array([seq]))[0]
            wanted[int(slice_)].append((process, seq))
        folder = str(self._output.staged(f"sliced-{self._name}"))

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for slice_ in batch.column(0).to_pylist():
                    yield from _scanned(folder, slice_, begins_of(cuts, slice_), wanted[slice_])

        schema = f"slice long, {_BASES}"
        bases = self._stage(
            "bases", lambda: self._spark.range(0, slices, 1, slices).mapInArrow(kernel, schema)
        )
        members: list[list[Base]] = [[] for _ in range(slices)]
        cyclic = []
        for row in bases.collect():
            if row.cyclic:
                cyclic.append((row.process, row.seq))
            else:
                knows = None if row.others is None else dict(zip(row.others, row.seqs, strict=True))
                members[row.slice].append(Base(row.process, row.seq, knows))
        knowledge = Knowledge()
        for slice_ in range(slices):
            knowledge.add(members[slice_], begins_of(cuts, slice_))
        return knowledge, cyclic

    def _sliced(self, pairs: DataFrame, cuts: Whole) -> DataFrame:
        """The pairs by the slice of their reception; receiver -1: by that of a sending that leaves it."""

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for batch in batches:
                part = _pairs_of(batch)
                slices = cutting.slice_of(cuts, part.receiver, part.received)
                columns = (slices, part.sender, part.sent, part.receiver, part.received)
                leaving = [(*each, -1, -1) for each in crossing(part, cuts)]
                more = np.array(leaving, dtype=np.int64).reshape(-1, len(columns)).T
                both = [np.concatenate(each) for each in zip(columns, more, strict=True)]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(column) for column in both], schema=rows.arrow_schema(_SLICED)
                )

        return pairs.select(*_FOUR).mapInArrow(kernel, _SLICED)

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
            return [], _odd(chosen.orderBy("process", "seq").limit(1), "too-many-chosen", fault)
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

    def _isolated(self, chains: DataFrame, ends: DataFrame, related: set[str]) -> DataFrame:
        """Events that are alone in their process and take no part in a message."""
        from pyspark.sql import functions as F

        messages = F.col("kind").isin(*_MESSAGE_KINDS) & F.col("message").isNotNull()
        first = chains.where(~F.col("twice") & F.col("prior").isNull() & ~messages)
        alone = first.join(ends.where("events = 1").select("process"), "process", "left_semi")
        if related:
            names = self._spark.createDataFrame([(name,) for name in sorted(related)], "id string")
            alone = alone.join(names, "id", "left_anti")
        return _odd(alone, "isolated-event", F.concat("id", F.lit(": nothing relates it to another event")))


_FOUR = ("sender", "sent", "receiver", "received")


_ODD = ("file", "line", "reported", "fault", "count", "lost")


def _names(columns: str) -> list[str]:
    return [column.split(" ")[0] for column in columns.split(", ")]


def _is(relation: str) -> Column:
    from pyspark.sql import functions as F

    return F.lit(relation).alias("relation")


def _odd(table: DataFrame, kind: str, fault: Column, lost: int = 0) -> DataFrame:
    from pyspark.sql import functions as F

    counts = (F.lit(1).cast("long").alias("count"), F.lit(lost).cast("long").alias("lost"))
    return table.select("file", "line", F.lit(kind).alias("reported"), fault.alias("fault"), *counts)


def _irregular(chains: DataFrame) -> DataFrame:
    """Positions that are taken or missing, and sends and receives without a message."""
    from pyspark.sql import functions as F

    before = F.coalesce("before", F.lit(0))
    first, final = (before + 1).cast("string"), (F.col("seq") - 1).cast("string")
    missing = F.when(F.col("seq") == before + 2, first).otherwise(F.concat(first, F.lit(" to "), final))
    kept = ~F.col("twice")
    unnamed = kept & F.col("kind").isin(*_MESSAGE_KINDS) & F.col("message").isNull()
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


def _pairs_of(batch: pa.RecordBatch) -> Pairs:
    return Pairs(*(batch.column(name).to_numpy() for name in _FOUR))


def _scanned(
    folder: str, slice_: int, begins: Whole, wanted: Sequence[tuple[int, int]]
) -> Iterator[pa.RecordBatch]:
    """The bases of a slice that is staged in `folder`. Memory: the pairs of the slice and their vectors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = f"{folder}/slice={slice_}"
    try:
        table = pq.read_table(part, columns=list(_FOUR), partitioning=None)
    except FileNotFoundError:  # nothing is received in it
        table = pa.Table.from_pylist([], schema=rows.arrow_schema(_SLICED)).select(list(_FOUR))
    every = Pairs(*(table.column(name).to_numpy() for name in _FOUR))
    inside = every.receiver >= 0
    leaving = every[~inside]
    pairs = every[inside]
    asked = {*wanted, *zip(leaving.sender.tolist(), leaving.sent.tolist(), strict=True)}
    found = scanned(pairs, begins, asked)
    made: list[rows.Row] = [
        {
            "slice": slice_,
            "process": base.process,
            "seq": base.seq,
            "others": None if base.knows is None else list(base.knows),
            "seqs": None if base.knows is None else list(base.knows.values()),
            "cyclic": False,
        }
        for base in found.bases
    ]
    made += [
        {"slice": slice_, "process": int(p), "seq": int(s), "cyclic": True}
        for p, s in zip(pairs.receiver[found.cyclic], pairs.received[found.cyclic], strict=True)
    ]
    schema = rows.arrow_schema(f"slice long, {_BASES}")
    for begin in range(0, len(made), _BATCH):
        yield pa.RecordBatch.from_pylist(made[begin : begin + _BATCH], schema=schema)


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
