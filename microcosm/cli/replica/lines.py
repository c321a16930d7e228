"""Lines in and out of `replica serve`: standard input, and what was delivered and is to be told.

A line that is written before the commit tells of what a crash may undo, and a line that is written after it
is lost if the crash comes between. So the lines of the deliveries of a commit are part of it, as a note of
the replica; whoever serves the replica after a crash finds them there, and tells them, possibly again. After
an orderly end there is nothing left to tell.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from microcosm.replica.replica import Replica

LONGEST = 8 << 20
"""Bytes of a line at most: the largest message as text, whatever characters it has, fits in."""

PIECE = 1 << 16


def lines() -> Iterator[str | None]:
    """Each line without its end; None for one of more than `LONGEST` bytes, which is passed over.

    Standard input is not read by its own buffer, which a thread that waits would keep locked at the end.
    """
    try:
        source = sys.stdin.fileno()
    except OSError:  # none of the system's: it is all there already
        for line in sys.stdin:
            yield line.rstrip("\n") if len(line) <= LONGEST else None
        return
    parts: list[bytes] = []
    size = 0
    while piece := os.read(source, PIECE):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield _line([*parts, end], size + len(end))
            parts, size = [], 0
        size += len(rest)
        if size <= LONGEST:
            parts.append(rest)
        else:
            parts = []
    yield _line(parts, size)


def _line(parts: list[bytes], size: int) -> str | None:
    return b"".join(parts).decode("utf-8", "replace") if size <= LONGEST else None


KIND = "lines to tell"
"""Of the note."""

Line = dict[str, Any]


class Untold:
    """The lines that are not told yet. `tell` writes one."""

    def __init__(self, tell: Callable[[Line], None]) -> None:
        self._tell = tell
        self._waiting: deque[Line] = deque()
        self._noted = 0
        """So many of them are in the note."""

    def add(self, line: Line) -> None:
        """A line of something that is not durable yet."""
        self._waiting.append(line)

    def note(self) -> tuple[str, bytes] | None:
        """What the next commit is to keep, if something was added since the last."""
        if self._noted == len(self._waiting):
            return None
        self._noted = len(self._waiting)
        return KIND, json.dumps([*self._waiting]).encode()

    def durable(self, error: BaseException | None) -> None:
        """What the oldest line says is durable; or never will be."""
        line = self._waiting.popleft()
        self._noted -= 1
        if error is None:
            self._tell(line)

    @staticmethod
    def left(replica: Replica) -> Iterator[Line]:
        """The lines that were durable when the replica was last served, and perhaps never told."""
        yield from json.loads(replica.noted(KIND) or b"[]")

    @staticmethod
    def all_told(replica: Replica) -> None:
        """An orderly end."""
        if replica.noted(KIND):
            replica.note(KIND, b"")
