"""SPS-optimal multicast, which seed 001 leaves to the reader (sections 5.6 and 5.7).

The unit is a copy: message m to receiver j. Process i gives (m, j) to the network once every copy of an
earlier message, to others than i, from a process other than i and j that sent to i, has been delivered. So
that the receiver can tell, the flag of (m, j), and its permit, wait for the copies to processes
other than j of earlier messages *and of m itself*. Permits stay cumulative for each sender and receiver.

The copies of all messages share one sliding array; those of a message are neighbours, and `end` is the
index behind them. Then a permit for (m, j) is due when

    all copies before m.end are acknowledged                                   (first >= m.end), or
    all of them to others than j are, j being the first receiver that is not   (u2 >= m.end)

with u2 as in Algorithm 2: the first unacknowledged copy to another receiver than the first one's. Both only
grow, so each copy is passed once by either, and looked at a constant number of times. p2, m1 and m2 are
those of Algorithm 2 with copies in place of messages.

Invariants: a copy that is neither flagged nor waiting for its permit satisfies the condition above; the
indexes equal their definitions; every copy that may be sent has been sent. `_check` asserts all three.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from microcosm.protocol.hybrid import Hybrid
from microcosm.protocol.machine import OUT_OF_WINDOW, STRANGER, WINDOW
from microcosm.protocol.packets import Ack, Message, Permit
from microcosm.protocol.sliding import IndexableSlidingMap, SlidingArray


class Group:
    """A message and its copies, which stand at indexes `start` to `end` of the buffer."""

    __slots__ = ("copies", "end", "left", "mid", "payload", "start", "waits")

    def __init__(self, mid: int, start: int, waits: int, payload: Any) -> None:
        self.mid = mid
        self.start = start
        self.waits = waits
        self.payload = payload
        self.copies: dict[int, Copy] = {}
        self.end = start
        self.left = 0
        """Copies that are not acknowledged yet."""


class Copy:
    """One copy of a message. `owed`: its receiver was told to wait for a permit, and none has been sent."""

    __slots__ = ("acked", "flagged", "group", "owed", "pid", "receiver", "sent")

    def __init__(self, group: Group, receiver: int, pid: int) -> None:
        self.group = group
        self.receiver = receiver
        self.pid = pid
        self.sent = self.acked = self.flagged = self.owed = False

    def packet(self) -> Message:
        return Message(self.group.mid, self.pid, self.flagged, self.group.payload)


class HybridMulticastSPS(Hybrid):
    """One process. Amortised constant time a copy; three integers a copy."""

    __slots__ = ("_buffer", "_groups", "_m1", "_m2", "_missing", "_p2", "_u2")

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._buffer = SlidingArray[Copy]()
        self._groups = SlidingArray[Group](1)
        self._missing = IndexableSlidingMap[tuple[int, int]]()
        self._p2 = self._m1 = self._m2 = self._u2 = 0

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        buffer, start = self._buffer, self._buffer.next
        group = Group(self._groups.next, start, self._missing.next, payload)
        self._groups.add(group)
        group.end = start + len(to)
        group.left = len(to)
        for receiver, pid in zip(to, self._predecessors(to, group.mid), strict=True):
            copy = group.copies[receiver] = Copy(group, receiver, pid)
            at = buffer.add(copy)
            self.operations += 1
            if self._u2 == at and buffer.peek.receiver == receiver:
                self._u2 = at + 1
            if self._m2 == at and group.waits <= self._p2:
                self._m2 = at + 1
        self._send_interval(start, self._p2)
        return group.mid

    def _send_interval(self, at: int, end: int) -> None:
        """Send what can be sent from index `at` on, as far as it waits for no permit from `end` on."""
        buffer = self._buffer
        first = self._missing.first
        asker = self._sender_of(first)
        while at < buffer.next and buffer[at].group.waits <= end:
            copy = buffer[at]
            self.operations += 1
            if not copy.sent and (copy.group.waits <= first or copy.receiver == asker):
                copy.sent = True
                copy.flagged = copy.owed = not self._due(copy)
                self._emit(copy.receiver, copy.packet())
            at += 1
        while self._m1 < buffer.next and buffer[self._m1].sent:
            self.operations += 1
            self._m1 += 1

    def _due(self, copy: Copy) -> bool:
        """Whether every copy up to the end of its group, to others than its receiver, is acknowledged."""
        end = copy.group.end
        if self._buffer.first >= end:
            return True
        return self._u2 >= end and copy.receiver == self._buffer.peek.receiver

    def _sender_of(self, index: int) -> int | None:
        """Whose permit is missing at an index; None at the end of the window."""
        if index == self._missing.next:
            return None
        key = self._missing[index]
        return None if key is None else key[0]

    def _await_permit(self, sender: int, mid: int) -> None:
        at = self._missing.add((sender, mid))
        self.operations += 1
        if self._p2 == at and self._sender_of(self._missing.first) == sender:
            self._p2 = at + 1

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        groups, buffer, mid = self._groups, self._buffer, ack.mid
        self.operations += 1
        if mid < groups.first:
            self._emit(sender, Permit(mid))
            return None
        if mid >= groups.next:
            return OUT_OF_WINDOW
        copy = groups[mid].copies.get(sender)
        if copy is None or not copy.sent:
            return STRANGER
        if copy.acked:  # it asks for a permit that may have gone out and been lost
            if copy.flagged and not copy.owed:
                self._emit(sender, Permit(mid))
            return None
        copy.acked = True
        copy.group.left -= 1
        if not copy.group.left:
            copy.group.payload = None
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

    def _permit(self, sender: int, mid: int) -> str | None:
        missing = self._missing
        at = missing.index((sender, mid))
        if at is None:
            return None
        was_first = at == missing.first
        missing.remove((sender, mid))
        if was_first:
            at = missing.first
            self._send_interval(self._m1, at)
        if at == self._p2:
            start = self._m2
            self._advance_p2_m2()
            self._send_interval(start, self._p2)
        return None

    def _advance_p2_m2(self) -> None:
        """Move p2 and m2 to where they belong."""
        buffer, missing = self._buffer, self._missing
        if missing.first == missing.next:
            return
        asker = self._sender_of(missing.first)
        while self._p2 < missing.next and self._sender_of(self._p2) in (None, asker):
            self.operations += 1
            self._p2 += 1
        while self._m2 < buffer.next and buffer[self._m2].group.waits <= self._p2:
            self.operations += 1
            self._m2 += 1

    def tick(self) -> None:
        """Send again the copies that are unacknowledged, and ask again for missing permits."""
        for copy in self._buffer:
            if copy.sent and not copy.acked:
                self._emit(copy.receiver, copy.packet())
        for sender, mid in self._missing:
            self._emit(sender, Ack(mid))

    def idle(self) -> bool:
        return not (len(self._buffer) or len(self._missing))

    def integers(self) -> int:
        kept = 4 * len(self._groups) + 6 * len(self._buffer)
        return 4 + kept + 2 * len(self._missing) + self._held_integers()

    @property
    def unsent(self) -> int:
        return sum(not copy.sent for copy in self._buffer)

    def _check(self) -> None:
        super()._check()
        buffer, missing = self._buffer, self._missing
        for structure in (buffer, self._groups, missing):
            structure._check()
        entries = list(enumerate(buffer, buffer.first))
        assert not entries or not buffer.peek.acked
        assert not len(self._groups) or self._groups.peek.start <= buffer.first < self._groups.peek.end
        asker = self._sender_of(missing.first)
        others = [missing.index(key) for key in missing if key[0] != asker]
        assert self._p2 == (others[0] if others else missing.next)
        assert self._m1 == next((at for at, copy in entries if not copy.sent), buffer.next)
        assert self._m2 == next((at for at, copy in entries if copy.group.waits > self._p2), buffer.next)
        unacked = (at for at, copy in entries if not copy.acked and copy.receiver != buffer.peek.receiver)
        assert self._u2 == next(unacked, buffer.next)
        for _, copy in entries:
            awaited = {key[0] for key in missing if (missing.index(key) or 0) < copy.group.waits}
            assert copy.acked or copy.sent == (awaited <= {copy.receiver}), "sendable, and not sent"
        for group in self._groups:
            for copy in group.copies.values():
                left = any(
                    not other.acked and other.receiver != copy.receiver
                    for at, other in entries
                    if at < group.end
                )
                assert copy.owed == (copy.sent and copy.flagged and left), (
                    "a permit is owed as long as it waits"
                )
