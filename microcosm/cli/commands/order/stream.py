"""`order --stream`: an execution watched while it happens, in bounded memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.cli.logs import report_of, told_rest
from microcosm.files import STDIN

if TYPE_CHECKING:
    from microcosm.orderings.stream import Watch
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Report


def watch_all(
    traces: list[str], level: str, trace: str | None, strict: bool, transit: int, json: bool
) -> int:
    """Watch one log after the other, each as an execution of its own."""
    from microcosm.orderings.ordering import Ordering
    from microcosm.orderings.stream import Watch

    for file in traces:
        report = report_of(strict)
        watch = Watch(transit)
        for event, violated in _violations(file, level, trace, watch, report):
            for ordering in violated:
                first, second = watch.violated[Ordering(ordering)]
                place = f"{event.file}:{event.line}"
                if json:
                    fields = {"ordering": ordering, "pair": [first, second], "event": event.id}
                    output.emit({"file": file, "line": event.line, **fields})
                else:
                    output.say(f"{place}: {ordering} is violated by {first} and {second} (at {event.id})")
            sys.stdout.flush()
        told_rest(report)
        kept = [one.value for one in Ordering if one not in watch.violated]
        counts = {"sent": watch.sent, "received": watch.received, "forgotten": watch.forgotten}
        if json:
            output.emit({"file": file, "kept": kept, **counts, "reported": dict(report.counts)})
        else:
            told = f"{watch.sent:,} messages sent, {watch.received:,} receptions"
            if watch.forgotten:
                told += f", {watch.forgotten:,} messages forgotten in transit (--transit)"
            output.say(f"{file}: kept {', '.join(kept) if kept else 'none of the six'} ({told})")
    return exits.HOLDS


def _violations(
    file: str, level: str, trace: str | None, watch: Watch, report: Report
) -> Iterator[tuple[TraceEvent, list[str]]]:
    """The events at which an ordering is violated for the first time."""
    from microcosm.errors import TextError
    from microcosm.orderings.stream import Unfit
    from microcosm.traces.execution import UNNAMED

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
                yield event, [one.value for one in found]
        except Unfit as fault:
            report.add(fault.kind, f"{event.id}: {fault}", file=event.file, line=event.line)


def _events(file: str, report: Report) -> Iterator[TraceEvent]:
    """The events of a log in JSON lines, each as soon as its line is there."""
    from microcosm.files import display_name
    from microcosm.traces.formats.jsonl import event_of
    from microcosm.traces.text.json_text import BadLine, json_object

    name = display_name(file)
    for number, text in _lines(file, name, report):
        if not text.strip():
            continue
        try:
            yield event_of(json_object(text), name, number)
        except BadLine as fault:
            lost = max(1, text.count('"process"'))
            report.add("bad-line", str(fault), file=name, line=number, lost=lost, lines=1)


def _lines(file: str, name: str, report: Report) -> Iterator[tuple[int, str]]:
    """Lines as they come; of a pipe nothing is read ahead of them, and so nothing is unpacked."""
    from microcosm.files import explaining
    from microcosm.traces.text.encoding import lenient
    from microcosm.traces.text.lines import open_lines

    if file != STDIN and os.path.isfile(file):
        with open_lines(file, report) as lines:
            yield from lines
        return
    with explaining(name):
        stream = sys.stdin.buffer if file == STDIN else open(file, "rb")  # noqa: SIM115 (closed below)
    with nullcontext(stream) if file == STDIN else stream:
        for number, line in enumerate(iter(stream.readline, b""), 1):
            text = lenient(line)
            if "\ufffd" in text and text.encode() != line:
                said = "bytes that are no UTF-8 are replaced"
                report.add("bad-encoding", said, file=name, line=number)
            yield number, text.removeprefix("\ufeff").rstrip("\r\n")
