"""The story of examples/lease: from plain logs of four processes to two concurrent writes, in three commands.

The logs in `tests/stories/lease` are those of a real run of `examples/lease/lease.py`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.cli.app import main
from microcosm.errors import NotComplete, NotOneEvent

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "examples" / "lease" / "lease.py"

PATTERN = (
    r"(?<time>\S+ \S+) \w+ (?<host>\w+): "
    r"(?:(?<kind>send|receive) (?<message>\S+?)(?: to (?<to>\w+))?: )?(?<event>.*)"
)
"""How the lines of `logging` are read that name the message which they send or receive."""

PLACE = re.compile(r"\w+\.log:\d+")

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name in ("alice", "bob", "lock", "store"):
        shutil.copy(HERE / "lease" / f"{name}.log", tmp_path)
    monkeypatch.chdir(tmp_path)
    return [f"{name}.log" for name in ("alice", "bob", "lock", "store")]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], logs: list[str]) -> Ask:
    def asked(command: str, *more: str) -> tuple[int, str]:
        code = main([command, *logs, *more, "--pattern", PATTERN])
        return code, capsys.readouterr().out

    return asked


def test_three_commands_from_the_logs_to_the_proof(ask: Ask, logs: list[str]) -> None:
    code, found = ask("events", "--grep", "^write", "kind=send")
    assert code == 0
    assert found.splitlines() == [
        'alice:4  "write x=1"  send alice-2   (alice.log:4)',
        'bob:3  "write x=2"  send bob-2   (bob.log:3)',
    ]
    code, silent = ask("online", "alice.log:4", "bob.log:3")
    assert code == 3
    assert "say --complete" in silent
    code, told = ask("online", "alice.log:4", "bob.log:3", "--complete")
    assert code == 0
    assert told.startswith('alice:4 "write x=1" || bob:3 "write x=2"   (concurrent)\n')
    assert "concluded offline" in told
    code, proved = ask("offline", "/alice.*write x=1/", "/bob.*write x=2/", "--complete")
    assert code == 0
    assert proved.startswith('alice:4 "write x=1" || bob:3 "write x=2"   (concurrent)\n')
    leaf = proved.splitlines()[-1]
    assert PLACE.findall(leaf) == ["alice.log:4", "bob.log:3"]
    for place in PLACE.findall(proved):
        file, line = place.split(":")
        assert (
            Path(file)
            .read_text(encoding="utf-8")
            .splitlines()[int(line) - 1]
            .split(": ")[-1]
            .startswith("write")
        )


def test_the_answer_is_one_for_programs_and_the_kernel_accepts_it(ask: Ask, tmp_path: Path) -> None:
    code, text = ask("offline", "alice:4", "bob:3", "--complete", "--json")
    answer: dict[str, Any] = json.loads(text)
    assert (code, answer["verdict"]) == (0, "||")
    assert answer["events"]["alice:4"] == {"label": "write x=1", "file": "alice.log", "line": 4}
    (tmp_path / "answer").write_text(text, encoding="utf-8")
    assert ask("verify", "answer", "--complete") == (0, "valid: the kernel accepts every step\n")


def test_what_is_ordered_is_proved_line_by_line(ask: Ask, logs: list[str]) -> None:
    code, folded = ask("why", "/alice.*ask for the lease/", "/bob.*write x=2/")
    assert code == 0
    assert 'lock:1 … lock:5 "the lease is yours"  (process lock, 4 steps)' in folded
    code, proved = ask("why", "/alice.*ask for the lease/", "/bob.*write x=2/", "--full")
    assert code == 0
    leaves = [line for line in proved.splitlines() if "(Init" in line]
    assert len(leaves) >= 4
    for leaf in leaves:
        one, other = PLACE.findall(leaf)
        for place in (one, other):
            file, line = place.split(":")
            assert int(line) <= len(Path(file).read_text(encoding="utf-8").splitlines())
    assert '"lease of alice expired"' in proved


def test_a_log_with_a_hole_is_not_complete(logs: list[str]) -> None:
    lock = Path("lock.log")
    lock.write_text("".join(lock.read_text(encoding="utf-8").splitlines(keepends=True)[2:]), encoding="utf-8")
    with pytest.raises(NotComplete, match="lock-1"):
        Microcosm.from_trace(*logs, pattern=PATTERN, complete=True)


def test_from_python(logs: list[str]) -> None:
    known = Microcosm.from_trace(".", pattern=PATTERN, complete=True)
    alice, bob = known.event("/alice.*write/"), known.event("bob.log:3")
    assert known.offline(alice, bob).relation is Relation.CONCURRENT
    with pytest.raises(NotOneEvent, match="is 4 events") as raised:
        known.event("/write x/")
    assert raised.value.events == ("alice:4", "bob:3", "store:1", "store:3")


def test_the_program_does_what_its_logs_say(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], check=True, timeout=120)
    known = Microcosm.from_trace(tmp_path, pattern=PATTERN, complete=True)
    alice, bob = known.event("/^alice.*write x=1/"), known.event("/^bob.*write x=2/")
    assert known.offline(alice, bob).relation is Relation.CONCURRENT  # whoever asked first
