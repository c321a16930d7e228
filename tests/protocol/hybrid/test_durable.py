"""The machine for processes that stop and are given up: its state, what changes it, and how it forgets."""

from __future__ import annotations

from random import Random

import msgpack
import pytest

from microcosm.protocol.hybrid.durable import HybridDurable
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit


class Net:
    """Machines under random sends, half of them reactions; any packet may be next, be lost, or come twice."""

    def __init__(self, seed: int, size: int = 4, messages: int = 40) -> None:
        self.random = Random(seed)
        self.machines = [HybridDurable(i, set(range(size))) for i in range(size)]
        self.transit: list[tuple[int, int, Packet]] = []
        self.left = messages
        self.forgotten = 0

    def flush(self, i: int) -> None:
        for output in self.machines[i].take():
            if isinstance(output, Send):
                if output.to in known(self.machines[i]):
                    self.transit.append((i, output.to, output.packet))
            elif isinstance(output, Delivery) and self.random.random() < 0.6:
                self.send(i)

    def send(self, i: int) -> None:
        others = sorted(known(self.machines[i]) - {i})
        if self.left and others:
            self.left -= 1
            to = self.random.sample(others, min(len(others), self.random.choice((1, 1, 2, 3))))
            self.machines[i].causal_send(to, b"m%d" % self.left)
            self.flush(i)

    def forget(self, i: int) -> None:
        others = sorted(known(self.machines[i]) - {i})
        if len(others) > 1:
            gone = self.random.choice(others)
            known(self.machines[i]).discard(gone)
            self.machines[i].forget(gone)
            self.forgotten += 1
            self.flush(i)

    def step(self, forgetting: float) -> int:
        """Something happens to a process: which."""
        i, chance = self.random.randrange(len(self.machines)), self.random.random()
        if chance < 0.15:
            self.send(i)
        elif chance < 0.17:
            self.machines[i].tick()
            self.flush(i)
        elif chance < 0.17 + forgetting:
            self.forget(i)
        elif self.transit:
            sender, i, packet = self.transit.pop(self.random.randrange(len(self.transit)))
            if self.random.random() < 0.1:
                self.transit.append((sender, i, packet))
            before = self.machines[i].state()
            changes = sender in known(self.machines[i]) and self.machines[i].changes(sender, packet)
            self.machines[i].receive(sender, packet)
            assert (self.machines[i].state() != before) == changes
            self.flush(i)
        return i


def known(machine: HybridDurable) -> set[int]:
    assert isinstance(machine.known, set)
    return machine.known


@pytest.mark.parametrize("seed", range(12))
def test_a_state_taken_out_and_put_back_is_the_same(seed: int) -> None:
    """At any moment, through MessagePack: the run goes on with the restored machine."""
    net = Net(seed)
    for _ in range(250):
        i = net.step(forgetting=0.0)
        machine = net.machines[i]
        state = machine.state()
        read = msgpack.unpackb(msgpack.packb(state), use_list=False)
        again = net.machines[i] = HybridDurable.restored(i, read, machine.known)
        again._check()
        assert again.state() == state


@pytest.mark.parametrize("seed", [*range(20), 88])
def test_invariants_hold_when_processes_are_forgotten(seed: int) -> None:
    net = Net(seed)
    for _ in range(400):
        machine = net.machines[net.step(forgetting=0.02)]
        machine._check()
        gone = set(range(4)) - known(machine)
        assert not any(sender in gone for sender, _ in machine.missing())
        assert not any(list(machine.repeat(j)) for j in gone)
    assert net.forgotten


def test_what_waits_for_the_forgotten_waits_no_longer() -> None:
    a = HybridDurable(1, {1, 2, 3})
    a.receive(2, HybridMessage(5, 0, True, b"m"))
    a.causal_send([3], b"waits for the permit of 2")
    a.causal_send([2], b"to 2")
    assert a.unsent == 1
    assert list(a.waiting()) == [(1, 3, (2, 5))]
    a.take()
    a.forget(2)
    assert [output.packet.payload for output in a.take() if isinstance(output, Send)] == [
        b"waits for the permit of 2"
    ]
    a.receive(3, Ack(1))
    assert a.idle()


def test_a_forgotten_addressee_counts_as_one_that_has_delivered() -> None:
    a = HybridDurable(1, {1, 2, 3})
    a.causal_send([2], b"never acknowledged")
    a.causal_send([3], b"flagged")
    a.receive(3, Ack(2))
    a.take()
    a.forget(2)
    assert a.take() == [Send(3, Permit(2))]
    assert a.idle()


def test_a_copy_to_the_forgotten_that_still_waited_may_go_last() -> None:
    """It is taken out of the buffer only when an earlier copy is, and the index of waiting copies goes with
    it.
    """
    a = HybridDurable(1, {1, 2, 3, 4, 5})
    a.causal_send([4], b"earlier")
    a.receive(2, HybridMessage(5, 0, True, b""))
    a.receive(3, HybridMessage(7, 0, True, b""))
    a.causal_send([5], b"waits for both permits")
    a.forget(5)
    a._check()
    a.receive(4, Ack(1))
    a._check()
    assert a.unacked == 0


@pytest.mark.parametrize(
    "state", [(), (1, 2), None, (8, (), (), (), (), (1, 0, 3), (), (0, ()), (0, 0, 0, 0))]
)
def test_what_is_no_state_is_refused(state: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        HybridDurable.restored(1, state)  # type: ignore[arg-type]
