"""A durable endpoint without I/O: packets in, packets out, letters up; exactly once, in causal order.

What the host owes an endpoint:

1. hand what the network brings to `receive`, and call `poll` at `next_time` at the latest;
2. call `flush` after any of these, and after `Durable.send`; send each packet that it gives to the address
   beside it;
3. pass a time that never goes back (`now`), and the time of day (`wall`), which may jump: only keys use it;
4. after an exception other than `ReplicaError` throw the endpoint away and open another on the same store.

A packet that is not genuine is counted, and nothing else: it is not answered, and leaves nothing behind.
Answers go to the configured address of the member, and to where its newest genuine packet of this session
came from, if that is elsewhere: it may have moved, or something between the two may carry packets one way
only. Where there is no session yet a greeting is answered at both, too. One that was evicted and greets all
the same is told of its fence where it greets from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgpack import packb

from microcosm.errors import KeyFileError, ReplicaError
from microcosm.protocol.packets import Ack, HybridMessage, Permit
from microcosm.replica.network import handshake, keys
from microcosm.replica.network.durable import DeadlockAvoidance, Durable
from microcosm.replica.network.handshake import Arrival, Handshake
from microcosm.replica.network.keys import Keyring, Sending, tag
from microcosm.replica.network.peer import NEVER, Congestion, Peer
from microcosm.replica.network.process import Fence, Member
from microcosm.replica.network.status import status
from microcosm.replica.network.wire import COPY_BYTES, FRAME_BYTES, VERSIONS, Content, read_content
from microcosm.replica.network.write_ahead import WriteBatch

Address = tuple[str, int]

MOST_FRAGMENTS = 512
"""So many fragments of messages of exchanges wait for a member at most; what is more is left out."""

LOOK = 1.0
"""Seconds after which each member is looked at, whether or not there is anything to send."""


class Endpoint:
    """One replica on the network. `versions` are the versions of packets that it may speak."""

    def __init__(
        self,
        durable: Durable,
        ring: Keyring,
        entropy: Callable[[int], bytes],
        *,
        now: float,
        limits: Limits | None = None,
        versions: tuple[int, ...] = VERSIONS,
    ) -> None:
        self.durable = durable
        self.limits = limits = limits or Limits()
        self.versions = versions
        self.drops: Counter[str] = Counter()
        """Packets that were taken no notice of, by reason."""
        self.counts: Counter[str] = Counter()
        """Packets and bytes, in and out."""
        self.exchanged: list[tuple[str, bytes]] = []
        """What members said beside their messages (`say`), for the host to take out after each packet."""
        self.started: list[str] = []
        """Members whom this start has met, or who have started since, for the host to take out."""
        self.snapshot: Callable[[], bytes | None] | None = None
        """Asked at each `cut`: what is to stand for all records from then on, if it is time for that."""
        self.wake_at = NEVER
        """When the host has something to say by itself."""
        durable.most_copies = limits.most_copies
        durable.largest = limits.largest
        durable.part_size = limits.mtu - keys.OVERHEAD - FRAME_BYTES - COPY_BYTES
        process = durable.process
        self._sealer = keys.Sealer(ring, process.name, process.incarnation, process.boot, entropy)
        self._peers: dict[int, Peer] = {}
        self._tagged: dict[bytes, Peer] = {}
        self._evicted: list[Peer] = []
        """Those who are to be told that they are no members any more, once that is durable."""
        self._former: dict[bytes, Peer] = {}
        """Those who were evicted, by tag: who greets all the same has not heard of it."""
        self._handshake = Handshake(durable, self._sealer, versions, limits.tick)
        self._deadlock_avoidance = DeadlockAvoidance(durable, limits.stall, now)
        self._next_tick = self._look_at = now
        self.now = now
        """The time of the last call."""
        self._meet(now)

    def __repr__(self) -> str:
        return f"<Endpoint {self.durable.process.name}.{self.durable.process.incarnation}>"

    def say(self, name: str, content: bytes) -> bool:
        """Send a member a piece of an exchange of knowledge: at most once, in any order, or not at all.

        It leaves with the next flush; false if the member is not to be reached now, or too much waits.
        """
        peer = self._tagged.get(tag(name))
        if (
            peer is None
            or peer.session is None
            or len(peer.released) + len(peer.unconfirmed) >= MOST_FRAGMENTS
        ):
            return False
        peer.unconfirmed.append(content)
        return True

    def exchange_version(self, name: str) -> int | None:
        """The version to exchange in with a member that has answered; 0 if there is none that both read."""
        peer = self._tagged.get(tag(name))
        return None if peer is None or peer.session is None else peer.session.exchange

    @property
    def room(self) -> int:
        """How many bytes `say` may be given."""
        return self.limits.mtu - keys.OVERHEAD

    def add_member(self, name: str, address: Address, now: float) -> None:
        """A new member, met as soon as it answers; or a new address for one. Durable after the next flush."""
        if tag(name) in self._tagged and name not in self.durable.process.membership.named:
            raise ReplicaError(f"{name!r} and another member have the same digest; choose another name")
        self.durable.member(name, *address)
        self._meet(now)
        peer = self._peers[self.durable.process.membership.named[name].number]
        peer.address, peer.source, peer.greets_from = address, None, None

    def evict(self, name: str, now: float, heard: Collection[int] = ()) -> None:
        """Give a member up for good, here and, as soon as they hear of it, at all others (see `Process`).

        `heard`: see `Durable.evict`.
        """
        self.durable.evict(name, heard)
        self._meet(now)

    def diverged(self) -> list[tuple[str, str, bool]]:
        """Members with whom nothing is exchanged, each once: the name, why, whether this one forgot."""
        found = [peer for peer in self._peers.values() if peer.diverged and not peer.noted]
        for peer in found:
            peer.noted = True
        return [(peer.member.name, peer.diverged, peer.mine) for peer in found]

    def use_keys(self, ring: Keyring) -> None:
        """Use the keys of a new ring from now on; sessions under those that were there before go on."""
        kept = self._sealer.use(ring)
        for peer in self._peers.values():
            if peer.session is not None and peer.session.key_id not in kept:
                peer.session = None

    def receive(self, packet: bytes, now: float, wall: float, source: Address | None = None) -> None:
        """Take a packet off the wire, from where it came if that is known.

        Raises nothing for what it says; a refusal is counted in `drops`.
        """
        now = self._passed(now)
        self.counts["packets in"] += 1
        self.counts["bytes in"] += len(packet)
        reason = self._receive(packet, now, wall, source)
        if reason is not None:
            self.drops[reason] += 1
        # perhaps it was evicted, and has not heard of it
        if reason in (handshake.UNKNOWN_SENDER, handshake.OLD_INCARNATION):
            found = handshake.opened(packet, self._former, self._sealer, self.versions, self.limits.mtu, wall)
            if isinstance(found, Arrival) and self._handshake.is_of_the_fenced(found, now):
                found.peer.address = source or found.peer.address
                self._evicted.append(found.peer)

    def poll(self, now: float) -> None:
        """Let timers run out."""
        now = self._passed(now)
        for peer in self._peers.values():
            peer.poll(now)
            if peer.met and peer.is_silent(now):
                peer.met, peer.greetings, peer.greet_at = False, 0, now

    def flush(self, now: float, wall: float) -> list[tuple[Address, bytes]]:
        """Make everything so far durable; the packets to send now. Cost: a commit, and the members.

        It is `cut`, `WriteBatch.write`, `settle` and `leaving`, of which a host may do the second elsewhere.
        """
        batch = self.cut()
        self.durable.failed = True
        batch.write(self.durable.store)
        self.durable.failed = False
        self.settle(batch, now)
        batch.settle(None)
        return self.leaving(now, wall)

    def cut(self) -> WriteBatch:
        """What has happened so far, to be made durable."""
        batch = self.durable.cut()
        for peer in self._peers.values():
            if peer.unconfirmed:
                batch.fragments.append((peer, peer.unconfirmed))
                peer.unconfirmed = []
        if self.snapshot is not None:
            batch.snapshot = self.snapshot()
        return batch

    def settle(self, batch: WriteBatch, now: float) -> None:
        """A batch is durable: what follows from it may leave."""
        now = self._passed(now)
        machine = self.durable.process.machine
        for number, packet in self.durable.settled(batch):
            peer = self._peers.get(number)
            if peer is not None:
                peer.post(packet)
                if type(packet) is Ack and machine.awaits(number, packet.mid):
                    peer.await_permit(packet.mid, now)
        for peer, fragments in batch.fragments:
            peer.released += fragments

    def leaving(self, now: float, wall: float) -> list[tuple[Address, bytes]]:
        """The packets to send now, of what is durable. None while a change of members is not."""
        now = self._passed(now)
        leaving: list[tuple[Address, bytes]] = []
        if self.durable.process.evicted or self.durable.changing:
            return leaving
        membership, everybody = self.durable.process.membership, now >= self._look_at
        fenced = bool(membership.fences)
        if everybody:
            self._look_at = now + LOOK
        evicted, self._evicted = self._evicted, []
        for peer in evicted:
            with suppress(KeyFileError):
                used = self._sealer.sending(peer.member.name, now, wall)
                if greeting := self._handshake.due(peer.member.number, peer, used, now):
                    leaving += [(where, greeting) for where in peer.places]
                fence = Fence(peer.member.name, peer.member.incarnation or 0)
                leaving += self._sealed(peer, used, keys.CONTENT, packb(Content(fences=(fence,))))
        for number, peer in self._peers.items():
            if everybody or peer.stirs(now) or (fenced and not membership.talks(number)):
                try:
                    self._write(number, peer, now, wall, leaving)
                except KeyFileError:
                    self.drops[handshake.NO_KEY] += 1
        self.counts["packets out"] += len(leaving)
        self.counts["bytes out"] += sum(len(packet) for _, packet in leaving)
        return leaving

    def next_time(self) -> float:
        """When `poll` and `flush` have something to do even if nothing happens; infinite if never."""
        if self.durable.process.evicted:
            return NEVER
        times = [self.wake_at]
        membership = self.durable.process.membership
        fenced = bool(membership.fences)
        for number, peer in self._peers.items():
            times.append(peer.next_time())
            if fenced and peer.session is not None and not membership.talks(number):
                times.append(peer.fences_at)
        return min(times)

    def status(self, now: float) -> dict[str, Any]:
        """What is under way, plainly: counts, drops by reason, and for each member what is waited for."""
        too_large = {handshake.TOO_LARGE: self.durable.too_large} if self.durable.too_large else {}
        drops = {"drops": {**self.drops, **too_large}}
        return {**status(self.durable, self._peers.values(), now), **drops, **self.counts}

    def _passed(self, now: float) -> float:
        """Time has passed, and never goes back."""
        self.now = now = max(self.now, now)
        if now >= self._next_tick:
            self._next_tick = now + self.limits.tick
            for peer in self._peers.values():
                peer.tick()
        return now

    def _meet(self, now: float) -> None:
        """Make the peers those that the membership names."""
        members = self.durable.process.membership.members
        for number in [number for number in self._peers if number not in members]:
            gone = self._peers.pop(number)
            del self._tagged[tag(gone.member.name)]
            self._former[tag(gone.member.name)] = gone
            self._evicted += [gone] if gone.session is not None else []
        for number, member in members.items():
            if number not in self._peers:
                peer = self._peer(member, now)
                peer.newest = self.durable.process.machine.permits(number)
                self._peers[number] = self._tagged[tag(member.name)] = peer
                self.durable.repeat(number)
        for name, incarnation in self.durable.process.membership.fences:
            if tag(name) not in self._former:
                unmet = Member(-1 - len(self._former), name, "", 0, incarnation)
                self._former[tag(name)] = self._peer(unmet, now)

    def _peer(self, member: Member, now: float) -> Peer:
        limits = self.limits
        congestion = Congestion(limits.least_wait, limits.longest_wait)
        return Peer(member, now, limits.mtu, congestion, limits.under_way)

    def _receive(self, packet: bytes, now: float, wall: float, source: Address | None) -> str | None:
        found = handshake.opened(packet, self._tagged, self._sealer, self.versions, self.limits.mtu, wall)
        if isinstance(found, str):
            return found
        if found.header.kind == keys.GREETING:
            before = found.peer.session
            refused = self._handshake.heard(found, now)
            session = found.peer.session
            if session is not before and session and (before is None or before.boot != session.boot):
                self.started.append(found.peer.member.name)
            if not self._learn(found, source) and refused in (None, handshake.OLD_BOOT):
                found.peer.greets_from = source
            return refused
        self._learn(found, source)
        found.peer.heard_at, found.peer.unanswered = now, 0
        if found.header.kind == keys.EXCHANGE:
            self.exchanged.append((found.peer.member.name, found.content))
            return None
        return self._read(found.peer, read_content(found.content), now)

    def _learn(self, found: Arrival, source: Address | None) -> bool:
        """Whether a packet is of the session; the newest says where its member is answered."""
        peer, header = found.peer, found.header
        session = peer.session
        if session is None or (header.salt, header.key_id) != (session.salt, session.key_id):
            return False
        if source is not None and header.counter == session.window.highest:
            peer.source = None if source == peer.address else source
            peer.greets_from = None
        return True

    def _read(self, peer: Peer, content: Content | None, now: float) -> str | None:
        if content is None:
            return handshake.MALFORMED
        durable, number = self.durable, peer.member.number
        for mid in content.acks:
            for acked in [*peer.acknowledged(mid, now)] or [mid]:
                durable.receive(number, Ack(acked))
        for mid in content.permits:
            for permitted in dict.fromkeys((*peer.permitted(mid, now), mid)):
                durable.receive(number, Permit(permitted))
        if content.copies:
            self._deadlock_avoidance.look(now)
        for copy in content.copies:
            durable.receive(number, HybridMessage(*copy))
        for fence in content.fences:
            durable.fence(fence)
            durable.confirmed(number, fence)
            peer.confirm(fence)
        for fence in content.kept:
            durable.confirmed(number, fence)
        if content.fences:
            self._meet(now)
        return None

    def _write(
        self, number: int, peer: Peer, now: float, wall: float, leaving: list[tuple[Address, bytes]]
    ) -> None:
        """The packets for one member."""
        used = self._sealer.sending(peer.member.name, now, wall)
        greeting = self._handshake.due(number, peer, used, now)
        if greeting is not None:
            places = dict.fromkeys((*peer.places, peer.greets_from or peer.address))
            leaving += [(where, greeting) for where in places]
        if peer.session is None:
            return
        before = len(leaving)
        for content in peer.contents(now, self.durable.process.membership.unconfirmed(number)):
            leaving += self._sealed(peer, used, keys.CONTENT, packb(content))
        fragments, peer.released = peer.released, []
        for piece in fragments:
            leaving += self._sealed(peer, used, keys.EXCHANGE, piece)
        peer.unanswered += len(leaving) > before

    def _sealed(self, peer: Peer, used: Sending, kind: int, content: bytes) -> list[tuple[Address, bytes]]:
        """A packet for somebody that there is a session with, wherever it may be."""
        assert peer.session is not None
        to = keys.Destination(peer.member.name, peer.member.incarnation or 0, peer.session.boot)
        packet = self._sealer.seal(used, peer.session.version, kind, to, content)
        return [(where, packet) for where in peer.places]


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds.

    `mtu`: the largest packet, UDP payload. `largest`: the largest message. `most_copies`: how many copies may
    wait for acks before `send` is refused; `under_way`: how many of them may be on the wire to one member at
    a time. `tick`: duplicates of a packet are answered once in such a time. `least_wait`, `longest_wait`:
    between two tries. `stall`: who is full and gets no acks for so long takes a message all the same
    (`DeadlockAvoidance`).
    """

    mtu: int = 1200
    largest: int = 1 << 20
    most_copies: int = 4096
    under_way: int = 1024
    tick: float = 0.02
    least_wait: float = 0.1
    longest_wait: float = 5.0
    stall: float = 1.0

    def __post_init__(self) -> None:
        if not 512 <= self.mtu <= 65507:
            raise ValueError(f"packets of {self.mtu} bytes; 512 to 65,507 are possible")
