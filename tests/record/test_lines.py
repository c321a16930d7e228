"""Lines that cannot be written, lines that were torn, and who else writes the file."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.record import Recorder
from microcosm.record import lines as module
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.record.logs import lines


class Disk:
    """`os.write`, but for a disk that takes so many bytes of each write, and then says what is wrong."""

    def __init__(self, takes: list[int | None]) -> None:
        self.takes = takes

    def write(self, file: int, content: bytes) -> int:
        room = self.takes.pop(0) if self.takes else None
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(file, content if room is None else content[:room])

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@settings(max_examples=200, deadline=None)
@given(takes=st.lists(st.none() | st.integers(0, 300), max_size=12))
def test_what_a_full_disk_did_not_take_is_written_later_whole_and_once(takes: list[int | None]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AGAIN", 0.0)
        patch.setattr(module, "os", Disk(takes))
        log = Path(folder) / "a.jsonl"
        recorder = Recorder("a", log)
        names = [recorder.event("x" * at) for at in range(20)]
        takes.clear()
        recorder.close()
        assert recorder.lost == 0
        assert [event.id for event in read([log], report=Report())] == names


def test_a_disk_that_stays_full_is_told_of_once_and_never_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LIMIT", 2_000)
    monkeypatch.setattr(module, "os", Disk([None, *[0] * 1_000]))
    with Recorder("a", tmp_path / "a.jsonl") as recorder, caplog.at_level(logging.WARNING):
        for _ in range(100):
            recorder.event("x")
    assert len(lines(tmp_path / "a.jsonl")) + recorder.lost == 100
    assert recorder.lost > 80
    assert [record.name for record in caplog.records] == ["microcosm.record"] * 2
    assert "No space left" in caplog.text
    assert f"{recorder.lost} events are not in" in caplog.text


@pytest.mark.parametrize("policy", ["each", "interval", "exit"])
def test_what_is_done_while_all_ends_is_recorded(policy: str, tmp_path: Path) -> None:
    """By the threads of a process of `multiprocessing`, which ends like no other, and by what was to be done
    at the exit before there was a recorder.
    """
    program = """if True:
        import atexit, multiprocessing, sys, threading, time
        from microcosm.record import Recorder

        def thread():
            time.sleep(0.1)
            recorder.event("thread of a child")

        def child():
            recorder.event("child")
            threading.Thread(target=thread).start()

        def child_with_its_own():
            global recorder
            recorder = Recorder("q", "run.jsonl", flush=sys.argv[1])
            recorder.event("begin of its own")
            recorder.event("end of its own")

        atexit.register(lambda: recorder.event("at the exit"))
        recorder = Recorder("p", "run.jsonl", flush=sys.argv[1])
        for target in (child, child_with_its_own):
            process = multiprocessing.get_context("fork").Process(target=target)
            process.start()
            process.join()
        recorder.event("parent")
    """
    command = [sys.executable, "-W", "error", "-c", program, policy]
    ran = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("", "")
    assert [each["label"] for each in lines(tmp_path / "run.jsonl")] == [
        *("child", "thread of a child", "begin of its own", "end of its own", "parent", "at the exit"),
    ]


def test_a_limit_of_the_system_tears_no_line_for_good(tmp_path: Path) -> None:
    """The real thing: a file may grow to 4,000 bytes; then the limit is lifted."""
    program = """
import resource, signal, sys
from microcosm.record import Recorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with Recorder("a", sys.argv[1]) as recorder:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    for at in range(100):
        recorder.event("x", at=at)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
print(recorder.lost)
"""
    assert resource
    assert signal.SIGXFSZ
    log = tmp_path / "a.jsonl"
    ran = subprocess.run(
        [sys.executable, "-c", program, str(log)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0\n"
    events = [*read([log], report=(report := Report()))]
    assert [event.seq for event in events] == [*range(1, 101)]
    assert set(report.counts) <= {"bad-line"}


def test_a_torn_last_line_is_left_as_it_is_and_what_follows_stands_on_its_own(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    with Recorder("a", log) as recorder:
        recorder.event("whole")
        recorder.event("torn")
    log.write_bytes(log.read_bytes()[:-20])
    with Recorder("a", log) as recorder:
        assert recorder.event("after") == "a#2:1"
    report = Report()
    assert [event.label for event in read([log], report=report)] == ["whole", "after"]
    assert report.counts["bad-line"] == 1


def test_a_stream_is_written_to_and_left_open() -> None:
    text, content = io.StringIO(), io.BytesIO()
    for stream in (text, content):
        with Recorder("ä", stream) as recorder:
            recorder.event("größer", key="\ud800")
        assert not stream.closed
    assert json.loads(text.getvalue())["label"] == json.loads(content.getvalue())["label"] == "größer"


def test_a_stream_that_is_closed_or_raises_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    with Recorder("a", stream) as recorder:
        stream.close()
        recorder.event("x")
        recorder.event("y")
    assert recorder.lost == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_device_that_is_always_full_has_no_earlier_lines_and_takes_none() -> None:
    with Recorder("a", "/dev/full") as recorder:
        assert recorder.event("x") == "a:1"
    assert recorder.lost == 1


def test_after_it_is_closed_nothing_is_written_to_whoever_has_the_number_of_the_file(tmp_path: Path) -> None:
    recorder = Recorder("a", tmp_path / "a.jsonl")
    recorder.event("x")
    recorder.close()
    with open(tmp_path / "other", "wb") as other:
        recorder.event("y")
        recorder.close()
    assert recorder.lost == 1
    assert (tmp_path / "other").read_bytes() == b""
    assert other.closed
    assert len(lines(tmp_path / "a.jsonl")) == 1


def test_a_path_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    for where in (tmp_path, tmp_path / "none" / "a.jsonl", "a\0b"):
        with pytest.raises(TextError, match="cannot be written"):
            Recorder("a", where)
    with pytest.raises(TextError, match="a path or a stream"):
        Recorder("a", 7)
    with pytest.raises(TextError, match="no such policy"):
        Recorder("a", tmp_path / "a.jsonl", flush="often")
    with pytest.raises(TextError, match="has a name"):
        Recorder("")
    with pytest.raises(TextError, match="not both"):
        Recorder("a", resume=True, tasks=True)


class Strange:
    """What can neither be written nor told."""

    def __str__(self) -> str:
        raise RuntimeError


def test_attributes_may_be_anything(tmp_path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    log = tmp_path / "a.jsonl"
    with Recorder("a", log) as recorder:
        recorder.event("x", circle=circle, strange=Strange(), nan=float("nan"), many={1, 2}, of={(1, 2): 3})
        recorder.event("y", content=b"\xff", huge=10**5000, none=None, process="q", seq=7, time="noon")
        recorder.event("z", deep=deep)
        recorder.event(Strange())  # type: ignore[arg-type]
        recorder.event("w", long="x" * 3_000_000)
    report = Report()
    events = [*read([log], report=report)]
    assert [event.id for event in events] == [f"a:{at}" for at in range(1, 6)] or report.counts[
        "bad-line"
    ] == 1
    assert events[0].attributes["strange"] == "<Strange>"
    assert events[1].attributes["process"] == "q"
    assert events[1].attributes["time"] == "noon"
    assert recorder.lost == 0


def many(recorder: Recorder) -> None:
    """What a thread does."""
    for _ in range(300):
        recorder.event("x")


@pytest.mark.parametrize("policy", ["each", "interval", "exit"])
def test_threads_lose_nothing_and_tear_nothing(policy: str, tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    with Recorder("a", log, flush=policy) as recorder, Recorder("b", log, flush=policy) as other:
        by = [recorder] * 4 + [other]
        work = [threading.Thread(target=many, args=(each,)) for each in by]
        for each in work:
            each.start()
        for each in work:
            each.join()
    found = [(line["process"], line["seq"]) for line in lines(log)]
    assert len(found) == len(set(found)) == 1_500


def test_a_line_that_another_is_writing_is_not_taken_for_a_torn_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.jsonl"
    line = b'{"process":"b","seq":1,"kind":"internal"}\n'
    log.write_bytes(line[:20])

    class Slow(Disk):
        """The system is in the middle of the write of another, and ours wait for it."""

        def write(self, file: int, content: bytes) -> int:
            with log.open("ab") as other:
                other.write(line[log.stat().st_size :])
            return os.write(file, content)

    monkeypatch.setattr(module, "os", Slow([]))
    with Recorder("a", log) as recorder:
        recorder.event("x")
    assert log.read_bytes().startswith(line)
    assert [each["process"] for each in lines(log)] == ["b", "a"]


def test_a_program_that_is_killed_has_lost_nothing_that_it_was_told_is_recorded(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from microcosm.record import Recorder
recorder = Recorder("a", sys.argv[1])
for at in range(50):
    recorder.event("x")
os.kill(os.getpid(), signal.SIGKILL)
"""
    log = tmp_path / "a.jsonl"
    ran = subprocess.run([sys.executable, "-c", program, str(log)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert len(lines(log)) == 50


def test_a_program_that_goes_on_is_the_only_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = tmp_path / "a.jsonl"
    with Recorder("a", log, resume=True) as first:
        first.event("x")
        with Recorder("a", log, resume=True) as second:
            assert second.event("y") == "a#2:1"
    assert "in use" in caplog.text
    with Recorder("a", log, resume=True) as third:
        assert third.event("goes on") == "a:3"
        child = os.fork()
        if not child:
            os._exit(third.event("in the child") != "a#3:1")
        assert os.waitpid(child, 0)[1] == 0
        assert third.event("in the parent") == "a:4"
    chains = {(each["process"], each["life"]) for each in lines(log)}
    assert len(chains) == 3


def test_a_file_that_was_deleted_meanwhile_is_said_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every line was written, and nothing is there: nobody was told."""
    kept, gone = (Recorder("a", tmp_path / name) for name in ("kept", "gone"))
    for each in (kept, gone):
        each.event("x")
    (tmp_path / "kept").rename(tmp_path / "kept.1")  # as logs are rotated
    (tmp_path / "gone").unlink()
    for each in (kept, gone):
        each.close()
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'gone'} was deleted: what was recorded there is gone"
    ]
