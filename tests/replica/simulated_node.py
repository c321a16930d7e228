"""A device of a simulation: a journal that outlasts it, a replica, and what brings its packets to others.

Its process is killed before or after a commit, and goes on from what its files hold.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from microcosm.replica.journal import Journal
from microcosm.replica.network.carrier import Carrier
from microcosm.replica.network.endpoint import Address, Endpoint
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.process import Fence
from microcosm.replica.network.write_ahead import WriteBatch
from microcosm.replica.replica import Replica
from microcosm.replica.store import APPLICATION, LogRecord, Memory, ReplicaStore
from tests.replica.clockwork import NEVER, WALL

if TYPE_CHECKING:
    from microcosm.replica.network.transport import Transport
    from tests.replica.simulated import World

RING = Keyring([Key(1, b"k" * 32)])


class Killed(BaseException):
    """The process ends here; no `except Exception` keeps it."""


class Files:
    """A journal whose process is killed at one of the next commits, before or after it.

    What a killed process leaves is what the system has of its files at that moment: they are copied, so that
    nothing that happens to be done afterwards, closing for one, gets into them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.lives = 0
        self.fuse: int | None = None
        self.after = False
        self.instead: Callable[[], None] | None = None
        """What is done at that moment, if the process is not to be killed."""
        self._journal: Journal | None = None

    def open(self) -> None:
        self.lives += 1
        self._journal = Journal.open(self._path(), application=APPLICATION, create=self.lives == 1)

    def kill(self) -> None:
        """The next life begins with the files as they are now."""
        if self._journal is None:
            return
        old = self._path()
        copied(old, self._path(1))
        self._journal.close()
        self._journal = None
        for each in self.folder.glob(old.name + "*"):
            each.unlink()

    def leave(self) -> None:
        """The simulation is over."""
        if self._journal is not None:
            self._journal.close()

    def keep(self, path: Path) -> None:
        """Copy the files as they are now."""
        copied(self._path(), path)

    def put_back(self, path: Path) -> None:
        """The next life begins with files that were kept."""
        copied(path, self._path(1))

    def _path(self, later: int = 0) -> Path:
        return self.folder / f"{self.lives + later}.journal"

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            raise Killed
        return self._journal

    # -- as a store --------------------------------------------------------------------------------------

    @property
    def instance(self) -> bytes:
        return self.journal.instance

    def commit(self, records: Sequence[tuple[str, bytes]]) -> int:
        if self.fuse is not None and records:
            self.fuse -= 1
            if self.fuse < 0:
                self.fuse = None
                last = self.journal.commit(records) if self.after else None
                if self.instead is None:
                    self.kill()
                    raise Killed
                self.instead()
                self.instead = None
                return self.journal.commit(records) if last is None else last
        return self.journal.commit(records)

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        return self.journal.records(after)

    def snapshot(self) -> tuple[int, bytes] | None:
        return self.journal.snapshot()

    def compact(self, through: int, content: bytes) -> None:
        self.journal.compact(through, content)

    def close(self) -> None:
        """The world does that."""


def copied(old: Path, new: Path) -> None:
    """Copy the files of a journal."""
    for name in ("", "-wal", "-head"):
        shutil.copyfile(f"{old}{name}", f"{new}{name}")


class Mind(Memory):
    """A journal that is none, where nobody is killed."""

    fuse: int | None = None
    instead = None

    def open(self) -> None:
        """Nothing is to be opened."""

    def kill(self) -> None:
        """Nothing is lost."""

    def leave(self) -> None:
        """Nothing is open."""


class Wire:
    """What brings the packets of an endpoint to the others, as far as a carrier asks it of a `Transport`.

    A commit takes its time, as in a thread: it is written at the beginning of that, or at its end.
    """

    fault: BaseException | None = None

    def __init__(self, node: Node, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._node = node
        self._batch: WriteBatch | None = None
        self._written = False

    @property
    def busy(self) -> bool:
        return self._batch is not None

    def flush(self) -> None:
        self.turn(wait=True)

    def flush_soon(self) -> None:
        self._later(0.0)

    def wait(self) -> None:
        self._finish()

    def close(self) -> None:
        """Nothing is open."""

    def turn(self, wait: bool = False) -> None:
        """Commit what has happened, and send what may leave; with `wait` both are done on return."""
        node, endpoint, world = self._node, self.endpoint, self._node.world
        if wait or self._written:
            self._finish()
        endpoint.poll(world.now)
        node.carrier.before_flush()
        if self._batch is None:
            batch = endpoint.cut()
            if batch.writes() and not wait and world.slow:
                if world.random.random() < 0.5:
                    batch.write(node.files)
                    batch.records, batch.snapshot = [], None
                self._batch = batch
                self._later(world.random.uniform(0.0, world.slow), self._write)
            else:
                batch.write(node.files)
                self._settle(batch)
        for address, packet in endpoint.leaving(world.now, WALL + world.now):
            world.transmit(node.place, address[0], packet)

    def _write(self) -> None:
        self._written = True

    def _finish(self) -> None:
        batch, self._batch, self._written = self._batch, None, False
        if batch is not None:
            batch.write(self._node.files)
            self._settle(batch)

    def _settle(self, batch: WriteBatch) -> None:
        self.endpoint.settle(batch, self._node.world.now)
        batch.settle(None)

    def _later(self, delay: float, action: Callable[[], None] = lambda: None) -> None:
        def still() -> None:
            if self._node.wire is self:
                self._node.world.step(self._node, action)

        self._node.world.at(delay, still)


class Node:
    """A device: files that last, and a replica that does not."""

    def __init__(self, world: World, name: str, at: int, place: str | None = None) -> None:
        self.world, self.name = world, name
        self.place = place or name
        self.address: Address = (self.place, at)
        self.files: Files | Mind = Files(world.folder / self.place) if world.folder else Mind()
        world.files.append(self.files)
        self.up = False
        self.incarnation = 1
        self.replica: Replica
        self.carrier: Carrier
        self.wire: Wire
        self.waking = NEVER
        self.inbox: list[tuple[bytes, Address]] = []

    def start(self) -> None:
        self.files.open()
        store = ReplicaStore(self.files)
        self.replica = Replica(store, self.name, incarnation=self.incarnation, largest=900)
        if self.replica.known_as != self.incarnation:
            self.replica.renew(self.incarnation)
        self.replica.on_deliver(self.deliver)
        self.carrier = Carrier(self.replica, store, self.world.random)
        world, gossip = self.world, self.carrier.gossip
        gossip.interval, gossip.fanout = world.interval, world.fanout
        endpoint = Endpoint(
            self.carrier.begin(), RING, world.random.randbytes, now=world.now, limits=world.limits
        )
        self.wire = Wire(self, endpoint)
        self.carrier.ride(cast("Transport", self.wire))
        self.up = True
        self.look()

    def look(self) -> None:
        """A step is done: see what it did."""
        self.world.looked(self)

    @property
    def endpoint(self) -> Endpoint:
        return self.wire.endpoint

    def deliver(self, sender: str, message: str, payload: bytes) -> None:
        process = f"{self.name}.{self.replica.known_as}"
        event, effect = f"d:{self.name}:{message}", f"effect at {self.name} of {message}"
        self.world.got.setdefault(event, set()).add(process)
        self.world.happens(self, event)
        if has_effect(message):
            self.world.happens(self, effect)
            self.replica.local(effect)
        self.world.react(self, payload)

    def fences(self) -> list[Fence]:
        return [*self.endpoint.durable.process.membership.fences]


def has_effect(message: str) -> bool:
    """Whether applications note that they got a message, in an event of their own."""
    return int(message.rpartition(".")[2]) % 16 == 0
