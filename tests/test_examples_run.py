"""Every example says what to expect, and that is what comes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from microcosm import Microcosm, Relation

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.glob("*.mc"))
PROGRAMS = sorted(EXAMPLES.glob("*.py"))

VERDICT = re.compile(r'^# verdict: (".*?"|\S+) (\S+) (".*?"|\S+)$', re.MULTILINE)
PRINTS = "# It prints:\n"


def expected(file: Path) -> list[tuple[str, Relation, str]]:
    """The lines `# verdict: a < b` of a microcosm file."""
    verdicts = VERDICT.findall(file.read_text(encoding="utf-8"))
    return [(a.strip('"'), Relation(None if r == "silent" else r), b.strip('"')) for a, r, b in verdicts]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_answers_as_it_says(file: Path) -> None:
    known = Microcosm.read(file)
    verdicts = expected(file)
    assert [(a, known.online(a, b), b) for a, _, b in verdicts] == verdicts
    assert len(verdicts) >= 2


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.name)
def test_a_program_prints_what_it_says(file: Path, tmp_path: Path) -> None:
    """The comment at the end of a program is its output, line by line."""
    _, _, tail = file.read_text(encoding="utf-8").partition(PRINTS)
    promised = [line.removeprefix("#").removeprefix("   ") for line in tail.splitlines()]
    command = [sys.executable, str(file)]
    env = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == promised
    assert promised
    assert list(tmp_path.iterdir()) == []


def test_there_are_examples_of_both_kinds() -> None:
    assert len(FILES) >= 3
    assert len(PROGRAMS) >= 3
