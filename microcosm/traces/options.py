"""What a reader is given besides the text, and what the readers of one trace share.

One `Options` goes through all files of a log. A format that must remember something from one file to the
next asks it for an object by name or class (`shared`), which is made for the first file and found again for
the others. If that object has a method `rest`, it is `Waiting`: what `rest` gives after the last file are
events, too. So spans wait, whose halves may stand in two files, and so do the lines of MPI ranks. What waits
is put aside in a `microcosm.traces.event.Spool`.

What a log leaves out is settled here where that is plain (`LeftOut`). A line without a position stands where
the lines of its process in its file put it. A line that names a message, and neither says what it does with
it nor to whom, receives it where another process sends it; that may stand in a later line, or in another
file, so that what follows waits. Where the meaning is not plain nothing is made up: the line is reported.

Programs of one name, one after the other or at a time, do nothing that is a chain together (`Lives`). A
recorder draws a name for each life of a process, `life`, and writes it in every line, for nothing else tells
two lives apart whatever lines are lost. The first life of a name is called by it, another by both,
`alice~pZ8_k3f9`, and reported. Where a line names what another has done, in `after` or in its clock, it says
of which life: `alice~pZ8_k3f9:5`.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast, runtime_checkable

from microcosm.errors import TextError
from microcosm.traces.event import SENDS, TraceEvent
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine

State = TypeVar("State")


@runtime_checkable
class Waiting(Protocol):
    """What a format keeps over the files of a log where events must wait until all of them are read."""

    def rest(self) -> Iterator[TraceEvent]:
        """The events that had to wait; called once, after the last file."""


@dataclass(slots=True)
class Positions:
    """The positions of one process that are taken: the runs of a log in order, and what came late.

    A log in order needs one run, however long it is, and a hole one more; only positions that come
    out of order are remembered one by one.

    >>> taken = Positions()
    >>> [taken.add(n) for n in (1, 2, 5, 2, 3, 3)], taken.top
    ([True, True, True, False, True, False], 5)
    """

    top: int = 0
    """The highest position taken."""
    lowest: int = 0
    """The lowest position taken; 0 where there is none."""
    stands: TraceEvent | None = None
    """What stands there, where that matters."""
    _first: list[int] = field(default_factory=list)
    _last: list[int] = field(default_factory=list)
    _late: dict[int, int] = field(default_factory=dict)
    _digests: list[array[int]] = field(default_factory=list)
    """Of each run what stands at its positions, as far as that was said."""

    def has(self, position: int) -> bool:
        """Whether a position is taken. Cost: logarithmic in the holes."""
        run = bisect_right(self._first, position) - 1
        return (run >= 0 and position <= self._last[run]) or position in self._late

    def add(self, position: int, digest: int = 0) -> bool:
        """Take a position; whether it was free. Cost: constant in order, else logarithmic in the holes.

        `digest` is a hash of what stands there, where that matters.
        """
        if position > self.top:
            if self._last and self.top == position - 1:
                self._last[-1] = position
            else:
                self._first.append(position)
                self._last.append(position)
                self._digests.append(array("q"))
            if digest:
                self._digests[-1].append(digest)
            self.top = position
            return True
        if self.has(position):
            return False
        self._late[position] = digest
        return True

    def differs(self, position: int, digest: int) -> bool:
        """Whether something else is known to stand at a position. Cost: logarithmic in the holes."""
        run = bisect_right(self._first, position) - 1
        known = self._late.get(position, 0)
        if run >= 0 and position <= self._last[run]:
            digests, place = self._digests[run], position - self._first[run]
            known = digests[place] if len(digests) > place else 0
        return known not in (0, digest)

    def append(self, wanted: int = 0) -> int:
        """Take a position if it is free and not 0, else the one behind the highest; which it is."""
        if not wanted or not self.add(wanted):
            self.add(wanted := self.top + 1)
        return wanted


@dataclass(slots=True)
class Options:
    """What a user may tell a reader, and what the readers of the files of one trace share.

    `pattern` is a regular expression for the records of a text format, `delimiter` one for the lines between
    executions. `positions` are those taken so far, by execution and process: a process may go on from one
    file to the next. `state` has what else a format, by its name, must know of the files before; where it is
    `Waiting`, its events come after the last file. Executions that a log tells apart are `begun` one after
    the other; no two have the same name, in whatever files they stand.

    >>> options = Options()
    >>> options.begin("run"), options.begin(), options.begin("run"), options.begin()
    ('run', '2', 'run (2)', '4')
    """

    pattern: str | None = None
    delimiter: str | None = None
    whole: bool = True
    """Whether the files are all of the log; of a part spans are called by their ids, which the others share.
    """
    positions: defaultdict[tuple[str | None, str], Positions] = field(
        default_factory=lambda: defaultdict(Positions)
    )
    state: dict[object, object] = field(default_factory=dict)
    begun: int = 0
    names: dict[str, int] = field(default_factory=dict)
    """How often each name of an execution was given; also those that events state."""
    homes: dict[tuple[str | None, str], str] = field(default_factory=dict)
    """In which file each process was first, where there are several."""
    families: dict[str, str] = field(default_factory=dict)
    """The family of formats of each file, where there are several (`microcosm.traces.reading`)."""
    again: dict[str | None, str] = field(default_factory=dict)
    """What executions are called from where on their processes began again, or another had their name."""
    made: set[str] = field(default_factory=set)
    """The names in `again`, which no event states."""

    def begin(self, name: str | None = None, *, behind: bool = False) -> str:
        """The name of the next execution: as the log has it, or its number; made unique.

        `behind`: events of an execution stand before it, which may be the first and was not begun.
        """
        self.begun = max(self.begun, behind) + 1
        while not name and str(self.begun) in self.names:
            self.begun += 1
        unique = wanted = name or str(self.begun)
        while unique in self.names:
            self.names[wanted] += 1
            unique = f"{wanted} ({self.names[wanted]})"
        self.names[unique] = 1
        return unique

    def shared(self, name: object, begin: Callable[[], State]) -> State:
        """What the readers of a format share over the files of one log; `begin` makes it for the first."""
        if name not in self.state:
            self.state[name] = begin()
        return cast(State, self.state[name])

    def one(self, kind: Callable[[Report, Options], State], report: Report) -> State:
        """The one object of a class that all files of a log share."""
        if kind not in self.state:
            self.state[kind] = kind(report, self)
        return cast(State, self.state[kind])


# -- what is left out ------------------------------------------------------------------------------------

_REMEMBERED = 1_000
"""Of a log that says of so many sendings in a row what they are, and left nothing out, none is remembered."""

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
    _home: dict[Place, tuple[str, object]] = field(default_factory=dict)
    """Whose each name of a process is: a file's, and there of what is called so, or is so for want of one."""
    _called: dict[str, str] = field(default_factory=dict)
    """The short name of each file, where no other has it."""
    _apart: set[tuple[str, str]] = field(default_factory=set)
    """The processes, by file, that are another file's no more."""
    _reported: set[str] = field(default_factory=set)
    _sent: dict[Place, tuple[str, str] | None] = field(default_factory=dict)
    """Who sent a message and how, by execution and message; None where it is not plain."""
    _stated: int = 0

    # -- positions -------------------------------------------------------------------------------------

    def place(
        self, process: str, trace: str | None, file: str, line: int, own: object = None
    ) -> tuple[str, int]:
        """The process of a line without a position, and its position there.

        Nothing orders the lines of two files: what a process does in a later one is a process of its own. So
        is what is called as another one already is for want of a name; `own` is whose the line is, where its
        file does not call it so. Raises `BadLine` where other lines of the process have positions.
        """
        home = file, own or process
        while self._home.setdefault((trace, process), home) != home:
            process = self.elsewhere(process, file, line)
        if (trace, process) not in self.counts and self.options.positions[trace, process].top:
            if self.options.homes.get((trace, process), file) == file:
                raise BadLine(f"`seq` is missing, which other lines of {process} have")
            process = self.elsewhere(process, file, line)
        place = trace, process
        position = self.counts[place] = self.counts.get(place, 0) + 1
        return process, position

    def check_stated(self, process: str, trace: str | None, file: str) -> None:
        """That a line may have a position: those of its process have, too.

        Raises `BadLine` where lines before it in its file have none, and `TextError` where those of another
        file have none; but not where that is of another family of formats.
        """
        if (trace, process) not in self.counts:
            return
        home, families = self._home.get((trace, process), (file, None))[0], self.options.families
        if home == file:
            raise BadLine(f"`seq` is given, which the lines of {process} before it do not have")
        if families.get(home) == families.get(file):
            hint = "Read each file by itself, or write `seq` in all of them."
            raise TextError(
                f"has positions of {process}, whose lines in {home} have none", file=file, hint=hint
            )

    def place_stated(self, process: str, trace: str | None, position: int, file: str, line: int) -> str:
        """The process of a line with a position, of a format whose files need not be parts of one log.

        Where its position is taken by another file it is another process, and so is what follows in its file.
        """
        self.check_stated(process, trace, file)
        home = file, process
        while (known := self._home.setdefault((trace, process), home)) != home:
            apart = (file, process) in self._apart or known[1] != home[1]
            if not apart and not self.options.positions[trace, process].has(position):
                break
            self._apart.add((file, process))
            process = self.elsewhere(process, file, line)
        return process

    def called(self, file: str) -> str:
        """A short name of a file, which no other file of the log has."""
        if file not in self._called:
            short = os.path.basename(file)
            self._called[file] = file if short in self._called.values() else short
        return self._called[file]

    def elsewhere(self, process: str, file: str, line: int) -> str:
        """What a process is called in a file where it is not the one that is called so; which is reported."""
        name = f"{process} ({self.called(file)})"
        if name not in self._reported:
            self._reported.add(name)
            detail = f"{process} is another's name, of what nothing orders with this: what it does is {name}"
            self.report.add("scattered-process", detail, file=file, line=line)
        return name

    # -- sendings and receptions -----------------------------------------------------------------------

    def settled(self, event: TraceEvent) -> Iterable[TraceEvent]:
        """The events that may go on, in the order in which they came; a kind that was left out is ``""``."""
        if event.kind and not self.waiting:
            return (event,)
        self.waiting.append(event)
        return self.rest(final=False)

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

    def rest(self, final: bool = True) -> Iterator[TraceEvent]:
        """The events that need not wait any more; where none is to come, what is missing is told."""
        while self.waiting:
            event = self.waiting[0]
            if not event.kind:
                sender = self._sent.get((event.trace, event.message or ""))
                if sender is not None and sender[0] != event.process:
                    event.kind = SENDS[sender[1]]
                elif not final:
                    return
                else:
                    what = f"{event.process} does not say whether it sends or receives {event.message}"
                    hint = (
                        "where it sends, `to` would say so; where it receives, a sending by one other process"
                    )
                    detail = f"{what}: `kind` is missing ({hint})"
                    self.report.add("bad-line", detail, file=event.file, line=event.line, lost=1, lines=1)
            self.waiting.popleft()
            if event.kind:
                yield event


# -- lives -----------------------------------------------------------------------------------------------

_a_life = re.compile(r"[A-Za-z0-9_-]{8}", re.ASCII).fullmatch
_of_a_life = re.compile(r"(.+)~([A-Za-z0-9_-]{8})(:[0-9]+)?", re.ASCII | re.DOTALL).fullmatch


class Lives:
    """The lives of each process in a log. Memory: a few words for each.

    Where lines are read without those before them (`whole` is False) the first life of a name is called by
    both, too.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self.report = report
        self._whole = options.whole
        self._first: dict[str, str] = {}
        self._reported: set[str] = set()

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
            if self._whole and name not in self._reported:
                self._reported.add(name)
                detail = f"another life of {process}, not ordered with the first: what it does is {name}"
                self.report.add("another-life", detail, file=file, line=line)
        after, clock = record.get("after"), record.get("clock")
        if type(after) is list:
            record["after"] = [self._resolved(each) for each in after]
        if type(clock) is dict:
            record["clock"] = {self._resolved(each): count for each, count in clock.items()}

    def named(self, process: str, life: str) -> str:
        """What a life of a process is called."""
        is_first = self._whole and self._first.setdefault(process, life) == life
        return process if is_first else f"{process}~{life}"

    def _resolved(self, name: object) -> object:
        found = _of_a_life(name) if type(name) is str else None
        return self.named(found[1], found[2]) + (found[3] or "") if found else name
