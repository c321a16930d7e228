"""Feeds a replica with what is recorded: a microcosm that learns of events as they happen.

The events of a process are local ones of its replica, named as in the log, `alice:6`; a sending is called as
its message is, `alice:6~pZ8_k3f9x2a`, for this name comes with the header to the replica of the receiver, and
nobody can guess it. A reception comes after it.
"""

from __future__ import annotations

from collections import deque
from json import dumps
from typing import Any

from microcosm.errors import MicrocosmError, TextError


class Feeding:
    """Feeds a `Replica`, or a `ReplicaNode` in its event loop, with events in the order of their recording.

    A node may be fed from any thread, a replica from one at a time. What the replica refuses is not raised:
    `refused` counts it.
    """

    def __init__(self, fed: Any, process: str) -> None:
        if process in ("c", "d"):
            raise TextError(
                f"a replica has names like `{process}:1` for messages: call the process otherwise"
            )
        self.refused = 0
        self._node = fed if hasattr(fed, "together") else None
        self._replica = fed if self._node is None else fed.replica
        self._waiting: deque[tuple[str, str | None]] = deque()
        self._loop: Any = None
        if self._node is not None:
            from asyncio import get_running_loop

            try:
                self._loop = get_running_loop()
            except RuntimeError:
                raise TextError("a recorder that feeds a node is made inside its event loop") from None

    def unused(self, process: str) -> str:
        """The name of a process that has no events in the replica: with a number, where it lived before."""
        used = {event.rpartition(":")[0] for event in self._replica.events}
        name, number = process, 1
        while name in used:
            number += 1
            name = f"{process}#{number}"
        return name

    def happened(self, event: str, after: str | None) -> None:
        """An event, and the sending that it comes after if it is a reception."""
        self._waiting.append((event, after))
        if self._loop is None or _runs(self._loop):
            self._feed()
        else:
            self._loop.call_soon_threadsafe(self._feed)

    def _feed(self) -> None:
        while self._waiting:
            event, after = self._waiting.popleft()
            try:
                if self._node is None:
                    self._told(event, after)
                else:
                    with self._node.together():
                        self._told(event, after)
            except (MicrocosmError, OSError):
                self.refused += 1

    def _told(self, event: str, after: str | None) -> None:
        self._replica.local(event)
        if after is not None:
            self._replica.learn(f"{dumps(after)} < {dumps(event, ensure_ascii=False)}")


def _runs(loop: Any) -> bool:
    """Whether an event loop runs in this thread."""
    from asyncio import get_running_loop

    try:
        return get_running_loop() is loop
    except RuntimeError:
        return False
