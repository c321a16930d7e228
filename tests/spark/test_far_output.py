"""Tables behind a URI: the same as in a folder, and nothing of anybody else is removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from microcosm.errors import TextError
from microcosm.spark.bisim.job import bisim
from microcosm.spark.extract import job
from microcosm.spark.io.folders import FarFolder
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import table
from tests.spark.test_extract import traces

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")


@pytest.fixture
def store(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A folder, and the same by a URI of another file system of Hadoop's than that of paths."""
    monkeypatch.setenv("MICROCOSM_STAGING", str(tmp_path / "staging"))
    here, name = tmp_path / "store", f"store-{uuid4().hex}"  # what is mounted by a name stays so
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{here}")
    here.mkdir()
    return here, f"viewfs://{name}/data/out"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(map(line_of, traces(8, count=3, steps=20))) + "no event\n", encoding="utf-8")
    return path


def test_tables_behind_a_uri_are_those_of_a_folder(
    spark: Any, store: tuple[Path, str], log: Path, tmp_path: Path
) -> None:
    here, uri = store[0] / "out", store[1]
    expected = job.extract(spark, [str(log)], str(tmp_path / "near"))
    found = job.extract(spark, [str(log)], uri)
    assert found.summary == expected.summary
    for name in job.TABLES:
        assert table(here, name) == table(tmp_path / "near", name)
        assert (here / name / "_SUCCESS").is_file()
        assert spark.read.parquet(f"{uri}/{name}").schema[0].metadata == {"schema": "microcosm.tables/1"}
    assert FarFolder(spark, uri).manifest["summary"] == json.loads(json.dumps(expected.summary))
    assert list((tmp_path / "staging").iterdir()) == []
    assert job.extract(spark, [str(log)], uri).stages == {}  # it was committed
    log.write_text(line_of(next(iter(traces(8, count=1, steps=3)))), encoding="utf-8")
    assert job.extract(spark, [str(log)], f"{uri}/").summary["events"] == 1
    assert len(table(here, "events")) == 1
    again = job.extract(spark, [uri], str(tmp_path / "again"))  # of an earlier job the events are read
    assert again.summary["events"] == 1


def test_a_job_that_was_killed_while_it_put_tables_behind_a_uri(
    spark: Any, store: tuple[Path, str], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, uri = store[0] / "out", store[1]
    told = FarFolder._write_manifest

    def killed(folder: FarFolder, manifest: Any) -> None:
        if "summary" in manifest:
            raise KeyboardInterrupt
        told(folder, manifest)

    with monkeypatch.context() as patch:
        patch.setattr(FarFolder, "_write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            job.extract(spark, [str(log)], uri)
    assert "summary" not in FarFolder(spark, uri).manifest
    found = job.extract(spark, [str(log)], uri)
    assert FarFolder(spark, uri).manifest["summary"] == found.summary
    assert len(table(here, "events")) == found.summary["events"]


def test_what_no_job_has_put_behind_a_uri_stays(
    spark: Any, store: tuple[Path, str], log: Path, tmp_path: Path
) -> None:
    here, uri = store[0] / "out", store[1]
    (here / "edges").mkdir(parents=True)
    (here / "edges" / "mine.txt").write_text("mine")
    with pytest.raises(TextError, match="no job has put it there") as refused:
        job.extract(spark, [str(log)], uri)
    assert refused.value.file == f"{uri}/edges/mine.txt"
    assert [path.name for path in here.iterdir()] == ["edges"]
    (here / "edges" / "mine.txt").unlink()
    job.extract(spark, [str(log)], uri)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "one.mc").write_text("a < b\n", encoding="utf-8")
    with pytest.raises(TextError, match="is of an earlier job"):
        bisim(spark, str(tmp_path / "m"), uri)
    for name in (uri, f"{uri}/events", uri.rpartition("/")[0]):
        with pytest.raises(TextError, match="within the output"):
            job.extract(spark, [name], uri)
    assert len(table(here, "events")) > 1


def test_a_store_that_spark_cannot_open_is_said(spark: Any, log: Path, tmp_path: Path) -> None:
    with pytest.raises(TextError, match="cannot be opened by Spark") as refused:
        job.extract(spark, [str(log)], "nosuch://host/out")
    assert refused.value.file == "nosuch://host/out"


def test_a_file_uri_is_the_folder(spark: Any, log: Path, tmp_path: Path) -> None:
    job.extract(spark, [str(log)], f"file://{tmp_path}/a%20b")
    assert (tmp_path / "a b" / "manifest.json").is_file()
