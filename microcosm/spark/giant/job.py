"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes and messages matched (`giant.chains`); what remains are pairs
of four numbers. These are cut into slices that are consistent cuts (`giant.cuts`), each slice is scanned by
a task of its own whose memory depends on the slice alone (`giant.scan`), and the few vectors that come out
are put together here. The number of passes does not depend on the size of the trace. Traces in which more
orders than processes and messages are done elsewhere (`extract.routes`).

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import MicrocosmError
from microcosm.spark.giant.chains import LastEvent, exchanged, put_in_order, read_ends
from microcosm.spark.giant.cuts import Cutting
from microcosm.spark.giant.scan import Knowledge, scanned_by_tasks
from microcosm.spark.io import inputs
from microcosm.spark.io.events import (
    FRONTIERS,
    ODD_ROWS,
    arrow_schema,
    batches_of,
    irregularity_counts,
    odd_rows,
)
from microcosm.spark.io.sink import only
from microcosm.spark.io.staging import Output
from microcosm.traces.covering import MOST_CHOSEN, WIDEST
from microcosm.traces.event import MESSAGE_KINDS
from microcosm.traces.execution import missing
from microcosm.traces.report import HOLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class NotInSlices(MicrocosmError):
    """What stands against doing a trace in slices, found when it was begun: it goes whole to a worker."""


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
    tells its stages from those of other traces. It is done in so many `_slices` (None: by size). The log is
    `_complete` where nothing of it is missing.
    """

    _output: Output
    _marked: DataFrame | None
    _name: str
    _trace: str | None
    _several: bool
    _events: int
    _slices: int | None
    _complete: bool

    @property
    def _prefix(self) -> str:
        return f"{self._trace}/" if self._several and self._trace is not None else ""

    def find(self) -> Found:
        """Everything of the trace; what takes long is staged. Raises `NotInSlices`."""
        from pyspark.sql import functions as F

        output, name = self._output, self._name
        places, chains, last = self._in_order()
        if any(row.again for row in last):
            raise NotInSlices("a process that may begin again")
        numbers = {row.process: number for number, row in enumerate(last)}
        met = exchanged(output, name, places, sum(row.events for row in last), numbers)
        pairs, folder = met["pairs"], output.staged(f"pairs-{name}") / "pairs"
        odd = [output.staged(f"pairs-{name}") / "odd"]
        chosen, too_many = self._chosen(chains, numbers)
        cuts = Cutting(output, name, places, folder, numbers).cuts(self._slices)
        asked = sorted({(process, seq) for process, seq, _ in chosen})
        knowledge, cyclic = scanned_by_tasks(output, name, folder, cuts, asked)
        believed = pairs.where("not near")
        if cyclic:
            gone = output.spark.createDataFrame(cyclic, "receiver long, received long")
            on = ["receiver", "received"]
            where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
            told_of = pairs.select("left", "right", "message", *on).join(gone, on, "left_semi")
            detail = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
            circular = odd_rows(told_of.join(where, "right"), "message-cycle", F.concat("right", *detail))
            odd.append(self._stage("cycles", lambda: circular))
            believed = believed.join(gone, on, "left_anti")
        if too_many is not None:
            odd.append(self._stage("chosen", lambda: too_many))
        frontiers, wide = self._frontiers(last, knowledge, numbers)
        alone = {row.process for row in last if row.events == 1}
        looked = self._looked_at("looked", alone, wide)
        concurrent: list[tuple[str, str, str, str]] = []
        if chosen and self._complete:
            kinds, _, lost = irregularity_counts([*odd, looked])
            concurrent = _apart(chosen, knowledge) if not lost and HOLES.isdisjoint(kinds) else []
            named = {each for left, _, right, _ in concurrent for each in (left, right)}
            found = {last[number].process for number, _, event in chosen if event in named}
            if alone & found:
                looked = self._looked_at("looked-again", alone - found, wide)
        edges = self._edges(chains, believed, concurrent)
        return Found(edges, frontiers, [*odd, looked], chains.where("twice").select("at"))

    def _in_order(self) -> tuple[Path, DataFrame, list[LastEvent]]:
        """The events in the order of their processes: where they are staged; and the ends of these."""
        output, stage = self._output, f"chains-{self._name}"
        made = put_in_order(output, stage, self._marked, (self._trace, self._events), self._several)
        folder = output.staged(stage)
        return folder / "chains", made["chains"], read_ends(folder / "ends")

    def _looked_at(self, stage: str, alone: set[str], wide: set[str]) -> Path:
        """Where it is staged what is odd about events by themselves."""
        look = only("odd", partial(irregularities, alone=alone, wide=wide))
        places = self._output.staged(f"chains-{self._name}") / "chains"
        name = f"{stage}-{self._name}"
        looking = inputs.over(self._output.spark, places, LOOKED_AT, look)
        self._output.tables(name, {"odd": ODD_ROWS}, *looking)
        return self._output.staged(name) / "odd"

    def _edges(
        self,
        chains: DataFrame,
        pairs: DataFrame,
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


def _apart(chosen: Sequence[tuple[int, int, str]], knowledge: Knowledge) -> list[tuple[str, str, str, str]]:
    """The pairs of chosen events of a complete log that are concurrent, because neither knows the other."""
    seen = [knowledge.of(process, seq) for process, seq, _ in chosen]
    found = []
    for (one, (p, i, a)), (other, (q, j, b)) in combinations(enumerate(chosen), 2):
        if p == q:
            continue
        first, second = seen[one], seen[other]
        if first is not None and second is not None and second.get(p, 0) < i and first.get(q, 0) < j:
            left, right = sorted((a, b))
            found.append((left, "||", right, "concurrent"))
    return found


LOOKED_AT = ("process", "seq", "id", "kind", "message", "file", "line", "twice", "before")
"""What is needed of events to see what is odd about them."""


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
        if seq > first:
            detail = f"{row['process']}: events {missing(first - 1, seq)} are missing"
            yield {**place, "reported": "seq-gap", "fault": detail}
        meeting = row["kind"] in MESSAGE_KINDS
        if meeting and row["message"] is None:
            detail = f"{row['id']}: a {row['kind']} that does not name its message"
            yield {**place, "reported": "no-message", "fault": detail}
        if row["process"] in alone and not (meeting and row["message"] is not None):
            detail = f"{row['id']}: nothing relates it to another event"
            yield {**place, "reported": "isolated-event", "fault": detail}
        if row["id"] in wide:
            detail = f"{row['process']} knew of more than {WIDEST:,} processes"
            yield {**place, "reported": "wide-frontier", "fault": detail}
