"""Scenarios are replayed: what happens now must be what is written under their steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from microcosm.errors import TextError
from microcosm.simulation.scenario import replay

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
