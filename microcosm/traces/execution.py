"""The executions of a trace: told apart, and the events of each numbered, every process in program order.

Program order is that of the recorded positions (`seq`). Where clocks contradict it they are
believed, and an event without a clock keeps only its order among its like; of events with equal clocks
nothing is known then.

Executions may follow one another in a log without a line between them: clocks that begin again tell. Within
an execution the own clock component of a process never falls. In a log it may seem to, for lines are
written late; but where it falls to a value that another event of the process bears, there are two executions.
Then every fall is a boundary: what is on one side of it says nothing of what is on the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise, zip_longest

from microcosm.traces.event import TraceEvent, covers, in_trace
from microcosm.traces.report import Report

LINK = "link"
"""What a link is called where the log does not say what it is."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The events of one execution; everything else speaks of an event as its index in `events`.

    `chains[p]` has the events of process p in program order: one list, or several where positions
    contradict clocks; then p is in `discredited`. The first has the events with clocks, the second those
    without, each further one an event whose clock is that of one in the first: nothing orders the two, and
    neither is known to have ticked (`unticked`). `previous[i]` is the event
    before i in its chain, or -1. `links[i]` are the events that the log says came before i;
    `foreign` are an event, the id of one that did and is not in this execution, and what the link is called;
    `called` has that of links within, by their ends, where the log says it.
    """

    trace: str | None
    events: list[TraceEvent]
    chains: dict[str, list[list[int]]]
    discredited: frozenset[str]
    previous: list[int]
    links: dict[int, list[int]]
    foreign: list[tuple[int, str, str]]
    unticked: frozenset[int] = frozenset()
    called: dict[tuple[int, int], str] = field(default_factory=dict)

    def link(self, before: int, after: int) -> str:
        """What a link is called."""
        return self.called.get((before, after), LINK)


def executions(events: Iterable[TraceEvent], report: Report, names: Collection[str] = ()) -> list[Execution]:
    """The executions of a trace, in order of appearance; others have `names`. Cost: that of sorting each
    process.

    Reports events that are there twice, positions that contradict clocks, and holes.
    """
    found: dict[str | None, list[TraceEvent]] = {}
    for event in events:
        found.setdefault(event.trace, []).append(event)
    runs: list[list[TraceEvent]] = []
    others = {*found, *names}
    for listed in found.values():
        numbered = any(event.numbered for event in listed)
        runs += told_apart(listed, report, others) if numbered else [listed]
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
        kept: list[TraceEvent] = []
        for event in sorted(unordered, key=lambda event: event.seq):
            name = event.full_id if several else event.id
            if name in ids or (kept and kept[-1].seq == event.seq):
                message = f"there is an event {name} already"
                report.add("duplicate-event", message, file=event.file, line=event.line, lost=1)
            else:
                ids.add(name)
                kept.append(event)
        clocked = any(event.clock is not None for event in kept)
        ordered = _program_order(kept, report) if clocked else [kept]
        if len(ordered) > 1:
            discredited.add(process)
            equal = {repr(_by_clock(entry)[2]) for [entry] in ordered[2:]}
            odd = (at for at, one in enumerate(ordered[0], len(events)) if repr(_by_clock(one)[2]) in equal)
            unticked.update(odd)
        # Positions that rise from 1 to how many there are have no hole.
        gapless = not clocked and kept and kept[0].seq == 1 and kept[-1].seq == len(kept)
        for chain in ordered:
            if not gapless:
                _report_holes(chain, len(ordered) == 1, report)
            first = len(events)
            events += chain
            chains.setdefault(process, []).append(list(range(first, len(events))))
            previous += [-1, *range(first, len(events) - 1)] if chain else []
    links, foreign, called = _links(events) if any(event.after for event in events) else ({}, [], {})
    sure, doubtful = frozenset(discredited), frozenset(unticked)
    return Execution(trace, events, chains, sure, previous, links, foreign, doubtful, called)


def _links(
    events: list[TraceEvent],
) -> tuple[dict[int, list[int]], list[tuple[int, str, str]], dict[tuple[int, int], str]]:
    """What `after` says: the links within an execution, the ids that are not in it, what links are called.

    In a copy that names events in full, links within an execution may still leave the execution out.
    """
    links: dict[int, list[int]] = {}
    foreign: list[tuple[int, str, str]] = []
    called: dict[tuple[int, int], str] = {}
    own = (f"{event.process}:{event.seq}" for event in events)
    number = {name: at for at, name in enumerate(own) if events[at].name == in_trace(events[at].trace, name)}
    number |= {event.id: index for index, event in enumerate(events)}
    for index, event in enumerate(events):
        for name, link in zip_longest(event.after, event.links, fillvalue=LINK):
            if name in number:
                links.setdefault(index, []).append(number[name])
                if link != LINK:
                    called[number[name], index] = link
            else:
                foreign.append((index, name, link))
    return links, foreign, called


def _program_order(events: list[TraceEvent], report: Report) -> list[list[TraceEvent]]:
    """Events in the order of their positions as one chain, or as several where clocks contradict it."""
    highest = 0
    contradicted = False
    for event in events:
        if event.clock is None:
            continue
        own = event.own
        if own < highest:
            contradicted = True
            message = f"{event.process}: event {event.seq} has own clock value {own} after {highest}"
            report.add("seq-against-clock", message, file=event.file, line=event.line)
        else:
            highest = own
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
        last = before.place if before is not None else 0
        if positions and event.place > last + 1:
            message = f"{event.process}: events {missing(last, event.place)} are missing"
            report.add("seq-gap", message, file=event.file, line=event.line)


def missing(before: int, after: int) -> str:
    """The positions between two, as they are told of.

    >>> missing(1, 3), missing(1, 5)
    ('2', '2 to 4')
    """
    return str(before + 1) if after == before + 2 else f"{before + 1} to {after - 1}"


UNNAMED = "1"
"""What an execution without a name is called where one is to be chosen; the next ones have numbers."""


def told_apart(
    events: list[TraceEvent], report: Report, names: Container[str | None]
) -> list[list[TraceEvent]]:
    """The executions that the events of one name, in the order of the log, are of; other executions have
    `names`. Cost: linear."""
    shown = {(event.process, event.own) for event in events}
    if len(shown) == len(events) or not any(event.numbered for event in events):
        return [events]  # no process has the same own clock value twice
    runs = by_restarts(without_repeats(events, report), report)
    if len(runs[0]) < len(events):
        lone = {id(run[0]) for run in runs if len(run) == 1}  # nobody knows of which execution these are
        taken = _positions(event for event in events if id(event) not in lone)
        runs = [run if len(run) == 1 else [*_skipping(run, taken)] for run in runs]
    first, *others = runs
    wanted = (f"{first[0].trace or 'execution'} ({number})" for number in count(2))
    named = zip((name for name in wanted if name not in names), others, strict=False)
    return [first, *([replace(event, trace=name) for event in run] for name, run in named)]


def _skipping(run: list[TraceEvent], taken: dict[str, list[int]]) -> Iterator[TraceEvent]:
    """The events of a run, whose positions were also counted over those `taken` by repeated lines and other
    runs.
    """
    own = _positions(run)
    for event in run:
        skipped = bisect_left(taken[event.process], event.seq) - bisect_left(own[event.process], event.seq)
        yield replace(event, skipped=skipped) if skipped and event.numbered else event


def _positions(events: Iterable[TraceEvent]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for event in events:
        found.setdefault(event.process, []).append(event.seq)
    return {process: sorted(seqs) for process, seqs in found.items()}


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
            content = (event.process, event.kind, event.message, event.label, more, *event.clock.items())
            same = hash(content)
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
    following, later = [*range(len(events))], dict[str, int]()  # of each event the next one of its process
    for at in reversed(range(len(events))):
        following[at] = later.get(events[at].process, at)
        later[events[at].process] = at
    start = 0
    highest: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, event in enumerate(events):
        if event.clock is not None:
            if event.own < highest.get(event.process, 0):
                message = f"{event.process}: own clock value {event.own} after {highest[event.process]}: "
                detail = f"{message}another execution begins"
                report.add("restart", detail, file=event.file, line=event.line)
                sure = _surely_before(events, following, start, at, last[event.process])
                runs += [events[start:sure], *([one] for one in events[sure:at])]
                start = at
                highest, last = {}, {}
            highest[event.process] = event.own
            last[event.process] = at
    return [*runs, events[start:]]


def _begins_again(events: Sequence[TraceEvent]) -> bool:
    """Whether a process falls back to an own clock value that it has shown."""
    highest: dict[str, int] = {}
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
        if following[at] >= end and not covers(events[following[at]].clock or {}, events[at].clock or {}):
            break
        earliest = min(earliest, first[events[at].process])
        if earliest == at:
            sure = at
    return sure
