"""Nodes on loopback, for tests: their keys, their quick timers, and how to wait for what comes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory

RING = Keyring([Key(1, b"k" * 32)])

QUICK = Limits(least_wait=0.01, longest_wait=0.1)

OPTIONS: dict[str, Any] = {"keys": RING, "limits": QUICK, "interval": 0.1}


def ran(scene: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120.0):
            await scene

    asyncio.run(bounded())


def into(got: list[bytes]) -> Callable[[str, str, bytes], object]:
    """Deliver to a list."""
    return lambda sender, message, payload: got.append(payload)


def meet(one: ReplicaNode, other: ReplicaNode) -> None:
    one.add_member(other.replica.name, other.address)
    other.add_member(one.replica.name, one.address)


async def any_changes(*nodes: ReplicaNode) -> None:
    """Return when one of some nodes has changed, or after a second; raises what stopped it."""
    changes = [asyncio.ensure_future(node.changed()) for node in nodes]
    done, rest = await asyncio.wait(changes, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
    for change in rest:
        change.cancel()
    for change in done:
        change.result()


async def level(one: ReplicaNode, other: ReplicaNode) -> None:
    while one.replica.digest() != other.replica.digest():
        await any_changes(one, other)


class Remembering(Memory):
    """A store that says what it held after each commit, as a crash would have left it."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[tuple[str, bytes]]] = []

    def commit(self, records: Any) -> int:
        if records:
            self.commits.append(list(records))
        return super().commit(records)

    def after(self, count: int) -> Memory:
        store = Memory()
        for records in self.commits[:count]:
            store.commit(records)
        return store


def is_given(replica: Replica, fact: object) -> bool:
    """Whether a correspondence is given as such, set aside or not."""
    return str(fact) in map(str, replica.ledger.given())
