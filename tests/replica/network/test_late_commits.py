"""Commits that take their time, while everything else goes on: what they are of must not be seen before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microcosm.replica.network.endpoint import Endpoint
from microcosm.replica.network.write_ahead import WriteBatch
from tests.replica.invariants import check
from tests.replica.network.causal import faults
from tests.replica.network.test_simulation import busy, fences, one_is_evicted, partitions, restarts
from tests.replica.network.virtual import WALL, Node, Stopped, World


class Late(World):
    """Each commit is durable some time after it was begun; a process may stop in between, and forgets it."""

    overlapping = 0

    def __init__(self, names: str, seed: int, **options: float) -> None:
        self.writing: dict[str, Endpoint] = {}
        super().__init__(names, seed, **options)  # type: ignore[arg-type]

    def step(self, node: Node, action: Callable[[], object]) -> None:
        endpoint = node.endpoint
        if endpoint is None:
            return
        action()
        now, wall = self.now, WALL + self.now
        if self.writing.get(node.name) is endpoint:
            self.overlapping += 1
        else:
            batch = endpoint.cut()
            if batch.writes():
                self.writing[node.name] = endpoint
                self.at(self.random.uniform(0.0, 0.08), lambda: self.written(node, endpoint, batch))
            else:
                endpoint.settle(batch, now)
        for address, packet in endpoint.leaving(now, wall):
            self.transmit(node.name, address[0], packet)
        check(endpoint.durable.process)
        if self.writing.get(node.name) is endpoint and endpoint.durable.changing:
            return  # nothing may leave before that is written
        due = max(endpoint.next_time(), now)
        if due < node.waking:
            node.waking = due
            self.at(due - now, lambda: self.wake(node, due))

    def written(self, node: Node, endpoint: Endpoint, batch: WriteBatch) -> None:
        if node.endpoint is not endpoint:
            return
        try:
            batch.write(node.disk)
        except Stopped:
            self.stop(node)
            return
        del self.writing[node.name]
        endpoint.settle(batch, self.now)
        batch.settle(None)
        self.step(node, lambda: None)


@pytest.mark.parametrize("seed", range(3))
def test_loss_restarts_and_partitions(seed: int) -> None:
    world = Late("abcd", seed, loss=0.25, doubled=0.15)
    busy(world, 120, 4.0)
    restarts(world, 8, 4.0)
    for _ in range(3):  # in the midst of whatever goes on
        node = world.nodes[world.random.choice("abcd")]
        world.at(world.random.uniform(0.0, 4.0), lambda node=node: world.stop(node))  # type: ignore[misc]
    partitions(world, 3, 4.0)
    world.go(4.0)
    world.calm()
    assert world.quiet()
    assert world.sent >= 60
    assert world.overlapping > 100
    # a message whose sender stopped before it was durable was never sent
    assert faults(world.histories()) == []


@pytest.mark.parametrize("seed", [2, 5])
def test_one_is_evicted_while_it_still_speaks(seed: int) -> None:
    world = Late("abcd", seed, loss=0.2, doubled=0.1)
    one_is_evicted(world)
    assert [len(fences(node)) for node in world.nodes.values()] == [1] * 3


def test_nobody_hears_of_a_fence_that_is_being_written() -> None:
    """Else a process that stops then would have forgotten what others were told that it keeps."""
    world = World("abc", 2)
    world.go(2.0)
    a, b = world.nodes["a"].endpoint, world.nodes["b"].endpoint
    assert a is not None
    assert b is not None
    a.evict("c", world.now)
    for address, packet in a.flush(world.now, WALL):
        if address[0] == "b":
            b.receive(packet, world.now, WALL)
    assert fences(world.nodes["b"]) == fences(world.nodes["a"]) != []
    b.durable.send(["a"], b"after the fence")
    batch = b.cut()
    assert batch.writes()
    for later in (0.0, 0.5, 1.0):
        b.poll(world.now + later)
        assert b.leaving(world.now + later, WALL) == []
    batch.write(world.nodes["b"].disk)
    b.settle(batch, world.now + 1.0)
    for _, packet in b.leaving(world.now + 1.0, WALL):
        a.receive(packet, world.now + 1.0, WALL)
    assert a.status(world.now)["members"]["b"]["unconfirmed fences"] == []


def test_what_is_said_of_knowledge_waits_for_it_too() -> None:
    world = World("ab", 3)
    world.go(2.0)
    a, b = world.nodes["a"].endpoint, world.nodes["b"].endpoint
    assert a is not None
    assert b is not None
    b.durable.include("knowledge", b"new")
    assert b.say("a", b"I know something new")
    batch = b.cut()

    def bring() -> list[tuple[str, bytes]]:
        for _, packet in b.leaving(world.now, WALL):
            a.receive(packet, world.now, WALL)
        return a.exchanged

    assert bring() == []
    batch.write(world.nodes["b"].disk)
    b.settle(batch, world.now)
    assert bring() == [("b", b"I know something new")]


def test_whoever_waits_for_a_commit_is_told_after_it() -> None:
    """Told once it is durable, in the order of asking; or that it never will be."""
    world = Late("ab", 1)
    world.go(1.0)
    node = world.nodes["a"]
    endpoint = node.endpoint
    assert endpoint is not None
    told: list[tuple[str, int, BaseException | None]] = []

    def ask(name: str) -> None:
        endpoint.durable.when_durable(lambda error: told.append((name, node.disk.commits, error)))

    ask("at once")
    before = node.disk.commits
    assert told == [("at once", before, None)]
    world.step(node, lambda: node.send("b", b"first"))
    ask("first")
    world.step(node, lambda: node.send("b", b"second"))
    ask("second")
    assert len(told) == 1
    world.go(2.0)
    assert told[1:] == [("first", before + 1, None), ("second", before + 2, None)]
    node.send("b", b"third")
    ask("third")
    fault = OSError("no disk")
    endpoint.durable.give_up(fault)
    assert told[3:] == [("third", node.disk.commits, fault)]
