"""A durable endpoint without I/O: packets in, packets out, letters up; exactly once, in causal order.

What the host owes an endpoint:

1. hand what the network brings to `receive`, and call `poll` at `next_time` at the latest;
2. call `flush` after any of these, and after `send`; send each packet that it gives to the address beside it;
3. pass a time that never goes back (`now`), and the time of day (`wall`), which may jump: only keys use it;
4. after an exception other than `ReplicaError` throw the endpoint away and open another on the same store.

A packet that is not genuine is counted, and nothing else: it is not answered, and leaves nothing behind.
Answers go to the configured address of the member, never to where a packet came from.

**Meeting.** Content is sealed for one boot of its destination, so that a recording is of no use after a
restart. Members learn their boots by greetings: a greeting that names the receiver's current boot is fresh,
and the key it is sealed with is accepted from then on, instead of any earlier one. One that does not is
answered by a greeting that names the boot it came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from microcosm.errors import KeyFileError, ReplicaError
from microcosm.protocol.packets import Ack, Message, Permit
from microcosm.replica.network.congestion import Congestion
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.keys import Keyring
from microcosm.replica.network.limits import Limits
from microcosm.replica.network.membership import Fence
from microcosm.replica.network.peer import NEVER, Peer, Session
from microcosm.replica.network.process import MessageId
from microcosm.replica.network.sealing import (
    CONTENT,
    EXCHANGE,
    GREETING,
    OVERHEAD,
    Destination,
    Header,
    Sealer,
    derived,
    header_of,
    tag,
    unsealed,
)
from microcosm.replica.network.window import ReplayWindow
from microcosm.replica.network.wire import (
    COPY_BYTES,
    FRAME_BYTES,
    VERSIONS,
    Content,
    Greeting,
    packed,
    read_content,
    read_greeting,
)

Address = tuple[str, int]

TOO_SHORT = "too short"
OVERSIZED = "oversized"
VERSION = "version"
UNKNOWN_SENDER = "unknown sender"
UNKNOWN_KEY = "unknown key"
NO_SESSION = "no session"
NOT_GENUINE = "not genuine"
REPLAYED = "replayed"
OLD_INCARNATION = "old incarnation"
OTHER_INCARNATION = "another incarnation"
OLD_BOOT = "old boot"
MALFORMED = "malformed"
NO_KEY = "no key in force"

GREET_FIRST, GREET_LAST = 0.1, 5.0
"""The waits between greetings that nobody answers grow from one to the other."""
MOST_SAID = 512
"""So many pieces of exchanges wait for a member at most; what is more is left out."""
SILENCE = 3
"""After so many waits in vain a member is greeted again: it may have started anew."""


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
        durable.most_copies = limits.most_copies
        durable.largest = limits.largest
        durable.part_size = limits.mtu - OVERHEAD - FRAME_BYTES - COPY_BYTES
        process = durable.process
        self._sealer = Sealer(ring, process.name, process.incarnation, process.boot, entropy)
        self._peers: dict[int, Peer] = {}
        self._tagged: dict[bytes, Peer] = {}
        self._generations: dict[int, int] = {}
        """Of the key that each member was sent something with last."""
        self._next_tick = now
        self._now = now
        self._meet(now)

    def __repr__(self) -> str:
        return f"<Endpoint {self.durable.process.name}.{self.durable.process.incarnation}>"

    def send(
        self, to: Iterable[str], payload: bytes, note: Callable[[MessageId], object] | None = None
    ) -> MessageId:
        """As `Durable.send`; the message leaves with the next `flush`, or as soon as it may."""
        return self.durable.send(to, payload, note)

    def include(self, kind: str, payload: bytes) -> None:
        """As `Durable.include`: a record in one transaction with the deliveries and sends of this moment."""
        self.durable.include(kind, payload)

    def say(self, name: str, content: bytes) -> bool:
        """Send a member a piece of an exchange of knowledge: at most once, in any order, or not at all.

        It leaves with the next flush; false if the member is not to be reached now, or too much waits.
        """
        peer = self._tagged.get(tag(name))
        if peer is None or peer.session is None or len(peer.said) >= MOST_SAID:
            return False
        peer.said.append(content)
        return True

    @property
    def room(self) -> int:
        """How many bytes `say` may be given."""
        return self.limits.mtu - OVERHEAD

    def add_member(self, name: str, address: Address, now: float) -> None:
        """A new member, met as soon as it answers; or a new address for one. Durable after the next flush."""
        if tag(name) in self._tagged and name not in self.durable.process.membership.named:
            raise ReplicaError(f"{name!r} and another member have the same digest; choose another name")
        self.durable.member(name, *address)
        self._meet(now)
        self._peers[self.durable.process.membership.named[name].number].address = address

    def evict(self, name: str, now: float) -> Fence | None:
        """Give a member up for good, here and, as soon as they hear of it, at all others (see `Process`)."""
        fence = self.durable.evict(name)
        self._meet(now)
        return fence

    def use_keys(self, ring: Keyring) -> None:
        """Use the keys of a new ring from now on; sessions under keys that it still accepts go on."""
        self._sealer.ring = ring

    def receive(self, packet: bytes, now: float, wall: float) -> None:
        """Take a packet off the wire. Raises nothing for what it says; a refusal is counted in `drops`."""
        now = self._passed(now)
        self.counts["packets in"] += 1
        self.counts["bytes in"] += len(packet)
        reason = self._receive(packet, now, wall)
        if reason is not None:
            self.drops[reason] += 1

    def poll(self, now: float) -> None:
        """Let timers run out."""
        now = self._passed(now)
        for peer in self._peers.values():
            peer.poll(now)
            if peer.met and peer.congestion.silence >= SILENCE:
                peer.met, peer.greetings, peer.greet_at = False, 0, now

    def flush(self, now: float, wall: float) -> list[tuple[Address, bytes]]:
        """Make everything so far durable; the packets to send now. Cost: a commit, and the members."""
        now = self._passed(now)
        machine = self.durable.process.machine
        for number, packet in self.durable.flush():
            peer = self._peers.get(number)
            if peer is not None:
                peer.post(packet)
                if isinstance(packet, Ack) and machine.awaits(number, packet.mid):
                    peer.await_permit(packet.mid, now)
        leaving: list[tuple[Address, bytes]] = []
        if self.durable.process.evicted:
            return leaving
        for number, peer in self._peers.items():
            try:
                self._write(number, peer, now, wall, leaving)
            except KeyFileError:
                self.drops[NO_KEY] += 1
        self.counts["packets out"] += len(leaving)
        self.counts["bytes out"] += sum(len(packet) for _, packet in leaving)
        return leaving

    def next_time(self) -> float:
        """When `poll` and `flush` have something to do even if nothing happens; infinite if never."""
        times = [NEVER]
        for number, peer in self._peers.items():
            times += [peer.greet_at, peer.next_time()]
            if peer.session is not None and self.durable.process.membership.unconfirmed(number):
                times.append(peer.fences_at)
        return min(times)

    def status(self, now: float) -> dict[str, Any]:
        """What is under way, plainly: counts, drops by reason, and for each member what is waited for."""
        process = self.durable.process
        return {
            "name": process.name,
            "incarnation": process.incarnation,
            "boot": process.boot,
            "evicted": process.evicted,
            "send buffer": process.machine.unacked,
            "held back": process.machine.unsent,
            "refused for space": self.durable.refused_for_space,
            "fences": [tuple(fence) for fence in process.membership.fences],
            "drops": dict(self.drops),
            "refused": dict(process.machine.refused),
            **self.counts,
            "members": {peer.member.name: self._state_of(peer, now) for peer in self._peers.values()},
        }

    def _passed(self, now: float) -> float:
        """Time has passed, and never goes back."""
        self._now = now = max(self._now, now)
        if now >= self._next_tick:
            self._next_tick = now + self.limits.tick
            for peer in self._peers.values():
                peer.tick()
        return now

    def _state_of(self, peer: Peer, now: float) -> dict[str, Any]:
        number = peer.member.number
        membership = self.durable.process.membership
        return {
            "address": peer.address,
            "incarnation": peer.member.incarnation,
            "met": peer.session is not None and peer.met,
            "stranger": peer.stranger,
            "silent for": None if peer.heard_at is None else now - peer.heard_at,
            "unacknowledged": peer.unacked,
            "held out of order": self.durable.process.machine.holds(number),
            "missing permits": {mid: now - since for mid, since in peer.missing()},
            "unconfirmed fences": [tuple(fence) for fence in membership.unconfirmed(number)],
            "retransmissions": peer.retransmissions,
            "suppressed answers": peer.suppressed,
            "window": int(peer.congestion.window),
            "round trip": peer.congestion.rtt,
        }

    def _meet(self, now: float) -> None:
        """Make the peers those that the membership names."""
        members = self.durable.process.membership.members
        for number in [number for number in self._peers if number not in members]:
            del self._tagged[tag(self._peers.pop(number).member.name)]
        for number, member in members.items():
            if number not in self._peers:
                limits = self.limits
                congestion = Congestion(limits.least_wait, limits.longest_wait)
                peer = Peer(member, now, limits.mtu, congestion, limits.under_way)
                self._peers[number] = self._tagged[tag(member.name)] = peer
                self.durable.repeat(number)

    def _receive(self, packet: bytes, now: float, wall: float) -> str | None:
        header = header_of(packet)
        if header is None:
            return TOO_SHORT
        if len(packet) > self.limits.mtu:
            return OVERSIZED
        peer = self._tagged.get(header.sender)
        if peer is None:
            return UNKNOWN_SENDER
        key = self._sealer.ring.accepting(header.key_id, self._sealer.name, peer.member.name, wall)
        if key is None:
            return UNKNOWN_KEY
        me, session = self._sealer, peer.session
        current = session is not None and (header.salt, header.key_id) == (session.salt, session.key_id)
        if header.kind in (CONTENT, EXCHANGE):
            if session is None or not current or header.incarnation != peer.member.incarnation:
                return NO_SESSION
            if header.version != session.version:
                return VERSION
            to = Destination(me.name, me.incarnation, me.boot)
        elif header.kind == GREETING:
            if header.version != self.versions[0]:
                return VERSION
            to = Destination(me.name)
        else:
            return MALFORMED
        if session is not None and current:
            cipher = session.cipher
        else:
            cipher = derived(key, peer.member.name, header.incarnation, header.salt)
        content = unsealed(cipher, header, packet, peer.member.name, to)
        if content is None:
            return NOT_GENUINE
        if session is not None and current and not session.window.fresh(header.counter):
            return REPLAYED
        if header.kind == GREETING:
            return self._greeted(peer, header, cipher, read_greeting(content), now)
        peer.heard_at = now
        if header.kind == EXCHANGE:
            self.exchanged.append((peer.member.name, content))
            return None
        return self._read(peer, read_content(content), now)

    def _greeted(
        self, peer: Peer, header: Header, cipher: Any, greeting: Greeting | None, now: float
    ) -> str | None:
        member, session, me = peer.member, peer.session, self._sealer
        if greeting is None:
            return MALFORMED
        if Fence(member.name, header.incarnation) in self.durable.process.membership.fences:
            return OLD_INCARNATION
        common = set(self.versions) & set(greeting.versions)
        if not common:
            return VERSION
        if member.incarnation not in (None, header.incarnation):
            peer.stranger = header.incarnation
            return OTHER_INCARNATION
        if session is not None and greeting.boot < session.boot:
            return OLD_BOOT
        peer.echo = (header.incarnation, greeting.boot)
        fresh = (greeting.echo_incarnation, greeting.echo_boot) == (me.incarnation, me.boot)
        if fresh:
            if session is None or (greeting.boot, greeting.generation) > (session.boot, session.generation):
                if member.incarnation is None:
                    self.durable.bind(member.number, header.incarnation)
                if session is None or session.boot != greeting.boot:
                    peer.reset()
                window = ReplayWindow()
                window.fresh(header.counter)
                peer.session = session = Session(
                    *(header.key_id, header.salt, greeting.boot, greeting.generation, max(common)),
                    *(cipher, window),
                )
            if (greeting.boot, greeting.generation) == (session.boot, session.generation):
                peer.heard_at = now
                peer.met = greeting.heard == self._generations.get(member.number)
                peer.greet_at = NEVER if peer.met else peer.greet_at
        if not (fresh and peer.met and greeting.met):
            peer.greetings = 0
            peer.greet_at = max(now, peer.greeted + self.limits.tick)
        return None

    def _read(self, peer: Peer, content: Content | None, now: float) -> str | None:
        if content is None:
            return MALFORMED
        durable, number = self.durable, peer.member.number
        for mid in content.acks:
            done = False
            for acked in peer.acknowledged(mid, now):
                durable.receive(number, Ack(acked))
                done = True
            if not done:
                durable.receive(number, Ack(mid))
        for mid in content.permits:
            permitted = peer.permitted(mid, now)
            for one in permitted:
                durable.receive(number, Permit(one))
            if mid not in permitted:
                durable.receive(number, Permit(mid))
        for copy in content.copies:
            durable.receive(number, Message(*copy))
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
        sealer, session = self._sealer, peer.session
        used = sealer.sending(peer.member.name, now, wall)
        if self._generations.get(number) != used.generation:
            self._generations[number] = used.generation
            peer.met, peer.greetings, peer.greet_at = False, 0, min(peer.greet_at, now)
        if now >= peer.greet_at:
            heard = session.generation if session is not None else 0
            greeting = Greeting(
                self.versions,
                sealer.boot,
                used.generation,
                *peer.echo,
                heard,
                peer.met and session is not None,
            )
            wait = min(GREET_LAST, GREET_FIRST * 2**peer.greetings)
            peer.greetings = min(peer.greetings + 1, 16)
            peer.greeted = now
            peer.greet_at = NEVER if peer.met else now + wait
            to = Destination(peer.member.name)
            sealed = sealer.seal(used, self.versions[0], GREETING, to, packed(greeting))
            leaving.append((peer.address, sealed))
        if session is None:
            return
        to = Destination(peer.member.name, peer.member.incarnation or 0, session.boot)
        for content in peer.contents(now, self.durable.process.membership.unconfirmed(number)):
            sealed = sealer.seal(used, session.version, CONTENT, to, packed(content))
            leaving.append((peer.address, sealed))
        said, peer.said = peer.said, []
        for piece in said:
            leaving.append((peer.address, sealer.seal(used, session.version, EXCHANGE, to, piece)))
