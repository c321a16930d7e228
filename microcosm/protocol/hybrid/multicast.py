"""The basic hybrid protocol for several receivers: seed 001, Algorithm 3, as corrected (E1, E6 to E14).

As Algorithm 1, except that a message to several receivers is itself among what has to be delivered before
they may act on it: it is always flagged, and its permits wait for its own acks. The optimisation that
section 5.7 only names is here: while a single one of these is missing, nothing is undelivered but the copy
of that very receiver, and its permit goes out at once. So a message to one receiver is treated as in
Algorithm 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any

from microcosm.protocol.hybrid.common import Hybrid
from microcosm.protocol.hybrid.sliding import SlidingArray, SlidingMap
from microcosm.protocol.machine import OUT_OF_WINDOW, STRANGER, WINDOW
from microcosm.protocol.packets import Ack, Message, Permit


class Multicast:
    """A message to several receivers on its way out."""

    __slots__ = ("mid", "payload", "permit", "pids", "told", "unacked", "waits")

    def __init__(self, pids: dict[int, int], mid: int, waits: int, payload: Any) -> None:
        self.pids = pids
        """For each receiver the id of its predecessor: each copy carries one integer (E10)."""
        self.mid = mid
        self.waits = waits
        self.permit = False
        self.told: int | None = None
        """The receiver that got its permit before the others, its own ack alone being missing."""
        self.unacked = set(pids)
        self.payload = payload

    def packet(self, receiver: int) -> Message:
        """What is sent of it. Cost: constant."""
        return Message(self.mid, self.pids[receiver], self.permit, self.payload)


class HybridMulticast(Hybrid):
    """Algorithm 3 at one process. Amortised constant time a copy; three integers a copy."""

    __slots__ = ("_clock", "_missing", "_unacked", "_waiting")

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._clock = 1
        self._unacked = SlidingArray[Multicast](1)
        self._missing = SlidingMap[tuple[int, int]]()
        self._waiting: deque[Multicast] = deque()

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        mid = self._clock
        pids = dict(zip(to, self._predecessors(to, mid), strict=True))
        self._waiting.append(Multicast(pids, mid, self._missing.next, payload))
        self._clock += 1
        self.operations += len(to)
        self._try_send()
        return mid

    def _try_send(self) -> None:
        waiting = self._waiting
        while waiting and self._missing.first >= waiting[0].waits:
            message = waiting.popleft()
            message.permit = len(self._unacked) > 0 or len(message.pids) > 1
            self._unacked.add(message)
            for receiver in message.pids:
                self.operations += 1
                self._emit(receiver, message.packet(receiver))

    def _await_permit(self, sender: int, mid: int) -> None:
        self.operations += 1
        self._missing.add((sender, mid))

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        unacked, mid = self._unacked, ack.mid
        self.operations += 1
        if mid < unacked.first:
            self._emit(sender, Permit(mid))
            return None
        if mid >= unacked.next:
            return OUT_OF_WINDOW
        message = unacked[mid]
        if sender not in message.pids:
            return STRANGER
        message.unacked.discard(sender)
        if not message.unacked:
            message.payload = None
        if mid == unacked.first:
            self._send_permits()
        return None

    def _send_permits(self) -> None:
        """Forget what is acknowledged, from the oldest on, and send the permits that are due."""
        unacked = self._unacked
        while unacked.first < unacked.next:
            message = unacked.peek
            left = message.unacked
            if message.permit and len(left) <= 1:
                told = message.told
                for receiver in left or message.pids:
                    if receiver != told:
                        self.operations += 1
                        message.told = receiver
                        self._emit(receiver, Permit(message.mid))
            if left:
                return
            unacked.remove()

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
        return receiver in self._unacked[mid].unacked

    def tick(self) -> None:
        """Send again the copies that are unacknowledged, and ask again for missing permits.

        Cost: the send buffer and the missing permits.
        """
        for message in self._unacked:
            for receiver in message.pids:
                if receiver in message.unacked:
                    self._emit(receiver, message.packet(receiver))
        for sender, mid in self._missing:
            self._emit(sender, Ack(mid))

    def idle(self) -> bool:
        return not (self._waiting or len(self._unacked) or len(self._missing))

    def integers(self) -> int:
        outgoing = (*self._unacked, *self._waiting)
        kept = sum(4 + 2 * len(message.pids) + len(message.unacked) for message in outgoing)
        return 1 + kept + 2 * len(self._missing) + self._held_integers()

    @property
    def unsent(self) -> int:
        return sum(len(message.pids) for message in self._waiting)

    def _check(self) -> None:
        super()._check()
        self._unacked._check()
        self._missing._check()
        assert not len(self._unacked) or self._unacked.peek.unacked
        assert self._unacked.next + len(self._waiting) == self._clock
        assert all(message.mid == mid for mid, message in enumerate(self._unacked, self._unacked.first))
        assert all(message.told is None or message.unacked == {message.told} for message in self._unacked)
        assert not self._waiting or self._missing.first < self._waiting[0].waits
