"""The table of the events of a log: rows, places, copies."""

from __future__ import annotations

import copy
import pickle

import pytest

from microcosm import Microcosm
from microcosm.givens.event_table import NOTHING, EventRow, EventTable, EventTableBuilder, Mapped, Repeated
from microcosm.givens.givens import Givens

ROWS = [
    EventRow("p:1", "p", 1, "send", "m1", "start", None, {"key": "x"}, "12:00", "p.log", 3),
    EventRow("q:1", "q", 1, "receive", "m1", None, None, NOTHING, None, "q.log", 1),
    EventRow("r:1"),
]


def table(rows: list[EventRow] = ROWS) -> EventTable:
    builder = EventTableBuilder()
    for row in rows:
        builder.add(row)
    return builder.table()


def test_a_row_comes_back_as_it_was_put_in() -> None:
    events = table()
    assert [*events] == ROWS
    assert [events.row(row.name) for row in ROWS] == ROWS
    assert events.row("s:1") is None
    assert events.number("q:1") == 1
    assert (events.place("p:1"), events.place("r:1"), events.place("s:1")) == ("p.log:3", None, None)
    assert (events.label("p:1"), events.label("q:1"), events.label("s:1")) == ("start", None, None)
    assert "q:1" in events
    assert "s:1" not in events
    assert (
        [pickle.loads(pickle.dumps(row)) for row in events] == [copy.deepcopy(row) for row in events] == ROWS
    )
    assert 1 not in events
    assert len(events) == 3


def test_tables_are_equal_by_what_they_say() -> None:
    assert table() == table()
    assert table() != table(ROWS[:2])
    assert table() != table([ROWS[0]._replace(label="stop"), *ROWS[1:]])
    assert table() != ROWS


def test_a_table_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(table())) == table()
    columns = table().columns
    plain = EventTable(*columns[:-2], Repeated("a", 3), range(1, 4))
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_copies_share_the_table_and_nothing_compares_it() -> None:
    events = table()
    known = Microcosm(Givens(internal=["p:1", "r:1"], events=events))
    for other in (known, known.copy(), copy.deepcopy(known)):
        assert other.events_table is events
        assert other.givens.events is events
        assert other.givens.copy().events is events
    assert pickle.loads(pickle.dumps(known)).events_table == events
    assert known == Microcosm(Givens(internal=["p:1", "r:1"]))
    assert known.givens == Givens(internal=["p:1", "r:1"])
    known.add("r:1 < q:1")
    assert known.events_table is events


def test_columns_that_are_worked_out() -> None:
    lengths = Mapped(["a", "bcd", "ef"], len)
    assert ([*lengths], lengths[1], lengths[-1], lengths[1:], len(lengths)) == ([1, 3, 2], 3, 2, [3, 2], 3)
    same = Repeated("x", 3)
    assert ([*same], same[2], same[1:], len(same)) == (["x"] * 3, "x", ["x", "x"], 3)


def test_a_table_goes_to_arrow() -> None:
    pytest.importorskip("pyarrow")
    known = Microcosm(Givens(internal=["p:1"], events=table()))
    rows = known.events_to_arrow().to_pylist()
    assert [row["name"] for row in rows] == ["p:1", "q:1", "r:1"]
    assert rows[0] == ROWS[0]._asdict() | {"attributes": '{"key": "x"}', "time": '"12:00"'}
    assert {key: value for key, value in rows[2].items() if value is not None} == {"name": "r:1"}
    assert Microcosm.parse("a < b").events_to_arrow().num_rows == 0
