"""Raynal, Schiper and Toueg (1991): every message carries a matrix of what was sent from whom to whom.

SENT[k][j] counts the messages from k to j in the causal past. A message is delivered when all those to
its receiver that its matrix counts have been. Nobody waits longer than causality demands, and every
message costs n² integers. For reliable networks, in any order.
"""

from __future__ import annotations

from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, UNSOUND, WINDOW, Delivery, FixedGroup
from microcosm.protocol.packets import Stamped, Vector


class RST(FixedGroup):
    """One of `size` processes. Time and space n² a message."""

    __slots__ = ("_clock", "_delivered", "_held", "_sent")

    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self._clock = 0
        self._sent: list[Vector] = [(0,) * size] * size
        self._delivered = [0] * size
        self._held: dict[tuple[int, int], Stamped] = {}
        """Packets that wait, by their sender and their number among its messages to this process."""

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        packet = Stamped(tuple(self._sent), to, payload)  # a copy first, then the increment
        for j in to:
            self._emit(j, packet)
        self._sent[self.me] = self._raised(self._sent[self.me], to)
        self._clock += 1
        self.operations += len(to)
        return self._clock

    def _on_stamped(self, sender: int, packet: Stamped) -> str | None:
        matrix = packet.matrix
        if len(matrix) != self.size or any(len(row) != self.size for row in matrix):
            return UNSOUND
        if self.me not in packet.to or any(j >= self.size for j in packet.to):
            return UNSOUND
        number = matrix[sender][self.me]
        if number < self._delivered[sender] or (sender, number) in self._held:
            return DUPLICATE
        if len(self._held) >= WINDOW:
            return OUT_OF_WINDOW
        self._held[sender, number] = packet
        while (ready := self._ready()) is not None:
            self._accept(ready[0], self._held.pop(ready))
        return None

    def _ready(self) -> tuple[int, int] | None:
        for key, packet in self._held.items():
            self.operations += self.size
            if all(row[self.me] <= done for row, done in zip(packet.matrix, self._delivered, strict=True)):
                return key
        return None

    def _accept(self, sender: int, packet: Stamped) -> None:
        self._delivered[sender] += 1
        self.operations += self.size**2
        self._sent = [tuple(map(max, a, b)) for a, b in zip(self._sent, packet.matrix, strict=True)]
        counted = self._raised(packet.matrix[sender], packet.to)
        self._sent[sender] = tuple(map(max, self._sent[sender], counted))
        self._deliver(Delivery(sender, packet.payload, packet))

    def _raised(self, row: Vector, to: tuple[int, ...]) -> Vector:
        return tuple(count + 1 if j in to else count for j, count in enumerate(row))

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """For each process j, how many messages from each process to j are in the causal past: columns."""
        return tuple(zip(*self._sent, strict=True))

    def idle(self) -> bool:
        return not self._held

    def integers(self) -> int:
        return self.size**2 + self.size + sum(packet.integers for packet in self._held.values())

    @property
    def unsent(self) -> int:
        return 0

    HANDLERS: ClassVar[dict[type, str]] = {Stamped: "_on_stamped"}
