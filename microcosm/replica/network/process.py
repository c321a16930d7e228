"""What a replica must not forget about its messages and members: a function of the inputs, in their order.

`Process` does no I/O and keeps no time. `apply` takes one input, a plain tuple, and says what follows from
it: packets for members, and letters for the application. Applying the same inputs again gives the same state,
so the log of a replica is the list of its inputs, and a snapshot the plain value of `state`.

A member is a name with an address. Whoever answers there first is bound to the name, by its *incarnation*:
the number of one unbroken memory. A replica that lost its memory is somebody else, and has to say so with
another incarnation; it is not let in before the old one is *fenced*: refused for good.

**Eviction.** Some process will wait for ever for the acks and permits of one that never comes back. What
waits may be let go as follows. A process that fences an incarnation writes that down, refuses from then on
whatever comes from it, lets go of what waits for it, and sends messages and permits to a member only once
that member has confirmed that it keeps the same fences (`Membership.talks`), durably. So whatever happens
causally after the letting go is delivered only at processes that keep the fence, by induction over the
messages between, and those never deliver what the evicted one still has under way: the delivery that the
permit would have vouched for either happened before the fence or never happens. Likewise nobody who learns
from here that a copy to the evicted process counts as delivered can send it anything any more. A member that
cannot be reached holds up only what goes to itself. Lists of members need not agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from microcosm.errors import ReplicaError
from microcosm.protocol.hybrid.durable import HybridDurable
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit


class Fence(NamedTuple):
    """An incarnation of a name of which nothing is ever accepted again."""

    name: str
    incarnation: int


@dataclass(slots=True)
class Member:
    """One peer, by the number that the protocol knows it by; never used for another."""

    number: int
    name: str
    host: str
    port: int
    incarnation: int | None = None
    """None until the first contact."""
    confirmed: set[Fence] = field(default_factory=set)
    """The fences that it is known to keep, durably."""
    boot: int = 0
    """Its newest start that is known, and the hash that it told of it."""
    life: bytes = b""
    starts_of: int | None = None
    """The incarnation that these are of, where this replica was renewed and has not met it since."""

    @property
    def remembered(self) -> int | None:
        """The incarnation that what is remembered of it is of; None if none was ever met."""
        return self.starts_of if self.incarnation is None else self.incarnation


class Membership:
    """Members by number and by name, and the fences. Every change comes from `Process`, which logs it."""

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.named: dict[str, Member] = {}
        self.fences: dict[Fence, None] = {}
        """In the order in which they were learned."""
        self.next = 1

    def __contains__(self, number: object) -> bool:
        return number in self.members

    def add(self, name: str, host: str, port: int) -> Member:
        """A new member, or another address for one that is there."""
        member = self.named.get(name)
        if member is None:
            member = Member(self.next, name, host, port)
            self.next += 1
            self.members[member.number] = self.named[name] = member
        else:
            member.host, member.port = host, port
        return member

    def drop(self, number: int) -> None:
        """The number is nobody's any more."""
        del self.named[self.members.pop(number).name]

    def of(self, name: str) -> Member:
        """The member of a name. Raises `ReplicaError` where there is none."""
        try:
            return self.named[name]
        except KeyError:
            raise ReplicaError(f"{name!r} is no member; `replica member add` makes it one") from None

    def talks(self, number: int) -> bool:
        """Whether messages may go to a member: it keeps every fence that is kept here."""
        member = self.members.get(number)
        return member is not None and len(member.confirmed) == len(self.fences)

    def unconfirmed(self, number: int) -> list[Fence]:
        """The fences that a member is not known to keep, in the order in which they were learned here."""
        confirmed = self.members[number].confirmed
        return [fence for fence in self.fences if fence not in confirmed]


ME = 0
"""The number by which a process knows itself."""

FORMAT = 2
"""Of `state` and of inputs."""

SEND, MESSAGE, ACK, PERMIT, MEMBER, BIND, FENCE, CONFIRMED, BOOT, MET = range(10)
Input = tuple[Any, ...]
"""One of

    (SEND, numbers, part)                      a causal send to these members (`ME` included or not)
    (MESSAGE, from, mid, pid, flagged, part)   (ACK, from, mid)   (PERMIT, from, mid)
    (MEMBER, name, host, port)                 a member, or its new address
    (BIND, number, incarnation)                the first contact; whoever had the name before is fenced
    (FENCE, name, incarnation)                 incarnation None: a member that was never met
    (CONFIRMED, number, name, incarnation)     a member keeps a fence
    (BOOT, random)                             the process starts, once more
    (MET, number, boot, life)                  the newest start of a member that is known
    (MET, number, boot, life, incarnation)     the same of a member that is to be met anew
"""

LAST, MORE = b"\0", b"\1"
"""How a part begins: the last or only one of a message, or one that others follow."""

COUNT_BYTES = 6

PART_COST = 64
"""Bytes that a part is reckoned to take besides its own."""


class MessageId(NamedTuple):
    """Unique for ever: nobody else has the name, and the incarnation counts its messages once."""

    name: str
    incarnation: int
    number: int

    def __str__(self) -> str:
        return f"{self.name}.{self.incarnation}.{self.number}"


class DeliveredMessage(NamedTuple):
    """A whole message, delivered in causal order."""

    id: MessageId
    payload: bytes


class Effects(NamedTuple):
    """What follows from an input, both lists in order."""

    sends: list[Send]
    letters: list[DeliveredMessage]


NOTHING = Effects([], [])


def parts(payload: bytes, number: int, size: int) -> list[bytes]:
    """A payload cut into parts of at most `size` bytes; the last one carries the number of the message.

    >>> parts(b"abcdefghijkl", 7, 10)
    [b'\\x01abcdefghi', b'\\x00\\x00\\x00\\x00\\x00\\x00\\x07jkl']
    """
    room, last = size - 1, size - 1 - COUNT_BYTES
    cut = []
    at = 0
    while len(payload) - at > last:
        step = min(room, len(payload) - at)
        cut.append(MORE + payload[at : at + step])
        at += step
    return [*cut, LAST + number.to_bytes(COUNT_BYTES, "big") + payload[at:]]


LIFE_BYTES = 8

MOST_LIVES = 256
"""So many starts are remembered, to know whether what others know of them is of this memory."""


class Life(NamedTuple):
    """One start: a hash of the random numbers drawn at it and all before, and the last message before it."""

    hash: bytes
    before: int


class LastKnown(NamedTuple):
    """What a process remembers of another, durably: its newest start, and how far its messages got.

    `delivered` is the last of its messages that was delivered here, `acked` the last of ours that it
    acknowledged.
    """

    boot: int
    life: bytes
    delivered: int
    acked: int


NOTHING_KNOWN = LastKnown(0, b"", 0, 0)


class Process:
    """The durable state of one incarnation of a replica's endpoint.

    `window` bounds the messages of a member that wait for an earlier one.
    """

    def __init__(self, name: str, incarnation: int, window: int = 1024) -> None:
        self.name = name
        self.incarnation = incarnation
        self.boot = 0
        """How often it has started: part of what every packet is sealed with."""
        self.sent = 0
        """Messages that the application sent, which number them."""
        self.lives: dict[int, Life] = {}
        """The starts by their numbers, the newest last: none of them happens in two copies of a store."""
        self.evicted = False
        """Whether this very incarnation has been fenced."""
        self.membership = Membership()
        self.machine = HybridDurable(ME, self.membership, window)
        self._parts: dict[int, list[bytes]] = {}
        self._unfinished: dict[int, int] = {}

    @property
    def members(self) -> Iterable[Member]:
        """The members, in the order in which they were added."""
        return self.membership.members.values()

    def unfinished(self, number: int) -> int:
        """How many bytes are kept of a message of a member of which not all parts have been delivered."""
        return self._unfinished.get(number, 0)

    def changes(self, number: int, packet: Packet) -> bool:
        """Whether a packet of a member is news, and so an input to write down."""
        return number in self.membership and self.machine.changes(number, packet)

    def apply(self, step: Input) -> Effects:
        """One input. Cost: that of the protocol, amortised constant for packets."""
        kind = step[0]
        machine = self.machine
        if kind == SEND:
            _, numbers, part = step
            if part[:1] == LAST:
                self.sent += 1
            machine.causal_send(numbers, part)
        elif kind == MESSAGE:
            machine.receive(step[1], HybridMessage(*step[2:]))
        elif kind == ACK:
            machine.receive(step[1], Ack(step[2]))
        elif kind == PERMIT:
            machine.receive(step[1], Permit(step[2]))
        else:
            self._reconfigure(kind, step[1:])
        return self._outcome()

    def answer(self, number: int, packet: Packet) -> Effects:
        """What a packet that changes nothing is answered with."""
        self.machine.receive(number, packet)
        return self._outcome()

    def repeat(self, number: int) -> list[Send]:
        """What a member may have missed."""
        return [Send(number, packet) for packet in self.machine.repeat(number)]

    def _reconfigure(self, kind: int, what: Input) -> None:
        membership = self.membership
        if kind == MEMBER:
            membership.add(*what)
        elif kind == BIND:
            self._bind(*what)
        elif kind == FENCE:
            self._fence(*what)
        elif kind == CONFIRMED:
            number, name, incarnation = what
            membership.members[number].confirmed.add(Fence(name, incarnation))
        elif kind == BOOT:
            before = self.lives[self.boot].hash if self.boot else b""
            self.boot += 1
            random = what[0] if what else b""
            hashed = blake2b(before + random, digest_size=LIFE_BYTES, person=b"microcosm life").digest()
            self.lives[self.boot] = Life(hashed, self.machine.last)
            self.lives.pop(self.boot - MOST_LIVES, None)
        elif kind == MET:
            member, (boot, life, *of) = membership.members[what[0]], what[1:]
            member.boot, member.life, member.starts_of = boot, life, of[0] if of else None
        else:
            raise ValueError(f"{kind} is no kind of input")

    def memory_of(self, number: int, incarnation: int) -> LastKnown:
        """What is remembered of an incarnation of a member, to be told to it. Cost: the send buffer."""
        member, machine = self.membership.members.get(number), self.machine
        if member is None or member.remembered != incarnation:
            return NOTHING_KNOWN
        return LastKnown(member.boot, member.life, machine.delivered_of(number), machine.acked_by(number))

    def contradicts(self, number: int, memory: LastKnown) -> str | None:
        """Why what a member remembers cannot be of this very memory; None if it can.

        A store that was put back from an older copy, and one that runs twice, are found out so.
        """
        boot, life, delivered, acked = memory
        if boot > self.boot:
            return f"it has started {boot} times, and knows of {self.boot}"
        known, after = self.lives.get(boot), self.lives.get(boot + 1)
        if known is not None and known.hash != life:
            return f"its start {boot} was that of another copy"
        if delivered > (self.machine.last if after is None else after.before):
            return f"its message {delivered} was delivered, which it has not sent"
        machine = self.machine
        if delivered > machine.acked_by(number) and not machine.buffers(number, delivered):
            return f"its message {delivered} was delivered, which it has sent to others, or not at all"
        here = self.machine.delivered_of(number)
        if acked > here:
            return f"it has acknowledged message {acked}, and now remembers no more than {here}"
        return None

    def _bind(self, number: int, incarnation: int) -> None:
        member = self.membership.members[number]
        if member.remembered not in (None, incarnation):  # another one since this replica was renewed
            assert member.remembered is not None
            self.membership.fences[Fence(member.name, member.remembered)] = None
            member.boot, member.life = 0, b""
        member.incarnation, member.starts_of = incarnation, None

    def _fence(self, name: str, incarnation: int | None) -> None:
        membership = self.membership
        if incarnation is not None:
            membership.fences[Fence(name, incarnation)] = None
        if (name, incarnation) == (self.name, self.incarnation):
            self.evicted = True
        member = membership.named.get(name)
        # One that was never met goes too: whatever waits for the name, waits for the evicted.
        if member is not None and (incarnation is None or member.remembered in (None, incarnation)):
            membership.drop(member.number)
            self._parts.pop(member.number, None)
            self._unfinished.pop(member.number, None)
            self.machine.forget(member.number)

    def _outcome(self) -> Effects:
        if not self.machine.out:
            return NOTHING
        sends: list[Send] = []
        letters: list[DeliveredMessage] = []
        for output in self.machine.take():
            if isinstance(output, Send):
                sends.append(output)
            elif (letter := self._assembled(output)) is not None:
                letters.append(letter)
        return Effects(sends, letters)

    def _assembled(self, delivery: Delivery) -> DeliveredMessage | None:
        """The message that a part completes. What is no part completes nothing."""
        sender, part, _ = delivery
        if type(part) is not bytes or not part:
            return None
        if part[:1] == MORE:
            self._parts.setdefault(sender, []).append(part[1:])
            self._unfinished[sender] = self._unfinished.get(sender, 0) + len(part) + PART_COST
            return None
        number = int.from_bytes(part[1 : 1 + COUNT_BYTES], "big")
        payload = part[1 + COUNT_BYTES :]
        if sender in self._parts:
            payload = b"".join((*self._parts.pop(sender), payload))
            del self._unfinished[sender]
        if sender == ME:
            return DeliveredMessage(MessageId(self.name, self.incarnation, number), payload)
        member = self.membership.members[sender]
        return DeliveredMessage(MessageId(member.name, member.incarnation or 0, number), payload)

    def state(self) -> tuple[Any, ...]:
        """Everything, as plain values."""
        membership = self.membership
        members = tuple(
            (
                *(m.number, m.name, m.host, m.port, m.incarnation, tuple(sorted(m.confirmed))),
                *(m.boot, m.life, *(() if m.starts_of is None else (m.starts_of,))),
            )
            for m in self.members
        )
        counts = (self.boot, self.sent, self.evicted, membership.next)
        return (
            *(FORMAT, self.name, self.incarnation, counts, members, tuple(membership.fences)),
            *(tuple((k, tuple(v)) for k, v in self._parts.items()), self.machine.state()),
            tuple((boot, *life) for boot, life in self.lives.items()),
        )

    @classmethod
    def restored(cls, state: tuple[Any, ...]) -> Process:
        """The process whose `state` this is. Raises `ValueError` or `TypeError` for what is no state."""
        version, name, incarnation, counts, members, fences, unfinished, machine, lives = state
        if version != FORMAT:
            raise ValueError(f"format {version}, and only {FORMAT} is known")
        process = cls(name, incarnation)
        process.boot, process.sent, process.evicted, process.membership.next = counts
        for number, called, host, port, bound, confirmed, *starts in members:
            kept = {Fence(*fence) for fence in confirmed}
            member = Member(number, called, host, port, bound, kept, *starts)
            process.membership.members[number] = process.membership.named[called] = member
        process.membership.fences = {Fence(*fence): None for fence in fences}
        process._parts = {sender: list(begun) for sender, begun in unfinished}
        process._unfinished = {sender: _cost(begun) for sender, begun in unfinished}
        process.lives = {boot: Life(*life) for boot, *life in lives}
        process.machine = HybridDurable.restored(ME, machine, process.membership)
        return process


def _cost(begun: Iterable[bytes]) -> int:
    return sum(1 + len(part) + PART_COST for part in begun)
