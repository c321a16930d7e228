"""What the formats of distributed tracing have in common: spans, and what they prove.

A span is an interval and a process of its own with two events, its start and its end: to order the
spans of a service by their times would invent causality. The start of a parent comes before that of
its children, and the start of what a span links to before its end; nothing else is known of ends.
Times of day prove nothing: where they contradict the order of starts, that is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from microcosm.traces.event import NOTHING, TraceEvent
from microcosm.traces.report import Report


@dataclass(slots=True)
class Span:
    """A span as a log has it. `start` and `end` are times of day, in whatever unit, or None.

    `links` are pairs of a trace and a span. `shared` says that this is the server's half of a span
    that its client began under the same id.
    """

    trace: str
    id: str
    parent: str | None = None
    service: str = ""
    label: str = ""
    kind: str = ""
    start: int | None = None
    end: int | None = None
    shared: bool = False
    links: tuple[tuple[str, str], ...] = ()
    line: int = 0
    attributes: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class _Half(NamedTuple):
    """What is remembered of a span: one of several that may have the same id."""

    process: str
    service: str
    server: bool
    start: int | None


class Spans:
    """Spans on their way to events.

    A span is held back until the span that it comes after has been read. Memory: a few words for
    each span (its id is taken), and the spans that are held back.
    """

    def __init__(self, file: str, report: Report) -> None:
        self._file = file
        self._report = report
        self._halves: dict[tuple[str, str], list[_Half]] = {}
        self._waiting: dict[tuple[str, str], list[tuple[Span, str]]] = {}

    def add(self, span: Span) -> Iterator[TraceEvent]:
        """The events that can be told now that this span is known."""
        key = span.trace, span.id
        halves = self._halves.setdefault(key, [])
        server = span.shared or span.kind == "server"
        if any(half[1:] == (span.service, server, span.start) for half in halves):
            message = f"there is a span {span.id} already"
            self._report.add("duplicate-event", message, file=self._file, line=span.line, lost=2)
            return
        process = span.id
        if span.shared or halves:
            process += "/server" if server else "/client"
            taken = {half.process for half in halves}
            if not server and span.id not in taken:
                process = span.id
            if process in taken:
                process += f".{len(halves) + 1}"
        halves.append(_Half(process, span.service, server, span.start))
        if span.parent == span.id and not span.shared:
            message = f"the span {span.id} is its own parent"
            self._report.add("link-cycle", message, file=self._file, line=span.line)
            span.parent = None
        yield from self._try(span, process, final=False)
        for waiting, name in self._waiting.pop(key, ()):
            yield from self._try(waiting, name, final=False)

    def rest(self) -> Iterator[TraceEvent]:
        """The events of the spans that are still held back."""
        waiting, self._waiting = self._waiting, {}
        for spans in waiting.values():
            for span, process in spans:
                yield from self._try(span, process, final=True)

    def _try(self, span: Span, process: str, final: bool) -> Iterator[TraceEvent]:
        halves = self._halves[span.trace, span.id]
        if process != span.id and "/server" in process.removeprefix(span.id):
            client = next((half for half in halves if not half.server), None)
            if client is not None:
                yield from self._events(span, process, client)
                return
            if not final:
                self._waiting.setdefault((span.trace, span.id), []).append((span, process))
                return
        if span.parent is None or span.parent == span.id:
            yield from self._events(span, process, None)
            return
        parent = self._parent(span, final)
        if parent is None and not final:
            self._waiting.setdefault((span.trace, span.parent), []).append((span, process))
        else:
            yield from self._events(span, process, parent)

    def _parent(self, span: Span, final: bool) -> _Half | None:
        """The half of the parent that a span belongs to: that of its service, the client's in doubt."""
        halves = self._halves.get((span.trace, span.parent or ""), [])
        same = [half for half in halves if half.service == span.service]
        if len(same) == 1:
            return same[0]
        client = next((half for half in halves if half.process == span.parent), None)
        return halves[0] if final and client is None and len(halves) == 1 else client

    def _events(self, span: Span, process: str, before: _Half | None) -> Iterator[TraceEvent]:
        self._check_times(span, before)
        after: tuple[str, ...] = ()
        if before is not None:
            after = (f"{before.process}:1",)
        elif span.parent is not None and span.parent != span.id:
            after = (f"{span.parent}:1",)
        common = {"service": span.service, "kind": span.kind}
        start = _known({**span.attributes, **common, "time": span.start})
        end = _known({**common, "time": span.end})
        links = dict.fromkeys(
            f"{target}:1" if trace == span.trace else f"{trace}/{target}:1" for trace, target in span.links
        )
        for seq, label, attributes, earlier in (
            (1, span.label, start, after),
            (2, f"end of {span.label}", end, tuple(links)),
        ):
            yield TraceEvent(
                process,
                seq,
                label=label,
                attributes=attributes,
                trace=span.trace,
                after=earlier,
                file=self._file,
                line=span.line,
            )

    def _check_times(self, span: Span, before: _Half | None) -> None:
        message = ""
        if span.start is None or span.end is None:
            message = f"the span {span.id} has no {'start' if span.start is None else 'end'}"
            self._report.add("missing-time", message, file=self._file, line=span.line)
        elif span.end < span.start:
            message = f"the span {span.id} ends before it starts"
            self._report.add("clock-inversion", message, file=self._file, line=span.line)
        if before is None or before.start is None or span.start is None:
            return
        if span.start < before.start:
            message = f"the span {span.id} starts before {before.process}, which began it"
            self._report.add("clock-inversion", message, file=self._file, line=span.line)


def _known(attributes: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in attributes.items() if value not in ("", None)}


def text_of(value: object) -> str:
    """A JSON value where text is meant: text as it is, nothing for what is no text."""
    return value if type(value) is str else ""


def time_of(value: object) -> int | None:
    """A JSON value as a time: a number, or digits; None where there is none."""
    if type(value) is int or type(value) is float:
        return int(value) if abs(value) < 2**63 else None  # and not NaN either
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return None
