"""A replica on the network for programs without asyncio: a loop in a thread of its own.

with running("phone.journal", "phone", keys="album.keys") as phone:
    phone.do(lambda node: node.replica.local("upload"))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from microcosm.files import AnyPath
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica
from microcosm.replica.store import Store

Answer = TypeVar("Answer")


class Background:
    """A node in a thread; everything is done there, one thing after the other, for any number of threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, node: ReplicaNode) -> None:
        self._loop, self._node = loop, node

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
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise


@contextmanager
def running(store: Store | AnyPath, name: str | None = None, **options: Any) -> Iterator[Background]:
    """`microcosm.replica.node.serve` in a thread, until the end of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"replica {name or store}", daemon=True)
    thread.start()
    try:
        opening = asyncio.run_coroutine_threadsafe(ReplicaNode.open(store, name, **options), loop)
        node = opening.result()
        try:
            yield Background(loop, node)
        finally:
            asyncio.run_coroutine_threadsafe(_closed(node), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _closed(node: ReplicaNode) -> None:
    node.close()
    await asyncio.sleep(0)
