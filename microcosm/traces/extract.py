"""The microcosm of a trace: what its events say about causality, and nothing beyond it.

Consecutive events of a process are ordered, a sending comes before its reception, and a recorded
clock stays a clock: it stands for up to n² correspondences. Receptions whose sending is not in the
log remain unmatched. A log with holes is welcome; partial knowledge is what a microcosm is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from microcosm.errors import TextError
from microcosm.files import distinct
from microcosm.givens.columns import Message
from microcosm.givens.event_table import EventTable
from microcosm.givens.exact import Number
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation, Stamp
from microcosm.givens.spelling import expect, expect_text
from microcosm.traces.columns import read_columns
from microcosm.traces.event import NOTHING, SENDS, TraceEvent
from microcosm.traces.reading import nearest, read
from microcosm.traces.report import ASSUMED, OF_SEVERAL, OF_SPANS, Extraction, Report
from microcosm.traces.text.lines import open_lines
from microcosm.tuning import gc_paused

if TYPE_CHECKING:
    from microcosm.traces.clocked_columns import ClockedLog
    from microcosm.traces.columns import LogColumns
    from microcosm.traces.execution import Execution
    from microcosm.traces.span_columns import SpanLog

SPANS = frozenset(("parent", "span link"))
"""What the links of spans are called."""


def microcosm_of_logs(
    paths: Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    pattern: str | None = None,
    process: str | None = None,
    token: str | None = None,
    trace: str | None = None,
    delimiter: str | None = None,
    with_clocks: bool = True,
    synchronous: Number | None = None,
    report: Report | None = None,
) -> Extraction:
    """The microcosm of one log, which may be spread over several files, and what it was made of.

    `format` is told from each file where it is not given, `pattern` describes the records of a text log;
    `process` asks for what that process could know, `token` names an attribute whose holders exclude each
    other, `trace` picks one execution of several, `delimiter` describes the lines between them;
    `synchronous` states that clocks agree within so much, and that what is over before something begins is
    before it (`microcosm.traces.clocks`); irregularities go to `report`.

    Raises `TextError` for what cannot be read, and for a name that the log does not have; `TraceError` where
    `report` is strict. Cost: linear, plus sorting; a tenth of it for nothing but messages in the own format,
    a sixth where events have attributes; a fifth for nothing but right vector times in text, or OTLP.
    """
    report = Report() if report is None else report
    found, paths = None, distinct(paths) if len(paths) > 1 else paths
    texts = format, pattern, process, token, trace, delimiter
    if texts != (None,) * len(texts):
        expect_text(*(one for one in texts if one is not None))
    if type(report) is not Report:
        expect(Report, "report of a log", report)
    any_option = any(texts) or synchronous is not None
    if with_clocks and not any_option:
        found = plain_extraction(paths, report)  # all that it reads is plain
    if found is None:
        events = read(paths, format, pattern, report, trace, delimiter)
        found = extract(
            events,
            process=process,
            token=token,
            with_clocks=with_clocks,
            synchronous=synchronous,
            report=report,
        )
    return found


def plain_extraction(
    paths: Sequence[str | os.PathLike[str]], report: Report, in_order: bool = False
) -> Extraction | None:
    """What `extract` gives for the files of a log, or None where it is not plain; `report` is then untouched.

    Plain are own JSON lines, OTLP and texts with clocks, as far as columns tell all of them. A log that must
    be `in_order` is plain only in own lines, where no reception stands before its sending. Raises
    `TraceError` where a strict `report` does. Cost: linear.
    """
    if not all(map(os.path.isfile, paths)):  # what is no file can be read only once
        return None
    openings = [partial(open_lines, path) for path in paths]
    log: LogColumns | SpanLog | ClockedLog | None
    with gc_paused():
        try:
            log = read_columns(openings, in_order)
            if log is None and openings and not in_order:  # most logs are in the own format
                with openings[0](Report()) as stream:
                    is_json, has_spans = stream.head.startswith("{"), '"resourceSpans"' in stream.head
                if has_spans:
                    from microcosm.traces.span_columns import read_spans

                    log = read_spans(openings)
                elif not is_json:
                    from microcosm.traces.clocked_columns import read_clocked

                    log = read_clocked(openings)
        except TextError:
            return None
        return None if log is None else log.extraction(report)


@gc_paused()
def extract(
    events: Iterable[TraceEvent],
    *,
    process: str | None = None,
    token: str | None = None,
    with_clocks: bool = True,
    synchronous: Number | None = None,
    report: Report | None = None,
) -> Extraction:
    """The microcosm of a trace.

    `process` restricts it to what that process could know by the end: its own events, which become
    the internal chain, and their causal past. `token` names an attribute whose holders exclude each
    other. Without `with_clocks` clocks are not kept, and only used to find what receptions disclosed.
    `synchronous` states that clocks agree within so much.

    Raises `TextError` when no event is of that process, has that attribute, or has an interval of a clock.
    Cost: linear in the events times the entries of their clocks, plus sorting.
    """
    from microcosm.traces.execution import executions

    report = Report() if report is None else report
    events = [*events]
    files = dict.fromkeys(map(attrgetter("file"), events))
    runs = executions(events, report)
    del events
    several = len(runs) > 1
    chosen = None if process is None else _chosen(runs, process, several)
    parts = [
        _Part(run, chosen[1] if chosen is not None else None, several, report)
        for run in runs
        if chosen is None or run is chosen[0]
    ]
    givens = Givens(name=process)
    messages = 0
    for part in parts:
        givens.internal += (part.names[event] for event in part.internal)
        part.order(givens, part.causality.edges(stated=with_clocks))
        messages += part.add_messages(givens)
        if with_clocks and part.causality.times:
            part.time(givens)
        if part.causality.before.stamps:
            part.stamp(givens, synchronous)
    stamps = (stamp for part in parts for stamp in part.stamps().values())
    if synchronous is not None and not any(isinstance(stamp, tuple) for stamp in stamps):
        hint = "Histories of Jepsen and Porcupine have them, and own JSON lines with `stamp: [from, to]`."
        raise TextError("no event of the log has an interval of a clock", hint=hint)
    if any(run.foreign for run in runs):
        _order_foreign(parts, givens, chosen is not None, report)
    if token is not None:
        known = {name for part in parts for event in part.kept for name in part.run.events[event].attributes}
        if token not in known:
            raise TextError(f"no event has an attribute {token!r}", hint=nearest(token, known, "Attributes"))
        for part in parts:
            part.group_by(token, givens)
    givens.events = table = _table_of(parts, files)
    unsure = (
        (process is not None, f"what {process} could know is not all that happened"),
        (len(parts) > 1, OF_SEVERAL.format(len(parts))),
        (any(not SPANS.isdisjoint(part.run.called.values()) for part in parts), OF_SPANS),
        (any(e.attributes.get("assumed") is True for part in parts for e in part.run.events), ASSUMED),
    )
    alone = ((part.causality, sorted(part.kept - part.related)) for part in parts)
    return Extraction(
        givens=givens,
        events=len(table.names),
        processes=len(set(zip(table.traces, table.processes, strict=True))),
        messages=messages,
        correspondences=len(givens.external) + max(0, len(givens.internal) - 1),
        isolated=sum(causality.isolated(events) for causality, events in alone if events),
        outside=sum(len(run.events) for run in runs) - len(table.names),
        reported=dict(report.counts),
        incomplete=tuple(reason for holds, reason in unsure if holds),
    )


def _table_of(parts: list[_Part], files: Iterable[str]) -> EventTable:
    """What the log says of the events that the microcosm is about, in the order in which they were read."""
    rank = {file: at for at, file in enumerate(files)}
    rows = [(part, event, part.run.events[event]) for part in parts for event in sorted(part.kept)]
    rows.sort(key=lambda row: (rank[row[2].file], row[2].line))
    entries = [entry for _, _, entry in rows]
    return EventTable(
        [part.names[event] for part, event, _ in rows],
        [part.processes[entry.process] for part, _, entry in rows],
        [entry.seq for entry in entries],
        [entry.kind for entry in entries],
        [part.causality.messages.get(event) for part, event, _ in rows],
        [entry.label for entry in entries],
        [entry.trace for entry in entries],
        [entry.attributes or NOTHING for entry in entries],
        [entry.attributes.get("time") for entry in entries],
        [entry.file for entry in entries],
        [entry.line for entry in entries],
    )


def _chosen(runs: list[Execution], process: str, several: bool) -> tuple[Execution, str]:
    """The execution and the process in it that a name means."""
    from microcosm.traces.execution import names_of

    called = {trace: label for label, trace in names_of(run.trace for run in runs).items()}
    known = [
        (run, name, f"{called[run.trace]}/{name}" if several else name) for run in runs for name in run.chains
    ]
    found = [(run, name, full) for run, name, full in known if process in (name, full)]
    if len(found) == 1:
        return found[0][:2]
    if not found:
        hint = nearest(process, {full for _, _, full in known}, "Processes")
        raise TextError(f"no process {process!r} in the trace", hint=hint)
    names = ", ".join(full for _, _, full in found[:5])
    raise TextError(f"{len(found)} executions have a process {process!r}", hint=f"Say which: {names}")


def _order_foreign(parts: list[_Part], givens: Givens, view: bool, report: Report) -> None:
    """Add the links from one execution to another, which only lead to last events.

    So they close a cycle only among themselves, from last event to last event; those are not believed.
    """
    links = [(part, *link) for part in parts for link in part.causality.foreign() if link[0] in part.kept]
    every = ((part, event, name) for part in parts for event, name in enumerate(part.names))
    known = {name: (part, event) for part, event, name in every} if links and not view else {}
    believed = {part.names[event] for part, event, name, _, last in links if name in known and last}
    ends = ((name, part.names[event]) for part, event, name, _, last in links if last)
    circles = on_circles(pair for pair in ends if pair[0] in believed)
    for part, event, name, link, last in links:
        entry, own = part.run.events[event], part.names[event]
        if name not in known or not last:
            what = "is not in the log" if name not in known else "is of another execution"
            report.add("unknown-event", f"{entry.id}: {name} {what}", file=entry.file, line=entry.line)
        elif (name, own) in circles:
            message = f"{entry.id}: is after {name} and before it"
            report.add("link-cycle", message, file=entry.file, line=entry.line)
        else:
            givens.add(Correspondence(name, Relation.BEFORE, own, link))
            for end, number in (known[name], (part, event)):
                end.related.add(number)


def on_circles(links: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The links between events that are on a circle or come after one. Cost: linear.

    >>> sorted(on_circles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]))
    [('b', 'c'), ('c', 'b'), ('c', 'd')]
    """
    from graphlib import CycleError, TopologicalSorter

    links = list(links)
    order: TopologicalSorter[str] = TopologicalSorter()
    for left, right in links:
        order.add(right, left)
    with suppress(CycleError):
        order.prepare()
    sure: set[str] = set()
    while ready := order.get_ready():
        sure.update(ready)
        order.done(*ready)
    return {(left, right) for left, right in links if left not in sure and right not in sure}


class _Part:
    """What one execution gives, or what one process of it could know, written into givens."""

    def __init__(self, run: Execution, process: str | None, several: bool, report: Report) -> None:
        from microcosm.traces.causality import Causality

        self.run = run
        self.causality = causality = Causality(run, several, report)
        self.names = causality.names
        self.processes = {process: causality.full(process) for process in run.chains}
        """Their names among all executions."""
        self.internal: list[int] = [] if process is None else run.chains[process][0]
        """What becomes the internal chain."""
        own = chain(*run.chains.get(process or "", []))
        self.kept = set(range(len(run.events))) if process is None else causality.before.past(own)
        """The events that the microcosm is about."""
        self.related: set[int] = {*self.internal}
        """Those of them that some given names."""

    def order(self, givens: Givens, edges: Iterable[tuple[int, int, str]]) -> None:
        """Add what came before what, but for the internal chain, which is known by itself."""
        internal, names, external = {*self.internal}, self.names, givens.external
        for before, after, source in edges:
            if after in self.kept and not (before in internal and after in internal):
                a, b = names[before], names[after]
                key = (a, "<", b)  # what `Givens.add` would find out of the correspondence
                if key not in external:
                    external[key] = Correspondence(a, Relation.BEFORE, b, source)
                self.related.update((before, after))

    def time(self, givens: Givens) -> None:
        """Add the clocks, by the names that their processes have among several executions."""
        self.related.update(self.causality.times)
        for event, time in self.causality.times.items():
            if event in self.kept:
                if (trace := self.causality.trace) is not None:
                    full = self.causality.full
                    entries = {full(process): count for process, count in time.entries.items()}
                    time = Clock(full(time.process), entries, time.ticked, trace)  # noqa: PLW2901
                givens.set_clock(self.names[event], time)

    def add_messages(self, givens: Givens) -> int:
        """Add what was sent and received; how many messages these are.

        In a log without ids, they are the receptions that merged clocks show.
        """
        kept, messages = self.kept, self.causality.messages
        for event in self.causality.exchange.message_events:
            if event in kept:
                entry = self.run.events[event]
                kind: Literal["send", "receive"] = "send" if entry.kind in SENDS else "receive"
                receivers = tuple(map(self.causality.full, entry.to))
                process = self.processes[entry.process]
                givens.messages.append(Message(kind, self.names[event], messages[event], process, receivers))
                self.related.add(event)
        named = {name for event, name in messages.items() if event in kept}
        return len(named) or sum(event in kept for event, seen in self.causality.covers.items() if seen)

    def stamp(self, givens: Givens, synchronous: Number | None) -> None:
        """Add the stamps that are believed, and what was over before something began, by clocks stated to
        agree; that also of one of several executions.
        """
        kept = [event for event in self.causality.stamps if event in self.kept]
        self.related.update(kept)
        givens.stamps.update((self.names[event], self.causality.stamps[event]) for event in kept)
        if synchronous is not None:
            from microcosm.traces.clocks import as_stated, over_before

            source = as_stated(synchronous)
            self.order(givens, ((a, b, source) for a, b in over_before(self.stamps(), synchronous)))

    def stamps(self) -> dict[int, Stamp]:
        """The stamps of the events that the microcosm is about, as they are in this execution."""
        return {event: stamp for event, stamp in self.causality.before.stamps.items() if event in self.kept}

    def group_by(self, token: str, givens: Givens) -> None:
        """Add a token group for each value of an attribute that two events have."""
        for name, holders in self.causality.holders(token).items():
            group = [event for event in holders if event in self.kept]
            if len(group) > 1 and not self.causality.clash(name, group):
                others = (f"{name} ({number})" for number in count(2))
                own = next(each for each in chain([name], others) if each not in givens.tokens)
                givens.tokens[own] = tuple(self.names[event] for event in group)
                self.related.update(group)
