"""The hybrid protocols for one receiver a message: Hybrid Buffering, Algorithms 1 and 2, as corrected.

The basic one (`HybridBasic`, Algorithm 1; E1, E2, E6 to E9, E12 to E14) enforces CSPS: a message goes to the
network only when everything that happened before it, sent by any process that sent to this one, has been
delivered (Definition 4.3).

The SPS-optimal one is `HybridSPS` (Algorithm 2; E1 to E9, E12 to E14). A message to j goes to the network as
soon as nothing is missing that processes other than j sent before it (Definition 4.1); it is flagged, and its
permit waits, only for messages to processes other than j. When a message goes out is decided in
`HybridOptimal`, which the multicast shares, and when its permit does in `HybridSPS`. A permit for the message
at index k is due when all before k are acknowledged, or all of them to others than its receiver, which then
is that of the first one, and k is before u2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Container
from typing import Any, Generic, TypeVar

from microcosm.protocol.hybrid.common import Hybrid, Outgoing, SlidingArray
from microcosm.protocol.machine import STRANGER, WINDOW
from microcosm.protocol.packets import HybridMessage, Permit

M = TypeVar("M", bound=Any)
"""A message in the queue: it goes out once all permits before the index `waits` of it are there."""


class HybridQueue(Hybrid, Generic[M]):
    """What Algorithms 1 and 3 share: messages leave in the order of their causal sends.

    They stand in a queue while permits are missing, then in a sliding array while unacknowledged.
    """

    __slots__ = ("_clock", "_unacked", "_waiting")

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._clock = 1  # from 1: absent entries of the maps are 0 (E1)
        self._unacked = SlidingArray[M](1)
        self._waiting: deque[M] = deque()

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        mid = self._clock
        pids = self._predecessors(to, mid)
        self._waiting.append(self._message(to, mid, pids, payload))
        self._clock += 1
        self.operations += len(to)
        self._try_send()
        return mid

    @abstractmethod
    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> M:
        """A message for the queue."""

    @abstractmethod
    def _try_send(self) -> None:
        """Send what waits for nothing any more."""

    def _await_permit(self, sender: int, message: HybridMessage) -> None:
        self.operations += 1
        self._missing.add((sender, message.mid))

    def _permit(self, sender: int, mid: int) -> str | None:
        self._missing.remove((sender, mid))
        self._try_send()
        return None

    @property
    def _window(self) -> SlidingArray[M]:
        return self._unacked

    def idle(self) -> bool:
        return not (self._waiting or len(self._unacked) or len(self._missing))

    @property
    def unsent(self) -> int:
        return len(self._waiting)

    def _check(self) -> None:
        super()._check()
        assert self._unacked.next + len(self._waiting) == self._clock
        assert all(message.mid == mid for mid, message in enumerate(self._unacked, self._unacked.first))
        assert not self._waiting or self._missing.first < self._waiting[0].waits


class HybridBasic(HybridQueue[Outgoing]):
    """Algorithm 1 at one process. Amortised constant time a packet; three integers a message.

    >>> a, b = HybridBasic(1), HybridBasic(2)
    >>> a.causal_send([2], "hello")
    1
    >>> [(to, packet)] = a.take()
    >>> b.receive(1, packet)
    >>> [type(output).__name__ for output in b.take()]
    ['Delivery', 'Send']
    """

    __slots__ = ()

    MULTICAST = False

    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> Outgoing:
        return Outgoing(to[0], mid, pids[0], self._missing.next, payload)

    def _try_send(self) -> None:
        waiting, unacked = self._waiting, self._unacked
        while waiting and self._missing.first >= waiting[0].waits:
            message = waiting.popleft()
            message.permit = unacked.first < unacked.next  # before it is added itself
            message.sent = True
            unacked.add(message)
            self.operations += 1
            self._emit(message.receiver, message.packet())

    def _acknowledge(self, sender: int, mid: int, message: Outgoing) -> str | None:
        unacked = self._unacked
        if message.receiver != sender:
            return STRANGER
        message.acked = True
        message.payload = None
        if mid == unacked.first:
            unacked.remove()
            while unacked.first < unacked.next:
                message = unacked.peek
                self.operations += 1
                if message.permit:
                    self._emit(message.receiver, Permit(message.mid))
                if not message.acked:
                    break
                unacked.remove()
        return None

    def _outgoing_integers(self) -> int:
        return 1 + 5 * (len(self._unacked) + len(self._waiting))

    def _check(self) -> None:
        super()._check()
        assert not len(self._unacked) or not self._unacked.peek.acked


C = TypeVar("C", bound=Any)
"""A copy in the buffer, `sent` or not, `acked` or not. It waits for the permits before the index `waits`."""


class HybridOptimal(Hybrid, Generic[C]):
    """What the two SPS-optimal protocols share: when a copy may go to the network (Definition 4.1).

    A copy to j waits for the missing permits before its index `waits`, but for those of j itself: what j sent
    before it, j has delivered. Four indexes keep every search amortised constant:

        p2   the first missing permit of another sender than the first missing one's
        m1   the first copy that is not on the network yet
        m2   the first copy that waits for the permit at p2
        u2   the first unacknowledged copy to another receiver than the first one's

    Each is the end of its window where there is none; `_check` of the protocols compares them with that.

    Sent and unsent copies share one sliding array: the network order is no longer the causal one.
    """

    __slots__ = ("_buffer", "_m1", "_m2", "_p2", "_u2")

    def __init__(
        self, me: int, known: Container[int] | None = None, window: int = WINDOW, base: int = 0
    ) -> None:
        super().__init__(me, known, window)
        self._buffer = SlidingArray[C](base)
        self._p2 = 0
        self._m1 = self._m2 = self._u2 = base

    @abstractmethod
    def _transmit(self, at: int, copy: C) -> None:
        """Give the copy at an index to the network, flagged if its receiver must wait for a permit."""

    def _add(self, copy: C) -> None:
        """Put a copy at the end of the buffer."""
        buffer = self._buffer
        at = buffer.add(copy)
        self.operations += 1
        if self._u2 == at and buffer.peek.receiver == copy.receiver:  # E3
            self._u2 = at + 1
        if self._m2 == at and copy.waits <= self._p2:  # E4
            self._m2 = at + 1

    def _send_interval(self, at: int, end: int) -> None:
        """Send what can be sent from index `at` on, as far as it waits for no permit from `end` on."""
        buffer = self._buffer
        first = self._missing.first
        asker = self._sender_of(first)
        while at < buffer.next and buffer[at].waits <= end:
            copy = buffer[at]
            self.operations += 1
            if not copy.sent and (copy.waits <= first or copy.receiver == asker):
                copy.sent = True
                self._transmit(at, copy)
            at += 1
        while self._m1 < buffer.next and buffer[self._m1].sent:
            self.operations += 1
            self._m1 += 1

    def _sender_of(self, index: int) -> int | None:
        """Whose permit is missing at an index; None at the end of the window."""
        if index == self._missing.next:
            return None
        key = self._missing[index]
        return None if key is None else key[0]

    def _await_permit(self, sender: int, message: HybridMessage) -> None:
        missing = self._missing
        at = missing.add((sender, message.mid))
        self.operations += 1
        if self._p2 == at and self._sender_of(missing.first) == sender:
            self._p2 = at + 1

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
        while self._m2 < buffer.next and buffer[self._m2].waits <= self._p2:
            self.operations += 1
            self._m2 += 1

    def idle(self) -> bool:
        return not (len(self._buffer) or len(self._missing))

    @property
    def unsent(self) -> int:
        return sum(not copy.sent for copy in self._buffer)

    def _outgoing_integers(self) -> int:
        return 4 + 6 * len(self._buffer)

    def _check(self) -> None:
        super()._check()
        buffer, missing = self._buffer, self._missing
        buffer._check()
        entries = list(enumerate(buffer, buffer.first))
        assert not entries or not buffer.peek.acked
        unacked = (at for at, copy in entries if not copy.acked and copy.receiver != buffer.peek.receiver)
        assert self._u2 == next(unacked, buffer.next)
        asker = self._sender_of(missing.first)
        others = [missing.index(key) for key in missing if key[0] != asker]
        assert self._p2 == (others[0] if others else missing.next)
        assert self._m1 == next((at for at, copy in entries if not copy.sent), buffer.next)
        assert self._m2 == next((at for at, copy in entries if copy.waits > self._p2), buffer.next)
        for _, copy in entries:
            awaited = {key[0] for key in missing if (missing.index(key) or 0) < copy.waits}
            assert copy.acked or copy.sent == (awaited <= {copy.receiver}), "sendable, and not sent"


class HybridSPS(HybridOptimal[Outgoing]):
    """Algorithm 2 at one process. Amortised constant time a packet; three integers a message."""

    __slots__ = ()

    MULTICAST = False

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window, base=1)  # ids are indexes, from 1 (E1)

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        mid = self._buffer.next
        [pid] = self._predecessors(to, mid)
        self._add(Outgoing(to[0], mid, pid, self._missing.next, payload))
        self._send_interval(mid, self._p2)
        return mid

    def _transmit(self, at: int, copy: Outgoing) -> None:
        copy.permit = self._u2 < at or copy.receiver != self._buffer.peek.receiver
        self._emit(copy.receiver, copy.packet())

    def _acknowledge(self, sender: int, mid: int, message: Outgoing) -> str | None:
        buffer = self._buffer
        if message.receiver != sender or not message.sent:
            return STRANGER
        if message.acked:  # it asks for a permit that may have gone out and been lost
            if message.permit and sender == buffer.peek.receiver and mid < self._u2:
                self._emit(sender, Permit(mid))
            return None
        message.acked = True
        message.payload = None
        if mid == buffer.first:
            buffer.remove()
            while len(buffer) and buffer.peek.acked:
                message = buffer.remove()
                self.operations += 1
                if message.permit and message.receiver != sender:
                    self._emit(message.receiver, Permit(message.mid))
            mid = buffer.first
        if mid == self._u2:
            self._advance_u2()
        return None

    def _advance_u2(self) -> None:
        """Move u2 to where it belongs; the permits that it passes are due."""
        buffer = self._buffer
        while self._u2 < buffer.next:
            message, receiver = buffer[self._u2], buffer.peek.receiver
            self.operations += 1
            if message.receiver == receiver:
                if message.sent and message.permit:
                    self._emit(receiver, Permit(message.mid))
            elif not message.acked:
                break
            self._u2 += 1

    @property
    def _window(self) -> SlidingArray[Outgoing]:
        return self._buffer
