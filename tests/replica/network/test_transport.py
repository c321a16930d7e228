"""Two endpoints in one process, through a network on loopback that loses, doubles and turns packets round."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from microcosm.errors import Busy, ReplicaError
from microcosm.replica.journal import Journal
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.process import DeliveredMessage
from microcosm.replica.network.transport import Transport
from microcosm.replica.store import Memory
from tests.replica.network.proxy import Proxy

RING = Keyring([Key(1, b"k" * 32)])
QUICK = Limits(least_wait=0.01, longest_wait=0.1)
PATIENCE = 30.0


class Side:
    """One endpoint with its store, its letters, and an event for when there are enough of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.store = Memory()
        self.letters: list[DeliveredMessage] = []
        self.wanted = 0
        self.enough = asyncio.Event()
        self.answers = 0
        self.transport: Transport

    async def open(self, limits: Limits = QUICK) -> Transport:
        durable = Durable.opened(self.store, self.name, 1, self.deliver)
        self.transport = await Transport.open(durable, RING, limits=limits)
        return self.transport

    def deliver(self, letter: DeliveredMessage) -> None:
        self.letters.append(letter)
        if self.answers and letter.payload.startswith(b"ask"):
            self.answers -= 1
            self.transport.send([letter.id.name], b"answer " + letter.payload)
        if len(self.letters) >= self.wanted:
            self.enough.set()

    def record(self, letter: DeliveredMessage) -> None:
        self.transport.endpoint.durable.include("noted", letter.payload)
        self.deliver(letter)

    async def wait(self, wanted: int) -> None:
        self.wanted = wanted
        if len(self.letters) < wanted:
            self.enough.clear()
            async with asyncio.timeout(PATIENCE):
                await self.enough.wait()


async def when_possible(transport: Transport, to: list[str], payload: bytes) -> None:
    """Send a message as soon as there is room for it."""
    while True:
        try:
            transport.send(to, payload)
            return
        except Busy:
            await asyncio.sleep(0.005)


def test_two_endpoints_on_a_bad_network() -> None:
    async def scene() -> None:
        left, right = Side("left"), Side("right")
        right.answers = 1000
        proxy = Proxy(5, loss=0.3, doubled=0.2)
        with await left.open() as a, await right.open() as b:
            proxy.ends = [a.address, b.address]
            a.add_member("right", proxy.address(0))
            b.add_member("left", proxy.address(1))
            asked = [b"ask %d" % k + bytes(k % 7 * 400) for k in range(150)]
            for ask in asked:
                await when_possible(a, ["right"], ask)
            await left.wait(len(asked))
            assert [letter.payload for letter in right.letters] == asked
            assert [letter.payload for letter in left.letters] == [b"answer " + ask for ask in asked]
            assert proxy.lost > 10
            assert a.metrics()["members"]["right"]["retransmissions"] > 0
        proxy.close()

    asyncio.run(scene())


def test_a_side_stops_and_comes_back() -> None:
    """What was sent while it was away is there once, and nothing from before is there again."""

    async def scene() -> None:
        left, right = Side("left"), Side("right")
        with await left.open() as a:
            b = await right.open()
            where = b.address
            a.add_member("right", where)
            b.add_member("left", a.address)
            a.send(["right"], b"1")
            await right.wait(1)
            b.close()
            for k in range(2, 20):
                a.send(["right"], b"%d" % k)
            durable = Durable.opened(right.store, "right", 1, right.deliver)
            right.transport = await Transport.open(durable, RING, where, limits=QUICK)
            with right.transport:
                await right.wait(19)
                right.transport.send(["left"], b"back")
                await left.wait(1)
        assert [letter.payload for letter in right.letters] == [b"%d" % k for k in range(1, 20)]

    asyncio.run(scene())


def test_with_a_journal_on_disk(tmp_path: Path) -> None:
    """The receiver is closed and opened on the same file, again and again; what it noted is there, once."""

    async def scene() -> None:
        left = Side("left")
        with await left.open() as a:
            where, sent = ("127.0.0.1", 0), 0
            for _ in range(4):
                with Journal.open(tmp_path / "right", application="test", create=True) as journal:
                    right = Side("right")
                    right.store = journal  # type: ignore[assignment]
                    durable = Durable.opened(journal, "right", 1, right.record)
                    right.transport = await Transport.open(durable, RING, where, limits=QUICK)
                    with right.transport as b:
                        if not sent:
                            where = b.address
                            a.add_member("right", where)
                            b.add_member("left", a.address)
                        for _ in range(5):
                            sent += 1
                            a.send(["right"], b"%d" % sent)
                        await right.wait(1)
                        b.flush()
        with Journal.open(tmp_path / "right", application="test") as journal:
            noted = [record.payload for record in journal.records() if record.kind == "noted"]
        assert noted == [b"%d" % (k + 1) for k in range(len(noted))]
        assert len(noted) >= 4

    asyncio.run(scene())


def test_members_come_and_go_without_a_restart() -> None:
    async def scene() -> None:
        sides = [Side(name) for name in ("a", "b", "c")]
        a, b, c = [await side.open() for side in sides]
        a.add_member("b", b.address)
        b.add_member("a", a.address)
        a.send(["b"], b"two of us")
        await sides[1].wait(1)
        for one, name, other in ((a, "c", c), (b, "c", c), (c, "a", a), (c, "b", b)):
            one.add_member(name, other.address)
        c.send(["a", "b"], b"three of us")
        await sides[0].wait(1)
        await sides[1].wait(2)
        a.evict("c")
        assert a.metrics()["fences"] == [("c", 1)]
        a.send(["b"], b"two again")
        await sides[1].wait(3)
        assert "c" not in b.metrics()["members"]
        with pytest.raises(ReplicaError, match="is no member"):
            a.send(["c"], b"")
        for one in (a, b, c):
            one.close()
            one.close()
        with pytest.raises(ReplicaError, match="closed"):
            a.send(["b"], b"")

    asyncio.run(scene())


def test_back_pressure_refuses_and_then_lets_go_on() -> None:
    async def scene() -> None:
        left, right = Side("left"), Side("right")
        with await left.open(Limits(most_copies=4)) as a, await right.open() as b:
            a.add_member("right", b.address)
            for k in range(4):
                a.send(["right"], b"%d" % k)
            with pytest.raises(Busy, match="4 copies wait"):
                a.send(["right"], b"4")
            b.add_member("left", a.address)
            for k in range(4, 30):
                await when_possible(a, ["right"], b"%d" % k)
            await right.wait(30)
        assert [letter.payload for letter in right.letters] == [b"%d" % k for k in range(30)]

    asyncio.run(scene())


def test_a_delivery_that_raises_stops_it_and_nothing_is_lost() -> None:
    async def scene() -> None:
        left, right = Side("left"), Side("right")
        stopped = asyncio.Event()

        def broken(letter: DeliveredMessage) -> None:
            stopped.set()
            raise OSError("no room")

        with await left.open() as a:
            b = await Transport.open(Durable.opened(right.store, "right", 1, broken), RING, limits=QUICK)
            where = b.address
            a.add_member("right", where)
            b.add_member("left", a.address)
            a.send(["right"], b"once")
            async with asyncio.timeout(PATIENCE):
                await stopped.wait()
            assert isinstance(b.fault, OSError)
            with pytest.raises(ReplicaError, match="no room"):
                b.send(["left"], b"")
            durable = Durable.opened(right.store, "right", 1, right.deliver)
            right.transport = await Transport.open(durable, RING, where, limits=QUICK)
            with right.transport:
                await right.wait(1)
        assert [letter.payload for letter in right.letters] == [b"once"]

    asyncio.run(scene())


def test_an_address_that_is_taken_is_one_clear_error() -> None:
    async def scene() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            durable = Durable.opened(Memory(), "a", 1, lambda letter: None)
            with pytest.raises(ReplicaError, match="cannot listen on 127"):
                await Transport.open(durable, RING, taken.getsockname())

    asyncio.run(scene())
