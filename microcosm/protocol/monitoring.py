"""Causal delivery to monitors by vector clocks: Hoogerwoord's note, section 6.

f_p.q counts the messages from q to the monitor in the causal past of process p. Message j carries e_j, the
vector of its sender before it; the monitor accepts j when e_j <= k, its count of what it received, and
then f = k there (the paper's invariant). One vector for each monitor; other processes deliver
at once, without any promise. With every process a monitor this is RST, column for column.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from microcosm.protocol.machine import UNSOUND, Delivery, Receiving
from microcosm.protocol.packets import Counts, Vectored


class Monitored(Receiving[Vectored]):
    """One of `size` processes, of which `monitors` (by default process 0) get causal delivery.

    Time and space n times the number of monitors. For reliable networks, in any order.
    """

    __slots__ = ("_past", "monitors")

    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, size: int, monitors: Collection[int] = (0,)) -> None:
        super().__init__(me, size)
        self.monitors = tuple(sorted(monitors))
        self._past: list[Counts] = [(0,) * size for _ in self.monitors]

    @property
    def vectors(self) -> tuple[Counts, ...]:
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
        if [*map(len, vectors)] != [self.size] * len(self.monitors) or not self._among(packet.to):
            return UNSOUND
        if any(said[self.me] > own[self.me] for said, own in zip(vectors, self._past, strict=True)):
            return UNSOUND  # this process has not sent so much
        if self.me not in self.monitors:
            self._accept(sender, packet)
            return None
        mine = self.monitors.index(self.me)
        number = vectors[mine][sender]
        return self._hold(sender, number, packet, number < self._past[mine][sender])

    def _is_next(self, packet: Vectored) -> bool:
        mine = self.monitors.index(self.me)
        self.operations += self.size
        return all(map(int.__le__, packet.vectors[mine], self._past[mine]))

    def _accept(self, sender: int, packet: Vectored) -> None:
        self.operations += self.size * len(self.monitors)
        self._past = [
            tuple(map(max, vector, self._counted(carried, sender) if monitor in packet.to else carried))
            for monitor, vector, carried in zip(self.monitors, self._past, packet.vectors, strict=True)
        ]
        self._deliver(Delivery(sender, packet.payload, packet))

    def _counted(self, vector: Counts, process: int) -> Counts:
        return (*vector[:process], vector[process] + 1, *vector[process + 1 :])

    def _kept(self) -> int:
        return self.size * len(self.monitors)

    HANDLERS: ClassVar[dict[type, str]] = {Vectored: "_on_vectored"}
