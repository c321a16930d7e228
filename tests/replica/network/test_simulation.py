"""Several endpoints on a bad virtual network: causal delivery, exactly once, whatever stops when."""

from __future__ import annotations

from itertools import count

import pytest

from microcosm.replica.network.process import Fence
from tests.replica.network.causal import History, faults
from tests.replica.network.pair import Pair
from tests.replica.network.virtual import Node, World


def busy(world: World, messages: int, seconds: float) -> None:
    """About so many messages in so many seconds, half of them reactions to deliveries."""
    world.limit = messages
    names = [*world.nodes]
    for _ in range(messages // 2):
        name = world.random.choice(names)
        world.at(
            world.random.uniform(0, seconds),
            lambda name=name: world.act(name, lambda _: world.say(world.nodes[name])),  # type: ignore[misc]
        )


def restarts(world: World, count: int, seconds: float) -> None:
    """Let processes stop before or after one of their next commits."""

    def arm(node: Node) -> None:
        node.disk.fuse, node.disk.after = world.random.randrange(4), world.random.random() < 0.5

    for _ in range(count):
        node = world.nodes[world.random.choice([*world.nodes])]
        world.at(world.random.uniform(0, seconds), lambda node=node: arm(node))  # type: ignore[misc]


def partitions(world: World, count: int, seconds: float) -> None:
    """Cut the network in two now and then, for a while."""
    world.partitions(count, seconds, seconds / 5, world.nodes)


def evict(world: World, name: str) -> None:
    """Somebody who has met it evicts it, and somebody else if that one stopped before it was durable."""

    def once() -> None:
        others = [node for node in world.nodes.values() if node.name != name and node.endpoint is not None]
        if any(fence.name == name for node in others for fence in fences(node)):
            return
        for node in others:
            assert node.endpoint is not None
            member = node.endpoint.durable.process.membership.named.get(name)
            if member is not None and member.incarnation is not None:
                world.act(node.name, lambda endpoint: endpoint.evict(name, world.now))
                break
        world.at(0.2, once)

    once()


def fences(node: Node) -> list[Fence]:
    assert node.endpoint is not None
    return [*node.endpoint.durable.process.membership.fences]


def retire(world: World, name: str) -> None:
    """The process never comes back; what goes to it goes nowhere."""
    node = world.nodes.pop(name)
    node.endpoint = None
    world.retired.append(node)


def one_is_evicted(world: World) -> None:
    """Of four: while it still speaks, and only some can hear it. All the others end well."""
    busy(world, 100, 3.0)
    restarts(world, 3, 3.0)
    some = frozenset(world.random.choice(("ab", "bc", "abc", "")))
    world.at(1.0, lambda: world.cut.update(frozenset((x, "d")) for x in some))
    world.at(world.random.uniform(1.5, 2.5), lambda: evict(world, "d"))
    world.at(4.0, world.cut.clear)
    world.go(5.0)
    for node in world.nodes.values():
        node.disk.fuse = None
    world.go(8.0)
    retire(world, "d")
    world.calm()
    assert world.quiet()
    assert faults(world.histories(), {"d.1"}) == []


@pytest.mark.parametrize("seed", range(6))
def test_loss_restarts_and_partitions(seed: int) -> None:
    world = World("abcd", seed, loss=0.25, doubled=0.15)
    busy(world, 120, 4.0)
    restarts(world, 8, 4.0)
    partitions(world, 3, 4.0)
    world.go(4.0)
    world.calm()
    assert world.quiet()
    assert world.sent >= 100
    assert faults(world.histories()) == []


@pytest.mark.parametrize("seed", range(6))
def test_one_is_evicted_while_it_still_speaks(seed: int) -> None:
    world = World("abcd", seed, loss=0.2, doubled=0.1)
    one_is_evicted(world)
    assert [fences(node) for node in world.nodes.values()] == [[Fence("d", 1)]] * 3


def scripted(stop: int | None = None, after: bool = False, at: str = "b") -> World:
    """A short conversation in which every kind of commit happens; `at` stops at its commit number `stop`."""
    world = World("abc", 7, loss=0.1, reactions=0.0)
    node = world.nodes[at]
    if stop is not None:
        node.disk.fuse, node.disk.after = stop, after
    script = [("a", "bc"), ("b", "c"), ("b", "ab"), ("c", "ab"), ("a", "b"), ("b", "ac"), ("c", "b")]
    for k, (name, to) in enumerate(script):
        world.at(
            0.3 + 0.07 * k,
            lambda name=name, to=to: world.act(name, lambda _: world.nodes[name].send(to, b"x")),  # type: ignore[misc]
        )
    world.go(2.0)
    world.calm()
    return world


def test_a_stop_at_every_commit() -> None:
    for stop in count():
        stopped = [scripted(stop, after) for after in (False, True)]
        for world in stopped:
            assert world.quiet()
            assert faults(world.histories()) == []
        if not any(world.stops for world in stopped):
            break
    assert stop > 5


def test_the_evicted_comes_back_as_somebody_else() -> None:
    world = World("abc", 3)
    busy(world, 40, 1.0)
    world.go(2.0)
    world.calm()
    evict(world, "c")
    world.go(world.now + 3.0)
    world.calm()
    node = world.nodes["c"]
    assert node.endpoint is not None
    old = node.history()
    durable = node.endpoint.durable.renewed(2)
    assert durable.process.incarnation == 2
    node.incarnation = 2
    world.stop(node, 0.1)
    for name in "ab":
        world.act(name, lambda endpoint: endpoint.add_member("c", node.address, world.now))
    world.go(world.now + 3.0)
    before = len(node.history().steps)
    earlier = {text.split(" ")[0] for n in world.nodes.values() for _, text in n.history().steps}
    for name in "abcabc":
        world.act(name, lambda _, name=name: world.nodes[name].send(set("abc") - {name}, b"again"))  # type: ignore[misc]
    world.go(world.now + 1.0)
    world.calm()
    steps = node.history().steps
    assert steps[: len(old.steps)] == old.steps
    new = History("c.2", steps[before:])
    found = faults([*(n.history() for n in world.nodes.values() if n is not node), old, new], {"c.1"})
    assert [fault for fault in found if fault.split(" ")[0] not in earlier] == []
    assert sum(kind == "delivered" for kind, _ in new.steps) == 4


def test_a_snapshot_stands_for_the_log() -> None:
    world = World("abc", 9, loss=0.2)
    busy(world, 60, 2.0)
    for k in range(8):
        for name in "abc":
            world.at(0.25 * k, lambda name=name: world.act(name, lambda e: compacted(world.nodes[name])))  # type: ignore[misc]
    restarts(world, 6, 2.0)
    world.go(3.0)
    world.calm()
    assert world.quiet()
    for node in world.nodes.values():
        assert node.endpoint is not None
        compacted(node)
        state = node.endpoint.durable.process.state()
        node.endpoint = None
        node.start()
        again = node.endpoint
        assert again is not None
        assert again.durable.process.state()[:3] == state[:3]
        assert again.durable.process.state()[4:-1] == state[4:-1]
        assert again.durable.process.state()[-1][:-1] == state[-1]  # but for this very start


def compacted(node: Node) -> None:
    """Replace what the store holds by a snapshot; the history goes, so this test does not judge it."""
    assert node.endpoint is not None
    durable = node.endpoint.durable
    durable.hasten()
    durable._sends += durable.flush()
    node.disk.compact(node.disk.commit([]), durable.state())


@pytest.mark.slow
def test_a_long_run() -> None:
    """Hundreds of messages, 20 restarts, 10 partitions, an eviction."""
    world = World("abcde", 1, loss=0.2, doubled=0.1)
    world.thorough = 100
    busy(world, 800, 40.0)
    restarts(world, 20, 40.0)
    partitions(world, 10, 40.0)
    world.at(20.0, lambda: evict(world, "e"))
    world.go(40.0)
    for node in world.nodes.values():
        node.disk.fuse = None
    world.go(43.0)
    retire(world, "e")
    world.calm()
    assert world.quiet()
    assert world.sent >= 600
    assert world.stops >= 15
    assert faults(world.histories(), {"e.1"}) == []


def test_the_judge_sees_what_is_wrong() -> None:
    """Hand-made histories: each of them is refused, for its own reason."""
    a = History("a.1", [("sent", "a.1.1 c"), ("sent", "a.1.2 b")])
    b = History("b.1", [("delivered", "a.1.2"), ("sent", "b.1.1 c")])
    good = History("c.1", [("delivered", "a.1.1"), ("delivered", "b.1.1")])
    assert faults([a, b, good]) == []
    wrong = {
        "before a.1.1": History("c.1", good.steps[::-1]),
        "2 times": History("c.1", [*good.steps, good.steps[0]]),
        "never delivered": History("c.1", good.steps[:1]),
        "never sent": History("c.1", [*good.steps, ("delivered", "x.1.1")]),
        "not for it": History("c.1", [*good.steps, ("delivered", "a.1.2")]),
    }
    for reason, history in wrong.items():
        assert reason in " ".join(faults([a, b, history])), reason


def test_permits_that_were_lost_with_an_earlier_start_come_at_once() -> None:
    """Many messages to b lack their permits, all of them lost; a starts again, and b asks for the oldest."""
    three = Pair()
    three.settle()

    def settled(rounds: int, cut: set[tuple[str, str]]) -> None:
        for _ in range(rounds):
            three.now += 0.3
            for name, end in three.ends.items():
                end.poll(three.now)
                for to, packet in three.out(name):
                    if (name, to) not in cut:
                        three.into(to, packet)

    for _ in range(40):
        three.ends["a"].durable.send(["c"], b"x")
        three.ends["a"].durable.send(["b"], b"y")
    missing = three.ends["b"].durable.process.machine.missing
    settled(12, {("a", "c"), ("c", "a")})
    assert len([*missing()]) == 40
    settled(30, {("a", "b")})
    assert three.ends["a"].durable.process.machine.unacked == 0
    three.out("a")
    three.ends["a"] = three.open("a", 1)
    three.settle()
    assert not [*missing()]
