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
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from microcosm.errors import Busy, ReplicaError
from microcosm.files import AnyPath
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.relation import Relation
from microcosm.replica.blocked import EVENT_BYTES, Blocked, blocked
from microcosm.replica.durable import KIND, START, STATE, Durable
from microcosm.replica.endpoint import Address
from microcosm.replica.forgetting import Forgetting
from microcosm.replica.keys import Keyring, read_keys
from microcosm.replica.limits import Limits
from microcosm.replica.opening import open_store
from microcosm.replica.pieces import HEAD, Assembly, pieces
from microcosm.replica.process import Letter
from microcosm.replica.replica import Replica
from microcosm.replica.shared import Held, NetworkStore, Records, ReplicaStore
from microcosm.replica.store import Store
from microcosm.replica.transport import Transport

SOON = 0.02
"""Seconds from a change to the exchange that tells of it."""

PACKET_ROOM = 900
"""About how many bytes a message of an exchange has; what is larger goes in pieces."""

LOG = 2000
"""After so many records of the network a snapshot is due."""

JUMP = 300.0
"""By so many seconds the time of day may drift from the clock that never jumps before it is said."""


class Node:
    """A replica with its network; made by `serve` or `Node.open`, inside a running loop.

    `replica` is used as it is, from the loop's thread: what it returns from is durable. Its `send` goes to
    members; `on_deliver` says what to do with what comes. No `await` within a `transaction`: what comes
    meanwhile would be part of it, and therefore stops the network. `fault` is what stopped it.
    """

    def __init__(self, replica: Replica, store: ReplicaStore) -> None:
        self.replica = replica
        self.transport: Transport
        self.said: Counter[str] = Counter()
        """What went on beside the messages: exchanges begun, and letters that made no sense."""
        self.jumps = 0
        """How often the time of day jumped. Nothing but the keys' beginnings and ends depends on it."""
        self._store = store
        self._network = NetworkStore(store.store, replica, (KIND, START))
        self._held = Held()
        self._sends: list[tuple[str, tuple[str, ...], bytes]] = []
        self._assemblies: dict[str, Assembly] = {}
        self._compact_due = False
        self._committing = False
        self._seen = 0
        self._interval = 1.0
        self._soon: asyncio.TimerHandle | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
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
        on_deliver: Callable[[str, str, bytes], object] | None = None,
    ) -> Node:
        """Open the replica of a store, with a name make it if need be, and go on where it stopped.

        `members` are added to those that it knows. `interval`: seconds between exchanges with each member.
        Raises `MicrocosmError` where one of the parts cannot be had; nothing stays open then.
        """
        ring = keys if isinstance(keys, Keyring) else read_keys(keys)
        if isinstance(store, str | os.PathLike):
            store = open_store(store, create=name is not None)
        try:
            shared = ReplicaStore(store)
            replica = Replica(shared, name, largest=PACKET_ROOM, forgetting=forgetting)
            self = cls(replica, shared)
            self._interval = interval
            if on_deliver is not None:
                replica.on_deliver(lambda *letter: _nothing(on_deliver(*letter)))
            await self._start(ring, address, limits)
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

    async def _start(self, ring: Keyring, address: Address, limits: Limits | None) -> None:
        replica = self.replica
        name, incarnation = replica.stream
        durable = Durable.opened(
            self._network, name, incarnation, self._deliver, snapshot=replica.noted(STATE)
        )
        if durable.process.incarnation != incarnation:
            durable = durable.renewed(incarnation)
        if durable.process.evicted:
            raise ReplicaError(
                f"{name!r} was evicted by the others; `replica renew` starts afresh, to be added again"
            )
        self.transport = await Transport.open(
            durable, ring, address, limits=limits, before_flush=self._take, after_flush=self._flushed
        )
        self._store.joining, self._store.compacting = self._join, self._compaction
        replica.outbox = self
        self._seen = len(replica.seen())
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    # -- use -----------------------------------------------------------------------------------------

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self.transport.address

    @property
    def fault(self) -> BaseException | None:
        """What stopped it."""
        return self.transport.fault

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the other replicas."""
        return tuple(member.name for member in self._durable.process.members)

    def add_member(self, name: str, address: Address) -> None:
        """A new member, or a new address of one. Raises `ReplicaError`, for one of this name too."""
        self.transport.add_member(name, address)
        self.transport.flush()
        self._state_members({*self.replica.members, name})

    def evict(self, name: str) -> None:
        """Give a member up for good, here and, as soon as they hear of it, at all others."""
        self.transport.evict(name)
        self.transport.flush()
        self._state_members({*self.replica.members} - {name})

    def use_keys(self, keys: Keyring) -> None:
        """The keys of a rotation, from now on."""
        self.transport.endpoint.use_keys(keys)

    async def send(self, to: str | Collection[str], payload: bytes) -> str:
        """`Replica.send`, but wait as long as too much waits to be acknowledged."""
        while True:
            try:
                return self.replica.send(to, payload)
            except Busy:
                await self.changed()

    async def changed(self) -> None:
        """Return when something has come, gone or been committed since. Raises the fault that stopped it."""
        self._changed.clear()
        await self._changed.wait()
        if self.fault is not None:
            raise ReplicaError(f"the network stopped: {self.fault}") from self.fault

    async def until(self, holds: Callable[[Replica], object]) -> None:
        """Return when something holds of the replica; it is asked after each change."""
        while not holds(self.replica):
            await self.changed()

    async def stopped(self) -> None:
        """Return when it is closed, or a fault has stopped it."""
        await self._stopped.wait()

    def blocked(self) -> list[Blocked]:
        """What each message that waits is waiting for."""
        return list(blocked(self._durable.process))

    def metrics(self) -> dict[str, Any]:
        """`Endpoint.status`, with what the replica holds, the commits, and the exchanges."""
        commits = self._network.commits
        return {
            **self.transport.metrics(),
            **{f"replica {key}": value for key, value in self.replica.counts().items()},
            "commits": commits,
            "exchanges": dict(self.said),
            "malformed": self.replica.exchange.malformed
            + sum(a.malformed for a in self._assemblies.values()),
            "clock jumps": self.jumps,
        }

    def close(self) -> None:
        """Stop. What was committed goes on with the next `open`; a second call does nothing."""
        for waiting in (self._ticking, self._soon):
            if waiting is not None:
                waiting.cancel()
        self.transport.close()
        self._store.joining = self._store.compacting = None
        self.replica.close()
        self._stopped.set()
        self._changed.set()

    # -- the outbox of the replica -------------------------------------------------------------------

    def accept(self, message: str, to: tuple[str, ...], payload: bytes) -> None:
        """See `Outbox`: it is handed to the network when the transaction commits."""
        durable = self._durable
        if self.fault is not None:
            raise ReplicaError(f"the network stopped: {self.fault}") from self.fault
        if not to or self.replica.name in to:
            raise ReplicaError("a message goes to members, and not to the replica itself")
        for name in to:
            durable.process.membership.of(name)
        if len(payload) + EVENT_BYTES > durable.largest:
            raise ReplicaError(
                f"a message of {len(payload):,} bytes; at most {durable.largest - EVENT_BYTES:,} are possible"
            )
        waiting = durable.process.machine.unacked + sum(len(names) for _, names, _ in self._sends)
        if not self._held.depth and waiting >= durable.most_copies:
            raise Busy(f"{waiting:,} copies wait to be acknowledged; try again later")
        self._sends.append((message, to, payload))

    def undone(self) -> None:
        """See `Outbox`."""
        self._sends.clear()

    def committed(self) -> None:
        """See `Outbox`: packets have left with the commit."""

    # -- inside --------------------------------------------------------------------------------------

    @property
    def _durable(self) -> Durable:
        return self.transport.endpoint.durable

    def _join(self, records: Records) -> int:
        """Commit what the replica has to, with its sends: now, or with the flush that ends what goes on."""
        endpoint = self.transport.endpoint
        sends, self._sends = self._sends, []
        for message, to, payload in sends:
            number = int(message.rpartition(".")[2])
            endpoint.send(to, payload + number.to_bytes(EVENT_BYTES, "big"))
        for kind, payload in records:
            endpoint.include(kind, payload)
        if not self._held.depth:
            self._committing = True
            try:
                self.transport.flush()
            finally:
                self._committing = False
        return 0

    def _deliver(self, letter: Letter) -> None:
        self._alone()
        name, incarnation, _ = letter.id
        number = int.from_bytes(letter.payload[-EVENT_BYTES:], "big")
        message = f"{name}.{incarnation}.{number}"
        event = f"d:{self.replica.name}:{message}"
        if len(letter.payload) < EVENT_BYTES or not number or self.replica.happened(event):
            self.said["letters that made no sense"] += 1
            return
        disclosed = Correspondence(f"c:{message}", Relation.BEFORE, event, f"message {message}")
        with self._held():
            self.replica.delivered(name, message, letter.payload[:-EVENT_BYTES], (disclosed,))

    def _take(self) -> None:
        """What members have said of what they know, before the commit that makes it durable."""
        endpoint = self.transport.endpoint
        heard, endpoint.exchanged = endpoint.exchanged, []
        for name, piece in heard:
            if name not in self._durable.process.membership.named:
                continue
            message = self._assemblies.setdefault(name, Assembly()).add(piece)
            if message is None:
                continue
            self._alone()
            with self._held():
                answers = self.replica.exchange.receive(name, message)
            for answer in answers:
                self._say(name, answer)

    def _alone(self) -> None:
        """Nobody else has a transaction open, which would take what comes now into it."""
        if self.replica.in_transaction:
            raise ReplicaError("a transaction of the replica was left open in an `await`")

    def _say(self, name: str, message: bytes) -> None:
        endpoint = self.transport.endpoint
        for piece in pieces(message, max(endpoint.room, HEAD.size + 64)):
            if not endpoint.say(name, piece):
                break

    def _flushed(self) -> None:
        """After each commit."""
        seen = len(self.replica.seen())
        if seen != self._seen and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._exchange)
        self._seen = seen
        self._changed.set()
        due = self._compact_due or len(self.replica.network) > LOG
        if due and (self._committing or not self.replica.in_transaction):
            self._compact()

    def _compaction(self) -> None:
        self._compact_due = True
        if not self._held.depth:
            self._compact()

    def _compact(self) -> None:
        self._compact_due = False
        self.replica.recorded(STATE, self._durable.export())
        store = self._store.store
        store.compact(store.commit(()), self.replica.content())

    def _exchange(self) -> None:
        """Begin to find out what each member knows."""
        self._soon = None
        if self.fault is not None or self._stopped.is_set():
            return
        for name in self.members:
            for message in self.replica.exchange.begin(name):
                self.said["exchanges"] += 1
                self._say(name, message)
        try:
            self.transport.flush()
        except Exception:  # it is in `fault`, and whoever waits is told
            self._changed.set()

    async def _tick(self) -> None:
        while self.fault is None and not self._durable.process.evicted:
            drift = time.time() - time.monotonic()
            if abs(drift - self._drift) > JUMP:
                self.jumps += 1
            self._drift = drift
            if self._soon is None:
                self._exchange()
            try:
                async with asyncio.timeout(self._interval):
                    await self._stopped.wait()
                    return
            except TimeoutError:
                pass
        self._stopped.set()
        self._changed.set()

    def _state_members(self, names: Collection[str]) -> None:
        wanted = tuple(sorted({*names, self.replica.name}))
        if wanted != self.replica.members:
            self.replica.set_members(wanted)


@asynccontextmanager
async def serve(store: Store | AnyPath, name: str | None = None, **options: Any) -> AsyncIterator[Node]:
    """`Node.open`, closed at the end of the block."""
    node = await Node.open(store, name, **options)
    try:
        yield node
    finally:
        node.close()


def _nothing(_: object) -> None:
    return None
