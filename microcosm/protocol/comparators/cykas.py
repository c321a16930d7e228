"""Cykas, "can you keep a secret?" (Tong and Kuper 2024), as seed 001, section 4.3, describes it.

A message that goes out while earlier ones are unacknowledged is a secret: its receiver delivers it, and
sends nothing until told that it can. One counter a process holds all secrets, so others' later secrets
keep it from sending: it can starve. One message is in transit to each receiver.

As described it is unsafe on a reordering network: the permission can overtake the acknowledged message.
Here a permission waits for the message's own ack as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any, ClassVar

from microcosm.protocol.machine import OUT_OF_WINDOW, STRANGER, Delivery, Machine
from microcosm.protocol.packets import Ack, Secret, YouCanTell


class Cykas(Machine):
    """One process. For reliable networks, in any order."""

    __slots__ = ("_clock", "_in_flight", "_queue", "_unacked", "_untold", "mode")

    MULTICAST = False
    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        super().__init__(me, known)
        self._clock = 0
        self.mode = 0
        """How many secrets this process keeps; it sends nothing unless 0."""
        self._queue: deque[tuple[int, int, Any]] = deque()
        self._in_flight: dict[int, int] = {}
        self._unacked: dict[int, int] = {}
        self._untold: deque[tuple[int, int]] = deque()
        """Secrets whose receivers are to be told, by id: once it and all before it are acknowledged."""

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._queue.append((to[0], self._clock, payload))
        self.operations += 1
        self._flush()
        return self._clock

    def _flush(self) -> None:
        while not self.mode and self._queue and self._queue[0][0] not in self._in_flight:
            to, mid, payload = self._queue.popleft()
            eager = bool(self._unacked)
            self._in_flight[to] = mid
            self._unacked[mid] = to
            self.operations += 1
            if eager:
                self._untold.append((mid, to))
            self._emit(to, Secret(mid, eager, payload))

    def _on_secret(self, sender: int, packet: Secret) -> str | None:
        self.operations += 1
        if packet.eager:
            self.mode += 1
        self._deliver(Delivery(sender, packet.payload, packet))
        self._emit(sender, Ack(packet.mid))
        return None

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        self.operations += 1
        if self._unacked.get(ack.mid) != sender:
            return STRANGER if ack.mid <= self._clock else OUT_OF_WINDOW
        del self._unacked[ack.mid]
        del self._in_flight[sender]
        oldest = next(iter(self._unacked), self._clock + 1)
        while self._untold and self._untold[0][0] < oldest:
            self.operations += 1
            self._emit(self._untold.popleft()[1], YouCanTell())
        self._flush()
        return None

    def _on_you_can_tell(self, sender: int, packet: YouCanTell) -> str | None:
        self.operations += 1
        if not self.mode:
            return STRANGER
        self.mode -= 1
        self._flush()
        return None

    def idle(self) -> bool:
        return not (self._queue or self._unacked or self._untold or self.mode)

    def integers(self) -> int:
        return 2 + 2 * (len(self._in_flight) + len(self._unacked) + len(self._untold) + len(self._queue))

    @property
    def unsent(self) -> int:
        return len(self._queue)

    HANDLERS: ClassVar[dict[type, str]] = {
        Secret: "_on_secret",
        Ack: "_on_ack",
        YouCanTell: "_on_you_can_tell",
    }
