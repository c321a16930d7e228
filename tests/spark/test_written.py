"""Tables that tasks write themselves have what the tasks that succeeded wrote, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microcosm.spark.io import staging as written

NUMBERS = pa.schema([("number", pa.int64()), ("word", pa.string())])


class Partitions:
    """As much of a DataFrame as is used: each task is tried twice, and only the second time heard of."""

    schema: tuple[Any, ...] = ()
    """No column is of lists."""

    def __init__(self, *parts: list[int]) -> None:
        self._parts = parts

    def mapInArrow(self, run: Callable[..., Iterator[pa.RecordBatch]], _: str) -> Partitions:
        self._run = run
        return self

    def collect(self) -> list[Any]:
        told = []
        for part in self._parts:
            batches = [pa.RecordBatch.from_pydict({"number": part})]
            list(self._run(iter(batches)))
            told += [tuple(row.values()) for each in self._run(iter(batches)) for row in each.to_pylist()]
        return told


def even_and_odd(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            row = pa.RecordBatch.from_pylist([{"number": number}], schema=NUMBERS)
            yield (f"odd/{number % 3}" if number % 2 else "even"), row


def rows(folder: Path) -> list[int]:
    return sorted(number for path in folder.rglob("*.parquet") for number in read(path))


def read(path: Path) -> list[int]:
    numbers: list[int] = pq.read_table(path, partitioning=None).column("number").to_pylist()
    return numbers


def test_each_row_is_there_once_however_often_a_task_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "LARGE", 1)
    monkeypatch.setattr(written, "_GROUP", 1)
    folder = tmp_path / "numbers"
    folder.mkdir()
    (folder / "left by an earlier run").touch()
    tables = {"even": NUMBERS, "odd": NUMBERS, "none": NUMBERS}
    written.write_tables(Partitions([1, 2, 3, 4], [5, 6, 7]), even_and_odd, tables, folder)
    assert [rows(folder / name) for name in tables] == [[2, 4, 6], [1, 3, 5, 7], []]
    assert [rows(folder / "odd" / part) for part in "012"] == [[3], [1, 7], [5]]
    assert len(list((folder / "even").iterdir())) == 3  # a file ends when it is large
    assert sorted(path.name for path in folder.iterdir()) == sorted([written.WHOLE, *tables])
    assert json.loads((folder / written.WHOLE).read_text()) == {
        "even": ["number"],
        "odd": ["number"],
        "none": [],
    }
    for path in folder.rglob("*.parquet"):
        assert written.SCHEMA in str(pq.read_schema(path).metadata)


def test_where_a_task_fails_nothing_is_there(tmp_path: Path) -> None:
    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        yield from even_and_odd(batches)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        written.write_tables(
            Partitions([1, 2]), fails, {"even": NUMBERS, "odd": NUMBERS}, tmp_path / "numbers"
        )
    assert list(tmp_path.iterdir()) == []


def test_tables_are_put_together_without_being_copied(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"number": [1]}), tmp_path / name / "part.parquet")
    written.link([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert rows(tmp_path / "both") == [1, 1]
    inodes = {path.stat().st_ino for path in tmp_path.rglob("*.parquet")}
    assert len(inodes) == 2
