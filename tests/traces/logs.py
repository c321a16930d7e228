"""Logs for tests: written where a test may write, read back with their report."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from microcosm.traces import formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options
from microcosm.traces.report import Report

REAL = Path(__file__).parents[2].parent / "shared" / "traces"
"""Real logs, where there are any."""


def read_text(
    text: str | bytes, format: str = "jsonl", pattern: str | None = None, report: Report | None = None
) -> tuple[list[TraceEvent], Report]:
    """The events of a text in a format, and what was reported."""
    report = Report() if report is None else report
    content = text.encode() if isinstance(text, str) else text
    stream = Lines(BytesIO(content), "<test>", report)
    return list(formats.format_of(format).read(stream, "<test>", report, Options(pattern))), report


def told(report: Report) -> list[tuple[str, int | None]]:
    """The kind and line of each irregularity, in the order in which they were found."""
    return [(found.kind, found.line) for found in report.findings]
