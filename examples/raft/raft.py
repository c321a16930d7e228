"""Three nodes elect a leader and get two: one of them forgets, when it is started again, whom it voted for.

    python examples/raft/raft.py run                 # a second; writes run/n1.jsonl, run/n2.jsonl, ...
    microcosm assert run examples/raft/raft.ask      # two leaders of one term, at a time

Three processes over UDP, as Raft elects: who asks for votes of a term and gets those of a majority leads it,
and nobody votes twice in a term. `n1` and `n2` both ask `n3`, which votes for one of them, is killed, and
starts again; its vote was kept in memory alone, and so it votes for the other as well. What they do is
recorded by four calls below; `n3` started again is `n3#2` in the log.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from microcosm.record import Recorder

TERM = 1
ASK_AGAIN = 0.1
"""Seconds after which a candidate asks once more."""


class Node(asyncio.DatagramProtocol):
    """A node: its socket, its role, and its vote."""

    def __init__(self, name: str, ports: dict[str, int], folder: Path) -> None:
        self.name = name
        self.ports = ports
        log = folder / f"{name}.jsonl"
        self.started_again = log.exists()
        self.causality = Recorder(name, log)
        self.voted_for: str | None = None
        self.leads = False
        self.over = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, to: str, says: str) -> None:
        header = self.causality.send(f"{says} in term {TERM}", to=to)
        packet = json.dumps({"header": header, "from": self.name, "says": says})
        self.transport.sendto(packet.encode(), ("127.0.0.1", self.ports[to]))

    def datagram_received(self, data: bytes, address: object) -> None:
        packet = json.loads(data)
        sender, says = packet["from"], packet["says"]
        self.causality.receive(packet["header"], f"{sender} {says} in term {TERM}")
        if says == "asks for a vote" and self.voted_for in (None, sender):
            self.voted_for = sender
            self.send(sender, "votes")
            if self.name == "n3" and not self.started_again:
                os.kill(os.getpid(), signal.SIGKILL)
        elif says == "votes" and not self.leads:  # with its own a majority of three
            self.leads = True
            self.causality.event(f"leads term {TERM}")
        elif says == "leads" and self.leads:
            self.send(sender, "leads")
            self.leads = False
            self.causality.event(f"steps down: {sender} leads term {TERM}, too")
            self.over.set()

    async def campaign(self, other: str) -> None:
        """Vote for oneself, ask for the vote of n3 until it comes, and tell the other that one leads."""
        self.voted_for = self.name
        while not self.leads and not self.over.is_set():
            self.send("n3", "asks for a vote")
            await asyncio.sleep(ASK_AGAIN)
        while not self.over.is_set():
            self.send(other, "leads")
            await asyncio.sleep(ASK_AGAIN)


async def run(name: str, ports: dict[str, int], folder: Path) -> None:
    """One node, from its beginning to its end."""
    node = Node(name, ports, folder)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: node, local_addr=("127.0.0.1", ports[name]))
    if name == "n3":
        await node.over.wait()
    else:
        await node.campaign("n2" if name == "n1" else "n1")


def main(folder: Path) -> None:
    """Run three nodes, start n3 again when it has been killed, and end it when the others have ended."""
    folder.mkdir(parents=True, exist_ok=True)
    sockets = {name: socket.socket(type=socket.SOCK_DGRAM) for name in ("n1", "n2", "n3")}
    for name, each in sockets.items():
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
        each.bind(("127.0.0.1", 0))
    ports = {name: each.getsockname()[1] for name, each in sockets.items()}
    for each in sockets.values():
        each.close()

    def start(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, __file__, str(folder), name, json.dumps(ports)])

    n3, *candidates = (start(name) for name in ("n3", "n1", "n2"))
    n3.wait(timeout=60)
    n3 = start("n3")
    codes = [each.wait(timeout=60) for each in candidates]
    n3.kill()
    n3.wait()
    if any(codes):
        sys.exit("one of the nodes failed")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        asyncio.run(run(sys.argv[2], json.loads(sys.argv[3]), Path(sys.argv[1])))
    else:
        main(Path(sys.argv[1] if len(sys.argv) == 2 else "run"))
