"""A network that misbehaves, on loopback: a UDP socket between two endpoints that loses, doubles, and turns
round what passes."""

from __future__ import annotations

import asyncio
import socket
from random import Random


class Proxy:
    """Two sockets, one for each side: what comes in at one goes out to the other side's endpoint from the
    other.
    """

    def __init__(
        self,
        seed: int,
        loss: float,
        doubled: float,
        hosts: tuple[str, str] = ("127.0.0.1", "127.0.0.1"),
        held: int = 2,
    ) -> None:
        self.random, self.loss, self.doubled = Random(seed), loss, doubled
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        self.ends: list[tuple[str, int]] = []
        self.held = held
        """So many packets are held back at most, to be sent in another order."""
        self.passed = self.lost = 0
        self.recorded: list[tuple[int, bytes]] = []
        """Every packet that came in, with the side that it came from."""
        self._held: list[tuple[int, bytes]] = []
        loop = asyncio.get_running_loop()
        for side, end in enumerate(self.sockets):
            end.setblocking(False)
            end.bind((hosts[side], 0))
            loop.add_reader(end.fileno(), self._pass, side)

    def address(self, side: int) -> tuple[str, int]:
        """Where the endpoint on a side sends to."""
        host, port = self.sockets[side].getsockname()
        return host, port

    def _pass(self, side: int) -> None:
        try:
            packet = self.sockets[side].recv(65536)
        except OSError:
            return
        self.recorded.append((side, packet))
        if self.random.random() < self.loss:
            self.lost += 1
            return
        self.passed += 1
        self._held.append((1 - side, packet))
        if self.random.random() < self.doubled:
            self._held.append((1 - side, packet))
        self.random.shuffle(self._held)
        while len(self._held) > self.random.randint(0, self.held):
            to, one = self._held.pop()
            try:
                self.sockets[to].sendto(one, self.ends[to])
            except OSError:  # the network is unreachable at the moment
                self.lost += 1

    def close(self) -> None:
        for end in self.sockets:
            asyncio.get_running_loop().remove_reader(end.fileno())
            end.close()
