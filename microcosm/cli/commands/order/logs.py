"""The logs that `order` is asked about: which of the files are one log, read and reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from microcosm.cli.logs import events_of, report_of
from microcosm.files import STDIN, display_name

if TYPE_CHECKING:
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Irregularity, Report


@dataclass(frozen=True, slots=True)
class Log:
    """Some files that are one log, as they were named, its events, and what is odd about it."""

    files: list[str]
    events: Iterable[TraceEvent]
    report: Report


def logs_of(
    traces: list[str],
    format: str | None,
    pattern: str | None,
    trace: str | None,
    strict: bool,
    together: bool | None,
) -> list[Log]:
    """The logs of some files, in the order of their first files.

    `together` says whether all are one log (True), each is one (False), or what they hold tells (None):
    then each is read by itself, and what may be one log once more as such. Raises as readers do.
    """
    from microcosm.traces.reading import parts_of_logs, picked
    from microcosm.traces.report import Report

    def log(files: list[str]) -> Log:
        report = report_of(strict)
        return Log(files, events_of(files, format, pattern, report, trace), report)

    if together or len(traces) == 1:
        return [log(traces)]
    if together is False:
        return [log([file]) for file in traces]
    found: list[list[Irregularity]] = [[] for _ in traces]
    alone = [
        [*events] if trace is None else picked(events, trace, Report())[0]
        for events in (
            events_of([file], format, pattern, Report(each=irregularities.append), None)
            for file, irregularities in zip(traces, found, strict=True)
        )
    ]

    def read_together(files: Sequence[str]) -> Iterable[TraceEvent]:
        if STDIN in files:  # it can be read only once
            return [event for file in files for event in alone[traces.index(file)]]
        events = events_of(list(files), format, pattern, Report(), None)
        return events if trace is None else picked(events, trace, Report())[0]

    shown = [display_name(file) for file in traces]
    by_name = dict(zip(shown, traces, strict=True))
    groups = parts_of_logs(shown, alone, lambda files: read_together([by_name[file] for file in files]))
    logs = []
    for group in groups:
        files = [traces[at] for at in group]
        if (len(group) > 1 or trace is not None) and STDIN not in files:
            logs.append(log(files))
            continue
        report = report_of(strict)
        for irregularity in (each for at in group for each in found[at]):
            report.repeat(irregularity)
        logs.append(Log(files, [event for at in group for event in alone[at]], report))
    return logs
