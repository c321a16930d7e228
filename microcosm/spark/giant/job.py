"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes and messages matched (`giant.chains`); what remains are pairs
of four numbers. These are cut into slices that are consistent cuts (`giant.cuts`), each slice is scanned by
a task of its own whose memory depends on the slice alone (`giant.scan`), and the few vectors that come out
are put together here. The number of passes does not depend on the size of the trace. Holders of tokens are
related where the trace orders them all: then it does not matter in which order of the events one goes
through them.

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.givens.clock import Clock
from microcosm.givens.relation import Relation
from microcosm.spark.giant.chains import CHAINS, CLOCKS, LastEvent, exchanged, put_in_order, read_ends
from microcosm.spark.giant.clocks import MARK, NotInSlices, agreed, check_stamps, told_against
from microcosm.spark.giant.cuts import FOUR, Cutting
from microcosm.spark.giant.scan import Knowledge, scanned_by_tasks
from microcosm.spark.io import inputs
from microcosm.spark.io.events import (
    FRONTIERS,
    ODD_ROWS,
    Row,
    arrow_schema,
    batches_of,
    irregularity_counts,
    odd_rows,
)
from microcosm.spark.io.sink import only
from microcosm.spark.io.staging import Output
from microcosm.traces.causality import by_clocks, token_in
from microcosm.traces.covering import MOST_CHOSEN, WIDEST
from microcosm.traces.event import MESSAGE_KINDS
from microcosm.traces.execution import missing
from microcosm.traces.report import HOLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Found:
    """What is found of a giant trace: edges (`left, relation, right, source`), frontiers, as
    `microcosm.spark.extract.job` has them, and the folders of what is odd (`ODD_ROWS`)."""

    edges: DataFrame
    frontiers: pa.Table
    odd: list[Path]
    lost: DataFrame
    """The places (`at`) of events that are there already."""


@dataclass(frozen=True, slots=True)
class Giant:
    """A trace of so many staged events; where `||` is asked for, `_marked` with those that are `chosen`.

    `_trace` is its name, which stands before the names of others where there are `_several` traces; `_name`
    tells its stages from those of other traces. It is done in so many `_slices` (None: by size); of the
    holders of a `_token` `<>` is told. The log is `_complete` where nothing of it is missing; `_columns`
    order beside processes and messages.
    """

    _output: Output
    _marked: DataFrame | None
    _name: str
    _trace: str | None
    _several: bool
    _events: int
    _slices: int | None
    _token: str | None
    _complete: bool
    _columns: frozenset[str]

    @property
    def _clocks(self) -> bool:
        return "clock" in self._columns

    @property
    def _prefix(self) -> str:
        return f"{self._trace}/" if self._several and self._trace is not None else ""

    @property
    def _stamps(self) -> bool:
        return "lamport" in self._columns

    def find(self) -> Found:
        """Everything of the trace; what takes long is staged. Raises `NotInSlices`."""
        from pyspark.sql import functions as F

        output, name = self._output, self._name
        token = self._token
        places, chains, last = self._in_order()
        if any(row.again for row in last):
            raise NotInSlices("a process that may begin again")
        numbers = {row.process: number for number, row in enumerate(last)}
        met = exchanged(output, name, places, sum(row.events for row in last), numbers)
        pairs, folder = met["pairs"], output.staged(f"pairs-{name}") / "pairs"
        odd = [output.staged(f"pairs-{name}") / "odd"]
        seen = None
        if self._clocks:
            recorded = "counted" not in self._columns
            covers, pairs, against = agreed(output, name, places, pairs, numbers, positions=recorded)
            seen = covers.join(pairs, ["left", "right"], "left_anti")
            odd.append(self._stage("contradicted", lambda: told_against(against, chains)))
            ordered = pairs.select(*FOUR).unionByName(seen.select(*FOUR))
            folder = self._stage("ordered", lambda: ordered)
        if self._stamps:
            check_stamps(chains, [pairs] if seen is None else [pairs, seen])
        chosen, too_many = self._chosen(chains, numbers)
        holders = [] if token is None else holders_of(output, name, places, token, numbers)
        wanted = {(each.process, each.seq, each.id) for each in holders}.union(chosen)
        cuts = Cutting(output, name, places, folder, numbers).cuts(self._slices)
        knowledge, cyclic = scanned_by_tasks(output, name, folder, cuts, sorted(wanted))
        believed = pairs.where("not near")
        if cyclic and seen is not None:
            raise NotInSlices("messages on cycles beside clocks")
        if cyclic:
            gone = output.spark.createDataFrame(cyclic, "receiver long, received long")
            on = ["receiver", "received"]
            where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
            told_of = met["pairs"].select("left", "right", "message", *on).join(gone, on, "left_semi")
            detail = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
            circular = odd_rows(told_of.join(where, "right"), "message-cycle", F.concat("right", *detail))
            odd.append(self._stage("cycles", lambda: circular))
            believed = believed.join(gone, on, "left_anti")
        if too_many is not None:
            odd.append(self._stage("chosen", lambda: too_many))
        frontiers, wide = self._frontiers(last, knowledge, numbers)
        times = self._times(sorted(wanted), seen is not None)
        held = related(holders, knowledge, times, self._prefix)
        tied = {each for one, _, other, _ in held for each in (one, other)}
        alone = {row.process for row in last if row.events == 1 and row.id not in tied and not self._stamps}
        looked = self._looked_at("looked", alone, wide)
        concurrent: list[tuple[str, str, str, str]] = []
        complete = self._complete and bool(chosen)
        if complete:
            kinds, _, lost = irregularity_counts([*odd, looked])
            complete = not lost and HOLES.isdisjoint(kinds)
        if chosen and (complete or seen is not None):
            concurrent = _apart(chosen, knowledge, times, complete)
            named = {each for left, _, right, _ in concurrent for each in (left, right)}
            found = {last[number].process for number, _, event in chosen if event in named}
            if alone & found:
                looked = self._looked_at("looked-again", alone - found, wide)
        edges = self._edges(chains, believed, seen, [*held, *concurrent])
        return Found(edges, frontiers, [*odd, looked], chains.where("twice").select("at"))

    def _in_order(self) -> tuple[Path, DataFrame, list[LastEvent]]:
        """The events in the order of their processes: where they are staged; and the ends of these."""
        output, stage = self._output, f"chains-{self._name}"
        columns = [CHAINS, *([CLOCKS] if self._clocks else ()), *(["lamport long"] if self._stamps else ())]
        columns += ["attributes string"] if self._token is not None else ()
        made = put_in_order(
            output, stage, self._marked, (self._trace, self._events), self._several, ", ".join(columns)
        )
        folder = output.staged(stage)
        return folder / "chains", made["chains"], read_ends(folder / "ends")

    def _times(self, chosen: Sequence[tuple[int, int, str]], clocks: bool) -> dict[str, Clock]:
        """The clocks of events that are asked about, by name."""
        if not clocks or not chosen:
            return {}
        marks = self._output.spark.read.schema(MARK).parquet(
            str(self._output.staged(f"marks-{self._name}") / "marks")
        )
        wanted = self._output.spark.createDataFrame([(event,) for _, _, event in chosen], "id string")
        found = marks.join(wanted, "id").select("id", "process", "clock", "ticked").collect()
        return {row.id: Clock(row.process, dict(row.clock), row.ticked) for row in found}

    def _looked_at(self, stage: str, alone: set[str], wide: set[str]) -> Path:
        """Where it is staged what is odd about events by themselves."""
        look = only("odd", partial(irregularities, alone=alone, wide=wide))
        places = self._output.staged(f"chains-{self._name}") / "chains"
        name = f"{stage}-{self._name}"
        columns = [*LOOKED_AT, *OWN] if self._clocks else LOOKED_AT
        looking = inputs.over(self._output.spark, places, columns, look)
        self._output.tables(name, {"odd": ODD_ROWS}, *looking)
        return self._output.staged(name) / "odd"

    def _edges(
        self,
        chains: DataFrame,
        pairs: DataFrame,
        seen: DataFrame | None,
        concurrent: list[tuple[str, str, str, str]],
    ) -> DataFrame:
        from pyspark.sql import functions as F

        def source(what: str, name: str) -> Column:
            return F.concat(F.lit(f"{what} {self._prefix}"), name).alias("source")

        before = F.lit("<").alias("relation")
        follows = chains.where("prior is not null and not twice")
        edges = follows.select(
            F.col("prior").alias("left"), before, F.col("id").alias("right"), source("process", "process")
        )
        edges = edges.unionByName(pairs.select("left", before, "right", source("message", "message")))
        if seen is not None:
            by_clock = F.concat(F.lit("vector time of "), "right").alias("source")
            edges = edges.unionByName(seen.select("left", before, "right", by_clock))
        if concurrent:
            frame = self._output.spark.createDataFrame(
                concurrent, "left string, relation string, right string, source string"
            )
            edges = edges.unionByName(frame)
        return edges

    def _stage(self, name: str, table: Any) -> Path:
        return self._output.stage(f"{name}-{self._name}", table)

    def _chosen(
        self, chains: DataFrame, numbers: dict[str, int]
    ) -> tuple[list[tuple[int, int, str]], DataFrame | None]:
        """The events to be told `||` of, by number of process; or that they are too many."""
        from pyspark.sql import functions as F

        if self._marked is None:
            return [], None
        chosen = chains.where("chosen and not twice")
        rows = chosen.select("process", "seq", "id").limit(MOST_CHOSEN + 1).collect()
        if len(rows) > MOST_CHOSEN:
            fault = F.lit(f"{chosen.count():,} events are chosen, more than {MOST_CHOSEN:,}")
            return [], odd_rows(chosen.orderBy("process", "seq").limit(1), "too-many-chosen", fault)
        return [(numbers[row.process], row.seq, row.id) for row in rows], None

    def _frontiers(
        self, ends: Sequence[LastEvent], knowledge: Knowledge, numbers: dict[str, int]
    ) -> tuple[pa.Table, set[str]]:
        processes = list(numbers)
        found: list[dict[str, Any]] = []
        for row in ends:
            vector = knowledge.of(numbers[row.process], row.seq)
            knows = None if vector is None else [(processes[at], seq) for at, seq in sorted(vector.items())]
            found.append({"trace": self._trace, "process": row.process, "last": row.id, "knows": knows})
        table = pa.Table.from_pylist(found, schema=arrow_schema(FRONTIERS))
        return table, {row["last"] for row in found if row["knows"] is None}


def _apart(
    chosen: Sequence[tuple[int, int, str]],
    knowledge: Knowledge,
    times: Mapping[str, Clock],
    complete: bool,
) -> list[tuple[str, str, str, str]]:
    """The pairs of chosen events that are concurrent: by their clocks, else, where the log is `complete`,
    because neither knows the other."""
    seen = [knowledge.of(process, seq) for process, seq, _ in chosen]
    found = []
    for (one, (p, i, a)), (other, (q, j, b)) in combinations(enumerate(chosen), 2):
        if p == q:
            continue
        by_clock = by_clocks(times.get(a), times.get(b))
        first, second = seen[one], seen[other]
        unknown = first is not None and second is not None and second.get(p, 0) < i and first.get(q, 0) < j
        if by_clock is Relation.CONCURRENT or (by_clock is None and complete and unknown):
            left, right = sorted((a, b))
            found.append((left, "||", right, "concurrent"))
    return found


MOST = 50_000
"""So many events may hold tokens: what each of them knew is kept."""

HOLDER = "process string, seq long, id string, value string"


@dataclass(frozen=True, slots=True)
class Holder:
    """An event that holds a token: number of its process, position, name, and the token."""

    process: int
    seq: int
    id: str
    value: str


def holders_of(
    output: Output, name: str, chains: Path, token: str, numbers: Mapping[str, int]
) -> list[Holder]:
    """The events, staged in order with `attributes`, that have a token. Raises `NotInSlices` for too many."""

    hold = only("holders", partial(holding, token=token))
    columns = ["process", "seq", "id", "twice", "attributes"]
    work = inputs.over(output.spark, chains, columns, hold)
    made = output.tables(f"holders-{name}", {"holders": HOLDER}, *work)
    found = made["holders"].limit(MOST + 1).collect()
    if len(found) > MOST:
        raise NotInSlices(f"more than {MOST:,} holders of tokens")
    return [Holder(numbers[row.process], row.seq, row.id, row.value) for row in found]


def holding(batches: Iterator[pa.RecordBatch], token: str) -> Iterator[pa.RecordBatch]:
    """The rows of `HOLDER` in events with the columns that are named above. No Spark here."""

    def held() -> Iterator[Row]:
        for batch in batches:
            good: Any = pc.and_(pc.is_valid(batch.column("attributes")), pc.invert(batch.column("twice")))
            for row in batch.filter(good).to_pylist():
                value = token_in(json.loads(row["attributes"]), token)
                if value is not None:
                    yield {**row, "value": value}

    return batches_of(held(), HOLDER)


def related(
    holders: list[Holder], knowledge: Knowledge, times: Mapping[str, Clock], prefix: str
) -> list[tuple[str, str, str, str]]:
    """The edges between consecutive holders of each token. Raises `NotInSlices` where two are not ordered."""
    groups: dict[str, list[tuple[int, Holder, Mapping[int, int]]]] = {}
    for holder in holders:
        known = knowledge.of(holder.process, holder.seq)
        if known is None:
            raise NotInSlices("holders of a token that knew of too many processes")
        groups.setdefault(holder.value, []).append((sum(known.values()), holder, known))
    edges = []
    for value, group in groups.items():
        group.sort(key=lambda each: each[0])  # who knows another knows more
        clocks = (times[holder.id] for _, holder, _ in group if holder.id in times)
        concurrent = any(by_clocks(*pair) is Relation.CONCURRENT for pair in pairwise(clocks))
        for (_, one, _), (_, other, knows) in pairwise(group):
            if concurrent or knows.get(one.process, 0) < one.seq:
                raise NotInSlices("holders of a token that nothing orders")
            edges.append((one.id, "<>", other.id, f"token {prefix}{value}"))
    return edges


LOOKED_AT = ("process", "seq", "id", "kind", "message", "file", "line", "twice", "before")
"""What is needed of events to see what is odd about them."""


OWN = ("own", "prior_own", "ownless")
"""What is needed of clocks beside."""


def irregularities(
    batches: Iterator[pa.RecordBatch], alone: Collection[str], wide: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """What is odd about events by themselves, given those in order with the columns of `LOOKED_AT`.

    `alone` are the processes of one event, and `wide` the last events of those whose frontiers are too wide.
    """
    return batches_of((row for batch in batches for row in _odd_of(batch, alone, wide)), ODD_ROWS)


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
            detail = f"there is an event {row['id']} already"
            yield {**place, "reported": "duplicate-event", "fault": detail, "lost": 1}
            continue
        own = row["own"] if clocks else None
        if own is not None and row["ownless"]:
            detail = f"{row['process']}: the clock has no entry for its own process"
            yield {**place, "reported": "own-missing", "fault": detail}
        known = (row["prior_own"] or 0) + 1 if clocks else 0
        if own is not None and own > known and (row["before"] is None or row["prior_own"] is not None):
            detail = f"{row['process']}: own clock values {missing(known - 1, own)} are missing"
            yield {**place, "reported": "clock-gap", "fault": detail}
        elif seq > first:
            detail = f"{row['process']}: events {missing(first - 1, seq)} are missing"
            yield {**place, "reported": "seq-gap", "fault": detail}
        meeting = row["kind"] in MESSAGE_KINDS
        if meeting and row["message"] is None:
            detail = f"{row['id']}: a {row['kind']} that does not name its message"
            yield {**place, "reported": "no-message", "fault": detail}
        if row["process"] in alone and own is None and not (meeting and row["message"] is not None):
            detail = f"{row['id']}: nothing relates it to another event"
            yield {**place, "reported": "isolated-event", "fault": detail}
        if row["id"] in wide:
            detail = f"{row['process']} knew of more than {WIDEST:,} processes"
            yield {**place, "reported": "wide-frontier", "fault": detail}
