"""The files of distributed tracing: OpenTelemetry's JSON, Jaeger's, Zipkin's, and Nezha's columns.

`otlp`: documents `{"resourceSpans": […]}`, one or many. Kinds are numbers or names, 64-bit numbers may be
text. Older documents have `instrumentationLibrarySpans` where newer ones have `scopeSpans`.

Lines of the Collector that hold log records or metrics are told of and left out.

`console`: what OpenTelemetry's `ConsoleSpanExporter` prints in Python, an object a span.

`jaeger`: the JSON of its user interface, `{"data": [{"traceID": …, "spans": […], "processes": {…}}]}`. The
first reference CHILD_OF of a span within its trace names its parent; all others are links.

`zipkin`: its JSON, version 2: arrays of spans, or a span a line. The two sides of a call may share the id of
a span: the server's half is marked `shared` and comes after the client's.

`nezha`: comma-separated values below a line with the names of the columns,
`TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration`. The parent of a
first span is `root`.

What spans prove stands in `microcosm.traces.formats.spans.span`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime

from microcosm.errors import TraceError
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.spans.span import Span, Spans, text_of, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import Elements, Unit, marks_in, units
from microcosm.traces.text.lines import Lines

_OTLP_KEYS = frozenset(("resourceSpans",))
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")
_NO_SPANS = ("resourceLogs", "resourceMetrics", "resourceProfiles")
_INNER = (frozenset(_SCOPES), frozenset(("spans",)))
_KINDS = ("", "internal", "server", "client", "producer", "consumer")


def detects_otlp(head: str, path: str) -> int:
    """2 where the text begins as JSON and has spans of resources."""
    return 2 * (head.lstrip()[:1] in ("[", "{") and '"resourceSpans"' in head)


def read_otlp(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each span; what is none is reported as `bad-line`. Memory: the largest resource."""
    spans = Spans.of(options, report)
    for service, records in otlp_spans(stream, file, report):
        for record, line in zip(records, records.lines, strict=True):
            span = _otlp_span(record, line, service)
            if span is None:
                message = "not a span: `traceId` and `spanId` are expected"
                report.add("bad-line", message, file=file, line=line, lost=2)
            else:
                spans.add(span, file)
    yield from ()


def otlp_spans(stream: Lines, file: str, report: Report) -> Iterator[tuple[str, Elements]]:
    """The spans of each scope as objects, and the service that they are of; what holds none is reported."""
    for unit in units(stream, _OTLP_KEYS, file, report, _INNER, "spanId"):
        resource = unit.value
        scopes = [scope for name in _SCOPES for scope in _objects(resource.get(name))]
        if others := [name for name in _NO_SPANS if name in resource]:
            message = f"`{others[0]}` holds no spans, and is left out"
            lost = marks_in(resource, "observedTimeUnixNano") or marks_in(resource, "severityText")
            report.add("unparsed-text", message, file=file, line=unit.line, lost=lost, lines=1)
        elif not scopes and not any(name in resource for name in _SCOPES):
            message = "not the spans of a resource: `scopeSpans` is missing"
            lost = 2 * max(1, marks_in(resource, "spanId"))
            report.add("bad-line", message, file=file, line=unit.line, lost=lost)
        described = resource.get("resource")
        attributes = otlp_attributes(described.get("attributes")) if type(described) is dict else {}
        service = text_of(attributes.get("service.name"))
        for scope in scopes:
            records = scope.get("spans")
            if isinstance(records, Elements):
                yield service, records
            elif many := marks_in(scope, "spanId"):
                message = "not the spans of a scope: `spans` is missing"
                report.add("bad-line", message, file=file, line=unit.line, lost=2 * many)


def _objects(value: object) -> list[dict[str, object]]:
    return [one for one in value if type(one) is dict] if isinstance(value, list) else []


def _otlp_span(record: dict[str, object], line: int, service: str) -> Span | None:
    trace, identity = text_of(record.get("traceId")), text_of(record.get("spanId"))
    if not trace or not identity:
        return None
    return Span(
        trace,
        identity,
        text_of(record.get("parentSpanId")) or None,
        service,
        text_of(record.get("name")),
        kind_of(record.get("kind")),
        time_of(record.get("startTimeUnixNano")) or None,
        time_of(record.get("endTimeUnixNano")) or None,
        links=otlp_links(record.get("links"), trace),
        line=line,
        attributes=otlp_attributes(record.get("attributes")),
    )


def otlp_links(value: object, trace: str) -> tuple[tuple[str, str], ...]:
    """The traces and spans that a span of some trace links to."""
    return tuple(
        (text_of(link.get("traceId")) or trace, text_of(link["spanId"]))
        for link in _objects(value)
        if text_of(link.get("spanId"))
    )


def kind_of(value: object) -> str:
    """The kind of a span, given by number or by name.

    >>> kind_of(2), kind_of("SPAN_KIND_SERVER"), kind_of(None)
    ('server', 'server', '')
    """
    if type(value) is int:
        return _KINDS[value] if 0 <= value < len(_KINDS) else ""
    kind = text_of(value).removeprefix("SPAN_KIND_").lower()
    return kind if kind in _KINDS else ""


def otlp_attributes(value: object) -> dict[str, object]:
    """Attributes `[{"key": k, "value": {"stringValue": v}}]` as an object."""
    found = {}
    for one in _objects(value):
        key, wrapped = one.get("key"), one.get("value")
        if type(key) is str and type(wrapped) is dict and wrapped:
            found[key] = next(iter(wrapped.values()))
    return found


def detects_console(head: str, path: str) -> int:
    """2 where the text begins as JSON and has the fields of a span as it is printed."""
    marks = ('"context"', '"trace_id"', '"span_id"', '"parent_id"')
    return 2 * (head.lstrip()[:1] in ("[", "{") and all(mark in head for mark in marks))


def read_console(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each span; objects that are no spans are reported as `bad-line`."""
    spans = Spans.of(options, report)
    for unit in units(stream, frozenset(), file, report, mark="span_id"):
        span = _console_span(unit)
        if span is None:
            message = "not a span: a `context` with `trace_id` and `span_id` is expected"
            report.add("bad-line", message, file=file, line=unit.line, lost=2)
        else:
            spans.add(span, file)
    yield from ()


def _console_span(unit: Unit) -> Span | None:
    record = unit.value
    own = _hexadecimal(record.get("context"))
    if own is None:
        return None
    described, attributes = record.get("resource"), record.get("attributes")
    resource = described.get("attributes") if type(described) is dict else None
    service = resource.get("service.name") if type(resource) is dict else None
    parent = text_of(record.get("parent_id")).removeprefix("0x")
    links = (_hexadecimal(link.get("context")) for link in _objects(record.get("links")))
    return Span(
        own[0],
        own[1],
        parent or None,
        text_of(service),
        text_of(record.get("name")),
        kind_of(text_of(record.get("kind")).replace("SpanKind.", "")),
        _moment(record.get("start_time")),
        _moment(record.get("end_time")),
        links=tuple(link for link in links if link is not None),
        line=unit.line,
        attributes=attributes if type(attributes) is dict else {},
    )


def _hexadecimal(context: object) -> tuple[str, str] | None:
    """The trace and the span of a context, as other formats write them."""
    if type(context) is not dict:
        return None
    trace, span = (text_of(context.get(name)).removeprefix("0x") for name in ("trace_id", "span_id"))
    return (trace, span) if trace and span else None


def _moment(value: object) -> int | None:
    """A date and time as nanoseconds since 1970.

    >>> _moment("1970-01-01T00:00:01.5Z")
    1500000000
    """
    try:
        moment = datetime.fromisoformat(text_of(value)).replace(tzinfo=UTC)
    except ValueError:
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


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


def _jaeger_span(
    record: dict[str, object], line: int, unit: Unit, processes: dict[str, object]
) -> Span | None:
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


def detects_zipkin(head: str, path: str) -> int:
    """2 where the text begins as JSON and has Zipkin's fields."""
    return 2 * (head.lstrip()[:1] in ("[", "{") and '"traceId"' in head and '"id"' in head)


def read_zipkin(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each span; objects that are no spans are reported as `bad-line`."""
    spans = Spans.of(options, report)
    for unit in units(stream, frozenset(), file, report, mark="traceId"):
        span = _zipkin_span(unit)
        if span is None:
            message = "not a span: `traceId` and `id` are expected"
            report.add("bad-line", message, file=file, line=unit.line, lost=2)
        else:
            spans.add(span, file)
    yield from ()


def _zipkin_span(unit: Unit) -> Span | None:
    record = unit.value
    trace, identity = text_of(record.get("traceId")), text_of(record.get("id"))
    if not trace or not identity:
        return None
    endpoint, tags = record.get("localEndpoint"), record.get("tags")
    start, duration = time_of(record.get("timestamp")), time_of(record.get("duration"))
    return Span(
        trace,
        identity,
        text_of(record.get("parentId")) or None,
        text_of(endpoint.get("serviceName")) if type(endpoint) is dict else "",
        text_of(record.get("name")),
        text_of(record.get("kind")).lower(),
        start,
        None if start is None or duration is None else start + duration,
        record.get("shared") is True,
        line=unit.line,
        attributes=tags if type(tags) is dict else {},
        host=_host(endpoint) if type(endpoint) is dict else "",
    )


def _host(endpoint: dict[str, object]) -> str:
    return text_of(endpoint.get("ipv4")) or text_of(endpoint.get("ipv6"))


_COLUMNS = (
    "TraceID",
    "SpanID",
    "ParentID",
    "PodName",
    "OperationName",
    "StartTimeUnixNano",
    "EndTimeUnixNano",
)
_NO_PARENT = ("", "root")


def detects_nezha(head: str, path: str) -> int:
    """2 where the first line names the columns."""
    return 2 * head.lstrip().startswith(",".join(_COLUMNS[:3]))


def read_nezha(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each line; lines that are no spans are reported as `bad-line`."""
    spans = Spans.of(options, report)
    columns: list[int] = []
    header: list[str] = []
    for number, text in stream:
        if not text or text.isspace():
            continue
        fields = _fields(text)
        if not columns:
            missing = [name for name in _COLUMNS if name not in fields]
            if missing:
                raise TraceError(f"the columns {', '.join(missing)} are missing", file=file, line=number)
            columns, header = [fields.index(name) for name in _COLUMNS], fields
        elif fields == header:
            continue  # where files were put together
        elif len(fields) <= max(columns) or not fields[columns[0]] or not fields[columns[1]]:
            message = "not a span: `TraceID` and `SpanID` are expected, and a field for each column"
            report.add("bad-line", message, file=file, line=number, lost=2, lines=1)
        else:
            trace, identity, parent, pod, name, start, end = (fields[column] for column in columns)
            above = None if parent in _NO_PARENT else parent
            times = time_of(start), time_of(end)
            spans.add(Span(trace, identity, above, pod, name, "", *times, line=number), file)
    yield from ()


def _fields(text: str) -> list[str]:
    try:
        return next(csv.reader((text,)))
    except csv.Error:
        return []
