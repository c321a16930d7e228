"""What a reader is given besides the text, and what the readers of one trace share.

One `Options` goes through all files of a log. A format that must remember something from one file to the
next asks it for an object by name (`shared`), which is made for the first file and found again for the
others. If that object has a method `rest`, it is `Waiting`: what `rest` gives after the last file are
events, too. So spans wait, whose halves may stand in two files, and so do the lines of MPI ranks. What waits
is put aside in a `Spool`, so that a log may be larger than memory though its end tells what its first line
means. Messages that a log does not name are named by their `Contents`.
"""

from __future__ import annotations

import marshal
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable
from weakref import finalize

from microcosm.traces.event import Counted, TraceEvent

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
    _late: set[int] = field(default_factory=set)

    def has(self, position: int) -> bool:
        """Whether a position is taken. Cost: logarithmic in the holes."""
        run = bisect_right(self._first, position) - 1
        return (run >= 0 and position <= self._last[run]) or position in self._late

    def add(self, position: int) -> bool:
        """Take a position; whether it was free. Cost: constant in order, else logarithmic in the holes."""
        if position > self.top:
            if self._last and self.top == position - 1:
                self._last[-1] = position
            else:
                self._first.append(position)
                self._last.append(position)
            self.top = position
            return True
        if self.has(position):
            return False
        self._late.add(position)
        return True

    def append(self) -> int:
        """Take the position behind the highest one; which that is."""
        self.add(self.top + 1)
        return self.top

    def add_or_append(self, wanted: int) -> int:
        """Take a position if it is free and not 0, else the one behind the highest; which it is."""
        return wanted if wanted and self.add(wanted) else self.append()


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
    state: dict[str, object] = field(default_factory=dict)
    begun: int = 0
    names: dict[str, int] = field(default_factory=dict)
    """How often each name of an execution was given."""
    again: dict[str | None, str] = field(default_factory=dict)
    """What executions are called from where on their processes began again."""

    def restarts(self, trace: str | None, event: TraceEvent) -> bool:
        """Whether a process stands at its first position again with another event: it runs once more.

        To be asked of each event before its position is taken, and before it is told that it was sent.
        """
        taken = self.positions[trace, event.process]
        first = taken.stands
        if first is None or event.seq < taken.lowest:
            taken.lowest, taken.stands = event.seq, event
            return False
        if event.seq != taken.lowest or taken.top == event.seq:
            return False
        return first != (event if event.kind else replace(event, kind=first.kind))

    def begin(self, name: str | None = None) -> str:
        """The name of the next execution: as the log has it, or its number; made unique."""
        self.begun += 1
        wanted = name or str(self.begun)
        count = self.names[wanted] = self.names.get(wanted, 0) + 1
        unique = wanted if count == 1 else f"{wanted} ({count})"
        if unique != wanted:
            self.names.setdefault(unique, 1)
        return unique

    def shared(self, name: str, begin: Callable[[], State]) -> State:
        """What the readers of a format share over the files of one log; `begin` makes it for the first."""
        if name not in self.state:
            self.state[name] = begin()
        return cast(State, self.state[name])

    def rest(self) -> Iterator[TraceEvent]:
        """The events that had to wait until all files were read."""
        for kept in self.state.values():
            if isinstance(kept, Waiting):
                yield from kept.rest()


_IN_MEMORY = 16 << 20
"""Bytes that are kept in memory."""
_TOGETHER = 256
"""Records that are written at a time."""


class Spool:
    """Tuples of what JSON knows, to be gone through as often as is needed. Memory: constant.

    >>> spool = Spool()
    >>> spool.add(("a", 1)); spool.add(("b", None))
    >>> list(spool), list(spool)
    ([('a', 1), ('b', None)], [('a', 1), ('b', None)])
    """

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # here, as few logs need one

        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed when this is no longer used)
        finalize(self, self._file.close)
        self._sizes: list[int] = []
        self._deep: dict[int, list[tuple[Any, ...]]] = {}
        """By number those written together of which one is nested deeper than `marshal` writes: in memory."""
        self._last: list[tuple[Any, ...]] = []

    def add(self, record: tuple[Any, ...]) -> None:
        """Put a record behind the others; all are put there before any is read."""
        self._last.append(tuple(record))  # of no subclass, which `marshal` would not write
        if len(self._last) == _TOGETHER:
            try:
                written = marshal.dumps(self._last)
            except ValueError:
                written = b""
                self._deep[len(self._sizes)] = self._last
            self._sizes.append(self._file.write(written))
            self._last = []

    def __len__(self) -> int:
        return len(self._sizes) * _TOGETHER + len(self._last)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self.read(0, len(self))

    def read(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """The records from one place to another. Cost: linear in them, and in the log before them / 256."""
        first = start // _TOGETHER
        at, done = sum(self._sizes[:first]), first * _TOGETHER
        for number in range(first, min(len(self._sizes), -(-stop // _TOGETHER))):
            size = self._sizes[number]
            self._file.seek(at)  # several may read at a time
            together = marshal.loads(self._file.read(size)) if size else self._deep[number]
            yield from together[max(0, start - done) : stop - done]
            at, done = at + size, done + _TOGETHER
        if stop > done:
            yield from self._last[max(0, start - done) : stop - done]


Content = TypeVar("Content", bound=Hashable)


class Contents(Generic[Content]):
    """Names for the messages of a log that names none, by content. Memory: a few counts for each content.

    The k-th sending of a content on a channel meets its k-th reception. Of a log that has all sendings this
    says nothing false, though messages be lost or overtake each other and receptions be missing, as long as
    none is duplicated: at the k-th reception k copies have been received, so k have been sent, and the k-th
    of them is among these or before one of them.

    Where a sending is missing, those behind it are counted one too low, and even a content that is sent once
    and received once may be two messages: the second sending and the first reception of one that was sent
    twice. Nothing follows from counting in such a log. A hole shows where a content has been received more
    often than it was sent (`more_received`); one that hides behind a message that was lost does not.

    >>> found = Contents()
    >>> [found.sent("a"), found.sent("b"), found.sent("a"), found.received("a"), found.received("a")]
    ['m1', 'm2', 'm1.2', 'm1', 'm1.2']
    >>> found.more_received("a"), found.received("a"), found.more_received("a")
    (False, 'm1.3', True)
    """

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._counts: dict[Content, list[int]] = {}

    def sent(self, content: Content) -> str:
        """The name of the next sending of a content."""
        return self._next(content, 1)

    def received(self, content: Content) -> str:
        """The name of the next reception of a content."""
        return self._next(content, 2)

    def count(self, content: Content, *, sent: bool) -> None:
        """Count one more sending or reception, the name of which nobody wants to know."""
        self._counted(content, 1 if sent else 2)

    def ambiguous(self, content: Content) -> bool:
        """Whether a content has just been found to be sent more than once and received; true once."""
        counts = self._counts[content]
        found = counts[1] > 1 and counts[2] > 0 and not counts[3]
        counts[3] |= found
        return found

    def times(self, content: Content) -> tuple[int, int]:
        """How often a content was sent, and how often received, so far."""
        counts = self._counts.get(content, (0, 0, 0))
        return counts[1], counts[2]

    def more_received(self, content: Content) -> bool:
        """Whether a content has been received more often than sent: the log has a hole."""
        sent, received = self.times(content)
        return received > sent

    def __iter__(self) -> Iterator[Content]:
        """All contents."""
        return iter(self._counts)

    def _counted(self, content: Content, side: int) -> list[int]:
        counts = self._counts.get(content)
        if counts is None:
            counts = self._counts[content] = [len(self._counts) + 1, 0, 0, 0]
        counts[side] += 1
        return counts

    def _next(self, content: Content, side: int) -> str:
        counts = self._counted(content, side)
        name = f"{self._prefix}{counts[0]}"
        return Counted(name if counts[side] == 1 else f"{name}.{counts[side]}")
