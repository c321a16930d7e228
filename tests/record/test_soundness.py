"""What is read from recorded logs is true, whatever happens to programs and lines, and nearly all is read.

The truth is a list that the test keeps under a lock, closed by code of its own (`truth.py`).
"""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.record import Recorder
from tests.record.truth import Truth, truth_of

WORKER = Path(__file__).with_name("worker.py")

STEP = st.tuples(st.sampled_from("esrRxf"), st.integers(0, 3), st.integers(0, 9))
"""What a process does next: an event, a sending, receptions, forged receptions, a new life, a flush."""


def happens(steps: list[tuple[str, int, int]], folder: Path, together: bool, clocks: bool) -> Truth:
    """Let four processes do what is said, each with a recorder, and tell the truth of it."""
    truth = Truth()

    def begun(process: int) -> Recorder:
        log = folder / ("all.jsonl" if together else f"{process}.jsonl")
        policy = ("each", "interval", "exit")[process % 3]
        return Recorder(f"p{process}", log, flush=policy, clocks=clocks and process < 3)

    running = [begun(process) for process in range(4)]
    lives = [0] * 4
    sent: list[tuple[str, str]] = []
    for number, (what, process, which) in enumerate(steps):
        recorder, chain, label = running[process], f"{process} {lives[process]}", f"e{number}"
        if what == "s":
            sent.append((recorder.send(label), label))
            truth.add(chain, label)
        elif what == "r" and sent:
            header, sending = sent[which % len(sent)]
            recorder.receive(header, label)
            truth.add(chain, label, [sending])
        elif what == "R":
            guessed = [guess(header) for header, _ in sent]
            forged = ["x", b"\xff", "", 7, "1~p0:1~AAAAAAAAAAA", None, *guessed]
            recorder.receive(forged[which % len(forged)], label)
            truth.add(chain, label)
        elif what == "x":
            recorder.close()
            running[process] = begun(process)
            lives[process] += 1
        elif what == "f":
            recorder.flush()
        else:
            recorder.event(label)
            truth.add(chain, label)
    for recorder in running:
        recorder.close()
    return truth


def guess(header: str) -> str:
    """A header that names the right event of the right process, but for one of its random letters."""
    name, token = header.partition(";")[0].rsplit("~", 1)
    return f"{name}~{token[:-1]}{'A' if token[-1] != 'A' else 'B'}"


def thin(logs: list[Path], share: float, chosen: random.Random) -> None:
    """Take lines out of logs, and cut some short."""
    for log in logs:
        kept = [line for line in log.read_bytes().splitlines(keepends=True) if chosen.random() >= share]
        if len(kept) > 1 and chosen.random() < 0.3:
            kept[-1] = kept[-1][: chosen.randrange(len(kept[-1]))]
        log.write_bytes(b"".join(kept))


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(STEP, max_size=40), together=st.booleans(), clocks=st.booleans(), seed=st.integers(0, 99)
)
def test_what_is_read_is_true_and_all_of_it_is_read(
    steps: list[tuple[str, int, int]], together: bool, clocks: bool, seed: int
) -> None:
    """Of a whole log everything; of what is left when lines are lost nothing false."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = happens(steps, folder, together, clocks)
        logs = sorted(folder.iterdir())
        if not any(log.stat().st_size for log in logs):
            return
        found, true, events = truth.check(*logs)
        assert found == true
        assert events == len(truth.before)
        some = [log for log in logs if log != logs[seed % len(logs)] and log.stat().st_size]
        if some:
            truth.check(*some)
        thin(logs, 0.3, random.Random(seed))
        if any(log.stat().st_size for log in logs):
            left, still_true, _ = truth.check(*[log for log in logs if log.stat().st_size])
            assert left <= still_true


def crowd(folder: Path, kills: int, policies: list[str]) -> tuple[Path, list[Path]]:
    """Processes that talk over UDP, are killed and started again, some twice at a time under one name."""
    chosen = random.Random(1)
    names = ["a", "b", "c"]
    sockets = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(4)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    truth = folder / "truth"

    def start(at: int) -> subprocess.Popen[bytes]:
        name = names[at] if at < 3 else "a"  # the fourth is another program that calls itself `a`
        log = folder / f"{name if at < 3 else 'another'}.jsonl"
        policy = chosen.choice(policies)
        about = [
            name,
            str(log),
            policy,
            str(truth),
            str(sockets[at].fileno()),
            json.dumps(ports),
            str(chosen.random()),
        ]
        return subprocess.Popen([sys.executable, str(WORKER), *about], pass_fds=[sockets[at].fileno()])

    running = [start(at) for at in range(4)]
    for kill in range(kills):
        while not truth.exists() or len(truth.read_bytes().splitlines()) < 25 * (kill + 1):
            time.sleep(0.01)
        at = chosen.randrange(4)
        running[at].send_signal(signal.SIGKILL)
        running[at].wait()
        running[at] = start(at)
    for each in running:
        each.send_signal(chosen.choice([signal.SIGKILL, signal.SIGTERM]))
    for each in running:
        each.wait()
    for each in sockets:
        each.close()
    return truth, [log for log in sorted(folder.glob("*.jsonl")) if log.stat().st_size]


@pytest.mark.parametrize(
    ("policies", "kills"),
    [
        (["each"], 3),
        pytest.param(["each"], 10, marks=pytest.mark.slow),
        pytest.param(["each", "interval", "exit"], 10, marks=pytest.mark.slow),
    ],
)
def test_nothing_false_is_read_of_processes_that_are_killed(
    policies: list[str], kills: int, tmp_path: Path
) -> None:
    """And all that is true, where each line is written at once; else those killed have lost some lines."""
    path, logs = crowd(tmp_path, kills, policies)
    truth = truth_of(path)
    found, true, events = truth.check(*logs)
    assert events > 20 or policies != ["each"]
    assert found == true or policies != ["each"]
    thin(logs, 0.3, random.Random(1))
    truth.check(*[log for log in logs if log.stat().st_size])
