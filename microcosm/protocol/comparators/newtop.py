"""The causal part of Newtop (Ezhilchelvan, Macêdo and Shrivastava 1995): one Lamport clock a message.

Every message goes to all processes, to those that it is not meant for as a null. A process delivers in
the order of clock and sender, up to the least of the last clocks it heard from each process: an idle
one holds up all others until it breaks its silence, by a null of its own on `tick`.
For reliable FIFO networks.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, WINDOW, Delivery, FixedGroup
from microcosm.protocol.packets import Clocked


class Newtop(FixedGroup):
    """One of `size` processes."""

    __slots__ = ("_announced", "_heard", "_held", "_wanted", "clock")

    NEEDS_TICKS = True

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self.clock = 0
        self._announced = 0
        """The last clock that this process sent to all."""
        self._wanted = 0
        """The highest clock of a message, whoever it is for: some wait for everyone to pass it."""
        self._heard = [0] * size
        self._held: list[tuple[int, int, Any, Clocked]] = []

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self.clock += 1
        self._announced = self.clock
        for j in range(self.size):
            if j != self.me:
                self.operations += 1
                self._emit(j, Clocked(self.clock, 0, payload) if j in to else Clocked(self.clock, 1))
        self._wanted = self.clock
        return self.clock

    def _on_clocked(self, sender: int, packet: Clocked) -> str | None:
        self.operations += 1
        if packet.clock <= self._heard[sender]:
            return DUPLICATE
        if packet.clock > self.clock + WINDOW or len(self._held) >= WINDOW:
            return OUT_OF_WINDOW
        self._heard[sender] = packet.clock
        self.clock = max(self.clock, packet.clock)
        if packet.null < 2:
            self._wanted = max(self._wanted, packet.clock)
        if packet.null == 0:
            heappush(self._held, (packet.clock, sender, packet.payload, packet))
        self._deliver_up_to()
        return None

    def _deliver_up_to(self) -> None:
        self.operations += self.size
        self._heard[self.me] = self.clock
        least = min(self._heard)
        while self._held and self._held[0][0] <= least:
            _, sender, payload, packet = heappop(self._held)
            self.operations += 1
            self._deliver(Delivery(sender, payload, packet))

    def tick(self) -> None:
        """Break the silence, if somebody may be waiting for it.

        Cost: a null to each other process, and what can be delivered then.
        """
        if self._announced < self._wanted:
            self.clock += 1
            self._announced = self.clock
            for j in range(self.size):
                if j != self.me:
                    self.operations += 1
                    self._emit(j, Clocked(self.clock, 2))
            self._deliver_up_to()

    def idle(self) -> bool:
        return not self._held and self._announced >= self._wanted

    def integers(self) -> int:
        return 3 + self.size + 2 * len(self._held)

    @property
    def unsent(self) -> int:
        return 0

    HANDLERS: ClassVar[dict[type, str]] = {Clocked: "_on_clocked"}
