"""What a recorder writes and what is read from it; what is logged is recorded; a replica that is fed."""

from __future__ import annotations

import asyncio
import logging
import logging.config
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm import Microcosm, Relation
from microcosm.errors import TextError
from microcosm.record import Recorder, RecordHandler
from microcosm.record import lines as writing
from microcosm.record import recorder as module
from microcosm.record.header import LONGEST, message_of
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.record.logs import lines
from tests.record.truth import Truth


def test_three_calls_make_a_log_that_orders_two_processes(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("alice", log) as alice, Recorder("store", log) as store:
        assert alice.event("got lease", key="x") == "alice:1"
        header = alice.send("write x=1", to="store")
        assert store.receive(header, "write x=1") == "store:1"
        assert alice.event("later") == "alice:3"
    known = Microcosm.read(log)
    assert known.online("alice:1", "store:1") is Relation.BEFORE
    assert known.online("store:1", "alice:3") is not Relation.AFTER
    first, second, third, _ = lines(log)
    assert first["label"] == "got lease"
    assert first["attributes"].items() >= {"key": "x"}.items()
    assert second["message"] == third["message"]


def test_text_with_half_a_character_is_recorded_and_read(tmp_path: Path) -> None:
    log, half = tmp_path / "run.jsonl", "a\udcff"  # as `os.fsdecode` gives names of files that are no text
    with Recorder(half, log) as recorder:
        recorder.event(half, **{half: [half, "\\ud800", "\\\ud800", "\U0001f600"]})
        recorder.event("next")
    events = [*read([str(log)], report=Report())]
    assert [event.label for event in events] == ["a\ufffd", "next"]
    assert lines(log)[0]["attributes"]["a\ufffd"] == ["a\ufffd", "\\ud800", "\\\ufffd", "\U0001f600"]


def test_a_header_is_short_whoever_sends_it() -> None:
    for process in ("a", "ä" * 50, "a process with a long name" * 9, '"~\n,'):
        recorder = Recorder(process)
        assert all(len(recorder.send("m")) <= LONGEST for _ in range(300))
        assert recorder.send("m").isascii()
    far = Recorder("p" * 99)
    far.event("begin")
    far._strand.seq = 10**13 - 2
    header = far.send("m")
    assert len(header) <= LONGEST
    there = Recorder("q")
    there.receive(header)
    assert there.foreign == 0


FORKS = """
import os, sys
from concurrent.futures import ThreadPoolExecutor

def hook():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

os.register_at_fork(after_in_child=hook)
from microcosm.record import Recorder

with Recorder("p", sys.argv[1], tasks=True) as recorder:
    recorder.event("a")
    child = os.fork()
    if not child:
        recorder.event("b")
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_child_goes_on_where_what_others_do_at_forks_comes_first(tmp_path: Path) -> None:
    """As OpenTelemetry, which asks a pool of threads there what it is part of."""
    log = tmp_path / "log.jsonl"
    subprocess.run([sys.executable, "-c", FORKS, str(log)], timeout=60, check=True)
    known = Microcosm.from_trace(log)
    [a, b] = [f"{each['process']}:{each['seq']}" for each in lines(log)]
    assert known.online(a, b) is Relation.BEFORE


THREADS = """
import os, sys, threading

threads = []

def hook():
    threads.append(threading.Thread(target=lambda: [recorder.event("c") for _ in range(50)]))
    threads[0].start()

os.register_at_fork(after_in_child=hook)
from microcosm.record import Recorder

with Recorder("p", sys.argv[1]) as recorder:
    recorder.event("a")
    child = os.fork()
    if not child:
        for _ in range(50):
            recorder.event("b")
        threads[0].join()
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_thread_that_the_hook_of_another_starts_in_a_child_records_there(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    subprocess.run([sys.executable, "-c", THREADS, str(log)], timeout=60, check=True)
    places = [(each["process"], each["seq"]) for each in lines(log)]
    assert len(places) == len({*places}) == 101
    assert {seq for _, seq in places[1:]} == {*range(1, 101)}


def test_a_child_of_a_fork_is_another_process_that_begins_after_it(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("alice", log, flush="exit") as alice:
        alice.event("before the fork")
        child = os.fork()
        if not child:
            alice.event("in the child")
            alice.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        alice.event("in the parent")
    assert sorted(each["label"] for each in lines(log)) == [
        "before the fork",
        "in the child",
        "in the parent",
    ]
    known = Microcosm.read(log)
    children = [each for each in known.events if each.startswith("alice#")]
    assert len(children) == 1
    assert known.online("alice:1", children[0]) is Relation.BEFORE
    assert known.online("alice:2", children[0]) is Relation.SILENT


def test_a_restart_is_another_process_unless_it_is_said_to_go_on(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    for resume in (False, False, True, False, True):
        with Recorder("alice", log, resume=resume) as alice:
            alice.event("begin")
    names = [f"{each['process']}:{each['seq']}" for each in lines(log)]
    assert names == ["alice:1", "alice#2:1", "alice#3:1", "alice#4:1", "alice#3:3"]


def test_a_child_that_lives_on_is_not_resumed(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("alice", log, resume=True) as alice:
        alice.event("begin")
        child = os.fork()
        if not child:
            alice.event("in the child")
            os._exit(0)
        os.waitpid(child, 0)
    with Recorder("alice", log, resume=True) as again:
        assert again.event("goes on") == "alice:3"


@pytest.mark.parametrize("flush", ["exit", "interval", "each"])
def test_no_later_life_is_called_as_what_a_child_has_seen(flush: str, tmp_path: Path) -> None:
    """A process is killed before it has written; its child refers to what it did, and it goes on."""
    log = tmp_path / "run.jsonl"
    program = f"""
import os, signal
from microcosm.record import Recorder
alice = Recorder("alice", {str(log)!r}, flush={flush!r}, resume=True)
for label in ("one", "two", "three"):
    alice.event(label)
child = os.fork()
if not child:
    alice.event("in the child")
    alice.close()
    os._exit(0)
os.waitpid(child, 0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    with Recorder("alice", log, resume=True) as alice:
        later = [alice.event("later") for _ in range(3)]
    known = Microcosm.read(log)
    [child] = [each for each in known.events if each.startswith("alice#")]
    assert known.online("alice:3", child) is Relation.BEFORE
    assert all(known.online(name, child) is Relation.SILENT for name in later)


def test_whom_a_message_is_sent_to_may_be_anything(tmp_path: Path) -> None:
    with Recorder("alice", tmp_path / "run.jsonl") as alice:
        for to in (5, None, ["p", "q"], object()):
            alice.send("m", to=to)
        assert alice.lost == 0


def test_a_recorder_that_nobody_holds_has_written_what_it_had(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    alice = Recorder("alice", log, flush="exit")
    alice.event("x")
    del alice
    assert len(lines(log)) == 1


def test_earlier_lives_are_found_at_the_end_of_a_long_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "run.jsonl"
    monkeypatch.setattr(writing, "TAIL", 1_000)
    for _ in range(3):
        with Recorder("alice", log) as alice, Recorder("bob", log) as bob:
            alice.event("x")
            for _ in range(30):
                bob.event("x")
    events = [*read([log], report=(report := Report()))]
    assert len({event.id for event in events}) == 93
    assert report.counts["another-life"] == 2
    assert alice.process == "alice"


def test_importing_it_imports_nothing_heavy() -> None:
    program = "import sys, microcosm.record; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    assert loaded.isdisjoint(
        {"lark", "networkx", "typer", "rich", "numpy", "opentelemetry", "asyncio", "starlette"}
    )


def test_two_programs_of_one_name_are_told_apart_and_reported(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        with Recorder("alice", tmp_path / folder / "alice.jsonl") as alice:
            alice.event(f"first, {folder}")
            alice.event(f"second, {folder}")
    there = tmp_path / "there" / "alice.jsonl"
    there.write_text(
        "".join(there.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8"
    )
    report = Report()
    events = [*read([tmp_path / "here" / "alice.jsonl", there], report=report)]
    assert [event.id for event in events][:2] == ["alice:1", "alice:2"]
    assert events[2].id.startswith("alice~")
    assert report.counts["another-life"] == 1
    assert not any("life" in event.attributes for event in events)


def test_what_is_recorded_while_another_event_is_has_a_clock_that_is_true(tmp_path: Path) -> None:
    """As the handler of a signal does, at any place: here a label whose event has its number by then."""
    log = tmp_path / "run.jsonl"

    class Label:
        def __str__(self) -> str:
            alice.event("inside")
            return "outside"

    label: Any = Label()
    with Recorder("alice", log, clocks=True) as alice, Recorder("store", log, clocks=True) as store:
        alice.event("first")
        alice.receive(store.send("to alice"), label)
        alice.event("last")
    report = Report()
    events = {event.label: event for event in read([str(log)], report=report)}
    assert not report.counts
    assert events["outside"].clock is None
    known = Microcosm.read(log)
    assert known.online("store:1", "alice:2") is Relation.BEFORE
    assert known.online("store:1", "alice:3") is Relation.BEFORE
    assert known.online("store:1", "alice:1") is not Relation.BEFORE


def test_who_begins_while_another_one_does_is_of_the_same_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, begun = tmp_path / "run.jsonl", []
    lives = writing.AppendedLines.lives

    def interrupted(lines: writing.AppendedLines, process: bytes) -> dict[int, tuple[int, str]]:
        found = lives(lines, process)
        if not begun:
            begun.append(True)
            alice.event("of the handler")
        return found

    monkeypatch.setattr(writing.AppendedLines, "lives", interrupted)
    with Recorder("alice", log) as alice:
        alice.event("first")
    assert [event.id for event in read([str(log)], report=Report())] == ["alice:1", "alice:2"]


@pytest.mark.parametrize("now", [0, -(10**18), 999_999_999, 10**9, 1_795_386_535_944_077_123, 10**20])
def test_a_clock_that_jumps_is_no_order(now: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("a", log) as recorder:
        recorder.event("first")
        monkeypatch.setattr(module, "time_ns", lambda: now)
        recorder.event("second")
    known = Microcosm.read(log)
    assert known.online("a:1", "a:2") is Relation.BEFORE
    told = lines(log)[1]["attributes"]["time"]
    assert abs(told - max(now, 0) / 1e9) < 1


def test_a_recorder_stays_in_its_process(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="cannot be sent to another process"):
        pickle.dumps(Recorder("alice", tmp_path / "log.jsonl"))


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of its own, without handlers."""
    found = logging.getLogger("tests.record")
    found.setLevel(logging.DEBUG)
    found.propagate = False
    yield found
    for handler in [each for each in found.handlers if isinstance(each, RecordHandler)]:
        found.removeHandler(handler)
        handler.close()


def test_a_record_is_an_event_with_what_extra_brings(tmp_path: Path, logger: logging.Logger) -> None:
    log = tmp_path / "a.jsonl"
    handler = RecordHandler("a", log, level="INFO", flush="exit")
    logger.addHandler(handler)
    logger.debug("not heard")
    logger.info("took %s of %d", "one", 2, extra={"key": "x", "process_": 1})
    try:
        raise ValueError("bad")
    except ValueError:
        logger.exception("failed")
    handler.close()
    first, second = lines(log)
    assert (first["process"], first["seq"], first["kind"], first["label"]) == (
        "a",
        1,
        "internal",
        "took one of 2",
    )
    told = {"key": "x", "process_": 1, "level": "INFO", "logger": "tests.record"}
    assert {**told, "time": first["attributes"]["time"]} == first["attributes"]
    assert second["attributes"]["exception"] == "ValueError('bad')"


def test_a_recorder_of_the_program_stays_open_and_has_one_chain(
    tmp_path: Path, logger: logging.Logger
) -> None:
    log = tmp_path / "a.jsonl"
    with Recorder("a", log) as recorder:
        logger.addHandler(handler := RecordHandler(recorder=recorder))
        header = recorder.send("x")
        logger.info("said")
        handler.close()
        recorder.receive(header)
    assert [each["seq"] for each in lines(log)] == [1, 2, 3]


def test_what_the_recorder_says_itself_is_not_recorded(tmp_path: Path) -> None:
    with RecordHandler("a", tmp_path / "a.jsonl").recorder as recorder:
        handler = RecordHandler(recorder=recorder)
        handler.handle(logging.makeLogRecord({"name": "microcosm.record", "msg": "full"}))
    assert (tmp_path / "a.jsonl").read_text(encoding="utf-8") == ""


def test_arguments_that_do_not_fit_are_told_as_logging_tells_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = RecordHandler("a", tmp_path / "a.jsonl")
    handler.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
    handler.close()
    assert "Logging error" in capsys.readouterr().err


def test_it_has_a_process_or_a_recorder() -> None:
    for wrong in ({}, {"process": "a", "recorder": Recorder("a")}):
        with pytest.raises(TextError, match="a process, or a recorder"):
            RecordHandler(**wrong)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("esr"), st.integers(0, 2), st.integers(0, 5)), max_size=20))
def test_what_replicas_know_of_each_other_is_true_and_all_of_it(steps: list[tuple[str, int, int]]) -> None:
    names = ("p", "q", "r")
    replicas = [Replica(Memory(), name, members=names) for name in names]
    recorders = [Recorder(name, replica=each) for name, each in zip(names, replicas, strict=True)]
    truth, sent = Truth(), []
    for what, at, which in steps:
        if what == "s":
            header = recorders[at].send("x")
            event = str(message_of(header))
            sent.append(header)
            truth.add(names[at], event)
        elif what == "r" and sent:
            header = sent[which % len(sent)]
            truth.add(names[at], recorders[at].receive(header), [str(message_of(header))])
        else:
            truth.add(names[at], recorders[at].event("x"))
    for _ in range(2):
        level(replicas[0], replicas[1])
        level(replicas[1], replicas[2])
    known = replicas[0]
    for left in truth.before:
        for right in truth.before.keys() - {left}:
            is_before = known.online(left, right) is Relation.BEFORE
            assert is_before == (left in truth.before[right])
    assert not any(each.refused for each in recorders)


def test_a_process_that_lived_before_has_another_name() -> None:
    replica = Replica(Memory(), "p")
    quoted = Replica(Memory(), "q")
    asking = Recorder('"q" \u00e4', replica=quoted)
    asking.receive(asking.send("x"))
    assert asking.refused == 0
    assert str(message_of(Recorder("p", replica=replica).send("x"))).startswith("p:1~")
    assert Recorder("p", replica=replica).event("x") == "p#2:1"
    with pytest.raises(TextError, match="for messages"):
        Recorder("c", replica=replica)
    with pytest.raises(TextError, match="not both"):
        Recorder("p", replica=replica, tasks=True)


def test_what_the_replica_refuses_is_counted_and_nothing_is_raised(tmp_path: Path) -> None:
    replica = Replica(Memory(), "p")
    with Recorder("p", tmp_path / "p.jsonl", replica=replica) as recorder:
        header = recorder.send("x")
        replica.local("p:2")
        recorder.receive(header)
    assert recorder.refused == 1
    assert len((tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_node_is_fed_from_threads_in_the_order_of_the_log(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from microcosm.replica.network.keys import new_ring
    from microcosm.replica.node import serve

    async def run() -> list[str]:
        async with serve(tmp_path / "p.journal", "p", keys=new_ring()) as node:
            recorder = Recorder("p", replica=node)

            def many() -> None:
                for _ in range(50):
                    recorder.event("x")

            work = [threading.Thread(target=many) for _ in range(3)]
            for each in work:
                each.start()
            while any(each.is_alive() for each in work):
                recorder.event("beside")
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            recorder.event("last")
            await node.durable()
            assert recorder.refused == 0
            return next(iter(node.replica.chains().values()))

    chain = asyncio.run(run())
    assert chain == [f"p:{at}" for at in range(1, len(chain) + 1)]
    assert len(chain) > 150
