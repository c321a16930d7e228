"""What carries a replica's messages and its exchanges: an outbox over a transport.

All that belongs together is in one transaction of the store: the event of a sending, or of a delivery with
what the application does in it, and what the network must remember of it. Packets that tell of it leave
afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random

from microcosm.errors import Busy, JournalError, ReplicaError
from microcosm.replica.exchange import VERSIONS
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append
from microcosm.replica.network import wire
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Address, Limits
from microcosm.replica.network.gossip import Gossip, Suspects
from microcosm.replica.network.keys import Keyring
from microcosm.replica.network.members import Stating, network_of
from microcosm.replica.network.process import DeliveredMessage
from microcosm.replica.network.transport import Transport
from microcosm.replica.network.wire import Assembly, fragments
from microcosm.replica.network.write_ahead import STATE, run_in_thread
from microcosm.replica.replica import Replica
from microcosm.replica.store import Records, ReplicaStore

LOG = 2000
"""After so many records of the network a snapshot is due."""


class Carrier:
    """The `Outbox` of a replica whose store is a `ReplicaStore`; `open` puts it on the network."""

    def __init__(self, replica: Replica, store: ReplicaStore, random: Random | None = None) -> None:
        self.replica = replica
        self.transport: Transport
        self._stating: Stating
        self.counts: Counter[str] = Counter()
        """What went on beside the messages: how often members were told or asked what is known, and letters
        that made no sense."""
        self._store = store
        self._depth = 0
        """How deep in what the next flush ends (`_held`)."""
        self._sends: list[tuple[str, tuple[str, ...], bytes]] = []
        self.assembly = Assembly()
        """Of what members say in pieces."""
        self._compact_due = False
        self._consistent = False
        """Whether all that the replica has in memory is committed, or handed over for the next commit, though
        a transaction of it is open."""
        self._delivering = False
        self.suspects = Suspects()
        self.gossip = Gossip(replica, self._reaches, random)
        replica.exchange.version = self._version
        self.noting: Callable[[], tuple[str, bytes] | None] | None = None
        """Asked for a note to be kept with the next commit of what has come."""

    async def open(
        self, ring: Keyring, address: Address, limits: Limits | None, after_flush: Callable[[], object]
    ) -> Transport:
        """Go on where the network of the replica stopped, over UDP."""
        durable = await run_in_thread(self.begin, lambda _: None) if self._store.slow else self.begin()
        transport = await Transport.open(
            *(durable, ring, address), limits=limits, before_flush=self.before_flush, after_flush=after_flush
        )
        self.ride(transport)
        return transport

    def begin(self) -> Durable:
        """What the network remembers of the replica. Raises `ReplicaError` for one that was evicted."""
        self.replica.sign()
        durable = network_of(self.replica, self._store.store, self._deliver)
        if durable.process.evicted:
            raise ReplicaError(
                f"{self.replica.name!r} was evicted by the others; `replica renew` starts afresh, to be added"
                " again"
            )
        return durable

    def ride(self, transport: Transport) -> None:
        """From now on whatever the replica commits and sends goes with a transport of what `begin` gave.

        That calls `before_flush` before it cuts off what is to be committed.
        """
        self.transport = transport
        self._stating = Stating(self.replica, transport.endpoint.durable)
        self._stating.follow()
        transport.endpoint.snapshot = self._snapshot
        store = self._store
        store.joining, store.compacting, store.reading = self._join, self._compaction, self._catch_up
        self.replica.outbox = self

    def close(self) -> None:
        """Stop carrying."""
        self.transport.close()
        self._store.joining = self._store.compacting = self._store.reading = None

    @property
    def durable(self) -> Durable:
        """What the network remembers."""
        return self.transport.endpoint.durable

    @property
    def malformed(self) -> int:
        """Messages of exchanges, or pieces of them, that made no sense."""
        return self.replica.exchange.malformed + self.assembly.malformed

    @contextmanager
    def together(self) -> Iterator[None]:
        """What the replica does inside is committed when the loop next turns, with whatever else there is."""
        try:
            with self._held():
                yield
        finally:
            if self.transport.fault is None:
                self.transport.flush_soon()

    # -- the outbox of the replica -------------------------------------------------------------------

    def accept(self, message: str, to: tuple[str, ...], payload: bytes) -> None:
        """See `Outbox`: it is handed to the network when the transaction commits."""
        durable = self.durable
        self._usable()
        if not to or self.replica.name in to:
            raise ReplicaError("a message goes to members, and not to the replica itself")
        for name in to:
            durable.process.membership.of(name)
        most = durable.largest - wire.ENVELOPE_BYTES
        if len(payload) > most:
            raise ReplicaError(f"a message of {len(payload):,} bytes; at most {most:,} are possible")
        waiting = durable.process.machine.unacked + sum(len(names) for _, names, _ in self._sends)
        if not self._delivering and waiting >= durable.most_copies:
            raise Busy(f"{waiting:,} copies wait to be acknowledged; try again later")
        self._sends.append((message, to, payload))

    def undone(self) -> None:
        """See `Outbox`."""
        self._sends.clear()

    def committed(self) -> None:
        """Nothing more is to be done: packets have left with the commit (`Outbox`)."""

    # -- inside --------------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[None]:
        """What is committed inside joins the flush that follows."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _join(self, records: Records) -> int:
        """Commit what the replica has to, with its sends: now, or with the flush that ends what goes on."""
        self._usable()
        endpoint = self.transport.endpoint
        sends, self._sends = self._sends, []
        for message, to, payload in sends:
            endpoint.durable.send(to, wire.enveloped(payload, self._sending(message)))
        for kind, payload in records:
            endpoint.durable.include(kind, payload)
        if not self._depth:
            self._flush()
        return 0

    def _usable(self) -> None:
        if self.transport.fault is not None:
            raise ReplicaError(f"the network stopped: {self.transport.fault}") from self.transport.fault

    def _catch_up(self) -> None:
        """The replica reads its store again: all that it had handed over is there on return.

        Not so for what a delivery has broken, which has not happened.
        """
        if self._delivering:
            self.transport.wait()
        elif self.transport.fault is None:
            with suppress(Exception):  # it is in `fault` then
                self.transport.flush()

    def _flush(self) -> None:
        """Everything is durable on return."""
        before, self._consistent = self._consistent, True
        try:
            self.transport.flush()
        finally:
            self._consistent = before

    def _deliver(self, letter: DeliveredMessage) -> None:
        self._alone()
        name = letter.id.name
        opened = wire.envelope_of(letter.payload, name)
        fault = "what is no envelope" if opened is None else self.replica.ledger.fault_in(opened.sent)
        if opened is not None and self.replica.is_forged(opened.sent):
            fault = f"{opened.sent.dot} is not what {name} has signed"
        if opened is None or fault is not None:
            self.suspects.blame(name, f"message {letter.id}: {fault}", self.transport.endpoint.now)
        if opened is None or fault or self.replica.happened(f"d:{self.replica.name}:{opened.message}"):
            self.counts["letters that made no sense"] += 1
            return
        self._delivering = True
        try:
            with self._held():
                self.replica.delivered(name, opened.message, opened.payload, sent=opened.sent)
        finally:
            self._delivering = False

    def _sending(self, message: str) -> Append:
        """The evolution of a message's sending, which is about to be committed."""
        name, incarnation, number = message.rsplit(".", 2)
        held = self.replica.held(Dot(name, int(incarnation), int(number)))
        assert isinstance(held, Append)
        return held

    def before_flush(self) -> None:
        """Take what members have said of what they know, before the commit that makes it durable."""
        endpoint = self.transport.endpoint
        if self._compact_due or len(self.replica.network) > LOG:
            self.durable.hasten()
        note = None if self.noting is None or self.transport.busy else self.noting()
        if note is not None:
            endpoint.durable.record(*note)
        for name, why, mine in endpoint.diverged():
            self._alone()
            with self._held():
                self.replica.note_divergence(name, why, mine)
        heard, endpoint.exchanged = endpoint.exchanged, []
        for name, piece in heard:
            if name not in self.durable.process.membership.named:
                continue
            if not self.suspects.heeds(name, endpoint.now):
                self.counts["exchanges not heeded"] += 1
                continue
            message = self.assembly.add(name, piece)
            if message is None:
                continue
            for answer in self._heard(name, message):
                self._say(name, answer)
        self._stating.follow()
        while endpoint.started:
            self.gossip.met(endpoint.started.pop())
        members = [member.name for member in self.durable.process.members]
        for name, message in self.gossip.poll(members, endpoint.now):
            self.counts["told or asked"] += 1
            self._say(name, message)
        endpoint.wake_at = self.gossip.next_time()

    def _heard(self, name: str, message: bytes) -> list[bytes]:
        """What to answer a member. Whatever it says, it does not end this: it is blamed, and named."""
        self._alone()
        exchange, now = self.replica.exchange, self.transport.endpoint.now
        if self.replica.quotas is not None:
            self.replica.quotas.now = now
        answers: list[bytes] = []
        with self._held(), self.replica.telling_after():
            try:
                answers = exchange.receive(name, message)
            except (JournalError, OSError, MemoryError):  # not the fault of who speaks
                raise
            except Exception as error:
                self.suspects.blame(name, f"{type(error).__name__}: {error}", now)
        for names, heed in ((exchange.blamed, False), (exchange.doubted, True)):
            while names:
                self.suspects.blame(*names.popleft(), now, heed=heed)
        return answers

    def _alone(self) -> None:
        """Nobody else has a transaction open, which would take what comes now into it."""
        if self.replica.in_transaction:
            raise ReplicaError("a transaction of the replica was left open in an `await`")

    def _say(self, name: str, message: bytes) -> None:
        endpoint = self.transport.endpoint
        for fragment in fragments(message, endpoint.room):
            if not endpoint.say(name, fragment):
                break

    def _reaches(self, name: str) -> bool:
        """Whether something can be said to a member of what is known."""
        version = self.transport.endpoint.exchange_version(name)
        if version == 0:
            self.replica.exchange.newer[name] = "exchanges of no version that this program reads"
        return bool(version)

    def _version(self, name: str) -> int:
        return self.transport.endpoint.exchange_version(name) or VERSIONS[-1]

    def _compaction(self) -> None:
        """The replica asks for a snapshot: now, or with the flush that ends what goes on."""
        self._compact_due = True
        if not self._depth:
            self._flush()

    def _snapshot(self) -> bytes | None:
        """If it is time for one, a snapshot of all that was and is being committed, and nothing else."""
        replica, durable = self.replica, self.durable
        due = self._compact_due or len(replica.network) > LOG
        if not due or durable.waits or (replica.in_transaction and not self._consistent):
            return None
        self._compact_due = False
        replica.recorded(STATE, durable.state())
        return replica.content()
