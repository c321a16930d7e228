"""Whole replicas on a virtual network with a virtual clock: everything follows from a seed.

Each has a journal of its own, the network's state in it, and the exchange of knowledge beside its messages;
only sockets and clocks are not real. Packets are lost, doubled, and take their time; links are cut and
mended; processes are killed before or after a commit, and go on from what their files hold. Applications
send, react to what is delivered, and note effects. `judge.judged` says what is wrong at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from microcosm.errors import Busy, ReplicaError
from microcosm.replica.ledger.dots import Stream
from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.gossip import FANOUT
from microcosm.replica.network.process import Fence
from tests.replica.clockwork import NEVER, WALL, Clockwork
from tests.replica.simulated_node import Files, Killed, Mind, Node

TURN = 0.01

"""What comes within so many seconds of a packet is taken in one go with it, as from a socket's buffer."""


class World(Clockwork):
    """Nodes that all know each other, and the network between them."""

    def __init__(
        self,
        folder: Path | None,
        names: Sequence[str],
        seed: int,
        *,
        loss: float = 0.0,
        doubled: float = 0.0,
        delay: tuple[float, float] = (0.001, 0.05),
        reactions: float = 0.5,
        interval: float = 1.0,
        fanout: int = FANOUT,
        slow: float = 0.0,
        limits: Limits | None = None,
    ) -> None:
        self.folder = folder
        """Where the journals are; without one they are in memory, and nobody may be killed."""
        super().__init__(seed, loss, doubled, delay)
        self.reactions, self.interval, self.fanout = reactions, interval, fanout
        self.slow = slow
        """Commits take up to so many seconds."""
        self.limits = limits or Limits()
        self.limit = 0
        self.sent = self.busy = self.kills = self.happened = 0
        self.to: dict[str, list[tuple[str, ...]]] = {}
        """The receivers of each message, each time that one was sent under that name; see `receivers`."""
        self.files: list[Files | Mind] = []
        """Of all nodes that there ever were."""
        self.nodes = {name: Node(self, name, at) for at, name in enumerate(names)}
        """By their places, which are their names, but for clones."""
        self.places = {name: node.address for name, node in self.nodes.items()}
        self.retired: list[Node] = []
        self.got: dict[str, set[str]] = {}
        """The processes in which each delivery happened."""
        self.when: dict[str, int] = {}
        """In which order events have happened, for the last time: what was not committed happens again."""
        self.again: set[str] = set()
        """Events that were said again, under other dots, for their dots might have named two things."""
        self.evicting: set[str] = set()
        """Who is being evicted, and neither gone nor back yet."""
        self.epochs: dict[Stream, str] = {}
        """The streams that there were, in that order, and of which process (NAME.INCARNATION) they are."""
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            self.introduce(node)

    def close(self) -> None:
        """Let go of all journals."""
        for files in self.files:
            files.leave()

    def introduce(self, node: Node) -> None:
        for other in self.nodes.values():
            if other.name != node.name:
                node.endpoint.add_member(other.name, other.address, self.now)
        self.step(node, lambda: None)

    def looked(self, node: Node) -> None:
        """A step of a node is done."""
        for stream in (*node.replica.ledger.chains, node.replica.stream):
            if stream[0] == node.name:
                self.epochs.setdefault(stream, f"{node.name}.{node.replica.known_as}")

    # -- what happens --------------------------------------------------------------------------------------

    def act(self, name: str, action: Callable[[Node], object]) -> None:
        """Let a node do something, if it is up."""
        node = self.nodes.get(name)
        if node is not None:
            self.step(node, lambda: action(node))

    def step(self, node: Node, action: Callable[[], object]) -> None:
        """Something happens at a node: it reacts, commits, sends; or is killed."""
        if not node.up:
            return
        try:
            action()
            node.wire.turn()
        except Killed:
            self.kill(node)
            return
        node.look()
        durable = node.endpoint.durable
        if durable.process.evicted or (node.wire.busy and durable.changing):
            return  # nothing can leave
        due = node.endpoint.next_time()
        if due < node.waking:
            node.waking = due
            self.at(max(0.0, due - self.now), lambda: self.wake(node, due))

    def wake(self, node: Node, due: float) -> None:
        if node.waking == due:
            node.waking = NEVER
            self.step(node, lambda: None)

    def kill(self, node: Node, downtime: float | None = None) -> None:
        self.kills += 1
        node.files.kill()
        node.files.fuse = node.files.instead = None
        node.up, node.waking, node.inbox = False, NEVER, []
        self.at(self.random.uniform(0.0, 1.0) if downtime is None else downtime, lambda: self.restart(node))

    def restart(self, node: Node) -> None:
        if not node.up and self.nodes.get(node.place) is node:
            try:
                node.start()
            except ReplicaError:  # it has heard that it is evicted: it comes back as somebody else
                node.files.kill()
            else:
                self.step(node, lambda: None)

    def arrive(self, to: str, packet: bytes, sender: str) -> None:
        node, source = self.nodes.get(to), self.places[sender]
        if node is not None and node.up:
            node.inbox.append((packet, source))
            if len(node.inbox) == 1:
                self.at(TURN, lambda: self.step(node, lambda: self.take(node)))

    def take(self, node: Node) -> None:
        packets, node.inbox = node.inbox, []
        for packet, source in packets:
            node.endpoint.receive(packet, self.now, WALL + self.now, source)

    # -- applications --------------------------------------------------------------------------------------

    def react(self, node: Node, payload: bytes) -> None:
        if self.sent < self.limit and self.random.random() < self.reactions:
            self.say(node)

    def say(self, node: Node) -> None:
        """A message from a node to some of those it knows."""
        known = [member.name for member in node.endpoint.durable.process.members]
        if known and not node.endpoint.durable.process.evicted:
            size = 3000 if self.random.random() < 0.02 else 10
            to = self.random.sample(known, min(len(known), self.random.choice((1, 1, 1, 1, 1, 1, 2, 3))))
            self.send(node, tuple(to), bytes(size))

    def send(self, node: Node, to: tuple[str, ...], payload: bytes) -> None:
        message = str(node.replica._next())
        named = node.endpoint.durable.process.membership.named
        bound = {name: named[name].incarnation for name in to}
        self.to.setdefault(message, []).append(
            tuple(f"{name}.{bound[name]}" if bound[name] else name for name in to)
        )
        self.happens(node, f"c:{message}")
        try:
            assert node.replica.send(to, payload) == message
        except Busy:
            self.busy += 1
        else:
            self.sent += 1

    def receivers(self, message: str) -> tuple[str, ...]:
        """Those of a message as it stands in the journal of its sender: what was not committed is no more."""
        return self.to[message][-1]

    def happens(self, node: Node, event: str) -> None:
        """An event happens, which may be undone before anybody knows of it."""
        self.happened += 1
        self.when[event] = self.happened

    def known(self, chains: Mapping[Stream, Sequence[str]]) -> None:
        """What is asked from now on is of these chains."""

    def moment(self, event: str, device: str) -> int:
        """When an event of a device happened, as its journal is now."""
        return self.when.get(event, 0)

    def line_to(self, event: str) -> list[str]:
        """An event, and those before it in the copy of its journal in which it happened; none where that is
        not known."""
        return []

    def elsewhere(self, event: str) -> bool:
        """Whether an event happened in another copy of its journal only."""
        return False

    # -- the end -------------------------------------------------------------------------------------------

    def mend(self) -> None:
        for node in self.nodes.values():
            node.files.fuse = None

    def quiet(self) -> bool:
        nodes = self.nodes.values()
        if not all(node.up and node.endpoint.durable.process.machine.idle() for node in nodes):
            return False
        if any(node.replica._state.unproved for node in nodes):
            return False  # its author will say what it is
        first, *others = nodes
        if any(other.replica.seen() != first.replica.seen() for other in others):
            return False
        digest = first.replica.digest()
        return all(other.replica.digest() == digest for other in others)

    # -- troubles ------------------------------------------------------------------------------------------

    def trouble(self, seconds: float, kills: int, partitions: int) -> None:
        """So many of each, at random moments of the next seconds."""
        for _ in range(kills):
            name = self.random.choice([*self.nodes])
            self.at(self.random.uniform(0, seconds), lambda name=name: self.act(name, self.arm))  # type: ignore[misc]
        self.partitions(partitions, seconds, seconds / 10, self.nodes)

    def arm(self, node: Node) -> None:
        """Kill it at one of its next commits."""
        node.files.instead = None
        node.files.fuse, node.files.after = self.random.randrange(4), self.random.random() < 0.5

    def evict(self, name: str, then: Callable[[], None]) -> None:
        """Somebody who has met it evicts it; `then`, when all others keep the fence that are no evicted ones.

        For nobody speaks to these any more, and they need not hear of anything.
        """
        fence = Fence(name, self.nodes[name].incarnation)
        self.evicting.add(name)

        def once() -> None:
            going_on = [node for node in self.nodes.values() if node.name not in self.evicting]
            others = [node for node in going_on if node.up]
            if not any(fence in node.fences() for node in others):
                for node in others:
                    member = node.endpoint.durable.process.membership.named.get(name)
                    if member is not None and member.remembered == fence.incarnation:
                        self.act(node.place, lambda node: node.endpoint.evict(name, self.now))
                        break
            elif others == going_on and all(fence in node.fences() for node in others):
                self.evicting.discard(name)
                then()
                return
            self.at(0.2, once)

        once()

    def retire(self, name: str) -> None:
        """The device never comes back; what goes to it goes nowhere."""
        node = self.nodes.pop(name)
        node.files.kill()
        node.up = False
        self.retired.append(node)

    def rejoin(self, name: str) -> None:
        """An evicted device comes back as somebody else, with all that it knew."""
        node = self.nodes[name]
        node.incarnation += 1
        self.kill(node, 0.1)
        for other in self.nodes.values():
            self.meet(other, node)

    def meet(self, one: Node, other: Node) -> None:
        """Add a member, however long that takes."""

        def once() -> None:
            self.act(one.name, lambda _: one.endpoint.add_member(other.name, other.address, self.now))
            if not one.up or other.name not in one.endpoint.durable.process.membership.named:
                self.at(0.2, once)

        if one is not other:
            once()
