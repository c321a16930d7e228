"""What a log says of messages: the computation that it records, and the execution that its lines are."""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.errors import TextError
from microcosm.orderings.computation import Computation, NoComputation, build
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import Execution, executions, names_of
from microcosm.traces.messages import Exchange, exchange
from microcosm.traces.reading import nearest
from microcosm.traces.report import Irregularity, Report


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
    found = exchange(run, _tolerant(report))
    pairs = _pairs(run, found, report)
    places = line_of if ordered else None
    try:
        return _placed(run, found, pairs, places, report)
    except NoComputation:
        pairs = _acyclic(run, found, pairs, report)
        return _placed(run, found, pairs, places, report)


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


def _tolerant(report: Report) -> Report:
    """Passes all on to a report, where a message that nobody receives is no error even if that is strict."""

    def pass_on(found: Irregularity) -> None:
        fatal = found.kind != "unreceived-send"
        report.repeat(found, fatal)

    return Report(each=pass_on)


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


def _acyclic(
    run: Execution, found: Exchange, pairs: list[tuple[int, int]], report: Report
) -> list[tuple[int, int]]:
    """The pairs without those on cycles, which are reported."""
    from microcosm.traces.causality import Before
    from microcosm.traces.clocks import Clocks

    return Before(run, Clocks(run, Report()), Exchange(pairs, found.sent, found.received), report).pairs


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
    copies: dict[str, int] = {}
    for event in found.sent:
        message = run.events[event].message or ""
        count = copies[message] = copies.get(message, 0) + 1
        name[event] = message if count == 1 else f"{message}#{count}"
        kind[event] = "send"
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
