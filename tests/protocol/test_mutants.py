"""Every mutant of `mutants.py` is noticed by the tests that it names (slow: each runs them in a copy)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.protocol.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its files, once."""
    files = (ROOT / "microcosm" / "protocol" / file for file in mutant.file.split())
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert [text.count(old) for old, _ in mutant.changes] == [1] * len(mutant.changes)


def survives(mutant: Mutant | None, folder: Path) -> bool:
    """Whether the tests pass in a copy of the package with the fault in it."""
    for name in ("microcosm", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    tests = "hybrid/test_hybrid.py test_delivery.py" if mutant is None else mutant.tests
    if mutant is not None:
        for name in mutant.file.split():
            file = folder / "microcosm" / "protocol" / name
            text = file.read_text(encoding="utf-8")
            for old, new in mutant.changes:
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *(f"tests/protocol/{test}" for test in tests.split()),
        ],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.returncode == 0


@pytest.mark.slow
def test_without_a_fault_they_pass(tmp_path: Path) -> None:
    assert survives(None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, tmp_path: Path) -> None:
    assert not survives(mutant, tmp_path)
