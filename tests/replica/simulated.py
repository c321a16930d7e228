"""Whole replicas on a virtual network with a virtual clock: everything follows from a seed.

Each has a journal of its own, the network's state in it, and the exchange of knowledge beside its messages;
only sockets and clocks are not real. Packets are lost, doubled, and take their time; links are cut and
mended; processes are killed before or after a commit, and go on from what their files hold. Applications
send, react to what is delivered, and note effects. `judged` says what is wrong at the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from pathlib import Path
from random import Random

from microcosm.errors import Busy
from microcosm.logic.judgement import Judgement
from microcosm.relations.relation import Relation
from microcosm.replica.dots import Stream
from microcosm.replica.journal import Journal
from microcosm.replica.network.batch import Batch
from microcosm.replica.network.carrier import Carrier
from microcosm.replica.network.endpoint import Address, Endpoint
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.limits import Limits
from microcosm.replica.network.membership import Fence
from microcosm.replica.network.shared import ReplicaStore
from microcosm.replica.opening import APPLICATION
from microcosm.replica.replica import Replica
from microcosm.replica.store import Record
from tests.replica.network.causal import History, faults

RING = Keyring([Key(1, b"k" * 32)])
WALL = 1_000_000.0
NEVER = float("inf")

TURN = 0.01
"""What comes within so many seconds of a packet is taken in one go with it, as from a socket's buffer."""


class Killed(BaseException):
    """The process ends here; no `except Exception` keeps it."""


class Files:
    """A journal whose process is killed at one of the next commits, before or after it.

    What a killed process leaves is what the system has of its files at that moment: they are copied, so that
    nothing that happens to be done afterwards, closing for one, gets into them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lives = 0
        self.fuse: int | None = None
        self.after = False
        self._journal: Journal | None = None

    def open(self) -> None:
        self.lives += 1
        self._journal = Journal.open(self._path(), application=APPLICATION, create=self.lives == 1)

    def kill(self) -> None:
        """The next life begins with the files as they are now."""
        if self._journal is None:
            return
        old = self._path()
        for name in ("", "-wal", "-head"):
            shutil.copyfile(f"{old}{name}", f"{self._path(1)}{name}")
        self._journal.close()
        self._journal = None
        for each in self.folder.glob(old.name + "*"):
            each.unlink()

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
                if self.after:
                    self.journal.commit(records)
                self.kill()
                raise Killed
        return self.journal.commit(records)

    def records(self, after: int = 0) -> Iterator[Record]:
        return self.journal.records(after)

    def snapshot(self) -> tuple[int, bytes] | None:
        return self.journal.snapshot()

    def compact(self, through: int, content: bytes) -> None:
        self.journal.compact(through, content)

    def close(self) -> None:
        """The world does that."""


class Wire:
    """What brings the packets of an endpoint to the others: the `Carriage` of a node.

    A commit takes its time, as in a thread: it is written at the beginning of that, or at its end.
    """

    fault: BaseException | None = None

    def __init__(self, node: Node, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._node = node
        self._batch: Batch | None = None
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
        node.carrier.before_flush()
        endpoint.poll(world.now)
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
            world.transmit(node.name, address[0], packet)

    def _write(self) -> None:
        self._written = True

    def _finish(self) -> None:
        batch, self._batch, self._written = self._batch, None, False
        if batch is not None:
            batch.write(self._node.files)
            self._settle(batch)

    def _settle(self, batch: Batch) -> None:
        self.endpoint.settle(batch, self._node.world.now)
        batch.tell(None)

    def _later(self, delay: float, action: Callable[[], None] = lambda: None) -> None:
        def still() -> None:
            if self._node.wire is self:
                self._node.world.step(self._node, action)

        self._node.world.at(delay, still)


class Node:
    """A device: files that last, and a replica that does not."""

    def __init__(self, world: World, name: str, at: int) -> None:
        self.world, self.name = world, name
        self.address: Address = (name, at)
        self.files = Files(world.folder / name)
        self.files.folder.mkdir(parents=True)
        self.up = False
        self.incarnation = 1
        self.replica: Replica
        self.carrier: Carrier
        self.wire: Wire
        self.waking = NEVER
        self.inbox: list[bytes] = []

    def start(self) -> None:
        self.files.open()
        store = ReplicaStore(self.files)
        self.replica = Replica(store, self.name, incarnation=self.incarnation, largest=900)
        if self.replica.stream[1] != self.incarnation:
            self.replica.renew(self.incarnation)
        self.replica.on_deliver(self.deliver)
        self.carrier = Carrier(self.replica, store)
        world = self.world
        endpoint = Endpoint(
            self.carrier.begin(), RING, world.random.randbytes, now=world.now, limits=world.limits
        )
        self.wire = Wire(self, endpoint)
        self.carrier.ride(self.wire)
        self.up = True

    @property
    def endpoint(self) -> Endpoint:
        return self.wire.endpoint

    def deliver(self, sender: str, message: str, payload: bytes) -> None:
        if has_effect(message):
            self.replica.local(f"effect at {self.name} of {message}")
        self.world.react(self, payload)

    def fences(self) -> list[Fence]:
        return [*self.endpoint.durable.process.membership.fences]


def has_effect(message: str) -> bool:
    """Whether applications note that they got a message, in an event of their own."""
    return int(message.rpartition(".")[2]) % 16 == 0


class World:
    """Nodes that all know each other, and the network between them."""

    def __init__(
        self,
        folder: Path,
        names: str,
        seed: int,
        *,
        loss: float = 0.0,
        doubled: float = 0.0,
        delay: tuple[float, float] = (0.001, 0.05),
        reactions: float = 0.5,
        interval: float = 1.0,
        slow: float = 0.0,
        limits: Limits | None = None,
    ) -> None:
        self.folder = folder
        self.random = Random(seed)
        self.loss, self.doubled, self.delay = loss, doubled, delay
        self.reactions, self.interval = reactions, interval
        self.slow = slow
        """Commits take up to so many seconds."""
        self.limits = limits or Limits()
        self.now = 0.0
        self.limit = 0
        self.sent = self.busy = self.kills = self.packets = 0
        self.to: dict[str, tuple[str, ...]] = {}
        """The receivers of each message, as it was sent last under that name."""
        self.cut: set[frozenset[str]] = set()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.nodes = {name: Node(self, name, at) for at, name in enumerate(names)}
        self.retired: list[Node] = []
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            self.introduce(node)
            self.exchange(node)

    def introduce(self, node: Node) -> None:
        for other in self.nodes.values():
            if other is not node:
                node.endpoint.add_member(other.name, other.address, self.now)
        self.step(node, lambda: None)

    # -- what happens --------------------------------------------------------------------------------------

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._queue, (self.now + delay, self._count, action))

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

    def exchange(self, node: Node) -> None:
        """Every now and then: with one of the members."""

        def ask() -> None:
            members = [member.name for member in node.endpoint.durable.process.members]
            if members:
                node.carrier.ask(self.random.choice(members))

        if self.nodes.get(node.name) is node:
            self.step(node, ask)
            self.at(self.interval * self.random.uniform(0.5, 1.5), lambda: self.exchange(node))

    def kill(self, node: Node, downtime: float | None = None) -> None:
        self.kills += 1
        node.files.kill()
        node.files.fuse = None
        node.up, node.waking, node.inbox = False, NEVER, []
        self.at(self.random.uniform(0.0, 1.0) if downtime is None else downtime, lambda: self.restart(node))

    def restart(self, node: Node) -> None:
        if not node.up and self.nodes.get(node.name) is node:
            node.start()
            self.step(node, lambda: None)

    def transmit(self, sender: str, to: str, packet: bytes) -> None:
        self.packets += 1
        if frozenset((sender, to)) in self.cut:
            return
        copies = (self.random.random() >= self.loss) + (self.random.random() < self.doubled)
        for _ in range(copies):
            self.at(self.random.uniform(*self.delay), lambda: self.arrive(to, packet))

    def arrive(self, to: str, packet: bytes) -> None:
        node = self.nodes.get(to)
        if node is not None and node.up:
            node.inbox.append(packet)
            if len(node.inbox) == 1:
                self.at(TURN, lambda: self.step(node, lambda: self.take(node)))

    def take(self, node: Node) -> None:
        packets, node.inbox = node.inbox, []
        for packet in packets:
            node.endpoint.receive(packet, self.now, WALL + self.now)

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
        self.to[message] = tuple(
            f"{name}.{named[name].incarnation or self.nodes[name].incarnation}" for name in to
        )
        try:
            assert node.replica.send(to, payload) == message
        except Busy:
            self.busy += 1
        else:
            self.sent += 1

    # -- time ----------------------------------------------------------------------------------------------

    def go(self, until: float) -> None:
        """Run to a moment."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = max(self.now, until)

    def calm(self, patience: float = 600.0) -> None:
        """Mend everything, and run until nothing is missing anywhere."""
        self.cut.clear()
        for node in self.nodes.values():
            node.files.fuse = None
        end = self.now + patience
        while self.now < end and not self.quiet():
            self.go(self.now + 1.0)

    def quiet(self) -> bool:
        nodes = self.nodes.values()
        if not all(node.up and node.endpoint.durable.process.machine.idle() for node in nodes):
            return False
        first, *others = (node.replica.seen() for node in nodes)
        return all(other == first for other in others)

    # -- troubles ------------------------------------------------------------------------------------------

    def trouble(self, seconds: float, kills: int, partitions: int) -> None:
        """So many of each, at random moments of the next seconds."""
        for _ in range(kills):
            name = self.random.choice([*self.nodes])
            self.at(self.random.uniform(0, seconds), lambda name=name: self.act(name, self.arm))  # type: ignore[misc]
        for _ in range(partitions):
            here = {name for name in self.nodes if self.random.random() < 0.5}
            cut = {frozenset((a, b)) for a in here for b in self.nodes if b not in here}
            begin = self.random.uniform(0, seconds)
            end = begin + self.random.uniform(0, seconds / 10)
            self.at(begin, lambda cut=cut: self.cut.update(cut))  # type: ignore[misc]
            self.at(end, lambda cut=cut: self.cut.difference_update(cut))  # type: ignore[misc]

    def arm(self, node: Node) -> None:
        """Kill it at one of its next commits."""
        node.files.fuse, node.files.after = self.random.randrange(4), self.random.random() < 0.5

    def evict(self, name: str, then: Callable[[], None]) -> None:
        """Somebody who has met it evicts it; `then`, when all others keep the fence."""
        fence = Fence(name, self.nodes[name].incarnation)

        def once() -> None:
            others = [node for node in self.nodes.values() if node.name != name and node.up]
            if not any(fence in node.fences() for node in others):
                for node in others:
                    member = node.endpoint.durable.process.membership.named.get(name)
                    if member is not None and member.incarnation == fence.incarnation:
                        self.act(node.name, lambda node: node.endpoint.evict(name, self.now))
                        break
            elif len(others) == len(self.nodes) - 1 and all(fence in node.fences() for node in others):
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


# -- the judge -----------------------------------------------------------------------------------------------


def judged(world: World, excused: Collection[str] = ()) -> list[str]:
    """What is wrong when all is quiet. `excused`: incarnations (name.number) that were evicted."""
    first, *others = (node.replica for node in world.nodes.values())
    digest = first.digest()
    wrong = [
        f"{other.name} knows other things than {first.name}" for other in others if other.digest() != digest
    ]
    chains = first.chains()
    for node in world.nodes.values():
        own = node.replica.chains()
        wrong += [
            f"{node.name} and {first.name} differ on {stream}"
            for stream in own
            if own[stream] != chains[stream]
        ]
    for node in world.retired:
        node.files.open()
        replica = Replica(node.files)
        own, known = replica.chains()[replica.stream], chains.get(replica.stream, [])
        if [event for event in own if event in set(known)] != known:
            wrong.append(f"{first.name} knows what never happened at {node.name}")
        chains[replica.stream] = own
    histories = []
    for (name, incarnation), events in chains.items():
        steps = []
        for at, event in enumerate(events):
            kind, _, rest = event.partition(":")
            if kind == "c":
                steps.append(("sent", f"{rest} {' '.join(world.to[rest])}"))
            elif kind == "d":
                message = rest.partition(":")[2]
                steps.append(("delivered", message))
                effect = f"effect at {name} of {message}"
                if has_effect(message) != (events[at + 1 : at + 2] == [effect]):
                    wrong.append(f"{effect} is not where it should be")
        histories.append(History(f"{name}.{incarnation}", steps))
    return wrong + faults(histories, excused) + misjudged(first, chains, Random(digest))


def misjudged(replica: Replica, chains: Mapping[Stream, Sequence[str]], random: Random) -> list[str]:
    """What a replica gets wrong of what happened before what; some hundred pairs of events are asked.

    It may not know all that happened at a device that is gone for good.
    """
    true, told = happened_before(chains), happened_before(replica.chains())
    events = [event for event in replica.events if event in told]
    found = []
    for _ in range(300):
        a, b = random.sample(events, 2)
        for left, right in ((a, b), (b, a)):
            said = replica.known.holds(Judgement.INITIAL, left, Relation.BEFORE, right)
            if said and not is_before(true, left, right):
                found.append(f"{left} < {right} is said, and not so")
            if not said and is_before(told, left, right):
                found.append(f"{left} < {right} is so, and not known")
    return found


Clock = dict[Stream, int]


def happened_before(chains: Mapping[Stream, Sequence[str]]) -> dict[str, tuple[Stream, Clock]]:
    """The process and vector time of each event, from the chains and the names of deliveries alone."""
    clocks: dict[str, tuple[Stream, Clock]] = {}
    events_of_all = {event for events in chains.values() for event in events}
    at = dict.fromkeys(chains, 0)
    while any(at[stream] < len(chains[stream]) for stream in chains):
        for stream, events in chains.items():
            while at[stream] < len(events):
                event = events[at[stream]]
                clock = dict(clocks[events[at[stream] - 1]][1]) if at[stream] else {}
                if event.startswith("d:"):
                    sending = f"c:{event.split(':', 2)[2]}"
                    if sending in events_of_all and sending not in clocks:
                        break
                    for other, number in clocks[sending][1].items() if sending in clocks else ():
                        clock[other] = max(clock.get(other, 0), number)
                at[stream] += 1
                clock[stream] = at[stream]
                clocks[event] = (stream, clock)
    return clocks


def is_before(clocks: Mapping[str, tuple[Stream, Clock]], a: str, b: str) -> bool:
    stream, clock = clocks[a]
    return clocks[b][1].get(stream, 0) >= clock[stream]
