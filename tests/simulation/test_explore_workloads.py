"""Workloads one by one, without what makes no difference: nothing is missed that a full search finds."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import permutations, product
from typing import Any, cast

import pytest

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.protocol.hybrid.common import SlidingArray, SlidingMap
from microcosm.protocol.hybrid.multicast import Copy, HybridMulticast, HybridMulticastSPS
from microcosm.protocol.hybrid.unicast import HybridBasic, HybridSPS
from microcosm.protocol.machine import Delivery, Machine, Send
from microcosm.protocol.packets import Ack, HybridMessage, Permit
from microcosm.simulation.explore import Explored, Explorer, explore, survey, workloads
from microcosm.simulation.explore_state import ExploreScope, ExploreState

HYBRIDS = ("hybrid-basic", "hybrid-sps", "hybrid-multicast", "hybrid-multicast-sps")


def content(thing: object) -> object:
    """What a machine or a packet holds, whatever it is made of; not what it has forgotten."""
    if isinstance(thing, SlidingArray | SlidingMap):
        thing.compact()
    if isinstance(thing, dict):
        return sorted((repr(content(key)), content(value)) for key, value in thing.items())
    if isinstance(thing, set):
        return sorted(map(repr, thing))
    if isinstance(thing, tuple | list) or type(thing).__name__ == "deque":
        return [content(member) for member in thing]
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    if slots:
        ignored = (
            "operations",
            "out",
            "refused",
            "copies",
            "group",
        )  # copies and their group hold each other
        kept = [name for name in slots if name not in ignored]
        return [type(thing).__name__, *((name, content(getattr(thing, name))) for name in kept)]
    return repr(thing)


class Watched(Explorer):
    """Keeps what is left of every state in which nothing is on the way."""

    def ends(self) -> tuple[Explored, set[str]]:
        self._ends: set[tuple[tuple[int, ...], tuple[int, ...], int, int, int]] = set()
        explored = self.run()
        held = [content(pickle.loads(packed)) for packed in self._setup.machines._bytes]
        return explored, {
            repr(([held[machine] for machine in machines], rest)) for machines, *rest in self._ends
        }

    def _liveness(self, state: ExploreState) -> str | None:
        self._ends.add((state.machines, state.missing, state.losses, state.doubles, state.ticks))
        return super()._liveness(state)


SCOPES = {
    "reordering": ExploreScope(messages=2),
    "fifo": ExploreScope(messages=2, reorder=False),
    "a loss": ExploreScope(messages=2, losses=1),
    "a double": ExploreScope(messages=2, doubles=1),
}


def both_ways(protocol: Protocol, scope: ExploreScope) -> list[tuple[tuple[Explored, set[str]], ...]]:
    """For each workload what is found with and without the reduction."""
    found = []
    for programs in workloads(protocol, scope):
        one = replace(scope, programs=programs)
        searches = (Watched(protocol, replace(one, reduced=reduced)) for reduced in (True, False))
        found.append(tuple(search.ends() for search in searches))
    return found


def agree(protocol: Protocol, scope: ExploreScope) -> int:
    """Check that both searches find the same, workload by workload; how many workloads are faulty."""
    faulty = 0
    for (fewer, ends), (all_, all_ends) in both_ways(protocol, scope):
        assert (fewer.fault is None) == (all_.fault is None)
        if all_.fault is None:
            assert ends == all_ends
            assert fewer.states <= all_.states
        faulty += all_.fault is not None
    return faulty


@pytest.mark.parametrize("scope", ["reordering", "fifo"])
@pytest.mark.parametrize("name", HYBRIDS)
def test_nothing_is_missed(name: str, scope: str) -> None:
    assert agree(PROTOCOLS[name], SCOPES[scope]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["a loss", "a double"])
@pytest.mark.parametrize("name", ["hybrid-multicast", "hybrid-multicast-sps"])
def test_nothing_is_missed_on_bad_networks(name: str, scope: str) -> None:
    assert agree(PROTOCOLS[name], replace(SCOPES[scope], multicasts=1)) == 0


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps"])
@pytest.mark.parametrize("scope", ["reordering", "a loss", "a double"])
def test_nothing_is_missed_of_three_messages(name: str, scope: str) -> None:
    assert agree(PROTOCOLS[name], replace(SCOPES[scope], messages=3 if scope == "reordering" else 2)) == 0


class Unflagged(HybridBasic):
    """Never waits for a permit."""

    __slots__ = ()

    def _await_permit(self, sender: int, message: object) -> None:
        pass


class Dropping(HybridSPS):
    """Drops a permit that overtakes its message (E7)."""

    __slots__ = ()

    def _on_permit(self, sender: int, permit: Permit) -> str | None:
        return self._permit(sender, permit.mid)


class Hasty(HybridMulticast):
    """Does not count a message to several receivers among what has to be delivered."""

    __slots__ = ()

    def _try_send(self) -> None:
        before = len(self.out)
        super()._try_send()
        for at, output in enumerate(self.out[before:], before):
            if (
                isinstance(output, Send)
                and isinstance(output.packet, HybridMessage)
                and len(self._unacked) == 1
            ):
                self.out[at] = output._replace(packet=replace(output.packet, permit=False))


class Impatient(HybridMulticastSPS):
    """Ignores the copies of a message itself when it flags them."""

    __slots__ = ()

    def _due(self, copy: Copy) -> bool:
        return all(other.acked for other in self._buffer if other.group.mid < copy.group.mid)

    def _check(self) -> None:
        pass


def mutated(name: str, machine: type[Machine]) -> Protocol:
    return replace(
        PROTOCOLS[name],
        machine=machine,
        make=lambda size: [machine(me, range(size)) for me in range(size)],  # type: ignore[call-arg]
    )


@pytest.mark.parametrize(
    ("name", "machine", "scope"),
    [
        ("hybrid-basic", Unflagged, ExploreScope(messages=3)),
        ("hybrid-sps", Dropping, ExploreScope(messages=3)),
        ("hybrid-multicast", Hasty, ExploreScope(messages=2)),
        ("hybrid-multicast-sps", Impatient, ExploreScope(messages=2)),
    ],
)
def test_the_same_workloads_are_faulty(name: str, machine: type[Machine], scope: ExploreScope) -> None:
    protocol = mutated(name, machine)
    faulty = agree(protocol, scope)
    assert 0 < faulty < sum(1 for _ in workloads(protocol, scope))
    assert Explorer(protocol, scope).run().fault is not None


def test_a_fault_is_shown_by_a_shortest_scenario_of_its_workload() -> None:
    surveyed = survey(mutated("hybrid-multicast-sps", Impatient), ExploreScope(messages=2))
    shortest = Explorer(mutated("hybrid-multicast-sps", Impatient), ExploreScope(messages=2)).run()
    assert surveyed.fault == shortest.fault == "message 2 is delivered before message 1"
    assert surveyed.scenario is not None
    assert shortest.scenario is not None
    assert len(surveyed.scenario.splitlines()) == len(shortest.scenario.splitlines())


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", HYBRIDS)
def test_what_settles_commutes(name: str, scope: ExploreScope) -> None:
    """With all packets that its process met, and with sending: the same machine, the same packets."""
    pairs = 0
    for programs in workloads(PROTOCOLS[name], replace(scope, multicasts=1)):
        explorer = Explorer(PROTOCOLS[name], replace(scope, programs=programs, reduced=True))
        explorer.run()
        machines = explorer._setup.machines
        held = [pickle.loads(packed) for packed in machines._bytes]
        met: dict[Any, list[tuple[int, object]]] = {}
        for key in machines._reactions:
            if len(key) == 6:
                process, _, sender, packet, _, _ = key
                met.setdefault(process, []).append((cast(int, sender), held[cast(int, packet)]))
        for at, sender, packet, silent, reorder, once in (
            cast(tuple[int, int, int, bool, bool, bool], key) for key, yes in machines._settled.items() if yes
        ):
            packed, machine, first = machines._bytes[at], held[at], (sender, held[packet])
            assert not taken(packed, reorder, first)[2]
            others: list[tuple[int, object]] = list(dict.fromkeys(met[machine.me]))
            if once:  # acks come once
                others = [
                    one for one in others if type(one[1]) is not Ack or machine._awaits(one[0], one[1].mid)
                ]
            if not silent:
                others += [(-1, j) for j in range(scope.processes) if j != machine.me]
            for other in others:
                assert taken(packed, reorder, first, other) == taken(packed, reorder, other, first)
                pairs += 1
    assert pairs > 20 or not scope.reorder


def taken(
    packed: bytes, reorder: bool, *inputs: tuple[int, object]
) -> tuple[object, list[tuple[int, str]], list[str]]:
    """What becomes of a machine, what it sends and what it delivers. An input from -1: it sends a message.

    What it sends is in its order on each link, unless packets overtake each other.
    """
    machine = pickle.loads(packed)
    for sender, packet in inputs:
        if sender < 0:
            machine.causal_send((packet,), 99)
        else:
            machine.receive(sender, packet)
    outputs = machine.take()
    sent = [(output.to, str(output.packet)) for output in outputs if isinstance(output, Send)]
    sent.sort(key=lambda one: one if reorder else one[0])
    return content(machine), sent, sorted(str(output) for output in outputs if isinstance(output, Delivery))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_all_workloads_are_everything(name: str) -> None:
    """Both ways nothing is wrong, and more workloads than one search can tell apart take no fewer states."""
    scope = ExploreScope(messages=2, reorder="reorder" in PROTOCOLS[name].machine.TOLERATES)
    whole, parts = explore(name, scope), survey(name, scope)
    assert whole.fault is parts.fault is None
    assert parts.complete


@pytest.mark.parametrize("name", [name for name, one in PROTOCOLS.items() if one.machine.MULTICAST])
def test_the_order_in_which_receivers_are_named_makes_no_difference(name: str) -> None:
    """As many states and as many ends, whichever order each message names its receivers in."""
    protocol = PROTOCOLS[name]
    scope = ExploreScope(messages=2, reorder="reorder" in protocol.machine.TOLERATES)
    for programs in workloads(PROTOCOLS["rst"], scope):
        orders = product(*(product(*map(permutations, program)) for program in programs))
        found = set()
        for named in orders:
            explored, ends = Watched(protocol, replace(scope, programs=named)).ends()
            found.add((explored.states, len(ends), explored.fault))
        assert len(found) == 1


def test_workloads_are_counted_up_to_renaming() -> None:
    """Two unicasts: by one to one, by one to two, to each other, both to a third, in a chain."""
    assert sum(1 for _ in workloads(PROTOCOLS["hybrid-sps"], ExploreScope(messages=2))) == 5
    for messages in (2, 3):
        scope = ExploreScope(messages=messages)
        all_ = list(workloads(replace(PROTOCOLS["monitor"]), scope))
        kept = list(workloads(PROTOCOLS["rst"], scope))
        orbits = {frozenset(renamed(programs, name) for name in permutations(range(3))) for programs in all_}
        assert len(kept) == len(orbits)
        assert all(sum(programs in orbit for programs in kept) == 1 for orbit in orbits)


def renamed(programs: tuple[tuple[tuple[int, ...], ...], ...], name: tuple[int, ...]) -> object:
    of = {
        name[i]: [tuple(sorted(name[j] for j in to)) for to in program] for i, program in enumerate(programs)
    }
    return tuple(tuple(of[i]) for i in range(len(programs)))


def test_so_many_multicasts_and_no_more() -> None:
    none, one, any_ = (
        sum(1 for _ in workloads(PROTOCOLS["rst"], ExploreScope(messages=2, multicasts=most)))
        for most in (0, 1, None)
    )
    assert 5 == none < one < any_


def test_a_survey_says_where_it_gave_up() -> None:
    assert not survey("hybrid-basic", ExploreScope(messages=2, most=5)).complete


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hybrid-multicast", "hybrid-multicast-sps"])
def test_three_messages_to_any_receivers(name: str) -> None:
    """docs/guides/protocols.md has the larger scopes: four messages, and three with a loss and a double."""
    surveyed = survey(name, ExploreScope(messages=3))
    assert surveyed.fault is None, surveyed.scenario
    assert surveyed.complete
    assert surveyed.states > 10_000


class Farsighted(HybridSPS):
    """Looks beyond the first missing permit of a second sender when it sends."""

    __slots__ = ()

    def _send_interval(self, at: int, end: int) -> None:
        super()._send_interval(at, self._missing.next)

    def _check(self) -> None:
        pass


def test_the_workload_in_which_the_bound_of_an_interval_matters() -> None:
    """p1 and p3 each make p2 wait for a permit; p2 then sends to p3, which asked first.

    See second-asker.txt.
    """
    scope = ExploreScope(messages=5, programs=(((2,), (1,)), ((2,),), ((0,), (1,))), reduced=True)
    assert Explorer(PROTOCOLS["hybrid-sps"], scope).run().fault is None
    explored = Explorer(mutated("hybrid-sps", Farsighted), scope).run()
    assert explored.fault == "message 5 is delivered before message 1"


@pytest.mark.slow
def test_five_messages_show_what_four_do_not() -> None:
    """Two flagged messages to one process take four sends, and the one that must wait is the fifth."""
    mutant = mutated("hybrid-sps", Farsighted)
    assert survey(mutant, ExploreScope(messages=4)).fault is None
    surveyed = survey(mutant, ExploreScope(messages=5))
    assert surveyed.fault is not None
    assert surveyed.scenario is not None


@pytest.mark.thorough
@pytest.mark.parametrize("reorder", [True, False])
def test_five_messages_of_the_optimal_algorithm(reorder: bool) -> None:
    surveyed = survey("hybrid-sps", ExploreScope(messages=5, reorder=reorder))
    assert surveyed.fault is None, surveyed.scenario
    assert surveyed.complete
    assert surveyed.workloads == 112
