"""What a log leaves out where that is plain, what it calls otherwise, and which life of a process it means.

A line without a position stands where the lines of its process in its file put it. A line that names a
message, and neither says what it does with it nor to whom, receives it where another process sends it; that
may stand in a later line, or in another file, so that what follows waits. Where the meaning is not plain
nothing is made up: the line is reported.

Programs of one name, one after the other or at a time, do nothing that is a chain together. A recorder draws
a name for each life of a process, `life`, and writes it in every line, for nothing else tells two lives apart
whatever lines are lost. The first life of a name is called by it, another by both, `alice~pZ8_k3f9`, and
reported. Where a line names what another has done, in `after` or in its clock, it says of which life:
`alice~pZ8_k3f9:5`.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from microcosm.traces.event import SENDS, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.values import BadLine

SHARED, LIVES = "left out", "lives"
"""Under these names `Options.state` has what is known over the files of a log."""

_REMEMBERED = 1_000
"""Of a log that says of so many sendings in a row what they are, and left nothing out, none is remembered."""

FIELDS = frozenset(
    (
        *("process", "seq", "kind", "message", "to", "clock", "stamp"),
        *("label", "attributes", "trace", "id", "after"),
    )
)
"""The fields of an event in the own format, but for the rare `links`, `counted` and `origin`."""
_CALLED = {
    "process": ("host", "node", "actor", "proc", "service", "pid", "who"),
    "seq": ("position", "index", "number", "step"),
    "kind": ("type", "op"),
    "message": ("msg", "msg_id", "message_id", "mid"),
    "to": ("receiver", "receivers", "recipient", "recipients", "dest", "destination", "target"),
    "label": ("event", "text", "name", "what", "description"),
    "clock": ("vc", "vclock", "vector", "vector_clock"),
    "after": ("parents", "deps", "causes"),
}
"""What a field is called elsewhere."""

Place = tuple[str | None, str]


@dataclass(slots=True)
class LeftOut:
    """What is known of the files of a log for the sake of lines that leave something out.

    Memory: a few words for each process that has no positions, and for each message, as far as some line left
    out what it does with one; and the events that wait.
    """

    report: Report
    options: Options
    counts: dict[Place, int] = field(default_factory=dict)
    """How many lines of a process have no positions."""
    remembers: bool = True
    """Whether sendings are kept in mind."""
    waiting: deque[TraceEvent] = field(default_factory=deque)
    """What waits for a sending, and what came after it."""
    fields: set[str] = field(default_factory=set)
    """The names of fields of which nothing is to be told any more."""
    _home: dict[Place, str] = field(default_factory=dict)
    _called: dict[str, str] = field(default_factory=dict)
    """The short name of each file, where no other has it."""
    _apart: set[tuple[str, str]] = field(default_factory=set)
    """The processes, by file, that are another file's no more."""
    _told: set[str] = field(default_factory=set)
    _sent: dict[Place, tuple[str, str] | None] = field(default_factory=dict)
    """Who sent a message and how, by execution and message; None where it is not plain."""
    _stated: int = 0

    @classmethod
    def of(cls, options: Options, report: Report) -> LeftOut:
        """That of a log: a message may be sent in one file and received in another."""
        return options.shared(SHARED, lambda: cls(report, options))

    # -- positions -------------------------------------------------------------------------------------

    def place(self, process: str, trace: str | None, file: str, line: int) -> tuple[str, int]:
        """The process of a line without a position, and its position there.

        Nothing orders the lines of two files: what a process does in a later one is a process of its own.
        Raises `BadLine` where other lines of the process have positions.
        """
        if self._home.setdefault((trace, process), file) != file:
            process = self._elsewhere(process, file, line)
        place = trace, process
        if place not in self.counts and self.options.positions[trace, process].top:
            raise BadLine(f"`seq` is missing, which other lines of {process} have")
        position = self.counts[place] = self.counts.get(place, 0) + 1
        return process, position

    def check_stated(self, process: str, trace: str | None) -> None:
        """Raise `BadLine` where a line has a position and those before it in its process have none."""
        if self.counts and (trace, process) in self.counts:
            raise BadLine(f"`seq` is given, which the lines of {process} before it do not have")

    def place_stated(self, process: str, trace: str | None, position: int, file: str, line: int) -> str:
        """The process of a line with a position, of a format whose files need not be parts of one log.

        Where its position is taken by another file it is another process, and so is what follows in its file.
        """
        self.check_stated(process, trace)
        elsewhere = self._home.setdefault((trace, process), file) != file
        if elsewhere and (file, process) in self._apart:
            return self._elsewhere(process, file, line)
        if elsewhere and self.options.positions[trace, process].has(position):
            self._apart.add((file, process))
            return self._elsewhere(process, file, line)
        return process

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
            self.report.add("scattered-process", said, file=file, line=line)
        return name

    # -- sendings and receptions -----------------------------------------------------------------------

    def settled(self, event: TraceEvent) -> Iterator[TraceEvent]:
        """The events that may go on, in the order in which they came; a kind that was left out is ``""``."""
        if event.kind and not self.waiting:
            yield event
            return
        if not self.waiting:
            self.options.state[f"{SHARED}: waiting"] = _Rest(self)
        self.waiting.append(event)
        yield from self._released(False)

    def remember_all(self) -> None:
        """Keep all sendings in mind: a line left something out."""
        self._stated = -(2**62)

    def remember(self, event: TraceEvent) -> None:
        """Keep in mind who sends a message, as long as that may be of use."""
        if event.kind not in SENDS or event.message is None or not self.remembers:
            return
        self._stated += 1
        if self._stated > _REMEMBERED:
            self.remembers = False
            self._sent = {}
            return
        key, sender = (event.trace, event.message), (event.process, event.kind)
        known = self._sent.setdefault(key, sender)
        if known != sender:
            self._sent[key] = None

    def released_at_last(self) -> Iterator[TraceEvent]:
        """The events that waited for a sending, wherever it stands; where there is none, that is told."""
        yield from self._released(True)

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
        self.report.add("bad-line", f"{said} ({hint})", file=event.file, line=event.line, lost=1, lines=1)


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is to be asked for the rest after the last file, once something had to wait."""

    left_out: LeftOut

    def rest(self) -> Iterator[TraceEvent]:
        """The events that waited."""
        yield from self.left_out.released_at_last()


# -- names of fields ---------------------------------------------------------------------------------------


def check_names(record: dict[str, object], known: set[str], report: Report, file: str, line: int) -> None:
    """Report each field that is not known and like one that is, once."""
    for name in record.keys() - known:
        known.add(name)
        like = get_close_matches(name, FIELDS - record.keys(), n=1, cutoff=0.8)
        if like and like[0][0] == name[0]:
            said = f"`{name}` is no field of an event, and kept as an attribute; did you mean `{like[0]}`?"
            report.add("misnamed-field", said, file=file, line=line, fatal=False)


def meant(record: dict[str, object], name: str) -> str | None:
    """The field of an object that is meant where another one is missing: one like it, or called so
    elsewhere.
    """
    others = [other for other in record if other not in FIELDS]
    called = [other for other in others if other.lower() in _CALLED.get(name, ())]
    return next(iter(get_close_matches(name, others, n=1, cutoff=0.7) or called), None)


# -- lives -------------------------------------------------------------------------------------------------

_a_life = re.compile(r"[A-Za-z0-9_-]{8}", re.ASCII).fullmatch
_of_a_life = re.compile(r"(.+)~([A-Za-z0-9_-]{8})(:[0-9]+)?", re.ASCII | re.DOTALL).fullmatch


class Lives:
    """The lives of each process in a log. Memory: a few words for each."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._first: dict[str, str] = {}
        self._told: set[str] = set()

    @classmethod
    def of(cls, options: Options, report: Report) -> Lives:
        """Those of all files of a log; of some files, each is called by both names."""
        return options.shared(LIVES, lambda: cls(report) if options.whole else EachByItsLife(report))

    def settle(self, record: dict[str, object], file: str, line: int) -> None:
        """Call the process of a line, and those that it names, by names that no other life has.

        A field `life` that is none, for it is no name of eight letters, is an attribute as any other.
        """
        life, process = record["life"], record.get("process")
        if type(life) is not str or type(process) is not str or not process or not _a_life(life):
            return
        del record["life"]
        name = self.named(process, life)
        if name != process:
            record["process"] = name
            if name not in self._told:
                self._told.add(name)
                said = f"another life of {process}, not ordered with the first: what it does is {name}"
                self.report.add("another-life", said, file=file, line=line)
        after, clock = record.get("after"), record.get("clock")
        if type(after) is list:
            record["after"] = [self._resolved(each) for each in after]
        if type(clock) is dict:
            record["clock"] = {self._resolved(each): count for each, count in clock.items()}

    def named(self, process: str, life: str) -> str:
        """What a life of a process is called."""
        return process if self._first.setdefault(process, life) == life else f"{process}~{life}"

    def _resolved(self, name: object) -> object:
        found = _of_a_life(name) if type(name) is str else None
        return self.named(found[1], found[2]) + (found[3] or "") if found else name


class EachByItsLife(Lives):
    """Where lines are read without those before them, the first life is called by both names, too."""

    def named(self, process: str, life: str) -> str:
        """What a life of a process is called."""
        self._told.add(name := f"{process}~{life}")  # nothing is odd about it
        return name
