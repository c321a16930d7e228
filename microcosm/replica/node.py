"""A replica on the network: its messages and its exchanges, over one socket, into one journal.

    async with serve("phone.journal", "phone", keys=read_keys("album.keys")) as phone:
        phone.add_member("laptop", ("192.0.2.7", 7001))
        phone.replica.local("upload")
        phone.replica.send("laptop", b"look")

A delivery is one transaction: the event of it, what the application does to the replica in it, and what the
network must remember; the ack leaves afterwards. Knowledge is exchanged beside the messages, every now and
then and soon after a change, in pieces that may be lost.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from microcosm.errors import Busy, ReplicaError
from microcosm.files import AnyPath
from microcosm.replica.admission import Quota, Quotas
from microcosm.replica.core import open_store
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.network.carrier import Carrier
from microcosm.replica.network.endpoint import Address, Limits
from microcosm.replica.network.keys import Keyring, check_name, read_keys, require_ciphers
from microcosm.replica.network.members import Members
from microcosm.replica.network.status import Blocked, blocked, divergences
from microcosm.replica.network.transport import Transport
from microcosm.replica.network.write_ahead import Then, run_in_thread
from microcosm.replica.replica import Replica
from microcosm.replica.store import ReplicaStore, Store

Answer = TypeVar("Answer")

PACKET_ROOM = 900
"""About how many bytes a message of an exchange has; what is larger goes in pieces."""

JUMP = 300.0
"""By so many seconds the time of day may drift, from commit to commit, from the clock that never jumps."""


class ReplicaNode(Members):
    """A replica with its network; made by `serve` or `ReplicaNode.open`, inside a running loop.

    `replica` is used as it is, from the loop's thread: what it returns from is durable. Its `send` goes to
    members; `on_deliver` says what to do with what comes. No `await` within a `transaction`: what comes
    meanwhile would be part of it, and therefore stops the network. `fault` is what stopped it.
    """

    def __init__(self, replica: Replica, store: ReplicaStore) -> None:
        self.replica = replica
        self.transport: Transport
        self.jumps = 0
        """How often the time of day jumped. Nothing but the keys' beginnings and ends depends on it."""
        self._carrier = Carrier(replica, store)
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._closed = False
        self._drift = time.time() - time.monotonic()

    @classmethod
    async def open(
        cls,
        store: Store | AnyPath,
        name: str | None = None,
        *,
        keys: Keyring | AnyPath,
        address: Address = ("127.0.0.1", 0),
        members: Mapping[str, Address] | None = None,
        limits: Limits | None = None,
        interval: float = 1.0,
        forgetting: Forgetting | None = None,
        quota: Quota | None = None,
        on_deliver: Callable[[str, str, bytes], object] | None = None,
        with_commit: Callable[[], tuple[str, bytes] | None] | None = None,
    ) -> ReplicaNode:
        """Open the replica of a store, with a name make it if need be, and go on where it stopped.

        `members` are added to those that it knows. `interval`: seconds between two rounds in which members,
        each in its turn, are asked what they know.
        `with_commit` is asked before each commit of what has come for a note to keep with it (see
        `Replica.note`), if there is something new to note.
        `quota` bounds what is taken of each other author.
        Raises `MicrocosmError` where a part cannot be had; nothing stays open then. A journal is read in a
        thread, so that the loop goes on.
        """
        require_ciphers()
        ring = keys if isinstance(keys, Keyring) else read_keys(keys)
        if name is not None:
            check_name(name)
        if isinstance(store, str | os.PathLike):
            opening = partial(open_store, store, create=name is not None)
            store = await run_in_thread(opening, lambda opened: opened.close())
        try:
            shared = ReplicaStore(store)
            begin = partial(Replica, shared, name, largest=PACKET_ROOM, forgetting=forgetting)
            replica = await run_in_thread(begin, lambda _: None) if shared.slow else begin()
            self = cls(replica, shared)
            self._carrier.gossip.interval = interval
            self._carrier.noting = with_commit
            replica.quotas = None if quota is None else Quotas(quota)
            if on_deliver is not None:
                replica.on_deliver(on_deliver)
            self.transport = await self._carrier.open(ring, address, limits, self._flushed)
            self.network = self.transport.endpoint.durable
            try:
                for member, where in (members or {}).items():
                    self.add_member(member, where)
            except BaseException:
                self.close()
                raise
        except BaseException:
            store.close()
            raise
        return self

    # -- use -----------------------------------------------------------------------------------------

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self.transport.address

    @property
    def fault(self) -> BaseException | None:
        """What stopped it."""
        return self.transport.fault

    def add_member(self, name: str, address: Address) -> None:
        """A new member, or a new address of one. Raises `ReplicaError`, for one of this name too."""
        self.transport.add_member(name, address)
        self.transport.flush()

    def _drop(self, name: str, heard: Collection[int]) -> None:
        self.transport.evict(name, heard)

    def _flush(self) -> None:
        self.transport.flush()

    def pause(self, paused: bool) -> None:
        """Take no messages for a while: they stay with their senders. All else goes on."""
        self.network.paused = paused

    def use_keys(self, keys: Keyring) -> None:
        """The keys of a rotation, from now on."""
        self.transport.endpoint.use_keys(keys)

    async def do(self, change: Callable[[Replica], Answer]) -> Answer:
        """What a function of the replica returns; all that it did is durable then.

        Meanwhile everything else goes on, and what many do at a time shares a commit. Raises what the
        function raises, and `ReplicaError` if it cannot be made durable.
        """
        with self.together():
            answer = change(self.replica)
        await self.durable()
        return answer

    def together(self) -> AbstractContextManager[None]:
        """What the replica does inside is durable when `durable` says so, not when it returns."""
        return self._carrier.together()

    async def durable(self) -> None:
        """Return when everything so far is durable: what the replica knows, and what anybody was told."""
        result: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def then(error: BaseException | None) -> None:
            if not result.done():
                if error is None:
                    result.set_result(None)
                else:
                    result.set_exception(ReplicaError(f"the network stopped: {error}"))

        self.when_durable(then)
        await result

    def when_durable(self, then: Then) -> None:
        """Have a function called once everything so far is durable, at once if it is.

        Its argument is None then, or what keeps it from ever being so. What is delivered, or decided, may be
        told to people only then, if they are not to hear of what a crash undoes.
        """
        self.transport.when_durable(then)

    async def send(self, to: str | Collection[str], payload: bytes) -> str:
        """`Replica.send`, but wait as long as too much waits to be acknowledged."""
        while True:
            try:
                return await self.do(lambda replica: replica.send(to, payload))
            except Busy:
                await self.changed()

    async def changed(self) -> None:
        """Return when something has come, gone or been committed since. Raises `ReplicaError` at its end."""
        for waited in (False, True):
            if self.fault is not None:
                raise ReplicaError(f"the network stopped: {self.fault}") from self.fault
            if self._closed or self.network.process.evicted:
                what = "the network is closed" if self._closed else f"{self.replica.name!r} was evicted"
                raise ReplicaError(what)
            if not waited:
                self._changed.clear()
                await self._changed.wait()

    async def until(self, holds: Callable[[Replica], object]) -> None:
        """Return when something holds of the replica; it is asked after each change."""
        while not holds(self.replica):
            await self.changed()

    async def stopped(self) -> None:
        """Return when it is closed, or a fault has stopped it."""
        await self._stopped.wait()

    def blocked(self) -> list[Blocked]:
        """What each message that waits is waiting for."""
        return list(blocked(self.network.process))

    @property
    def health(self) -> str:
        """`ok`, or the worst that can be said of it: `stopped`, `read-only`, `diverged`, `suspects`."""
        if self.fault is not None:
            return "stopped"
        if self.replica.divergences:
            return "diverged"
        return "suspects" if self.suspects else "ok"

    @property
    def suspects(self) -> dict[str, str]:
        """Members that have said what no replica of this program says, and the last of it."""
        return {name: suspect.why for name, suspect in self._carrier.suspects.found.items()}

    def divergences(self) -> list[dict[str, str]]:
        """With whom it is not agreed what happened: `member`, and `why`, with what to do."""
        return divergences(self.replica)

    def unreadable(self) -> dict[str, int]:
        """Members in whose name packets come that cannot be opened, and how many."""
        return {name: about["unreadable"] for name, about in self._peers() if about["unreadable"] > 2}

    def moved(self) -> dict[str, tuple[Address, Address]]:
        """Members that speak from another address than theirs, and both."""
        return {name: (about["address"], about["source"]) for name, about in self._peers() if about["source"]}

    def strangers(self) -> list[tuple[str, int]]:
        """Members to whose name another incarnation answers, which is not let in, and that incarnation."""
        return [(name, about["stranger"]) for name, about in self._peers() if about["stranger"] is not None]

    def _peers(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Of each member, how it stands with it."""
        members: dict[str, dict[str, Any]] = self.transport.metrics()["members"]
        return members.items()

    def metrics(self) -> dict[str, Any]:
        """`Endpoint.status`, with what the replica holds, the commits, and the exchanges."""
        return {
            **self.transport.metrics(),
            **{f"replica {key}": value for key, value in self.replica.counts().items()},
            "health": self.health,
            "fault": None if self.fault is None else str(self.fault),
            "suspects": self.suspects,
            "over quota": {} if self.replica.quotas is None else dict(self.replica.quotas.over),
            "divergences": self.divergences(),
            "lost": self.lost(),
            "gone": self.gone(),
            "commits": self.network.commits,
            "exchanges": dict(self._carrier.counts),
            "malformed": self._carrier.malformed,
            "newer": dict(self.replica.exchange.newer),
            "unfinished dropped": self._carrier.assembly.dropped,
            "clock jumps": self.jumps,
        }

    def close(self) -> None:
        """Stop. What was committed goes on with the next `open`; a second call does nothing."""
        if self.fault is None and not self._stopped.is_set():
            with suppress(Exception):  # what was not durable, nobody was told of
                self.transport.flush()
        self._closed = True
        self._carrier.close()
        self.replica.close()
        self._stopped.set()
        self._changed.set()

    # -- inside --------------------------------------------------------------------------------------

    def _flushed(self) -> None:
        """After each commit, and at the end of what a fault has stopped."""
        drift = time.time() - time.monotonic()
        self.jumps += abs(drift - self._drift) > JUMP
        self._drift = drift
        if self.fault is not None or self.network.process.evicted:
            self._stopped.set()
        self._changed.set()


@asynccontextmanager
async def serve(
    store: Store | AnyPath, name: str | None = None, **options: Any
) -> AsyncIterator[ReplicaNode]:
    """`ReplicaNode.open`, closed at the end of the block."""
    node = await ReplicaNode.open(store, name, **options)
    try:
        yield node
    finally:
        node.close()
