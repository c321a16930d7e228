"""A replica on the network for programs without asyncio: a loop in a thread of its own.

with running("phone.journal", "phone", keys="album.keys") as phone:
    phone.do(lambda node: node.replica.local("upload"))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from microcosm.errors import ReplicaError
from microcosm.files import AnyPath
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica
from microcosm.replica.store import Store

Answer = TypeVar("Answer")


class Background:
    """A node in a thread; everything is done there, one thing after the other, for any number of threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, node: ReplicaNode) -> None:
        self._loop, self._node = loop, node
        self._turn = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._ended = False

    def close(self) -> None:
        """The end: whoever still waits gets what there is, or `ReplicaError`. Called by `running`."""
        with self._turn:
            self._ended = True

        async def closed() -> None:
            self._node.close()
            await asyncio.gather(*map(asyncio.wrap_future, [*self._waiting]), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(closed(), self._loop).result()

    def do(self, what: Callable[[ReplicaNode], Answer]) -> Answer:
        """What a function of the node returns, or raises. Durable when this returns, as it is there."""

        return self._result(self._node.do(lambda _: what(self._node)))

    def send(self, to: str, payload: bytes, *, timeout: float | None = None) -> str:
        """`ReplicaNode.send`: waits as long as too much waits to be acknowledged."""
        return self._result(self._node.send(to, payload), timeout)

    def wait(self, holds: Callable[[Replica], object], *, timeout: float | None = None) -> None:
        """`ReplicaNode.until`. Raises `TimeoutError` after so many seconds."""
        self._result(self._node.until(holds), timeout)

    def _result(self, work: Coroutine[Any, Any, Answer], timeout: float | None = None) -> Answer:
        within = asyncio._get_running_loop() is self._loop
        with self._turn:
            if within or self._ended:
                work.close()
                why = "use the node itself in its own thread, which would wait for itself"
                raise ReplicaError(why if within else "the network is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._waiting.add(future)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise
        finally:
            self._waiting.discard(future)


@contextmanager
def running(store: Store | AnyPath, name: str | None = None, **options: Any) -> Iterator[Background]:
    """`microcosm.replica.node.serve` in a thread, until the end of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"replica {name or store}", daemon=True)
    thread.start()
    try:
        opening = asyncio.run_coroutine_threadsafe(ReplicaNode.open(store, name, **options), loop)
        background = Background(loop, opening.result())
        try:
            yield background
        finally:
            background.close()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
