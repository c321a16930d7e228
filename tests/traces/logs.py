"""Logs for tests: written where a test may write, read back with their report."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.options import Options, Waiting
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines

REAL = Path(__file__).parents[2].parent / "shared" / "traces"
"""Real logs, where there are any."""


def read_text(
    text: str | bytes, format: str = "jsonl", pattern: str | None = None, report: Report | None = None
) -> tuple[list[TraceEvent], Report]:
    """The events of a text in a format, and what was reported."""
    report = Report() if report is None else report
    content = text.encode() if isinstance(text, str) else text
    stream, options = Lines(BytesIO(content), "<test>", report), Options(pattern)
    events = list(formats.format_of(format).read(stream, "<test>", report, options))
    for kept in options.state.values():
        events += kept.rest() if isinstance(kept, Waiting) else ()
    return events, report


def told(report: Report) -> list[tuple[str, int | None]]:
    """The kind and line of each irregularity, in the order in which they were found."""
    return [(found.kind, found.line) for found in report.findings]


Damage = Callable[[list[str], int], object]
"""Does something to lines at a place."""


def damaged(lines: list[str], damages: list[tuple[int, int, int]], wrong: str, *others: Damage) -> list[str]:
    """Lines, some repeated, cut, given a `wrong` sign or set apart; further damages are what `others` do."""
    for where, what, how in damages:
        at = where % len(lines)
        line = lines[at]
        if what == 0:
            lines.insert(at, line)
        elif what == 1:
            lines[at] = line[: how % (len(line) + 1)]
        elif what == 2:
            lines[at] = line[:how] + wrong + line[how:]
        elif what == 3:
            lines.insert(at, "")
        else:
            others[what - 4](lines, at)
    return lines


def closed(before: dict[int, set[int]]) -> dict[int, int]:
    """All that comes before each of some numbers, as bits; the nearest are given, and lie on no circle."""
    found: dict[int, int] = {}
    for first in before:
        path = [first]
        while path:
            missing = [one for one in before[path[-1]] if one not in found]
            if missing:
                path.append(missing[0])
                continue
            one = path.pop()
            found[one] = 0
            for near in before[one]:
                found[one] |= found[near] | 1 << near
    return found
