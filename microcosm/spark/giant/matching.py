"""The messages of a giant trace: its sendings and receptions gathered by message, and matched group by group.

Nearly every message has one sending and one reception; such groups are found column by column. All others
go through `microcosm.traces.options.Contents`, as they do in a trace that is read at once: what that says of
a message depends on the events of this message alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.io import events as rows
from microcosm.spark.io import input_splits
from microcosm.spark.io.odd import report_rows
from microcosm.spark.io.packets import gathered, joined, packed, spread, together, unpacked
from microcosm.traces.causality import exchange
from microcosm.traces.event import MESSAGE_KINDS, SENDS, TraceEvent
from microcosm.traces.execution import Execution
from microcosm.traces.report import Report

if TYPE_CHECKING:
    from pathlib import Path

    from microcosm.spark.io.staging import Output, Staged


ENDS = (
    "message string, process string, seq long, before long, kind string, to array<string>, id string, "
    "file string, line long"
)
"""What is needed of an event that sends or receives; `before` is the position before it in its process."""

PAIR = (
    "sender long, sent long, receiver long, received long, left string, right string, message string, "
    "near boolean"
)
"""A sending and its reception; `near`: they are consecutive in one process."""

MATCHED = f"{PAIR}, file string, line long, {rows.REPORTED}"


def matched(batches: Iterator[pa.RecordBatch], numbers: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """The pairs and irregularities of messages, given all ends of each; `numbers` are the processes'.

    Memory: the ends, which are put in the order of messages here, by numbers, where Spark would sort texts.
    """
    ends = [batch for batch in batches if batch.num_rows]
    if not ends:
        return
    table = joined(ends)
    code = table.column("message").dictionary_encode().indices.to_numpy()
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    yield from _groups(table.take(pa.array(order)), starts, pa.array(numbers, pa.string()))


def _groups(table: pa.RecordBatch, starts: Any, processes: pa.Array) -> Iterator[pa.RecordBatch]:
    ends = np.append(starts[1:], table.num_rows)
    kinds = pc.index_in(table.column("kind"), pa.array(MESSAGE_KINDS)).to_numpy(zero_copy_only=False)
    half = len(SENDS)
    pairs = np.flatnonzero(ends - starts == 2)
    two = starts[pairs]
    first, second = kinds[two], kinds[two + 1]
    sends, receives = np.minimum(first, second), np.maximum(first, second)
    sending = np.where(first < second, two, two + 1)
    reception = np.where(first < second, two + 1, two)
    plain = (receives - sends == half) & _meant(table, sending, reception)
    if plain.any():
        yield _pairs(table, sending[plain], reception[plain], processes)
    others = np.delete(np.arange(len(starts)), pairs[plain])
    numbers = {name: at for at, name in enumerate(processes.to_pylist())} if len(others) else {}
    odd: list[rows.Row] = []
    for begin, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
        odd += _exchanged(table.slice(begin, end - begin).to_pylist(), numbers)
    if odd:
        yield pa.RecordBatch.from_pylist(odd, schema=rows.arrow_schema(MATCHED))


def _meant(table: pa.RecordBatch, sending: Any, reception: Any) -> Any:
    """Whether the sending was to nobody in particular, or to the receiver alone."""
    to = table.column("to").take(sending)
    count = pc.fill_null(pc.list_value_length(to), 0).to_numpy(zero_copy_only=False)
    meant = count == 0
    [one] = np.nonzero(count == 1)
    if len(one):
        receiver = table.column("process").take(reception[one])
        meant[one] = pc.equal(pc.list_flatten(to.take(one)), receiver).to_numpy(zero_copy_only=False)
    return meant


def _pairs(table: pa.RecordBatch, sending: Any, reception: Any, processes: pa.Array) -> pa.RecordBatch:
    def number(at: Any) -> pa.Array:
        return pc.index_in(table.column("process").take(at), processes).cast(pa.int64())

    def of(name: str, at: Any) -> pa.Array:
        return table.column(name).take(at)

    sender, sent, receiver, received = (
        number(sending),
        of("seq", sending),
        number(reception),
        of("seq", reception),
    )
    at_once = pc.fill_null(pc.equal(of("before", reception), sent), False)  # a first event has none before
    near = pc.and_(pc.equal(sender, receiver), at_once)
    columns = [sender, sent, receiver, received, of("id", sending), of("id", reception)]
    columns += [of("message", reception), near]
    schema = rows.arrow_schema(MATCHED)
    columns += [pa.nulls(len(sending), kind) for kind in schema.types[len(columns) :]]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _exchanged(members: Sequence[rows.Row], numbers: Mapping[str, int]) -> Iterator[rows.Row]:
    """The pairs and irregularities of one message, by the code for traces that are read at once."""
    members = sorted(members, key=lambda row: (row["process"], row["seq"]))
    events = [
        TraceEvent(
            row["process"],
            row["seq"],
            row["kind"],
            row["message"],
            tuple(row["to"] or ()),
            name=row["id"],
            file=row["file"],
            line=row["line"],
        )
        for row in members
    ]
    report = Report()
    found = exchange(Execution(None, events, {}, frozenset(), [], {}, []), report)
    for s, r in found.pairs:
        sending, reception = members[s], members[r]
        same = sending["process"] == reception["process"]
        yield {
            "sender": numbers[sending["process"]],
            "sent": sending["seq"],
            "receiver": numbers[reception["process"]],
            "received": reception["seq"],
            "left": sending["id"],
            "right": reception["id"],
            "message": reception["message"],
            "near": same and reception["before"] == sending["seq"],
        }
    yield from report_rows(report)


TOGETHER = 500_000
"""So many events, more or less, have their messages matched by one task."""


def sent(batches: Iterator[pa.RecordBatch], parts: int) -> Iterator[pa.RecordBatch]:
    """Packets of the ends of messages, by message, of events that are in order."""
    for batch in together(batches):
        meets = pc.is_in(batch.column("kind"), pa.array(MESSAGE_KINDS))
        for other in (pc.is_valid(batch.column("message")), pc.invert(batch.column("twice"))):
            meets = pc.and_(meets, other)
        ends = batch.select(rows.arrow_names(ENDS)).filter(meets)
        if ends.num_rows:
            yield packed(ends, spread(ends.column("message"), parts))


def exchanged(output: Output, name: str, chains: Path, events: int, numbers: Mapping[str, int]) -> Staged:
    """`pairs`, with the columns of `PAIR`, and `odd`, of the messages of events that are staged in order.

    `events` is how many there are, `numbers` are those of processes. Cost: a shuffle of the ends of messages.
    """
    parts = max(1, -(-events // TOGETHER))
    columns = [*rows.arrow_names(ENDS), "twice"]
    work = input_splits.over(output.spark, chains, columns, partial(sent, parts=parts))
    pair, odd = rows.arrow_names(PAIR), rows.arrow_names(rows.ODD_ROWS)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for batch in matched(unpacked(batches), numbers):
            good: Any = pc.is_valid(batch.column("left"))
            for kind, columns, which in (("pairs", pair, good), ("odd", odd, pc.invert(good))):
                some = batch.filter(which).select(columns)
                if some.num_rows:
                    yield kind, some

    tables = {"pairs": PAIR, "odd": rows.ODD_ROWS}
    return output.tables(f"pairs-{name}", tables, *gathered(work, parts, match))
