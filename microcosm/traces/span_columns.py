"""Spans in columns: the fast lane of `extract` for OTLP.

A span is two events, and what relates it to others are its parent and what it links to. Where no two spans of
a trace have the same id, and no way from parent to parent leads back, that follows from a few passes over
columns: of a span there remain some numbers, its id, its names and its attributes. Parents that are missing,
links into other traces and odd times are told of as ever. Whatever else a log has or lacks is for the careful
reader: then there is no answer here. A property test keeps both of one mind.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress, count, islice, pairwise, repeat
from operator import eq, itemgetter, le
from typing import Any, TypeAlias

from microcosm.givens.columns import OrderColumns
from microcosm.givens.event_table import EventTable, Mapped, Repeated
from microcosm.givens.givens import Givens
from microcosm.order.happens_before import causal_order
from microcosm.traces.columns import Opening
from microcosm.traces.formats.span import attributes_of, called, check_times, text_of, time_of
from microcosm.traces.formats.tracing import kind_of, otlp_attributes, otlp_id, otlp_links, otlp_spans
from microcosm.traces.reading import detect
from microcosm.traces.report import ASSUMED, OF_SEVERAL, OF_SPANS, Extraction, Report

Records: TypeAlias = Sequence[Mapping[str, object]]
Target: TypeAlias = tuple[str, str]
"""A trace and the id of a span."""

_PARENT, _LINK = -1, -2
"""What an edge is, unless it is the number of a span, whose start comes before its end."""

_TOGETHER = 100
"""So many spans, and the rest of a scope, are taken in together."""


def read_spans(openings: Iterable[Opening]) -> SpanLog | None:
    """The columns of a log in some files; None if it is not plain."""
    unseen, log = Report(), SpanLog()
    for opening in openings:
        with opening(unseen) as stream:
            if detect(stream.head, stream.file).NAME != "otlp":
                return None
            log.files.append(stream.file)
            services: list[str] = []
            spans: list[dict[str, object]] = []
            lines: list[int] = []
            for service, records in otlp_spans(stream, stream.file, unseen):
                services += repeat(service, len(records))
                spans += records
                lines += records.lines
                if len(spans) >= _TOGETHER:
                    if unseen.counts or not log.take(services, spans, lines):
                        return None
                    services, spans, lines = [], [], []
        if unseen.counts or not log.take(services, spans, lines):
            return None
    return log if log.settle() else None


class _Columns:
    """The columns of a log, an entry in each for a span."""

    def __init__(self) -> None:
        self.run = array("q")
        """The number of its trace."""
        self.id: list[str] = []
        self.parent: list[str] = []
        """The id of its parent, or nothing."""
        self.links: list[tuple[Target, ...]] = []
        self.call: list[tuple[str, str]] = []
        """Its service and operation."""
        self.kind: list[str] = []
        self.start, self.end = array("Q"), array("Q")
        """Times of day, 0 where there is none."""
        self.attributes: list[dict[str, object] | None] = []
        self.file, self.line = array("q"), array("q")
        """Where it was read: the number of the file, and the line."""


class SpanLog:
    """A log as columns. A span is a number, and its events are twice that and one more.

    When all is read, spans are numbered trace by trace.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        """The names of those that were opened; what is taken is of the last one."""
        self._spans = _Columns()
        self._runs: dict[str, int] = defaultdict(count().__next__)
        """The number of each trace, in the order of appearance."""
        self._calls: dict[tuple[str, str], tuple[str, str]] = {}

    def take(self, services: Iterable[str], records: Records, lines: Sequence[int]) -> bool:
        """Take in spans, each with its service and its line; whether each is one, with times that are numbers
        from 0.
        """
        spans = self._spans
        traces, ids = _ids(records, "traceId"), _ids(records, "spanId")
        if not (all(traces) and all(ids)):
            return False
        spans.run.extend(map(self._runs.__getitem__, traces))
        spans.id += ids
        spans.parent += _ids(records, "parentSpanId")
        links = [record.get("links") for record in records]
        spans.links += map(otlp_links, links, traces) if any(links) else repeat((), len(links))
        calls = [*zip(services, _texts(records, "name"), strict=True)]
        spans.call += map(self._calls.setdefault, calls, calls)
        kinds = [record.get("kind") for record in records]
        spans.kind += map(kind_of, kinds) if any(kinds) else repeat("", len(kinds))
        try:
            spans.start.extend(_times(records, "startTimeUnixNano"))
            spans.end.extend(_times(records, "endTimeUnixNano"))
        except OverflowError:
            return False
        attributes = [record.get("attributes") for record in records]
        spans.attributes += [otlp_attributes(one) if one else None for one in attributes]
        spans.file.extend(repeat(len(self.files) - 1, len(lines)))
        spans.line.extend(lines)
        return True

    def settle(self) -> bool:
        """Whether ids and ways from parent to parent are in order; all is read."""
        spans = self._spans
        many = len(spans.id)
        self._read: Sequence[int] = range(many)
        """When each span was read."""
        if not all(map(le, spans.run, islice(spans.run, 1, None))):
            self._read = sorted(self._read, key=spans.run.__getitem__)
            for name, column in vars(spans).items():
                entries = map(column.__getitem__, self._read)
                setattr(spans, name, array(column.typecode, entries) if type(column) is array else [*entries])
        if not many or not self._relate():
            return False
        children = [*compress(count(), map((-1).__lt__, self._above))]
        parents = [*map(self._above.__getitem__, children)]
        start = spans.start.__getitem__
        self._late = [
            child for parent, child in zip(parents, children, strict=True) if start(parent) >= start(child)
        ]
        """The spans that do not start after their parents."""
        return not self._late or bool(causal_order(many, parents, children))

    def _relate(self) -> bool:
        """Find the parent of each span, and what it links to; whether each id is of one span of its trace."""
        spans = self._spans
        self._above = array("q")
        """The parent of each span; -1 where there is none in the log."""
        self._begins = [0, *accumulate(Counter(spans.run).values())]
        for begin, end in pairwise(self._begins):
            found = dict(zip(spans.id[begin:end], range(begin, end), strict=True))
            if len(found) < end - begin:
                return False
            self._above.extend(map(found.get, spans.parent[begin:end], repeat(-1)))
        parents = enumerate(zip(self._above, spans.parent, strict=True))
        self._missing = {at: parent for at, (above, parent) in parents if above < 0 and parent.strip("0")}
        spans.parent.clear()
        self._targets: dict[int, list[int | str]] = {}
        """What each span links to: another one, or the name of one that is missing."""
        if linking := [*compress(count(), spans.links)]:
            self._link(linking)
        names = chain(self._missing.values(), *self._targets.values())
        return not any(type(name) is str and "#" in name for name in names)  # as in the names of events

    def _link(self, linking: Sequence[int]) -> None:
        """Find what some spans link to. Cost: a pass over all."""
        spans, runs = self._spans, self._runs

        def key(target: Target) -> tuple[int, str]:
            return runs.get(target[0], -1), target[1]

        wanted = {key(target) for at in linking for target in spans.links[at]}
        every = enumerate(zip(spans.run, spans.id, strict=True))
        found = {span: at for at, span in every if span in wanted}
        for at in linking:
            targets = (found.get(key(target), "/".join(target)) for target in spans.links[at])
            self._targets[at] = [*dict.fromkeys(targets)]

    def extraction(self, report: Report) -> Extraction:
        """The microcosm, as `extract` makes it of the same events."""
        spans, many = self._spans, len(self._spans.id)
        self._runs = dict(self._runs)  # as which it can be stored: a counter cannot, from Python 3.14 on
        self._traces = [*self._runs]
        self._several = len(self._runs) > 1
        self._names = [*chain.from_iterable((name, f"{name}/end") for name in self._named())]
        self._check_times(report)
        givens = Givens()
        givens.set_order_columns(links := self._links(report))
        givens.events = self._table()
        related = any(map((-1).__lt__, self._above)) or any(self._within(at) for at in self._targets)
        assumed = any(one.get("assumed") is True for one in spans.attributes if one)
        reasons = (self._several, OF_SEVERAL.format(len(self._runs))), (related, OF_SPANS), (assumed, ASSUMED)
        return Extraction(
            givens=givens,
            events=2 * many,
            processes=many,
            correspondences=len(links),
            reported=dict(report.counts),
            incomplete=tuple(reason for holds, reason in reasons if holds),
        )

    def _named(self) -> list[str]:
        """What each span is called: by its service and operation, numbered by start, trace and id."""
        spans = self._spans
        start, run, traces = spans.start.__getitem__, spans.run.__getitem__, self._traces
        order = sorted(range(len(spans.id)), key=start)
        times = [*map(start, order)]
        if any(map(eq, times, islice(times, 1, None))):
            order.sort(key=lambda at: (start(at), traces[run(at)], spans.id[at]))
        order = [*order[times.count(0) :], *order[: times.count(0)]]  # what has no start comes last
        names = {call: called(*call) for call in self._calls}
        numbered: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
        found = [""] * len(order)
        for at in order:
            name = names[spans.call[at]]
            found[at] = f"{name}#{next(numbered[name])}"
        return found

    def _check_times(self, report: Report) -> None:
        """Report what is odd about times, in the order in which spans were read."""
        spans, above = self._spans, self._above
        times = zip(spans.start, spans.end, strict=True)
        odd = {at for at, (start, end) in enumerate(times) if not 0 < start <= end}
        for at in sorted(odd.union(self._late), key=self._read.__getitem__):
            parent = above[at]
            earlier = {self._names[2 * parent]: spans.start[parent] or None} if parent >= 0 else {}
            start, end = spans.start[at] or None, spans.end[at] or None
            check_times(report, spans.id[at], start, end, earlier, self._file(2 * at), spans.line[at])

    def _within(self, at: int) -> list[int]:
        """The spans of its own trace that a span links to."""
        run = self._spans.run
        return [to for to in self._targets.get(at, ()) if type(to) is int and run[to] == run[at]]

    def _links(self, report: Report) -> OrderColumns:
        """Trace by trace the order of each span, parents and links; then links from one trace to another."""
        lefts, rights, sources = columns = array("q"), array("q"), array("q")

        def put(edges: Sequence[tuple[int, int, int]]) -> None:
            for column, values in zip(columns, zip(*edges, strict=True), strict=False):
                column.extend(values)

        for begin, end in pairwise(self._begins):
            lefts.extend(range(2 * begin, 2 * end, 2))
            rights.extend(range(2 * begin + 1, 2 * end, 2))
            sources.extend(range(begin, end))
            above = enumerate(self._above[begin:end], begin)
            links = [(2 * parent, 2 * at, _PARENT) for at, parent in above if parent >= 0]
            if self._targets:
                own = ((to, at) for at in range(begin, end) for to in self._within(at) if to != at)
                links += [(2 * to, 2 * at + 1, _LINK) for to, at in own]
                links.sort(key=itemgetter(1))
            put(links)
        run = self._spans.run
        for at in sorted({*self._missing, *self._targets}):
            if at in self._missing:
                self._report_missing(2 * at, self._missing[at], report)
            for to in self._targets.get(at, ()):
                if type(to) is str:
                    self._report_missing(2 * at + 1, to, report)
                elif type(to) is int and run[to] != run[at]:
                    put([(2 * to, 2 * at + 1, _LINK)])
        return OrderColumns(self._names, lefts, rights, [Mapped(sources, self._source)])

    def _report_missing(self, event: int, name: str, report: Report) -> None:
        detail = f"{self._names[event]}: {name} is not in the log"
        report.add("unknown-event", detail, file=self._file(event), line=self._place(event))

    def _table(self) -> EventTable:
        """What the log says of each event, line by line: nothing is made for it that is not there already."""
        line, file = self._spans.line, self._spans.file
        many = 2 * len(line)
        events: Sequence[int] = range(many)
        names = self._names
        if not all(all(map(le, column, islice(column, 1, None))) for column in (file, line)):
            order = sorted(sorted(range(len(line)), key=line.__getitem__), key=file.__getitem__)
            events = array("q", chain.from_iterable((2 * at, 2 * at + 1) for at in order))
            names = [*map(names.__getitem__, events)]
        return EventTable(
            names,
            Mapped(events, self._process),
            Mapped(events, _seq),
            Repeated("internal", many),
            Repeated(None, many),
            Mapped(events, self._label),
            Mapped(events, self._trace),
            Mapped(events, self._attributes_of),
            Mapped(events, self._time),
            Repeated(self.files[0], many) if len(self.files) == 1 else Mapped(events, self._file),
            Mapped(events, self._place),
        )

    def _source(self, code: int) -> str:
        """What an edge is called."""
        if code < 0:
            return "parent" if code == _PARENT else "span link"
        return f"process {self._process(2 * code)}"

    def _process(self, event: int) -> str:
        name = self._names[event & ~1]  # below as `in_trace`, which is called a million times
        return f"{self._traces[self._spans.run[event >> 1]]}/{name}" if self._several else name

    def _label(self, event: int) -> str:
        _, label = self._spans.call[event >> 1]
        return f"end of {label}" if event & 1 else label

    def _trace(self, event: int) -> str:
        return self._traces[self._spans.run[event >> 1]]

    def _attributes_of(self, event: int) -> Mapping[str, object]:
        spans, at = self._spans, event >> 1
        own = None if event & 1 else spans.attributes[at]
        known = spans.call[at][0], spans.kind[at], self._trace(event), spans.id[at], self._time(event)
        return attributes_of(own or {}, *known)

    def _time(self, event: int) -> int | None:
        return (self._spans.end if event & 1 else self._spans.start)[event >> 1] or None

    def _file(self, event: int) -> str:
        return self.files[self._spans.file[event >> 1]]

    def _place(self, event: int) -> int:
        return self._spans.line[event >> 1]


def _seq(event: int) -> int:
    return 1 + (event & 1)


def _texts(records: Records, key: str) -> list[str]:
    """What a field of each object has where text is meant."""
    found: list[Any] = [record.get(key, "") for record in records]
    try:
        "".join(found)
    except TypeError:  # not all are texts
        return [*map(text_of, found)]
    return found


def _ids(records: Records, key: str) -> list[str]:
    """The ids that a field of each object has."""
    found = _texts(records, key)
    every = "".join(found)
    return found if every == every.lower() and "=" not in every else [*map(otlp_id, found)]


def _times(records: Records, key: str) -> Iterable[int]:
    """The times that a field of each object has, 0 where there is none."""
    texts = _texts(records, key)
    every = "".join(texts)
    if every.isascii() and every.isdigit() and max(map(len, texts)) < 20 and all(texts):
        return map(int, texts)
    return (time_of(record.get(key)) or 0 for record in records)
