"""What a replica learns from its messages alone, before any exchange: no more than happened, and no less than
its protocol discloses.

The omniscient observer reads the chains of all replicas; what the protocol discloses is told by
`microcosm.protocol.disclosure`, from the deliveries in their order.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from microcosm.givens.relation import Correspondence, Relation
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.hybrid.durable import HybridDurable
from microcosm.protocol.machine import Delivery
from microcosm.protocol.packets import HybridMessage
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.clockwork import NEVER
from tests.replica.judge import happened_before, is_before
from tests.replica.simulated import World


def talked(folder: Path, seed: int) -> World:
    """Three replicas that exchange messages, and no knowledge beside them."""
    world = World(folder, "abc", seed, loss=0.2, doubled=0.1, interval=1e6, fanout=0)
    world.limit = 60
    for _ in range(40):
        name = world.random.choice("abc")
        world.at(world.random.uniform(0, 2.0), lambda name=name: world.act(name, world.say))  # type: ignore[misc]
        at = world.random.uniform(0, 2.0)
        world.at(at, lambda at=at: world.act("a", lambda node: node.replica.local(f"look at {at}")))  # type: ignore[misc]
    world.trouble(2.0, 3, 1)
    world.go(2.0)
    world.cut.clear()
    for node in world.nodes.values():
        node.files.fuse = None
    while not all(node.up and node.endpoint.durable.process.machine.idle() for node in world.nodes.values()):
        world.go(world.now + 1.0)
        assert world.now < NEVER
    return world


@pytest.mark.parametrize("seed", range(4))
def test_no_more_than_happened_and_no_less_than_is_disclosed(tmp_path: Path, seed: int) -> None:
    with closing(talked(tmp_path, seed)) as world:
        check(world)


def check(world: World) -> None:
    own = {node.replica.stream: node.replica.chains()[node.replica.stream] for node in world.nodes.values()}
    true = happened_before(own)
    for node in world.nodes.values():
        replica = node.replica
        known = replica.events
        for left in known:
            for right in known:
                if left != right and replica.online(left, right) is Relation.BEFORE:
                    assert is_before(true, left, right), f"{node.name}: {left} < {right}"
        told = disclosed(node.name, own[replica.stream])
        assert len(told) > sum(event.startswith(("c:", "d:")) for event in own[replica.stream])
        for fact in told:
            assert replica.online(fact.left, fact.right) is fact.relation
        others = {stream: events for stream, events in replica.chains().items() if stream != replica.stream}
        for stream, events in others.items():
            assert events == [event for event in own[stream] if event in set(events)]
            assert all(event.startswith("c:") for event in events)


def disclosed(name: str, events: list[str]) -> list[Correspondence]:
    """What the protocol says that this process may conclude in the application's world."""
    learnt = Disclosure(HybridDurable(0), name)
    for number, event in enumerate(events, 1):
        kind, _, rest = event.partition(":")
        if kind == "c":
            learnt.causally_sent(rest, number)
        elif kind == "d":
            message = rest.partition(":")[2]
            packet = HybridMessage(number, number - 1, False, b"")
            learnt.delivered(Delivery(ord(message[0]), b"", packet), message)
    return learnt.application


def test_a_sending_that_came_with_its_message_is_the_evolution_that_an_exchange_brings() -> None:
    sender, receiver = Replica(Memory(), "a", incarnation=1), Replica(Memory(), "b", incarnation=1)
    for n in range(3):
        sender.local(f"e{n}", at=float(n))
    sent = sender.held(sender._happen("c:a.1.4", 7.5, admitted=True))
    receiver.delivered("a", "a.1.4", b"", sent=sent)  # type: ignore[arg-type]
    assert receiver.chains() == {("a", 1): ["c:a.1.4"], ("b", 1): ["d:b:a.1.4"]}
    assert sent is not None
    assert receiver.held(sent.dot) == sent
    receiver.take(sender.held_of(sender.seen()))
    assert receiver.chains()["a", 1] == ["e0", "e1", "e2", "c:a.1.4"]
    assert receiver.online("e0", "d:b:a.1.4") is Relation.BEFORE
    assert receiver.seen() == sender.seen() | receiver.seen()


def test_what_came_between_leaves_nothing_behind_when_it_is_forgotten() -> None:
    """Links of a chain that were stated while events between were missing are no correspondences."""
    sender = Replica(Memory(), "a", incarnation=1)
    receiver = Replica(Memory(), "b", incarnation=1, forgetting=Forgetting(window=4))
    evolutions = [sender.held(sender.local(f"e{n}")) for n in range(40)]
    for some in (evolutions[::4], evolutions[2::4], evolutions[1::2]):
        receiver.take([each for each in some if each is not None])
        assert receiver.online("e0", "e36") is Relation.BEFORE
    assert receiver.tidy() == 36
    assert receiver.counts()["correspondences"] == 0
    assert receiver.events == ["e36", "e37", "e38", "e39"]
