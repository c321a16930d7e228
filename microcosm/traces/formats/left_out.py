"""What a log leaves out where its meaning is plain: positions, and whether a message is sent or received.

A line without a position stands where the lines of its process in its file put it. A line that names a
message, and neither says what it does with it nor to whom, receives it where another process sends it; that
may stand in a later line, or in another file, so that what follows waits. Where the meaning is not plain
nothing is made up: the line is reported.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from microcosm.traces.event import SENDS, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_text import BadLine

_NAME = "left out"

_REMEMBERED = 1_000
"""Of a log that says of so many sendings in a row what they are, and left nothing out, none is remembered."""

Place = tuple[str | None, str]


class LeftOut:
    """What is known of the files of a log for the sake of lines that leave something out.

    Memory: a few words for each process that has no positions, and for each message, as far as some line left
    out what it does with one; and the events that wait.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._home: dict[Place, str] = {}
        self.counts: dict[Place, int] = {}
        """How many lines of a process have no positions."""
        self._called: dict[str, str] = {}
        """The short name of each file, where no other has it."""
        self._told: set[str] = set()
        self._sent: dict[Place, tuple[str, str] | None] = {}
        """Who sent a message and how, by execution and message; None where it is not plain."""
        self._stated = 0
        self.remembers = True
        """Whether sendings are kept in mind."""
        self.waiting: deque[TraceEvent] = deque()
        """What waits for a sending, and what came after it."""

    @classmethod
    def of(cls, options: Options, report: Report) -> LeftOut:
        """That of a log: a message may be sent in one file and received in another."""
        return options.shared(_NAME, lambda: cls(report, options))

    # -- positions -------------------------------------------------------------------------------------

    def place(self, process: str, trace: str | None, file: str, line: int) -> tuple[str, int]:
        """The process of a line without a position, and its position there.

        Nothing orders the lines of two files: what a process does in a later one is a process of its own.
        Raises `BadLine` where other lines of the process have positions.
        """
        if self._home.setdefault((trace, process), file) != file:
            process = self._elsewhere(process, file, line)
        place = trace, process
        if place not in self.counts and self._options.positions_of(trace, process).top:
            raise BadLine(f"`seq` is missing, which other lines of {process} have")
        position = self.counts[place] = self.counts.get(place, 0) + 1
        return process, position

    def check_stated(self, process: str, trace: str | None) -> None:
        """Raise `BadLine` where a line has a position and those before it in its process have none."""
        if self.counts and (trace, process) in self.counts:
            raise BadLine(f"`seq` is given, which the lines of {process} before it do not have")

    def called(self, file: str) -> str:
        """A short name of a file, which no other file of the log has."""
        if file not in self._called:
            short = os.path.basename(file)
            self._called[file] = file if short in self._called.values() else short
        return self._called[file]

    def _elsewhere(self, process: str, file: str, line: int) -> str:
        name = f"{process} ({self.called(file)})"
        if name not in self._told:
            self._told.add(name)
            said = f"{process} stands in several files, which nothing orders: what it does here is {name}"
            self._report.add("scattered-process", said, file=file, line=line)
        return name

    # -- sendings and receptions -----------------------------------------------------------------------

    def settled(self, event: TraceEvent) -> Iterator[TraceEvent]:
        """The events that may go on, in the order in which they came; a kind that was left out is ``""``."""
        if event.kind in SENDS and event.message is not None and self.remembers:
            self._remember(event)
        if event.kind and not self.waiting:
            yield event
            return
        self.waiting.append(event)
        yield from self._released(False)

    def rest(self) -> Iterator[TraceEvent]:
        """The events that waited for a sending, wherever it stands; where there is none, that is told."""
        yield from self._released(True)

    def remember_all(self) -> None:
        """Keep all sendings in mind: a line left something out."""
        self._stated = -(2**62)

    def _remember(self, event: TraceEvent) -> None:
        self._stated += 1
        if self._stated > _REMEMBERED:
            self.remembers = False
            self._sent = {}
            return
        key, sender = (event.trace, event.message or ""), (event.process, event.kind)
        known = self._sent.setdefault(key, sender)
        if known != sender:
            self._sent[key] = None

    def _released(self, final: bool) -> Iterator[TraceEvent]:
        while self.waiting:
            event = self.waiting[0]
            if not event.kind:
                sender = self._sent.get((event.trace, event.message or ""))
                if sender is not None and sender[0] != event.process:
                    event.kind = SENDS[sender[1]]
                elif not final:
                    return
                else:
                    self._not_plain(event)
            self.waiting.popleft()
            if event.kind:
                yield event

    def _not_plain(self, event: TraceEvent) -> None:
        said = f"{event.process} does not say whether it sends or receives {event.message}: `kind` is missing"
        hint = "where it sends, `to` would say so; where it receives, a sending by one other process"
        self._report.add("bad-line", f"{said} ({hint})", file=event.file, line=event.line, lost=1, lines=1)
