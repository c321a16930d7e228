"""Stamps in exact numbers: as they are read, compared, digested and written, a float never stands between."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from io import BytesIO

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from microcosm import Microcosm, Relation
from microcosm.compare.digest import givens_digest, same_givens
from microcosm.errors import TextError
from microcosm.givens import exact
from microcosm.givens.givens import Givens
from microcosm.givens.relation import too_late
from microcosm.spark.io import events as rows
from microcosm.spark.io import reading as tasks
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.traces.event import LARGEST, TraceEvent
from microcosm.traces.formats import jsonl, parquet
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines
from microcosm.worlds.constraints import StampOrder


@st.composite
def numerals(draw: st.DrawFn) -> str:
    """Numbers as JSON writes them, many of which are near one another and near the limits of floats."""
    near = draw(st.sampled_from([0, 1, 2**53, 2**63, 10**17, 12345678901234567890]))
    whole = str(near + draw(st.integers(-2, 2)))
    part = draw(st.sampled_from(["", ".0", ".00", ".1", ".10", ".5", ".000000001", ".123456789012345678901"]))
    power = draw(st.sampled_from(["", "", "", "e0", "E1", "e-3", "e+2"]))
    return whole + part + power


def stamped(numerals_of: dict[str, tuple[str, str]]) -> str:
    return "".join(f"stamp {event} = [{low}, {high}]\n" for event, (low, high) in numerals_of.items())


@given(numerals(), numerals())
def test_what_is_written_is_compared_exactly(one: str, other: str) -> None:
    """By the text of both forms, and by rows, as fractions compare."""
    text = stamped({"a": (one, one), "b": (other, other)})
    as_json = f'{{"stamps": {{"a": [{one}, {one}], "b": [{other}, {other}]}}}}'
    for givens in (read_givens(text), read_givens(as_json)):
        first, second = givens.stamps["a"], givens.stamps["b"]
        expected = Fraction(one) > Fraction(other)
        assert too_late(first, second) == expected
        order = StampOrder({0: first, 1: second})
        assert (order.holds(0, 1), order.row(0), order.col(1)) == (expected, 2 * expected, expected)
        known = Microcosm(givens)
        assert (Relation.BEFORE in known.possible("a", "b").relations) != expected
        assert (Relation.BEFORE in known.offline("a", "b").refuted) == expected


@given(numerals(), numerals())
def test_every_form_is_read_back_the_same(one: str, other: str) -> None:
    low, high = sorted((one, other), key=Fraction)
    givens = read_givens(stamped({"a": (low, high)}))
    written = write_mc(givens)
    assert read_givens(written).stamps == givens.stamps
    assert write_mc(read_givens(written)) == written
    text = exact.json_text(Microcosm(givens).to_json())
    assert read_givens(text).stamps == givens.stamps
    bounds = json.loads(text, parse_int=Fraction, parse_float=Fraction)["stamps"]["a"]
    assert bounds == [Fraction(low), Fraction(high)], "and are numbers to any reader of JSON"


@given(numerals(), numerals())
def test_digests_tell_what_is_equal(one: str, other: str) -> None:
    both = [read_givens(stamped({"a": (each, each)})) for each in (one, other)]
    equal = Fraction(one) == Fraction(other)
    assert same_givens(*both) == equal
    assert (givens_digest(both[0]) == givens_digest(both[1])) == equal


def test_a_digest_of_floats_is_what_it_was() -> None:
    assert givens_digest(read_givens("stamp u = [10.0, 12.5]\n")) == givens_digest(
        Givens(stamps={"u": (Decimal(10), Decimal("12.50"))})
    )
    before = "bfc74d71dde9f5b27f33265cf73d8c77ed1f07e5818f87c2cf90526bd7fc357d"
    assert givens_digest(read_givens("stamp u = [10.0, 12.5]\n")) == before


@given(numerals(), numerals())
def test_a_trace_keeps_its_stamps_exactly(one: str, other: str) -> None:
    low, high = sorted((one, other), key=Fraction)
    assume(Fraction(high) <= LARGEST)
    line = f'{{"process": "p", "seq": 1, "kind": "internal", "stamp": [{low}, {high}]}}\n'
    for _ in range(2):
        [event] = read(line)
        assert isinstance(event.stamp, tuple)
        assert [*map(Fraction, event.stamp)] == [Fraction(low), Fraction(high)]
        line = jsonl.line_of(event)


def read(text: str) -> list[TraceEvent]:
    report = Report()
    return [*jsonl.read(Lines(BytesIO(text.encode()), "t.jsonl", report), "t.jsonl", report, Options())]


@pytest.mark.parametrize("bound", ["NaN", "Infinity", "1e999", "-1e999", '"1"', "true", "1e30", "1e-99999"])
def test_a_stamp_that_is_no_number_is_a_bad_line(bound: str) -> None:
    assert read(f'{{"process": "p", "seq": 1, "kind": "internal", "stamp": [{bound}, {bound}]}}\n') == []


@given(numerals())
def test_a_column_of_floats_holds_no_less_than_the_interval(text: str) -> None:
    """Parquet and Spark have doubles: an interval is widened to them, and nothing follows that did not.

    Parquet says beside them what they cannot show.
    """
    value = exact.number(text)
    low, high = exact.below(value), exact.above(value)
    assert Fraction(exact.of_float(low)) <= Fraction(text) <= Fraction(exact.of_float(high))
    if exact.as_float(value) is not None:
        assert low == high
        assert exact.of_float(low) == value
    row = parquet._row(TraceEvent("p", 1, "internal", stamp=(value, value)))
    more = {} if low == high else {"written": [exact.written(value)] * 2}
    said = {name: bound for name, bound in row["stamp"].items() if bound is not None}
    assert said == {"earliest": low, "latest": high, **more}
    other = rows.row_of(TraceEvent("p", 1, "internal", stamp=(value, value)))
    assert (other["earliest"], other["latest"]) == (low, high)


@given(numerals(), numerals(), st.integers(2**53, LARGEST))
def test_a_copy_in_columns_is_exact(one: str, other: str, lamport: int) -> None:
    """In the rows of Spark too."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    assume(max(Fraction(one), Fraction(other)) <= LARGEST)
    ends = (exact.number(one), exact.number(other))
    stamps = [(min(ends), max(ends)), lamport]
    events = [TraceEvent("p", at, "internal", stamp=stamp) for at, stamp in enumerate(stamps, 1)]
    stream = BytesIO()
    parquet.write(events, stream)
    report = Report()
    lines = Lines(BytesIO(stream.getvalue()), "t.parquet", report)
    assert [*parquet.read(lines, "t.parquet", report, Options())] == events
    table = pa.Table.from_pylist([*map(rows.row_of, events)], schema=rows.arrow_schema(rows.EVENT))
    assert [*rows.events_in(table)] == events
    [batch] = pq.ParquetFile(stream).iter_batches()
    assert [*tasks.stated(batch, "t.parquet", 0, report)] == events


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-99999", "1" * 5000 + ".5"])
def test_numbers_that_are_too_long_are_refused(text: str) -> None:
    for document in (f"stamp a = [{text}, {text}]\n", f'{{"stamps": {{"a": [{text}, {text}]}}}}'):
        with pytest.raises(TextError, match=r"too (large|many digits)"):
            read_givens(document)


def test_text_that_looks_like_a_marked_number_stays_text() -> None:
    value = {"a": "0.1", '"0.1"': [Decimal("0.12345678901234567890"), "\\udfff0.1", "\\"]}
    for ascii_ in (False, True):
        text = exact.json_text(value, ensure_ascii=ascii_)
        assert json.loads(text, parse_float=Decimal) == value
    with pytest.raises(TypeError):
        exact.json_text({1, 2})
