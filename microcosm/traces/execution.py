"""One execution of a trace: its events numbered, each process in program order.

Program order is that of the recorded positions (`seq`). Where clocks contradict it they are
believed, and an event without a clock keeps only its order among its like; of events with equal clocks
nothing is known then. Executions that follow each other without a boundary are told apart where clocks
begin again (`microcosm.traces.restarts`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Report
from microcosm.traces.restarts import told_apart


@dataclass(frozen=True, slots=True)
class Execution:
    """The events of one execution; everything else speaks of an event as its index in `events`.

    `chains[p]` has the events of process p in program order: one list, or several where positions
    contradict clocks; then p is in `discredited`. The first has the events with clocks, the second those
    without, each further one an event whose clock is that of one in the first: nothing orders the two, and
    neither is known to have ticked (`unticked`). `previous[i]` is the event
    before i in its chain, or -1. `links[i]` are the events that the log says came before i;
    `foreign` pairs an event with the id of one that did and is not in this execution.
    """

    trace: str | None
    events: list[TraceEvent]
    chains: dict[str, list[list[int]]]
    discredited: frozenset[str]
    previous: list[int]
    links: dict[int, list[int]]
    foreign: list[tuple[int, str]]
    unticked: frozenset[int] = frozenset()


def executions(events: Iterable[TraceEvent], report: Report) -> list[Execution]:
    """The executions of a trace, in order of appearance. Cost: that of sorting each process.

    Reports events that are there twice, positions that contradict clocks, and holes.
    """
    found: dict[str | None, list[TraceEvent]] = {}
    for event in events:
        found.setdefault(event.trace, []).append(event)
    runs: list[list[TraceEvent]] = []
    for listed in found.values():
        numbered = any(event.numbered for event in listed)
        runs += told_apart(listed, report) if numbered else [listed]
    ids: set[str] = set()
    return [_execution(run, len(runs) > 1, ids, report) for run in runs]


def _execution(listed: list[TraceEvent], several: bool, ids: set[str], report: Report) -> Execution:
    trace = listed[0].trace
    processes: dict[str, list[TraceEvent]] = {}
    for event in listed:
        processes.setdefault(event.process, []).append(event)
    events: list[TraceEvent] = []
    chains: dict[str, list[list[int]]] = {}
    discredited = set()
    unticked: set[int] = set()
    previous: list[int] = []
    for process, unordered in processes.items():
        kept = _once(sorted(unordered, key=lambda event: event.seq), several, ids, report)
        ordered = _program_order(kept, report)
        if len(ordered) > 1:
            discredited.add(process)
            equal = {repr(_by_clock(entry)[2]) for [entry] in ordered[2:]}
            unticked.update(
                len(events) + at for at, one in enumerate(ordered[0]) if repr(_by_clock(one)[2]) in equal
            )
        for chain in ordered:
            _report_holes(chain, len(ordered) == 1, report)
            first = len(events)
            events += chain
            chains.setdefault(process, []).append(list(range(first, len(events))))
            previous += [-1, *range(first, len(events) - 1)]
    links, foreign = _links(events) if any(event.after for event in events) else ({}, [])
    sure, doubtful = frozenset(discredited), frozenset(unticked)
    return Execution(trace, events, chains, sure, previous, links, foreign, doubtful)


def _links(
    events: list[TraceEvent],
) -> tuple[dict[int, list[int]], list[tuple[int, str]]]:
    """What `after` says: the links within an execution, and the ids that are not in it."""
    links: dict[int, list[int]] = {}
    foreign: list[tuple[int, str]] = []
    number = {event.id: index for index, event in enumerate(events)}
    for index, event in enumerate(events):
        for name in event.after:
            if name in number:
                links.setdefault(index, []).append(number[name])
            else:
                foreign.append((index, name))
    return links, foreign


def _once(events: list[TraceEvent], several: bool, ids: set[str], report: Report) -> list[TraceEvent]:
    """The events of a process without those whose position or name is taken."""
    kept: list[TraceEvent] = []
    for event in events:
        name = event.full_id if several else event.id
        if name in ids or (kept and kept[-1].seq == event.seq):
            message = f"there is an event {name} already"
            report.add("duplicate-event", message, file=event.file, line=event.line, lost=1)
        else:
            ids.add(name)
            kept.append(event)
    return kept


def _program_order(events: list[TraceEvent], report: Report) -> list[list[TraceEvent]]:
    """Events in the order of their positions as one chain, or as several where clocks contradict it."""
    highest = 0
    contradicted = False
    for event in events:
        if event.clock is None:
            continue
        if event.own < highest:
            contradicted = True
            message = f"{event.process}: event {event.seq} has own clock value {event.own} after {highest}"
            report.add("seq-against-clock", message, file=event.file, line=event.line)
        highest = max(highest, event.own)
    if not contradicted:
        return [events]
    clocked: list[TraceEvent] = []
    equal: list[TraceEvent] = []
    for event in sorted((event for event in events if event.clock is not None), key=_by_clock):
        if clocked and _by_clock(clocked[-1]) == _by_clock(event):
            message = f"{event.id}: {clocked[-1].id} has the same clock; which was first is not known"
            report.add("equal-clock", message, file=event.file, line=event.line)
            equal.append(event)
        else:
            clocked.append(event)
    return [clocked, [event for event in events if event.clock is None], *([event] for event in equal)]


def _by_clock(event: TraceEvent) -> tuple[int, int, list[tuple[str, int]]]:
    """A clock is after those that it covers, for they have lesser sums; equal ones are neighbours."""
    counts = {process: count for process, count in (event.clock or {}).items() if count}
    return event.own, sum(counts.values()), sorted(counts.items())


def _report_holes(chain: list[TraceEvent], positions: bool, report: Report) -> None:
    """Report where own clock values, or positions if they count, are missing; each place once."""
    for before, event in pairwise((None, *chain)):
        assert event is not None
        if event.clock is not None and event.process not in event.clock:
            message = f"{event.process}: the clock has no entry for its own process"
            report.add("own-missing", message, file=event.file, line=event.line)
        if event.clock is not None and (before is None or before.clock is not None):
            last = before.own if before is not None else 0
            if event.own > last + 1:
                message = f"{event.process}: own clock values {missing(last, event.own)} are missing"
                report.add("clock-gap", message, file=event.file, line=event.line)
                continue
        last = before.seq if before is not None else 0
        if positions and event.seq > last + 1:
            message = f"{event.process}: events {missing(last, event.seq)} are missing"
            report.add("seq-gap", message, file=event.file, line=event.line)


def missing(before: int, after: int) -> str:
    """The positions between two, as they are told of.

    >>> missing(1, 3), missing(1, 5)
    ('2', '2 to 4')
    """
    return str(before + 1) if after == before + 2 else f"{before + 1} to {after - 1}"
