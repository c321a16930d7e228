"""The holders of tokens in a giant trace: related, one to the next, where the trace orders them all.

Then it does not matter in which order of the events one goes through them. Holders that nothing orders would
be related in an order that only the whole trace tells: it is then read at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from microcosm.givens.clock import Clock
from microcosm.givens.relation import Relation
from microcosm.spark.giant.agreeing import NotInSlices
from microcosm.spark.io import tasks
from microcosm.spark.io.events import arrow_schema
from microcosm.traces.causality import by_clocks, token_in

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from microcosm.spark.giant.scan import Knowledge
    from microcosm.spark.io.staging import Output

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
    spark: SparkSession, output: Output, name: str, chains: Path, token: str, numbers: Mapping[str, int]
) -> list[Holder]:
    """The events, staged in order with `attributes`, that have a token. Raises `NotInSlices` for too many."""

    def hold(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        return (("holders", each) for each in holding(batches, token))

    columns = ["process", "seq", "id", "twice", "attributes"]
    made = output.tables(
        spark, f"holders-{name}", {"holders": HOLDER}, *tasks.over(spark, chains, columns, hold)
    )
    found = made["holders"].limit(MOST + 1).collect()
    if len(found) > MOST:
        raise NotInSlices(f"more than {MOST:,} holders of tokens")
    return [Holder(numbers[row.process], row.seq, row.id, row.value) for row in found]


def holding(batches: Iterator[pa.RecordBatch], token: str) -> Iterator[pa.RecordBatch]:
    """The rows of `HOLDER` in events with the columns that are named above. No Spark here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        good: Any = pc.and_(pc.is_valid(batch.column("attributes")), pc.invert(batch.column("twice")))
        made = []
        for row in batch.filter(good).to_pylist():
            value = token_in(json.loads(row["attributes"]), token)
            if value is not None:
                made.append({**{each: row[each] for each in ("process", "seq", "id")}, "value": value})
        if made:
            yield pa.RecordBatch.from_pylist(made, schema=arrow_schema(HOLDER))


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
        for (_, one, _), (_, other, knows) in pairwise(group):
            apart = by_clocks(times.get(one.id), times.get(other.id)) is Relation.CONCURRENT
            if apart or knows.get(one.process, 0) < one.seq:
                raise NotInSlices("holders of a token that nothing orders")
            edges.append((one.id, "<>", other.id, f"token {prefix}{value}"))
    return edges
