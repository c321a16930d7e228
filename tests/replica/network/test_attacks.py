"""Packets that were caught on a network of real sockets and come again, or elsewhere, and a flood of others.

Nothing of it is delivered, answered or kept, and service goes on. `test_security` does the same without
sockets, packet by packet.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random

import pytest

from microcosm.replica.network import handshake as reasons
from microcosm.replica.network.peer import NEVER
from microcosm.replica.node import ReplicaNode, serve
from microcosm.replica.store import Memory
from tests.replica.network.proxy import Proxy
from tests.replica.nodes import OPTIONS, into, level, meet, ran

pytest.importorskip("cryptography")

AT_A_TIME = 20
"""So many packets are in a socket at once, which holds them."""

TURNS = 8
"""So often the loop turns, and nothing is under way: then nobody is about to say anything."""


class Scene:
    """Nodes a, b and c. All that a and b say to each other is caught on the way; a stranger listens too."""

    def __init__(self, nodes: Sequence[ReplicaNode], got: list[bytes], proxy: Proxy) -> None:
        self.nodes, self.got, self.proxy = nodes, got, proxy
        self.a, self.b, self.c = nodes
        self.stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.stranger.bind(("127.0.0.1", 0))
        self.stranger.setblocking(False)
        self._thrown = 0

    @classmethod
    async def begun(cls, stack: AsyncExitStack) -> Scene:
        got: list[bytes] = []
        options = {**OPTIONS, "interval": 3600.0}
        a, b, c = [
            await stack.enter_async_context(serve(Memory(), name, on_deliver=into(got), **options))
            for name in "abc"
        ]
        proxy = Proxy(1, loss=0.0, doubled=0.0, held=0)
        proxy.ends = [a.address, b.address]
        a.add_member("b", proxy.address(0))
        b.add_member("a", proxy.address(1))
        meet(a, c)
        meet(b, c)
        self = cls((a, b, c), got, proxy)
        stack.callback(self.stranger.close)
        stack.callback(proxy.close)
        for n in range(30):
            a.replica.local(f"e{n}")
            a.replica.send("b", b"%d" % n)
            await b.until(lambda replica, n=n: len(got) > n)  # type: ignore[misc]
            if n == 0:
                await self.calm()
                proxy.recorded.clear()  # what came before they had met was not heeded: it may come again
        for other in (b, c):
            await level(a, other)
        return self

    def caught(self, side: int) -> list[bytes]:
        """What a (0) or b (1) said to the other."""
        return [packet for came, packet in self.proxy.recorded if came == side]

    def count(self, what: str) -> int:
        return sum(node.metrics()[what] for node in self.nodes)

    async def calm(self) -> None:
        """Return when all that was said is heard, and nobody will say anything more."""
        turns = 0
        while turns < TURNS:
            await asyncio.sleep(0)
            under_way = self.count("packets out") + self._thrown != self.count("packets in")
            waits = any(about["missing permits"] for node in self.nodes for about in _members(node))
            soon = any(node.blocked() or node._carrier.gossip._push_at < NEVER for node in self.nodes)
            turns = 0 if under_way or waits or soon else turns + 1

    async def refused(self, node: ReplicaNode, packets: list[bytes], end: socket.socket) -> set[str]:
        """That a node takes no notice of packets from a socket; the reasons that it counts."""
        await self.calm()
        drops, out, digest = node.metrics()["drops"], self.count("packets out"), node.replica.digest()
        process = node._carrier.durable.process.state()
        got, seen = [*self.got], node.replica.seen().count
        for at in range(0, len(packets), AT_A_TIME):
            some = packets[at : at + AT_A_TIME]
            self._thrown += len(some)
            for packet in some:
                end.sendto(packet, node.address)
            await self.calm()
        assert (self.got, self.count("packets out")) == (got, out)
        assert (node.replica.digest(), node.replica.seen().count) == (digest, seen)
        assert node._carrier.durable.process.state() == process
        with pytest.raises(BlockingIOError):
            self.stranger.recv(2000)
        after = node.metrics()["drops"]
        assert sum(after.values()) == sum(drops.values()) + len(packets)
        return {reason for reason in after if after[reason] != drops.get(reason, 0)}

    async def goes_on(self) -> None:
        for one, other in ((self.a, "b"), (self.b, "c"), (self.c, "a")):
            before = len(self.got)
            one.replica.send(other, b"to " + other.encode())
            await one.until(lambda replica, before=before: len(self.got) > before)  # type: ignore[misc]
            assert self.got[-1] == b"to " + other.encode()


def _members(node: ReplicaNode) -> list[dict[str, object]]:
    return list(node.metrics()["members"].values())


def test_all_that_was_said_is_said_again() -> None:
    """From where it came from, and from elsewhere: messages, acks, permits and exchanges."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = await Scene.begun(stack)
            said = here.caught(0)
            assert len(said) > 30
            for end in (here.proxy.sockets[1], here.stranger):
                assert await here.refused(here.b, said, end) <= {reasons.REPLAYED, reasons.NOT_GENUINE}
            await here.goes_on()

    ran(scene())


def test_all_that_was_said_is_said_to_somebody_else() -> None:
    """A packet of a to b is sent to c, and back to a; as a member of the group each could open it."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = await Scene.begun(stack)
            said = here.caught(0)
            assert await here.refused(here.c, said, here.stranger) == {reasons.NOT_GENUINE}
            assert await here.refused(here.a, said, here.proxy.sockets[0]) == {reasons.UNKNOWN_SENDER}
            assert await here.refused(here.c, here.caught(1), here.proxy.sockets[0]) == {reasons.NOT_GENUINE}
            await here.goes_on()

    ran(scene())


def test_a_flood_through_the_socket() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = await Scene.begun(stack)
            random, said = Random(1), here.caught(0)
            bad = [random.randbytes(random.randrange(1500)) for _ in range(400)]
            for packet in said:
                changed = bytearray(packet)
                changed[random.randrange(len(packet))] ^= 1 << random.randrange(8)
                bad += [bytes(changed), packet[: random.randrange(len(packet))], packet + bytes(2000)]
            known = {value for name, value in vars(reasons).items() if name.isupper()}
            assert await here.refused(here.b, bad, here.stranger) <= known - {reasons.REPLAYED}
            await here.goes_on()

    ran(scene())
