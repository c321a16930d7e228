"""Mattern and Fünfrocken (1994): one message at a time, the next when this one's acks are there.

What happened before a message has been delivered before it is sent, so it is delivered at once. One
integer a message; throughput is one message a round trip.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, STRANGER, Delivery, Handler, Machine
from microcosm.protocol.packets import Ack, Plain


class MF(Machine):
    """One process. Constant time a copy."""

    __slots__ = ("_clock", "_delivered", "_outstanding", "_queue", "_unacked")

    TOLERATES = frozenset({"loss", "duplicate", "reorder"})

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        super().__init__(me, known)
        self._clock = 0
        self._queue: deque[tuple[tuple[int, ...], Plain]] = deque()
        self._outstanding: Plain | None = None
        self._unacked: dict[int, None] = {}
        self._delivered: dict[int, int] = {}

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._queue.append((to, Plain(self._clock, payload)))
        self.operations += 1
        self._next()
        return self._clock

    def _next(self) -> None:
        if self._outstanding is None and self._queue:
            to, packet = self._queue.popleft()
            self._outstanding = packet
            self._unacked = dict.fromkeys(to)
            for j in to:
                self.operations += 1
                self._emit(j, packet)

    def _on_plain(self, sender: int, packet: Plain) -> str | None:
        self.operations += 1
        if packet.mid <= self._delivered.get(sender, 0):
            self._emit(sender, Ack(packet.mid))
            return DUPLICATE
        self._delivered[sender] = packet.mid
        self._emit(sender, Ack(packet.mid))
        self._deliver(Delivery(sender, packet.payload, packet))
        return None

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        self.operations += 1
        current = self._outstanding
        if current is None or ack.mid != current.mid:
            return DUPLICATE if ack.mid <= self._clock else OUT_OF_WINDOW
        if sender not in self._unacked:
            return STRANGER
        del self._unacked[sender]
        if not self._unacked:
            self._outstanding = None
            self._next()
        return None

    def tick(self) -> None:
        """Send the outstanding message again to whoever has not acknowledged it."""
        if self._outstanding is not None:
            for j in self._unacked:
                self._emit(j, self._outstanding)

    def idle(self) -> bool:
        return self._outstanding is None

    def integers(self) -> int:
        return 2 + len(self._unacked) + 2 * len(self._delivered) + sum(1 + len(to) for to, _ in self._queue)

    @property
    def unsent(self) -> int:
        return sum(len(to) for to, _ in self._queue)

    HANDLERS: ClassVar[dict[type, Handler]] = {
        Plain: lambda self, sender, packet: self._on_plain(sender, packet),
        Ack: lambda self, sender, packet: self._on_ack(sender, packet),
    }
