"""The programs of examples/ that are recorded: each has a bug, and its questions find it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.cli.app import main
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.record.truth import truth_of
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


@pytest.mark.parametrize("how", ["logging", "recorder", "otel"])
def test_what_is_read_of_the_lease_is_what_happened(how: str, tmp_path: Path) -> None:
    """Of each pair of sendings and receptions, against the order that was kept under a lock meanwhile."""
    if how == "otel":
        pytest.importorskip("opentelemetry.sdk")
    (tmp_path / "logs").mkdir()
    program = Path(__file__).with_name("told_lease.py")
    command = [sys.executable, str(program), str(EXAMPLES / "lease"), str(tmp_path), how]
    subprocess.run(command, check=True, timeout=120, env={"PYTHONPATH": str(EXAMPLES.parent), "PATH": ""})
    truth = truth_of(tmp_path / "truth").before
    logs = sorted((tmp_path / "logs").iterdir())
    pattern = PATTERN if how == "logging" else None
    names, count = {}, Counter[str]()
    for event in read(logs, pattern=pattern, report=Report()):
        if event.message is not None:
            count[f"{event.process} {event.kind}"] += 1
            names[f"{event.process} {event.kind} {count[f'{event.process} {event.kind}']}"] = event.id
    assert names.keys() == truth.keys()
    known = Microcosm.from_trace(*logs, pattern=pattern, complete=True)
    for left, right in permutations(truth, 2):
        verdict = known.offline(names[left], names[right]).relation
        if left in truth[right]:
            assert verdict is Relation.BEFORE, (left, right)
        elif right not in truth[left]:
            assert verdict is Relation.CONCURRENT, (left, right)


def test_two_lead_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("raft/raft.py", str(tmp_path))
    every, never = answers(capsys, tmp_path, EXAMPLES / "raft" / "raft.ask")
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    assert "n3#2" in (tmp_path / "n3.jsonl").read_text(encoding="utf-8")
