"""The programs of examples/ that are recorded: each has a bug, and its questions find it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.cli.app import main
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.record.truth import truth_of
from tests.stories.test_lease import PATTERN

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def answers(capsys: pytest.CaptureFixture[str], log: Path, questions: Path, *more: str) -> list[Any]:
    """What the questions of a file have for an answer, as JSON."""
    assert main(["assert", str(log), str(questions), "--json", *more]) == 1
    return list(json.loads(capsys.readouterr().out)["questions"])


def run(program: Path, *arguments: str) -> None:
    """Run a program, as people do."""
    command = [sys.executable, str(program), *arguments]
    environment = {"PYTHONPATH": str(EXAMPLES.parent), "PATH": ""}
    subprocess.run(command, check=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    "how",
    ["recorder", *(pytest.param(how, marks=pytest.mark.slow) for how in ("logging", "otel"))],
)
def test_the_lease_is_read_as_it_happened_and_two_write_under_it(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sendings and receptions, against the order that was kept under a lock meanwhile; and the questions.

    That the program runs by itself is what the pages show (guides/tour.md, guides/from-your-logs.md).
    """
    if how == "otel":
        pytest.importorskip("opentelemetry.sdk")
    folder = tmp_path / "logs"
    folder.mkdir()
    run(HERE / "told_lease.py", str(EXAMPLES / "lease"), str(tmp_path), how)
    pattern = PATTERN if how == "logging" else None
    truth, names = truth_of(tmp_path / "truth").before, messages(folder, pattern)
    assert names.keys() == truth.keys()
    known = Microcosm.from_trace(folder, pattern=pattern)
    for left, right in combinations(truth, 2):
        if left.split()[0] != right.split()[0]:
            verdict = known.online(names[left], names[right])
            assert (verdict is Relation.BEFORE) == (left in truth[right]), (left, right)
            assert (verdict is Relation.AFTER) == (right in truth[left]), (left, right)

    said = ["--pattern", pattern] if pattern else []
    every, never = answers(capsys, folder, EXAMPLES / "lease" / "lease.ask", *said)
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    (found,) = never["witnesses"]
    assert [event.split(":")[0] for event in sorted(found["events"].values())] == ["alice", "bob"]
    assert found["parameters"] == {"key": "x"}


def messages(folder: Path, pattern: str | None) -> dict[str, str]:
    """The events that send and receive, as the truth calls them: the second sending of Alice, …"""
    names, count = {}, Counter[str]()
    for event in read(sorted(folder.iterdir()), pattern=pattern, report=Report()):
        if event.message is not None:
            kind = f"{event.process} {event.kind}"
            count[kind] += 1
            names[f"{kind} {count[kind]}"] = event.id
    return names


def test_two_lead_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(EXAMPLES / "raft" / "raft.py", str(tmp_path))
    every, never = answers(capsys, tmp_path, EXAMPLES / "raft" / "raft.ask")
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    assert "n3#2" in (tmp_path / "n3.jsonl").read_text(encoding="utf-8")
