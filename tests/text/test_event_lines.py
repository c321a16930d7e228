"""What a log says of its events survives the microcosm file and its JSON form exactly; faults have places."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microcosm import Microcosm, TextError
from microcosm.givens.event_table import NOTHING, EventRow, EventTable, EventTableBuilder
from microcosm.givens.exact import json_text
from microcosm.givens.givens import Givens
from microcosm.text.event_line import lines_of_events
from microcosm.text.json_form import givens_to_json
from microcosm.text.mc_reader import parse_statement, read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.text.names import quote
from microcosm.text.statement import Quoted

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [
        "event",
        "process",
        "seq",
        "at",
        "time",
        "name",
        "a b",
        "#",
        "=",
        "a:1",
        '"',
        "\\",
        "\n",
        "\u2028",
        "\u200e",
    ]
)
NAMES = TEXTS.filter(bool)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=5,
)
ROWS = st.builds(
    EventRow,
    name=NAMES,
    process=TEXTS,
    seq=st.integers(0, 2**63 - 1),
    kind=st.sampled_from(["", "internal", "send", "receive", "causal_send", "deliver"]),
    message=st.none() | TEXTS,
    label=st.none() | TEXTS,
    trace=st.none() | TEXTS,
    attributes=st.dictionaries(TEXTS, VALUES, max_size=3).map(lambda found: found or NOTHING),
    time=st.none() | VALUES,
    file=TEXTS,
    line=st.integers(0, 10**9),
)


def table(rows: list[EventRow]) -> EventTable:
    builder = EventTableBuilder()
    for row in rows:
        builder.add(row)
    return builder.table()


@given(st.lists(ROWS, min_size=1, max_size=5, unique_by=lambda row: row.name))
def test_a_table_survives_both_forms_exactly(rows: list[EventRow]) -> None:
    givens = Givens(internal=["x"], events=table(rows))
    back = read_givens(write_mc(givens, events=True)).events
    assert back is not None
    assert [*back] == rows
    form = json_text(givens_to_json(givens, events=True))
    again = read_givens(form).events
    assert again is not None
    assert [*again] == rows
    assert read_givens(write_mc(givens, events=False)).events is None


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=3)


@given(st.lists(st.dictionaries(TEXTS, VALUES | DECIMALS, max_size=2), min_size=1, max_size=4))
@example([{"k": Decimal("1.10")}])
@example([{"k": Decimal("1.10")}, {"k": [1]}, {"k": "\u2028"}, {"k": float("nan")}])
def test_events_are_written_together_as_one_by_one(said: list[dict[str, object]]) -> None:
    builder, alone = EventTableBuilder(), []
    for at, attributes in enumerate(said):
        row = EventRow(f"p:{at}", attributes=attributes, time=attributes.get("time"))
        builder.add(row)
        values = "".join(f" {quote(key)}={shown(value)}" for key, value in attributes.items())
        alone.append(f"event p:{at}{values}\n")
    assert "".join(lines_of_events(builder.table(), Quoted(), 100)) == "".join(alone)


def shown(value: object) -> str:
    """A value as JSON, in ASCII where a terminal would not show it."""
    text = json_text(value)
    return text if text.isprintable() else json_text(value, ensure_ascii=True)


def test_what_has_no_words_is_written_only_on_demand() -> None:
    plain = Givens(
        internal=["p:1"], events=table([EventRow("p:1", "p", 1, "internal", file="a.log", line=1)])
    )
    assert "event" not in write_mc(plain)
    assert "events" not in givens_to_json(plain)
    assert "event p:1 process p seq 1 kind internal at a.log:1\n" in write_mc(plain, events=True)


def test_event_lines_stand_anywhere_and_event_is_a_name_still() -> None:
    known = Microcosm.parse(
        'event event "a label" at "my log:3" # a comment\n'
        "event < b\n"
        '  event b   key = {"a": [1, 2]}   seq 2 process p   \n'
        "event || c\n"
    )
    assert known.online("event", "b").value == "<"
    events = known.events_table
    assert events is not None
    assert [*events] == [
        EventRow("event", label="a label", file="my log", line=3),
        EventRow("b", "p", 2, attributes={"key": {"a": [1, 2]}}),
    ]
    assert parse_statement("event x").row == EventRow("x")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("event a b", 9, "unexpected 'b' in what is said of an event"),
        ("event a proces p", 9, "unexpected 'proces' in what is said of an event"),
        ("event a seq x", 13, "`seq` is a whole number, not 'x'"),
        ("event a kind sent", 14, "unknown kind 'sent'"),
        ("event a at b", 12, "expected FILE:LINE, not 'b'"),
        ("event a k=", 11, "not JSON: Expecting value"),
        ("event a k=1x", 12, "unexpected 'x' after the value"),
        ("event a k=1 k=2", 13, "'k' is stated twice"),
        ('event a "x" "y"', 13, "the label of the event is stated twice"),
        ("event a at b:1 at b:2", 16, "the at of the event is stated twice"),
        ("event a process p process q", 19, "the process of the event is stated twice"),
        (r'event a "\x"', 10, "not an escape"),
        (r'event a k="\ud800"', 11, "a name cannot contain half of a surrogate pair"),
        ("event name", 7, "`name` is a keyword"),
        ("event a k=" + "[" * 100_000, 11, "the value is nested too deeply"),
        ("event a k=" + "1" * 10_000, 11, "the number has too many digits"),
        ("event a process", 9, "unexpected 'process' in what is said of an event"),
    ],
)
def test_a_fault_in_an_event_line_has_its_place(line: str, column: int, message: str) -> None:
    with pytest.raises(TextError) as caught:
        read_givens(line)
    assert (caught.value.line, caught.value.column, caught.value.message) == (1, column, message)


def test_an_event_is_told_of_once() -> None:
    with pytest.raises(TextError, match="stated twice"):
        read_givens("event a\nevent a\n")


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ({}, "expected a list"),
        ([3], r"events\[0\]: expected an object"),
        ([{}], "the event has no name"),
        ([{"name": ""}], r"events\[0\].name"),
        ([{"name": "a"}, {"name": "a"}], "stands twice"),
        ([{"name": "a", "labl": "x"}], "unknown field"),
        ([{"name": "a", "kind": "sent"}], "expected one of internal"),
        ([{"name": "a", "seq": True}], "expected a whole number"),
        ([{"name": "a", "attributes": []}], "expected an object"),
    ],
)
def test_a_fault_in_the_json_form_has_its_path(events: object, message: str) -> None:
    with pytest.raises(TextError, match=message):
        read_givens(json.dumps({"events": events}))


def test_merging_joins_tables_and_forgetting_leaves_rows() -> None:
    one = Microcosm.parse('a < b\nevent a "one"\nevent b "both"')
    one.merge(Microcosm.parse('b < c\nevent b "again"\nevent c "three"'), Microcosm.parse("x < y"))
    events = one.events_table
    assert events is not None
    assert [(row.name, row.label) for row in events] == [("a", "one"), ("b", "both"), ("c", "three")]
    one.forget("b")
    assert one.events_table is events
    none = Microcosm.parse("x < y")
    none.merge(Microcosm.parse('event z "z"'))
    assert none.events_table is not None
