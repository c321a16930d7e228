"""Clocks looked at one by one say what all of them together say, or that they cannot be. No Spark here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.giant.clocks import CLOCKED, MARK, covered, judged, marked
from microcosm.spark.io.events import arrow_schema
from microcosm.traces.clocks import Clocks
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import executions
from microcosm.traces.report import Report
from tests.traces.runs import DROPPED, RUNS, Run, kept_of

EVENT = (
    "process string, seq long, id string, own long, clock map<string,long>, earlier_seq long, "
    "earlier_clock map<string,long>, twice boolean"
)


def rows(events: list[TraceEvent]) -> pa.RecordBatch:
    """What Spark makes of the events: each beside the one with a clock before it."""
    made: list[dict[str, Any]] = []
    last: dict[str, TraceEvent] = {}
    for event in sorted(events, key=lambda event: (event.process, event.seq)):
        earlier = last.get(event.process)
        row: dict[str, Any] = {"process": event.process, "seq": event.seq, "id": event.id, "twice": False}
        if event.clock is not None:
            row |= {"own": event.own, "clock": list(event.clock.items())}
            last[event.process] = event
        if earlier is not None and earlier.clock is not None:
            row |= {"earlier_seq": earlier.seq, "earlier_clock": list(earlier.clock.items())}
        made.append(row)
    return pa.RecordBatch.from_pylist(made, schema=arrow_schema(EVENT))


def asked(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each clock beside the last event of a process that it has seen, where its process had not seen that."""
    found = []
    for mark in marks:
        if mark["asker"] is None:
            continue
        place = (mark["value"], mark["class"])
        before = [
            other
            for other in marks
            if other["asker"] is None
            and other["process"] == mark["process"]
            and (other["value"], other["class"]) < place
        ]
        if before:
            seen = max(before, key=lambda other: (other["value"], other["class"], other["seq"]))
            if seen["value"] > mark["last"] or (seen["value"] == mark["last"] and not seen["ticked"]):
                found.append({**mark, "seen": seen})
    return sorted(found, key=lambda row: (row["asker"], row["asked_at"]))


def one_by_one(events: list[TraceEvent]) -> set[tuple[str, str]] | None:
    """The pairs of an event and one whose clock has newly seen it; None where clocks do not agree."""
    batch = rows(events)
    assert set(CLOCKED) < set(batch.schema.names)
    told = [row for each in judged(iter([batch])) for row in each.to_pylist()]
    if any(row["refused"] for row in told):
        return None
    numbers = {process: at for at, process in enumerate(sorted({event.process for event in events}))}
    repeating = frozenset(row["process"] for row in told)
    marks = [row for each in marked(iter([batch]), repeating, numbers) for row in each.to_pylist()]
    asking = asked(marks)
    if not asking:
        return set()
    batch = pa.RecordBatch.from_pylist(asking, schema=_asking())
    found = [row for each in covered(iter([batch]), numbers) for row in each.to_pylist()]
    if any(row["refused"] for row in found):
        return None
    return {(row["left"], row["right"]) for row in found}


def _asking() -> pa.Schema:
    mark = arrow_schema(MARK)
    seen = pa.struct([mark.field(name) for name in ("seq", "id", "value", "ticked", "clock")])
    return mark.append(pa.field("seen", seen))


def together(events: list[TraceEvent]) -> tuple[set[tuple[str, str]], Counter[str]]:
    """The same by the code that has the whole trace, and what it finds odd about clocks."""
    report = Report()
    [run] = executions(events, report)
    clocks = Clocks(run, report)
    pairs = {
        (run.events[source].id, run.events[event].id)
        for event, seen in clocks.covers.items()
        for source in seen
    }
    return pairs, report.counts


DOUBTS = {"seq-against-clock", "clock-not-monotone", "clock-contradiction"}


@given(RUNS, DROPPED, st.sets(st.integers(0, 23), max_size=6))
def test_right_clocks_are_never_refused(run: Run, dropped: set[int], bare: set[int]) -> None:
    """Whatever is lost, and though some events have no clock."""
    events = [
        replace(run.events[at], clock=None if at in bare else run.events[at].clock)
        for at in kept_of(run, dropped)
    ]
    if events:
        expected, counts = together(events)
        assert DOUBTS.isdisjoint(counts)
        assert one_by_one(events) == expected


@given(
    RUNS,
    st.dictionaries(
        st.integers(0, 23), st.dictionaries(st.sampled_from("pqrs"), st.integers(0, 6)), max_size=3
    ),
)
def test_wrong_clocks_are_refused_or_make_no_difference(run: Run, wrong: dict[int, dict[str, int]]) -> None:
    events = [replace(event, clock=wrong.get(at, event.clock)) for at, event in enumerate(run.events)]
    expected, counts = together(events)
    found = one_by_one(events)
    if not DOUBTS.isdisjoint(counts):
        assert found is None
    elif found is not None:
        assert found == expected
