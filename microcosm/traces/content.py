"""Messages told apart by their content, where a log does not name them.

The k-th sending of a content on a channel meets its k-th reception. Though messages may be lost or
overtake each other, what this says of the order of events holds as long as none is duplicated: at the
k-th reception k copies have been received, so k have been sent, and the k-th of them is among these
or before one of them.
"""

from __future__ import annotations

from collections.abc import Hashable

from microcosm.traces.event import Counted


class Contents:
    """Names for the messages of a log, by content. Memory: two counts for each content.

    >>> found = Contents()
    >>> [found.sent("a"), found.sent("b"), found.sent("a"), found.received("a"), found.received("a")]
    ['m1', 'm2', 'm1.2', 'm1', 'm1.2']
    """

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._counts: dict[Hashable, list[int]] = {}

    def sent(self, content: Hashable) -> str:
        """The name of the next sending of a content."""
        return self._next(content, 1)

    def received(self, content: Hashable) -> str:
        """The name of the next reception of a content."""
        return self._next(content, 2)

    def ambiguous(self, content: Hashable) -> bool:
        """Whether a content has just been found to be sent more than once and received; true once."""
        counts = self._counts[content]
        found = counts[1] > 1 and counts[2] > 0 and not counts[3]
        counts[3] |= found
        return found

    def _next(self, content: Hashable, side: int) -> str:
        counts = self._counts.get(content)
        if counts is None:
            counts = self._counts[content] = [len(self._counts) + 1, 0, 0, 0]
        counts[side] += 1
        name = f"{self._prefix}{counts[0]}"
        return Counted(name if counts[side] == 1 else f"{name}.{counts[side]}")
