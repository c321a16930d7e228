"""The basic hybrid protocol for several receivers: Hybrid Buffering, Algorithm 3, corrected (E1, E6 to E14).

As Algorithm 1, except that a message to several receivers is itself among what has to be delivered before
they may act on it: it is always flagged, and its permits wait for its own acks. The optimisation that
section 5.7 only names is here: while a single one of these is missing, nothing is undelivered but the copy
of that very receiver, and its permit goes out at once. So a message to one receiver is treated as in
Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from microcosm.protocol.hybrid.common import SlidingArray
from microcosm.protocol.hybrid.unicast import HybridOptimal, HybridQueue
from microcosm.protocol.machine import STRANGER, WINDOW
from microcosm.protocol.packets import HybridMessage, Permit


@dataclass(slots=True, eq=False)
class Multicast:
    """A message to several receivers on its way out."""

    pids: dict[int, int]
    """For each receiver the id of its predecessor: each copy carries one integer (E10)."""
    unacked: set[int]
    mid: int
    waits: int
    payload: Any
    permit: bool = False
    permitted: int | None = None
    """The receiver that got its permit before the others, its own ack alone being missing."""

    def packet(self, receiver: int) -> HybridMessage:
        """What is sent of it. Cost: constant."""
        return HybridMessage(self.mid, self.pids[receiver], self.permit, self.payload)

    def again(self) -> Iterator[tuple[int, HybridMessage]]:
        """What is on the network of it without an ack, with its receivers. Cost: linear."""
        for receiver in self.pids:
            if receiver in self.unacked:
                yield receiver, self.packet(receiver)


class HybridMulticast(HybridQueue[Multicast]):
    """Algorithm 3 at one process. Amortised constant time a copy; three integers a copy."""

    __slots__ = ()

    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> Multicast:
        return Multicast(dict(zip(to, pids, strict=True)), {*to}, mid, self._missing.next, payload)

    def _try_send(self) -> None:
        waiting = self._waiting
        while waiting and self._missing.first >= waiting[0].waits:
            message = waiting.popleft()
            message.permit = len(self._unacked) > 0 or len(message.pids) > 1
            self._unacked.add(message)
            for receiver in message.pids:
                self.operations += 1
                self._emit(receiver, message.packet(receiver))

    def _acknowledge(self, sender: int, mid: int, message: Multicast) -> str | None:
        if sender not in message.pids:
            return STRANGER
        message.unacked.discard(sender)
        if not message.unacked:
            message.payload = None
        if mid == self._unacked.first:
            self._send_permits()
        return None

    def _send_permits(self) -> None:
        """Forget what is acknowledged, from the oldest on, and send the permits that are due."""
        unacked = self._unacked
        while unacked.first < unacked.next:
            message = unacked.peek
            left = message.unacked
            if message.permit and len(left) <= 1:
                permitted = message.permitted
                for receiver in left or message.pids:
                    if receiver != permitted:
                        self.operations += 1
                        message.permitted = receiver
                        self._emit(receiver, Permit(message.mid))
            if left:
                return
            unacked.remove()

    def _lacks_ack(self, receiver: int, message: Multicast) -> bool:
        return receiver in message.unacked

    def _outgoing_integers(self) -> int:
        outgoing = (*self._unacked, *self._waiting)
        return 1 + sum(4 + 2 * len(message.pids) + len(message.unacked) for message in outgoing)

    @property
    def unsent(self) -> int:
        return sum(len(message.pids) for message in self._waiting)

    def _check(self) -> None:
        super()._check()
        assert not len(self._unacked) or self._unacked.peek.unacked
        assert all(m.permitted is None or m.unacked == {m.permitted} for m in self._unacked)


@dataclass(slots=True, eq=False)
class MessageCopies:
    """A message and its copies, which stand at indexes `start` to `end` of the buffer."""

    mid: int
    start: int
    end: int
    waits: int
    payload: Any
    left: int
    """Copies that are not acknowledged yet."""
    copies: dict[int, Copy] = field(default_factory=dict)

    def again(self) -> Iterator[tuple[int, HybridMessage]]:
        """What is on the network of it without an ack, with its receivers. Cost: linear."""
        for copy in self.copies.values():
            if copy.sent and not copy.acked:
                yield copy.receiver, copy.packet()


@dataclass(slots=True, eq=False)
class Copy:
    """One copy of a message. `owed`: its receiver was told to wait for a permit, and none has been sent."""

    group: MessageCopies
    receiver: int
    pid: int
    sent: bool = False
    acked: bool = False
    flagged: bool = False
    owed: bool = False

    @property
    def waits(self) -> int:
        """It depends on the missing permits before this index."""
        return self.group.waits

    def packet(self) -> HybridMessage:
        """What is sent of it. Cost: constant."""
        return HybridMessage(self.group.mid, self.pid, self.flagged, self.group.payload)


class HybridMulticastSPS(HybridOptimal[Copy]):
    """SPS-optimal multicast, which Hybrid Buffering leaves to the reader (sections 5.6 and 5.7).

    The unit is a copy: message m to receiver j. Process i gives (m, j) to the network once every copy of an
    earlier message, to others than i, from a process other than i and j that sent to i, has been delivered.
    So that the receiver can tell, the flag of (m, j), and its permit, wait for the copies to processes other
    than j of earlier messages *and of m itself*. Permits stay cumulative for each sender and receiver.

    The copies of all messages share one sliding array; those of a message are neighbours, and `end` is the
    index behind them. Then a permit for (m, j) is due when

        all copies before m.end are acknowledged                                   (first >= m.end), or
        all of them to others than j are, j being the first receiver that is not   (u2 >= m.end)

    with u2 as in Algorithm 2: the first unacknowledged copy to another receiver than the first one's. Both
    only grow, so each copy is passed once by either, and looked at a constant number of times. When a copy
    goes to the network is decided as in Algorithm 2 (`HybridOptimal`), with copies in place of messages.

    Invariants: a copy that is neither flagged nor waiting for its permit satisfies the condition above; the
    indexes equal their definitions; every copy that may be sent has been sent. `_check` asserts all three.

    One process. Amortised constant time a copy; three integers a copy.
    """

    __slots__ = ("_groups",)

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._groups = SlidingArray[MessageCopies](1)

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        start = self._buffer.next
        end = start + len(to)
        group = MessageCopies(self._groups.next, start, end, self._missing.next, payload, len(to))
        self._groups.add(group)
        for receiver, pid in zip(to, self._predecessors(to, group.mid), strict=True):
            copy = group.copies[receiver] = Copy(group, receiver, pid)
            self._add(copy)
        self._send_interval(start, self._p2)
        return group.mid

    def _transmit(self, at: int, copy: Copy) -> None:
        copy.flagged = copy.owed = not self._due(copy)
        self._emit(copy.receiver, copy.packet())

    def _due(self, copy: Copy) -> bool:
        """Whether every copy up to the end of its group, to others than its receiver, is acknowledged."""
        return self._u2 >= copy.group.end and copy.receiver == self._buffer.peek.receiver

    def _acknowledge(self, sender: int, mid: int, message: MessageCopies) -> str | None:
        groups, buffer = self._groups, self._buffer
        copy = message.copies.get(sender)
        if copy is None or not copy.sent:
            return STRANGER
        if copy.acked:  # it asks for a permit that may have gone out and been lost
            if copy.flagged and not copy.owed:
                self._emit(sender, Permit(mid))
            return None
        copy.acked = True
        message.left -= 1
        if not message.left:
            message.payload = None
        second = self._u2 < buffer.next and copy is buffer[self._u2]
        if copy is buffer.peek:
            while len(buffer) and buffer.peek.acked:
                buffer.remove()
                self.operations += 1
            while len(groups) and groups.peek.end <= buffer.first:
                for passed in groups.remove().copies.values():
                    self._settle(passed)
            second = buffer.first == self._u2
        if second:
            self._advance_u2()
        return None

    def _advance_u2(self) -> None:
        """Move u2 to where it belongs; the permits of the groups whose end it reaches are due."""
        buffer = self._buffer
        while self._u2 < buffer.next:
            copy, receiver = buffer[self._u2], buffer.peek.receiver
            self.operations += 1
            if not copy.acked and copy.receiver != receiver:
                break
            self._u2 += 1
            if self._u2 == copy.group.end and receiver in copy.group.copies:
                self._settle(copy.group.copies[receiver])

    def _settle(self, copy: Copy) -> None:
        """Send the permit of a copy, now that it is due, if it is owed."""
        self.operations += 1
        if copy.owed:
            copy.owed = False
            self._emit(copy.receiver, Permit(copy.group.mid))

    @property
    def _window(self) -> SlidingArray[MessageCopies]:
        return self._groups

    def _lacks_ack(self, receiver: int, message: MessageCopies) -> bool:
        copy = message.copies.get(receiver)
        return copy is not None and copy.sent and not copy.acked

    def _outgoing_integers(self) -> int:
        return super()._outgoing_integers() + 4 * len(self._groups)

    def _check(self) -> None:
        super()._check()
        buffer, groups = self._buffer, self._groups
        entries = list(enumerate(buffer, buffer.first))
        assert not len(groups) or groups.peek.start <= buffer.first < groups.peek.end
        for group in groups:
            for copy in group.copies.values():
                left = any(
                    not other.acked and other.receiver != copy.receiver
                    for at, other in entries
                    if at < group.end
                )
                assert copy.owed == (copy.sent and copy.flagged and left), (
                    "a permit is owed as long as it waits"
                )
                assert copy.flagged or copy.acked or not (copy.sent and left), "a flag is missing"
