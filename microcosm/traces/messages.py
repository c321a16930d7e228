"""Names for the messages of a log that names none, by their content.

The k-th sending of a content on a channel meets its k-th reception. Of a log that has all sendings this
says nothing false, though messages be lost or overtake each other and receptions be missing, as long as
none is duplicated: at the k-th reception k copies have been received, so k have been sent, and the k-th
of them is among these or before one of them.

Where a sending is missing, those behind it are counted one too low, and even a content that is sent once
and received once may be two messages: the second sending and the first reception of one that was sent
twice. Nothing follows from counting in such a log. A hole shows where a content has been received more
often than it was sent (`Contents.more_received`); one that hides behind a message that was lost does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from microcosm.traces.event import Counted

Content = TypeVar("Content", bound=Hashable)


class Contents(Generic[Content]):
    """Names for the messages of a log, by content. Memory: a few counts for each content.

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
