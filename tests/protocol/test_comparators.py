"""The algorithms that Hybrid Buffering compares with, and the monitor of Hoogerwoord's note."""

from __future__ import annotations

from random import Random

import pytest

from microcosm.errors import ProtocolError
from microcosm.protocol import machine
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.comparators import KS, RST, Cykas, Newtop
from microcosm.protocol.hybrid.dependencies import HybridDependencies
from microcosm.protocol.machine import UNSOUND, Delivery, Machine, Send
from microcosm.protocol.monitoring import Monitored
from microcosm.protocol.packets import (
    Ack,
    Dependent,
    LamportClocked,
    Logged,
    MatrixStamped,
    Packet,
    Vectored,
    YouCanTell,
)
from microcosm.protocol.tree_static import TreeNode, complete_tree, hops
from tests.protocol.random_net import RandomNet


def lockstep(machines: dict[str, list[Machine]], seed: int, messages: int, size: int) -> None:
    """Give several protocols the same sends and the same network; all must deliver the same at each step."""
    random = Random(seed)
    transit: dict[str, list[tuple[int, int, Packet]]] = {name: [] for name in machines}
    for step in range(4 * messages):
        if step < messages and random.random() < 0.5:
            i = random.randrange(size)
            to = random.sample([j for j in range(size) if j != i], random.choice((1, 1, 2)))
            for group in machines.values():
                group[i].causal_send(to, step)
        elif any(transit.values()):
            at = random.randrange(len(transit["rst"]))
            for name, group in machines.items():
                i, j, packet = transit[name].pop(at)
                group[j].receive(i, packet)
        outputs = {name: [machine.take() for machine in group] for name, group in machines.items()}
        delivered = {
            name: [[o.payload for o in out if isinstance(o, Delivery)] for out in taken]
            for name, taken in outputs.items()
        }
        assert all(found == delivered["rst"] for found in delivered.values())
        for name, taken in outputs.items():
            for i, out in enumerate(taken):
                transit[name] += [(i, o.to, o.packet) for o in out if isinstance(o, Send)]


NONE = (0, 0, 0)


@pytest.mark.parametrize(
    ("b", "packet"),
    [
        (RST(1, 3), MatrixStamped((NONE, (0, 0, 1), NONE), (1,))),
        (Monitored(1, 3, range(3)), Vectored((NONE, NONE, (0, 1, 0)), (1,))),
        (KS(1, 3), Logged(1, (1,), ((1, 1, (2,)),))),
        (HybridDependencies(1), Dependent(1, 0, True, None, ((1, 2, 1),))),
        (HybridDependencies(1), Dependent(1, 0, True, None, ((0, 2, 1),))),
    ],
    ids=lambda each: type(each).__name__,
)
def test_nobody_waits_for_what_a_process_knows_that_there_is_not(b: Machine, packet: Packet) -> None:
    """It was taken, and named to others, who waited for it and for all that was sent after it."""
    b.receive(0, packet)
    assert (b.take(), dict(b.refused), b.idle()) == ([], {UNSOUND: 1}, True)
    b.causal_send([2], "on")
    assert len(b.take()) == 1


def test_who_fills_what_is_held_keeps_out_nothing_that_is_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "WINDOW", 4)
    a, b = RST(0, 3), RST(1, 3)
    for number in range(1, 9):
        b.receive(2, MatrixStamped((NONE, NONE, (0, number, 0)), (1,)))
    a.causal_send([1], "in its order")
    [sent] = a.take()
    assert isinstance(sent, Send)
    b.receive(0, sent.packet)
    assert [output.payload for output in b.take() if isinstance(output, Delivery)] == ["in its order"]


@pytest.mark.parametrize("seed", range(10))
def test_with_every_process_a_monitor_it_is_rst(seed: int) -> None:
    """Hoogerwoord's note and RST, vector for vector."""
    size = 4
    rst = [RST(me, size) for me in range(size)]
    monitors = [Monitored(me, size, range(size)) for me in range(size)]
    lockstep({"rst": list(rst), "monitor": list(monitors)}, seed, 60, size)
    for one, other in zip(rst, monitors, strict=True):
        assert one.vectors == other.vectors


@pytest.mark.parametrize(
    "packet",
    [
        MatrixStamped(((0,) * 3,) * 3, (1, 9)),
        Logged(1, (1, 9), ()),
        Logged(1, (1,), ((0, 1, (9,)),)),
        Logged(1, (1,), ((9, 1, ()),)),
        Vectored(((0,) * 3,), (1, 9)),
        Logged(1, (2,), ()),
    ],
)
def test_what_is_for_nobody_is_refused(packet: Packet) -> None:
    """KS took what was for others that do not exist, and told everybody of them, who then refused it all."""
    name = {MatrixStamped: "rst", Logged: "ks", Vectored: "monitor"}[type(packet)]
    a, b, c = PROTOCOLS[name].make(3)
    b.receive(0, packet)
    assert (b.take(), dict(b.refused)) == ([], {UNSOUND: 1})
    b.causal_send([2], "after")
    [sent] = b.take()
    assert isinstance(sent, Send)
    c.receive(1, sent.packet)
    assert not c.refused
    assert a.idle()


@pytest.mark.parametrize("seed", range(10))
def test_ks_delivers_as_early_as_rst(seed: int) -> None:
    """Latency-optimal, both: in lockstep on any network, at no step does one deliver what the other holds."""
    lockstep({name: PROTOCOLS[name].make(4) for name in ("rst", "ks")}, seed, 60, 4)


def test_the_invariant_of_the_monitor() -> None:
    """f = k at the monitor: what it has received is closed under precedence (Hoogerwoord's note, P0)."""
    for seed in range(10):
        net = RandomNet(PROTOCOLS["monitor"], 4, seed)
        got = [0] * 4
        monitor = net.machines[0]
        assert isinstance(monitor, Monitored)
        wrapped = monitor.on_deliver
        assert wrapped is not None

        def counting(delivery: Delivery, got: list[int] = got, wrapped=wrapped, monitor=monitor) -> None:  # type: ignore[no-untyped-def]
            got[delivery.sender] += 1
            if delivery.packet is not None:
                assert monitor.vectors == (tuple(got),)
            wrapped(delivery)

        monitor.on_deliver = counting
        net.run(ticks=False)


def test_metadata() -> None:
    """RST n² integers; KS between n and n² as a rule, never more than its log can be; Newtop and MF one."""
    size = 6
    for name, most in (("rst", size**2), ("ks", 3 * size + size**2), ("newtop", 1), ("mf", 1), ("cykas", 1)):
        net = RandomNet(PROTOCOLS[name], size, 1, messages=200, fifo=True)
        net.run(ticks=PROTOCOLS[name].machine.NEEDS_TICKS)
        assert max(packet.integers for packet in net.packets) <= most


def test_the_log_of_ks_forgets() -> None:
    net = RandomNet(PROTOCOLS["ks"], 4, 2, messages=300, fifo=True).run(ticks=False)
    lengths = [len(packet.log) for packet in net.packets if isinstance(packet, Logged)]
    assert max(lengths[200:]) <= 12
    for packet in net.packets:
        if isinstance(packet, Logged):
            newest = {s: clock for s, clock, _ in packet.log}
            assert all(left or newest[s] == clock for s, clock, left in packet.log)


def test_newtop_is_silent_without_nulls() -> None:
    """Table 1, liveness "no": one idle process holds up all others until it breaks its silence."""
    machines = [Newtop(me, 3) for me in range(3)]
    machines[0].causal_send([1], "x")
    for output in machines[0].take():
        assert isinstance(output, Send)
        machines[output.to].receive(0, output.packet)
    assert not any(isinstance(o, Delivery) for o in machines[1].take())
    machines[2].tick()
    for output in machines[2].take():
        assert isinstance(output, Send)
        machines[output.to].receive(2, output.packet)
    assert [o.payload for o in machines[1].take() if isinstance(o, Delivery)] == ["x"]
    machines[2].receive(0, LamportClocked(1, 0, "again"))
    assert machines[2].refused.total() == 1


def test_cykas_tells_only_after_the_ack_of_the_secret_itself() -> None:
    """As described it is unsafe on a reordering network: the permission could overtake the message."""
    a = Cykas(1)
    a.causal_send([3], "far")
    a.causal_send([2], "secret")
    a.take()
    a.receive(3, Ack(1))
    assert not a.take()
    a.receive(2, Ack(2))
    assert a.take() == [Send(2, YouCanTell())]


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps", "mf", "cykas"])
def test_unicast_is_unicast(name: str) -> None:
    with pytest.raises(ProtocolError, match="one receiver"):
        PROTOCOLS[name].make(3)[0].causal_send([1, 2], "x")


def test_a_tree_that_is_none() -> None:
    for parents in ({0: 1, 1: 0}, {0: 0, 1: 1}, {0: 0, 1: 7}, {}):
        with pytest.raises(ProtocolError):
            TreeNode(0, parents)
    assert hops(1, complete_tree(7, 2)) == {0: 0, 2: 0, 3: 3, 4: 4, 5: 0, 6: 0}


def test_a_tree_carries_no_metadata() -> None:
    net = RandomNet(PROTOCOLS["tree"], 7, 3, fifo=True).run(ticks=False)
    assert {packet.integers for packet in net.packets} == {0}
