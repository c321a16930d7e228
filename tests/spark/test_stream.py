"""A stream that is stopped, killed and started again tells what `extract` finds, and nothing twice."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from microcosm.cli.app import main
from microcosm.errors import MicrocosmError
from microcosm.spark import frames
from microcosm.spark.extract import job as batch
from microcosm.spark.io.events import row_of
from microcosm.spark.session import interrupts
from microcosm.spark.stream import job
from microcosm.spark.stream.job import StreamOptions
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import table
from tests.spark.test_extract import traces

pytestmark = pytest.mark.spark

PATIENT = StreamOptions(wait=3600)


def rows(out: Path, name: str, *columns: str) -> Counter[tuple[Any, ...]]:
    """The rows of a table; of frontiers the last of each process."""
    found = table(out, name)
    if name == "frontiers" and found and "batch" in found[0]:
        last = {(row["trace"], row["process"]): row for row in sorted(found, key=lambda row: row["batch"])}
        found = list(last.values())
    return Counter(tuple(repr(row[column]) for column in columns) for row in found)


COLUMNS = {
    "events": ("trace", "id", "process", "seq", "kind", "message", "to", "label", "attributes"),
    "edges": ("trace", "left", "relation", "right", "source"),
    "frontiers": ("trace", "process", "last", "knows"),
}


def append(log: Path, events: list[TraceEvent]) -> None:
    with log.open("a", encoding="utf-8") as stream:
        stream.writelines(map(line_of, events))


def killed_after_writing(sink: Callable[[str], Any]) -> Callable[[str], Any]:
    """A sink that writes a batch and dies before Spark learns of it."""

    def make(out: str) -> Any:
        write = sink(out)

        def write_and_die(told: Any, number: int) -> None:
            write(told, number)
            raise RuntimeError("killed")

        return write_and_die

    return make


@pytest.mark.slow
def test_stopped_killed_and_started_again_it_is_the_batch_job(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [replace(event, clock=None, stamp=None) for event in traces(11, count=6, steps=40)]
    lost = {event.full_id for event in events[5:200:9]}
    kept = [event for event in events if event.full_id not in lost]
    Random(1).shuffle(kept)
    whole = tmp_path / "whole.jsonl"
    append(whole, kept)
    log, out, state = tmp_path / "log.jsonl", tmp_path / "out", tmp_path / "state"
    append(log, kept[:80])
    job.stream(spark, str(log), str(out), str(state), PATIENT)
    append(log, [*kept[60:140], kept[0]])
    with monkeypatch.context() as patch:
        patch.setattr(job, "_sink", killed_after_writing(job._sink))
        with pytest.raises(MicrocosmError, match="killed"):
            job.stream(spark, str(log), str(out), str(state), PATIENT)
    append(log, kept[140:])
    found = job.stream(spark, str(log), str(out), str(state))
    expected = batch.extract(spark, [str(whole)], str(tmp_path / "batch")).summary
    for name, columns in COLUMNS.items():
        assert rows(out, name, *columns) == rows(tmp_path / "batch", name, *columns), name
    counts = {name: found.summary[name] for name in COLUMNS}
    assert counts == {name: expected[name] for name in COLUMNS}
    assert found.summary["reported"]["duplicate-event"] == 21
    assert found.summary["reported"]["seq-gap"] == expected["reported"]["seq-gap"] > 0


class Kept(dict[Any, Any]):
    """A state of Spark's."""

    containsKey, getValue, updateValue = dict.__contains__, dict.__getitem__, dict.__setitem__

    def exists(self) -> bool:
        return bool(self)

    def get(self) -> Any:  # type: ignore[override]
        return self[()]

    def update(self, value: Any) -> None:  # type: ignore[override]
        self[()] = value


def test_who_waits_waits_no_longer_though_other_rows_go_on_coming() -> None:
    """A timer that began anew with each row of the trace let rows behind a hole wait for ever."""
    timers: list[int] = []
    handle = SimpleNamespace(
        getMapState=lambda *_: Kept(),
        getValueState=lambda *_: Kept(),
        listTimers=lambda: [*timers],
        deleteTimer=timers.remove,
        registerTimer=timers.append,
    )
    processor = job.Processor(5.0, 10_000, once=False)
    processor.init(handle)
    told: list[tuple[int, str]] = []
    for second, (process, seq) in enumerate([("p", 2), *(("q", seq) for seq in range(1, 12))]):
        row = row_of(TraceEvent(process, seq)) | {"reported": None}
        row["arrived"] = datetime.fromtimestamp(second, UTC)
        mark = 1000 * (second - 1 - job._BACK)
        now = SimpleNamespace(getCurrentWatermarkInMs=lambda mark=mark: mark)
        rows_ = [SimpleNamespace(asDict=lambda _, row=row: row)]
        found = [*processor.handleInputRows((None,), iter(rows_), now)]
        for timer in [timer for timer in timers if timer < mark]:
            timers.remove(timer)
            found += processor.handleExpiredTimer((None,), now, None)
        told += [(second, each.id) for each in found if each.id is not None]
    assert [each for each in told if each[1] == "p:2"] == [(6, "p:2")]
    assert [name for _, name in told if name != "p:2"] == [f"q:{seq}" for seq in range(1, 12)]
    assert not timers


def test_a_topic_is_followed_whatever_order_its_rows_come_in(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows as the connector of Kafka gives them: their text in `value`, their place in three columns.

    What comes after the clock was put back Spark took for late, and dropped it.
    """
    from pyspark.sql import functions as F

    events = [replace(event, clock=None, stamp=None) for event in traces(11, count=6, steps=40)]
    Random(2).shuffle(events)
    log, topic = tmp_path / "log.jsonl", tmp_path / "topic"
    append(log, events)
    lines = [*log.read_text(encoding="utf-8").splitlines(), "no event"]
    topic.mkdir()
    for number in range(3):
        part = [f"{at}\t{line}\n" for at, line in enumerate(lines) if at % 3 == number]
        (topic / f"{number}.txt").write_text("".join(part), encoding="utf-8")
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    said = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(topic))
    rows_ = said.select(
        F.substring_index("value", "\t", -1).cast("binary").alias("value"),
        F.lit("log").alias("topic"),
        F.lit(0).alias("partition"),
        F.substring_index("value", "\t", 1).cast("long").alias("offset"),
    )
    columns = "trace string, process string, seq long, kind string, message string, to array<string>"
    read = F.from_json(F.col("value").cast("string"), f"{columns}, label string, attributes string")
    place = F.concat_ws("-", "topic", "partition").alias("file"), F.col("offset").alias("line")
    frame = rows_.select(read.alias("event"), *place).select("event.*", "file", "line")
    with monkeypatch.context() as patch:
        now = F.current_timestamp
        patch.setattr(F, "current_timestamp", lambda: now() + F.expr("interval 1 hour"))
        found = frames.follow(frame, out, state)
    expected = batch.extract(spark, [str(log)], str(tmp_path / "batch")).summary
    for name, each in COLUMNS.items():
        assert rows(Path(out), name, *each) == rows(tmp_path / "batch", name, *each), name
    assert found.summary["reported"] == {"bad-line": 1}
    assert {name: found.summary[name] for name in COLUMNS} == {name: expected[name] for name in COLUMNS}
    [odd] = table(out, "reported")
    assert (odd["file"], odd["line"]) == ("log-0", len(events))
    again = frames.follow(frame, out, state)  # what was followed is not followed again
    assert again.summary == found.summary
    (topic / "3.txt").write_text('0\t{"process": "late", "seq": 1, "kind": "internal"}\n', encoding="utf-8")
    more = frames.follow(frame, out, state)
    assert more.summary["events"] == found.summary["events"] + 1


def test_the_command(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs, out, state = tmp_path / "logs", tmp_path / "out", tmp_path / "state"
    logs.mkdir()
    (logs / "run.jsonl").write_text(
        "".join(map(line_of, [TraceEvent("p", 1, "send", "m"), TraceEvent("q", 3, "receive", "m")]))
        + "what\n",
        encoding="utf-8",
    )
    (logs / "bytes.bin").write_bytes(b"\xff\x00")
    command = [
        "spark",
        "stream",
        str(logs),
        "--out",
        str(out),
        "--checkpoint",
        str(state),
        "--once",
        "--json",
    ]
    assert main(command) == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert {name: said[name] for name in ("events", "edges", "frontiers")} == {
        "events": 2,
        "edges": 1,
        "frontiers": 2,
    }
    assert said["reported"] == {"bad-line": 1, "seq-gap": 1, "unreadable": 1}
    assert f"{logs / 'run.jsonl'}:3: not JSON" in printed.err
    assert "batch=0: 1 events, 0 edges, 1 frontiers, 2 reported\n" in printed.err
    assert [row["left"] + row["relation"] + row["right"] for row in table(out, "edges")] == [
        "run/p:1<run/q:3"
    ]
    other = [*command[:6], str(tmp_path / "another"), *command[7:]]
    assert main(other) == 4
    assert "another checkpoint" in capsys.readouterr().err
    absent = ["spark", "stream", str(tmp_path / "absent"), *command[3:]]
    assert main(absent) == 4


def test_an_interrupt_ends_a_stream_between_two_calls(tmp_path: Path) -> None:
    calls = []

    def await_termination(_: float) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        calls.append("not cut short")
        return False

    query = SimpleNamespace(awaitTermination=await_termination)
    before = signal.getsignal(signal.SIGINT)
    with interrupts() as interrupted:
        job._wait(query, tmp_path, interrupted)
    assert calls == ["not cut short"]
    assert signal.getsignal(signal.SIGINT) is before
