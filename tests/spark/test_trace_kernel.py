"""Many plain traces at once are each what a single pass finds; all others are told to be such."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.extract.trace_kernel import TABLES, found, plain
from microcosm.spark.io.events import EVENT, arrow_schema, row_of
from microcosm.traces.covering import covering
from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.formats.jsonl import line_of
from tests.spark.test_giant import damaged
from tests.spark.test_scan import chained
from tests.traces.logs import read_text

KINDS_OF_RUN = st.sampled_from(("plain", "late", "damaged", "few"))
SCHEMA = arrow_schema(f"{EVENT}, at long, chosen boolean")


def rows(events: list[TraceEvent]) -> list[dict[str, Any]]:
    """Rows as Spark hands them over: sorted by trace, within it in any order."""
    made = [{**row_of(event), "at": at, "chosen": False} for at, event in enumerate(events)]
    return sorted(made, key=lambda row: str(row["trace"]))


def batches(events: list[TraceEvent], size: int) -> list[pa.RecordBatch]:
    made = rows(events)
    return [
        pa.RecordBatch.from_pylist(made[at : at + size], schema=SCHEMA) for at in range(0, len(made), size)
    ]


def expected(events: list[TraceEvent], several: bool) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    """Edges, frontiers and what is reported, by the reader of the own format and a single pass."""
    edges, frontiers, faults = Counter[Any](), Counter[Any](), Counter[Any]()
    for trace in {event.trace for event in events}:
        own = [event for event in events if event.trace == trace]
        read, report = read_text("".join(line_of(replace(event, line=0)) for event in own))
        full = several or any(event.trace != trace for event in read)
        whose = {event.full_id: event.trace for event in read}
        single = covering(read, report, full_names=full)
        edges.update((whose.get(edge[2], trace), *edge) for edge in single.edges)
        for each in single.frontiers:
            of = whose.get(each.last, trace)
            frontiers[of, each.process, each.last, tuple((each.knows or {}).items())] += 1
        for each in report.findings:
            faults[trace, each.kind, each.message, "log", own[(each.line or 0) - 1].line] += 1
    return edges, frontiers, faults


def told(
    events: list[TraceEvent], several: bool, size: int
) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    edges, frontiers, faults = Counter[Any](), Counter[Any](), Counter[Any]()
    for name, batch in found(iter(batches(events, size)), several, None, True):
        assert batch.schema.names == [column.split(" ")[0] for column in TABLES[name].split(", ")]
        for row in batch.to_pylist():
            if name == "edges":
                edges[tuple(row.values())] += 1
            elif name == "frontiers":
                frontiers[row["trace"], row["process"], row["last"], tuple(row["knows"])] += 1
            elif name == "odd":
                assert row["count"] == 1
                faults[row["trace"], row["reported"], row["fault"], row["file"], row["line"]] += 1
    return edges, frontiers, faults


@given(
    st.lists(st.tuples(st.integers(0, 2**32), KINDS_OF_RUN), max_size=5),
    st.integers(1, 400),
    st.booleans(),
    st.booleans(),
)
def test_what_is_found_is_that_of_a_single_pass(
    runs: list[tuple[int, str]], size: int, unnamed: bool, meant: bool
) -> None:
    events = []
    for number, (seed, kind) in enumerate(runs):
        random = Random(seed)
        run = chained(random, random.randrange(1, 7), 3 if kind == "few" else 60, kind == "late", 6)
        run = damaged(random, run) if kind == "damaged" else run
        trace = None if unnamed and not number else f"run{number}"
        receivers: dict[str | None, list[str]] = {}
        for event in run:
            if event.kind == "receive":
                receivers.setdefault(event.message, []).append(event.process)
        for event in run:
            to = event.to
            if meant and event.kind == "send" and random.random() < 0.9:
                to = tuple(receivers.get(event.message, ("p000", "q")))
            events.append(
                replace(event, to=tuple(dict.fromkeys(to)), trace=trace, file="log", line=len(events) + 1)
            )
    Random(size).shuffle(events)
    several = len(runs) > 1
    assert told(events, several, size) == expected(events, several)


def test_what_is_plain_is_not_left_to_the_code_for_one_trace() -> None:
    """With a message to several, one that is never received, a reception of what is not in the log."""
    events = chained(Random(1), 5, 200, False, 6)
    last = Counter(event.process for event in events)
    more = [
        TraceEvent("x", 1, "send", "to two", ("y", "z")),
        TraceEvent("y", 1, "receive", "to two"),
        TraceEvent("z", 1, "receive", "to two"),
        TraceEvent("z", 2, "receive", "from nowhere"),
        TraceEvent("z", 3, "send", "to nobody"),
        TraceEvent("alone", 1),
        TraceEvent("p000", last["p000"] + 1, "causal_send", "application"),
        TraceEvent("x", 2, "deliver", "application"),
    ]
    table = pa.Table.from_batches(batches([*events, *more], 1000))
    assert plain(table, False)[1] == []
    cycle = [TraceEvent("x", 1, "receive", "b"), TraceEvent("x", 2, "send", "a")]
    cycle += [TraceEvent("y", 1, "receive", "a"), TraceEvent("y", 2, "send", "b")]
    for odd in (
        cycle,
        [TraceEvent("x", 2)],
        [TraceEvent("x", 1), TraceEvent("x", 1)],
        [TraceEvent("x", 1, name="named")],
        [TraceEvent("x", 1, clock={"x": 1})],
        [TraceEvent("x", 1, stamp=5)],
        [TraceEvent("x", 1, "send", Counted("m"))],
        [TraceEvent("x", 1, "receive", "m"), TraceEvent("y", 1, "causal_send", "n")],
    ):
        table = pa.Table.from_batches(batches(odd, 1000))
        assert plain(table, False)[1] == [(0, len(odd))]
