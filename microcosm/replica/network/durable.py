"""A process whose inputs are written down before anything that follows from them is seen.

What is done here waits in memory until `flush`: the inputs since the last one, and what the application added
in the course of them (`include`), go to the store in one transaction; only then do packets leave. So a
message is acknowledged once its delivery and the effects of it are durable, both or neither: exactly once, as
far as effects are records. An effect elsewhere, a mail sent, may happen again after a crash.

What only waits in a buffer, or frees one, is written with the next transaction: to forget it is to lose a
packet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from microcosm.errors import Busy, ReplicaError
from microcosm.protocol.machine import Send
from microcosm.protocol.packets import Ack, Message, Packet, Permit
from microcosm.replica.network.membership import Fence, check_name
from microcosm.replica.network.process import (
    ACK,
    BIND,
    BOOT,
    CONFIRMED,
    FENCE,
    ME,
    MEMBER,
    MESSAGE,
    PERMIT,
    SEND,
    Input,
    Letter,
    MessageId,
    Outcome,
    Process,
    parts,
)
from microcosm.replica.store import Record, Store

STATE = "network state"
"""Of the record that holds a whole state (`Durable.export`), where records and a snapshot share a store."""

KIND = "network"
"""Of the records: each is a list of inputs, after a first one that names the replica."""

START = "network start"
"""Of the record that begins an incarnation: its name and number."""


class Durable:
    """One replica's endpoint without time, keys or sockets.

    `deliver` gets each letter once (and once again after a crash before the next `flush`); it may call `send`
    and `include`. If it raises, nothing since the last flush has happened, and the object is of no further
    use.

    `most_copies` is how many copies may wait for acks: beyond, `send` raises `Busy`, except within `deliver`;
    at `1 + members` times as many, incoming messages are refused until some are acknowledged.
    """

    def __init__(
        self, process: Process, store: Store, deliver: Callable[[Letter], None], most_copies: int = 4096
    ) -> None:
        self.process = process
        self.most_copies = most_copies
        self.part_size = 400
        """What is longer is sent in parts; an endpoint sets what fits into its packets."""
        self.largest = 1 << 20
        """The largest payload, in bytes."""
        self.failed = False
        self.refused_for_space = 0
        self._store = store
        self._deliver = deliver
        self._pending: list[Input] = []
        self._effects: list[tuple[str, bytes]] = []
        self._urgent = False
        self._sends: list[Send] = []
        self._letters: deque[Letter] = deque()
        self._delivering = False
        self._withheld: set[int] = set()

    @classmethod
    def opened(
        cls,
        store: Store,
        name: str,
        incarnation: int,
        deliver: Callable[[Letter], None],
        *,
        snapshot: bytes | None = None,
        most_copies: int = 4096,
    ) -> Durable:
        """The endpoint that a store remembers, started once more; if it remembers none, a new one.

        `incarnation` is for a new one. `snapshot` is what `export` gave for the store's snapshot, if it has
        one. Raises `ReplicaError` where the store belongs to another name, or is not understood.
        """
        process = remembered(store.records(), snapshot)
        if process is None:
            self = cls._begin(store, check_name(name), incarnation, deliver, most_copies, [])
        elif process.name != name:
            raise ReplicaError(f"this journal belongs to {process.name!r}, not to {name!r}")
        else:
            self = cls(process, store, deliver, most_copies)
        self._change((BOOT,))
        self.flush()
        return self

    @classmethod
    def _begin(
        cls,
        store: Store,
        name: str,
        incarnation: int,
        deliver: Callable[[Letter], None],
        most_copies: int,
        steps: list[Input],
    ) -> Durable:
        self = cls(Process(name, incarnation), store, deliver, most_copies)
        self._effects.append((START, _packed((name, incarnation))))
        for step in steps:
            self._do(step)
        return self

    def renewed(self, incarnation: int) -> Durable:
        """A new incarnation in the same store: the same members, to be met anew, the same fences, no
        messages.

        For a replica that was evicted, or whose store lost something (a backup restored, a weaker mode).
        """
        old = self.process
        if incarnation == old.incarnation or Fence(old.name, incarnation) in old.membership.fences:
            raise ReplicaError(f"incarnation {incarnation} of {old.name!r} was there already")
        steps: list[Input] = [(MEMBER, member.name, member.host, member.port) for member in old.members]
        steps += [(FENCE, *fence) for fence in old.membership.fences]
        self.failed = True
        new = self._begin(self._store, old.name, incarnation, self._deliver, self.most_copies, steps)
        new._change((BOOT,))
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

    def include(self, kind: str, payload: bytes) -> None:
        """Write a record in the transaction of the next flush. Raises `ValueError` for a kind used here."""
        self._usable()
        if kind in (KIND, START):
            raise ValueError(f"records of kind {kind!r} are written by the endpoint")
        self._effects.append((kind, payload))
        self._urgent = True

    def receive(self, number: int, packet: Packet) -> None:
        """Take a packet of a member. What is refused is as if lost."""
        self._usable()
        process = self.process
        if process.evicted or number not in process.membership:
            return
        if not process.changes(number, packet):
            self._follow(process.answer(number, packet))
        elif isinstance(packet, Message):
            room = self.most_copies * (1 + len(process.membership.members))
            if process.machine.unacked >= room:
                self.refused_for_space += 1
            else:
                self._do((MESSAGE, number, packet.mid, packet.pid, packet.permit, packet.payload))
        elif isinstance(packet, Ack):
            self._do((ACK, number, packet.mid))
        elif isinstance(packet, Permit):
            self._do((PERMIT, number, packet.mid))

    def member(self, name: str, host: str, port: int) -> None:
        """Add a member, or change where it is."""
        self._usable()
        if name == self.process.name:
            raise ReplicaError(f"{name!r} is this replica itself; each needs a name of its own")
        self._change((MEMBER, check_name(name), host, port))

    def bind(self, number: int, incarnation: int) -> None:
        """The member with this number is this incarnation, from now on."""
        self._change((BIND, number, incarnation))

    def evict(self, name: str) -> Fence | None:
        """Give up a member for good: its fence (None: it was never met). Raises `ReplicaError`."""
        self._usable()
        incarnation = self.process.membership.of(name).incarnation
        self._change((FENCE, name, incarnation))
        return None if incarnation is None else Fence(name, incarnation)

    def fence(self, fence: Fence) -> None:
        """Keep a fence that a member keeps."""
        if fence not in self.process.membership.fences:
            self._change((FENCE, *fence))

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

    def flush(self) -> list[Send]:
        """Make everything so far durable; the packets that may leave then, in order.

        Cost: one commit, or none where nothing changed that anybody could see. If the store fails, so does
        this object: open it again.
        """
        self._usable()
        if (self._pending or self._effects) and (self._sends or self._urgent):
            records = [*self._effects]
            if self._pending:
                records.append((KIND, _packed(self._pending)))
            self.failed = True
            self._store.commit(records)
            self.failed = False
            self._pending, self._effects, self._urgent = [], [], False
        leaving, self._sends = self._sends, []
        if self.process.evicted:
            return []
        return [send for send in leaving if self._may_leave(send.to)]

    def export(self) -> bytes:
        """The state, for a snapshot through the last record. Raises `ReplicaError` between flushes."""
        self._usable()
        if self._pending or self._effects:
            self._urgent = True
            self._sends += self.flush()
        return _packed(self.process.state())

    def _may_leave(self, number: int) -> bool:
        """Whether a member keeps all fences; if not, it is told everything again once it does."""
        talks = self.process.membership.talks(number)
        if not talks:
            self._withheld.add(number)
        return talks

    def _change(self, step: Input) -> None:
        self._do(step)
        self._urgent = True

    def _do(self, step: Input) -> None:
        self._pending.append(step)
        self._follow(self.process.apply(step))

    def _follow(self, outcome: Outcome) -> None:
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

    def _usable(self) -> None:
        if self.failed:
            raise ReplicaError("stopped by an earlier fault, or renewed; open it again")


def remembered(records: Iterable[Record], snapshot: bytes | None = None) -> Process | None:
    """The process that records, after a snapshot, are of; None if there is none. Raises `ReplicaError`."""
    process = None if snapshot is None else _restored(snapshot)
    for record in records:
        if record.kind == START:
            process = _begun(record.payload)
        elif record.kind == KIND:
            if process is None:
                raise ReplicaError(f"record {record.number}: messages of nobody; the journal is damaged")
            for step in _unpacked(record.payload):
                process.apply(step)
    return process


def _packed(value: Any) -> bytes:
    import msgpack

    written: bytes = msgpack.packb(value)
    return written


def _unpacked(content: bytes) -> Iterator[Any]:
    import msgpack

    yield from msgpack.unpackb(content, use_list=False)


def _restored(content: bytes) -> Process:
    try:
        return Process.restored(tuple(_unpacked(content)))
    except (ValueError, TypeError) as error:
        raise ReplicaError(f"the snapshot is not one of this version: {error}") from None


def _begun(content: bytes) -> Process:
    name, incarnation = _unpacked(content)
    return Process(name, incarnation)
