"""OpenTelemetry's JSON: documents `{"resourceSpans": […]}`, one or many.

Kinds are numbers or names, 64-bit numbers may be text. Older documents have `instrumentationLibrarySpans`
where newer ones have `scopeSpans`.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.spans import Span, Spans, text_of, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import Elements, marks_in, units
from microcosm.traces.text.lines import Lines

_OTLP_KEYS = frozenset(("resourceSpans",))
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")
_INNER = (frozenset(_SCOPES), frozenset(("spans",)))
_KINDS = ("", "internal", "server", "client", "producer", "consumer")


def detects_otlp(head: str, path: str) -> int:
    """2 where the text begins as JSON and has spans of resources."""
    return 2 * (head.lstrip()[:1] in ("[", "{") and '"resourceSpans"' in head)


def read_otlp(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each span; what is none is reported as `bad-line`. Memory: the largest resource."""
    spans = Spans.of(options, report)
    for unit in units(stream, _OTLP_KEYS, file, report, _INNER, "spanId"):
        resource = unit.value
        scopes = [scope for name in _SCOPES for scope in _objects(resource.get(name))]
        if not scopes and not any(name in resource for name in _SCOPES):
            message = "not the spans of a resource: `scopeSpans` is missing"
            lost = 2 * max(1, marks_in(resource, "spanId"))
            report.add("bad-line", message, file=file, line=unit.line, lost=lost)
        described = resource.get("resource")
        attributes = _attributes(described.get("attributes")) if type(described) is dict else {}
        service = text_of(attributes.get("service.name"))
        for scope in scopes:
            records = scope.get("spans")
            if not isinstance(records, Elements):
                if many := marks_in(scope, "spanId"):
                    message = "not the spans of a scope: `spans` is missing"
                    report.add("bad-line", message, file=file, line=unit.line, lost=2 * many)
                continue
            for record, line in zip(records, records.lines, strict=True):
                span = _otlp_span(record, line, service)
                if span is None:
                    message = "not a span: `traceId` and `spanId` are expected"
                    report.add("bad-line", message, file=file, line=line, lost=2)
                else:
                    spans.add(span, file)
    yield from ()


def _objects(value: object) -> list[dict[str, object]]:
    return [one for one in value if type(one) is dict] if isinstance(value, list) else []


def _otlp_span(record: dict[str, object], line: int, service: str) -> Span | None:
    trace, identity = text_of(record.get("traceId")), text_of(record.get("spanId"))
    if not trace or not identity:
        return None
    links = [
        (text_of(link.get("traceId")) or trace, text_of(link["spanId"]))
        for link in _objects(record.get("links"))
        if text_of(link.get("spanId"))
    ]
    return Span(
        trace,
        identity,
        text_of(record.get("parentSpanId")) or None,
        service,
        text_of(record.get("name")),
        _kind(record.get("kind")),
        time_of(record.get("startTimeUnixNano")) or None,
        time_of(record.get("endTimeUnixNano")) or None,
        links=tuple(links),
        line=line,
        attributes=_attributes(record.get("attributes")),
    )


def _kind(value: object) -> str:
    """The kind of a span, given by number or by name.

    >>> _kind(2), _kind("SPAN_KIND_SERVER"), _kind(None)
    ('server', 'server', '')
    """
    if type(value) is int:
        return _KINDS[value] if 0 <= value < len(_KINDS) else ""
    kind = text_of(value).removeprefix("SPAN_KIND_").lower()
    return kind if kind in _KINDS else ""


def _attributes(value: object) -> dict[str, object]:
    """Attributes `[{"key": k, "value": {"stringValue": v}}]` as an object."""
    found = {}
    for one in _objects(value):
        key, wrapped = one.get("key"), one.get("value")
        if type(key) is str and type(wrapped) is dict and wrapped:
            found[key] = next(iter(wrapped.values()))
    return found
