"""A virtual clock, and a virtual network under it that loses, doubles and delays packets, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from random import Random

WALL = 1_000_000.0
"""The time of day at the beginning."""

NEVER = float("inf")

LARGEST = 1200
"""No packet has more bytes."""


class Clockwork:
    """What happens next, and what becomes of packets; whoever has processes says what arrives means."""

    def __init__(self, seed: int, loss: float, doubled: float, delay: tuple[float, float]) -> None:
        self.random = Random(seed)
        self.loss, self.doubled, self.delay = loss, doubled, delay
        self.now = 0.0
        self.packets = 0
        self.cut: set[frozenset[str]] = set()
        """The links that are down."""
        self.tamper: Callable[[bytes], Iterable[bytes]] | None = None
        """What becomes of a packet on the way."""
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, delay: float, action: Callable[[], None]) -> None:
        """Let something happen after some time."""
        self._count += 1
        heappush(self._queue, (self.now + delay, self._count, action))

    def go(self, until: float) -> None:
        """Run to a moment, or until nothing can happen any more."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = max(self.now, until) if until < NEVER else self.now

    def calm(self, patience: float = 600.0) -> None:
        """Mend everything, and run until nothing is missing anywhere."""
        self.cut.clear()
        self.mend()
        end = self.now + patience
        while self.now < end and not self.quiet():
            self.go(self.now + 1.0)

    def transmit(self, sender: str, to: str, packet: bytes) -> None:
        """A packet sets out."""
        self.packets += 1
        assert len(packet) <= LARGEST
        if frozenset((sender, to)) in self.cut:
            return
        for one in self.tamper(packet) if self.tamper else [packet]:
            copies = (self.random.random() >= self.loss) + (self.random.random() < self.doubled)
            for _ in range(copies):
                delay = self.random.uniform(*self.delay)
                self.at(delay, lambda one=one: self.arrive(to, one, sender))  # type: ignore[misc]

    def arrive(self, to: str, packet: bytes, sender: str) -> None:
        """A packet has come."""
        raise NotImplementedError

    def mend(self) -> None:
        """No process stops any more."""
        raise NotImplementedError

    def quiet(self) -> bool:
        """Whether nothing is missing anywhere."""
        raise NotImplementedError

    def partitions(self, count: int, seconds: float, lasting: float, names: Iterable[str]) -> None:
        """Cut the network in two so often in so many seconds, each time for at most `lasting` seconds."""
        names = list(names)
        for _ in range(count):
            here = {name for name in names if self.random.random() < 0.5}
            cut = {frozenset((a, b)) for a in here for b in names if b not in here}
            begin = self.random.uniform(0, seconds)
            self.at(begin, lambda cut=cut: self.cut.update(cut))  # type: ignore[misc]
            end = begin + self.random.uniform(0, lasting)
            self.at(end, lambda cut=cut: self.cut.difference_update(cut))  # type: ignore[misc]
