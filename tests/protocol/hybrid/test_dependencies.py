"""Section 6 of Hybrid Buffering: metadata for latency, a message at a time, up to a budget."""

from __future__ import annotations

from random import Random

import pytest

from microcosm.protocol.catalogue import with_budget
from microcosm.protocol.hybrid.dependencies import HybridDependencies
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Ack, Dependent, Packet, Permit
from microcosm.simulation.explore import Explorer, survey
from microcosm.simulation.explore_state import ExploreScope
from microcosm.simulation.run import Constant, Event, Network, NetworkLink, Run, check
from microcosm.simulation.simulate import Gauge, Mixture, Statistics
from tests.protocol.random_net import RandomNet
from tests.simulation.send_check import Strategy, sent_too_early

BUDGETS = [0, 1, None]


def sent(machine: HybridDependencies) -> list[tuple[int, Packet]]:
    return [(output.to, output.packet) for output in machine.take() if isinstance(output, Send)]


def run_of(budget: int | None, seed: int, size: int = 8) -> tuple[list[Event], Statistics]:
    events: list[Event] = []
    random = Random(seed)
    delays = {(i, j): random.choice((0.1, 1.0, 5.0)) for i in range(size) for j in range(size)}
    links = {pair: NetworkLink(Constant(delay)) for pair, delay in delays.items()}
    machines = with_budget(budget).make(size)
    run = Run(machines, Network(links=links), Mixture(200), seed=seed, observers=[events.append])
    gauge = Gauge(run, lambda i, j: delays[i, j])
    run.go()
    assert check(events) == []
    return events, gauge.read()


def test_section_6_a_message_goes_early_and_is_held_back_by_its_receiver() -> None:
    """1 sends far to 3 and near to 2; 2 tells 3 of it before anybody knows that far has arrived."""
    two, three = HybridDependencies(2), HybridDependencies(3)
    two.receive(1, Dependent(2, 0, True, "near", ((1, 3, 1),)))
    two.causal_send([3], "told")
    [_, (to, told)] = sent(two)
    assert (to, told) == (3, Dependent(1, 0, True, "told", ((1, 3, 1),)))
    three.receive(2, told)
    assert three.take() == []  # FIFO would let it through
    three.receive(1, Dependent(1, 0, False, "far", ()))
    assert [output.payload for output in three.take() if isinstance(output, Delivery)] == ["far", "told"]
    three._check()


def test_section_6_what_is_too_much_to_be_said_waits_for_permits() -> None:
    """The choice is made for each message: with a budget of one, two dependencies are too many."""
    two = HybridDependencies(2, budget=1)
    two.receive(1, Dependent(2, 0, True, "a", ((1, 3, 1),)))
    two.causal_send([5], "one dependency")
    two.receive(4, Dependent(2, 0, True, "b", ((4, 3, 1),)))
    two.causal_send([5], "two dependencies")
    assert [p.payload for _, p in sent(two) if isinstance(p, Dependent)] == ["one dependency"]
    assert two.unsent == 1
    two.receive(4, Permit(2))
    [(_, packet)] = sent(two)
    assert isinstance(packet, Dependent)
    assert packet.needs == ((1, 3, 1),)
    two._check()


def test_section_6_a_message_without_dependencies_though_flagged_waits_for_its_permit() -> None:
    """The sender had too many to name: whoever delivered it waits as under CSPS."""
    one = HybridDependencies(1, budget=1)
    for receiver in (3, 4, 2):
        one.causal_send([receiver], "x")
    packets = [packet for _, packet in sent(one)]
    assert [packet.needs for packet in packets if isinstance(packet, Dependent)] == [(), ((1, 3, 1),), None]
    two = HybridDependencies(2, budget=None)
    two.receive(1, packets[2])
    two.causal_send([3], "y")
    assert two.unsent == 1
    two.receive(1, Permit(3))
    assert two.unsent == 0


def test_a_permit_waits_for_the_permits_that_its_message_depends_on() -> None:
    two = HybridDependencies(2)
    two.receive(1, Dependent(2, 0, True, "near", ((1, 3, 1),)))
    two.causal_send([4], "told")
    two.take()
    two.receive(4, Ack(1))
    assert sent(two) == []  # delivered itself; but what happened before it may not be
    two.receive(1, Permit(2))
    assert sent(two) == [(4, Permit(1))]
    assert two.idle()


def test_a_message_depends_on_nothing_that_was_delivered_after_its_causal_send() -> None:
    """As for permits: what comes in between is concurrent with it, though it is still in the send buffer."""
    two = HybridDependencies(2, budget=1)
    two.receive(1, Dependent(3, 0, True, "a", ((1, 3, 1), (1, 4, 2))))
    two.causal_send([5], "x")
    two.receive(4, Dependent(2, 0, True, "b", ((4, 3, 1),)))
    two.receive(1, Permit(3))
    assert (5, Dependent(1, 0, False, "x", ())) in sent(two)


def test_no_budget_at_all_is_csps() -> None:
    for seed in range(4):
        events, statistics = run_of(0, seed)
        assert sent_too_early(events, Strategy.CSPS) == []
        assert statistics.metadata_peak == 3


def test_without_a_bound_nothing_waits_at_its_sender_and_latency_is_optimal() -> None:
    for seed in range(4):
        events, statistics = run_of(None, seed)
        assert statistics.held_at_sender == 0
        assert statistics.held_at_receiver > 0
        assert statistics.non_causal == pytest.approx(0)
        assert sent_too_early(events, Strategy.SPS)


def test_more_metadata_less_latency() -> None:
    """The trade, summed over some runs: each step of the budget costs integers and saves time."""
    measured = [[run_of(budget, seed)[1] for seed in range(4)] for budget in (0, 2, 4, None)]
    metadata = [sum(one.metadata for one in runs) for runs in measured]
    late = [sum(one.non_causal or 0.0 for one in runs) for runs in measured]
    assert metadata == sorted(metadata)
    assert late == sorted(late, reverse=True)
    assert metadata[0] < metadata[-1]
    assert late[0] > 0.5
    assert late[-1] == pytest.approx(0)


@pytest.mark.parametrize("budget", BUDGETS)
def test_random_networks_at_every_budget(budget: int | None) -> None:
    protocol = with_budget(budget)
    for seed in range(6):
        RandomNet(protocol, 5, seed, messages=40).run(ticks=False)
        RandomNet(protocol, 4, seed, messages=30, loss=0.3, duplicate=0.2).run(ticks=True)


@pytest.mark.parametrize("budget", BUDGETS)
def test_three_messages_in_all_interleavings_at_every_budget(budget: int | None) -> None:
    explored = Explorer(with_budget(budget), ExploreScope(messages=3)).run()
    assert explored.fault is None, explored.scenario
    assert explored.complete


@pytest.mark.thorough
@pytest.mark.parametrize("budget", [1, None])
@pytest.mark.parametrize(
    "scope",
    [ExploreScope(messages=4), ExploreScope(messages=3, losses=1), ExploreScope(messages=4, reorder=False)],
    ids=str,
)
def test_larger_scopes_at_every_budget(budget: int | None, scope: ExploreScope) -> None:
    surveyed = survey(with_budget(budget), scope)
    assert surveyed.fault is None, surveyed.scenario
    assert surveyed.complete
