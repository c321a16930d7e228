"""One giant trace: its edges and frontiers without ever having it in one place.

Events are put into the order of their processes and messages matched (`giant.chains`); what remains are pairs
of four numbers. These are cut into slices that are consistent cuts (`giant.cuts`), each slice is scanned by
a task of its own whose memory depends on the slice alone (`giant.slices`), and the few vectors that come out
are put together here. The number of passes does not depend on the size of the trace. Traces in which more
orders than processes and messages are done elsewhere (`extract.routes`).

What is found is what `microcosm.traces.covering` finds of the same events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import MicrocosmError
from microcosm.spark.giant.chains import LastEvent, exchanged, put_in_order, read_ends
from microcosm.spark.giant.cuts import Cutting
from microcosm.spark.giant.slices import Knowledge, scanned_by_tasks
from microcosm.spark.io import inputs
from microcosm.spark.io.events import (
    FRONTIERS,
    ODD_ROWS,
    arrow_schema,
    batches_of,
    odd_rows,
)
from microcosm.spark.io.sink import only
from microcosm.traces.covering import WIDEST
from microcosm.traces.event import MESSAGE_KINDS
from microcosm.traces.execution import missing

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from microcosm.spark.io.staging import Output


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


def found_in_slices(
    output: Output, name: str, trace: tuple[str | None, int], several: bool, slices: int | None
) -> Found:
    """Everything of a trace, given its name and number of staged events; what takes long is staged.

    `name` tells its stages from those of other traces. Where there are `several` traces, its name stands
    before those of processes and messages. It is done in so many `slices` (None: by size). Raises
    `NotInSlices`.
    """
    from pyspark.sql import functions as F

    in_order = put_in_order(output, f"chains-{name}", trace, several)
    chains, folder = in_order["chains"], output.staged(f"chains-{name}")
    places, last = folder / "chains", read_ends(folder / "ends")
    if any(row.again for row in last):
        raise NotInSlices("a process that may begin again")
    numbers = {row.process: number for number, row in enumerate(last)}
    pairs = exchanged(output, name, places, sum(row.events for row in last), numbers)["pairs"]
    met = output.staged(f"pairs-{name}")
    odd = [met / "odd"]
    cuts = Cutting(output, name, places, met / "pairs", numbers).cuts(slices)
    knowledge, cyclic = scanned_by_tasks(output, name, met / "pairs", cuts)
    believed = pairs.where("not near")
    if cyclic:
        gone = output.spark.createDataFrame(cyclic, "receiver long, received long")
        on = ["receiver", "received"]
        where = chains.where("not twice").select(F.col("id").alias("right"), "file", "line")
        told_of = pairs.select("left", "right", "message", *on).join(gone, on, "left_semi")
        detail = (F.lit(": receives "), "message", F.lit(" before "), "left", F.lit(" sends it"))
        circular = odd_rows(told_of.join(where, "right"), "message-cycle", F.concat("right", *detail))
        odd.append(output.stage(f"cycles-{name}", lambda: circular))
        believed = believed.join(gone, on, "left_anti")
    frontiers = _frontiers(trace[0], last, knowledge)
    wide = frontiers.filter(pc.is_null(frontiers.column("knows"))).column("last").to_pylist()
    alone = [row.process for row in last if row.events == 1]
    look = only("odd", partial(irregularities, alone=alone, wide=wide))
    looking = inputs.over(output.spark, places, LOOKED_AT, look)
    output.tables(f"looked-{name}", {"odd": ODD_ROWS}, *looking)
    odd.append(output.staged(f"looked-{name}") / "odd")
    prefix = f"{trace[0]}/" if several and trace[0] is not None else ""
    edges = _edges(chains, believed, prefix)
    return Found(edges, frontiers, odd, chains.where("twice").select("at"))


def _edges(chains: DataFrame, pairs: DataFrame, prefix: str) -> DataFrame:
    from pyspark.sql import functions as F

    def source(what: str, name: str) -> Column:
        return F.concat(F.lit(f"{what} {prefix}"), name).alias("source")

    before = F.lit("<").alias("relation")
    follows = chains.where("prior is not null and not twice")
    edges = follows.select(
        F.col("prior").alias("left"), before, F.col("id").alias("right"), source("process", "process")
    )
    return edges.unionByName(pairs.select("left", before, "right", source("message", "message")))


def _frontiers(trace: str | None, ends: Sequence[LastEvent], knowledge: Knowledge) -> pa.Table:
    found: list[dict[str, Any]] = []
    for number, row in enumerate(ends):
        vector = knowledge.of(number, row.seq)
        knows = None if vector is None else [(ends[at].process, seq) for at, seq in sorted(vector.items())]
        found.append({"trace": trace, "process": row.process, "last": row.id, "knows": knows})
    return pa.Table.from_pylist(found, schema=arrow_schema(FRONTIERS))


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
