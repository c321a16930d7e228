"""CSight's logs of one event a line: process, vector time, what happened.

    4 0,0,0,1,2 recv 1 0 3 4

Processes are the numbers of the entries of the clock. The last word of a `send` or `recv` names the
message. Events that neither send nor receive need not tick, so that several may show equal clocks:
the order of lines is the program order. Another execution begins after a line of dashes or `=== … ===`, and
where the own entry of a process falls.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cache

from microcosm.traces.event import LARGEST, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_text import BadLine
from microcosm.traces.text.lines import Lines
from microcosm.traces.text.records import between_executions

NAME = "csight"

_EVENT = re.compile(r"\s*(\d+)\s+(\d+(?:,\d+)*)\s+(\S.*?)\s*")
_KINDS = {"send": "send", "recv": "receive"}
_LOOKED_AT = 20


def detects(head: str, path: str) -> int:
    """2 where one of the first lines has a process, a clock of several entries and a text."""
    found = map(_EVENT.fullmatch, head.split("\n")[:_LOOKED_AT])
    return 2 * any(one is not None and "," in one[2] for one in found)


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`. Memory: what has been seen."""
    run = options.state.setdefault(NAME, LineRun())
    assert isinstance(run, LineRun)
    for number, text in stream:
        if not text or text.isspace():
            continue
        boundary = between_executions(number, text)
        if boundary is not None:
            run.begin(options, boundary.name)
            continue
        try:
            process, clock, label = _event(text)
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
            continue
        word, *rest = label.split()
        kind = _KINDS.get(word, "internal")
        ticks = kind != "internal"
        if not run.take(
            process, clock[process], text.strip(), options, report, ticks=ticks, file=file, line=number
        ):
            continue
        taken = options.positions_of(run.trace, process)
        taken.add(taken.top + 1)
        message = rest[-1] if kind != "internal" and rest else None
        yield TraceEvent(
            process,
            taken.top,
            kind,
            message,
            clock=clock,
            label=label,
            trace=run.trace,
            file=file,
            line=number,
            numbered=True,
        )


@dataclass(slots=True)
class LineRun:
    """The execution at hand of a log whose lines are the program order; it may go on in another file.

    There the own clock value of a process never falls: where it does, a line that was there before is
    there again, or another execution has begun. `seen` has the lines, by process.
    """

    trace: str | None = None
    highest: dict[str, int] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)

    def begin(self, options: Options, name: str | None = None) -> None:
        """What follows is another execution. Before the first event that is said of a name only."""
        if self.seen or name is not None:
            options.begun = max(options.begun, bool(self.seen))
            self.trace = options.begin(name)
        self.highest, self.seen = {}, {}

    def take(
        self,
        process: str,
        own: int,
        text: Hashable,
        options: Options,
        report: Report,
        *,
        ticks: bool,
        file: str,
        line: int,
    ) -> bool:
        """Whether a line is an event that has not been seen; one that cannot go on begins an execution.

        `text` is what it says. `ticks`: the event cannot but advance its process's component.
        """
        said = hash(text)
        known = self.seen.get(process, ())
        if said in known:
            message = f"{process}: the same line stands there already"
            report.add("duplicate-event", message, file=file, line=line, lost=1, lines=1)
            return False
        highest = self.highest.get(process, 0)
        if own < highest or (ticks and own == highest > 0):
            message = f"{process}: own clock value {own} after {highest}: another execution begins"
            report.add("restart", message, file=file, line=line)
            self.begin(options)
        self.highest[process] = own
        seen = self.seen.get(process)
        if seen is None:
            seen = self.seen[process] = set()
        seen.add(said)
        return True


def _event(text: str) -> tuple[str, dict[str, int], str]:
    """The process, the clock and the text of a line. Raises `BadLine`."""
    found = _EVENT.fullmatch(text)
    if found is None:
        raise BadLine("not an event: `process 1,0,… what happened` is expected")
    clock = numbered_clock(found[2])
    process = str(int(found[1])) if len(found[1]) < len(str(LARGEST)) else found[1]
    if process not in clock:
        raise BadLine(f"the clock has no entry for process {found[1]}")
    return process, clock, found[3]


def numbered_clock(text: str) -> dict[str, int]:
    """A list of counts as a vector time of numbered processes. Raises `BadLine` beyond 64 bits.

    >>> numbered_clock("2,0,1")
    {'0': 2, '1': 0, '2': 1}
    """
    words = text.split(",")
    digits = len(str(LARGEST))
    if max(map(len, words)) >= digits and any(len(word) > digits or int(word) > LARGEST for word in words):
        raise BadLine("an entry of the clock is beyond 64 bits")
    return dict(zip(_numbers(len(words)), map(int, words), strict=True))


@cache
def _numbers(size: int) -> list[str]:
    """The names of numbered processes."""
    return [*map(str, range(size))]
