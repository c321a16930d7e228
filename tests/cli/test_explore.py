"""The command `explore`."""

from __future__ import annotations

import pytest

from microcosm.simulation.scenario import replay
from tests.cli.conftest import Run


def test_nothing_is_wrong(run: Run) -> None:
    result = run("explore", "hybrid-sps", "--messages", "2", "--reorder")
    assert (result.code, result.err) == (0, "")
    assert result.out == "hybrid-sps: 3 processes, 2 messages (reordering)\nnothing is wrong in 74 states\n"


def test_workload_by_workload(run: Run) -> None:
    result = run("explore", "hybrid-multicast", "--reorder", "--workloads", "--json")
    assert result.code == 0
    assert (result.json["workloads"], result.json["complete"], result.json["fault"]) == (11, True, None)
    assert 0 < result.json["largest"] < result.json["states"]


@pytest.mark.parametrize("by_workload", [(), ("--workloads",)], ids=["", "workloads"])
def test_a_fault_is_a_scenario_to_replay(run: Run, by_workload: tuple[str, ...]) -> None:
    result = run("explore", "newtop", "--reorder", *by_workload, "--json")
    assert result.code == 1
    assert result.err == "note: newtop is not made for a network with reordering\n"
    assert not result.json["complete"]
    assert not replay(result.json["scenario"]).endswith("nothing is wrong\n")
    shown = run("explore", "newtop", "--reorder", *by_workload)
    assert shown.code == 1
    assert shown.out.endswith(result.json["scenario"])


def test_a_search_that_gives_up(run: Run) -> None:
    result = run("explore", "hybrid-basic", "--messages", "3", "--most", "50")
    assert result.code == 3
    assert result.out.endswith("--most allows more\n")
    assert result.out.splitlines()[1].startswith("nothing is wrong so far, in 50 states; ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("paxos",),
        ("rst", "--processes", "1"),
        ("rst", "--messages", "100"),
        ("rst", "--losses", "x"),
        ("rst", "--most", "0"),
        ("rst", "--workloads", "--answers"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("explore", *arguments)
    assert result.refused(2)
    assert result.err.startswith("error: ")
