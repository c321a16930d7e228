"""Who sends when: Definitions 4.1 and 4.3 and Propositions 4.2, 4.4 and 5.2 of Hybrid Buffering."""

from __future__ import annotations

import pytest

from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.machine import Send
from microcosm.protocol.packets import Permit
from microcosm.simulation.run import Event, check
from microcosm.simulation.simulate import SimulationSetting, simulate
from tests.simulation.send_check import Strategy, sent_too_early

SPS, CSPS = Strategy.SPS, Strategy.CSPS


def events_of(name: str, seed: int) -> list[Event]:
    events: list[Event] = []
    tolerated = PROTOCOLS[name].machine.TOLERATES
    faults = {"loss": 0.2, "duplicate": 0.2} if "loss" in tolerated and seed % 2 else {}
    setting = SimulationSetting(
        messages=150, seed=seed, rtt=(0.5, 8), reorder="reorder" in tolerated, **faults
    )
    assert simulate(name, setting, events.append).violations == []
    return events


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("hybrid-basic", CSPS),
        ("hybrid-multicast", CSPS),
        ("hybrid-sps", SPS),
        ("hybrid-multicast-sps", SPS),
        ("mf", CSPS),
        ("cykas", CSPS),
    ],
)
def test_what_each_protocol_enforces(name: str, strategy: Strategy) -> None:
    """Proposition 5.2 for the basic algorithms; by section 4.2 CSPS includes SPS."""
    for seed in range(4):
        events = events_of(name, seed)
        assert sent_too_early(events, strategy) == []
        assert sent_too_early(events, SPS) == []


def test_the_optimal_algorithms_do_what_csps_forbids() -> None:
    for name in ("hybrid-sps", "hybrid-multicast-sps"):
        assert any(sent_too_early(events_of(name, seed), CSPS) for seed in range(4))


def test_receiver_buffering_enforces_neither() -> None:
    assert sent_too_early(events_of("rst", 1), SPS)


def c(process: int, message: int, *to: int) -> Event:
    return Event(0.0, process, "causal_send", message, to)


def s(process: int, message: int, to: int) -> Event:
    return Event(0.0, process, "send", message, (to,), to)


def d(process: int, message: int) -> Event:
    return Event(0.0, process, "deliver", message)


def test_a_message_that_is_sent_too_early() -> None:
    """p1 sends a to p3 and b to p2; p2 answers with x to p3 while a is missing."""
    events = [c(0, 0, 2), s(0, 0, 2), c(0, 1, 1), s(0, 1, 1), d(1, 1), c(1, 2, 2), s(1, 2, 2)]
    [violation] = sent_too_early(events, SPS)
    assert str(violation) == "sent too early for SPS: m3 at p2, before m1"
    assert check([*events, d(2, 2), d(2, 0)]) != []  # and that is how causal delivery breaks


def test_back_to_who_sent_it_sps_lets_it_go() -> None:
    events = [c(0, 0, 2), s(0, 0, 2), c(0, 1, 1), s(0, 1, 1), d(1, 1), c(1, 2, 0), s(1, 2, 0)]
    assert sent_too_early(events, SPS) == []
    assert len(sent_too_early(events, CSPS)) == 1


def test_the_other_copies_of_a_multicast_count() -> None:
    """p1 sends a to p2 and p3; what p2 sends to p3 must wait for p3's copy of a."""
    events = [c(0, 0, 1, 2), s(0, 0, 1), s(0, 0, 2), d(1, 0), c(1, 1, 2), s(1, 1, 2)]
    assert len(sent_too_early(events, SPS)) == 1
    events.insert(4, d(2, 0))
    assert sent_too_early(events, SPS) == []


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps"])
def test_section_4_2_delivered_then_known_to_the_sender_then_to_the_receiver(name: str) -> None:
    """O, S and R of a flagged message: all sent before it is delivered; its sender knows; its receiver."""
    machines = PROTOCOLS[name].make(3)
    clock, delivered, known, told = 0, dict[int, int](), dict[int, int](), dict[int, int]()
    wire: list[tuple[int, int, object]] = []

    def collect() -> None:
        for machine in machines:
            for output in machine.take():
                if isinstance(output, Send):
                    wire.append((machine.me, output.to, output.packet))
                    if isinstance(output.packet, Permit):
                        known.setdefault(output.packet.mid, clock)

    for receiver, payload in ((2, 1), (1, 2), (2, 3), (1, 4)):
        machines[0].causal_send([receiver], payload)
    machines[2].on_deliver = lambda delivery: delivered.setdefault(delivery.payload, clock) and None
    collect()
    while wire:
        i, j, packet = wire.pop()  # the latest first: a network that reorders
        clock += 1
        if isinstance(packet, Permit):
            told.setdefault(packet.mid, clock)
        machines[j].receive(i, packet)
        collect()
    for a, before in ((2, (1,)), (4, (1, 3))):
        assert max(delivered[m] for m in before) < known[a] < told[a]
