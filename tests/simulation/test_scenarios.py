"""Scenarios are replayed: what happens now must be what is written under their steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from microcosm.errors import TextError
from microcosm.protocol.hybrid.unicast import HybridSPS
from microcosm.simulation.scenario import Scenario, replay

SCENARIOS = sorted((Path(__file__).parents[1] / "golden" / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_what_happens_is_what_is_written(file: Path, golden: Callable[[str, str], None]) -> None:
    golden(f"scenarios/{file.name}", replay(file.read_text(encoding="utf-8"), file.name))


def test_replaying_twice_changes_nothing() -> None:
    text = replay("rst, 2 processes\n\np1 sends a to p2\nsettle\ncheck\n")
    assert text.endswith("nothing is wrong\n")
    assert replay(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no-such, 2 processes\n", 1),
        ("rst, 2 processes\n\np1 jumps\n----\n", 3),
        ("rst, 2 processes\n\np1 sends a to p3\n----\n", 3),
        ("rst, 2 processes\n\np1 sends a to p2\np1 sends a to p2\n----\n", 4),
        ("rst, 2 processes\n\np2 receives from p1\n----\n", 3),
        ("hybrid-basic, 3 processes\n\np1 sends a to p2, p3\n----\n", 3),
    ],
)
def test_a_faulty_step_is_shown_with_its_place(text: str, line: int) -> None:
    with pytest.raises(TextError) as caught:
        replay(text, "some.txt")
    assert caught.value.line == line
    assert f"some.txt:{line}:1" in str(caught.value)


def test_figure_4_of_hybrid_buffering() -> None:
    """The scenario `figure-4` is in the state of the figure before it settles, index by index."""
    scenario = Scenario("hybrid-sps", 6)
    output = False
    for line in (SCENARIOS[0].parent / "figure-4.txt").read_text(encoding="utf-8").splitlines()[3:]:
        output = bool(line) and (output or line == "----")
        if line == "settle":
            break
        if line and not output and not line.startswith("#"):
            scenario.do(line)
    machine = scenario.machines[0]
    assert isinstance(machine, HybridSPS)
    buffer, missing = machine._buffer, machine._missing
    index = {letter: buffer.first + at for at, letter in enumerate("cdefghijklmn")}
    assert buffer.next == index["n"] + 1
    assert [letter for letter, at in index.items() if buffer[at].acked] == ["d", "j"]
    sent = {letter for letter, at in index.items() if buffer[at].sent}
    assert sent == set("cdefg") | set("ij")  # all before m1, some up to m2, none from there on
    assert (machine._u2, machine._m1, machine._m2) == (index["f"], index["h"], index["l"])
    c, e, f = (buffer[index[letter]].receiver for letter in "cef")
    assert f != c == e
    p, q, r, last = (missing[at] for at in range(missing.first, missing.next))
    assert q is None
    assert p is not None
    assert r is not None
    assert last is not None
    assert last[0] != p[0] == r[0]
    assert machine._p2 == missing.index(last)
    assert buffer[index["l"]].waits > machine._p2 >= buffer[index["k"]].waits
    machine._check()
