"""Logs as the commands read them: the options that say how, what is odd about them, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, output

if TYPE_CHECKING:
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Irregularity, Report

SAID = 5
"""So many irregularities of a kind are told one by one; the rest are counted."""

Format = Annotated[
    str | None, typer.Option("--format", metavar="F", help="The format, where the log does not tell.")
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="REGEX", help="Records of a text log: groups event, host and clock."),
]
Execution = Annotated[
    str | None, typer.Option("--trace", metavar="NAME", help="One execution of several in the log.")
]
StrictLog = Annotated[bool, typer.Option("--strict", help="An irregularity of the log is an error.")]


def events_of(
    traces: list[str], format: str | None, pattern: str | None, report: Report, trace: str | None
) -> Iterator[TraceEvent]:
    """The events of some logs. Raises `UsageError` for an unknown format, `TextError` as readers do."""
    from microcosm.traces import reading as formats

    known_format(format)
    return formats.read(traces, format=format, pattern=pattern, report=report, trace=trace)


def known_format(format: str | None) -> None:
    """Refuse a format that there is not. Raises `UsageError`."""
    from microcosm.traces import reading as formats

    if format is not None and format not in formats.names():
        hint = formats.nearest(format, formats.names(), "Formats")
        raise exits.UsageError(f"no trace format {format!r}. {hint}")


def report_of(strict: bool) -> Report:
    """A report that tells the first irregularities of each kind as they are found."""
    from microcosm.traces.report import Report

    def tell(found: Irregularity) -> None:
        if report.counts[found.kind] <= SAID:
            output.warn(str(found))

    report = Report(strict, each=tell)
    return report


def told_rest(report: Report) -> None:
    """How many irregularities of each kind were not told one by one."""
    for kind, count in report.counts.items():
        if count > SAID:
            output.warn(f"{count - SAID:,} more of [{kind}]")
