"""Endpoints under one key that talk only when a test lets them, so that each packet can be tampered with."""

from __future__ import annotations

from random import Random

from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Endpoint
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.process import DeliveredMessage
from microcosm.replica.store import Memory

SECRET, OTHER = b"the secret of the group, 32 byte", b"another secret, also of 32 bytes"
RING = Keyring([Key(1, SECRET)])


class Pair:
    """Endpoints a, b and c under one key; packets go where a test lets them go."""

    def __init__(
        self, rings: dict[str, Keyring] | None = None, names: str = "abc", wall: float = 0.0
    ) -> None:
        self.now, self.wall = 0.0, wall
        self.random = Random(1)
        self.letters: dict[str, list[DeliveredMessage]] = {name: [] for name in names}
        self.stores = {name: Memory() for name in names}
        self.rings = rings or {}
        self.ends = {name: self.open(name, 1) for name in names}
        for name, end in self.ends.items():
            for other in names:
                if other != name:
                    end.add_member(other, (other, 1), 0.0)

    def open(self, name: str, incarnation: int, **options: object) -> Endpoint:
        durable = Durable.opened(self.stores[name], name, incarnation, self.letters[name].append)
        ring = self.rings.get(name, RING)
        return Endpoint(durable, ring, self.random.randbytes, now=self.now, **options)  # type: ignore[arg-type]

    def out(self, name: str) -> list[tuple[str, bytes]]:
        return [(to[0], packet) for to, packet in self.ends[name].flush(self.now, self.wall)]

    def into(self, name: str, packet: bytes) -> None:
        self.ends[name].receive(packet, self.now, self.wall)

    def settle(self, rounds: int = 12) -> None:
        """Let everything pass for a while."""
        for _ in range(rounds):
            self.now += 0.3
            for name, end in self.ends.items():
                end.poll(self.now)
                for to, packet in self.out(name):
                    if to in self.ends:
                        self.into(to, packet)

    def sealed(self, sender: str = "a", to: str = "b", payload: bytes = b"secret") -> bytes:
        """A packet with a message from one to another, caught on its way."""
        self.ends[sender].durable.send([to], payload)
        [packet] = [packet for receiver, packet in self.out(sender) if receiver == to]
        return packet

    def refuses(self, name: str, packet: bytes, answers: int = 0) -> str:
        """That a packet changes nothing at an endpoint, with so many answers; the reason it counts."""
        end = self.ends[name]
        self.out(name)
        before, drops = end.durable.process.state(), end.drops.copy()
        letters, records = len(self.letters[name]), len([*self.stores[name].records()])
        self.into(name, packet)
        assert len(self.out(name)) == answers
        assert end.durable.process.state() == before
        assert (len(self.letters[name]), len([*self.stores[name].records()])) == (letters, records)
        [reason] = end.drops - drops
        return reason

    def goes_on(self, sender: str = "a", to: str = "b") -> None:
        """That messages still come through."""
        before = len(self.letters[to])
        self.ends[sender].durable.send([to], b"still there")
        self.settle()
        assert [letter.payload for letter in self.letters[to][before:]][-1] == b"still there"
