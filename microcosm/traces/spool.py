"""What readers put aside until a log is read: its records (`Spool`), and counts of what it has (`Contents`).

A log may be larger than memory though its end tells what its first line means. Messages that a log does not
name are named by how often the same was sent, and received.
"""

from __future__ import annotations

import marshal
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar
from weakref import finalize

from microcosm.traces.event import Counted

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
