"""Runs `examples/lease` and keeps the truth beside: what is sent and received, in order, under a lock.

python told_lease.py EXAMPLES FOLDER HOW
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any


class Told:
    """A witness that tells another one, and writes what is sent and received into the truth first."""

    def __init__(self, witness: Any, name: str, truth: Path) -> None:
        self.event, self.witness, self.name = witness.event, witness, name
        self.file = os.open(truth, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        self.count = {"send": 0, "receive": 0}

    def tell(self, kind: str, message: str) -> str:
        """Add an event, called by its process, its kind, and how many of this kind there were."""
        self.count[kind] += 1
        label = f"{self.name} {kind} {self.count[kind]}"
        fcntl.flock(self.file, fcntl.LOCK_EX)
        os.write(self.file, (json.dumps([self.name, label, kind, message or label]) + "\n").encode())
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return label

    def send(self, text: str, to: str) -> list[object]:
        label = self.tell("send", "")
        return [label, self.witness.send(text, to=to)]

    def receive(self, header: list[Any], text: str) -> None:
        self.tell("receive", header[0])
        self.witness.receive(header[1], text)


def main() -> None:
    """Run all four, or one of them."""
    examples, folder, how, *one = sys.argv[1:]
    sys.path.insert(0, examples)
    import lease
    import witnesses

    if how == "otel":
        os.environ["LEASE_TRUTH"] = str(Path(folder) / "truth")
        lease.traced(Path(folder) / "logs", Path(__file__).with_name("told_posted.py"))
        return
    if one:
        name, ports = one
        told = Told(witnesses.WITNESSES[how](name, Path(folder) / "logs"), name, Path(folder) / "truth")
        asyncio.run(lease.run(name, json.loads(ports), told))
        return
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in lease.PROCESSES}
    ports = json.dumps({name: each.getsockname()[1] for name, each in sockets.items()})
    for each in sockets.values():
        each.close()
    started = [subprocess.Popen([sys.executable, *sys.argv, name, ports]) for name in lease.PROCESSES]
    sys.exit(max(each.wait(timeout=60) for each in started))


if __name__ == "__main__":
    main()
