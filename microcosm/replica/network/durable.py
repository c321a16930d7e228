"""A process with the messages of an application: what may be sent, and who gets what is delivered.

Whatever is done here is an input of the process, and is written down before anything that follows from it is
seen: see `microcosm.replica.network.write_ahead`.

Processes that are full of copies for each other must not refuse each other's messages for ever. What a
process may hold of its own messages is bounded (`Durable.most_copies`): its application is refused first
(`Busy`), then messages of others, which stay with their senders; acks and permits are always taken. But two
processes, each full of copies for the other, can only deliver something by holding more, where a delivery
sends as much as it takes away, or more. No scheme can keep both: buffers within fixed bounds, and an end to
waiting. (To keep what is too much on disk is no third way: a disk is a larger buffer.) What is kept is that
it goes on. A process that is full, and that for a while (`Limits.stall`) neither got an ack nor took a
message, takes the next message of some sender all the same, which that one may then forget. So everything is
delivered at last if deliveries do not cause each other without end, and if those whom a message waits for are
there or evicted; and a buffer grows beyond its bound by what one message, and whatever was held back for it
alone, causes in each such while, and no faster.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable
from unicodedata import normalize

from msgpack import packb

from microcosm.errors import Busy, ReplicaError
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit
from microcosm.replica.network.keys import check_name
from microcosm.replica.network.process import (
    ACK,
    BIND,
    BOOT,
    CONFIRMED,
    FENCE,
    LIFE_BYTES,
    ME,
    MEMBER,
    MESSAGE,
    MET,
    MORE,
    PERMIT,
    SEND,
    DeliveredMessage,
    Effects,
    Fence,
    Input,
    MessageId,
    Process,
    parts,
)
from microcosm.replica.network.write_ahead import START, Recorded, WriteAhead, remembered
from microcosm.replica.store import Records, Store


class Durable(WriteAhead):
    """One replica's endpoint without time, keys or sockets.

    `deliver` gets each letter once (and once again after a crash before the next `flush`); it may call `send`
    and `include`. If it raises, nothing since the last flush has happened, and the object is of no further
    use.

    `most_copies` is how many copies may wait for acks: beyond, `send` raises `Busy`, except within `deliver`;
    at `1 + members` times as many (`full`), incoming messages are refused until some are acknowledged, but
    for one where there is a `spare` place (`DeadlockAvoidance`). So are the parts of a message that turns out
    larger than twice `largest`, for good: it stays with its sender.
    `recorded` is told of each record of the network as it is cut off, in their order.
    """

    def __init__(
        self,
        process: Process,
        store: Store,
        deliver: Callable[[DeliveredMessage], None],
        recorded: Recorded | None = None,
    ) -> None:
        super().__init__(process, store, recorded)
        self.most_copies = 4096
        self.part_size = 400
        """What is longer is sent in parts; an endpoint sets what fits into its packets."""
        self.largest = 1 << 20
        """The largest payload, in bytes."""
        self.refused_for_space = 0
        self.spare = False
        """Whether the next message of some sender is taken though this is full."""
        self.paused = False
        """Whether no messages are taken, for the application cannot say now what becomes of them."""
        self.progress = 0
        """Acks and messages that were news, counted."""
        self.too_large = 0
        """Parts refused because their message is larger than any that is accepted here."""
        self.letting_go: Callable[[Durable, Process, str], object] | None = None
        """Told before what waits for a member is let go, of this process or the incarnation before it."""
        self._deliver = deliver
        self._letters: deque[DeliveredMessage] = deque()
        self._delivering = False

    @classmethod
    def opened(
        cls,
        store: Store,
        name: str,
        incarnation: int,
        deliver: Callable[[DeliveredMessage], None],
        *,
        snapshot: bytes | None = None,
        recorded: Recorded | None = None,
        records: Records | None = None,
    ) -> Durable:
        """The endpoint that a store remembers, started once more; if it remembers none, a new one.

        `incarnation` is for a new one. `snapshot` is what `state` gave for the store's snapshot, if it has
        one; `records` are those of the network after it, where the store has others too. Raises
        `ReplicaError` where the store belongs to another name, or is not understood.
        """
        if records is None:
            records = [(record.kind, record.payload) for record in store.records()]
        process = remembered(records, snapshot)
        if process is None:
            begun = Process(check_name(name), incarnation)
            self = cls(begun, store, deliver, recorded)._begin([])
        elif process.name != name:
            raise ReplicaError(f"this journal belongs to {process.name!r}, not to {name!r}")
        else:
            self = cls(process, store, deliver, recorded)
        self._change((BOOT, os.urandom(LIFE_BYTES)))
        self.flush()
        return self

    def _begin(self, steps: list[Input]) -> Durable:
        """Write down that there is a new incarnation, and how it begins."""
        self._effects.append((START, packb((self.process.name, self.process.incarnation))))
        for step in steps:
            self._do(step)
        return self

    def renewed(self, incarnation: int) -> Durable:
        """A new incarnation in the same store: the same members, to be met anew, with what is remembered of
        their starts, the same fences, no messages.

        For a replica that was evicted, or whose store lost something (a backup restored, a weaker mode).
        """
        old = self.process
        if incarnation == old.incarnation or Fence(old.name, incarnation) in old.membership.fences:
            raise ReplicaError(f"incarnation {incarnation} of {old.name!r} was there already")
        steps: list[Input] = [(FENCE, *fence) for fence in old.membership.fences]  # before who came after
        for number, member in enumerate(old.members, 1):
            steps.append((MEMBER, member.name, member.host, member.port))
            of = member.remembered
            if of and member.boot:
                steps.append((MET, number, member.boot, member.life, of))
        self.failed = True
        begun = Process(old.name, incarnation)
        new = Durable(begun, self.store, self._deliver, self._recorded)._begin(steps)
        new.letting_go = self.letting_go
        if new.letting_go is not None:
            for member in old.members:
                new.letting_go(new, old, member.name)
        new._change((BOOT, os.urandom(LIFE_BYTES)))
        new.flush()
        return new

    def send(
        self, to: Iterable[str], payload: bytes, note: Callable[[MessageId], object] | None = None
    ) -> MessageId:
        """Send a message to members, this replica itself possibly among them; durable after the next flush.

        `note` is told its id before anything comes of it: a message to oneself is delivered at once.
        Raises `ReplicaError` for strangers, for a payload that is too large, and after an eviction; `Busy`
        under back-pressure, but never from within `deliver`. Cost: constant a receiver and part.
        """
        self._usable()
        process = self.process
        if process.evicted:
            raise ReplicaError(f"{process.name!r} was evicted; go on as a new incarnation")
        numbers = tuple(
            dict.fromkeys(ME if name == process.name else process.membership.of(name).number for name in to)
        )
        if not numbers:
            raise ReplicaError("a message needs a receiver")
        if len(payload) > self.largest:
            raise ReplicaError(f"a message of {len(payload):,} bytes; at most {self.largest:,} are possible")
        if not self._delivering and process.machine.unacked >= self.most_copies:
            raise Busy(f"{process.machine.unacked:,} copies wait to be acknowledged; try again later")
        number = process.sent + 1
        message = MessageId(process.name, process.incarnation, number)
        if note is not None:
            note(message)
        for part in parts(payload, number, self.part_size):
            self._do((SEND, numbers, part))
        self._urgent = True
        return message

    @property
    def full(self) -> bool:
        """Whether so many copies wait for acks that messages, which may cause more, are refused."""
        process = self.process
        return process.machine.unacked >= self.most_copies * (1 + len(process.membership.members))

    def receive(self, number: int, packet: Packet) -> None:
        """Take a packet of a member. What is refused is as if lost."""
        self._usable()
        process = self.process
        if process.evicted or number not in process.membership:
            return
        if not process.changes(number, packet):
            self._follow(process.answer(number, packet))
        elif isinstance(packet, HybridMessage):
            part = packet.payload
            spare = self.spare and process.machine.is_next(number, packet)
            if self.paused or (self.full and not spare):
                self.refused_for_space += 1
            elif process.unfinished(number) > 2 * self.largest and part[:1] == MORE:
                self.too_large += 1
            else:
                self.spare = False
                self.progress += 1
                self._do((MESSAGE, number, packet.mid, packet.pid, packet.permit, packet.payload))
        elif isinstance(packet, Ack):
            self.progress += 1
            self._do((ACK, number, packet.mid))
        elif isinstance(packet, Permit):
            self._do((PERMIT, number, packet.mid))

    def member(self, name: str, host: str, port: int) -> None:
        """Add a member, or change where it is."""
        self._usable()
        if name == self.process.name:
            raise ReplicaError(f"{name!r} is this replica itself; each needs a name of its own")
        check_address(name, host, port)
        named = self.process.membership.named
        for other in (self.process.name, *named) if name not in named else ():
            if normalize("NFC", name) == normalize("NFC", other):
                raise ReplicaError(f"{name!r} is {other!r} in other characters of Unicode; write it so")
            if f"{name}:".startswith(f"{other}:") or other.startswith(f"{name}:"):  # `d:NAME:M` is of both
                raise ReplicaError(f"{name!r} and {other!r}: neither may be the other up to a colon")
        self._change((MEMBER, check_name(name), host, port))

    def bind(self, number: int, incarnation: int) -> None:
        """The member with this number is this incarnation, from now on.

        An earlier one, that was met before this replica was renewed, is given up.
        """
        self._change((BIND, number, incarnation))

    def met(self, number: int, boot: int, life: bytes) -> None:
        """Remember the newest start of a member."""
        member = self.process.membership.members[number]
        if (member.boot, member.life) != (boot, life):
            self._change((MET, number, boot, life))

    def evict(self, name: str, heard: Collection[int] = ()) -> None:
        """Give up a member for good. Raises `ReplicaError`.

        `heard`: the incarnations that others say it has had, all of which are refused if it was never met.
        """
        self._usable()
        met = self.process.membership.of(name).remembered
        if met is None and not heard:
            self._fence(name, None)
        for incarnation in heard if met is None else (met,):
            self._fence(name, incarnation)

    def fence(self, fence: Fence) -> None:
        """Keep a fence that a member keeps."""
        if fence not in self.process.membership.fences:
            self._fence(*fence)

    def _fence(self, name: str, incarnation: int | None) -> None:
        member = self.process.membership.named.get(name)
        if self.letting_go is not None and member is not None and member.remembered in (None, incarnation):
            self.letting_go(self, self.process, name)
        self._change((FENCE, name, incarnation))

    def confirmed(self, number: int, fence: Fence) -> None:
        """A member keeps a fence, durably."""
        membership = self.process.membership
        member = membership.members.get(number)
        if member is None or fence not in membership.fences or fence in member.confirmed:
            return
        self._do((CONFIRMED, number, *fence))
        if number in self._withheld and membership.talks(number):
            self._withheld.discard(number)
            self._sends = [*self.process.repeat(number), *self._sends]

    def repeat(self, number: int) -> None:
        """Say again to a member what it may have missed."""
        self._sends += self.process.repeat(number)

    def _change(self, step: Input) -> None:
        self._do(step)
        self._urgent = self.changing = True

    def _do(self, step: Input) -> None:
        self._pending.append(step)
        self._follow(self.process.apply(step))

    def _follow(self, outcome: Effects) -> None:
        self._sends += outcome.sends
        self._letters += outcome.letters
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._letters:
                self._urgent = True
                self._deliver(self._letters.popleft())
        except BaseException:
            self.failed = True
            raise
        finally:
            self._delivering = False


def check_address(name: str, host: str, port: int) -> None:
    """Raise `ReplicaError` where no member can be."""
    if not host.isprintable() or not 0 <= port <= 65535:
        why = "a host is printable, and a port at most 65535"
        raise ReplicaError(f"{name!r} cannot be at {host!r}, port {port}: {why}")


class DeadlockAvoidance:
    """Lets an endpoint that is full and stuck take one message more. `stall` is in seconds."""

    def __init__(self, durable: Durable, stall: float, now: float) -> None:
        self._durable, self._stall = durable, stall
        self._moved_at = now
        self._progress = 0

    def look(self, now: float) -> None:
        """Time has passed, and acks have been taken: before messages are."""
        durable = self._durable
        if durable.progress != self._progress or not durable.full:
            self._progress, self._moved_at = durable.progress, now
        elif now - self._moved_at >= self._stall:
            durable.spare = True
