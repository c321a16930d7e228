"""A tree that changes: every interleaving of a change and a few messages keeps causal delivery."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Routed, TreeChange, Welcome
from microcosm.protocol.tree_dynamic import DynamicTreeNode, heir, without

STAR = {0: 0, 1: 0, 2: 0, 3: 0}
PATH = {0: 0, 1: 0, 2: 1, 3: 2}
FORK = {0: 0, 1: 0, 2: 1, 3: 1}
TREES = {"star": STAR, "path": PATH, "fork": FORK}

CHAIN = [(1, 2, None), (1, 3, None), (3, 2, 1)]
"""The messages that can go wrong: a to 2, then b to 3, which answers with c to 2: c must not overtake a."""
CROSS = [(3, 1, None), (2, 1, None), (2, 3, None)]


SMALL = st.integers(0, 5)
GARBAGE = st.one_of(
    st.builds(TreeChange, SMALL, SMALL, SMALL),
    st.builds(Routed, SMALL, st.lists(SMALL, max_size=3).map(tuple), SMALL),
    st.builds(Welcome, st.lists(st.tuples(SMALL, SMALL), max_size=5).map(tuple)),
    st.binary(max_size=5),
)


class World:
    """Nodes, FIFO links and what an observer knows; copied by pickling."""

    def __init__(self, parents: dict[int, int]) -> None:
        self.nodes = {me: DynamicTreeNode(me, parents) for me in parents}
        self.links: dict[tuple[int, int], list[object]] = {}
        self.past = dict.fromkeys(range(6), 0)
        self.before: dict[int, int] = {}
        self.missing = dict.fromkeys(range(6), 0)
        self.got: dict[int, list[int]] = {me: [] for me in range(6)}
        self.sent = 0
        self.changed = False
        self.crashed: int | None = None
        self.told: set[int] = set()

    def key(self) -> bytes:
        for node in self.nodes.values():
            node.operations = 0
        return pickle.dumps(self, 5)

    def collect(self, i: int) -> None:
        for output in self.nodes[i].take():
            if isinstance(output, Delivery):
                self.deliver(i, output.payload)
            elif isinstance(output, Send) and output.to != self.crashed:
                self.links.setdefault((i, output.to), []).append(output.packet)

    def deliver(self, i: int, message: int) -> None:
        assert self.missing[i] >> message & 1, "delivered twice, or to the wrong node"
        self.missing[i] &= ~(1 << message)
        early = [other for other in self.got[i] if self.before[other] >> message & 1]
        assert not early, "out of causal order"
        if self.crashed is None:
            assert not self.missing[i] & self.before[message], "a predecessor is missing"
        self.got[i].append(message)
        self.past[i] |= self.before[message] | 1 << message

    def send(self, i: int, to: int) -> None:
        message = len(self.before)
        self.before[message] = self.past[i]
        self.past[i] |= 1 << message
        self.missing[to] |= 1 << message
        self.nodes[i].causal_send([to], message)
        self.collect(i)

    def receive(self, i: int, j: int) -> None:
        packet = self.links[i, j].pop(0)
        if not self.links[i, j]:
            del self.links[i, j]
        self.nodes[j].receive(i, packet)
        self.collect(j)

    def crash(self, node: int) -> None:
        self.crashed = node
        self.told = set(self.nodes[node].neighbours)
        for link in [link for link in self.links if link[1] == node]:
            del self.links[link]

    def notice(self, i: int) -> None:
        self.told.discard(i)
        assert self.crashed is not None
        self.nodes[i].lost(self.crashed)
        self.collect(i)


Script = list[tuple[int, int, int | None]]


def moves(world: World, script: Script, change: str, node: int) -> Iterator[tuple[str, int, int]]:
    """What can happen next: the next send of the script, the change, a packet, a failure being noticed."""
    if world.sent < len(script):
        i, to, after = script[world.sent]
        ready = after is None or world.past[i] >> after & 1
        if ready and to in world.nodes[i].parents and not world.nodes[i].gone:
            yield "send", i, to
    if not world.changed:
        yield change, node, node
    for i, j in world.links:
        if j != world.crashed:
            yield "receive", i, j
    for i in world.told:
        if (world.crashed, i) not in world.links:
            yield "notice", i, i


def do(world: World, move: tuple[str, int, int]) -> None:
    kind, i, j = move
    if kind == "send":
        world.sent += 1
        world.send(i, j)
    elif kind == "receive":
        world.receive(i, j)
    elif kind == "notice":
        world.notice(i)
    else:
        world.changed = True
        if kind == "crash":
            world.crash(i)
        elif kind == "retire":
            world.nodes[i].retire()
            world.collect(i)
        else:
            world.nodes[4] = DynamicTreeNode(4, {i: i, 4: i})
            world.nodes[i].admit(4)
            world.collect(i)


def explored(parents: dict[int, int], script: Script, change: str, node: int) -> list[World]:
    """Every interleaving; the worlds in which nothing can happen any more."""
    start = World(parents).key()
    seen, stack, ends = {start}, [start], []
    while stack:
        state = stack.pop()
        world: World = pickle.loads(state)
        possible = list(moves(world, script, change, node))
        if not possible:
            ends.append(world)
        for move in possible:
            following: World = pickle.loads(state)
            do(following, move)
            key = following.key()
            if key not in seen:
                seen.add(key)
                stack.append(key)
    return ends


def check_end(world: World, left: set[int]) -> None:
    """All nodes agree on the tree, and nothing is under way in them."""
    trees = [node.parents for i, node in world.nodes.items() if i not in left]
    assert all(tree == trees[0] for tree in trees)
    assert set(trees[0]) == set(world.nodes) - left
    assert all(node.idle() for i, node in world.nodes.items() if i not in left)


@pytest.mark.parametrize(
    ("tree", "script"),
    [
        *(pytest.param(tree, CHAIN, id=f"{tree}-chain") for tree in TREES),
        *(pytest.param(tree, CROSS, id=f"{tree}-cross") for tree in ("path", "fork")),
        pytest.param("star", CROSS, id="star-cross", marks=pytest.mark.slow),
    ],
)
def test_a_node_leaves(tree: str, script: Script) -> None:
    """Whoever leaves that takes no part: all messages of the others arrive, once, in causal order."""
    taking_part = {node for i, j, _ in script for node in (i, j)}
    for node in set(TREES[tree]) - taking_part:
        for world in explored(TREES[tree], script, "retire", node):
            assert world.sent == len(script)
            assert not any(world.missing.values())
            assert world.nodes[node].gone
            check_end(world, {node})


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("node", [0, 1])
def test_a_node_leaves_with_messages_to_it_on_the_way(tree: str, node: int) -> None:
    script: Script = [(2, node, None), (3, 2, None), (2, 3, None)]
    for world in explored(TREES[tree], script, "retire", node):
        assert not any(missing for i, missing in world.missing.items() if i != node)
        check_end(world, {node})


@pytest.mark.parametrize("tree", TREES)
def test_a_node_fails(tree: str) -> None:
    """What it had not passed on is lost; nothing comes twice, and no two messages in the wrong order."""
    complete = lost = 0
    for script in (CHAIN, CROSS):
        for world in explored(TREES[tree], script, "crash", 0):
            assert {i for i, missing in world.missing.items() if missing} <= {1, 2, 3}
            complete += not any(world.missing.values())
            lost += any(world.missing.values())
            check_end(world, {0})
    assert complete
    if tree == "star":
        assert lost


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("parent", [0, 2])
def test_a_node_joins(tree: str, parent: int) -> None:
    """Others send to it as soon as they have heard of it, and it sends to whomever it was told of."""
    script: Script = [(1, 3, None), (parent, 4, None), (4, 3, 1), (3, 4, 2)]
    for world in explored(TREES[tree], script, "join", parent):
        assert world.sent == len(script)
        assert not any(world.missing.values())
        check_end(world, set())


@given(st.lists(st.tuples(st.integers(-1, 5), GARBAGE), max_size=20))
def test_receive_never_raises(packets: list[tuple[int, object]]) -> None:
    node = DynamicTreeNode(1, PATH)
    for sender, packet in packets:
        node.receive(sender, packet)
        node.take()
        assert set(node.neighbours) <= set(node.parents)
        assert 1 in node.parents


def test_the_heir() -> None:
    assert without(1, PATH) == {0: 0, 2: 0, 3: 2}
    assert without(0, STAR) == {1: 1, 2: 1, 3: 1}
    assert heir(3, PATH) == 2


def test_what_cannot_be_asked() -> None:
    node = DynamicTreeNode(0, STAR)
    with pytest.raises(ProtocolError):
        node.admit(3)
    node.retire()
    for forbidden in (node.retire, lambda: node.admit(9), lambda: node.causal_send([1], "x")):
        with pytest.raises(ProtocolError):
            forbidden()


def test_a_node_alone_leaves_at_once() -> None:
    node = DynamicTreeNode(0, {0: 0})
    node.retire()
    assert node.gone
