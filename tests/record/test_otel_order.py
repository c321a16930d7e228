"""What is recorded of services under OpenTelemetry is true, and nearly all that is true is recorded.

`otel_system.py` runs them and keeps the true order by vector clocks of its own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from microcosm import Microcosm, Relation
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.thorough import draws

pytest.importorskip("opentelemetry.instrumentation.httpx")

SYSTEM = Path(__file__).with_name("otel_system.py")
RECALL = 0.99
LOST = 0.3

Truth = dict[str, tuple[str, dict[str, int]]]


def system(folder: Path, seed: int, *options: str) -> Truth:
    """A run; of each point its chain and its clock."""
    folder.mkdir()
    path = os.pathsep.join((str(SYSTEM.parents[2]), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, str(SYSTEM), str(folder), str(seed), *options]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    found: Truth = {}
    for file in (folder / "truth").iterdir():
        for line in file.read_text().splitlines():
            label, chain, clock = json.loads(line)
            found[label] = chain, clock
    return found


def compared(folder: Path, truth: Truth) -> tuple[int, int, list[tuple[str, str]]]:
    """How many pairs are truly ordered, how many of these are told, and what is told and not true."""
    files = sorted(str(file) for file in (folder / "records").iterdir())
    names = {
        event.label: event.name or f"{event.process}:{event.seq}"
        for event in read(files, report=Report())
        if event.label in truth
    }
    known = Microcosm.read(folder / "records")
    ordered = told = 0
    false = []
    for before, first in names.items():
        chain, clock = truth[str(before)]
        for after, second in names.items():
            if before == after:
                continue
            is_before = truth[str(after)][1].get(chain, 0) >= clock[chain]
            is_told = known.online(first, second) is Relation.BEFORE
            ordered += is_before
            told += is_before and is_told
            if is_told and not is_before:
                false.append((str(before), str(after)))
    return ordered, told, false


def thin(folder: Path, seed: int) -> None:
    """Lose lines of what was recorded."""
    chance = random.Random(seed)
    for file in (folder / "records").iterdir():
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(line for line in lines if chance.random() > LOST))


def test_what_is_told_is_true_and_nearly_all_is_told(tmp_path: Path) -> None:
    truth = system(tmp_path / "run", 1, "--threads")
    ordered, told, false = compared(tmp_path / "run", truth)
    assert len(truth) > 100
    assert false == []
    assert told >= RECALL * ordered > 1000
    thin(tmp_path / "run", 1)
    assert compared(tmp_path / "run", truth)[2] == [], "of a part of it nothing else follows"


@pytest.mark.slow
def test_nothing_false_is_told_where_a_service_is_killed(tmp_path: Path) -> None:
    truth = system(tmp_path / "run", 2, "--threads", "--kill", "20")
    _, told, false = compared(tmp_path / "run", truth)
    assert false == []
    assert told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 3 + draws(2, 4)))
def test_many_systems(tmp_path: Path, seed: int) -> None:
    options = (["--threads"] if seed % 2 else []) + (["--kill", str(5 * seed)] if seed % 3 == 0 else [])
    truth = system(tmp_path / "run", seed, *options)
    ordered, told, false = compared(tmp_path / "run", truth)
    assert false == []
    if "--kill" not in options:
        assert told >= RECALL * ordered > 0
    for _ in range(3):
        thin(tmp_path / "run", seed)
        assert compared(tmp_path / "run", truth)[2] == []
