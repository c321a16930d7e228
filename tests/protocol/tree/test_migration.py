"""Actors that move through a tree: every interleaving of a move with a few messages keeps causal delivery."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Migration, Posted
from microcosm.protocol.tree_dynamic import ActorNode

PATH = {0: 0, 1: 0, 2: 1}
STAR = {0: 0, 1: 0, 2: 0, 3: 0}
X, Y, Z = 10, 11, 12
HOMES = {X: 0, Y: 1, Z: 2}

Script = list[tuple[int, int, int | None]]
"""Sender, receiver, and what the sender must have got before; each sender sends in this order."""

SCRIPTS: dict[str, Script] = {
    "two of one": [(Y, X, None), (Y, X, None)],
    "told by another": [(Y, X, None), (Y, Z, None), (Z, X, 1)],
    "told by one on the way": [(Z, X, None), (Z, Y, None), (Y, X, 1)],
    "what it sends itself": [(X, Z, None), (X, Y, None), (Y, Z, 1)],
    "asked and answered": [(Y, X, None), (X, Z, 0), (Z, X, 1)],
}


class World:
    """Nodes, FIFO links, and what an observer knows of each actor; copied by pickling."""

    def __init__(self, parents: dict[int, int], homes: dict[int, int]) -> None:
        self.nodes = {me: ActorNode(me, parents, homes) for me in parents}
        self.links: dict[tuple[int, int], list[object]] = {}
        self.past = dict.fromkeys(homes, 0)
        self.before: dict[int, int] = {}
        self.missing = dict.fromkeys(homes, 0)
        self.done: set[int] = set()
        self.moved = 0

    def home(self, actor: int) -> int | None:
        return next((me for me, node in self.nodes.items() if actor in node.states), None)

    def key(self) -> bytes:
        for node in self.nodes.values():
            node.operations = 0
        return pickle.dumps(self, 5)

    def collect(self, i: int) -> None:
        for output in self.nodes[i].take():
            if isinstance(output, Delivery):
                assert isinstance(output.packet, Posted)
                self.deliver(output.packet.to, output.payload)
            elif isinstance(output, Send):
                self.links.setdefault((i, output.to), []).append(output.packet)

    def deliver(self, actor: int, message: int) -> None:
        assert self.missing[actor] >> message & 1, "delivered twice, or to the wrong actor"
        self.missing[actor] &= ~(1 << message)
        assert not self.missing[actor] & self.before[message], "out of causal order"
        self.past[actor] |= self.before[message] | 1 << message

    def post(self, message: int, actor: int, to: int) -> None:
        home = self.home(actor)
        assert home is not None
        self.before[message] = self.past[actor]
        self.past[actor] |= 1 << message
        self.missing[to] |= 1 << message
        self.done.add(message)
        self.nodes[home].post(actor, to, message)
        self.collect(home)

    def receive(self, i: int, j: int) -> None:
        packet = self.links[i, j].pop(0)
        if not self.links[i, j]:
            del self.links[i, j]
        self.nodes[j].receive(i, packet)
        self.collect(j)

    def move(self, actor: int, goal: int) -> None:
        home = self.home(actor)
        assert home is not None
        self.moved += 1
        self.nodes[home].move(actor, goal)
        self.collect(home)

    def rests(self, actor: int) -> bool:
        home = self.home(actor)
        return home is not None and self.nodes[home].idle()


def moves(world: World, script: Script, route: list[int]) -> Iterator[tuple[str, int, int]]:
    """What can happen next: a send of the script, the next move of X, a packet."""
    for message, (actor, to, after) in enumerate(script):
        first = all(other in world.done for other in range(message) if script[other][0] == actor)
        ready = after is None or world.past[actor] >> after & 1
        if message not in world.done and first and ready and world.home(actor) is not None:
            yield "post", message, to
    if world.moved < len(route) and world.rests(X) and world.home(X) != route[world.moved]:
        yield "move", X, route[world.moved]
    for i, j in world.links:
        yield "receive", i, j


def explored(parents: dict[int, int], script: Script, route: list[int]) -> tuple[int, list[World]]:
    """Every interleaving: how many states, and the worlds in which nothing can happen any more."""
    start = World(parents, HOMES).key()
    seen, stack, ends = {start}, [start], []
    while stack:
        state = stack.pop()
        world: World = pickle.loads(state)
        possible = list(moves(world, script, route))
        if not possible:
            ends.append(world)
        for kind, a, b in possible:
            following: World = pickle.loads(state)
            if kind == "post":
                following.post(a, script[a][0], b)
            else:
                getattr(following, kind)(a, b)
            key = following.key()
            if key not in seen:
                seen.add(key)
                stack.append(key)
    return len(seen), ends


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    ("parents", "route"),
    [
        pytest.param(PATH, [1], id="path-one"),
        pytest.param(PATH, [2], id="path-two"),
        pytest.param(PATH, [1, 0], id="path-and-back"),
        pytest.param({0: 0, 1: 0, 2: 0, 3: 0}, [3], id="star-aside"),
    ],
)
def test_an_actor_moves(script: str, parents: dict[int, int], route: list[int]) -> None:
    """All messages are delivered, once, in causal order, wherever the actor is at each moment."""
    states, ends = explored(parents, SCRIPTS[script], route)
    assert states > 20
    for world in ends:
        assert world.done == set(range(len(SCRIPTS[script])))
        assert not any(world.missing.values())
        assert world.home(X) == route[-1]
        assert all(node.idle() and not node.unsent for node in world.nodes.values())


@pytest.mark.parametrize("seed", range(20))
def test_many_actors_move_at_once(seed: int) -> None:
    """Random trees, ten actors, each moving now and then while all send to all."""
    random = Random(seed)
    size = 6
    parents = {node: random.randrange(node) if node else 0 for node in range(size)}
    homes = {actor: random.randrange(size) for actor in range(10, 20)}
    world = World(parents, homes)
    sent = moved = 0
    while sent < 150 or world.links:
        actor = random.choice(list(homes))
        home = world.home(actor)
        if sent < 150 and home is not None and random.random() < 0.3:
            if random.random() < 0.3 and actor not in world.nodes[home]._arrived:
                goal = random.choice([node for node in range(size) if node != home])
                world.move(actor, goal)
                moved += 1
            else:
                world.post(sent, actor, random.choice(list(homes)))
                sent += 1
        elif world.links:
            world.receive(*random.choice(list(world.links)))
    assert moved > 5
    assert not any(world.missing.values())


def test_an_actor_takes_its_state_along() -> None:
    world = World(PATH, HOMES)
    world.nodes[0].states[X] = {"count": 3}
    world.move(X, 2)
    while world.links:
        world.receive(*next(iter(world.links)))
    assert world.nodes[2].states == {X: {"count": 3}, Z: None}


def test_only_the_nodes_on_the_way_are_told() -> None:
    """Node 3 of the star hears nothing of a move from 1 to 2: for it the actor is still behind 0."""
    world = World(STAR, {X: 1, Y: 3})
    world.move(X, 2)
    told = set()
    while world.links:
        link = next(iter(world.links))
        told.update(link)
        world.receive(*link)
    assert told == {0, 1, 2}


def test_what_cannot_be_asked() -> None:
    node = ActorNode(1, PATH, HOMES)
    forbidden = (
        lambda: node.move(X, 2),
        lambda: node.move(Y, 1),
        lambda: node.move(Y, 9),
        lambda: node.post(X, Y),
        lambda: node.post(Y, 99),
        lambda: node.causal_send([1], "x"),
    )
    for action in forbidden:
        with pytest.raises(ProtocolError):
            action()
    node.receive(0, Migration(0, X, 1))
    with pytest.raises(ProtocolError):
        node.move(X, 0)  # the way behind it is not empty yet


SMALL = st.integers(0, 13)
GARBAGE = st.one_of(
    st.builds(Posted, SMALL, SMALL, SMALL), st.builds(Migration, SMALL, SMALL, SMALL), st.binary(max_size=5)
)


@given(st.lists(st.tuples(st.integers(-1, 4), GARBAGE), max_size=20))
def test_receive_never_raises(packets: list[tuple[int, object]]) -> None:
    node = ActorNode(1, PATH, HOMES)
    for sender, packet in packets:
        node.receive(sender, packet)
        node.take()
        assert not set(node.states) & set(node._towards)
