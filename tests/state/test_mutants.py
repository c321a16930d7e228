"""Every mutant of `mutants.py` is noticed by the test that it names (slow: each runs it on a copy)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.state.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its file, once."""
    assert (ROOT / "microcosm" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in ("microcosm", "rules", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def passes(folder: Path, tests: str) -> bool:
    """Whether tests pass in the copy; nothing else may go wrong."""
    ran = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": os.defpath, "HYPOTHESIS_PROFILE": "ci", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.returncode == 0


@pytest.mark.slow
def test_without_a_fault_they_pass(copied: Path) -> None:
    assert all(passes(copied, tests) for tests in dict.fromkeys(mutant.tests for mutant in MUTANTS))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_noticed(mutant: Mutant, copied: Path) -> None:
    file = copied / "microcosm" / mutant.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        assert not passes(copied, mutant.tests), "nobody noticed"
    finally:
        file.write_text(text, encoding="utf-8")
