"""The basic hybrid protocol: seed 001, Algorithm 1, as corrected (E1, E2, E6 to E9, E12 to E14).

It enforces CSPS: a message goes to the network only when everything that happened before it, sent by
any process that sent to this one, has been delivered (Definition 4.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any

from microcosm.protocol.hybrid.common import Hybrid
from microcosm.protocol.hybrid.sliding import SlidingArray, SlidingMap
from microcosm.protocol.machine import OUT_OF_WINDOW, STRANGER, WINDOW
from microcosm.protocol.packets import Ack, HybridMessage, Permit


class Outgoing:
    """A message on its way out: in the send buffer, then among the unacknowledged ones."""

    __slots__ = ("acked", "mid", "payload", "permit", "pid", "receiver", "waits")

    def __init__(self, receiver: int, mid: int, pid: int, waits: int, payload: Any) -> None:
        self.receiver = receiver
        self.mid = mid
        self.pid = pid
        self.waits = waits
        """It goes out once all permits before this index are there."""
        self.permit = False
        """Whether the receiver has to wait for a permit."""
        self.acked = False
        self.payload = payload

    def packet(self) -> HybridMessage:
        """What is sent of it. Cost: constant."""
        return HybridMessage(self.mid, self.pid, self.permit, self.payload)


class HybridBasic(Hybrid):
    """Algorithm 1 at one process. Amortised constant time a packet; three integers a message.

    >>> a, b = HybridBasic(1), HybridBasic(2)
    >>> a.causal_send([2], "hello")
    1
    >>> [(to, packet)] = a.take()
    >>> b.receive(1, packet)
    >>> [type(output).__name__ for output in b.take()]
    ['Delivery', 'Send']
    """

    __slots__ = ("_clock", "_missing", "_unacked", "_waiting")

    MULTICAST = False

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._clock = 1  # from 1: absent entries of the maps are 0 (E1)
        self._unacked = SlidingArray[Outgoing](1)
        self._missing = SlidingMap[tuple[int, int]]()
        self._waiting: deque[Outgoing] = deque()

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        mid = self._clock
        [pid] = self._predecessors(to, mid)
        self._waiting.append(Outgoing(to[0], mid, pid, self._missing.next, payload))
        self._clock += 1
        self.operations += 1
        self._try_send()
        return mid

    def _try_send(self) -> None:
        waiting, unacked = self._waiting, self._unacked
        while waiting and self._missing.first >= waiting[0].waits:
            message = waiting.popleft()
            message.permit = unacked.first < unacked.next  # before it is added itself
            unacked.add(message)
            self.operations += 1
            self._emit(message.receiver, message.packet())

    def _await_permit(self, sender: int, mid: int) -> None:
        self.operations += 1
        self._missing.add((sender, mid))

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        unacked, mid = self._unacked, ack.mid
        self.operations += 1
        if mid < unacked.first:
            self._emit(sender, Permit(mid))  # an earlier one may have been lost
            return None
        if mid >= unacked.next:
            return OUT_OF_WINDOW
        message = unacked[mid]
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

    def _permit(self, sender: int, mid: int) -> str | None:
        self._missing.remove((sender, mid))
        self._try_send()
        return None

    @property
    def _oldest(self) -> int:
        return self._unacked.first

    def _awaits(self, receiver: int, mid: int) -> bool:
        if not self._unacked.first <= mid < self._unacked.next:
            return False
        message = self._unacked[mid]
        return message.receiver == receiver and not message.acked

    def tick(self) -> None:
        """Send again what is unacknowledged, and ask again for missing permits.

        Cost: the send buffer and the missing permits.
        """
        for message in self._unacked:
            if not message.acked:
                self._emit(message.receiver, message.packet())
        for sender, mid in self._missing:
            self._emit(sender, Ack(mid))

    def idle(self) -> bool:
        return not (self._waiting or len(self._unacked) or len(self._missing))

    def integers(self) -> int:
        return (
            1 + 5 * (len(self._unacked) + len(self._waiting)) + 2 * len(self._missing) + self._held_integers()
        )

    @property
    def unsent(self) -> int:
        return len(self._waiting)

    def _check(self) -> None:
        super()._check()
        self._unacked._check()
        self._missing._check()
        assert not len(self._unacked) or not self._unacked.peek.acked
        assert self._unacked.next + len(self._waiting) == self._clock
        assert all(message.mid == mid for mid, message in enumerate(self._unacked, self._unacked.first))
        assert not self._waiting or self._missing.first < self._waiting[0].waits
