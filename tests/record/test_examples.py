"""The programs of examples/ that are recorded: each has a bug, and its questions find it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from microcosm.cli.app import main
from tests.stories.test_lease import PATTERN

EXAMPLES = Path(__file__).parents[2] / "examples"


def answers(capsys: pytest.CaptureFixture[str], log: Path, questions: Path, *more: str) -> list[Any]:
    """What the questions of a file have for an answer, as JSON."""
    assert main(["assert", str(log), str(questions), "--json", *more]) == 1
    return list(json.loads(capsys.readouterr().out)["questions"])


def run(program: str, *arguments: str) -> None:
    """Run a program of examples/ as people do."""
    command = [sys.executable, str(EXAMPLES / program), *arguments]
    environment = {"PYTHONPATH": str(EXAMPLES.parent), "PATH": ""}
    subprocess.run(command, check=True, timeout=120, env=environment)


@pytest.mark.parametrize("how", ["logging", "recorder", "otel"])
def test_the_lease_is_written_under_by_two(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if how == "otel":
        pytest.importorskip("opentelemetry.sdk")
    run("lease/lease.py", str(tmp_path), how)
    pattern = ["--pattern", PATTERN] if how == "logging" else []
    every, never = answers(capsys, tmp_path, EXAMPLES / "lease" / "lease.ask", *pattern)
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    (found,) = never["witnesses"]
    assert [event.split(":")[0] for event in sorted(found["events"].values())] == ["alice", "bob"]
    assert found["parameters"] == {"key": "x"}


def test_two_lead_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("raft/raft.py", str(tmp_path))
    every, never = answers(capsys, tmp_path, EXAMPLES / "raft" / "raft.ask")
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    assert "n3#2" in (tmp_path / "n3.jsonl").read_text(encoding="utf-8")
