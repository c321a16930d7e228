"""Every mutant of `mutants.py` is noticed by the tests that it names (slow: each runs them on a copy)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.orderings.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its file, once."""
    for file, old, _ in mutant.changes:
        assert (ROOT / file).read_text(encoding="utf-8").count(old) == 1, (file, old)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in ("microcosm", "rules"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("golden"))
    return folder


def survives(folder: Path, changes: tuple[tuple[str, str, str], ...], names: tuple[str, ...]) -> bool:
    """Whether the tests pass in the copy with these changes, which are taken back afterwards."""
    kept = {file: (folder / file).read_text(encoding="utf-8") for file, _, _ in changes}
    try:
        for file, old, new in changes:
            text = (folder / file).read_text(encoding="utf-8")
            (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "-B", "-m", "tests.orderings.judge", *names],
            cwd=folder,
            env={"PYTHONPATH": str(folder), "PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        for file, text in kept.items():
            (folder / file).write_text(text, encoding="utf-8")
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    assert not ran.stderr, ran.stderr
    return ran.returncode == 0


@pytest.mark.slow
def test_without_a_fault_they_pass(copied: Path) -> None:
    names = dict.fromkeys(name for mutant in MUTANTS for name in mutant.noticed_by)
    assert survives(copied, (), tuple(names))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, copied: Path) -> None:
    assert not survives(copied, mutant.changes, mutant.noticed_by)
