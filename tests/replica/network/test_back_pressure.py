"""Deliveries that send: nobody waits for ever for somebody who waits for him, and buffers stay bounded."""

from __future__ import annotations

import pytest

from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.process import DeliveredMessage
from tests.replica.network.causal import faults
from tests.replica.network.virtual import Node, World

NEVER = float("inf")
FEW = 4
FULL = FEW * 3
"""Three processes: each is full at so many copies."""


class Cascade(World):
    """The first byte of a message says how many generations it has; each delivery sends `fan` to others."""

    peak = 0
    fan = 3

    def react(self, node: Node, letter: DeliveredMessage) -> None:
        depth = letter.payload[0]
        if depth:
            others = [name for name in self.nodes if name != node.name]
            for _ in range(self.fan):
                node.send([self.random.choice(others)], bytes([depth - 1]))
        assert node.endpoint is not None
        self.peak = max(self.peak, node.endpoint.durable.process.machine.unacked)

    def begin(self, depth: int, each: int) -> None:
        for name in self.nodes:
            for k in range(each):
                to = [other for other in self.nodes if other != name][k % 2]
                self.act(name, lambda _, name=name, to=to: self.nodes[name].send([to], bytes([depth])))  # type: ignore[misc]

    def refused(self) -> int:
        return sum(
            n.endpoint.durable.refused_for_space for n in self.nodes.values() if n.endpoint is not None
        )


def cascade(seed: int, stall: float, loss: float = 0.0) -> Cascade:
    limits = Limits(most_copies=FEW, stall=stall, least_wait=0.05, longest_wait=0.5)
    world = Cascade("abc", seed, loss=loss, limits=limits)
    world.thorough = 50
    world.go(1.0)
    return world


def test_without_relief_they_refuse_each_other_for_ever() -> None:
    """What the relief is for: this is no imagined danger."""
    world = cascade(1, NEVER)
    world.begin(3, 2)
    world.calm(20.0)
    assert not world.quiet()
    assert world.refused() > 0
    before = sum(len(history.steps) for history in world.histories())
    world.calm(20.0)
    assert sum(len(history.steps) for history in world.histories()) == before


@pytest.mark.parametrize("seed", range(3))
def test_three_for_each_come_to_an_end(seed: int) -> None:
    world = cascade(seed, 0.1, loss=0.1)
    world.begin(3, 2)
    world.calm()
    assert world.quiet()
    assert world.sent == 6 * (1 + 3 + 9 + 27)
    assert world.refused() > 0
    assert faults(world.histories()) == []


@pytest.mark.parametrize("seed", range(3))
def test_one_for_each_holds_no_more_than_was_begun(seed: int) -> None:
    world = cascade(seed, 0.1, loss=0.1)
    world.fan = 1
    world.begin(40, FEW)
    world.calm()
    assert world.quiet()
    assert world.sent == 3 * FEW * 41
    assert world.peak <= 2 * FULL
    assert faults(world.histories()) == []


def test_two_for_each_without_end_fill_buffers_slowly() -> None:
    """Nothing can be delivered for ever then; but what is held grows by a message's causes in each while."""
    world = cascade(1, 0.5)
    world.fan = 2
    world.begin(255, 2)
    world.go(world.now + 10.0)
    early = world.peak
    world.go(world.now + 20.0)
    assert early > FULL / 2
    assert world.peak - early <= 3 * 2 * 20.0 / 0.5
