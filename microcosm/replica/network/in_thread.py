"""Work that waits for a disk, done in a thread while the event loop goes on: once, or batch after batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from microcosm.replica.network.durable.batch import WriteBatch
from microcosm.replica.store import Store

Answer = TypeVar("Answer")


async def run_in_thread(work: Callable[[], Answer], undo: Callable[[Answer], object]) -> Answer:
    """What `work` returns. If this is cancelled meanwhile, it ends all the same, and is undone."""
    going = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(going)
    except asyncio.CancelledError:
        while not going.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([going])
        if going.exception() is None:
            undo(going.result())
        raise


class BatchWriter:
    """A thread that writes to `store`. `ended` is called in the loop's thread when a batch is written, or
    could not be; it asks `finish` which.
    """

    def __init__(self, store: Store, ended: Callable[[], None]) -> None:
        self._store = store
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._thread: ThreadPoolExecutor | None = None
        self._batch: WriteBatch | None = None
        self._result: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a batch was begun, and not finished."""
        return self._batch is not None

    def begin(self, batch: WriteBatch) -> None:
        """Begin to write a batch, none being under way."""
        assert self._batch is None
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "journal")
        self._batch = batch
        self._result = self._thread.submit(batch.write, self._store)
        self._result.add_done_callback(self._done)

    def finish(self, wait: bool) -> WriteBatch | None:
        """The batch that is written; None if there is none, or (unless told to wait) not yet.

        Raises what kept it from being written.
        """
        if self._result is None or not (wait or self._result.done()):
            return None
        batch, result = self._batch, self._result
        self._batch = self._result = None
        result.result()
        return batch

    def close(self) -> None:
        """End the thread, once what it writes is written."""
        if self._thread is not None:
            self._thread.shutdown()

    def _done(self, _: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._ended)
