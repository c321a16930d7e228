"""Endpoints on a virtual network with a virtual clock: everything follows from a seed.

Packets are lost, doubled, and take their time; links are cut and mended; processes stop at any commit, before
or after it, and start again from their stores. Applications write down what they sent and what was delivered
in the transactions of the endpoint; `causal.faults` judges these histories, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from microcosm.errors import Busy
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Address, Endpoint, Limits
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.process import DeliveredMessage
from microcosm.replica.store import Memory
from tests.replica.clockwork import NEVER, WALL, Clockwork
from tests.replica.invariants import check
from tests.replica.network.causal import History

RING = Keyring([Key(1, b"k" * 32)])


class Stopped(BaseException):
    """The process stops here; no `except Exception` keeps it."""


class Disk(Memory):
    """A store that stops its process at one of the next commits, before or after it."""

    fuse: int | None = None
    after = False
    commits = 0

    def commit(self, records: Sequence[tuple[str, bytes]]) -> int:
        self.commits += 1
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                self.fuse = None
                if self.after:
                    super().commit(records)
                raise Stopped
        return super().commit(records)


class Node:
    """A process: a disk that lasts, and an endpoint that does not."""

    def __init__(self, world: World, name: str, at: int) -> None:
        self.world, self.name = world, name
        self.address: Address = (name, at)
        self.incarnation = 1
        self.disk = Disk()
        self.endpoint: Endpoint | None = None
        self.starts = 0
        self.boots = 0
        self.waking = NEVER

    def start(self) -> None:
        snapshot = self.disk.snapshot()
        durable = Durable.opened(
            self.disk,
            self.name,
            self.incarnation,
            self.deliver,
            snapshot=snapshot[1] if snapshot else None,
        )
        self.endpoint = Endpoint(
            durable,
            self.world.ring,
            self.world.random.randbytes,
            now=self.world.now,
            limits=self.world.limits,
        )
        self.boots += 1

    def deliver(self, letter: DeliveredMessage) -> None:
        endpoint = self.endpoint
        assert endpoint is not None
        endpoint.durable.include("delivered", str(letter.id).encode())
        self.world.react(self, letter)

    def send(self, to: Iterable[str], payload: bytes) -> None:
        endpoint, to = self.endpoint, [*to]
        assert endpoint is not None
        try:
            endpoint.durable.send(
                to,
                payload,
                lambda message: endpoint.durable.include("sent", f"{message} {' '.join(to)}".encode()),
            )
        except Busy:
            self.world.busy += 1
        else:
            self.world.sent += 1

    def history(self) -> History:
        """What this incarnation durably did."""
        return History(
            f"{self.name}.{self.incarnation}",
            [
                (record.kind, record.payload.decode())
                for record in self.disk.records()
                if "network" not in record.kind
            ],
        )


class World(Clockwork):
    """Nodes that all know each other, and the network between them."""

    def __init__(
        self,
        names: str,
        seed: int,
        *,
        loss: float = 0.0,
        doubled: float = 0.0,
        delay: tuple[float, float] = (0.001, 0.05),
        reactions: float = 0.5,
        limits: Limits | None = None,
        ring: Keyring = RING,
        meet: bool = True,
    ) -> None:
        super().__init__(seed, loss, doubled, delay)
        self.reactions = reactions
        self.limits = limits or Limits()
        self.ring = ring
        self.sent = self.busy = self.stops = 0
        self.limit = 0
        self.thorough = 1
        """Invariants are asserted after every so many steps."""
        self._steps = 0
        self.nodes = {name: Node(self, name, at) for at, name in enumerate(names)}
        self.retired: list[Node] = []
        for node in self.nodes.values():
            node.start()
        if meet:
            for node in self.nodes.values():
                self.introduce(node)

    def introduce(self, node: Node) -> None:
        assert node.endpoint is not None
        for other in self.nodes.values():
            if other is not node:
                node.endpoint.add_member(other.name, other.address, self.now)
        self.step(node, lambda: None)

    def act(self, name: str, action: Callable[[Endpoint], object]) -> None:
        """Let a node do something, if it is up."""
        node = self.nodes[name]
        endpoint = node.endpoint
        if endpoint is not None:
            self.step(node, lambda: action(endpoint))

    def step(self, node: Node, action: Callable[[], object]) -> None:
        """Something happens at a node: it reacts, commits, sends; or stops."""
        endpoint = node.endpoint
        if endpoint is None:
            return
        try:
            action()
            for address, packet in endpoint.flush(self.now, WALL + self.now):
                self.transmit(node.name, address[0], packet)
        except Stopped:
            self.stop(node)
            return
        self._steps += 1
        if self._steps % self.thorough == 0:
            check(endpoint.durable.process)
        due = endpoint.next_time()
        if due < node.waking:
            node.waking = due
            self.at(max(0.0, due - self.now), lambda: self.wake(node, due))

    def wake(self, node: Node, due: float) -> None:
        if node.waking == due:
            node.waking = NEVER
        endpoint = node.endpoint
        if endpoint is not None:
            self.step(node, lambda: endpoint.poll(self.now))

    def stop(self, node: Node, downtime: float | None = None) -> None:
        self.stops += 1
        node.endpoint, node.waking = None, NEVER
        self.at(self.random.uniform(0.0, 1.0) if downtime is None else downtime, lambda: self.restart(node))

    def restart(self, node: Node) -> None:
        if node.endpoint is None and self.nodes.get(node.name) is node:
            try:
                node.start()
            except Stopped:
                self.stop(node)
            self.step(node, lambda: None)

    def arrive(self, to: str, packet: bytes, sender: str) -> None:
        node = self.nodes.get(to)
        endpoint = node.endpoint if node is not None else None
        if node is not None and endpoint is not None:
            self.step(node, lambda: endpoint.receive(packet, self.now, WALL + self.now))

    def react(self, node: Node, letter: DeliveredMessage) -> None:
        if self.sent < self.limit and self.random.random() < self.reactions:
            self.say(node)

    def say(self, node: Node) -> None:
        """A message from a node to some of those it knows."""
        assert node.endpoint is not None
        known = [member.name for member in node.endpoint.durable.process.members]
        if known and not node.endpoint.durable.process.evicted:
            size = self.random.choice((0, 10, 10, 10, 3000))
            to = self.random.sample(known, min(len(known), self.random.choice((1, 1, 2, 3))))
            if self.random.random() < 0.1:
                to.append(node.name)
            node.send(to, bytes(size))

    def mend(self) -> None:
        for node in self.nodes.values():
            node.disk.fuse = None

    def quiet(self) -> bool:
        return all(
            node.endpoint is not None and node.endpoint.durable.process.machine.idle()
            for node in self.nodes.values()
        )

    def histories(self) -> list[History]:
        return [node.history() for node in (*self.nodes.values(), *self.retired)]
