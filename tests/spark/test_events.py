"""What is bad has a row each, however much there is of it; and a job bears as much as it was told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.spark.bisim import microcosms
from microcosm.spark.io import events
from microcosm.spark.io.events import BAD, bad_of, irregularity_counts, max_bad
from microcosm.spark.io.inputs import PARQUET, Piece
from microcosm.spark.io.reading import Reading, read, rows
from tests.traces.test_irregularities import CASES, ELSEWHERE

pa = pytest.importorskip("pyarrow")


def test_the_kinds_of_what_is_bad_are_kinds() -> None:
    assert CASES.keys() | ELSEWHERE >= BAD


def log(folder: Path) -> Path:
    """Each third line is an event, others are not."""
    path = folder / "log.jsonl"
    lines = [
        f'{{"process": "p", "seq": {at}, "kind": "internal"}}' if at % 3 == 0 else "no"
        for at in range(1, 901)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_each_bad_line_is_a_row_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path)
    piece, reading = Piece(str(path), own=True), Reading("jsonl")
    found = [row for row in rows(piece, reading) if row.get("reported") == "bad-line"]
    assert [row["line"] for row in found] == [at for at in range(1, 901) if at % 3]
    assert {(row["file"], row["count"]) for row in found} == {(str(path), 1)}
    assert all(row["fault"] for row in found)
    monkeypatch.setattr(events, "MANY", 150)  # the rest is counted
    found = [row for row in rows(piece, reading) if row.get("reported") == "bad-line"]
    assert [row["line"] for row in found[:-1]] == [at for at in range(1, 901) if at % 3][:150]
    assert (found[-1]["line"], sum(row["count"] for row in found)) == (None, 600)


def test_each_bad_row_of_parquet_is_a_row_with_its_place(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / f"log{PARQUET}"
    records = [
        {"process": "p", "seq": at if at % 3 == 0 else -at, "kind": "internal"} for at in range(1, 901)
    ]
    pq.write_table(pa.Table.from_pylist(records), path)
    batches = [batch for name, batch in read(Piece(str(path)), Reading()) if name == "odd"]
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [row["line"] for row in found] == [at for at in range(1, 901) if at % 3]


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / f"log{PARQUET}"
    names = ["process", "seq", "kind", "process", "id", "id"]
    pq.write_table(pa.Table.from_arrays([pa.array(["p"])] * 6, names=names), path)
    batches = [batch for _, batch in read(Piece(str(path)), Reading())]
    [row] = [row for batch in batches for row in batch.to_pylist() if row.get("reported") == "unreadable"]
    assert row["fault"] == "has two columns process"
    [known] = microcosms.rows(Piece(str(path)))
    assert "has two columns process" in known.fault


def test_receivers_that_are_no_texts_are_none(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / f"log{PARQUET}"
    sending = {"process": ["p"], "seq": [1], "kind": ["send"], "message": ["m"], "to": [[7]]}
    pq.write_table(pa.table(sending), path)
    [(name, batch)] = read(Piece(str(path)), Reading())
    assert name == "odd"
    assert batch.column("fault").to_pylist() == ["`to` must be a list of processes, not [7]"]


counts = st.dictionaries(
    st.sampled_from([*sorted(BAD - {"unreadable"}), "seq-gap", "restart"]), st.integers(1, 50)
)


@given(counts, st.integers(0, 200), st.integers(0, 60), st.integers(0, 1000))
def test_a_job_bears_as_much_as_it_was_told(
    reported: dict[str, int], events: int, most: int, tenths: int
) -> None:
    def refused(text: str) -> bool:
        try:
            max_bad(text).refuse(reported, events, "a:1: what")
        except TextError:
            return True
        return False

    bad = sum(reported.get(kind, 0) for kind in sorted(BAD))
    assert bad == bad_of(reported)
    assert refused(str(most)) == (bad > most)
    assert refused(f"{tenths // 10}.{tenths % 10}%") == (1000 * bad > tenths * (events + bad))


def test_of_a_file_that_cannot_be_read_no_share_is_known() -> None:
    reported = {"unreadable": 1}
    for text in ("1", "100%"):
        max_bad(text).refuse(reported, 1_000_000, "a: what")
    for text in ("0", "99.9%"):
        with pytest.raises(TextError, match="1 of 1,000,001"):
            max_bad(text).refuse(reported, 1_000_000, "a: what")


@pytest.mark.parametrize(
    "text", ["", "%", "-1", "1.5", "101%", "1e3", "1/2", "1_0", "\u0661", "many", "1 000", ".", "1..2%"]
)
def test_what_is_no_limit_is_said(text: str) -> None:
    with pytest.raises(TextError, match="neither a number of lines"):
        max_bad(text)


def test_what_has_no_place_is_told_without_one(tmp_path: Path) -> None:
    place = {"file": None, "line": None, "count": 1, "lost": 0}
    rows = [{"reported": "seq-gap", "fault": "p: event 2 is missing", **place}]
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "odd.parquet")
    assert irregularity_counts([tmp_path]) == ({"seq-gap": 1}, ["p: event 2 is missing [seq-gap]"], 0)
