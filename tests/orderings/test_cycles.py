"""Short cycles in long logs: paths of few jumps, and patterns that are found wherever they are."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import networkx
import pytest

from microcosm.orderings import queue
from microcosm.orderings.closures import (
    along,
    along_messages,
    cycle,
    mailbox_edges,
    mailbox_execution,
    shortest,
    steps_cycle,
    synchronous_execution,
)
from microcosm.orderings.computation import Computation, build, linear_extension
from microcosm.orderings.ordering import Ordering, violation
from microcosm.orderings.queue import queue_cycle, queue_execution
from microcosm.orderings.verdicts import classify
from tests.orderings.notation import computation_of
from tests.orderings.test_enumeration import drawn


def graph_of(computation: Computation, extra: dict[int, list[int]]) -> networkx.DiGraph:
    """Peers cost nothing, jumps one."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(computation)))
    for chain in computation.chains:
        graph.add_edges_from(pairwise(chain), weight=0)
    for m, receptions in enumerate(computation.receptions):
        graph.add_edges_from(((computation.send[m], r) for r in receptions), weight=1)
    for event, targets in extra.items():
        graph.add_edges_from(((event, t) for t in targets if not graph.has_edge(event, t)), weight=1)
    return graph


@pytest.mark.parametrize("receivers", [1, 3])
def test_paths_have_as_few_jumps_as_possible(receivers: int) -> None:
    rng = Random(receivers)
    for _ in range(60):
        computation = computation_of(drawn(rng, 4, 8, receivers)[0])
        extra = mailbox_edges(computation) if rng.random() < 0.5 else {}
        jumps = along(computation, extra) if extra else along_messages(computation)
        graph = graph_of(computation, extra)
        for _ in range(10):
            a, b = rng.randrange(len(computation)), rng.randrange(len(computation))
            costs = [
                graph[a][n]["weight"] + networkx.dijkstra_path_length(graph, n, b)
                for n in graph[a]
                if networkx.has_path(graph, n, b)
            ]
            found = shortest(computation, a, [b], jumps)
            assert (found is None) is (not costs)
            if found is not None:
                assert (found[0], found[-1]) == (a, b)
                steps = [(x, y) for x, y in pairwise(found)]
                jumped = [(x, y) for x, y in steps if computation.peer[x] != computation.peer[y]]
                assert all(graph.has_edge(x, y) for x, y in jumped)
                inner = [pair for pair in steps if pair not in jumped]
                assert all(x < y or graph.has_edge(x, y) for x, y in inner)
                assert len(jumped) <= min(costs)


def test_what_a_cycle_has_is_excluded_by_itself() -> None:
    rng = Random(4)
    seen = {"box": 0, "steps": 0, "queue": 0}
    for _ in range(400):
        computation = computation_of(drawn(rng, 5, 12, rng.choice((1, 1, 3)))[0])
        if mailbox_execution(computation) is None:
            seen["box"] += 1
            part = computation.restrict(cycle(computation, mailbox_edges(computation)))
            assert mailbox_execution(part) is None
        if synchronous_execution(computation) is None:
            seen["steps"] += 1
            assert synchronous_execution(computation.restrict(steps_cycle(computation))) is None
        if queue_execution(computation) is None:
            seen["queue"] += 1
            assert queue_execution(computation.restrict(queue_cycle(computation))) is None
    assert min(seen.values()) > 50


def test_rounds_tell_what_a_number_for_each_event_and_peer_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(5)
    cases = [computation_of(drawn(rng, rng.randint(2, 6), 12, rng.choice((1, 1, 3)))[0]) for _ in range(600)]
    expected = [queue_execution(computation) is not None for computation in cases]
    monkeypatch.setattr(queue, "VECTORS", -1)
    monkeypatch.setattr(queue.DerivedOrder, "run", lambda _: pytest.fail("rounds settle it"))
    for computation, fits in zip(cases, expected, strict=True):
        found = queue_execution(computation)
        assert (found is not None) is fits
        if found is not None:
            assert sorted(found) == [*range(len(computation))]
            assert violation(computation, found, Ordering.FIFO_N_N) is None
            place = {event: at for at, event in enumerate(found)}
            assert all(place[a] < place[b] for a in place for b in computation.successors(a))
        else:
            assert queue_execution(computation.restrict(queue_cycle(computation))) is None
    assert 100 < sum(expected) < 500


@pytest.mark.parametrize("steps", ["ROUNDS", "STEPS"])
def test_where_rounds_do_not_settle_it_the_numbers_do(steps: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(6)
    cases = [computation_of(drawn(rng, 4, 12, 1)[0]) for _ in range(50)]
    expected = [queue_execution(computation) for computation in cases]
    monkeypatch.setattr(queue, "VECTORS", -1)
    monkeypatch.setattr(queue, steps, 0)
    for computation, found in zip(cases, expected, strict=True):
        assert (queue_execution(computation) is None) is (found is None)
        assert found is not None or queue_cycle(computation)


@pytest.mark.parametrize("rungs", [1, 4])
def test_a_ladder_at_the_end_of_a_long_log(rungs: int) -> None:
    """Found without looking at parts of the log; nothing of what came before is in it."""
    peers = 2 * rungs + 2
    events: dict[str, list[tuple[str, str]]] = {f"p{p}": [] for p in range(peers)}
    for m in range(2_000):
        events[f"p{m % peers}"].append(("send", f"m{m}"))
        events[f"p{(m + 1) % peers}"].append(("receive", f"m{m}"))
    events["p0"] += [("send", "c0"), ("send", "b0")]
    for i in range(1, rungs + 1):
        events[f"p{2 * i - 1}"] += [("receive", f"b{i - 1}"), ("send", f"b{i}")]
        events[f"p{2 * i}"] += [("send", f"c{i}"), ("receive", f"c{i - 1}")]
    events[f"p{peers - 1}"] += [("receive", f"b{rungs}"), ("receive", f"c{rungs}")]
    computation = build(events)
    assert linear_extension(computation) is not None
    pattern = classify(computation)[Ordering.FIFO_N_N].pattern
    assert pattern is not None
    assert pattern.kind == "ladder"
    assert set(pattern.messages) == {f"{x}{i}" for x in "bc" for i in range(rungs + 1)}
