"""Nezha's spans as comma-separated values, below a line with the names of the columns.

    TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration

See `microcosm.traces.formats.spans`. The parent of a first span is `root`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from microcosm.errors import TraceError
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.spans import Span, Spans, time_of
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines

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
