"""The programs of examples/ that are recorded: each has a bug, and its questions find it."""

from __future__ import annotations

import json
import os
import re
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
from tests.record.test_otel import installed
from tests.record.truth import truth_of
from tests.stories.test_lease import PATTERN

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def answers(capsys: pytest.CaptureFixture[str], log: Path, questions: Path, *more: str) -> list[Any]:
    """What the questions of a file have for an answer, as JSON."""
    assert main(["assert", str(log), str(questions), "--json", *more]) == 1
    return list(json.loads(capsys.readouterr().out)["questions"])


def run(program: Path, *arguments: str, path: Path = EXAMPLES) -> None:
    """Run a program, as people do."""
    command = [sys.executable, str(program), *arguments]
    environment = {"PYTHONPATH": os.pathsep.join((str(path), str(EXAMPLES.parent))), "PATH": ""}
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
        pytest.importorskip("opentelemetry.instrumentation.httpx")
        pytest.importorskip("opentelemetry.instrumentation.starlette")
    folder = tmp_path / "logs"
    folder.mkdir()
    run(
        HERE / "told_lease.py", str(EXAMPLES / "lease"), str(tmp_path), how, path=installed(tmp_path / "here")
    )
    pattern = PATTERN if how == "logging" else None
    truth = truth_of(tmp_path / "truth").before
    names = messages_of_chains(folder) if how == "otel" else messages(folder, pattern)
    assert names.keys() == {event for event in truth if "lease" not in event}
    known = Microcosm.from_trace(folder, pattern=pattern)
    for left, right in combinations(names, 2):
        if left.split()[0] != right.split()[0]:
            verdict = known.online(names[left], names[right])
            assert (verdict is Relation.BEFORE) == (left in truth[right]), (left, right)
            assert (verdict is Relation.AFTER) == (right in truth[left]), (left, right)

    said = ["--pattern", pattern] if pattern else []
    every, never = answers(capsys, folder, EXAMPLES / "lease" / "lease.ask", *said)
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    (found,) = never["witnesses"]
    writers = sorted(found["events"].values())
    assert [re.split("[/:]", event)[0] for event in writers] == ["alice", "bob"]
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


def messages_of_chains(folder: Path) -> dict[str, str]:
    """The same where each task is a chain: the first sending of the second chain of the lock, …"""
    names, chains, count = {}, dict[str, str](), Counter[str]()
    for event in read(sorted(folder.iterdir()), report=Report()):
        if event.process not in chains:
            name = str(event.process).split("/")[0]
            count[name] += 1
            chains[event.process] = f"{name} {count[name]}"
        if event.message is not None:
            kind = f"{chains[event.process]} {event.kind}"
            count[kind] += 1
            names[f"{kind} {count[kind]}"] = event.id
    return names


def test_two_lead_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(EXAMPLES / "raft" / "raft.py", str(tmp_path))
    every, never = answers(capsys, tmp_path, EXAMPLES / "raft" / "raft.ask")
    assert (every["verdict"], never["verdict"]) == ("holds", "violated")
    assert "n3#2" in (tmp_path / "n3.jsonl").read_text(encoding="utf-8")
