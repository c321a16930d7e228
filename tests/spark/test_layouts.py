"""However the rows of a log lie in files, the job finds the same; and what it writes is read again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microcosm.errors import TextError
from microcosm.spark.extract import job
from microcosm.spark.extract.job import ExtractOptions
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats import parquet
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from tests.spark.conftest import table
from tests.spark.test_giant import damaged, with_clocks
from tests.spark.test_scan import chained

pytestmark = pytest.mark.spark


def found(
    spark: Any, out: Path, inputs: Sequence[Path], asked: ExtractOptions | None = None
) -> tuple[Any, ...]:
    """The edges, frontiers, names of events and counts of faults of a job."""
    done = job.extract(spark, list(map(str, inputs)), str(out), asked)
    assert done.summary["events"] == len(table(out, "events"))
    edges = [tuple(row.values()) for row in table(out, "edges")]
    frontiers = {
        (row["trace"], row["process"], row["last"], tuple(row["knows"])) for row in table(out, "frontiers")
    }
    events = {(row["trace"], row["id"]) for row in table(out, "events")}
    return edges, frontiers, events, done.summary["reported"]


def test_it_does_not_matter_in_which_files_the_rows_are(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With rows that are there twice, next to each other and far apart, and runs one after the other."""
    first = damaged(Random(2), chained(Random(2), 4, 60, False, 6))
    runs = [*first, *first[:5], *first[9:12], *chained(Random(3), 4, 60, False, 6), TraceEvent("p000", 3)]
    lines = [*map(line_of, runs)]
    lines[20] = '{"process": "p", "seq": 0}\n'
    layouts = {
        "one": [lines],
        "two": [lines[:70], lines[70:]],
        "many": [[line] for line in lines],
    }
    results = {}
    for name, parts in layouts.items():
        paths = []
        for number, part in enumerate(parts):
            paths.append(tmp_path / f"{name}-{number:03}.jsonl")
            paths[-1].write_text("".join(part), encoding="utf-8")
        results[name] = found(spark, tmp_path / f"{name}.out", paths)
    monkeypatch.setattr("microcosm.spark.io.inputs.LARGEST", 500)
    results["pieces"] = found(spark, tmp_path / "pieces", [tmp_path / "one-000.jsonl"])
    rows = [event for at, event in enumerate(runs) if at != 20]
    with (tmp_path / "rows.parquet").open("wb") as stream:
        parquet.write(rows, stream)
    *tables, reported = found(spark, tmp_path / "rows", [tmp_path / "rows.parquet"])
    results["parquet"] = (*tables, dict(sorted({**reported, "bad-line": 1}.items())))
    results["slices"] = found(
        spark, tmp_path / "slices", [tmp_path / "one-000.jsonl"], ExtractOptions(slices=3)
    )
    for name, result in results.items():
        assert result == results["one"], name
    report = Report()
    events = list(formats.read([tmp_path / "one-000.jsonl"], report=report))
    assert {event.trace for event in events} == {None, "2"}
    whole = covering(events, report, full_names=True)
    assert sorted(each[1:] for each in results["one"][0]) == sorted(whole.edges)
    assert results["one"][2] == {(event.trace, event.full_id) for event in events}
    assert Counter(results["one"][3]) == report.counts


def test_lines_that_leave_positions_out_are_counted_in_their_file(spark: Any, tmp_path: Path) -> None:
    """And not in pieces of it; where only a later line does it is bad."""
    short = [
        {"process": "p", "message": "m", "to": ["q"]},
        {"process": "q", "message": "m"},
        {"process": "p", "label": "x"},
    ]
    log = tmp_path / "short.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in short), encoding="utf-8")
    edges, _, names, reported = found(spark, tmp_path / "out", [log])
    assert [edge[1:4] for edge in edges] == [("p:1", "<", "p:2"), ("p:1", "<", "q:1")]
    assert (len(names), reported) == (3, {})
    long = [line_of(TraceEvent("p", seq, label="x" * 1000)) for seq in range(1, 100)]
    log.write_text("".join([*long, json.dumps(short[0]) + "\n"]), encoding="utf-8")
    _, _, names, reported = found(spark, tmp_path / "out", [log])
    assert (len(names), reported) == (99, {"bad-line": 1})


def test_events_that_were_written_are_read_again(spark: Any, tmp_path: Path) -> None:
    """By Spark and in this process, with labels, attributes and stamps as they were."""
    exact = Decimal("0.1234567890123456789")
    stamps = [(2**53 + 1, 2**53 + 3), (Decimal("0.1"), exact), 2**53 + 1, None]
    events = [
        replace(
            event,
            stamp=stamps[at % 4],
            label=f"does {at}",
            attributes={"n": at, "deep": {"a": [1.5, None]}, "text": "ä"} if at % 3 else {},
            trace=f"t{at % 2}",
        )
        for at, event in enumerate(with_clocks(chained(Random(4), 3, 60, False, 6), True))
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, events)), encoding="utf-8")
    first = found(spark, tmp_path / "out", [log])
    assert found(spark, tmp_path / "again", [tmp_path / "out"])[:3] == first[:3]
    report = Report()
    files = sorted((tmp_path / "out" / "events").glob("*.parquet"))
    read = {event.full_id: event for event in formats.read(files, report=report)}
    assert not report.counts
    assert read == {event.full_id: replace(event, name=event.full_id) for event in events}


def test_tables_with_dates_decimals_and_folders_for_columns(spark: Any, tmp_path: Path) -> None:
    rows = {
        "process": ["p", "p", "q"],
        "seq": pa.array([Decimal(1), Decimal(2), Decimal(1)], pa.decimal128(10, 0)),
        "kind": ["send", "internal", "receive"],
        "message": ["m", None, "m"],
        "day": [date(2024, 5, 1)] * 3,
        "at": [datetime(2024, 5, 1, 12, 30)] * 3,
        "cost": pa.array([Decimal("1.50")] * 3, pa.decimal128(10, 2)),
        "raw": [b"\x00\xff"] * 3,
    }
    folder = tmp_path / "m6" / "date=2024-05-01" / "trace=a%2Fb"
    folder.mkdir(parents=True)
    pq.write_table(pa.table(rows), folder / "part-0.parquet")
    for inputs in ([tmp_path / "m6"], [tmp_path / "m*" / "*"]):
        edges, _, names, reported = found(spark, tmp_path / f"out{len(str(inputs[0]))}", inputs)
        assert [edge[:4] for edge in edges] == [("a/b", "p:1", "<", "p:2"), ("a/b", "p:1", "<", "q:1")]
        assert names == {("a/b", "p:1"), ("a/b", "p:2"), ("a/b", "q:1")}
        assert reported == {}
    [event, *_] = formats.read([folder / "part-0.parquet"])
    assert event.attributes == {
        "day": "2024-05-01",
        "at": "2024-05-01T12:30:00",
        "cost": "1.50",
        "raw": "\x00\\xff",
    }


def test_where_nothing_can_be_read_nothing_is_committed(spark: Any, tmp_path: Path) -> None:
    for name, content in (("a.parquet", b"PAR1"), ("b.jsonl", b'{"process": "p"}\n' * 3)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TextError, match=name):
            job.extract(spark, [str(tmp_path / name)], str(tmp_path / "out"))
    assert not (tmp_path / "out" / "manifest.json").exists()
