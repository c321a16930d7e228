"""Questions on Spark: the answers are those of this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.errors import TextError
from microcosm.spark.io.events import max_bad

pytestmark = pytest.mark.spark

ASK = """event write(k) where label ~ "write (?<k>.)"
never write(k) || write(k)
never write(k) < write(k)
"""


def test_the_answers_are_those_of_this_process(spark: Any, tmp_path: Path) -> None:
    from microcosm.spark import questions as job

    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(3):
        lines = []
        for trace in ("one", "two")[: 1 + number % 2]:
            for process, seq, more in (
                ("a", 1, {"kind": "send", "message": "m"}),
                ("b", 1, {"kind": "receive", "message": "m"} if number else {}),
                ("b", 2, {}),
            ):
                where = {"trace": trace} if number == 1 else {}
                lines.append({"process": process, "seq": seq, "label": "write x", **where, **more})
        (logs / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "q.ask").write_text(ASK)
    found = job.check(spark, [str(logs)], str(tmp_path / "q.ask"), str(tmp_path / "out"))
    rows = spark.read.parquet(str(tmp_path / "out" / "answers")).collect()
    assert found.summary["answers"] == len(rows) == 8
    for row in rows:
        known = Microcosm.from_trace(row["file"], **({"trace": row["trace"]} if row["trace"] else {}))
        answer = next(a for a in known.assert_(ASK) if a.question.text == row["text"])  # noqa: PT009
        assert row["verdict"] == answer.verdict
        assert {value: row[value] for value in answer.counts} == answer.counts
    shown = spark.read.parquet(str(tmp_path / "out" / "witnesses")).collect()
    assert {row["verdict"] for row in shown} <= {"false", "open"}
    assert found.summary["tuples"]["false"] == sum(row["false"] for row in rows)
    again = job.check(spark, [str(logs)], str(tmp_path / "q.ask"), str(tmp_path / "out"))
    assert again.summary == found.summary
    (logs / "3.jsonl").write_text("{\n")
    with (logs / "0.jsonl").open("a") as log:
        log.write('{"process": "b"\n')
    odd = job.check(spark, [str(logs)], str(tmp_path / "q.ask"), str(tmp_path / "odd"))
    assert odd.summary["tuples"] == found.summary["tuples"]
    assert (odd.summary["reported"]["bad-line"], odd.summary["faults"]) == (2, 1)
    [unreadable] = [fault for fault in odd.faults if "nothing in it could be read" in fault]
    assert unreadable.count("3.jsonl") == 1
    told = spark.read.parquet(str(tmp_path / "odd" / "reported")).where(
        "reported in ('bad-line', 'unreadable')"
    )
    assert {(Path(row["file"]).name, row["line"]) for row in told.collect()} == {
        ("0.jsonl", 4),
        ("3.jsonl", 1),
        ("3.jsonl", None),
    }
    with pytest.raises(TextError, match="--max-bad is 0"):
        job.check(spark, [str(logs)], str(tmp_path / "q.ask"), str(tmp_path / "none"), max_bad=max_bad("0"))
