"""A trace in slices is the same trace at once, row by row, on Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from microcosm.spark.extract import job, routes
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.giant import job as giant
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from tests.spark.conftest import table
from tests.spark.test_scan import chained
from tests.traces.closure import knowledge

pytestmark = pytest.mark.spark


def damaged(random: Random, events: list[TraceEvent]) -> list[TraceEvent]:
    """Events lost and doubled, messages of the wrong name, some without one, and a process of one event."""
    made: list[TraceEvent] = []
    messages = [event.message for event in events if event.message]
    for event in events:
        chance = random.random()
        if chance < 0.03:
            continue
        if chance < 0.06:
            event = replace(event, message=random.choice(messages))  # noqa: PLW2901
        elif chance < 0.08:
            event = replace(event, message=None)  # noqa: PLW2901
        elif chance < 0.1 and event.kind == "send":
            event = replace(event, to=(f"p{random.randrange(5):03}", "p000"))  # noqa: PLW2901
        elif chance < 0.12:
            made.append(replace(event, attributes={"again": True}))
        made.append(event)
    return [
        *made,
        TraceEvent("lonely", 1),
        TraceEvent("self", 1, "send", "mine"),
        TraceEvent("self", 2, "receive", "mine"),
    ]


def with_clocks(events: list[TraceEvent], ticking: bool) -> list[TraceEvent]:
    """Events in the order in which they happened, with the vector times of a run."""
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    made = []
    for event in events:
        clock = clocks.setdefault(event.process, {})
        if event.kind == "receive" and event.message is not None:
            for process, count in sent[event.message].items():
                clock[process] = max(clock.get(process, 0), count)
        if ticking or event.kind == "send":
            clock[event.process] = clock.get(event.process, 0) + 1
        if event.message is not None:
            sent.setdefault(event.message, dict(clock))
        made.append(replace(event, clock=dict(clock)))
    return made


def both(spark: Any, log: Path, out: Path, asked: ExtractOptions) -> None:
    """Compare what the job finds in slices with what is found in this process, at once."""
    found = job.extract(spark, [str(log)], str(out), asked)
    report = Report()
    events = list(formats.read([log], report=report))
    chosen = [(event.process, event.seq) for event in events if asked.concurrent and event.seq % 40 == 1]
    single = covering(events, report, chosen=chosen, complete=not report.lost)
    names = ("trace", "left", "relation", "right", "source")
    expected = [dict(zip(names, (None, *edge), strict=True)) for edge in single.edges]
    assert table(out, "edges") == sorted(expected, key=repr)
    frontiers = [
        {
            "trace": None,
            "process": each.process,
            "last": each.last,
            "knows": sorted((each.knows or {}).items()),
        }
        for each in single.frontiers
    ]
    rows = [{**row, "knows": sorted(row["knows"])} for row in table(out, "frontiers")]
    assert sorted(rows, key=repr) == sorted(frontiers, key=repr)
    places = {row["id"]: (row["process"], row["seq"]) for row in table(out, "events")}
    edges = [(row["left"], row["right"]) for row in table(out, "edges") if row["relation"] == "<"]
    assert {row["process"]: dict(row["knows"]) for row in rows} == knowledge(edges, places)
    assert Counter(found.summary["reported"]) == report.counts
    assert len(table(out, "events")) == single.events == found.summary["events"]
    assert any(stage.startswith("bases") for stage in found.stages) is (asked.concurrent is None)
    assert found.summary["whole"] == ([] if asked.concurrent is None else [""])


@pytest.mark.parametrize("moves", [0, 1 << 20])
def test_a_damaged_log_in_slices(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    monkeypatch.setattr(giant, "_MOVES", moves)  # what has to move is put together by Spark, or here
    random = Random(2)
    events = damaged(random, chained(random, 6, 1500, True, 6))
    names = {(e.process, e.seq): f"event {at}" for at, e in enumerate(events) if at % 7 == 0}
    events = [replace(e, name=names.get((e.process, e.seq))) for e in events]
    log = tmp_path / "log.jsonl"
    # A process that is at its first position again with another event begins another execution.
    first = {e.process: e for e in sorted(events, key=lambda e: -e.seq)}
    rest = [e for e in events if e.seq > first[e.process].seq]
    shuffled = [*first.values(), *random.sample(rest, len(rest))]
    log.write_text("".join(map(line_of, shuffled)), encoding="utf-8")
    both(spark, log, tmp_path / "out", ExtractOptions(slices=5))


def test_concurrency_is_told_of_chosen_events_only(spark: Any, tmp_path: Path) -> None:
    events = chained(Random(3), 5, 1000, False, 4)
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, events)), encoding="utf-8")
    both(spark, log, tmp_path / "out", ExtractOptions(slices=3, concurrent="seq % 40 = 1"))
    pairs = [row for row in table(tmp_path / "out", "edges") if row["relation"] == "||"]
    assert 0 < len(pairs) <= 5 * 5 * 4 / 2 * 6**2
    log.write_text("".join(map(line_of, [*events, replace(events[-1], attributes={"again": True})])), "utf-8")
    both(spark, log, tmp_path / "lost", ExtractOptions(slices=3, concurrent="seq % 40 = 1"))
    assert not [row for row in table(tmp_path / "lost", "edges") if row["relation"] == "||"]


def without_prefixes(odd: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `reported` whose faults do not repeat the name of the trace."""
    rows = [{**row, "fault": (row["fault"] or "").replace(f"{row['trace']}/", "")} for row in odd]
    return sorted(rows, key=repr)


def test_several_giant_traces_in_one_log(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In slices or whole, what is found is the same: two in slices, and one with clocks, which is not."""
    events = [
        *(replace(e, trace="a") for e in chained(Random(1), 4, 300, False, 6)),
        *(replace(e, trace="b") for e in chained(Random(2), 4, 300, True, 6)),
        *(replace(e, trace="c") for e in with_clocks(chained(Random(3), 4, 300, False, 6), True)),
        TraceEvent("p000", 1, trace="small"),
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, events[::2] + events[1::2])), encoding="utf-8")
    whole = job.extract(spark, [str(log)], str(tmp_path / "whole"))
    monkeypatch.setattr(job, "worker_memory", lambda _: 200 * routes.PLAIN)
    found = job.extract(spark, [str(log)], str(tmp_path / "out"))
    assert {"bases-0", "bases-1"} < found.stages.keys()
    assert found.summary == whole.summary | {"whole": ["c"]}
    for name in job.TABLES:
        sliced, at_once = (table(tmp_path / each, name) for each in ("out", "whole"))
        if name == "reported":  # in slices a fault names its events in full
            sliced, at_once = without_prefixes(sliced), without_prefixes(at_once)
        assert sliced == at_once, name


def test_what_cannot_be_done_in_slices_is_said(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log.jsonl"
    refused: dict[str, list[TraceEvent]] = {
        "lamport": [TraceEvent("p", 1, stamp=1), TraceEvent("p", 2)],
        "earliest": [TraceEvent("p", 1, stamp=(1.0, 2.0))],
        "clock": [TraceEvent("p", 1, clock={"p": 1})],
        "names of several events": [TraceEvent("p", 1, name="x"), TraceEvent("q", 1, name="x")],
    }
    lines = [line_of(replace(e, trace=reason)) for reason, events in refused.items() for e in events]
    log.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(job, "worker_memory", lambda _: routes.PLAIN)
    with caplog.at_level("INFO", "microcosm.spark"):
        found = job.extract(spark, [str(log)], str(tmp_path / "out"), ExtractOptions(slices=2))
        asked = ExtractOptions(slices=2, token="k", concurrent="seq = 1")
        held = job.extract(spark, [str(log)], str(tmp_path / "held"), asked)
    assert sorted(found.summary["whole"]) == sorted(held.summary["whole"]) == sorted(refused)
    for reason, events in refused.items():
        said = f"trace {reason}: {len(events)} events go whole to one worker, which needs some 1 MB"
        others = "token, concurrent" if "names" in reason else f"{reason}, token, concurrent"
        assert {f"{said}, because of: {why}" for why in (reason, others)} <= {*caplog.messages}
