"""Every mutant of `mutants.py` is noticed by the tests that it names (slow: each runs them in a copy)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.replica.network.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its file, once."""
    assert (ROOT / "microcosm" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, tmp_path: Path) -> None:
    for name in ("microcosm", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file = tmp_path / "microcosm" / mutant.file
    text = file.read_text(encoding="utf-8").replace(mutant.old, mutant.new)
    file.write_text(text, encoding="utf-8")
    compile(text, mutant.file, "exec")
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *f"tests/replica/network/{mutant.tests}".split(),
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
