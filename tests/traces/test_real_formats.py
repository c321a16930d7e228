"""Real logs of every format, where a collection of them is at hand: what is read is what is known of them."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import pytest

from microcosm.givens.givens import Givens
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Extraction, Report
from tests.traces.logs import REAL

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no collection of real logs beside the checkout")


def known() -> dict[str, dict[str, Any]]:
    if not REAL.is_dir():
        return {}
    with (REAL / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: json.loads(row["counts"]) for row in csv.DictReader(file, delimiter="\t")}


KNOWN = known()


def logs(*folders: str) -> list[str]:
    return [log for log in KNOWN if log.split("/")[0] in folders]


@cache
def read(log: str) -> tuple[list[TraceEvent], Extraction]:
    report = Report()
    events = list(formats.read([REAL / log], report=report))
    assert report.lost == 0
    return events, extract(events, with_clocks=False, report=report)


def ordered(givens: Givens) -> int:
    """How many pairs the stated orders entail."""
    after: dict[str, list[str]] = defaultdict(list)
    waiting: dict[str, int] = dict.fromkeys(givens.named(), 0)
    for fact in givens.external.values():
        after[fact.left].append(fact.right)
        waiting[fact.right] += 1
    bit = {event: 1 << at for at, event in enumerate(waiting)}
    past = dict.fromkeys(waiting, 0)
    order = [event for event, count in waiting.items() if not count]
    for event in order:
        for later in after[event]:
            past[later] |= past[event] | bit[event]
            waiting[later] -= 1
            if not waiting[later]:
                order.append(later)
    assert len(order) == len(waiting)
    return sum(row.bit_count() for row in past.values())


@pytest.mark.parametrize("log", logs("otlp_json", "jaeger_json", "zipkin_v2", "nezha_csv"))
def test_each_span_is_two_events(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    assert found.events == len(events) == 2 * counts["spans"]
    assert len({event.trace for event in events}) == counts.get("traces", 1)
    services = {event.attributes.get("service") for event in events}
    assert len(services) == counts.get("services", counts.get("pods", len(services)))
    links = len({name for event in events if event.seq == 2 for name in event.after})
    assert found.reported.get("unknown-event", 0) == counts.get("orphans", 0) + links
    if not links:
        roots = sum(event.seq == 1 and not event.after for event in events)
        assert found.correspondences == 2 * counts["spans"] - roots - counts.get("orphans", 0)


@pytest.mark.parametrize("log", logs("git_dag"))
def test_commits_are_ordered_exactly(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    assert len(events) == counts["commits"]
    assert sum(len(event.after) > 1 for event in events) == counts["merges"]
    assert len({event.attributes["author"] for event in events}) == counts["authors"]
    pairs = len(events) * (len(events) - 1) // 2
    assert (ordered(found.givens), pairs - ordered(found.givens)) == (
        counts["hb_pairs"],
        counts["conc_pairs"],
    )
    reported = Counter[str]()
    report = Report()
    list(formats.read([REAL / log], report=report))
    reported.update(report.counts)
    assert reported["clock-inversion"] == counts["clock_inversions"]


@pytest.mark.parametrize("log", logs("crdt_editing"))
def test_edits_are_read_without_their_closure(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    assert len(events) == counts["txns"]
    assert sum(len(event.after) > 1 for event in events) == counts["merges"]
    assert len({event.attributes["agent"] for event in events}) == counts["agents"]
    assert found.correspondences == sum(len(event.after) for event in events)


@pytest.mark.parametrize("log", logs("tla_ndjson"))
def test_messages_and_processes_alone_give_the_order_of_the_clocks(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    assert (len(events), found.processes) == (counts["events"], counts["procs"])
    assert ordered(found.givens) == counts["hb_pairs"]
    kinds = Counter(event.label for event in events)
    assert kinds == counts["kinds"]


@pytest.mark.parametrize("log", logs("csight_peterson"))
def test_no_order_of_peterson_contradicts_the_clocks(log: str) -> None:
    """Equal clocks are counted twice there; and what a process did without a tick nobody can have seen."""
    events, found = read(log)
    counts = KNOWN[log]
    assert (len(events), found.processes) == (counts["events"], counts["procs"])
    assert found.messages == counts["kinds"]["send"]
    assert not found.reported
    by_id = {event.id: event for event in events}
    for fact in found.givens.external.values():
        earlier, later = by_id[fact.left].clock or {}, by_id[fact.right].clock or {}
        assert all(later[process] >= value for process, value in earlier.items())
    assert ordered(found.givens) <= counts["hb_pairs"] - counts["anomalies"]["dup_own"]


@pytest.mark.parametrize("log", logs("etcd_raft"))
def test_messages_of_raft_are_matched_by_content(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    kinds = Counter(event.kind for event in events)
    assert (len(events), kinds["send"], kinds["receive"]) == (
        counts["events"],
        counts["sends"],
        counts["recvs"],
    )
    report = Report()
    list(formats.read([REAL / log], report=report))
    assert report.counts == {"ambiguous-content": counts["ambiguous_keys"]}
    assert found.reported["unreceived-send"] == counts["unreceived"]
    assert "unmatched-receive" not in found.reported


@pytest.mark.parametrize("log", logs("mpi_tit", "csight_2pc", "csight_channels", "erlang_concuerror"))
def test_every_line_that_is_an_event_is_read(log: str) -> None:
    events, found = read(log)
    counts = KNOWN[log]
    text = (REAL / log).read_text(encoding="utf-8").split("\n")
    lines = sum(bool(line.strip()) and not line.startswith("#") for line in text)
    kinds = Counter(event.kind for event in events)
    if log.startswith("mpi"):
        assert len(events) == lines
        assert kinds["send"] == kinds["receive"] == found.messages == counts["p2p"] // 2
    elif log.startswith("csight_2pc"):
        assert (len(events), found.messages) == (2 * counts["messages"], counts["messages"])
    elif log.startswith("csight_ch"):
        assert len(events) == counts["events"]
        assert len({event.trace for event in events}) == counts["runs"]
        assert kinds["send"] == kinds["receive"] == found.messages
    else:
        assert len(events) == counts["steps"]
        arrivals = sum(event.process.endswith(" mailbox") for event in events)
        assert (arrivals, kinds["receive"]) == (counts["deliveries"], counts["receives"])
    odd = found.reported.keys() - {"ambiguous-content", "unreceived-send"}
    assert not odd or log.endswith("system_non_instant_delivery-test-inf-optimal.txt")


@pytest.mark.parametrize("log", logs("csight_channels", "csight_peterson", "tla_ndjson"))
def test_the_order_of_every_pair_is_that_of_the_recorded_clocks(log: str) -> None:
    """Who has seen the value to which an event raised its own component has seen the event; no other has."""
    events, _ = read(log)
    runs: dict[str | None, list[TraceEvent]] = defaultdict(list)
    for event in events:
        runs[event.trace].append(event)
    pairs = 0
    for members in runs.values():
        into: dict[str, list[str]] = defaultdict(list)
        for left, _relation, right, _source in covering(members, Report()).edges:
            into[right].append(left)
        # A right clock sums up to more than that of whatever it has seen; equal ones are in program order.
        members.sort(key=lambda event: (sum((event.clock or {}).values()), event.process, event.seq))
        values: set[tuple[str, int]] = set()
        past: dict[str, set[str]] = {}
        firsts: dict[str, TraceEvent] = {}
        for event in members:
            ticks = (event.process, event.own) not in values
            values.add((event.process, event.own))
            if ticks:
                firsts[event.id] = event
            past[event.id] = {left for near in into[event.id] for left in (near, *past[near])}
            for name, first in firsts.items():
                assert event.clock is not None
                seen = event.clock.get(first.process, 0) >= first.own
                assert (name in past[event.id]) == (seen and name != event.id), (name, event.id)
                pairs += seen
    assert pairs > len(events)
