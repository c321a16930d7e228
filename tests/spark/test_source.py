"""Traces as a data source: what `extract` reads, and rows for what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from microcosm.errors import TextError
from microcosm.spark.io import source
from microcosm.spark.io.reading import rows
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats import parquet
from microcosm.traces.formats.jsonl import line_of
from tests.spark.test_extract import traces
from tests.traces.runs import shiviz_text

pytest.importorskip("pyspark")

COLUMNS = ("process", "seq", "file", "line", "reported")


def reader(path: Path) -> source.TraceStreamReader:
    return source.TraceStreamReader(source.SourceOptions(str(path), source.Reading(), (*COLUMNS, "arrived")))


def read(
    stream: source.TraceStreamReader, start: dict[str, Any], end: dict[str, Any]
) -> list[dict[str, Any]]:
    return [row for part in stream.partitions(start, end) for b in stream.read(part) for row in b.to_pylist()]


def line(seq: int) -> str:
    return json.dumps({"process": "p", "seq": seq, "kind": "internal"})


@pytest.mark.parametrize("block", range(1, 90, 4))
def test_lone_returns_end_lines_wherever_blocks_of_a_stream_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(source, "_BLOCK", block)
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        "".join(line(at) + "\r\r\n\r"[at % 3 : at % 3 + 2] for at in range(1, 10)).encode() + b"\n"
    )
    stream = reader(log)
    first = stream.latestOffset(stream.initialOffset())
    with log.open("a") as more:
        more.write(line(10) + "\n")
    found = read(stream, first, stream.latestOffset(first))
    assert [row["line"] for row in found] == [event.line for event in formats.read([log]) if event.seq == 10]


def test_a_column_is_asked_for_by_its_name_and_its_type(tmp_path: Path) -> None:
    """Else the worker that reads it ends with a trace."""
    from pyspark.sql import types

    known = source.TraceSource({"path": str(tmp_path)})
    every = [types.StructField("seq", types.LongType()), types.StructField("arrived", types.TimestampType())]
    known.reader(types.StructType(every))
    for name, kind, nullable in (
        ("seq", types.IntegerType(), True),
        ("process", types.StringType(), False),
        ("Process", types.StringType(), True),
        ("clock", types.MapType(types.StringType(), types.IntegerType()), True),
    ):
        with pytest.raises(ValueError, match=f"no column '{name} .*columns: trace string, .* seq bigint, "):
            known.reader(types.StructType([types.StructField(name, kind, nullable)]))


def test_a_stream_takes_what_is_appended_line_by_line_whole(tmp_path: Path) -> None:
    log = tmp_path / "p.jsonl"
    stream = reader(tmp_path)
    start = stream.initialOffset()
    assert stream.latestOffset(start) == start
    log.write_text(f"{line(1)}\n{line(2)[:9]}", encoding="utf-8")
    first = stream.latestOffset(start)
    assert [(row["seq"], row["line"]) for row in read(stream, start, first)] == [(1, 1)]
    assert stream.latestOffset(first) == first
    log.write_text(f"{line(1)}\n{line(2)}\nno event\n{line(3)}", encoding="utf-8")
    second = stream.latestOffset(json.loads(json.dumps(first)))
    assert second["at"] > first["at"]
    found = read(stream, first, second)
    assert [(row["seq"], row["line"], row["reported"]) for row in found] == [
        (2, 2, None),
        (3, 4, None),
        (None, 3, "bad-line"),
    ]
    with log.open("a", encoding="utf-8") as more:
        more.write(f"\n{line(4)}\n")
    third = stream.latestOffset(second)
    assert [(row["seq"], row["line"]) for row in read(stream, second, third)] == [(4, 5)]
    assert read(stream, first, second) == found  # what was planned once is the same again
    assert read(stream, third, stream.latestOffset(third)) == []


@pytest.mark.parametrize("way", ["renamed", "copied and cut"])
def test_a_log_that_is_rotated_loses_nothing(tmp_path: Path, way: str) -> None:
    log, old = tmp_path / "p.jsonl", tmp_path / "p.1.jsonl"
    stream = reader(tmp_path)
    log.write_text("".join(f"{line(seq)}\n" for seq in range(1, 4)), encoding="utf-8")
    first = stream.latestOffset(stream.initialOffset())
    with log.open("a", encoding="utf-8") as more:
        more.write(f"{line(4)}\n")  # which nobody has seen yet
    if way == "renamed":
        log.rename(old)
    else:
        old.write_bytes(log.read_bytes())
    log.write_text(f"{line(5)}\n" * (1 if way == "renamed" else 9), encoding="utf-8")
    second = stream.latestOffset(json.loads(json.dumps(first)))
    found = {(row["seq"], row["line"], Path(row["file"]).name) for row in read(stream, first, second)}
    assert {(4, 4, "p.1.jsonl"), (5, 1, "p.jsonl")} <= found
    assert {seq for seq, _, _ in found} == {4, 5}
    assert stream.latestOffset(second)["files"] == second["files"]
    old.unlink()
    log.unlink()
    assert read(stream, second, stream.latestOffset(second)) == []


def test_events_that_name_no_trace_are_of_that_of_their_log_wherever_it_goes(tmp_path: Path) -> None:
    """Of two logs of one name each is a trace of its own, and a table of Parquet is none."""
    for name in ("one", "two", "trace=named"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "p.jsonl").write_text(f"{line(1)}\n", encoding="utf-8")
    with (tmp_path / "part-0.parquet").open("wb") as table:
        parquet.write([TraceEvent("q", 1)], table)
    stream = source.TraceStreamReader(
        source.SourceOptions(str(tmp_path), source.Reading(), ("trace", "file"))
    )
    first = stream.latestOffset(stream.initialOffset())
    found = {
        Path(row["file"]).parent.name: row["trace"] for row in read(stream, stream.initialOffset(), first)
    }
    one, two = (str(tmp_path / name / "p.jsonl") for name in ("one", "two"))
    assert found == {"one": one, "two": two, "trace=named": "named", tmp_path.name: None}
    Path(one).write_text(f"{line(1)}\n{line(2)}\n", encoding="utf-8")
    Path(one).rename(tmp_path / "one" / "p.1.jsonl")
    Path(one).write_text(f"{line(3)}\n", encoding="utf-8")
    (tmp_path / "p.jsonl").write_text(f"{line(1)}\n", encoding="utf-8")
    second = stream.latestOffset(json.loads(json.dumps(first)))
    more = [(Path(row["file"]).name, row["trace"]) for row in read(stream, first, second)]
    assert sorted(more) == [("p.1.jsonl", one), ("p.jsonl", one), ("p.jsonl", str(tmp_path / "p.jsonl"))]


def test_a_log_that_is_replaced_by_another_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "p.jsonl"
    stream = reader(tmp_path)
    log.write_text(f"{line(1)}\n{line(2)}\n", encoding="utf-8")
    first = stream.latestOffset(stream.initialOffset())
    log.write_text(f"{line(3)}\n", encoding="utf-8")
    with pytest.raises(TextError, match="is another file than it was"):
        stream.latestOffset(first)
    (tmp_path / "old.jsonl").write_text(f"{line(1)}\n{line(2)}\n{line(7)}\n", encoding="utf-8")
    found = read(stream, first, stream.latestOffset(first))
    assert sorted((row["seq"], row["line"]) for row in found) == [(3, 1), (7, 3)]


def test_a_stream_takes_other_files_once_and_whole(tmp_path: Path) -> None:
    stream = reader(tmp_path)
    (tmp_path / "run.log").write_text('a\np {"p": 1}\n', encoding="utf-8")
    (tmp_path / "bytes.log").write_bytes(b"\xff\x00")
    (tmp_path / "empty.log").touch()
    start = stream.initialOffset()
    end = stream.latestOffset(start)
    found = read(stream, start, end)
    assert [(Path(row["file"]).name, row["seq"], row["reported"]) for row in found] == [
        ("bytes.log", None, "unreadable"),
        ("run.log", 1, None),
    ]
    (tmp_path / "bytes.log").unlink()
    assert stream.latestOffset(end) == end


@pytest.mark.spark
def test_files_of_every_kind_are_partitions_and_what_is_odd_is_a_row(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    events = list(traces(8, count=1, steps=20))
    (tmp_path / "own.jsonl").write_text("".join(map(line_of, events)) + "half of a li", encoding="utf-8")
    (tmp_path / "run.log").write_text(shiviz_text(events), encoding="utf-8")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\x00")
    source.register(spark)
    whole = spark.read.format("microcosm").load(str(tmp_path))
    found = whole.withColumn("part", F.spark_partition_id()).collect()
    files = {row.file for row in found}
    assert len({(row.file, row.part) for row in found}) == len({row.part for row in found}) == len(files) == 3
    for name in ("own.jsonl", "run.log"):
        read_here = [
            (each.trace or "run", each.process, each.seq, each.kind, each.message, each.clock, each.line)
            for each in formats.read([tmp_path / name])
        ]
        assert read_here == [
            (row.trace, row.process, row.seq, row.kind, row.message, row.clock, row.line)
            for row in found
            if row.file.endswith(name) and row.reported is None
        ]
    odd = {(Path(row.file).name, row.reported) for row in found if row.reported is not None}
    assert odd == {("own.jsonl", "bad-line"), ("bytes.bin", "unreadable")}
    some = spark.read.format("microcosm").schema("seq long, process string").load(str(tmp_path / "own.jsonl"))
    assert some.where("seq is not null").count() == len(events)
    for wrong in ({"format": "nothing"}, {"colour": "red"}, {"pattern": "("}):
        with pytest.raises(PySparkException, match=r"no (trace format|option)|pattern:1: missing"):
            spark.read.format("microcosm").options(**wrong).load(str(tmp_path)).count()


def test_what_a_stream_reads_by_pieces_is_what_is_read_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, traces(9, count=2, steps=20))), encoding="utf-8")
    stream = reader(log)
    start = stream.initialOffset()
    [part] = stream.partitions(start, stream.latestOffset(start))
    reading = source.Reading()
    assert list(rows(part.value[0], reading)) == list(rows(source.input_files.Piece(str(log)), reading))


@pytest.mark.spark
def test_a_condition_is_of_its_question_alone(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    events = list(traces(8, count=6, steps=20))
    (tmp_path / "own.jsonl").write_text("".join(map(line_of, events)) + "half of a li", encoding="utf-8")
    (tmp_path / "run.log").write_text(shiviz_text([e for e in events if e.trace == events[0].trace]), "utf-8")
    records = [{"trace": f"t{at // 50}", "process": "p", "seq": at % 50 + 1} for at in range(200)]
    table = pa.Table.from_pylist([{**each, "kind": "internal"} for each in records])
    for folder, changed in (("", table), ("trace=t1", table.drop_columns("trace"))):
        (tmp_path / folder).mkdir(exist_ok=True)
        pq.write_table(changed, tmp_path / folder / "rows.parquet", row_group_size=50)
    source.register(spark)
    columns = ("trace", "process", "seq", "kind", "message", "file", "line")
    frame = spark.read.format("microcosm").load(str(tmp_path)).select(*columns)
    every = frame.collect()
    name = next(event.trace for event in reversed(events))
    for condition, wanted in (
        (f"trace = '{name}'", {name}),
        ("trace in ('t1', 't3', 'run') and seq > 2", {"t1", "t3", "run"}),
        ("trace = 't1' and trace = 't2'", set()),
        ("trace is null", {None}),
        ("trace <=> null or trace = 't2'", {None, "t2"}),
    ):
        some = frame.where(condition).collect()
        low = 2 if "seq > 2" in condition else -1
        assert sorted(map(repr, some)) == sorted(
            repr(row) for row in every if row.trace in wanted and (row.seq or 0) > low
        )
        assert frame.count() == len(every)


def test_row_groups_without_the_trace_that_is_asked_for_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(source.input_files, "LARGEST", 1)
    names = ["a"] * 3 + ["b", "c", "c", None, "d", "d"]
    rows_ = [{"trace": name, "process": "p", "seq": 1, "kind": "internal"} for name in names]
    pq.write_table(pa.Table.from_pylist(rows_), tmp_path / "rows.parquet", row_group_size=3)
    found = {}
    for name in "abcdx":
        reader = source.TraceReader(
            source.SourceOptions(str(tmp_path), source.Reading(), ("trace", "line"), name)
        )
        parts = reader.partitions()
        lines = [row["line"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
        found[name] = ([part.value[0].start for part in parts], lines)
    assert found == {  # the last group has a row without a trace, which a folder might name
        "a": ([0, 2], [1, 2, 3]),
        "b": ([1, 2], [4]),
        "c": ([1, 2], [5, 6]),
        "d": ([2], [8, 9]),
        "x": ([2], []),
    }


@pytest.mark.spark
def test_of_one_trace_there_are_its_rows_and_what_is_odd(spark: Any, tmp_path: Path) -> None:
    event = '{"process": "%s", "seq": 1, "kind": "internal", "trace": "%s"}'
    lines = [event % ("p", "a"), "odd", event % ("q", "b")]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source.register(spark)
    read = spark.read.format("microcosm").option("trace", "b").load(str(tmp_path))
    rows_ = read.select("process", "trace", "reported").collect()
    assert sorted(map(str, rows_)) == sorted(
        ["Row(process='q', trace='b', reported=None)", "Row(process=None, trace=None, reported='bad-line')"]
    )
