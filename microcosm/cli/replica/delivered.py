"""What was delivered and is to be told: not before it is durable, and at least once.

A line that is written before the commit tells of what a crash may undo, and a line that is written after it
is lost if the crash comes between. So the lines of the deliveries of a commit are part of it, as a note of
the replica; whoever serves the replica after a crash finds them there, and tells them, possibly again. After
an orderly end there is nothing left to tell.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from microcosm.replica.replica import Replica

KIND = "lines to tell"
"""Of the note."""

Line = dict[str, Any]


class Told:
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
