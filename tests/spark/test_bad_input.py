"""What is odd about an input is named with its place, and counted; what is good is kept. No Spark here."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microcosm.compare.digest import analogy_digest_of
from microcosm.errors import TextError
from microcosm.spark.bisim import microcosms
from microcosm.spark.bisim.job import read_pairs
from microcosm.spark.io import inputs as pieces
from microcosm.spark.io import reading
from microcosm.spark.io.events import events_in, once_each
from microcosm.spark.io.inputs import Piece, by_lines, by_row_groups
from microcosm.traces import reading as formats
from microcosm.traces.covering import WIDEST, covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from tests.thorough import draws

AS_IT_IS = reading.Reading()


def read(pieces: list[Piece]) -> tuple[list[TraceEvent], Counter[str], list[str]]:
    """The events of pieces, counts of irregularities, and where each is."""
    events, counts, places = [], Counter[str](), []
    for name, batch in (made for piece in pieces for made in reading.read(piece, AS_IT_IS)):
        if name == "odd":
            for row in batch.to_pylist():
                counts[row["reported"]] += row["count"]
                places.append(f"{Path(row['file']).name}:{row['line']}")
        elif name == "events":
            events += events_in(pa.Table.from_batches([batch]))
    return events, counts, places


def test_lines_that_are_no_events_are_named_and_the_others_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [line_of(TraceEvent("p", seq)) for seq in range(1, 200)]
    lines[10] = '{"process": "p", "seq": 0, "kind": "internal"}\n'
    lines[50] = lines[49]
    lines[100] = '{"process": "p", "kind": "internal"\n'
    log.write_text("".join(lines) + '{"process": "p", "se', encoding="utf-8")
    events, counts, places = read(by_lines(log, 1000))
    assert len(events) == 197
    assert counts == {"bad-line": 3}
    assert sorted(places) == ["log.jsonl:101", "log.jsonl:11", "log.jsonl:200"]
    report = Report()  # what is there twice is told where the events of a trace are together
    assert sum(1 for _ in once_each(events, report)) == 196
    assert [(each.kind, each.line) for each in report.findings] == [("duplicate-event", 51)]


@pytest.mark.parametrize("name", ["log.jsonl", "log.log", "log.parquet"])
def test_a_file_that_is_gone_when_its_turn_comes_ends_no_job(tmp_path: Path, name: str) -> None:
    piece = Piece(str(tmp_path / name), stop=9 if name != "log.log" else None)
    assert read([piece]) == ([], {"unreadable": 1}, [f"{name}:None"])


@pytest.mark.parametrize("size", [100, 1000])
def test_a_line_longer_than_a_piece_is_read_once(tmp_path: Path, size: int) -> None:
    log = tmp_path / "log.jsonl"
    lines = [line_of(TraceEvent("p", seq, label="x" * (size * 5 * (seq % 4)))) for seq in range(1, 12)]
    log.write_text("".join(lines), encoding="utf-8")
    pieces = by_lines(log, size)
    events, counts, _ = read(pieces)
    assert [(event.seq, event.line) for event in events] == [(seq, seq) for seq in range(1, 12)]
    assert not counts


@pytest.mark.parametrize("form", ["utf-16", "gzip"])
def test_what_has_no_lines_to_be_cut_at_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(pieces, "LARGEST", 100)
    log = tmp_path / "log.jsonl"
    text = "".join(line_of(TraceEvent("p", seq)) for seq in range(1, 500))
    log.write_bytes(gzip.compress(text.encode()) if form == "gzip" else text.encode(form))
    events, counts, _ = read(next(reading.planned([str(log)], [log], AS_IT_IS)))
    assert len(events) == 499
    assert counts == ({} if form == "gzip" else {"other-encoding": 1})


@pytest.mark.slow
def test_a_line_of_many_megabytes_is_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("wb") as stream:
        stream.write(line_of(TraceEvent("p", 1)).encode())
        stream.truncate(1 << draws(28, 30))  # a hole in the file: zeros that take no room
        stream.seek(0, 2)
        stream.write(b"\n" + line_of(TraceEvent("p", 2)).encode())
    events, counts, places = read(by_lines(log))
    assert [(event.seq, event.line) for event in events] == [(1, 1), (2, 3)]
    assert (counts, places) == ({"long-line": 1}, ["log.jsonl:2"])


def test_a_clock_that_contradicts_the_order_of_its_process_is_named() -> None:
    report = Report()
    events = [
        TraceEvent("p", seq, clock={"p": own}, file="log", line=seq) for seq, own in ((1, 1), (2, 3), (3, 2))
    ]
    covering(events, report)
    first = report.findings[0]
    assert (first.kind, first.file, first.line) == ("seq-against-clock", "log", 3)


def test_a_process_may_have_any_name(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(line_of(TraceEvent("a\nb", 1)) + line_of(TraceEvent("a\nb", 2)), encoding="utf-8")
    events, counts, _ = read(by_lines(log))
    assert not counts
    assert [edge[0] for edge in covering(events, Report()).edges] == ["a\nb:1"]


@pytest.mark.thorough
def test_a_hundred_thousand_processes() -> None:
    """Each hands over to the next: what is known is the whole past, told as far as it is not too wide."""
    events = [TraceEvent("p0", 1, "send", "m0")]
    for at in range(1, 100_000):
        events.append(TraceEvent(f"p{at}", 1, "receive", f"m{at - 1}"))
        events.append(TraceEvent(f"p{at}", 2, "send", f"m{at}"))
    report = Report()
    found = covering(events, report)
    assert len(found.frontiers) == 100_000
    assert [len(each.knows) for each in found.frontiers if each.knows] == list(range(1, WIDEST + 1))
    assert report.counts == {"wide-frontier": 100_000 - WIDEST, "unreceived-send": 1}


def test_a_microcosm_that_is_no_line_is_a_row_with_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(microcosms, "LINE_LIMIT", 200)
    table = tmp_path / "table.jsonl"
    good = json.dumps({"id": "x", "external": [["a", "<", "b"]]})
    long = json.dumps({"id": "long", "internal": ["e" * 900]})
    table.write_text("\n".join((good, long, "", "{", good.replace('"x"', '"y"'))), encoding="utf-8")
    found = [row for piece in by_lines(table, 300) for row in microcosms.rows(piece)]
    assert [(row.at, row.id) for row in found] == [(1, "x"), (2, None), (4, None), (5, "y")]
    assert [row.fault is None for row in found] == [True, False, False, True]
    assert "200 bytes" in (found[1].fault or "")


def test_parquet_is_read_by_row_groups_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    records = [{"process": "p", "seq": seq if seq != 40 else 0, "kind": "internal"} for seq in range(1, 100)]
    pq.write_table(pa.Table.from_pylist(records), file, row_group_size=7)
    tasks = by_row_groups(file, 1000)
    assert 2 < len(tasks) < 15
    events, counts, places = read(tasks)
    assert [event.line for event in events] == [event.seq for event in events]
    assert len(events) == 98
    assert (counts, places) == ({"bad-line": 1}, ["log.parquet:40"])
    file.write_bytes(file.read_bytes()[:-9])
    events, counts, _ = read(by_row_groups(file, 1000))
    assert (events, counts) == ([], {"unreadable": 1})


def test_a_row_of_parquet_that_is_no_utf8_costs_no_other_row(tmp_path: Path) -> None:
    """Though rows that are plainly events go from column to column, and are not looked at one by one."""
    file = tmp_path / "log.parquet"
    names = pa.array([b"p", b"\xff", b"p"]).view(pa.string())
    pq.write_table(pa.table({"process": names, "seq": [1, 2, 3], "kind": ["internal"] * 3}), file)
    events, counts, places = read([Piece(str(file))])
    assert ([event.seq for event in events], counts) == ([1, 3], {"bad-line": 1})
    assert places == ["log.parquet:2"]
    assert [event.line for event in events] == [1, 3]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2_932_897, 1], pa.date32()),
        pa.array([-(2**62), 1], pa.timestamp("us")),
        pa.array([2**61, 1], pa.duration("s")),
        pa.array([[{"day": 2_932_897}], []], pa.list_(pa.struct([("day", pa.date32())]))),
    ],
)
def test_a_row_of_parquet_with_a_value_that_python_has_not_costs_no_other_row(
    tmp_path: Path, values: pa.Array
) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(
        pa.table({"process": ["p"] * 2, "seq": [1, 2], "kind": ["internal"] * 2, "x": values}), file
    )
    events, counts, places = read([Piece(str(file))])
    assert ([event.seq for event in events], counts, places) == ([2], {"bad-line": 1}, ["log.parquet:1"])
    report = Report()
    assert [event.seq for event in formats.read([file], report=report)] == [2]
    assert "cannot be read" in report.findings[0].message
    pq.write_table(pa.table({"id": ["a", "b"], "internal": [["x"]] * 2, "stamps": values}), file)
    first = next(iter(microcosms.rows(Piece(str(file)))))
    assert isinstance(first, microcosms.Row)
    assert (first.at, "cannot be read" in (first.fault or "")) == (1, True)


@pytest.mark.parametrize("wanted", [None, frozenset[str]()])
def test_a_microcosm_of_parquet_that_is_no_utf8_costs_no_other_row(
    tmp_path: Path, wanted: frozenset[str] | None
) -> None:
    file = tmp_path / "table.parquet"
    ids = pa.array([b"x", b"\xff", b"y", b"z"]).view(pa.string())
    chains = [pa.array([b"a", name]).view(pa.string()) for name in (b"b", b"b", b"\xfe", b"b")]
    internal = pa.ListArray.from_arrays([0, 2, 4, 6, 8], pa.concat_arrays(chains))
    pq.write_table(pa.table({"id": ids, "internal": internal}), file)
    tables = [*microcosms.judgements(Piece(str(file)), wanted, None)]
    judged = [row["id"] for name, batch in tables if name == "judged" for row in batch.to_pylist()]
    odd = [row["line"] for name, batch in tables if name == "odd" for row in batch.to_pylist()]
    assert (judged, odd) == (["x", "z"], [2, 3])
    pq.write_table(pa.table({"left_id": ids, "right_id": ids}), file)
    with pytest.raises(TextError, match="has no columns left_id and right_id"):
        read_pairs(str(file))


def test_a_name_of_a_file_that_is_no_utf8_is_told(tmp_path: Path) -> None:
    """Tables could not name it, nor call a trace or a microcosm by it."""
    file = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    file.write_text(line_of(TraceEvent("p", 1)), encoding="utf-8")
    for name in (str(file), str(tmp_path), f"file://{tmp_path}/caf%E9.jsonl"):
        with pytest.raises(TextError, match=r"caf\\udce9\.jsonl: has a name that is no UTF-8"):
            pieces.expand([name])
    with pytest.raises(TextError, match="has a name that is no UTF-8"):
        pieces.local_path(os.fsdecode(b"out\xff"))


def test_a_microcosm_of_many_events_is_a_row_like_others(tmp_path: Path) -> None:
    """Consistency is told without a search where nothing but order and concurrency is given."""
    chain = [["a" if not at else f"e{at:05}", "<", f"e{at + 1:05}"] for at in range(20_000)]
    table = tmp_path / "table.jsonl"
    rows_ = ({"id": "great", "external": chain}, {"id": "small", "external": [["a", "||", "b"]]})
    table.write_text("".join(json.dumps(row) + "\n" for row in rows_), encoding="utf-8")
    great, small = (row for piece in by_lines(table) for row in microcosms.rows(piece))
    assert great.givens is not None
    assert small.givens is not None
    for row in (great, small):
        digest, consistent = microcosms.judged(row.givens)
        assert consistent
        assert digest == analogy_digest_of(row.givens)
