"""What is said soon where Spark cannot work: nobody answers, a disk is full; and what a worker can hold."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from microcosm.cli.app import main
from microcosm.spark import session
from microcosm.spark.io.inputs import Piece
from microcosm.spark.session import NoSpark, worker_memory
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.jsonl import line_of


def test_a_server_that_does_not_answer_is_said_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="what pyspark says of a server is told in our words")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(session, "_running", lambda: None)
    monkeypatch.setattr(session, "lacking", lambda modules: [])
    begin = time.monotonic()
    with pytest.raises(NoSpark, match="did not answer"), session.session(f"sc://127.0.0.1:{port}"):
        pass
    assert time.monotonic() - begin < session.PATIENCE + 5


def test_a_server_that_says_nothing_is_said_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyspark", "grpc", "grpc_status"):
        pytest.importorskip(module, reason="Spark Connect needs it")
    monkeypatch.setattr(session, "_running", lambda: None)
    monkeypatch.setattr(session, "PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and that is all
        server = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(NoSpark, match="said nothing for 1 seconds"), session.session(server):
            pass
    assert time.monotonic() - begin < 15


class Settings:
    """As much of a session as is asked how much memory there is."""

    def __init__(self, **settings: str) -> None:
        self.conf = SimpleNamespace(
            get=lambda name, default: settings.get(name.removeprefix("spark.").replace(".", "_"), default)
        )


def test_the_memory_of_a_worker_is_that_of_its_executor_or_of_this_machine() -> None:
    cluster: Any = Settings(master="spark://host:7077", executor_memory="8g", executor_cores="4")
    assert worker_memory(cluster) == 2 << 30
    python: Any = Settings(master="yarn", executor_memory="8g", executor_pyspark_memory="512m")
    assert worker_memory(python) == 512 << 20
    one, four = (worker_memory(Settings(master=f"local[{n},4]")) for n in (1, 4))  # type: ignore[arg-type]
    assert one // 4 == four


def test_a_small_job_starts_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark", reason="without it no job begins")
    log, table = tmp_path / "log.jsonl", tmp_path / "table.jsonl"
    log.write_text(line_of(TraceEvent("p", 1, "send", "m")) + line_of(TraceEvent("q", 1, "receive", "m")))
    table.write_text('{"id": "a", "external": [["a", "<", "b"]]}\n{"id": "a"}\n', encoding="utf-8")
    started: list[str] = []

    def start(master: str, _: object) -> Any:
        started.append(master)
        return SimpleNamespace(conf=None, range=lambda count: count, stop=lambda: started.append("stopped"))

    monkeypatch.setattr(session, "_running", lambda: None)
    monkeypatch.setattr(session, "find_java", lambda: None)
    monkeypatch.setattr(session, "_start", start)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert main(["spark", "extract", str(log), "--out", str(tmp_path / "out")]) == 0
    assert "2 events, 1 edge, 2 frontiers" in capsys.readouterr().out
    assert main(["spark", "bisim", str(table), "--out", str(tmp_path / "classes")]) == 0
    assert not started
    with session.session("local[3]", later=True) as spark:
        assert spark.conf.get("spark.master") == "local[3]"
        assert not started
        assert (spark.range(5), spark.range(6)) == (5, 6)
    assert started == ["local[3]", "stopped"]


@pytest.mark.parametrize("command", [["extract"], ["stream", "--checkpoint", "state"]])
def test_no_log_is_to_blame_for_a_pattern_that_is_none(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark", reason="without it no job begins")
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_text(line_of(TraceEvent("p", 1)), encoding="utf-8")
    assert main(["spark", *command, str(log), "--out", str(out), "--pattern", "("]) == 2
    assert "error: --pattern:1: missing )" in capsys.readouterr().err
    assert not out.exists()


class Lent:
    """A session that others stop."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def stop(self) -> None:
        """Leave it to its owner."""


@pytest.mark.spark
def test_a_condition_starts_spark_before_it_is_looked_at(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyspark import SparkContext

    log = tmp_path / "log.jsonl"
    log.write_text(line_of(TraceEvent("p", 1, label="a")) + line_of(TraceEvent("q", 1, label="a")))
    active = SparkContext._active_spark_context

    def start(*_: object) -> Any:
        monkeypatch.setattr(SparkContext, "_active_spark_context", active)
        return Lent(spark)

    monkeypatch.setattr(session, "_running", lambda: None)
    monkeypatch.setattr(session, "_start", start)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    command = ["spark", "extract", str(log), "--out", str(tmp_path / "out"), "--concurrent"]
    for condition, code in (("label = 'a'", 0), ("nobody = 1", 2)):
        monkeypatch.setattr(SparkContext, "_active_spark_context", None)
        assert main([*command, condition]) == code
    said = capsys.readouterr()
    assert "2 events, 1 edge, 2 frontiers" in said.out
    assert "error: --concurrent: " in said.err


class Full(Piece):
    """A piece of a file; whoever opens it finds the disk full."""

    def stream(self) -> Any:
        raise RuntimeError("OSError: [Errno 28] No space left on device")  # as one of Spark's own would say


@pytest.mark.spark
def test_a_disk_that_is_full_is_no_fault_of_the_program(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(line_of(TraceEvent("p", 1)), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("microcosm.spark.io.inputs.cut", lambda path, _: [Full(str(path), 0, 1)])
        assert main(["spark", "extract", str(log), "--out", str(tmp_path / "out")]) == 4
    assert "No space left on device" in capsys.readouterr().err
    assert main(["spark", "extract", str(log), "--out", str(tmp_path / "out")]) == 0


def test_a_disk_that_is_full_where_this_process_writes_is_not_standard_output() -> None:
    said = r"No space left on device \(what is staged"
    with pytest.raises(NoSpark, match=said), session._saying_what_is_full():
        raise OSError(ENOSPC, os.strerror(ENOSPC))  # of a file that is open: it has no name
    with pytest.raises(OSError, match="here"), session._saying_what_is_full():
        raise OSError(ENOSPC, os.strerror(ENOSPC), "here")


@pytest.mark.spark
def test_an_interrupt_while_java_starts_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)

    def begin(_: object) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        done.append("started")  # an exception before would leave a Java that nobody knows
        return SimpleNamespace(stop=lambda: done.append("stopped"))

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", begin)
    with pytest.raises(KeyboardInterrupt):
        session._start("local[2]", {})
    assert done == ["started", "stopped"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("quiet", [True, False])
def test_how_far_a_job_is_stands_on_standard_error_unless_that_is_to_be_quiet(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from microcosm.cli import output
    from microcosm.cli.commands import spark as commands
    from microcosm.spark.io.staging import LOGGER

    monkeypatch.setitem(output.wanted, "quiet", quiet)
    with commands._progress():
        logging.getLogger(LOGGER).info("read: 2 rows, 1.5 s")
    assert bool(capsys.readouterr().err) is not quiet
