"""Every interleaving in a small scope; and what is wrong is shown by a shortest scenario."""

from __future__ import annotations

from dataclasses import replace

import pytest

from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.hybrid.multicast import Copy, HybridMulticastSPS
from microcosm.protocol.hybrid.unicast import HybridBasic
from microcosm.protocol.machine import Machine
from microcosm.simulation.explore import Explorer, explore
from microcosm.simulation.explore_state import ExploreScope
from microcosm.simulation.scenario import replay


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("answers", [False, True], ids=["", "answers"])
def test_two_messages_in_all_interleavings(name: str, answers: bool) -> None:
    reorder = "reorder" in PROTOCOLS[name].machine.TOLERATES
    explored = explore(name, ExploreScope(messages=2, reorder=reorder, answers=answers))
    assert explored.fault is None, explored.scenario
    assert explored.complete


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps", "mf"])
def test_a_loss_and_a_double(name: str) -> None:
    explored = explore(name, ExploreScope(messages=2, losses=1, doubles=1))
    assert explored.fault is None, explored.scenario


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps", "cykas", "mf"])
def test_three_messages(name: str) -> None:
    explored = explore(name, ExploreScope(messages=3, answers=True))
    assert explored.fault is None, explored.scenario
    assert explored.states > 500


class Unflagged(HybridBasic):
    """Never waits for a permit."""

    __slots__ = ()

    def _await_permit(self, sender: int, message: object) -> None:
        pass


class Forgetful(HybridBasic):
    """Ignores acks."""

    __slots__ = ()

    def _try_send(self) -> None:
        if not len(self._unacked):
            super()._try_send()

    def _on_ack(self, sender: int, ack: object) -> str | None:
        return None

    def _check(self) -> None:
        pass


def explored_with(machine: type[Machine], scope: ExploreScope, name: str = "hybrid-basic") -> tuple[str, str]:
    protocol = replace(
        PROTOCOLS[name], machine=machine, make=lambda size: [machine(me) for me in range(size)]
    )
    explored = Explorer(protocol, scope).run()
    assert explored.fault is not None
    assert explored.scenario is not None
    return explored.fault, explored.scenario


def test_a_fault_is_shown_by_a_shortest_scenario() -> None:
    fault, scenario = explored_with(Unflagged, ExploreScope())
    assert fault == "message 3 is delivered before message 1"
    assert len(scenario.splitlines()) == 8  # three sends and two receptions, no shorter one shows it
    assert scenario.startswith("hybrid-basic, 3 processes\n\np1 sends m1 to p2\np1 sends m2 to p3\n")


def test_what_waits_for_ever_is_found() -> None:
    fault, scenario = explored_with(Forgetful, ExploreScope(messages=2))
    assert fault == "something is never delivered, though nothing was lost"
    assert scenario.splitlines()[2:4] == ["p1 sends m1 to p2", "p1 sends m2 to p2"]


def test_the_scenario_can_be_replayed() -> None:
    explored = explore("cykas", ExploreScope(messages=2, doubles=1))
    assert explored.scenario is not None
    assert replay(explored.scenario).endswith("delivered twice or to the wrong process: m1 at p2\n")
    answered = (
        "rst, 3 processes\n\np1 sends m1 to p2\np2 receives from p1, answering m2 to p3\nsettle\ncheck\n"
    )
    assert "p2 delivers m1\np2 causally sends m2 to p3\n" in replay(answered)


def test_faults_outside_the_model_break_a_protocol() -> None:
    """Why Table 1 says "reliable" and "FIFO"."""
    assert explore("cykas", ExploreScope(messages=2, doubles=1)).fault is not None
    assert explore("cykas", ExploreScope(messages=2, losses=1)).fault is not None
    assert explore("newtop", ExploreScope(messages=2, reorder=True)).fault is not None
    assert explore("tree", ExploreScope(messages=2, reorder=True)).fault is not None


def test_a_search_gives_up_where_told_to() -> None:
    assert not explore("hybrid-basic", ExploreScope(most=50)).complete
    states = explore("hybrid-sps", ExploreScope(messages=2)).states
    for most, complete in ((1, False), (states - 1, False), (states, True)):
        found = explore("hybrid-sps", ExploreScope(messages=2, most=most))
        assert (found.states, found.complete) == (most, complete)


@pytest.mark.slow
@pytest.mark.parametrize("reorder", [True, False], ids=["reordering", "fifo"])
@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps"])
def test_four_messages_in_all_interleavings(name: str, reorder: bool) -> None:
    explored = explore(name, ExploreScope(messages=4, reorder=reorder))
    assert explored.fault is None, explored.scenario
    assert explored.complete
    assert explored.states > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps"])
def test_three_messages_a_loss_and_a_double(name: str) -> None:
    explored = explore(name, ExploreScope(messages=3, losses=1, doubles=1))
    assert explored.fault is None, explored.scenario
    assert explored.complete


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hybrid-multicast", "hybrid-multicast-sps"])
def test_multicasts_in_all_interleavings(name: str) -> None:
    """Two messages, one of them to both others, a loss and a double (more: test_explore_workloads.py)."""
    explored = explore(name, ExploreScope(messages=2, losses=1, doubles=1, multicasts=1))
    assert explored.fault is None, explored.scenario
    assert explored.complete


class Impatient(HybridMulticastSPS):
    """Ignores the copies of a message itself when it flags them, as a mutant does."""

    __slots__ = ()

    def _due(self, copy: Copy) -> bool:
        buffer = self._buffer
        return all(other.acked for other in buffer if other.group.mid < copy.group.mid)

    def _check(self) -> None:
        pass


def test_a_fault_of_multicasts_is_found() -> None:
    """m1 to both, one of which tells the other before that has it."""
    _, scenario = explored_with(Impatient, ExploreScope(messages=2), "hybrid-multicast-sps")
    assert scenario.splitlines()[2] == "p1 sends m1 to p2, p3"
    assert "p2 sends m2 to p3" in scenario


def test_so_many_multicasts_and_no_more() -> None:
    """Without any a multicast protocol has the states of its unicasts only."""
    none, one, any_ = (
        explore("hybrid-multicast", ExploreScope(messages=2, multicasts=most)).states for most in (0, 1, None)
    )
    assert none < one < any_
