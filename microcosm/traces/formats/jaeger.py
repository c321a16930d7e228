"""The JSON of Jaeger's user interface: `{"data": [{"traceID": …, "spans": […], "processes": {…}}]}`.

See `microcosm.traces.formats.spans`. The first reference CHILD_OF of a span within its trace names its
parent; all others are links.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.spans import Span, Spans, text_of, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import Elements, Unit, marks_in, units
from microcosm.traces.text.lines import Lines

_JAEGER_KEYS = frozenset(("data",))
_SPANS = frozenset(("spans",))


def detects_jaeger(head: str, path: str) -> int:
    """2 where the text begins as JSON and has Jaeger's fields."""
    return 2 * (head.lstrip()[:1] in ("[", "{") and '"traceID"' in head and '"spanID"' in head)


def read_jaeger(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each span; what is no trace or no span is reported as `bad-line`."""
    spans = Spans.of(options, report)
    for unit in units(stream, _JAEGER_KEYS, file, report, (_SPANS,), "spanID"):
        records, processes = unit.value.get("spans"), unit.value.get("processes")
        if not isinstance(records, Elements):
            lost = 2 * max(1, marks_in(unit.value, "spanID"))
            report.add("bad-line", "not a trace: `spans` is missing", file=file, line=unit.line, lost=lost)
            continue
        known = processes if type(processes) is dict else {}
        for record, line in zip(records, records.lines, strict=True):
            span = _jaeger_span(record, line, unit, known)
            if span is None:
                message = "not a span: `traceID` and `spanID` are expected"
                report.add("bad-line", message, file=file, line=line, lost=2)
            else:
                spans.add(span, file)
    yield from ()


def _jaeger_span(record: dict[str, object], line: int, unit: Unit, processes: dict[str, object]) -> Span | None:
    trace = text_of(record.get("traceID")) or text_of(unit.value.get("traceID"))
    identity = text_of(record.get("spanID"))
    if not trace or not identity:
        return None
    parent = text_of(record.get("parentSpanID")) or None
    links = []
    for kind, target in _references(record, trace):
        if kind == "CHILD_OF" and target[0] == trace and parent in (None, target[1]):
            parent = target[1]
        else:
            links.append(target)
    tags = _tags(record.get("tags"))
    service = processes.get(text_of(record.get("processID"))) or record.get("process")
    start, duration = time_of(record.get("startTime")), time_of(record.get("duration"))
    return Span(
        trace,
        identity,
        parent,
        text_of(service.get("serviceName")) if type(service) is dict else "",
        text_of(record.get("operationName")),
        text_of(tags.get("span.kind")).lower(),
        start,
        None if start is None or duration is None else start + duration,
        links=tuple(links),
        line=line,
        attributes=tags,
    )


def _references(record: dict[str, object], trace: str) -> Iterator[tuple[str, tuple[str, str]]]:
    references = record.get("references")
    for one in references if type(references) is list else ():
        if type(one) is dict and text_of(one.get("spanID")):
            target = text_of(one.get("traceID")) or trace, text_of(one["spanID"])
            yield text_of(one.get("refType")), target


def _tags(tags: object) -> dict[str, object]:
    return {
        tag["key"]: tag.get("value")
        for tag in (tags if type(tags) is list else ())
        if type(tag) is dict and type(tag.get("key")) is str
    }
