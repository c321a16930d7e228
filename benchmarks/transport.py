"""Claim: causal, sealed messages cost at most three times a plain datagram, durable ones five times.

One of two processes sends so many messages of 100 bytes over loopback, the other counts them, and says when
it has all. `plain` are asyncio datagrams of the same size, one a message, with a count sent back now and then
so that none is lost; nothing orders, seals, or repeats them. `durable` commits to a journal on disk, on both
sides.

What the sender computes decides, some five times what it does for plain ones: by `cProfile` nearly half is
the protocol (a causal send, and its ack), a quarter what is written down of both, the rest timers, packets of
eight messages or so, their sealing, and the socket. Durable it computes a sixth more. The rest is waiting:
each end commits some 70 times, with two syncs; a message leaves after its commit, an ack after that of the
delivery; and the thread that commits stands in line for the interpreter with the loop that sends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.measure import Line
from microcosm.errors import Busy
from microcosm.replica.journal import Journal
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.transport import Transport
from microcosm.replica.store import Memory, Store

NAME = "messages between two processes"
ROOT = Path(__file__).parents[1]
SIZE = 100
RING = Keyring([Key(1, bytes(32))])
CREDIT, UNDER_WAY = 32, 128
"""Plain datagrams: how often a count is sent back, and how many may be under way."""


def store(mode: str, folder: str, name: str) -> Store:
    if mode == "durable":
        return Journal.open(f"{folder}/{name}", application=NAME, create=True)
    return Memory()


def run(quick: bool = False) -> list[Line]:
    """Seconds for all messages; the subjects take turns. The ratio of the plain ones is what part of ours
    they take.
    """
    messages, rounds = (500, 1) if quick else (10_000, 5)
    modes = {"microcosm": "memory", "microcosm, durable": "durable", "plain datagrams": "plain"}
    times: dict[str, list[float]] = {name: [] for name in modes}
    for _ in range(rounds):
        for name, mode in modes.items():
            times[name].append(asyncio.run(measured(mode, messages)))
    ours = median(times["microcosm"])
    case = f"{messages:,} messages of {SIZE} bytes"
    return [Line(NAME, case, name, median(t), median(t) / ours, len(t)) for name, t in times.items()]


async def measured(mode: str, messages: int) -> float:
    """Seconds from the first message to the word that all have come."""
    with tempfile.TemporaryDirectory() as folder:
        return await (plain(messages) if mode == "plain" else sealed(mode, messages, folder))


def receiver(mode: str, messages: int, folder: str, port: int) -> tuple[subprocess.Popen[str], int]:
    """The other process, and where it listens."""
    command = [sys.executable, "-m", "benchmarks.transport", mode, str(messages), folder, str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


async def done(process: subprocess.Popen[str]) -> float:
    """When the other process said that it has all; how long it then takes to end is not asked."""
    assert process.stdout is not None
    await asyncio.get_running_loop().run_in_executor(None, process.stdout.readline)
    when = perf_counter()
    process.wait()
    process.stdout.close()
    return when


async def sealed(mode: str, messages: int, folder: str) -> float:
    kept = store(mode, folder, "sender")
    durable = Durable.opened(kept, "sender", 1, lambda letter: None)
    with closing(kept), await Transport.open(durable, RING) as transport:
        process, port = receiver(mode, messages, folder, transport.address[1])
        transport.add_member("receiver", ("127.0.0.1", port))
        while not transport.metrics()["members"]["receiver"]["met"]:
            await asyncio.sleep(0.01)
        start = perf_counter()
        payload = bytes(SIZE)
        for k in range(messages):
            while True:
                try:
                    transport.send(["receiver"], payload)
                    break
                except Busy:  # until the loop has turned, and acks have come
                    await asyncio.sleep(0)
            if k % 100 == 99:
                await asyncio.sleep(0)
        return await done(process) - start


class Counted(asyncio.DatagramProtocol):
    """Plain datagrams, at either end."""

    def __init__(self, messages: int) -> None:
        self.messages = messages
        self.count = 0
        self.news = asyncio.Event()
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def datagram_received(self, content: bytes, address: tuple[str, int]) -> None:
        if len(content) == 8:
            self.count = int.from_bytes(content, "big")
        else:
            self.count += 1
            if self.count % CREDIT == 0 or self.count == self.messages:
                self.transport.sendto(self.count.to_bytes(8, "big"), address)
        self.news.set()


async def plain(messages: int) -> float:
    loop = asyncio.get_running_loop()
    process, port = receiver("plain", messages, "-", 0)
    transport, end = await loop.create_datagram_endpoint(
        lambda: Counted(messages), remote_addr=("127.0.0.1", port)
    )
    start = perf_counter()
    payload = bytes(SIZE)
    for k in range(messages):
        while k - end.count >= UNDER_WAY:
            end.news.clear()
            await end.news.wait()
        transport.sendto(payload)
    took = await done(process) - start
    transport.close()
    return took


async def receive(mode: str, messages: int, folder: str, port: int) -> None:
    """What the other process does."""
    if mode == "plain":
        loop = asyncio.get_running_loop()
        transport, end = await loop.create_datagram_endpoint(
            lambda: Counted(messages), local_addr=("127.0.0.1", 0)
        )
        print(transport.get_extra_info("sockname")[1], flush=True)
        while end.count < messages:
            end.news.clear()
            await end.news.wait()
        print("all", flush=True)
        transport.close()
        return
    count, complete = 0, asyncio.Event()

    def deliver(_: object) -> None:
        nonlocal count
        count += 1
        if count == messages:
            complete.set()

    kept = store(mode, folder, "receiver")
    durable = Durable.opened(kept, "receiver", 1, deliver)
    with closing(kept), await Transport.open(durable, RING) as transport:
        transport.add_member("sender", ("127.0.0.1", port))
        print(transport.address[1], flush=True)
        await complete.wait()
        await asyncio.sleep(0)
        print("all", flush=True)


if __name__ == "__main__":
    asyncio.run(receive(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
