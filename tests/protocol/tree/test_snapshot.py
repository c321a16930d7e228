"""Snapshots of a tree: in every interleaving a consistent cut, with exactly what was on the links."""

from __future__ import annotations

import pickle
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Marker, Routed
from microcosm.protocol.tree_static import SnapshotNode
from tests.protocol.tree.model import Configuration, Mail, Rec, Snd, consistent, well_formed_tree

PATH = (1, 1, 1)
DEEP = (0, 0, 1)
STAR = (0, 0, 0, 0)

Script = list[tuple[int, tuple[int, ...]]]


class World:
    """Nodes, FIFO links and the history of the model; `cut` is its length when each node recorded."""

    def __init__(self, tree: tuple[int, ...]) -> None:
        self.tree = tree
        self.nodes = [SnapshotNode(me, dict(enumerate(tree))) for me in range(len(tree))]
        self.links: dict[tuple[int, int], list[object]] = {}
        self.history: list[list[Snd | Rec]] = [[] for _ in tree]
        self.order: list[tuple[int, int]] = []
        """Node and number there of each event, as they happen."""
        self.sent = 0
        self.copies = 0

    def happens(self, node: int, event: Snd | Rec) -> None:
        self.order.append((node, len(self.history[node])))
        self.history[node].append(event)

    def collect(self, i: int) -> None:
        for output in self.nodes[i].take():
            if isinstance(output, Delivery):
                [mail] = [mail for mail in output.payload if mail.to == i]
                self.happens(i, Rec(mail))
            elif isinstance(output, Send):
                self.links.setdefault((i, output.to), []).append(output.packet)

    def send(self, i: int, to: tuple[int, ...]) -> None:
        """A message to several is several of the model's messages."""
        self.sent += 1
        mails = [Mail(self.copies + k, j) for k, j in enumerate(to)]
        self.copies += len(to)
        for mail in mails:
            self.happens(i, Snd(mail, i))
        self.nodes[i].causal_send(to, tuple(mails))
        self.collect(i)

    def begin(self, i: int) -> None:
        self.recording()
        self.nodes[i].snapshot()
        self.collect(i)

    def recording(self) -> None:
        """From now on a node that records says how many events it has had."""
        for me, node in enumerate(self.nodes):
            node.on_record = lambda me=me: len(self.history[me])  # type: ignore[misc]

    def receive(self, i: int, j: int) -> None:
        self.recording()
        packet = self.links[i, j].pop(0)
        if not self.links[i, j]:
            del self.links[i, j]
        self.nodes[j].receive(i, packet)
        self.collect(j)

    def key(self) -> bytes:
        for node in self.nodes:
            node.operations = 0
            node.on_record = None
        return pickle.dumps(self, 5)


def check_snapshot(world: World, key: tuple[int, int]) -> int:
    """The cut is a consistent configuration of the model; how many messages were on its links."""
    parts = [node.snapshots[key] for node in world.nodes]
    assert all(part.complete for part in parts)
    inside = [event for event in world.order if event[1] < parts[event[0]].state]
    history = [world.history[node][number] for node, number in inside]
    sent = {event.mail for event in history if isinstance(event, Snd)}
    received = {event.mail for event in history if isinstance(event, Rec)}
    assert received <= sent  # nothing comes out of nowhere
    edges = sorted({(a, b) for a, p in enumerate(world.tree) for a, b in ((a, p), (p, a)) if a != b})
    ins = []
    for a, b in edges:
        packets = parts[a].links[b]
        on_link = [mail for packet in packets for mail in packet.payload if mail.to in packet.to]
        ins.append(tuple(on_link))
    under_way = [mail for queue in ins for mail in queue]
    assert sorted(under_way) == sorted(sent - received)  # each once, on one link
    now = Configuration(tuple(history), tuple(ins), ((),) * len(edges))
    assert consistent(world.tree, now)  # Definition 3.8
    return len(under_way)


def explored(tree: tuple[int, ...], script: Script, initiators: list[int]) -> list[World]:
    """Every interleaving of the sends (each node's in order), the beginnings and the packets."""
    start = World(tree).key()
    seen, stack, ends = {start}, [start], []
    while stack:
        state = stack.pop()
        world: World = pickle.loads(state)
        possible: list[tuple[str, int, object]] = [("receive", i, j) for i, j in world.links]
        if world.sent < len(script):
            possible.append(("send", *script[world.sent]))
        possible += [("begin", i, None) for i in initiators if (i, 1) not in world.nodes[i].snapshots]
        if not possible:
            ends.append(world)
        for kind, i, rest in possible:
            following: World = pickle.loads(state)
            if kind == "begin":
                following.begin(i)
            else:
                getattr(following, kind)(i, rest)
            key = following.key()
            if key not in seen:
                seen.add(key)
                stack.append(key)
    return ends


@pytest.mark.parametrize(
    ("tree", "script", "initiators"),
    [
        pytest.param(PATH, [(0, (2,)), (2, (0,))], [1], id="path-from-the-middle"),
        pytest.param(DEEP, [(0, (2,)), (1, (0, 2))], [2], id="path-from-the-end"),
        pytest.param(DEEP, [(2, (0,))], [0, 2], id="two-at-once"),
        pytest.param(STAR, [(1, (2, 3))], [2], id="star-multicast"),
    ],
)
def test_every_cut_is_a_consistent_configuration(
    tree: tuple[int, ...], script: Script, initiators: list[int]
) -> None:
    under_way = 0
    ends = explored(tree, script, initiators)
    for world in ends:
        for i in initiators:
            under_way += check_snapshot(world, (i, 1))
        assert all(node.idle() for node in world.nodes)
    assert under_way  # some cut has messages on its links


@pytest.mark.parametrize("seed", range(15))
def test_snapshots_of_random_runs(seed: int) -> None:
    random = Random(seed)
    size = 7
    tree = tuple(random.randrange(node) if node else 0 for node in range(size))
    assert well_formed_tree(tree)
    world = World(tree)
    begun: list[int] = []
    while world.sent < 40 or world.links:
        if world.sent < 40 and random.random() < 0.3:
            i = random.randrange(size)
            world.send(i, tuple(random.sample([j for j in range(size) if j != i], random.choice((1, 1, 2)))))
            if world.sent in (10, 11, 30):
                begun.append(random.randrange(size))
                world.begin(begun[-1])
        elif world.links:
            world.receive(*random.choice(list(world.links)))
    for node in world.nodes:
        assert len(node.snapshots) == 3
    assert sum(check_snapshot(world, key) for key in world.nodes[0].snapshots) > 0


def test_a_node_alone_is_its_own_snapshot() -> None:
    node = SnapshotNode(0, {0: 0})
    node.on_record = lambda: "state"
    assert node.snapshot() == 1
    assert node.snapshots[0, 1].complete
    assert node.snapshots[0, 1].state == "state"


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 4),
            st.one_of(
                st.builds(Marker, st.integers(0, 4), st.integers(0, 3)),
                st.builds(Routed, st.integers(0, 4), st.tuples(st.integers(0, 4)), st.integers()),
            ),
        ),
        max_size=20,
    )
)
def test_receive_never_raises(packets: list[tuple[int, object]]) -> None:
    node = SnapshotNode(1, {0: 0, 1: 0, 2: 1})
    for sender, packet in packets:
        node.receive(sender, packet)
        node.take()
