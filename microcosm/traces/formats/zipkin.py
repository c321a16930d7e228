"""Zipkin's JSON, version 2: arrays of spans, or a span a line.

The two sides of a call may share the id of a span: the server's half is marked `shared` and comes
after the client's.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.spans import Span, Spans, text_of, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import Unit, units
from microcosm.traces.text.lines import Lines


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
