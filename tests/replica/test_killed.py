"""Some of what `tests.replica.killed` and `killed_back` do at length: nodes killed, and what is left."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import draws

pytest.importorskip("cryptography")

ROOT = Path(__file__).parents[2]


def killed(*options: str, program: str = "killed") -> dict[str, int]:
    """In a process of its own, which forks and has no threads."""
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.replica.{program}", *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, int] = ast.literal_eval(ran.stdout)
    return found


@pytest.mark.slow
def test_at_random_instants() -> None:
    found = killed("--kills", str(kills := draws(12, 20)), "--seed", "5")
    assert found["kills"] == kills
    assert found["acknowledged"] > kills


@pytest.mark.slow
def test_at_some_fault_points() -> None:
    found = killed("--points", "89")
    assert found["kills"] >= 5
    assert found["acknowledged"] > found["kills"]


@pytest.mark.slow
def test_at_random_instants_and_some_are_put_back() -> None:
    found = killed(str(kills := draws(10, 16)), "5", program="killed_back")
    assert found["kills"] == kills
    assert found["put_back"] > 0
