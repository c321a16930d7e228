"""Executions that follow one another in a log without a line between them, told by clocks that begin again.

Within an execution the own clock component of a process never falls. In a log it may seem to, for lines are
written late; but where it falls to a value that another event of the process bears, there are two executions.
Then every fall is a boundary: what is on one side of it says nothing of what is on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Report

UNNAMED = "1"
"""What an execution without a name is called where one is to be chosen; the next ones have numbers."""


def told_apart(events: list[TraceEvent], report: Report) -> list[list[TraceEvent]]:
    """The executions that the events of one name, in the order of the log, are of. Cost: linear."""
    if not any(event.numbered for event in events):
        return [events]
    return named_apart(by_restarts(without_repeats(events, report), report))


def names_of(traces: Iterable[str | None]) -> dict[str, str | None]:
    """Executions by the names by which one is chosen.

    >>> names_of([None, "2"]), names_of([None, "1"])
    ({'1': None, '2': '2'}, {'1 (unnamed)': None, '1': '1'})
    """
    known = dict.fromkeys(traces)
    unnamed = f"{UNNAMED} (unnamed)" if UNNAMED in known else UNNAMED
    return {unnamed if name is None else name: name for name in known}


def without_repeats(events: list[TraceEvent], report: Report) -> list[TraceEvent]:
    """The events of an execution in the order of the log, without clocked ones that stand there already.

    Two are the same where process, clock, text and message are. Cost: linear; memory: a number for each.
    """
    known: set[int] = set()
    kept: list[TraceEvent] = []
    for event in events:
        if event.numbered and event.clock is not None:
            more = repr(event.attributes) if event.attributes else ""
            said = (event.process, event.kind, event.message, event.label, more, *event.clock.items())
            same = hash(said)
            if same in known:
                message = f"{event.process}: the event with own clock value {event.own} stands there already"
                report.add("duplicate-event", message, file=event.file, line=event.line, lost=1)
                continue
            known.add(same)
        kept.append(event)
    return kept


def by_restarts(events: list[TraceEvent], report: Report) -> list[list[TraceEvent]]:
    """The executions that events in the order of a log without positions are of; mostly one. Cost: linear.

    Events of which it cannot be told whether they end one execution or begin the next are one each.
    """
    if not _begins_again(events):
        return [events]
    runs: list[list[TraceEvent]] = []
    following = _next_of_process(events)
    start = 0
    highest: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, event in enumerate(events):
        if event.clock is not None:
            if event.own < highest.get(event.process, 0):
                message = f"{event.process}: own clock value {event.own} after {highest[event.process]}: "
                said = f"{message}another execution begins"
                report.add("restart", said, file=event.file, line=event.line)
                sure = _surely_before(events, following, start, at, last[event.process])
                runs += [events[start:sure], *([one] for one in events[sure:at])]
                start = at
                highest, last = {}, {}
            highest[event.process] = event.own
            last[event.process] = at
    return [*runs, events[start:]]


def named_apart(runs: list[list[TraceEvent]]) -> list[list[TraceEvent]]:
    """The runs, the events of each but the first with a name of its own for their execution."""
    renamed = [runs[0]]
    for number, run in enumerate(runs[1:], 2):
        name = f"{run[0].trace or 'execution'} ({number})"
        renamed.append([replace(event, trace=name) for event in run])
    return renamed


def _begins_again(events: Sequence[TraceEvent]) -> bool:
    """Whether a process falls back to an own clock value that it has shown."""
    highest: dict[str, int] = {}
    for event in events:
        if event.clock is not None:
            if event.own < highest.get(event.process, 0):
                break
            highest[event.process] = event.own
    else:
        return False
    highest = {}
    shown: set[tuple[str, int]] = set()
    for event in events:
        if event.clock is None:
            continue
        own = event.own
        if own < highest.get(event.process, 0):
            if (event.process, own) in shown:
                return True
        else:
            highest[event.process] = own
        shown.add((event.process, own))
    return False


def _next_of_process(events: list[TraceEvent]) -> list[int]:
    """For each event the next one of its process; itself where there is none."""
    found = list(range(len(events)))
    later: dict[str, int] = {}
    for at in range(len(events) - 1, -1, -1):
        found[at] = later.get(events[at].process, at)
        later[events[at].process] = at
    return found


def _goes_on(event: TraceEvent, later: TraceEvent) -> bool:
    """Whether an event may be of the execution of an earlier one of its process, by their clocks."""
    after = later.clock or {}
    return all(after.get(process, 0) >= count for process, count in (event.clock or {}).items())


def _surely_before(events: list[TraceEvent], following: list[int], start: int, end: int, last: int) -> int:
    """From where on events up to `end` may be of the next execution: their processes first show there.

    Not those of a process that then begins again as well.
    """
    first: dict[str, int] = {}
    for at in range(start, end):
        first.setdefault(events[at].process, at)
    sure = end
    earliest = end
    for at in range(end - 1, last, -1):
        if following[at] >= end and not _goes_on(events[at], events[following[at]]):
            break
        earliest = min(earliest, first[events[at].process])
        if earliest == at:
            sure = at
    return sure
