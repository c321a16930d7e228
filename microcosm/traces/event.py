"""The trace model: one event of one process, as a log records it; and what readers put aside of a log.

A reader of any format yields events and nothing else; what a trace says about causality is worked out from
them alone (`microcosm.traces.extract`). A log may be larger than memory though its end tells what its first
line means: its records wait in a `Spool`. Messages that a log does not name are named by how often the same
was sent, and received (`Contents`).
"""

from __future__ import annotations

import marshal
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import ge
from sys import intern
from typing import Any, Generic, TypeVar
from weakref import finalize

from microcosm.givens import event_table
from microcosm.givens.relation import Stamp

SENDS = {"send": "receive", "causal_send": "deliver"}
"""The kinds that send, and the kind that answers each: on the network, and as the application sees it."""

ANSWERED = {answer: sending for sending, answer in SENDS.items()}
"""The kinds that receive, and the kind that each answers."""

OTHER_LEVEL = {"send": "causal_send", "causal_send": "send"}
"""Of each kind that sends the one of the other level, network or application."""

MESSAGE_KINDS = (*SENDS, *ANSWERED)
"""The kinds that send, then those that answer them in the same order."""

KINDS = frozenset(("internal", *MESSAGE_KINDS))
"""What an event may be. *receive* is off the wire, *deliver* is up to the application."""

NOTHING = event_table.NOTHING
"""The attributes of an event that has none; shared, because most have none."""

LARGEST = 2**63 - 1
"""Positions, clock entries and Lamport times are 64-bit."""


class Counted(str):
    """A name that a reader made up by counting, of a message or event: in another log it is another's."""

    __slots__ = ()


COUNTED = ("seq", "message", "id")
"""The fields of which a copy says, in a list `counted`, that a reader made them up by counting."""


@dataclass(unsafe_hash=True, slots=True)
class TraceEvent:
    """One event. `seq` counts the events of `process` from 1 in program order.

    `message` names what a sending or receiving event sends or receives, `to` the receivers of a
    sending one (empty: not recorded). `clock` is the vector time recorded at the event, `stamp` a
    Lamport time or a physical interval. `trace` names the execution where a log holds several,
    `name` the event where the log names it. `after` has the ids of events that the log says came
    before this one: parents in a graph of commits, what a span links to. Those of another execution
    are named in full. `links` says of each of them what it is, such as `parent`; empty: not recorded.
    `file` and `line` say where it was read.

    Nothing changes an event that its reader has handed on. It is not frozen: to make one would take four
    times as long, and reading a log a tenth longer.

    >>> TraceEvent("phone", 3).id, TraceEvent("phone", 3, name="unshare").id
    ('phone:3', 'unshare')
    """

    process: str
    seq: int
    kind: str = "internal"
    message: str | None = None
    to: tuple[str, ...] = ()
    clock: dict[str, int] | None = None
    stamp: Stamp | None = None
    label: str | None = None
    attributes: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    trace: str | None = None
    name: str | None = None
    after: tuple[str, ...] = ()
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    numbered: bool = field(default=False, compare=False)
    """Whether `seq` is the reader's: what a log that has none says by its clocks and lines."""

    in_own_format: bool = field(default=False, compare=False)
    """Whether it was read from a log in the own format that names no other place: a copy is as good then."""

    links: tuple[str, ...] = ()
    skipped: int = field(default=0, compare=False)
    """How many positions before its own are those of events left out as repeated, or of other executions."""

    @property
    def place(self) -> int:
        """Its position among the events of its process in its execution."""
        return self.seq - self.skipped

    @property
    def origin(self) -> tuple[str, int] | None:
        """The file and line that a copy of the log has to name; None where it need not, or nobody knows."""
        return (self.file, self.line) if self.file and self.line and not self.in_own_format else None

    @property
    def counted(self) -> list[str]:
        """Which fields a reader made up by counting (`COUNTED`); a copy of the log must say so.

        >>> TraceEvent("p", 1, "send", Counted("m1"), numbered=True).counted, TraceEvent("p", 1).counted
        (['seq', 'message'], [])
        """
        if not self.numbered and type(self.message) is not Counted and type(self.name) is not Counted:
            return []
        made = (self.numbered, type(self.message) is Counted, type(self.name) is Counted)
        return [name for name, is_made in zip(COUNTED, made, strict=True) if is_made]

    @property
    def id(self) -> str:
        """The event's name within its execution."""
        return self.name or f"{self.process}:{self.seq}"

    @property
    def full_id(self) -> str:
        """The event's name among several executions: `trace/process:seq` unless the log names it."""
        return self.name or in_trace(self.trace, self.id)

    @property
    def own(self) -> int:
        """The component of the event's own process in its clock; 0 where there is none."""
        return self.clock.get(self.process, 0) if self.clock else 0


def in_trace(trace: str | None, name: str) -> str:
    """The name of a process, message, token or event among several executions.

    >>> in_trace("run 1", "p"), in_trace(None, "p")
    ('run 1/p', 'p')
    """
    return name if trace is None else f"{trace}/{name}"


def as_clock(value: object) -> dict[str, int] | None:
    """A JSON value as a vector time, if it is an object from processes to 64-bit counts from 0.

    The names are interned: a log repeats a few of them in every event.
    """
    if type(value) is not dict:
        return None
    clock = {}
    for process, count in value.items():
        if type(count) is not int or not 0 <= count <= LARGEST:
            return None
        clock[intern(process)] = count
    return clock


def covers(later: Mapping[str, int], earlier: Mapping[str, int]) -> bool:
    """Whether each entry of `later` is at least that of `earlier`."""
    return all(map(ge, map(later.get, earlier, repeat(0)), earlier.values()))


def writable(text: str) -> bool:
    """Whether UTF-8 can write the text; JSON escapes can spell half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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

    def __init__(self) -> None:
        self._counts: dict[Content, list[int]] = {}

    def sent(self, content: Content) -> str:
        """The name of the next sending of a content."""
        return self._next(content, 1)

    def received(self, content: Content) -> str:
        """The name of the next reception of a content."""
        return self._next(content, 2)

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

    def _next(self, content: Content, side: int) -> str:
        counts = self._counts.get(content)
        if counts is None:
            counts = self._counts[content] = [len(self._counts) + 1, 0, 0, 0]
        counts[side] += 1
        name = f"m{counts[0]}"
        return Counted(name if counts[side] == 1 else f"{name}.{counts[side]}")
