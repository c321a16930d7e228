"""What the formats of distributed tracing have in common: spans, and what they prove.

A span is an interval and a process of its own with two events, its start and its end: to order the
spans of a service by their times would invent causality. The start of a parent comes before that of
its children, and the start of what a span links to before its end; nothing else is known of ends.
Times of day prove nothing: where they contradict the order of starts, that is reported.

A span is called by its service and operation, and numbered among those of the log that are called so, by
start and id: `shop.pay#3`, and its end `shop.pay#3/end`. So names do not depend on the order of spans or
files; of a log that was cut they may be others. The ids of spans are attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

from microcosm.traces.event import Counted, Spool, TraceEvent
from microcosm.traces.formats.jsonl import COPIES
from microcosm.traces.options import Options
from microcosm.traces.report import Report


@dataclass(slots=True)
class Span:
    """A span as a log has it. `start` and `end` are times of day, in whatever unit, or None.

    `links` are pairs of a trace and a span. `shared` says that this is the server's half of a span
    that its client began under the same id. `host` tells the places of a service apart, where it is known.
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
    attributes: dict[str, object] = field(default_factory=dict)
    host: str = ""
    file: str = ""


_record = attrgetter(*(one.name for one in fields(Span)))


@dataclass(slots=True)
class _Half:
    """What is remembered of a span: one of several that may have the same id.

    `stated` says that a kind was stated: else one does not know whose half it is. `reports` counts the
    spans that are this half; where there are several, `gathered` has those at hand. A report that is
    part of another half is `of` that. A server's half that is `endless` has a start and no end: it is
    of a message without an answer, of which there may be many.
    """

    service: str
    host: str
    server: bool
    stated: bool
    shared: bool
    label: str
    start: int | None
    endless: bool
    parents: tuple[str, ...]
    reports: int = 1
    name: str = ""
    of: _Half | None = None
    gathered: list[Span] | None = None

    def says(self, other: _Half) -> bool:
        """Whether another report is of the same place and time, and the same side."""
        place = self.service == other.service and self.host == other.host and self.start == other.start
        return place and self.stated is other.stated and self.server is other.server

    def join(self, other: _Half) -> None:
        """Take in another report of the same half."""
        self.parents = tuple(sorted({*self.parents, *other.parents}))
        self.start = _least(self.start, other.start)
        self.label = min(filter(None, (self.label, other.label)), default="")
        self.reports += other.reports


class Spans:
    """The spans of all files of a log on their way to events, which come when the last one is read.

    Spans that share an id are the halves of a call; one that does not say its kind is part of the only
    other half of its service. Memory: a few words for each span (its id, place, parent and start); the
    spans themselves wait on disk.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._spool = Spool()
        self._halves: dict[tuple[str, str], list[_Half]] = {}

    def add(self, span: Span, file: str) -> None:
        """Take in a span of a file."""
        span.file = file
        if span.parent == span.id:
            if not span.shared:
                message = f"the span {span.id} is its own parent"
                self._report.add("link-cycle", message, file=file, line=span.line)
            span.parent = None
        parents = () if span.parent is None else (span.parent,)
        server = span.shared or span.kind == "server"
        stated = span.shared or span.kind != ""
        endless = span.shared and span.start is not None and span.end is None
        half = _Half(
            span.service, span.host, server, stated, span.shared, span.label, span.start, endless, parents
        )
        halves = self._halves.setdefault((span.trace, span.id), [])
        at = next((at for at, known in enumerate(halves) if known.says(half)), len(halves))
        if at == len(halves):
            halves.append(half)
        elif set(parents) <= set(halves[at].parents) and not span.links:
            message = f"there is a span {span.id} already"
            self._report.add("duplicate-event", message, file=file, line=span.line, lost=2)
            return
        else:
            halves[at].join(half)
        self._spool.add((at, *_record(span)))

    def rest(self) -> Iterator[TraceEvent]:
        """The events of all spans, in the order in which they were read."""
        for (_, identity), halves in self._halves.items():
            _settle(halves)
            if not self._options.whole:
                _name_by_id(identity, halves)
        if self._options.whole:
            self._name_all()
        for at, *record in self._spool:
            span = Span(*record)
            half = self._halves[span.trace, span.id][at]
            half = half.of or half
            if half.reports > 1:
                half.gathered = [*(half.gathered or ()), span]
                if len(half.gathered) > 1:
                    part, file = f"the span {span.id} is reported in parts", span.file
                    self._report.add("partial-span", part, file=file, line=span.line, lost=2, fatal=False)
                if len(half.gathered) < half.reports:
                    continue
                span = _joined(half.gathered)
            yield from self._events(span, half)

    def _name_all(self) -> None:
        """Call each half by its service and operation, and its number among those that are called so."""
        halves = (
            (
                half.start is None,
                half.start or 0,
                *place,
                half.server,
                half.service,
                half.host,
                half.parents,
                at,
            )
            for place, own in self._halves.items()
            for at, half in enumerate(own)
            if half.of is None
        )
        copied = " (spans)" if COPIES in self._options.state else ""
        counts: dict[str, int] = {}
        for _, _, trace, identity, *_, at in sorted(halves):
            half = self._halves[trace, identity][at]
            name = called(half.service, half.label)
            counts[name] = counts.get(name, 0) + 1
            half.name = f"{name}#{counts[name]}{copied}"

    def _events(self, span: Span, half: _Half) -> Iterator[TraceEvent]:
        client = _client(self._halves[span.trace, span.id]) if half.server else None
        before: dict[str, _Half | None] = {} if client is None else {client.name: client}
        for parent in half.parents:
            halves = self._halves.get((span.trace, parent))
            if halves is None:
                if parent.strip("0"):  # an id of zeros is that of nothing
                    before[parent] = None
            elif client is None or parent not in client.parents:
                found = _parent(halves, half)
                before.update({} if found is None else {found.name: found})
        starts = {name: half.start for name, half in before.items() if half is not None}
        check_times(self._report, span.id, span.start, span.end, starts, span.file, span.line)
        common = span.service, span.kind, span.trace, span.id
        start, end = attributes_of(span.attributes, *common, span.start), attributes_of({}, *common, span.end)
        links = dict.fromkeys(self._target(span, *link) for link in span.links)
        whole = self._options.whole
        for seq, name, label, attributes, earlier in (
            (1, half.name, span.label, start, tuple(map(self._start, before))),
            (2, f"{half.name}/end", f"end of {span.label}", end, tuple(links)),
        ):
            yield TraceEvent(
                half.name,
                seq,
                name=Counted(name) if whole else None,
                label=label,
                attributes=attributes,
                trace=span.trace,
                after=earlier,
                links=("parent" if seq == 1 else "span link",) * len(earlier),
                file=span.file,
                line=span.line,
            )

    def _start(self, name: str) -> str:
        """The event that begins what is called so."""
        return name if self._options.whole else f"{name}:1"

    def _target(self, span: Span, trace: str, identity: str) -> str:
        """The event that a link leads to; that of the client where a span has several halves."""
        if not self._options.whole:
            return self._start(identity if trace == span.trace else f"{trace}/{identity}")
        halves = [half for half in self._halves.get((trace, identity), ()) if half.of is None]
        alone = halves[0] if len(halves) == 1 and not halves[0].shared else _client(halves)
        return f"{trace}/{identity}" if alone is None else alone.name


def _settle(halves: list[_Half]) -> None:
    """Say whose each half is; whatever the order in which they were read."""
    stated = [half for half in halves if half.stated]
    for half in halves:
        own = [one for one in stated if one.service == half.service] if not half.stated else []
        if len(own) == 1:
            half.of = own[0]
            own[0].join(half)
        elif not half.stated and any(not one.server for one in stated):
            half.server = True  # the client's half is another's


def _name_by_id(identity: str, halves: list[_Half]) -> None:
    """Call each half by the id of the span, whatever else the log holds."""
    known = [half for half in halves if half.of is None]
    known.sort(key=lambda half: (half.service, half.host, half.start or 0, half.parents))
    clients = [half for half in known if not half.server]
    servers = [half for half in known if half.server]
    alone = len(known) == 1 and not known[0].shared
    for side, name, plain in ((clients, "client", len(clients) == 1), (servers, "server", alone)):
        for number, half in enumerate(side, 1):
            half.name = identity if plain else f"{identity}/{name}{f'.{number}' if number > 1 else ''}"


def _client(halves: Sequence[_Half]) -> _Half | None:
    """The client's half, where it is known which that is."""
    clients = [half for half in halves if not half.server and half.of is None]
    return clients[0] if len(clients) == 1 else None


def _parent(halves: Sequence[_Half], child: _Half) -> _Half | None:
    """The half of a parent that a span belongs to: that of its place, the client's in doubt.

    A server's half comes after its client's, and of the place of that it knows nothing. None where the
    half is not in the log: the server's half alone says that there was a client's.
    """
    known = [half for half in halves if half.of is None]
    same = [half for half in known if half.service == child.service and not child.shared]
    if len(same) > 1 or any(half.host != child.host and half.host and child.host for half in same):
        same = [half for half in same if half.host == child.host != ""]
    if len(same) == 1 and not same[0].endless:
        return same[0]
    return known[0] if len(known) == 1 and not known[0].shared else _client(known)


def _joined(reports: list[Span]) -> Span:
    """Several reports of one half as one span."""
    span = reports[0]
    for other in reports[1:]:
        span.start = _least(span.start, other.start)
        span.end = max((end for end in (span.end, other.end) if end is not None), default=None)
        span.label, span.kind = span.label or other.label, span.kind or other.kind
        span.links = (*span.links, *other.links)
        span.attributes = {**other.attributes, **span.attributes}
    return span


def _least(one: int | None, other: int | None) -> int | None:
    return min((time for time in (one, other) if time is not None), default=None)


def attributes_of(
    attributes: Mapping[str, object], service: str, kind: str, trace: str, identity: str, time: int | None
) -> dict[str, object]:
    """The attributes of an event of a span: what the log says of it, and what is known.

    >>> attributes_of({"n": 1}, "shop", "", "t", "a", None)
    {'n': 1, 'service': 'shop', 'trace_id': 't', 'span_id': 'a'}
    """
    known = {"service": service, "kind": kind, "trace_id": trace, "span_id": identity, "time": time}
    every = {**attributes, **known}
    if not kind:
        del every["kind"]
    if "" not in every.values() and None not in every.values():
        return every
    return {name: value for name, value in every.items() if value not in ("", None)}


def check_times(
    report: Report,
    identity: str,
    start: int | None,
    end: int | None,
    earlier: Mapping[str, int | None],
    file: str,
    line: int,
) -> None:
    """Report what is odd about the times of a span; `earlier` has those of what began it."""
    if start is None or end is None:
        message = f"the span {identity} has no {'start' if start is None else 'end'}"
        report.add("missing-time", message, file=file, line=line)
    elif end < start:
        report.add("clock-inversion", f"the span {identity} ends before it starts", file=file, line=line)
    for name, time in earlier.items():
        if time is not None and start is not None and time > start:
            message = f"the span {identity} starts before {name}, which began it"
            report.add("clock-inversion", message, file=file, line=line)


def called(service: str, label: str) -> str:
    """What a span is called by its service and operation, but for its number."""
    return ".".join(filter(None, (service, label))) or "span"


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
