"""What a job puts where: nothing of anybody else is removed, and no two jobs are at work in one folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from microcosm.errors import TextError
from microcosm.spark.io.folders import MANIFEST
from microcosm.spark.io.inputs import expand, refuse_within
from microcosm.spark.io.staging import Output
from microcosm.spark.stream import job as stream

TABLES = ("events", "edges")


def run(folder: Path, number: int, tables: tuple[str, ...] = TABLES) -> None:
    with Output(str(folder), {"number": number}, tables) as output:
        for name in tables:
            output.put(name, pa.table({"number": [number]}))
        output.commit({"number": number})


def content(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_result_replaces_the_one_before(tmp_path: Path) -> None:
    run(tmp_path, 1, (*TABLES, "offline"))
    run(tmp_path, 2)
    parts = {f"{name}/{file}" for name in TABLES for file in ("part.parquet", "_SUCCESS")}
    assert content(tmp_path) == {MANIFEST, *parts}
    assert json.loads((tmp_path / MANIFEST).read_text())["summary"] == {"number": 2}


def test_an_empty_text_is_no_folder() -> None:
    with pytest.raises(TextError, match="is no path"):
        Output("", {}, TABLES)
    with pytest.raises(TextError, match="is no path"):
        expand([""])


@pytest.mark.parametrize("place", ["events/mine.txt", "edges/part-0001.parquet", "events/deep/er.csv"])
def test_what_no_job_has_put_there_stays(tmp_path: Path, place: str) -> None:
    mine = tmp_path / place
    for earlier in (False, True):
        if earlier:
            mine.unlink()
            run(tmp_path, 1)
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text("mine")
        with pytest.raises(TextError, match="no job has put it there") as refused:
            run(tmp_path, 2)
        assert refused.value.file == str(mine)
        assert mine.read_text() == "mine"
    assert json.loads((tmp_path / MANIFEST).read_text())["summary"] == {"number": 1}


def test_a_job_that_was_killed_while_it_put_tables_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, 1)
    with monkeypatch.context() as patch:
        patch.setattr("microcosm.spark.io.staging.json.dumps", _dies_at(3))
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, 2)
    assert not (tmp_path / MANIFEST).exists()
    run(tmp_path, 2)
    assert json.loads((tmp_path / MANIFEST).read_text())["summary"] == {"number": 2}
    assert len(content(tmp_path)) == 5


def _dies_at(call: int):  # type: ignore[no-untyped-def]
    """`json.dumps` until the manifest is to be written."""
    calls = []

    def dumps(*given, **how):  # type: ignore[no-untyped-def]
        calls.append(given)
        if len(calls) == call:
            raise KeyboardInterrupt
        return real(*given, **how)

    real = json.dumps
    return dumps


def test_two_jobs_do_not_work_in_one_folder(tmp_path: Path) -> None:
    """Two streams put batches of one number in each other's place."""
    with Output(str(tmp_path), {}, TABLES):
        with pytest.raises(TextError, match="another job is at work"):
            run(tmp_path, 1)
        with pytest.raises(TextError, match="another job is at work"):
            stream.follow(None, None, str(tmp_path), "state", stream.Asked())  # type: ignore[arg-type]
    run(tmp_path, 1)


@pytest.mark.parametrize("place", ["out", "out/events", "out/edges/part.parquet"])
def test_an_input_within_the_output_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "out" / "events").mkdir(parents=True)
    with pytest.raises(TextError, match="is within the output"):
        refuse_within([str(tmp_path / place)], str(tmp_path / "out"), TABLES)
    refuse_within([str(tmp_path / "out" / "log.jsonl"), str(tmp_path)], str(tmp_path / "out"), TABLES)


@pytest.mark.parametrize("name", ["s3://bucket/out", "hdfs://host/out"])
def test_an_object_store_is_no_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TextError, match="is no path"):
        expand([name])
    assert list(tmp_path.iterdir()) == []


def test_folders_within_folders_patterns_and_uris_are_inputs(tmp_path: Path) -> None:
    for name in ("b/date=1/x.jsonl", "b/date=2/y.jsonl", "b/_temporary/z.jsonl", "b/.hidden", "a.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    run(tmp_path / "out", 1)

    def found(name: str) -> list[str]:
        return [path.relative_to(tmp_path).as_posix() for path in expand([name])]

    every = ["a.jsonl", "b/date=1/x.jsonl", "b/date=2/y.jsonl"]
    assert found(str(tmp_path)) == every
    assert found(f"{tmp_path}/b/*") == found(f"file://{tmp_path}/b") == every[1:]
    assert found(f"{tmp_path}/**/*.jsonl") == every
    assert found(str(tmp_path / "out")) == ["out/events/part.parquet"]
    with pytest.raises(TextError, match="no such file"):
        expand([f"{tmp_path}/c/*"])
