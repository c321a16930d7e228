"""Parquet: what was written is read, and what is damaged is named."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.givens.exact import of_float
from microcosm.traces import reading as formats
from microcosm.traces.event import KINDS, LARGEST, TraceEvent
from microcosm.traces.formats import jsonl, parquet
from tests.traces.logs import read_text, told

pyarrow = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")

NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
FLOAT = st.floats(-1e9, 1e9).map(of_float)
STAMP = st.none() | st.integers(0, LARGEST) | st.tuples(FLOAT, FLOAT).map(lambda pair: tuple(sorted(pair)))
VALUE = st.none() | st.booleans() | st.integers() | NAME | st.lists(st.integers(), max_size=2)
EVENTS = st.lists(
    st.builds(
        TraceEvent,
        process=NAME,
        seq=st.integers(1, LARGEST),
        kind=st.sampled_from(sorted(KINDS)),
        message=st.none() | NAME,
        to=st.lists(NAME, unique=True, max_size=2).map(tuple),
        clock=st.none() | st.dictionaries(NAME, st.integers(0, LARGEST), max_size=3),
        stamp=STAMP,
        label=st.none() | st.text("ab\n", max_size=3),
        attributes=st.dictionaries(NAME, VALUE, max_size=2),
        trace=st.none() | NAME,
        name=st.none() | NAME,
        after=st.lists(NAME, unique=True, max_size=2).map(tuple),
    ),
    max_size=6,
    unique_by=lambda event: (event.trace, event.process, event.seq),
)


def written(events: list[TraceEvent]) -> bytes:
    stream = BytesIO()
    assert parquet.write(events, stream) == len(events)
    return stream.getvalue()


@given(EVENTS)
def test_what_is_written_is_read(events: list[TraceEvent]) -> None:
    found, report = read_text(written(events), "parquet")
    assert found == events
    assert not report.counts
    assert read_text("".join(map(jsonl.line_of, events)))[0] == events
    from pyarrow.parquet import read_table

    listed = read_table(BytesIO(written(events)))
    for name in ("clock", "attributes"):  # as who has no maps writes them
        maps = listed.column(name).to_pylist()
        entries = [each and [{"key": key, "value": value} for key, value in each] for each in maps]
        kind = pyarrow.struct(
            [("key", pyarrow.string()), ("value", listed.schema.field(name).type.item_type)]
        )
        listed = listed.set_column(
            listed.column_names.index(name), name, [pyarrow.array(entries, pyarrow.list_(kind))]
        )
    stream = BytesIO()
    pyarrow.parquet.write_table(listed, stream)
    assert read_text(stream.getvalue(), "parquet")[0] == events


def test_the_schema_says_its_version_and_encodes_names() -> None:
    from pyarrow.parquet import read_schema

    schema = read_schema(BytesIO(written([TraceEvent("p", 1)])))
    assert schema.metadata[b"microcosm.schema"] == parquet.VERSION.encode()
    clock = schema.field("clock").type
    assert (clock.key_type, clock.item_type) == (pyarrow.string(), pyarrow.int64())
    assert pyarrow.types.is_dictionary(schema.field("process").type)


def test_a_file_is_told_by_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(written([TraceEvent("p", 1)]))
    assert [event.id for event in formats.read([path])] == ["p:1"]
    assert next(formats.read([path])).line == 1


def table(**columns: list[object]) -> bytes:
    from pyarrow.parquet import write_table

    stream = BytesIO()
    write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def test_rows_that_are_no_events_are_reported() -> None:
    rows = table(process=["p", None, "p", "p"], seq=[1, 1, 1, 0], kind=["send"] * 4, more=[1, 2, 1, 4])
    found, report = read_text(rows, "parquet")
    assert [(event.id, event.attributes) for event in found] == [("p:1", {"more": 1})]
    assert told(report) == [("bad-line", 2), ("duplicate-event", 3), ("bad-line", 4)]
    assert report.lost == 3


def test_a_clock_that_has_a_process_twice_is_no_clock() -> None:
    """Which of its counts is meant, nobody knows."""
    clocks = pyarrow.array(
        [[("p", 1)], [("p", 2), ("q", 1), ("q", 7)]], pyarrow.map_(pyarrow.string(), pyarrow.int64())
    )
    rows = table(process=["p", "p"], seq=[1, 2], kind=["internal"] * 2, clock=clocks)
    found, report = read_text(rows, "parquet")
    assert [event.id for event in found] == ["p:1"]
    assert told(report) == [("bad-line", 2)]


def test_attributes_may_be_plain_texts_and_numbers() -> None:
    for values, expected in ((["info", '"a"', None], ["info", "a", None]), ([1, 2, None], [1, 2, None])):
        kind = pyarrow.map_(pyarrow.string(), pyarrow.array(values).type)
        more = pyarrow.array([[*zip("abc", values, strict=True)]], kind)
        found, report = read_text(
            table(process=["p"], seq=[1], kind=["internal"], attributes=more), "parquet"
        )
        assert ([event.attributes for event in found], told(report)) == (
            [dict(zip("abc", expected, strict=True))],
            [],
        )


def test_a_column_of_maps_is_an_attribute_that_is_an_object() -> None:
    inner = pyarrow.map_(pyarrow.int64(), pyarrow.string())
    maps = pyarrow.array([[("a", [(1, "x")]), ("b", None)], []], pyarrow.map_(pyarrow.string(), inner))
    [first, second] = read_text(
        table(process=["p", "p"], seq=[1, 2], kind=["internal"] * 2, tags=maps), "parquet"
    )[0]
    assert first.attributes == {"tags": {"a": {"1": "x"}, "b": None}}
    assert second.attributes == {"tags": []}


def test_a_stamp_may_be_of_any_numbers_that_mean_it() -> None:
    ends = {"earliest": Decimal("0.5"), "latest": Decimal("0.7"), "lamport": None}
    for stamps, expected in (
        ([1.0, 2.5, None], [1, None]),
        ([Decimal("1.0"), Decimal("2.0"), Decimal("2.5")], [1, 2]),
        (
            [[Decimal("0.5"), Decimal("0.7")], [Decimal(1), Decimal(2)], None],
            [(Decimal("0.5"), Decimal("0.7")), (1, 2), None],
        ),
        ([ends, {"lamport": 7.0}, None], [(Decimal("0.5"), Decimal("0.7")), 7, None]),
    ):
        rows = table(process=["p"] * 3, seq=[1, 2, 3], kind=["internal"] * 3, stamp=stamps)
        assert [event.stamp for event in read_text(rows, "parquet")[0]] == expected
    rows = table(process=["p"], seq=[1], kind=["internal"], origin=["a.log"], origin_line=[3.0])
    assert [(event.file, event.line) for event in read_text(rows, "parquet")[0]] == [("a.log", 3)]
    clocks = [{"p": 1.0, "q": None}, {"p": 2.0, "q": 1.0}]
    rows = table(process=["p"] * 2, seq=[1, 2], kind=["internal"] * 2, clock=clocks)
    assert [event.clock for event in read_text(rows, "parquet")[0]] == [{"p": 1}, {"p": 2, "q": 1}]


def test_what_is_wrong_with_a_number_or_a_clock_is_said_in_words_of_the_format() -> None:
    clocks = pyarrow.array([None, None, None, [1]], pyarrow.list_(pyarrow.int64()))
    seqs = [1.0, float("nan"), float("inf"), 2.0]
    found, report = read_text(
        table(process=["p"] * 4, seq=seqs, kind=["internal"] * 4, clock=clocks), "parquet"
    )
    assert [event.seq for event in found] == [1]
    assert [each.message.split(" must be ")[0] for each in report.findings] == [
        "row 2: `seq`",
        "row 3: `seq`",
        "row 4: `clock`",
    ]


def test_what_is_damaged_is_an_error() -> None:
    from pyarrow.parquet import write_table

    with pytest.raises(TextError, match="<test>: has no column seq, kind"):
        read_text(table(process=["p"]), "parquet")
    twice = pyarrow.Table.from_arrays([pyarrow.array([1])] * 2, names=["seq", "seq"])
    write_table(twice, stream := BytesIO())
    with pytest.raises(TextError, match="<test>: has two columns seq"):
        read_text(stream.getvalue(), "parquet")
    content = written([TraceEvent("p", 1)])
    for damaged in (content[:-20], content[:4] + b"\0" * 60 + content[64:], b"PAR1"):
        with pytest.raises(TextError, match="<test>: is damaged or no Parquet"):
            read_text(damaged, "parquet")


def test_a_row_that_is_no_utf8_costs_no_other_row() -> None:
    names = pyarrow.array([b"p", b"\xff", b"p"]).view(pyarrow.string())
    events, report = read_text(table(process=names, seq=[1, 2, 3], kind=["internal"] * 3), "parquet")
    assert [event.seq for event in events] == [1, 3]
    assert told(report) == [("bad-line", 2)]


def test_the_command_line_converts_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from microcosm.cli.app import main

    log, columns, again = (str(tmp_path / name) for name in ("a.jsonl", "a.parquet", "b.jsonl"))
    text = '{"process": "p", "seq": 1, "kind": "send", "message": "m", "to": ["q"]}\n'
    Path(log).write_text(text, encoding="utf-8")
    assert main(["trace", log, "--to", columns]) == 0
    assert main(["trace", columns, "--to", again]) == 0
    assert Path(again).read_text(encoding="utf-8") == text
    for left in (b"PAR1 and no more", b""):
        Path(columns).write_bytes(left)
        assert main(["extract", columns]) == 4
        assert "is damaged or no Parquet" in capsys.readouterr().err
