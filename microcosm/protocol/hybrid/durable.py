"""The SPS-optimal multicast for processes that may stop, come back, and be given up.

Hybrid Buffering excludes restarts (section 5). They are safe if nothing leaves a process that it can still
forget: its host writes down every input that changes the state before any packet that follows from it leaves,
and afterwards a process that stopped is one that was slow, and a packet that it forgot one that was lost. For
that a machine says here whether an input would change it (`changes`), gives its whole state as plain values
(`state`, `restored`), and repeats on demand what it told one process (`repeat`).

A process that never comes back would leave others waiting for its acks and permits for ever. `forget` lets go
of all that. It is safe only once nobody that this process talks to will ever again deliver a message of the
forgotten one: see `microcosm.replica.network.process`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from microcosm.protocol.hybrid.common import SlidingArray, SlidingMap
from microcosm.protocol.hybrid.multicast import Copy, HybridMulticastSPS, MessageCopies
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit

MachineState = tuple[Any, ...]
"""Tuples of integers, booleans, None and payloads: what MessagePack can write."""


class HybridDurable(HybridMulticastSPS):
    """`HybridMulticastSPS` with a state that can be taken out and put back.

    >>> a = HybridDurable(1)
    >>> a.causal_send([2, 3], b"hello"), len(a.take())
    (1, 2)
    >>> b = HybridDurable.restored(1, a.state())
    >>> list(b.repeat(3)), b.changes(3, Ack(1)), b.changes(3, Ack(2))
    ([HybridMessage(mid=1, pid=0, permit=True, payload=b'hello')], True, False)
    """

    __slots__ = ()

    def changes(self, sender: int, packet: Packet) -> bool:
        """Whether `receive` would change the state; if not, it may still answer. Cost: constant."""
        if not packet.sound():
            return False
        if isinstance(packet, HybridMessage):
            last = self._delivered.get(sender, 0)
            held = self._buffered.get(sender, {})
            fits = packet.pid == last or packet.pid in held or len(held) < self.window
            return packet.mid > last and packet.pid >= last and fits and held.get(packet.pid) != packet
        if isinstance(packet, Ack):
            return self._awaits(sender, packet.mid)
        if isinstance(packet, Permit):
            if packet.mid > self._delivered.get(sender, 0) + self.window:
                return False
            known = packet.mid <= self._permitted.get(sender, 0)
            return not known or self._missing.index((sender, packet.mid)) is not None
        return False

    def is_next(self, sender: int, message: HybridMessage) -> bool:
        """Whether a message is the one to be delivered next of its sender. Cost: constant."""
        return message.pid == self._delivered.get(sender, 0)

    def awaits(self, sender: int, mid: int) -> bool:
        """Whether the permit for a delivered message is missing. Cost: constant."""
        return self._missing.index((sender, mid)) is not None

    def missing(self) -> Iterator[tuple[int, int]]:
        """Sender and id of each delivered message whose permit is missing, oldest first.

        Cost: linear in them and in the gaps between.
        """
        return iter(self._missing)

    def holds(self, sender: int) -> int:
        """How many messages of a process wait for an earlier one. Cost: constant."""
        return len(self._buffered.get(sender, ()))

    @property
    def last(self) -> int:
        """The id of the last message that was sent. Cost: constant."""
        return self._groups.next - 1

    def delivered_of(self, sender: int) -> int:
        """The id of the last message of a process that was delivered. Cost: constant."""
        return self._delivered.get(sender, 0)

    def acked_by(self, receiver: int) -> int:
        """The id of a message that a process has acknowledged, with all before it. Cost: the send buffer."""
        waiting = (c.pid for c in self._buffer if c.receiver == receiver and not c.acked)
        return next(waiting, self._last_sent.get(receiver, 0))

    def buffers(self, receiver: int, mid: int) -> bool:
        """Whether a copy of a message for a process is in the send buffer. Cost: the send buffer."""
        return any(c.receiver == receiver and c.group.mid == mid for c in self._buffer)

    @property
    def unacked(self) -> int:
        """Copies in the send buffer, from the first that is not acknowledged on. Cost: constant."""
        return len(self._buffer)

    def repeat(self, to: int) -> Iterator[Packet]:
        """What a tick says again to one process. Cost: the send buffer."""
        for copy in self._buffer:
            if copy.receiver == to and copy.sent and not copy.acked:
                yield copy.packet()
        for sender, mid in self._missing:
            if sender == to:
                yield Ack(mid)

    def waiting(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Each copy held back: its id, its receiver, and the missing permit (sender, id) that holds it.

        Cost: the send buffer, and the missing permits for each copy held back.
        """
        for copy in self._buffer:
            if not copy.sent:
                reasons = (
                    (sender, mid)
                    for sender, mid in self._missing
                    if sender != copy.receiver
                    and (self._missing.index((sender, mid)) or 0) < copy.group.waits
                )
                yield copy.group.mid, copy.receiver, next(reasons)

    def unacknowledged(self) -> Iterator[tuple[int, int, bool]]:
        """Each copy without an ack: its id, its receiver, and whether it was sent. Cost: the send buffer."""
        return ((copy.group.mid, copy.receiver, copy.sent) for copy in self._buffer if not copy.acked)

    def payload(self, mid: int) -> object:
        """The payload of a message that some copy in the send buffer is of, or None. Cost: constant."""
        inside = self._groups.first <= mid < self._groups.next
        return self._groups[mid].payload if inside else None

    def early(self) -> Iterator[tuple[int, int, int]]:
        """Each message held out of order: its sender, its id, and that of the one it waits for.

        Cost: the messages held.
        """
        for sender, held in self._buffered.items():
            yield from ((sender, message.mid, message.pid) for message in held.values())

    def forget(self, process: int) -> None:
        """Take no notice of a process any more: what waits for it waits no longer. Cost: the buffers."""
        self._buffered.pop(process, None)
        for sender, mid in [key for key in self._missing if key[0] == process]:
            self._permit(sender, mid)
        held_back = [copy for copy in self._buffer if copy.receiver == process and not copy.sent]
        for copy in held_back:
            copy.sent = True
        while self._m1 < self._buffer.next and self._buffer[self._m1].sent:
            self._m1 += 1
        for mid in [c.group.mid for c in self._buffer if c.receiver == process and not c.acked]:
            self._on_ack(process, Ack(mid))
        for table in (self._last_sent, self._delivered, self._permitted):
            table.pop(process, None)

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        reason = super()._on_ack(sender, ack)
        if self._m2 < self._buffer.first:  # a copy to a forgotten process, which still waited, has gone
            self._m2 = self._buffer.first
            while self._m2 < self._buffer.next and self._buffer[self._m2].group.waits <= self._p2:
                self._m2 += 1
        return reason

    def state(self) -> MachineState:
        """Everything that the machine remembers. Cost: its size."""
        groups = tuple(
            (
                group.start,
                group.waits,
                group.payload,
                tuple((c.receiver, c.pid, c.sent, c.acked, c.flagged, c.owed) for c in group.copies.values()),
            )
            for group in self._groups
        )
        held = tuple(
            (sender, tuple((m.mid, m.pid, m.permit, m.payload) for m in messages.values()))
            for sender, messages in self._buffered.items()
        )
        missing = self._missing
        return (
            self.window,
            tuple(self._last_sent.items()),
            tuple(self._delivered.items()),
            tuple(self._permitted.items()),
            held,
            (self._groups.first, self._buffer.first, self._buffer.next),
            groups,
            (missing.first, tuple(missing[at] for at in range(missing.first, missing.next))),
            (self._p2, self._m1, self._m2, self._u2),
        )

    @classmethod
    def restored(cls, me: int, state: MachineState, known: Container[int] | None = None) -> HybridDurable:
        """The machine whose `state` this is. Raises `ValueError` or `TypeError` for what is no state.

        Cost: linear in the state.
        """
        window, last_sent, delivered, permitted, held, bases, groups, missing, indexes = state
        machine = cls(me, known, window)
        machine._last_sent = dict(last_sent)
        machine._delivered = dict(delivered)
        machine._permitted = dict(permitted)
        for sender, messages in held:
            machine._buffered[sender] = {m[1]: HybridMessage(*m) for m in messages}
        first, start, end = bases
        machine._groups = SlidingArray[MessageCopies](first)
        machine._buffer = SlidingArray[Copy](start)
        for begin, waits, payload, copies in groups:
            group = MessageCopies(machine._groups.next, begin, begin + len(copies), waits, payload, 0)
            machine._groups.add(group)
            for at, (receiver, *of_it) in enumerate(copies, begin):
                copy = group.copies[receiver] = Copy(group, receiver, *of_it)
                group.left += not copy.acked
                if at >= start:
                    machine._buffer.add(copy)
        if machine._buffer.next != end:
            raise ValueError("the copies of a send buffer do not fill it")
        base, keys = missing
        machine._missing = SlidingMap[tuple[int, int]](base)
        for at, key in enumerate(keys, base):
            machine._missing.add((-1, at) if key is None else tuple(key))
        for at, key in enumerate(keys, base):
            if key is None:
                machine._missing.remove((-1, at))
        machine._p2, machine._m1, machine._m2, machine._u2 = indexes
        return machine
