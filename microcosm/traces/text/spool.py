"""Records put aside until all of a log is read: in memory while they are few, then in a temporary file.

Some formats tell only at their end what their first line means. What they keep of each line is written
down here, so that a log may still be larger than memory.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any
from weakref import finalize

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
