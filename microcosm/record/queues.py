"""Queues and pipes between threads, tasks and processes: what is put in carries its header.

todo = RecordedQueue(multiprocessing.Queue(), causality)     # at each side, with its own recorder
todo.put("job 7"); job = todo.get()
"""

from __future__ import annotations

from typing import Any, NamedTuple

from microcosm.record.header import message_of
from microcosm.record.recorder import Recorder


class Carried(NamedTuple):
    """What goes through a queue: an item, and the header of its sending."""

    header: str
    item: Any


class RecordedQueue:
    """A `queue.Queue`, a `multiprocessing.Queue` or their like, where what goes through is recorded.

    What somebody put in without a recorder comes out as it is. All else of the queue is as it was.
    """

    def __init__(self, queue: Any, recorder: Recorder, label: str = "item") -> None:
        self.queue = queue
        self.recorder = recorder
        self.label = label

    def put(self, item: Any, *arguments: Any, **more: Any) -> None:
        """Put an item in."""
        self.queue.put(Carried(self.recorder.send(f"put {self.label}"), item), *arguments, **more)

    def put_nowait(self, item: Any) -> None:
        """Put an item in, or raise what the queue raises where there is no room."""
        self.queue.put_nowait(Carried(self.recorder.send(f"put {self.label}"), item))

    def get(self, *arguments: Any, **more: Any) -> Any:
        """Take an item out."""
        return self._taken(self.queue.get(*arguments, **more))

    def get_nowait(self) -> Any:
        """Take an item out, or raise what the queue raises where there is none."""
        return self._taken(self.queue.get_nowait())

    def __getattr__(self, name: str) -> Any:
        """What else the queue has."""
        return getattr(self.queue, name)

    def _taken(self, found: Any) -> Any:
        if not (isinstance(found, Carried) and message_of(found.header)):
            return found
        self.recorder.receive(found.header, f"got {self.label}")
        return found.item


class RecordedAsyncQueue(RecordedQueue):
    """An `asyncio.Queue` where what goes through is recorded."""

    async def put(self, item: Any) -> None:  # type: ignore[override]
        """Put an item in."""
        await self.queue.put(Carried(self.recorder.send(f"put {self.label}"), item))

    async def get(self) -> Any:
        """Take an item out."""
        return self._taken(await self.queue.get())


class RecordedPipe:
    """An end of a `multiprocessing.Pipe`, where what goes through is recorded."""

    def __init__(self, end: Any, recorder: Recorder, label: str = "item") -> None:
        self.end = end
        self.recorder = recorder
        self.label = label

    def send(self, item: Any) -> None:
        """Send an item."""
        self.end.send(Carried(self.recorder.send(f"send {self.label}"), item))

    def recv(self) -> Any:
        """Receive an item."""
        found = self.end.recv()
        if not (isinstance(found, Carried) and message_of(found.header)):
            return found
        self.recorder.receive(found.header, f"received {self.label}")
        return found.item

    def __getattr__(self, name: str) -> Any:
        """What else the end has."""
        return getattr(self.end, name)
