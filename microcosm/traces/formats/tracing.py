"""The files of distributed tracing: OpenTelemetry's JSON, Jaeger's, Zipkin's, and Nezha's columns.

`otlp`: documents `{"resourceSpans": […]}`, one or many. Kinds are numbers or names, 64-bit numbers may be
text, and the hexadecimal digits of ids in either case. Older documents have `instrumentationLibrarySpans`
where newer ones have `scopeSpans`. Tempo answers with `{"batches": […]}` or
`{"trace": {"resourceSpans": […]}}`, and ids in base64, which are in hexadecimal digits elsewhere; Jaeger with
`{"result": {"resourceSpans": […]}}`.

Lines of the Collector that hold log records or metrics are told of and left out.

`console`: what OpenTelemetry's `ConsoleSpanExporter` prints in Python, an object a span.

`jaeger`: the JSON of its user interface, `{"data": [{"traceID": …, "spans": […], "processes": {…}}]}`, or the
spans alone that it keeps in Elasticsearch, as `_source` of what that answers (`hits`) or dumps; or protobuf's
JSON, with `traceId` in base64, dates, and units of lengths. The first reference CHILD_OF of a span within
its trace names its parent; all others are links.

`zipkin`: its JSON: arrays of spans, arrays of such, or a span a line. The two sides of a call may share the
id of a span: the server's half is marked `shared` and comes after the client's. In version 1, where sides are
told by annotations (`cs`, `cr`, `sr`, `ss`), they always may.

`nezha`: comma-separated values below a line with the names of the columns,
`TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration`. The parent of a
first span is `root`.

What spans prove stands in `microcosm.traces.formats.span`.
"""

from __future__ import annotations

import csv
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from string import hexdigits
from sys import intern

from microcosm.errors import TraceError
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.span import Span, Spans, text_of, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import Elements, marks_in, of_json, units
from microcosm.traces.text.lines import Lines

SCOPES = ("scopeSpans", "instrumentationLibrarySpans")
"""Under which names the spans of a resource stand, in newer documents and in older ones."""

_OTLP_KEYS = frozenset(("resourceSpans", "batches"))
_AROUND = frozenset(("trace", "result"))
_NO_SPANS = frozenset(("resourceLogs", "resourceMetrics", "resourceProfiles"))
_INNER = (frozenset(SCOPES), frozenset(("spans",)))
_HEXADECIMAL = frozenset(hexdigits)
_KINDS = ("", "internal", "server", "client", "producer", "consumer")


def detects_otlp(head: str, path: str) -> int:
    """2 where JSON has a key under which spans stand."""
    return max(of_json(mark)(head, path) for mark in ("resourceSpans", *SCOPES))


Found = Iterable[tuple[Span | None, int]]
"""Spans, each with its line; None for what is no span."""


def _reader(
    spans_of: Callable[[Lines, str, Report], Found], wanted: str, lines: int = 0
) -> Callable[[Lines, str, Report, Options], Iterator[TraceEvent]]:
    """What reads a file: two events for each span, which come after the last file."""

    def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
        known = options.one(Spans, report)
        for span, line in spans_of(stream, file, report):
            if span is None:
                message = f"not a span: {wanted} expected"
                report.add("bad-line", message, file=file, line=line, lost=2, lines=lines)
            else:
                span.line = line
                known.add(span, file)
        yield from ()

    return read


def _alone(
    span_of: Callable[[dict[str, object]], Span | None], mark: str, around: frozenset[str] | None = None
) -> Callable[[Lines, str, Report], Found]:
    """The spans of a format that has each in an object of its own, with such a `mark`."""

    def spans_of(stream: Lines, file: str, report: Report) -> Found:
        found = units(stream, frozenset(), file, report, mark=mark, around=around)
        return ((span_of(unit.value), unit.line) for unit in found)

    return spans_of


def _of_scopes(stream: Lines, file: str, report: Report) -> Found:
    for service, records in otlp_spans(stream, file, report):
        for record, line in zip(records, records.lines, strict=True):
            yield _otlp_span(record, service), line


def otlp_spans(stream: Lines, file: str, report: Report) -> Iterator[tuple[str, Elements]]:
    """The spans of each scope as objects, and the service that they are of; what holds none is reported."""
    read = units(stream, _OTLP_KEYS, file, report, _INNER, "spanId", around=_AROUND, beside=_NO_SPANS)
    for unit in read:
        resource = unit.value
        scopes = [scope for name in SCOPES for scope in _objects(resource.get(name))]
        if left_out := sorted(_NO_SPANS & resource.keys()):
            message = f"`{left_out[0]}` holds no spans, and is left out"
            lost = marks_in(resource, "observedTimeUnixNano") or marks_in(resource, "severityText")
            report.add("unparsed-text", message, file=file, line=unit.line, lost=lost, lines=1)
        elif not scopes and not any(name in resource for name in SCOPES):
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


def _otlp_span(record: dict[str, object], service: str) -> Span | None:
    trace, identity = otlp_id(record.get("traceId")), otlp_id(record.get("spanId"))
    if not trace or not identity:
        return None
    return Span(
        trace,
        identity,
        otlp_id(record.get("parentSpanId")) or None,
        service,
        text_of(record.get("name")),
        kind_of(record.get("kind")),
        time_of(record.get("startTimeUnixNano")) or None,
        time_of(record.get("endTimeUnixNano")) or None,
        links=otlp_links(record.get("links"), trace),
        attributes=otlp_attributes(record.get("attributes")),
    )


def otlp_id(value: object) -> str:
    """The id of a trace or a span, in small hexadecimal digits where it is in others or in base64.

    >>> otlp_id("5B8EFFF798038103"), otlp_id("W47/95gDgQM="), otlp_id("Any other =")
    ('5b8efff798038103', '5b8efff798038103', 'Any other =')
    """
    text = text_of(value)
    if text.endswith("=") and len(text) in (12, 24):
        with suppress(ValueError):
            found = b64decode(text, validate=True)
            if len(found) in (8, 16) and b64encode(found).decode() == text:
                return found.hex()
    return text if text.islower() or set(text) - _HEXADECIMAL else text.lower()


def otlp_links(value: object, trace: str) -> tuple[tuple[str, str], ...]:
    """The traces and spans that a span of some trace links to."""
    return tuple(
        (otlp_id(link.get("traceId")) or trace, otlp_id(link["spanId"]))
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
    return intern(kind) if kind in _KINDS else ""


def otlp_attributes(value: object) -> dict[str, object]:
    """Attributes `[{"key": k, "value": {"stringValue": v}}]` as an object."""
    found = {}
    for one in _objects(value):
        key, wrapped = one.get("key"), one.get("value")
        if type(key) is str and type(wrapped) is dict and wrapped:
            found[key] = next(iter(wrapped.values()))
    return found


def _console_span(record: dict[str, object]) -> Span | None:
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

    >>> _moment("1970-01-01T00:00:01.5Z"), _moment("1970-01-01T02:00:01.123456789+02:00")
    (1500000000, 1123456789)
    """
    second, _, fraction = text_of(value).partition(".")
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    try:
        moment = datetime.fromisoformat(second + fraction[len(digits) :])
    except ValueError:
        return None
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + int(f"{digits[:9]:0<9}")


_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LENGTH = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)(ns|us|µs|ms|s|m|h)")


def _length(value: object) -> int | None:
    """A length of time with units as nanoseconds.

    >>> _length("100000ns"), _length("0.1s"), _length("1m1.5ms"), _length("")
    (100000, 100000000, 60001500000, None)
    """
    parts = _LENGTH.findall(text_of(value))
    return round(sum(Decimal(number) * _UNITS[unit] for number, unit in parts)) if parts else None


_JAEGER_KEYS = frozenset(("data", "hits"))
_HITS = frozenset(("hits",))
_SPANS = frozenset(("spans",))
_VALUES = ("value", "vStr", "vBool", "vInt64", "vFloat64", "vBinary")
"""Under which names the value of a tag stands, in the interface's JSON and in protobuf's."""


def detects_jaeger(head: str, path: str) -> int:
    """2 where JSON has spans under that key, 1 where spans may stand alone, or be protobuf's."""
    alone = (
        of_json(*ids, "operationName", in_object=1) for ids in (("traceID", "spanID"), ("traceId", "spanId"))
    )
    return max(of_json("traceID", "spanID", "spans")(head, path), *(form(head, path) for form in alone))


def _jaeger_spans(stream: Lines, file: str, report: Report) -> Found:
    mark = "spanId" if '"spanId"' in stream.head and '"spanID"' not in stream.head else "spanID"
    for unit in units(stream, _JAEGER_KEYS, file, report, (_SPANS,), mark, around=_HITS):
        records, processes = unit.value.get("spans"), unit.value.get("processes")
        alone = unit.value.get("_source", unit.value)  # as Elasticsearch keeps a span
        if type(alone) is dict and mark in alone:
            records = Elements([alone], unit.line)
        if not isinstance(records, Elements):
            lost = 2 * max(1, marks_in(unit.value, mark))
            report.add("bad-line", "not a trace: `spans` is missing", file=file, line=unit.line, lost=lost)
            continue
        known = processes if type(processes) is dict else {}
        for one in _objects(unit.value.get("processMap")):
            known[text_of(one.get("processId"))] = one.get("process")
        for record, line in zip(records, records.lines, strict=True):
            yield _jaeger_span(record, text_of(unit.value.get("traceID")), known), line


def _jaeger_id(record: dict[str, object], of: str) -> str:
    return text_of(record.get(f"{of}ID")) or otlp_id(record.get(f"{of}Id"))


def _jaeger_span(record: dict[str, object], trace: str, processes: dict[str, object]) -> Span | None:
    trace = _jaeger_id(record, "trace") or trace
    identity = _jaeger_id(record, "span")
    if not trace or not identity:
        return None
    parent = text_of(record.get("parentSpanID")) or None
    links = []
    for one in _objects(record.get("references")):
        if target := _jaeger_id(one, "span"):
            of = _jaeger_id(one, "trace") or trace
            kind = one.get(
                "refType", "CHILD_OF" if "spanId" in one else None
            )  # protobuf leaves out what is usual
            if kind == "CHILD_OF" and of == trace and parent in (None, target):
                parent = target
            else:
                links.append((of, target))
    tags: dict[str, object] = {}
    for tag in _objects(record.get("tags")):
        if type(key := tag.get("key")) is str:
            tags[key] = next((tag[name] for name in _VALUES if name in tag), None)
    process = record.get("processID", record.get("processId"))
    service = processes.get(text_of(process)) or record.get("process")
    start, duration = time_of(record.get("startTime")), time_of(record.get("duration"))
    if start is None:
        start, duration = _moment(record.get("startTime")), _length(record.get("duration"))
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
        attributes=tags,
    )


_CORE = {"cs": "client", "cr": "client", "sr": "server", "ss": "server"}
"""The annotations by which version 1 says whose half of a call a span is."""


def _zipkin_span(record: dict[str, object]) -> Span | None:
    trace, identity = text_of(record.get("traceId")), text_of(record.get("id"))
    if not trace or not identity:
        return None
    endpoint, tags = record.get("localEndpoint"), record.get("tags")
    start, duration = time_of(record.get("timestamp")), time_of(record.get("duration"))
    kind, shared = text_of(record.get("kind")).lower(), record.get("shared") is True
    core = [one for one in _objects(record.get("annotations")) if text_of(one.get("value")) in _CORE]
    if core and not kind and endpoint is None:
        sides = {_CORE[text_of(one["value"])] for one in core}
        times = [time for one in core if (time := time_of(one.get("timestamp"))) is not None]
        kind, endpoint = sides.pop() if len(sides) == 1 else "", core[0].get("endpoint")
        shared = kind == "server"
        if start is None and times:
            start, duration = min(times), max(times) - min(times) if len(core) > 1 else None
    return Span(
        trace,
        identity,
        text_of(record.get("parentId")) or None,
        text_of(endpoint.get("serviceName")) if type(endpoint) is dict else "",
        text_of(record.get("name")),
        kind,
        start,
        None if start is None or duration is None else start + duration,
        shared,
        attributes=tags if type(tags) is dict else {},
        host=text_of(endpoint.get("ipv4")) or text_of(endpoint.get("ipv6")) if type(endpoint) is dict else "",
    )


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


def _nezha_spans(stream: Lines, file: str, report: Report) -> Found:
    columns: list[int] = []
    header: list[str] = []
    for number, text in stream.filled():
        fields = _fields(text)
        if not columns:
            missing = [name for name in _COLUMNS if name not in fields]
            if missing:
                raise TraceError(f"the columns {', '.join(missing)} are missing", file=file, line=number)
            columns, header = [fields.index(name) for name in _COLUMNS], fields
        elif fields == header:
            continue  # where files were put together
        elif not max(columns) < len(fields) <= len(header) or not all(fields[at] for at in columns[:2]):
            yield None, number
        else:
            trace, identity, parent, pod, name, start, end = (fields[column] for column in columns)
            above = None if parent in _NO_PARENT else parent
            yield Span(trace, identity, above, pod, name, "", time_of(start), time_of(end)), number


def _fields(text: str) -> list[str]:
    try:
        return next(csv.reader((text,)))
    except csv.Error:
        return []


read_otlp = _reader(_of_scopes, "`traceId` and `spanId` are")
read_console = _reader(_alone(_console_span, "span_id"), "a `context` with `trace_id` and `span_id` is")
read_jaeger = _reader(_jaeger_spans, "`traceID` and `spanID` are")
read_zipkin = _reader(_alone(_zipkin_span, "traceId", frozenset()), "`traceId` and `id` are")
read_nezha = _reader(_nezha_spans, "`TraceID` and `SpanID`, and a field for each column, are", lines=1)
