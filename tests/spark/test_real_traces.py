"""Real logs, where there are any: Spark finds what this process finds, and what recorded clocks say."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from microcosm.spark.extract import job
from microcosm.spark.io.events import once_each
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Report
from tests.spark.conftest import table
from tests.traces.logs import REAL

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not REAL.is_dir(), reason=f"there are no real logs in {REAL}"),
]


def real_files() -> list[Path]:
    return sorted(path for path in REAL.glob("*/*") if path.is_file())


def test_every_file_row_by_row(spark: Any, tmp_path: Path) -> None:
    """All files in one job; each event in is an event out or reported."""
    named: dict[str, list[TraceEvent]] = defaultdict(list)
    counts: Counter[str] = Counter()
    lost = 0
    paths = real_files()
    for path in paths:
        report = Report()
        for event in formats.read([path], report=report, whole=False):  # as Spark does, by parts
            own = event if event.trace is not None else _of(event, path.stem)
            named[own.trace or ""].append(own)
        counts += report.counts
        lost += report.lost
    runs: dict[str, list[TraceEvent]] = defaultdict(list)
    for members in named.values():  # a name that stands in several files is that of several runs
        report = Report()
        for event, _ in once_each(members, report):
            runs[event.trace or ""].append(event)
        counts += report.counts
    edges, frontiers, links, names = [], [], [], set[str]()
    events_out = 0
    for trace, members in runs.items():
        report = Report()
        found = covering(members, report, full_names=True)
        edges += [
            dict(zip(("trace", "left", "relation", "right", "source"), (trace, *edge), strict=True))
            for edge in found.edges
        ]
        frontiers += [
            (trace, each.process, each.last, None if each.knows is None else sorted(each.knows.items()))
            for each in found.frontiers
        ]
        counts += report.counts
        events_out += found.events
        links += [(trace, link) for link in found.foreign]
        names |= {event.full_id for event in members}
    for trace, link in links:
        if link.left in names and link.last:
            edges.append(
                {"trace": trace, "left": link.left, "relation": "<", "right": link.right, "source": "link"}
            )
        else:
            counts["unknown-event"] += 1
    out = tmp_path / "out"
    folders = sorted({str(path.parent) for path in paths})
    found_there = job.extract(spark, folders, str(out))
    assert table(out, "edges") == sorted(edges, key=repr)
    rows = [
        (row["trace"], row["process"], row["last"], None if row["knows"] is None else sorted(row["knows"]))
        for row in table(out, "frontiers")
    ]
    assert sorted(rows, key=repr) == sorted(frontiers, key=repr)
    assert found_there.summary["reported"] == dict(counts)
    assert found_there.summary["events"] == events_out
    against_clocks(runs, edges)


def _of(event: TraceEvent, trace: str) -> TraceEvent:
    from dataclasses import replace

    return replace(event, trace=trace)


def against_clocks(runs: dict[str, list[TraceEvent]], edges: list[dict[str, Any]]) -> None:
    """Every ordered pair of every log in which each event has a clock and has ticked, by the clocks alone."""
    into: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge["relation"] == "<":
            into[edge["right"]].append(edge["left"])
    checked = 0
    for events in runs.values():
        owns = {(event.process, event.own) for event in events}
        if any(event.clock is None for event in events) or len(owns) < len(events) or not events:
            continue
        named = {event.full_id: event for event in events}
        order = sorted(named, key=lambda name: sum((named[name].clock or {}).values()))
        number = {name: at for at, name in enumerate(order)}
        past: dict[str, int] = {}
        for name in order:
            past[name] = 0
            for left in into[name]:
                past[name] |= past[left] | 1 << number[left]
        for name, event in named.items():
            seen = 0
            for other, at in number.items():
                entry = named[other]
                if other != name and (event.clock or {}).get(entry.process, 0) >= entry.own:
                    seen |= 1 << at
            assert past[name] == seen, name
            checked += seen.bit_count()
    assert checked > 100_000
