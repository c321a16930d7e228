"""The logs `order` is asked about: which files are one, what they say of messages; a log as it comes."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any, NamedTuple

from microcosm.cli import exits, output
from microcosm.cli.output import Fields
from microcosm.cli.reading import events_of, report_of, sources, told_rest
from microcosm.errors import TextError
from microcosm.files import STDIN, display_name, explaining, standard_input
from microcosm.orderings.computation import Computation, NoComputation, build
from microcosm.orderings.ordering import Ordering, Unfit, Watch
from microcosm.traces.causality import Before, Exchange, exchange
from microcosm.traces.clocks import Clocks
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import UNNAMED, Execution, executions, names_of
from microcosm.traces.extract import plain_extraction
from microcosm.traces.formats.jsonl import FIELDS, event_of
from microcosm.traces.reading import nearest, parts_of_logs, picked
from microcosm.traces.report import Irregularity, Report
from microcosm.traces.text.lines import BadLine, json_object, lenient, open_lines


def communication(
    events: Iterable[TraceEvent], file: str, level: str, report: Report, ordered: bool = True
) -> tuple[Computation, list[int] | None]:
    """The sends and receptions of a log as a computation, and its lines as one of its executions.

    `level` is `application` (causal_send and deliver where there are any) or `network`. What fits no
    computation is reported and left out. The execution is None where a line stands before one that it
    depends on, or where the lines are not `ordered`: those of several files. Raises `TextError` where there
    are several executions. Cost: linear, plus sorting.
    """
    read = list(events)
    line_of = {id(event): at for at, event in enumerate(read)}
    runs = executions(read, report)
    if len(runs) > 1:
        names = names_of(run.trace for run in runs)
        hint = f"Choose one with --trace. {nearest('', names, 'Executions')}"
        raise TextError("the log has several executions", file=file, hint=hint)
    if not runs:
        return build({}), []
    sending, receiving = _kinds(runs[0], level)
    run = _part(runs[0], (sending, receiving))
    # A message that nobody receives is no error here, even if the report is strict.
    tolerant = Report(each=lambda found: report.repeat(found, found.kind != "unreceived-send"))
    found = exchange(run, tolerant)
    pairs = _pairs(run, found, report)
    places = line_of if ordered else None
    try:
        return _placed(run, found, pairs, places, report)
    except NoComputation:
        matched, clocks = Exchange(pairs, found.sent, found.received), Clocks(run, Report())
        pairs = Before(run, matched, report, clocks).pairs  # those on cycles are reported
        return _placed(run, found, pairs, places, report)


def plain_communication(path: str, report: Report) -> tuple[Computation, list[int]] | None:
    """The communication of a file of plain own lines, by its columns: a quarter of the price; else None.

    Nothing can be odd about it but that a message is not received, and its lines are an execution. A log in
    which a process sends to itself is left to who reads event by event.
    """
    odd: list[Irregularity] = []
    found = plain_extraction([path], Report(each=odd.append), in_order=True)
    columns = None if found is None or found.incomplete else found.givens.message_columns
    if columns is None:
        return None
    kinds, events, messages, processes = columns.columns()
    chains: dict[str, list[tuple[str, str]]] = {}
    names: dict[str, Sequence[str]] = {}
    at = 0
    for process, many in Counter(processes).items():  # they stand one after the other
        own = slice(at, at := at + many)
        chains[process], names[process] = [*zip(kinds[own], messages[own], strict=True)], events[own]
    try:
        computation = build(chains, names, acyclic=True)
    except NoComputation:
        return None
    for each in odd:
        if each.kind == "unreceived-send":
            report.repeat(each, fatal=False)
    lines = [*columns.rows()]
    return computation, sorted(range(len(lines)), key=lines.__getitem__)


def _kinds(run: Execution, level: str) -> tuple[str, str]:
    """The kinds of events that send and receive at a level of a log."""
    if level == "network":
        return "send", "receive"
    kinds = {event.kind for event in run.events}
    return (
        "causal_send" if "causal_send" in kinds else "send",
        "deliver" if "deliver" in kinds else "receive",
    )


def _part(run: Execution, kinds: tuple[str, str]) -> Execution:
    """The events of some kinds only; those of the other level are no business of this one."""
    events: list[TraceEvent] = []
    threads: dict[str, list[list[int]]] = {}
    previous: list[int] = []
    for process, lists in run.chains.items():
        for thread in lists:
            kept = [run.events[event] for event in thread if run.events[event].kind in kinds]
            first = len(events)
            events += kept
            previous += [-1, *range(first, len(events) - 1)][: len(kept)]
            threads.setdefault(process, []).append(list(range(first, len(events))))
    return Execution(run.trace, events, threads, run.discredited, previous, {}, [])


def _pairs(run: Execution, found: Exchange, report: Report) -> list[tuple[int, int]]:
    """The sends with their receptions; what a process sends to itself is reported and left out."""
    pairs = []
    for send, reception in found.pairs:
        sent, received = run.events[send], run.events[reception]
        if sent.process == received.process:
            message = f"{received.id}: {received.process} receives {received.message}, which it sent itself"
            report.add("self-send", message, file=received.file, line=received.line)
            continue
        pairs.append((send, reception))
    return pairs


def _placed(
    run: Execution,
    found: Exchange,
    pairs: list[tuple[int, int]],
    line_of: dict[int, int] | None,
    report: Report,
) -> tuple[Computation, list[int] | None]:
    """The computation of matched pairs and of unreceived sends, and the execution of the lines."""
    name: dict[int, str] = {}
    kind: dict[int, str] = {}
    said = {run.events[event].message or "" for event in found.sent}
    used: set[str] = set()
    copies: defaultdict[str, count[int]] = defaultdict(lambda: count(2))
    for event in found.sent:
        called = message = run.events[event].message or ""
        while called in used or (called != message and called in said):
            called = f"{message}#{next(copies[message])}"
        used.add(called)
        name[event], kind[event] = called, "send"
    for send, reception in pairs:
        name[reception], kind[reception] = name[send], "receive"
    chains: dict[str, list[tuple[str, str]]] = {}
    names: dict[str, list[str]] = {}
    lines: list[int] = []
    for process, threads in run.chains.items():
        for thread in threads:
            kept = [event for event in thread if event in kind]
            if kept:
                chains.setdefault(process, []).extend((kind[event], name[event]) for event in kept)
                names.setdefault(process, []).extend(run.events[event].id for event in kept)
                if line_of is not None:
                    lines += [line_of[id(run.events[event])] for event in kept]
    computation = build(chains, names)
    if line_of is None:
        return computation, None
    order = sorted(range(len(lines)), key=lines.__getitem__)
    place = [0] * len(order)
    for at, event in enumerate(order):
        place[event] = at
    for event in order:
        for after in computation.successors(event):
            if place[after] < place[event]:
                where = {line_of[id(entry)]: entry for entry in run.events}[lines[after]]
                message = f"{where.id}: stands before {computation.names[event]}, which it depends on"
                report.add("line-before-cause", message, file=where.file, line=where.line)
                return computation, None
    return computation, order


class Log(NamedTuple):
    """Some files that are one log, as they were named, its events, and what is odd about it."""

    files: list[str]
    events: Iterable[TraceEvent]
    report: Report
    in_order: bool
    """Whether its lines are an execution: those of one file, which is no microcosm."""
    as_it_is: bool = False
    """Whether nothing is said of how it is to be read, and its events were not yet."""

    def read(self) -> Log:
        """The log with its events kept, to be gone through again and again."""
        return self._replace(events=[*self.events], as_it_is=False)

    def communication(self, level: str) -> tuple[Computation, list[int] | None]:
        """What it says of messages, and its lines as an execution. Raises, costs as `communication`."""
        plain = None
        if self.as_it_is and self.in_order and self.files != [STDIN]:
            plain = plain_communication(self.files[0], self.report)
        return plain or communication(self.events, self.files[0], level, self.report, self.in_order)


def logs_of(
    traces: list[str], strict: bool, together: bool | None, trace: str | None = None, **how: Any
) -> list[Log]:
    """The logs of some files, in the order of their first files; `trace` picks one execution of each.

    `together` says whether all are one log (True), each is one (False), or what they hold tells (None):
    then each is read by itself, and what may be one log once more as such. Raises as readers do.
    """
    have_lines = {file: sources([file])[0].content is None for file in traces}

    def log(files: list[str]) -> Log:
        report, as_it_is = report_of(strict), trace is None and not how
        return Log(files, events_of(files, report, trace=trace, **how), report, in_order(files), as_it_is)

    def in_order(files: list[str]) -> bool:
        return len(files) == 1 and have_lines[files[0]]

    if together or len(traces) == 1:
        return [log(traces)]
    if together is False:
        return [log([file]) for file in traces]
    found: list[list[Irregularity]] = [[] for _ in traces]
    alone = [
        [*events] if trace is None else picked(events, trace, Report())[0]
        for events in (
            events_of([file], Report(each=irregularities.append), **how)
            for file, irregularities in zip(traces, found, strict=True)
        )
    ]

    def read_together(files: Sequence[str]) -> Iterable[TraceEvent]:
        events = events_of(list(files), Report(), **how)
        return events if trace is None else picked(events, trace, Report())[0]

    shown = [display_name(file) for file in traces]
    by_name = dict(zip(shown, traces, strict=True))
    groups = parts_of_logs(shown, alone, lambda files: read_together([by_name[file] for file in files]))
    logs = []
    for group in groups:
        files = [traces[at] for at in group]
        if len(group) > 1 or trace is not None:
            logs.append(log(files))
            continue
        report = report_of(strict)
        for irregularity in found[group[0]]:
            report.repeat(irregularity)
        logs.append(Log(files, alone[group[0]], report, in_order(files)))
    return logs


def watch_all(traces: list[str], level: str, trace: str | None, strict: bool, transit: int) -> int:
    """Watch one log after the other, each as an execution of its own."""
    for file in traces:
        report = report_of(strict)
        watch = Watch(transit)
        for event, violated in _violations(file, level, trace, watch, report):
            for ordering in violated:
                first, second = watch.violated[ordering]
                found = {"ordering": ordering, "pair": [first, second], "event": event.id}
                message = f"{ordering} is violated by {first} and {second} (at {event.id})"
                line = output.printable(f"{event.file}:{event.line}: {message}")
                output.answer({"file": file, "line": event.line, **found}, line)
            sys.stdout.flush()
        told_rest(report)
        kept = [one.value for one in Ordering if one not in watch.violated]
        counts = {"sent": watch.sent, "received": watch.received, "forgotten": watch.forgotten}
        totals = (
            f"{output.counted(watch.sent, 'message')} sent, {output.counted(watch.received, 'reception')}"
        )
        if watch.forgotten:
            totals += f", {output.counted(watch.forgotten, 'message')} forgotten in transit (--transit)"
        fields: Fields = {"file": file, "kept": kept, **counts, "reported": dict(report.counts)}
        message = f"kept {', '.join(kept) if kept else 'none of the six'} ({totals})"
        output.answer(fields, f"{output.printable(file)}: {message}")
    return exits.HOLDS


def _violations(
    file: str, level: str, trace: str | None, watch: Watch, report: Report
) -> Iterator[tuple[TraceEvent, list[Ordering]]]:
    """The events at which an ordering is violated for the first time."""
    application = None if level == "application" else False
    last: dict[str, int] = {}
    execution: tuple[str | None] | None = None
    for event in _events(file, report):
        if trace not in (None, UNNAMED if event.trace is None else event.trace):
            continue
        if execution is None:
            execution = (event.trace,)
        elif execution != (event.trace,):
            hint = "Choose one with --trace."
            raise TextError("the log has several executions", file=event.file, line=event.line, hint=hint)
        if application is None and event.kind != "internal":
            application = event.kind in ("causal_send", "deliver")  # the first one tells
        if event.kind not in (("causal_send", "deliver") if application else ("send", "receive")):
            continue
        if last.get(event.process, 0) >= event.seq:
            message = f"{event.id}: stands behind event {last[event.process]} of {event.process}"
            report.add("line-before-cause", message, file=event.file, line=event.line, lost=1)
            continue
        last[event.process] = event.seq
        if event.message is None:
            message = f"{event.id}: a {event.kind} that does not name its message"
            report.add("no-message", message, file=event.file, line=event.line)
            continue
        try:
            if event.kind in ("send", "causal_send"):
                watch.send(event.process, event.message, event.to)
            elif found := watch.receive(event.process, event.message):
                yield event, found
        except Unfit as fault:
            report.add(fault.kind, f"{event.id}: {fault}", file=event.file, line=event.line)
    if execution is None and trace is not None:
        raise TextError(f"no execution {trace!r} in the trace", file=display_name(file))
    if execution is None and report.counts["bad-line"]:
        hint = "--stream reads JSON lines of the own format."
        raise TextError("has no event: nothing in it could be read", file=display_name(file), hint=hint)


def _events(file: str, report: Report) -> Iterator[TraceEvent]:
    """The events of a log in JSON lines, each as soon as its line is there."""
    name = display_name(file)
    for number, text in _lines(file, name, report):
        if not text.strip():
            continue
        try:
            yield event_of(json_object(text, FIELDS), name, number)
        except BadLine as fault:
            lost = max(1, text.count('"process"'))
            report.add("bad-line", str(fault), file=name, line=number, lost=lost, lines=1)


def _lines(file: str, name: str, report: Report) -> Iterator[tuple[int, str]]:
    """Lines as they come; of a pipe nothing is read ahead of them, and so nothing is unpacked."""
    if file != STDIN and os.path.isfile(file):
        with open_lines(file, report) as lines:
            yield from lines
        return
    with explaining(name):
        stream = standard_input() if file == STDIN else open(file, "rb")  # noqa: SIM115 (closed below)
    with nullcontext(stream) if file == STDIN else stream:
        for number, line in enumerate(iter(stream.readline, b""), 1):
            text = lenient(line)
            if "\ufffd" in text and text.encode() != line:
                message = "bytes that are no UTF-8 are replaced"
                report.add("bad-encoding", message, file=name, line=number)
            yield number, text.removeprefix("\ufeff").rstrip("\r\n")
