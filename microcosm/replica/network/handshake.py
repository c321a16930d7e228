"""Packets off the wire: from whom, for whom, genuine, and for the first time; and greetings.

A packet that is not genuine leaves nothing behind. Content is sealed for one boot of its destination, so that
a recording is of no use after a restart. Members learn their boots by greetings: a greeting that names the
receiver's current boot is fresh, and the key it is sealed with is accepted from then on, instead of any
earlier one. One that does not is answered by a greeting that names the boot it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgpack import packb

from microcosm.replica import exchange
from microcosm.replica.ledger.dots import LAST_INCARNATION
from microcosm.replica.network import keys
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.keys import Sealer, Sending
from microcosm.replica.network.peer import NEVER, Peer, PeerSession
from microcosm.replica.network.process import Fence
from microcosm.replica.network.wire import Greeting, read_greeting

GREET_FIRST, GREET_LAST = 0.1, 5.0
"""The waits between greetings that nobody answers grow from one to the other."""


class Handshake:
    """The greetings of one endpoint. `tick`: so long it waits at least between two to the same member."""

    def __init__(self, durable: Durable, sealer: Sealer, versions: tuple[int, ...], tick: float) -> None:
        self._durable = durable
        self._sealer = sealer
        self._versions = versions
        self._tick = tick
        self._exchanges = exchange.VERSIONS
        self._generations: dict[int, int] = {}
        """Of the key that each member was sent something with last."""

    def heard(self, arrival: Arrival, now: float) -> str | None:
        """A greeting has come; why no notice is taken of it, or None."""
        peer, header = arrival.peer, arrival.header
        greeting = read_greeting(arrival.content)
        member, session, me = peer.member, peer.session, self._sealer
        if greeting is None or not 0 < header.incarnation <= LAST_INCARNATION:
            return MALFORMED
        if Fence(member.name, header.incarnation) in self._durable.process.membership.fences:
            return OLD_INCARNATION
        common = set(self._versions) & set(greeting.versions)
        if not common:
            return VERSION
        if member.incarnation not in (None, header.incarnation):
            peer.stranger = header.incarnation
            return OTHER_INCARNATION
        peer.echo = (header.incarnation, greeting.boot)
        fresh = (greeting.echo_incarnation, greeting.echo_boot) == (me.incarnation, me.boot)
        old = session is not None and greeting.boot < session.boot and not peer.diverged
        if old and not (fresh and greeting.diverged):
            # A recording, or a copy that has started less often: that one finds what is remembered here of
            # its starts contradicted, and then says itself that it diverged.
            peer.greet_at = min(peer.greet_at, max(now, peer.greeted + self._tick))
            return OLD_BOOT
        if self._diverged(peer, greeting, fresh, member.remembered in (None, header.incarnation)):
            peer.greet_at = max(
                now, peer.greeted + GREET_LAST if peer.answered else peer.greeted + self._tick
            )
            peer.answered = True
            return DIVERGED
        if fresh:
            if session is None or (greeting.boot, greeting.generation) > (session.boot, session.generation):
                if member.incarnation is None:
                    self._durable.bind(member.number, header.incarnation)
                self._durable.met(member.number, greeting.boot, greeting.life)
                peer.diverged, peer.answered, peer.noted = "", False, False
                if session is None or session.boot != greeting.boot:
                    peer.reset()
                window = keys.ReplayWindow()
                window.fresh(header.counter)
                exchange = max({*self._exchanges} & {*greeting.exchanges}, default=0)
                peer.session = session = PeerSession(
                    *(header.key_id, header.salt, greeting.boot, greeting.generation, max(common)),
                    *(exchange, arrival.cipher, window),
                )
            if (greeting.boot, greeting.generation) == (session.boot, session.generation):
                peer.heard_at, peer.unreadable, peer.unanswered = now, 0, 0
                peer.met = greeting.heard == self._generations.get(member.number)
                peer.greet_at = NEVER if peer.met else peer.greet_at
        if not (fresh and peer.met and greeting.met):
            peer.greetings = 0
            peer.greet_at = max(now, peer.greeted + self._tick)
        return None

    def is_of_the_fenced(self, arrival: Arrival, now: float) -> bool:
        """Whether a packet of no member is a greeting of one that was evicted, and is to be answered.

        The answer names its start: so what tells it of the fence is for that start, and will be believed.
        """
        peer, header = arrival.peer, arrival.header
        greeting = read_greeting(arrival.content) if header.kind == keys.GREETING else None
        fences = self._durable.process.membership.fences
        if greeting is None or Fence(peer.member.name, header.incarnation) not in fences:
            return False
        common = {*self._versions} & {*greeting.versions}
        if not common or now < peer.greeted + self._tick:
            return False
        peer.greeted = now
        peer.member.incarnation, peer.echo = header.incarnation, (header.incarnation, greeting.boot)
        peer.session = PeerSession(
            *(header.key_id, header.salt, greeting.boot, greeting.generation, max(common)),
            *(0, arrival.cipher, keys.ReplayWindow()),
        )
        peer.met, peer.greet_at = False, now
        return True

    def _diverged(self, peer: Peer, greeting: Greeting, fresh: bool, same: bool) -> bool:
        """Whether one of two who meet does not remember what the other does: with it nothing is exchanged.

        What a member remembers of us is true however old its greeting is, if it is of this incarnation; what
        it says of itself must answer this very start. `same`: what is remembered of it here is of the
        incarnation that it has.
        """
        process, member = self._durable.process, peer.member
        of_us = greeting.echo_incarnation == self._sealer.incarnation
        why = process.contradicts(member.number, greeting.known) if of_us else None
        if why is not None:
            peer.diverged = f"as {member.name} remembers this replica, {why}"
            peer.mine = True
            return True
        if not fresh:
            return False
        again = greeting.boot == member.boot and greeting.life != member.life
        if greeting.diverged or (same and (greeting.boot < member.boot or again)):
            if not peer.diverged or peer.mine:
                peer.diverged = f"{member.name} does not remember what it had told of its starts and messages"
            peer.mine = False
            return True
        return False

    def due(self, number: int, peer: Peer, used: Sending, now: float) -> bytes | None:
        """The greeting to send to a member now, if it is time for one. `used` is the key to seal with."""
        if self._generations.get(number) != used.generation:
            self._generations[number] = used.generation
            peer.met, peer.greetings, peer.greet_at = False, 0, min(peer.greet_at, now)
        if now < peer.greet_at:
            return None
        session = peer.session
        heard = session.generation if session is not None else 0
        met = peer.met and session is not None
        process = self._durable.process
        life, known = process.lives[process.boot].hash, process.memory_of(number, peer.echo[0])
        mine = bool(peer.diverged) and peer.mine
        echo = (*peer.echo, heard, met)
        fields = (self._versions, self._sealer.boot, used.generation, *echo, life, known, mine)
        greeting = Greeting(*fields, self._exchanges)
        wait = min(GREET_LAST, GREET_FIRST * 2**peer.greetings)
        peer.greetings = min(peer.greetings + 1, 16)
        peer.greeted = now
        peer.greet_at = NEVER if peer.met else now + wait
        to = keys.Destination(peer.member.name)
        return self._sealer.seal(used, self._versions[0], keys.GREETING, to, packb(greeting))


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
DIVERGED = "another memory"
TOO_LARGE = "part of a message that is too large"


class Arrival(NamedTuple):
    """A genuine packet that has not been seen before; `cipher` is what opened it."""

    peer: Peer
    header: keys.Header
    content: bytes
    cipher: Any


def opened(
    packet: bytes, peers: Mapping[bytes, Peer], me: Sealer, versions: tuple[int, ...], mtu: int, wall: float
) -> Arrival | str:
    """What a packet is, or why no notice is taken of it. Cost: the bytes; another key takes some 20 µs."""
    header = keys.header_of(packet)
    if header is None:
        return TOO_SHORT
    if len(packet) > mtu:
        return OVERSIZED
    peer = peers.get(header.sender)
    if peer is None:
        return UNKNOWN_SENDER
    key = me.ring.accepting(header.key_id, me.name, peer.member.name, wall)
    if key is None:
        peer.unreadable += 1
        return UNKNOWN_KEY
    session = peer.session
    current = session is not None and (header.salt, header.key_id) == (session.salt, session.key_id)
    if header.kind in (keys.CONTENT, keys.EXCHANGE):
        if session is None or not current or header.incarnation != peer.member.incarnation:
            return NO_SESSION
        if header.version != session.version:
            return VERSION
        to = keys.Destination(me.name, me.incarnation, me.boot)
    elif header.kind == keys.GREETING:
        if header.version != versions[0]:
            return VERSION
        to = keys.Destination(me.name)
    else:
        return MALFORMED
    if session is not None and current:
        cipher = session.cipher
    else:
        cipher = keys.derived(key, peer.member.name, header.incarnation, header.salt)
    content = keys.unsealed(cipher, header, packet, peer.member.name, to)
    if content is None:
        peer.unreadable += header.kind == keys.GREETING  # else it is for an earlier start of this process
        return NOT_GENUINE
    if session is not None and current and not session.window.fresh(header.counter):
        return REPLAYED
    return Arrival(peer, header, content, cipher)
