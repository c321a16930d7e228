"""Whole replicas on a bad virtual network, judged by an observer who sees everything (see `seeds`)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.replica.judge import happened_before, is_before, judged
from tests.replica.network.causal import History, faults
from tests.replica.seeds import run
from tests.replica.simulated import World
from tests.thorough import draws


def test_a_short_run_of_everything(tmp_path: Path) -> None:
    """Kills, partitions, loss, an eviction with a return, and one for good."""
    done = run(1, tmp_path, messages=300, kills=8, partitions=3)
    assert done.wrong == []
    assert done.sent >= 300


@pytest.mark.parametrize(
    "seed",
    [16, 87, *(pytest.param(n, marks=pytest.mark.slow) for n in (70, 98, 39, 1, 2, 4, 9, 65)[: draws(1, 8)])],
)
def test_journals_that_are_put_back_and_run_twice(tmp_path: Path, seed: int) -> None:
    """At any moment, one or all, beside kills, partitions and evictions; an operator does what is said."""
    done = run(seed, tmp_path, messages=200, restorations=2)
    assert done.wrong == []
    assert done.restored[0] or done.restored[1]


@pytest.mark.parametrize(
    "seed", [257, *(pytest.param(n, marks=pytest.mark.slow) for n in (131, 150, 162, 265)[: draws(2, 4)])]
)
def test_many_journals_are_put_back_in_little_time(tmp_path: Path, seed: int) -> None:
    """So that members are replaced while others are, and forks are seen of which a part only is known."""
    assert run(seed, tmp_path, messages=300, restorations=5).wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_runs_of_thousands(tmp_path: Path, seed: int) -> None:
    done = run(seed, tmp_path, messages=1000)
    assert done.wrong == []
    assert done.kills >= 10


def test_the_same_seed_is_the_same_run(tmp_path: Path) -> None:
    one, other = (run(5, tmp_path / name, messages=60, kills=4, partitions=2) for name in "ab")
    assert one[:4] == other[:4]


def test_the_judge_sees_what_is_wrong(tmp_path: Path) -> None:
    with closing(World(tmp_path, "ab", 1)) as world:
        see_what_is_wrong(world)


def see_what_is_wrong(world: World) -> None:
    world.go(1.0)
    a, b = (node.replica for node in world.nodes.values())
    world.act("a", lambda node: world.send(node, ("b",), b"one"))
    world.calm()
    message = next(event for event in a.events if event.startswith("c:"))[2:]
    assert judged(world) == []
    world.to[message] = [("c.1",)]
    assert judged(world) == [f"{message} is delivered at b.1, and is not for it"]
    world.to[message] = [("b.1", "a.1")]
    assert judged(world) == [f"{message} is never delivered at a.1"]
    world.to[message] = [("b.1",)]
    b.local("more")
    assert judged(world)[0] == "b knows other things than a"
    assert f"{message} is delivered 2 times at b.1" in faults(
        [
            History("a.1", [("sent", f"{message} b.1")]),
            History("b.1", [("delivered", message), ("delivered", message)]),
        ]
    )


def test_the_observer_knows_what_happened_before_what() -> None:
    chains = {("a", 1): ["x", "c:a.1.2"], ("b", 1): ["y", "d:b:a.1.2", "z"]}
    clocks = happened_before(chains)
    assert [is_before(clocks, *pair) for pair in (("x", "z"), ("y", "z"), ("x", "y"), ("z", "x"))] == [
        *(True, True),
        *(False, False),
    ]
