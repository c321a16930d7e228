"""Two clients, a lock and a store, four processes over TCP: a paused client writes after its lease.

    python examples/lease/lease.py logs              # a second; writes logs/alice.log, logs/bob.log, ...
    python examples/lease/lease.py run recorder      # the same by a recorder: run/alice.jsonl, ...
    python examples/lease/lease.py spans otel        # over HTTP, by OpenTelemetry: spans/alice.jsonl, ...
    microcosm assert run examples/lease/lease.ask    # two writes that are concurrent

Alice gets the lease and is paused (a garbage collection, a laptop that sleeps). The lease runs out, Bob
gets it and writes; then Alice goes on, believes that she holds it still, and writes, too. `witnesses.py`
has two ways to tell what a process does: the standard library's `logging`, where the only thing that is asked
of a line about a message is that it names the message (what to ask about such logs is in guides/tour.md), and
a recorder (guides/from-your-logs.md). `posted.py` is the same over HTTP, where nothing is told by hand.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from witnesses import WITNESSES, Logged

PROCESSES = ("lock", "store", "alice", "bob")

LEASE = 0.2
"""Seconds that a lease lasts,"""
PAUSE = 0.6
"""and that Alice is paused."""
POSTED = Path(__file__).with_name("posted.py")


class Process:
    """One of the four: it sends, receives, and tells a witness."""

    def __init__(self, name: str, ports: dict[str, int], witness: Logged) -> None:
        self.name = name
        self.witness = witness
        self.received: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._ports = ports

    async def listen(self) -> asyncio.Server:
        """Begin to receive."""

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            message = json.loads(await reader.readline())
            writer.close()
            self.witness.receive(message["header"], message["text"])
            await self.received.put((message["from"], message["text"]))

        return await asyncio.start_server(take, "127.0.0.1", self._ports[self.name])

    async def send(self, to: str, text: str) -> None:
        """Send a text to another process, with what the witness has to say of it."""
        while True:  # until the other one listens
            with suppress(ConnectionRefusedError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._ports[to])
                break
            await asyncio.sleep(0.02)
        header = self.witness.send(text, to=to)
        writer.write(json.dumps({"header": header, "from": self.name, "text": text}).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def wait_for(self, text: str) -> str:
        """Wait until this is received; who sent it."""
        while True:
            sender, said = await self.received.get()
            if said == text:
                return sender


async def lock(me: Process) -> None:
    """Give the lease to who asks first, and when it has run out to who asks next."""
    for _ in range(2):
        holder = await me.wait_for("ask for the lease")
        await me.send(holder, "the lease is yours")
        await asyncio.sleep(LEASE)
        me.witness.event(f"lease of {holder} expired")


async def store(me: Process) -> None:
    """Keep the last value that anybody writes."""
    for _ in range(2):
        _, text = await me.received.get()
        me.witness.event(f"stored {text.removeprefix('write ')}")


async def alice(me: Process) -> None:
    """Ask, get the lease, sleep through its end, write."""
    await me.send("lock", "ask for the lease")
    await me.wait_for("the lease is yours")
    me.witness.event("paused")
    await asyncio.sleep(PAUSE)
    await me.send("store", "write x=1")


async def bob(me: Process) -> None:
    """Ask after Alice, get the lease, write."""
    await asyncio.sleep(LEASE / 2)
    await me.send("lock", "ask for the lease")
    await me.wait_for("the lease is yours")
    await me.send("store", "write x=2")


async def run(name: str, ports: dict[str, int], witness: Logged) -> None:
    """One process, from its beginning to its end."""
    me = Process(name, ports, witness)
    async with await me.listen():
        await {"lock": lock, "store": store, "alice": alice, "bob": bob}[name](me)


def main(folder: Path, how: str) -> None:
    """Run all four, each of which tells what it does in a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROCESSES:
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
    if how == "otel":
        traced(folder)
        return
    with ExitStack() as kept:
        sockets = {name: kept.enter_context(socket.socket()) for name in PROCESSES}
        for each in sockets.values():
            each.bind(("127.0.0.1", 0))
        ports = {name: each.getsockname()[1] for name, each in sockets.items()}
    command = [sys.executable, __file__, str(folder), how]
    running = [subprocess.Popen([*command, name, json.dumps(ports)]) for name in PROCESSES]
    codes = [process.wait(timeout=60) for process in running]
    if any(codes):
        sys.exit("one of the processes failed")


def traced(folder: Path, program: Path = POSTED) -> None:
    """Run the four of `posted.py` under OpenTelemetry's own command: two variables for each."""
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in ("lock", "store")}
    where = {name: f"http://127.0.0.1:{each.getsockname()[1]}" for name, each in sockets.items()}
    instrument = str(Path(sys.executable).with_name("opentelemetry-instrument"))
    nowhere = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    running = {}
    for name in PROCESSES:
        two = {"MICROCOSM_RECORD": str(folder), "OTEL_SERVICE_NAME": name}
        listens = [sockets[name].fileno()] if name in sockets else []
        running[name] = subprocess.Popen(
            [instrument, sys.executable, str(program), name, json.dumps(where), *map(str, listens)],
            env={**os.environ, **nowhere, **two},
            pass_fds=listens,
        )
    codes = [running[name].wait(timeout=60) for name in ("alice", "bob")]
    for name, each in sockets.items():
        running[name].terminate()
        running[name].wait(timeout=60)
        each.close()
    if any(codes):
        sys.exit("one of the clients failed")


if __name__ == "__main__":
    folder, how, *process = [*sys.argv[1:], *("logs", "logging")[len(sys.argv) - 1 :]]
    if process:
        name, ports = process
        asyncio.run(run(name, json.loads(ports), WITNESSES[how](name, Path(folder))))
    else:
        main(Path(folder), how)
