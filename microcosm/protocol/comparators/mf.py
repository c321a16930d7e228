"""Mattern and Fünfrocken (1994): one message at a time, the next when this one's ack is there.

What happened before a message has been delivered before it is sent, so it is delivered at once. One
integer a message; throughput is one message a round trip. For one receiver a message: of two, one
could act on the message before the other has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, STRANGER, Delivery, Machine, Send
from microcosm.protocol.packets import Ack, Plain


class MF(Machine):
    """One process. Constant time a message."""

    __slots__ = ("_clock", "_delivered", "_outstanding", "_queue")

    MULTICAST = False
    TOLERATES = frozenset({"loss", "duplicate", "reorder"})

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        super().__init__(me, known)
        self._clock = 0
        self._queue: deque[Send] = deque()
        self._outstanding: Send | None = None
        self._delivered: dict[int, int] = {}

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._queue.append(Send(to[0], Plain(self._clock, payload)))
        self.operations += 1
        self._next()
        return self._clock

    def _next(self) -> None:
        if self._outstanding is None and self._queue:
            self._outstanding = self._queue.popleft()
            self.operations += 1
            self.out.append(self._outstanding)

    def _on_plain(self, sender: int, packet: Plain) -> str | None:
        self.operations += 1
        if packet.mid <= self._delivered.get(sender, 0):
            self._emit(sender, Ack(packet.mid))
            return DUPLICATE
        self._delivered[sender] = packet.mid
        self._deliver(Delivery(sender, packet.payload, packet))
        self._emit(sender, Ack(packet.mid))
        return None

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        self.operations += 1
        current = self._outstanding
        outstanding = self._clock - len(self._queue)
        if ack.mid > outstanding:
            return OUT_OF_WINDOW
        if current is None or ack.mid < outstanding:  # it was acknowledged long ago
            return DUPLICATE
        if sender != current.to:
            return STRANGER
        self._outstanding = None
        self._next()
        return None

    def tick(self) -> None:
        """Send the outstanding message again. Cost: constant."""
        if self._outstanding is not None:
            self.out.append(self._outstanding)

    def idle(self) -> bool:
        return self._outstanding is None

    def integers(self) -> int:
        return 2 + 2 * len(self._delivered) + 2 * len(self._queue)

    @property
    def unsent(self) -> int:
        return len(self._queue)

    HANDLERS: ClassVar[dict[type, str]] = {
        Plain: "_on_plain",
        Ack: "_on_ack",
    }
