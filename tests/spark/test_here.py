"""A small job is done in this process, where its tables are those that tasks of Spark's make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from microcosm.spark.bisim.job import bisim
from microcosm.spark.extract import job, routes
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.io import inputs
from microcosm.spark.questions import TABLES, check
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import table
from tests.spark.test_extract import traces

pytestmark = pytest.mark.spark


def no_tasks(*_: Any) -> None:
    raise AssertionError("a task of Spark's")


def test_a_small_log_needs_no_task(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, traces(8, count=4, steps=40))), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(routes, "MOST", 0)  # sizes are counted by Spark, and traces gathered by it
        expected = job.extract(spark, [str(log)], str(tmp_path / "spark"), ExtractOptions())
    monkeypatch.setattr(inputs, "HERE", 1 << 20)
    monkeypatch.setattr(type(spark), "range", no_tasks)
    found = job.extract(spark, [str(log)], str(tmp_path / "here"), ExtractOptions())
    assert found.summary == expected.summary
    for name in job.TABLES:
        assert table(tmp_path / "here", name) == table(tmp_path / "spark", name)


def test_a_small_table_needs_no_task(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(at), "external": [["a", "<", f"b{at % 3}"]]} for at in range(9)]
    log = tmp_path / "table.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": 1}]), encoding="utf-8")
    expected = bisim(spark, str(log), str(tmp_path / "spark"))
    monkeypatch.setattr(inputs, "HERE", 1 << 20)
    monkeypatch.setattr(type(spark), "range", no_tasks)
    assert bisim(spark, str(log), str(tmp_path / "here")).summary == expected.summary
    assert expected.summary["classes"] == 3
    for name in ("classes", "reported"):
        assert table(tmp_path / "here", name) == table(tmp_path / "spark", name)


def test_questions_about_a_small_log_need_no_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, asked = tmp_path / "log.jsonl", tmp_path / "q.ask"
    log.write_text("".join(map(line_of, traces(8, count=4, steps=40))), encoding="utf-8")
    asked.write_text("never [kind = send] || [kind = receive]\n", encoding="utf-8")
    expected = check(spark, [str(log)], str(asked), str(tmp_path / "spark"))
    monkeypatch.setattr(inputs, "HERE", 1 << 20)
    found = check(None, [str(log)], str(asked), str(tmp_path / "here"))  # type: ignore[arg-type]
    assert found.summary == expected.summary
    assert expected.summary["answers"] == 4
    for name in TABLES:
        assert table(tmp_path / "here", name) == table(tmp_path / "spark", name)
