"""Inputs behind URIs: what Spark opens is read as the same files are here, and called by its URI."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from microcosm.errors import TextError
from microcosm.spark import questions
from microcosm.spark.bisim.job import bisim
from microcosm.spark.extract.job import ExtractOptions, extract
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import table
from tests.spark.test_extract import traces
from tests.traces.runs import shiviz_text

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> tuple[Path, str]:
    """A folder of logs, and the same by a URI of another file system of Hadoop's than that of paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    here = tmp_path / "lake"
    lake = f"lake-{uuid4().hex}"  # what is mounted by a name stays so
    spark.conf.set(f"fs.viewfs.mounttable.{lake}.link./data", f"file://{here}")
    for folder in ("", "b c", "trace=t%2F1"):
        (here / folder).mkdir(parents=True)
    events = list(traces(8, count=3, steps=20))
    text = "".join(map(line_of, events))
    (here / "log.jsonl").write_text(text, encoding="utf-8")
    (here / "b c" / "run.log").write_text(shiviz_text(list(traces(9, count=1, steps=20))), encoding="utf-8")
    (here / "b c" / "_hidden.jsonl").write_text("no log", encoding="utf-8")
    (here / "b c" / "bytes.bin").write_bytes(b"\xff\x00")
    (here / "b c" / "log.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("one.jsonl", "b c/one.jsonl"):
        (here / name).write_text('{"process": "p", "seq": 1, "kind": "internal"}\nno event\n', "utf-8")
    rows = [{"process": "p", "seq": seq, "kind": "internal"} for seq in (1, 2)]
    pq.write_table(pa.Table.from_pylist(rows), here / "trace=t%2F1" / "rows.parquet")
    return here, f"viewfs://{lake}/data"


def test_a_uri_is_an_input_as_the_same_folder_is(spark: Any, lake: tuple[Path, str], tmp_path: Path) -> None:
    here, uri = lake
    near, far = tmp_path / "near", tmp_path / "far"
    expected = extract(spark, [str(here)], str(near), ExtractOptions())
    found = extract(spark, [uri], str(far), ExtractOptions())
    assert found.summary == expected.summary
    for name in ("events", "edges", "frontiers", "reported"):
        same = json.dumps(table(near, name)).replace(str(here), uri)
        assert sorted(map(repr, json.loads(same))) == sorted(
            map(repr, json.loads(json.dumps(table(far, name))))
        )
    files = {row["file"] for row in table(far, "events")}
    assert f"{uri}/b c/log.jsonl.gz" in files
    assert not [path for path in far.iterdir() if path.name.startswith(".staged")]
    assert extract(spark, [uri], str(far), ExtractOptions()).stages == {}  # it was committed
    (here / "one.jsonl").write_text('{"process": "p", "seq": 1, "kind": "internal"}\n', "utf-8")
    again = extract(spark, [f"{uri}/one.jsonl", str(here / "trace=t%2F1")], str(far), ExtractOptions())
    assert again.summary["events"] == 3
    assert {row["trace"] for row in table(far, "events")} == {None, "t/1"}


def test_microcosms_and_questions_are_read_by_uris(
    spark: Any, lake: tuple[Path, str], tmp_path: Path
) -> None:
    here, uri = lake
    (here / "x").mkdir()
    (here / "x" / "one.mc").write_text("a < b\n", encoding="utf-8")
    (here / "x" / "two.mc").write_text("no microcosm at all <\n", encoding="utf-8")
    (here / "x" / "notes.txt").write_text("none", encoding="utf-8")
    assert bisim(spark, f"{uri}/x", str(tmp_path / "classes")).summary["microcosms"] == 1
    assert [row["file"] for row in table(tmp_path / "classes", "reported")] == [f"{uri}/x/two.mc"]
    asked = tmp_path / "q.ask"
    asked.write_text('event p where process = "p"\nnever p < p\n', encoding="utf-8")
    out = str(tmp_path / "answers")
    made = questions.check(spark, [f"{uri}/*.jsonl"], str(asked), out)
    assert made.summary["files"] == 2
    assert {row["file"] for row in table(out, "answers")} <= {f"{uri}/log.jsonl", f"{uri}/one.jsonl"}
    assert str(tmp_path) not in "".join(made.faults)


@pytest.mark.parametrize(
    "uri", ["viewfs://lake/data/nothing", "nosuch://host/logs", "viewfs://lake/data/*.x"]
)
def test_what_spark_cannot_open_is_said(spark: Any, lake: tuple[Path, str], tmp_path: Path, uri: str) -> None:
    with pytest.raises(TextError, match=r"cannot be opened by Spark|has no files") as raised:
        extract(spark, [uri], str(tmp_path / "out"), ExtractOptions())
    assert raised.value.file == uri
    assert not (tmp_path / "out").exists()
