"""Causal delivery to monitors by vector clocks: seed 002, section 6.

f_p.q counts the messages from q to the monitor in the causal past of process p. Message j carries e_j, the
vector of its sender before it; the monitor accepts j when e_j <= k, its count of what it received, and
then f = k there (the seed's invariant). One vector for each monitor; other processes deliver
at once, without any promise. With every process a monitor this is RST, column for column.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, UNSOUND, WINDOW, Delivery, FixedGroup
from microcosm.protocol.packets import Vector, Vectored


class Monitored(FixedGroup):
    """One of `size` processes, of which `monitors` (by default process 0) get causal delivery.

    Time and space n times the number of monitors. For reliable networks, in any order.
    """

    __slots__ = ("_clock", "_held", "_past", "monitors")

    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, size: int, monitors: Collection[int] = (0,)) -> None:
        super().__init__(me, size)
        self.monitors = tuple(sorted(monitors))
        self._clock = 0
        self._past: list[Vector] = [(0,) * size for _ in self.monitors]
        self._held: dict[tuple[int, int], Vectored] = {}

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """f of this process, for each monitor; at a monitor its own one is k."""
        return tuple(self._past)

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        packet = Vectored(tuple(self._past), to, payload)
        for j in to:
            self._emit(j, packet)
        self._past = [
            self._counted(vector, self.me) if monitor in to else vector
            for monitor, vector in zip(self.monitors, self._past, strict=True)
        ]
        self._clock += 1
        self.operations += len(to) + len(self.monitors)
        return self._clock

    def _on_vectored(self, sender: int, packet: Vectored) -> str | None:
        vectors = packet.vectors
        if len(vectors) != len(self.monitors) or any(len(vector) != self.size for vector in vectors):
            return UNSOUND
        if self.me not in packet.to or any(j >= self.size for j in packet.to):
            return UNSOUND
        if self.me not in self.monitors:
            self._accept(sender, packet)
            return None
        mine = self.monitors.index(self.me)
        number = vectors[mine][sender]
        if number < self._past[mine][sender] or (sender, number) in self._held:
            return DUPLICATE
        if len(self._held) >= WINDOW:
            return OUT_OF_WINDOW
        self._held[sender, number] = packet
        while (ready := self._ready(mine)) is not None:
            self._accept(ready[0], self._held.pop(ready))
        return None

    def _ready(self, mine: int) -> tuple[int, int] | None:
        for key, packet in self._held.items():
            self.operations += self.size
            if all(map(int.__le__, packet.vectors[mine], self._past[mine])):
                return key
        return None

    def _accept(self, sender: int, packet: Vectored) -> None:
        self.operations += self.size * len(self.monitors)
        self._past = [
            tuple(map(max, vector, self._counted(carried, sender) if monitor in packet.to else carried))
            for monitor, vector, carried in zip(self.monitors, self._past, packet.vectors, strict=True)
        ]
        self._deliver(Delivery(sender, packet.payload, packet))

    def _counted(self, vector: Vector, process: int) -> Vector:
        return (*vector[:process], vector[process] + 1, *vector[process + 1 :])

    def idle(self) -> bool:
        return not self._held

    def integers(self) -> int:
        return self.size * len(self.monitors) + sum(packet.integers for packet in self._held.values())

    @property
    def unsent(self) -> int:
        return 0

    HANDLERS: ClassVar[dict[type, str]] = {Vectored: "_on_vectored"}
