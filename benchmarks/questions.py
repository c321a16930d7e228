"""Claim: questions about all pairs of a million events take seconds; of races by key the time an event does
not grow, of mutual exclusion it grows by half from 100,000 intervals to a million.

Races by key (`never write(k) || write(k)`, 1,000 keys, 32 processes) and mutual exclusion (`never holding
while holding`, 64 processes), after reading. Beside them what one would write by hand: vector clocks kept by
a loop over the log, and then every pair of a key, or of intervals, compared; and networkx, which is asked for
the descendants of each event. Both are left out where they would take minutes; the counts are compared. Times
are of the processor, medians of five up to 10,000, after one small question that has the grammar read and
numpy loaded. "Slope" is the exponent between the smallest and the largest size.
"""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations
from math import log
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any

import networkx

from benchmarks.measure import Line
from microcosm import Microcosm

NAME = "questions"

RACE = 'event write(k) where label ~ "write (?<k>.*)"\nnever write(k) || write(k)'
EXCLUSION = 'state holding from label = "take" until label = "drop"\nnever holding while holding'

BY_HAND_UP_TO, NETWORKX_UP_TO = 100_000, 10_000

Event = dict[str, Any]


def run(quick: bool = False) -> list[Line]:
    sizes = [500, 1_000] if quick else [10_000, 100_000, 1_000_000]
    small = read([*log_of(5_000, 8, lambda rng: f"write k{rng.randrange(100)}")])
    small.assert_(f"{RACE}\n{EXCLUSION}")  # noqa: PT009 (the grammar is read, numpy loaded)
    lines = list(races(sizes, 50 if quick else 1_000))
    return [*lines, *exclusion([200, 500] if quick else [2_000, 10_000, 100_000, 1_000_000])]


def races(sizes: list[int], keys: int) -> Iterator[Line]:
    ours = []
    for size in sizes:
        events = [*log_of(size, 32, lambda rng: f"write k{rng.randrange(keys)}")]
        known = read(events)
        seconds, answers = timed(lambda known=known: known.assert_(RACE), rounds(size))  # noqa: PT009
        ours.append(seconds)
        counts = answers[0].counts
        case = f"races, {size:,} events, {keys:,} keys"
        yield Line(NAME, case, "microcosm", seconds, 1.0, rounds(size))
        if size <= BY_HAND_UP_TO:
            hand, ordered = timed(lambda events=events: by_hand(events), rounds(size))
            assert ordered == counts["true"]
            yield Line(NAME, case, "a loop over vector clocks", hand, hand / seconds, rounds(size))
        if size <= NETWORKX_UP_TO:
            graph, ordered = timed(lambda events=events: by_networkx(events))
            assert ordered == counts["true"]
            yield Line(NAME, case, "networkx descendants", graph, graph / seconds, 1)
        del known, answers, events
    case = f"races, {sizes[0]:,} to {sizes[-1]:,} events"
    yield Line(NAME, case, f"slope {slope(sizes, ours):.2f}", ours[-1], 1.0, 1)


def exclusion(sizes: list[int]) -> Iterator[Line]:
    ours, few = [], sizes[0]
    for intervals in sizes:
        events = [*log_of(4 * intervals, 64, None)]
        known = read(events)
        seconds, answers = timed(lambda known=known: known.assert_(EXCLUSION), rounds(intervals))  # noqa: PT009
        ours.append(seconds)
        case = f"mutual exclusion, {intervals:,} intervals, 64 processes"
        yield Line(NAME, case, "microcosm", seconds, 1.0, rounds(intervals))
        if intervals == few:
            hand, blocked = timed(lambda events=events: overlaps_by_hand(events))
            assert blocked == answers[0].counts["true"], (blocked, answers[0].counts)
            yield Line(NAME, case, "a loop over vector clocks", hand, hand / seconds, 1)
        del known, answers, events
    sizes, ours = sizes[-3:], ours[-3:]
    case = f"mutual exclusion, {sizes[0]:,} to {sizes[-1]:,} intervals"
    yield Line(NAME, case, f"slope {slope(sizes, ours):.2f}", ours[-1], 1.0, 1)


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The exponent between the smallest and the largest size."""
    return log(seconds[-1] / seconds[0]) / log(sizes[-1] / sizes[0])


def log_of(size: int, processes: int, label: Callable[[Random], str] | None) -> Iterator[Event]:
    """A log in which every fifth event sends a message; without labels processes take and drop in turns."""
    rng = Random(size)
    seq, holding = [0] * processes, [False] * processes
    inbox: list[list[str]] = [[] for _ in range(processes)]
    for number in range(size):
        at = rng.randrange(processes)
        seq[at] += 1
        event: Event = {"process": f"p{at}", "seq": seq[at], "kind": "internal"}
        chance = rng.random()
        if inbox[at] and chance < 0.25:
            event |= {"kind": "receive", "message": inbox[at].pop(0)}
        elif chance < 0.45:
            to = (at + rng.randrange(1, processes)) % processes
            inbox[to].append(f"m{number}")
            event |= {"kind": "send", "message": f"m{number}"}
        if label is not None:
            event["label"] = label(rng)
        elif rng.random() < 0.5:
            event["label"] = "drop" if holding[at] else "take"
            holding[at] = not holding[at]
        yield event


def read(events: list[Event]) -> Microcosm:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        return Microcosm.from_trace(path)


def rounds(size: int) -> int:
    """How often something of this size is timed."""
    return 5 if size <= 10_000 else 1


def timed(step: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The median of some times, and what came out."""
    seconds = []
    for _ in range(times):
        gc.collect()
        start = process_time()
        found = step()
        seconds.append(process_time() - start)
    return median(seconds), found


def clocked(events: list[Event]) -> Iterator[tuple[Event, str, int, dict[str, int]]]:
    """Each event with its process, its number there and its vector clock, as one would keep it."""
    now: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    for event in events:
        process = event["process"]
        clock = dict(now.get(process, {}))
        if event["kind"] == "receive":
            for name, count in sent[event["message"]].items():
                if count > clock.get(name, 0):
                    clock[name] = count
        clock[process] = event["seq"]
        now[process] = clock
        if event["kind"] == "send":
            sent[event["message"]] = clock
        yield event, process, event["seq"], clock


def by_hand(events: list[Event]) -> int:
    """How many pairs of writes of one key are ordered."""
    by_key: dict[str, list[tuple[str, int, dict[str, int]]]] = {}
    for event, process, seq, clock in clocked(events):
        by_key.setdefault(event["label"].removeprefix("write "), []).append((process, seq, clock))
    return sum(
        later[2].get(earlier[0], 0) >= earlier[1]
        for writes in by_key.values()
        for earlier, later in combinations(writes, 2)
    )


def by_networkx(events: list[Event]) -> int:
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    graph.add_nodes_from(range(len(events)))
    last: dict[str, int] = {}
    sent: dict[str, int] = {}
    keys: dict[str, set[int]] = {}
    for number, event in enumerate(events):
        if event["process"] in last:
            graph.add_edge(last[event["process"]], number)
        if event["kind"] == "receive":
            graph.add_edge(sent[event["message"]], number)
        elif event["kind"] == "send":
            sent[event["message"]] = number
        last[event["process"]] = number
        keys.setdefault(event["label"], set()).add(number)
    return sum(
        len(networkx.descendants(graph, number) & keys[event["label"]]) for number, event in enumerate(events)
    )


def overlaps_by_hand(events: list[Event]) -> int:
    """How many pairs of intervals cannot be seen at once: one ends at or before the start of the other."""
    begun: dict[str, tuple[str, int, dict[str, int]]] = {}
    intervals = []
    for event, process, seq, clock in clocked(events):
        if event.get("label") == "take":
            begun[process] = process, seq, clock
        elif event.get("label") == "drop":
            intervals.append((process, begun.pop(process)[2], seq))
    intervals += [(process, start[2], None) for process, start in begun.items()]
    return sum(
        (e is not None and t.get(p, 0) >= e) or (f is not None and s.get(q, 0) >= f)
        for (p, s, e), (q, t, f) in combinations(intervals, 2)
    )
