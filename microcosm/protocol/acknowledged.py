"""Two protocols that wait for acks before they send, or before a receiver may: MF and Cykas."""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, STRANGER, Delivery, Machine, Send
from microcosm.protocol.packets import Ack, Secret, Serial, YouCanTell


class MF(Machine):
    """Mattern and Fünfrocken (1994): one message at a time, the next when this one's ack is there.

    What happened before a message has been delivered before it is sent, so it is delivered at once. One
    integer a message; throughput is one message a round trip. For one receiver a message: of two, one
    could act on the message before the other has it.

    One process. Constant time a message.
    """

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
        self._queue.append(Send(to[0], Serial(self._clock, payload)))
        self.operations += 1
        self._next()
        return self._clock

    def _next(self) -> None:
        if self._outstanding is None and self._queue:
            self._outstanding = self._queue.popleft()
            self.operations += 1
            self.out.append(self._outstanding)

    def _on_plain(self, sender: int, packet: Serial) -> str | None:
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
        Serial: "_on_plain",
        Ack: "_on_ack",
    }


class Cykas(Machine):
    """Cykas, "can you keep a secret?" (Tong and Kuper 2024), as Hybrid Buffering, section 4.3, describes it.

    A message that goes out while earlier ones are unacknowledged is a secret: its receiver delivers it, and
    sends nothing until told that it can. One counter a process holds all secrets, so others' later secrets
    keep it from sending: it can starve. One message is in transit to each receiver.

    As described it is unsafe on a reordering network: the permission can overtake the acknowledged message.
    Here a permission waits for the message's own ack as well.

    One process. For reliable networks, in any order.
    """

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
