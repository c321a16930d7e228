"""Sections 4.2 and 5.5 of Hybrid Buffering by name.

FIFO and permission imply causal; what is buffered leaves the buffer.
"""

from __future__ import annotations

import pickle
from itertools import count
from random import Random
from typing import Any

import pytest

from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.hybrid.common import Hybrid
from microcosm.protocol.machine import Delivery, Machine, Send
from microcosm.protocol.packets import Ack, HybridMessage, Packet
from microcosm.simulation.explore import Explorer
from microcosm.simulation.explore_state import ExploreFault, ExploreScope, ExploreState, ExploreStep, Machines
from microcosm.simulation.run import (
    CAUSAL_SEND,
    DELIVER,
    SEND,
    Event,
    check,
)
from tests.protocol.random_net import RandomNet
from tests.simulation.send_check import SendCheck, Strategy, sent_too_early

HYBRIDS = [name for name, one in PROTOCOLS.items() if issubclass(one.machine, Hybrid)]
every = pytest.mark.parametrize("name", HYBRIDS)


class Numbered(Machines):
    """Tells which machines hold something that they have yet to get rid of."""

    def idle(self, machine: int) -> bool:
        found: Machine = pickle.loads(self._bytes[machine])
        return found.idle()


class ToTheEnd(Explorer):
    """In *every* state that can be reached a fair network and some ticks empty all buffers."""

    states = 0

    def _liveness(self, state: ExploreState) -> str | None:
        calm, after = state._replace(losses=0, doubles=0, ticks=0), self._setup.after
        machines = self._setup.machines
        assert isinstance(machines, Numbered)
        self.states += 1
        for _ in range(4):
            while any(calm.transit):
                at = next(at for at, packets in enumerate(calm.transit) if packets)
                i, j = self._links[at]
                calm = after(calm, ExploreStep("receive", j, i, 0))
            if all(machines.idle(machine) for machine in calm.machines):
                return None
            calm = after(calm, ExploreStep("tick", 0))
        return "something stays in a buffer"

    def run_all(self) -> int:
        """Follow all steps; how many states were tried. Raises `ExploreFault` where something stays."""
        start = self._setup.start()
        seen, stack = {start.digest()}, [start]
        while stack:
            state = stack.pop()
            if (fault := self._liveness(state)) is not None:
                raise ExploreFault(fault)
            for step in self._steps(state):
                following = self._setup.after(state, step)
                if (found := following.digest()) not in seen:
                    seen.add(found)
                    stack.append(following)
        return self.states


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if PROTOCOLS[name].machine.MULTICAST else ())
        for name in HYBRIDS
    ],
)
def test_lemmata_5_3_and_5_4_from_every_state(name: str) -> None:
    """Two messages, one packet lost: wherever it is lost, unacked messages and missing permits disappear."""
    protocol = PROTOCOLS[name]
    several = protocol.machine.MULTICAST
    scope = ExploreScope(messages=2, losses=1, reorder=not several, multicasts=1 if several else None)
    assert ToTheEnd(protocol, scope, Numbered(protocol.make(3))).run_all() > 200


class Keeping(RandomNet):
    """Remembers which messages were given to the network, and which permits were found missing."""

    def unacked(self) -> set[tuple[int, int]]:
        """The messages that were given to the network and are not acknowledged: sender and id."""
        return {
            (machine.me, packet.mid)
            for machine in self.machines
            for packet in resent(machine)
            if not isinstance(packet, Ack)
        }

    def missing_permits(self) -> set[tuple[int, tuple[int, int]]]:
        return {
            (machine.me, key)
            for machine in self.machines
            if isinstance(machine, Hybrid)
            for key in machine._missing
        }


def resent(machine: Machine) -> list[Packet]:
    """What a tick says again; it changes nothing."""
    machine.tick()
    return [output.packet for output in machine.take() if isinstance(output, Send)]


@every
@pytest.mark.parametrize("seed", range(3))
def test_lemma_5_3_a_message_in_the_unacked_buffer_is_delivered_and_leaves_it(name: str, seed: int) -> None:
    net = Keeping(PROTOCOLS[name], 4, seed, messages=30, loss=0.4, duplicate=0.2)
    ever: set[tuple[int, int]] = set()
    for _ in range(40):
        if net.left:
            net.left -= 1
            net.send(net.random.randrange(4))
        if net.transit:
            net.step()
        ever |= net.unacked()
    assert ever
    net.run(ticks=True)
    assert not net.unacked()
    assert not any(net.missing)  # delivered, all of them


@every
@pytest.mark.parametrize("seed", range(3))
def test_lemma_5_4_each_missing_permit_is_received_and_leaves_the_map(name: str, seed: int) -> None:
    net = Keeping(PROTOCOLS[name], 4, seed, messages=30, loss=0.4, duplicate=0.2)
    ever: set[tuple[int, tuple[int, int]]] = set()
    for _ in range(60):
        if net.left:
            net.left -= 1
            net.send(net.random.randrange(4))
        if net.transit:
            net.step()
        ever |= net.missing_permits()
    assert ever
    net.run(ticks=True)
    assert not net.missing_permits()


@every
def test_lemma_5_4_a_permit_that_is_lost_again_and_again_comes_at_last(name: str) -> None:
    """As in its proof: who misses a permit repeats the ack, and the sender always answers with the permit."""
    protocol = PROTOCOLS[name]
    one, two, far = protocol.make(3)
    one.causal_send([2], "far")
    one.causal_send([1], "near")
    for output in one.take():
        assert isinstance(output, Send)
        (two, far)[output.to - 1].receive(0, output.packet)
    for machine in (two, far):
        for output in machine.take():
            if isinstance(output, Send):
                one.receive(machine.me, output.packet)
    one.take()  # lost
    assert not two.idle()
    for _ in range(5):
        [asked] = resent(two)
        one.receive(1, asked)
        [answer] = one.take()  # lost, but for the last
    assert isinstance(answer, Send)
    two.receive(0, answer.packet)
    assert two.idle()


@every
def test_proposition_5_5_any_causally_sent_message_is_delivered(name: str) -> None:
    for seed in range(3):
        net = RandomNet(PROTOCOLS[name], 4, seed, messages=40, loss=0.5, duplicate=0.3).run(ticks=True)
        assert all(machine.idle() for machine in net.machines)
        assert len(net.before) == 40
        assert not any(net.missing)


@every
def test_proposition_5_1_fifo_is_enforced(name: str) -> None:
    """On a network that reorders and doubles packets."""
    for seed in range(4):
        net = RandomNet(PROTOCOLS[name], 4, seed, messages=40, duplicate=0.2)
        order: dict[tuple[int, int], list[int]] = {}
        for machine in net.machines:
            told = machine.on_deliver
            assert told is not None

            def noting(delivery: Delivery, me=machine.me, told=told, order=order) -> None:  # type: ignore[no-untyped-def]
                order.setdefault((delivery.sender, me), []).append(delivery.payload)
                told(delivery)

            machine.on_deliver = noting
        net.run(ticks=True)
        assert all(messages == sorted(messages) for messages in order.values())
        assert max(map(len, order.values())) > 3


def any_run(strategy: Strategy | None, seed: int, most: int) -> list[Event]:
    """A run of no protocol: anything may happen that FIFO and a strategy, judged by an observer, allow."""
    random, watcher = Random(seed), SendCheck(strategy or Strategy.SPS)
    events: list[Event] = []
    unsent: list[tuple[int, int, int]] = []
    queues: dict[tuple[int, int], list[int]] = {}
    on_the_way: set[tuple[int, int]] = set()

    def happens(*event: Any) -> None:
        events.append(Event(float(len(events)), *event))
        watcher.see(events[-1])

    for message in count():
        while random.random() < 0.75:
            if unsent and random.random() < 0.5:
                i, j, sent_now = one = random.choice(unsent)
                if strategy is None or not list(watcher._hindering(i, j, sent_now)):
                    unsent.remove(one)
                    on_the_way.add((sent_now, j))
                    happens(i, SEND, sent_now, (j,), j)
            ready = [link for link, queue in queues.items() if queue and (queue[0], link[1]) in on_the_way]
            if ready:
                i, j = random.choice(ready)
                happens(j, DELIVER, queues[i, j].pop(0), (), i)
        if message == 40:
            return events
        i = random.randrange(4)
        to = tuple(random.sample([j for j in range(4) if j != i], random.randint(1, most)))
        happens(i, CAUSAL_SEND, message, to)
        for j in to:
            unsent.append((i, j, message))
            queues.setdefault((i, j), []).append(message)


def out_of_order(events: list[Event]) -> int:
    return sum(violation.kind != "never delivered" for violation in check(events))


@pytest.mark.parametrize("most", [1, 3], ids=["unicast", "multicast"])
@pytest.mark.parametrize("strategy", [Strategy.SPS, Strategy.CSPS], ids=lambda strategy: strategy.value)
def test_propositions_4_2_and_4_4_fifo_and_permission_to_send_imply_causal(
    strategy: Strategy, most: int
) -> None:
    delivered = 0
    for seed in range(30):
        events = any_run(strategy, seed, most)
        assert sent_too_early(events, strategy) == []
        assert out_of_order(events) == 0
        delivered += sum(event.kind == DELIVER for event in events)
    assert delivered > 300
    assert sum(out_of_order(any_run(None, seed, most)) for seed in range(30)) > 2  # FIFO alone does not


def test_section_4_2_csps_includes_sps() -> None:
    """What no strategy of the two forbids: whoever keeps CSPS keeps SPS."""
    for seed in range(30):
        assert sent_too_early(any_run(Strategy.CSPS, seed, 1), Strategy.SPS) == []


def test_definition_4_1_what_is_sent_to_the_sender_itself_is_exempt() -> None:
    """Message and Ack alone: p2 gets a flagged message of p1 and may answer p1, and nobody else."""
    for to, held in ((0, 0), (2, 1)):
        two = PROTOCOLS["hybrid-sps"].make(3)[1]
        two.receive(0, HybridMessage(2, 0, True, "x"))
        two.causal_send([to], "answer")
        assert two.unsent == held
