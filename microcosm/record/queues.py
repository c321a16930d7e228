"""Queues and pipes between threads, tasks and processes: what is put in carries its header.

todo = RecordedQueue(multiprocessing.Queue(), causality)     # at each side, with its own recorder
todo.put("job 7"); job = todo.get()
"""

from __future__ import annotations

from typing import Any, NamedTuple

from microcosm.record.header import message_of
from microcosm.record.recorder import Recorder


class Carried(NamedTuple):
    """What goes through a queue: an item, by which it is compared, and the header of its sending."""

    header: str
    item: Any

    def __lt__(self, other: Any) -> Any:
        return self.item < (other.item if isinstance(other, Carried) else other)

    def __gt__(self, other: Any) -> Any:
        return self.item > (other.item if isinstance(other, Carried) else other)


class _Recorded:
    """Something through which items go with their headers; what else it has is as it was."""

    def __init__(self, inner: Any, recorder: Recorder, label: str = "item") -> None:
        self.inner = inner
        self.recorder = recorder
        self.label = label

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _carried(self, item: Any, verb: str = "put") -> Carried:
        return Carried(self.recorder.send(f"{verb} {self.label}"), item)

    def _taken(self, found: Any, verb: str = "got") -> Any:
        """What came out; what somebody put in without a recorder is as it is."""
        if not (isinstance(found, Carried) and message_of(found.header)):
            return found
        self.recorder.receive(found.header, f"{verb} {self.label}")
        return found.item


class RecordedQueue(_Recorded):
    """A `queue.Queue`, a `multiprocessing.Queue` or their like, where what goes through is recorded.

    What somebody put in without a recorder comes out as it is. All else of the queue is as it was.
    """

    def put(self, item: Any, *arguments: Any, **more: Any) -> None:
        """Put an item in."""
        self.inner.put(self._carried(item), *arguments, **more)

    def put_nowait(self, item: Any) -> None:
        """Put an item in, or raise what the queue raises where there is no room."""
        self.inner.put_nowait(self._carried(item))

    def get(self, *arguments: Any, **more: Any) -> Any:
        """Take an item out."""
        return self._taken(self.inner.get(*arguments, **more))

    def get_nowait(self) -> Any:
        """Take an item out, or raise what the queue raises where there is none."""
        return self._taken(self.inner.get_nowait())


class RecordedAsyncQueue(RecordedQueue):
    """An `asyncio.Queue` where what goes through is recorded."""

    async def put(self, item: Any) -> None:  # type: ignore[override]
        """Put an item in."""
        await self.inner.put(self._carried(item))

    async def get(self) -> Any:
        """Take an item out."""
        return self._taken(await self.inner.get())


class RecordedPipe(_Recorded):
    """An end of a `multiprocessing.Pipe`, where what goes through is recorded."""

    def send(self, item: Any) -> None:
        """Send an item."""
        self.inner.send(self._carried(item, "send"))

    def recv(self) -> Any:
        """Receive an item."""
        return self._taken(self.inner.recv(), "received")
