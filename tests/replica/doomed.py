"""A whole node that may be killed at any moment: journal, network, and an application that acts on messages.

It runs in a forked process. What it was told is durable it writes to a diary, a line at a time, which is all
that the tests know of it beside its journal. With `fault` it kills itself at that number of its fault points:
before and after each statement of the database, each write and sync of the head file, and each packet that
comes, batch that is cut off and batch that is durable.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from microcosm.errors import ReplicaError
from microcosm.replica.journal import Journal
from microcosm.replica.journal.files import Disk, Flat
from microcosm.replica.network.endpoint import Endpoint, Limits
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.node import ReplicaNode
from microcosm.replica.store import APPLICATION

RING = Keyring([Key(1, b"k" * 32)])
LIMITS = Limits(least_wait=0.02, longest_wait=0.2, most_copies=64)


class Points:
    """Counts the fault points of this process, and ends it at one of them."""

    def __init__(self, fault: int | None) -> None:
        self.count = 0
        self.fault = fault

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.fault:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, of: type, name: str) -> None:
        """A fault point before and after each call of a method."""
        plain: Callable[..., Any] = getattr(of, name)

        def method(*given: Any, **named: Any) -> Any:
            self()
            try:
                return plain(*given, **named)
            finally:
                self()

        setattr(of, name, method)


class Doomed(Disk):
    """The disk, with fault points."""

    def __init__(self, points: Points) -> None:
        self.points = points
        for name in ("write", "sync"):
            points.around(Flat, name)
        for name in ("receive", "cut", "settle"):
            points.around(Endpoint, name)

    def connect(self, path: Path, access: str) -> sqlite3.Connection:
        points = self.points

        class Connection(sqlite3.Connection):
            def execute(self, *given: Any) -> sqlite3.Cursor:
                points()
                found = super().execute(*given)
                points()
                return found

            def executemany(self, *given: Any) -> sqlite3.Cursor:
                points()
                found = super().executemany(*given)
                points()
                return found

        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={access}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
        )

    def rename(self, old: Path, new: Path) -> None:
        self.points()
        super().rename(old, new)
        self.points()


class Application:
    """Makes events, sends messages, some of which ask for an answer, and acts once on each that comes."""

    def __init__(self, folder: Path, name: str, life: int, fault: int | None, most: int | None) -> None:
        self.folder, self.name, self.life, self.most = folder, name, life, most
        self.points = Points(fault)
        self.disk = Doomed(self.points) if fault is not None else Disk()
        self.node: ReplicaNode
        self._diary = os.open(folder / f"{name}.diary", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(self, line: str) -> None:
        os.write(self._diary, f"{line}\n".encode())

    async def live(self, port: int, others: dict[str, tuple[str, int]]) -> None:
        """Until it is killed; once there is a file `quiet` it makes nothing new, and tells how it stands."""
        quiet = self.folder / "quiet"
        path = self.folder / f"{self.name}.journal"
        journal = Journal.open(path, application=APPLICATION, create=True, disk=self.disk)
        self.node = node = await ReplicaNode.open(
            *(journal, self.name),
            keys=RING,
            address=("127.0.0.1", port),
            members=others,
            limits=LIMITS,
            interval=0.1,
            on_deliver=self._deliver,
        )
        self.tell(f"serving {node.address[1]}")
        watching = asyncio.create_task(self._watch())
        made = 0
        while node.fault is None:
            if made == self.most or quiet.exists():
                standing = "idle" if not node.blocked() else "busy"
                digest = node.replica.digest()
                await node.durable()
                self.tell(f"{standing} {self.points.count} {digest}")
                await asyncio.sleep(0.05)
                continue
            made += 1
            await self._make(made, [*others])
        watching.cancel()
        raise ReplicaError(f"{self.name} stopped: {node.fault}")

    async def _watch(self) -> None:
        """Say so while it diverged, who is not let in that answers to a name, and who has another key."""
        while True:
            await asyncio.sleep(0.1)
            if self.node.divergences():
                self.tell("diverged")
            for name, incarnation in self.node.strangers():
                self.tell(f"stranger {name} {incarnation}")
            for name, why in self.node.suspects.items():
                if "--author" in why:
                    self.tell(f"author {name}")

    async def _make(self, made: int, others: list[str]) -> None:
        node = self.node
        event = f"{self.name}.{self.life}.{made}"
        if made % 2:
            await node.do(lambda replica: replica.local(event))
        else:
            node.replica.local(event)  # the loop waits
        self.tell(f"local {event}")
        to = others[made % len(others)]
        message = await node.send(to, b"ask" if made % 3 == 0 else bytes(1500 * (made % 5 == 0)))
        self.tell(f"sent {message} {to}")
        if made % 7 == 0:
            node.replica.compact()

    def _deliver(self, sender: str, message: str, payload: bytes) -> None:
        """Three effects in the journal, and perhaps a message: with the delivery, or not at all."""
        replica = self.node.replica
        replica.local(f"effect {message}")
        replica.note("count", b"%d" % (int(replica.noted("count") or b"0") + 1))
        replica.learn(f'"c:{message}" < "seen {message}"')
        if payload == b"ask":
            replica.send(sender, b"answer")


def fork(
    folder: Path,
    name: str,
    life: int,
    port: int,
    others: dict[str, tuple[str, int]],
    *,
    fault: int | None = None,
    most: int | None = None,
) -> int:
    """Begin a life of a node in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with (folder / f"{name}.errors").open("a") as errors:
            os.dup2(errors.fileno(), 2)
        asyncio.run(Application(folder, name, life, fault, most).live(port, others))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)
