"""DataFrames in, DataFrames out: the rows are those of the engine in this process."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.errors import RuleError, TextError
from microcosm.spark import frames, register
from microcosm.spark.io.events import EVENT, row_of
from microcosm.traces.extract import extract
from microcosm.traces.formats.jsonl import line_of
from tests.spark.test_extract import in_process, traces

pytestmark = pytest.mark.spark


def collected(frame: Any) -> list[dict[str, Any]]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=repr)


def test_what_is_found_of_rows_is_what_is_found_of_a_log(spark: Any) -> None:
    events = list(traces(5, count=6, steps=20))
    events = Random(1).sample(events, len(events))
    rows = [{**row_of(event), "file": "log", "line": line} for line, event in enumerate(events)]
    for row in rows:
        row["clock"] = dict(row["clock"] or []) or None
    bad = {**rows[0], "process": None}
    frame = spark.createDataFrame([*rows[50:], bad, *rows[:50]], EVENT).drop("after").repartition(2).cache()
    found = frames.extract(frame, token="lock")
    edges, frontiers, counts = in_process(events, True, "lock")
    assert collected(found.edges) == edges
    told = [{**row, "knows": [*row["knows"].items()]} for row in collected(found.frontiers)]
    assert sorted(told, key=repr) == frontiers
    assert {row["id"] for row in collected(found.events)} == {event.full_id for event in events}
    odd = collected(found.reported)
    assert sum(row["count"] for row in odd if row["reported"] == "bad-line") == 1
    assert {row["reported"] for row in odd} == {*counts, "bad-line"}


def test_links_between_traces_are_edges_but_in_a_circle(spark: Any) -> None:
    rows = [
        ("one", "p", []),
        ("two", "q", ["one/p:1"]),
        ("three", "r", ["four/s:1"]),
        ("four", "s", ["three/r:1"]),
    ]
    made = [(trace, process, 1, "internal", after) for trace, process, after in rows]
    frame = spark.createDataFrame(
        made, "trace string, process string, seq long, kind string, after array<string>"
    )
    found = frames.extract(frame)
    assert [(row["left"], row["right"]) for row in collected(found.edges)] == [("one/p:1", "two/q:1")]
    odd = collected(found.reported)
    assert sum(row["reported"] == "link-cycle" for row in odd) == 2
    assert {row["trace"] for row in odd if row["reported"] == "isolated-event"} == {"three", "four"}


def test_of_rows_of_one_position_the_first_counts(spark: Any) -> None:
    rows = [("p", 7, "send", "m", 1), ("q", 1, "receive", "m", 2), ("q", 1, "receive", "m", 3)]
    columns = "process string, seq short, kind string, message string, line long"
    frame = spark.createDataFrame(rows, columns).selectExpr("*", "'log' as file").repartition(2)
    found = frames.extract(frame)
    assert [(row["left"], row["right"]) for row in collected(found.edges)] == [("p:7", "q:1")]
    assert [row["message"] for row in collected(found.events)] == ["m", "m"]
    (again,) = (row for row in collected(found.reported) if row["reported"] == "duplicate-event")
    assert (again["file"], again["line"]) == ("log", 3)


def test_texts_may_come_as_large_ones(spark: Any) -> None:
    rows = [("p", 1, "send", ["q"]), ("q", 1, "receive", None), ("q", 2, "internal", None)]
    frame = spark.createDataFrame(rows, "process string, seq long, kind string, to array<string>")
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        found = frames.extract(frame.selectExpr("*", "'m' as message", "map('p', 1L) as knew"))
        edges = [(row["left"], row["right"]) for row in collected(found.edges)]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert edges == [("p:1", "q:1"), ("q:1", "q:2")]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (("string(line) as line", "7 as file"), ("7", 3)),
        (("'log' as file",), ("log", None)),
        (("float(line) as line",), (None, 3)),
        (("'log' as file", "'third' as line"), ("log", None)),
    ],
)
def test_a_place_may_be_told_in_part_and_in_other_types(
    spark: Any, places: tuple[str, ...], expected: tuple[str | None, int | None]
) -> None:
    frame = spark.createDataFrame([("p", 1, 2), ("p", 1, 3)], "process string, seq long, line long")
    found = frames.extract(frame.selectExpr("process", "seq", "'internal' as kind", *places))
    (again,) = (row for row in collected(found.reported) if row["reported"] == "duplicate-event")
    assert (again["file"], again["line"]) == expected


def test_columns_may_have_any_names_but_one_twice(spark: Any) -> None:
    """A dot in one is no path, and bytes that are no text of UTF-8 cost no more than they say."""
    frame = spark.range(1).selectExpr("'p' process", "1 seq", "'internal' kind", "2 `a.b`", "array(3) `c.d`")
    found = frames.extract(frame.selectExpr("*", "cast(X'ff' as string) file", "4 line"))
    [event] = collected(found.events)
    assert (event["attributes"], event["file"]) == ('{"a.b": 2, "c.d": [3]}', None)
    with pytest.raises(TextError, match="two columns of one name"):
        frames.extract(frame.selectExpr("*", "5 seq"))


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        ("parse_json('1')", "variant"),
        ("array(parse_json('1'))", "variant"),
        ("interval '1-2' year to month", "interval year to month"),
        ("map('a', named_struct('b', interval '1' month))", "interval month"),
    ],
)
def test_a_column_of_which_python_has_no_values_is_an_error_on_the_driver(
    spark: Any, column: str, type_: str
) -> None:
    """The two parts of a variant were taken for bytes, and of an interval there was a worker's trace."""
    events = spark.sql(f"select 'p' as process, 1 as seq, 'internal' as kind, {column} as `what.else`")
    with pytest.raises(TextError, match=f"what.else is of a type .*: {type_}"):
        frames.extract(events)


def test_other_types_are_attributes(spark: Any) -> None:
    """Also a field called as a type that is none."""
    columns = "interval '1' day as d, named_struct('variant', 1, 'interval month', 2) as s"
    events = spark.sql(f"select 'p' as process, 1 as seq, 'internal' as kind, {columns}")
    found = frames.extract(events).events.collect()[0].attributes
    assert json.loads(found) == {"d": "1 day, 0:00:00", "s": {"variant": 1, "interval month": 2}}


def test_a_document_that_is_no_text_costs_no_other(spark: Any) -> None:
    first = spark.range(1).selectExpr("cast(X'ff' as string) id", "X'ff' document")
    second = spark.range(1).selectExpr("'b' id", "cast('größe < y' as binary) document")
    found = [(row["id"], row["class"], row["fault"]) for row in collected(frames.bisim(first.union(second)))]
    assert found == [("b", "b", None), ("\ufffd", None, "has bytes that are no UTF-8")]


def test_analogous_documents_are_of_one_class(spark: Any) -> None:
    texts: dict[str, str | None] = {"a": "x < y\ny < z", "b": "y < z\nx < z\nx < y", "c": "x < y\nx || y"}
    texts |= {"d": "x <", "e": "x < z", "f": None}
    found = {
        row["id"]: row
        for row in collected(
            frames.bisim(spark.createDataFrame([*texts.items()], "id string, document string"))
        )
    }
    assert [found[name]["class"] for name in "abce"] == ["a", "a", None, "e"]
    assert found["a"]["digest"] == found["b"]["digest"] is not None
    assert found["d"]["fault"].startswith("1:")
    assert (found["f"]["class"], found["f"]["fault"]) == (None, "`document` is null")
    assert not any(found[name]["fault"] for name in "abce")
    with pytest.raises(RuleError, match="nonsense: "):
        frames.bisim(spark.range(0).selectExpr("'a' id", "'b' document"), rules="nonsense")


def test_questions_are_answered_for_each_trace(spark: Any, tmp_path: Path) -> None:
    events = list(traces(6, count=3, steps=12))
    text = 'never [kind = "send"] || [kind = "receive"]'
    (tmp_path / "log.jsonl").write_text("".join(map(line_of, events)), encoding="utf-8")
    frame = spark.read.json(str(tmp_path / "log.jsonl"))  # as Spark reads lines: clocks are structs
    answers = {row["trace"]: row for row in collected(frames.assert_(frame, text))}  # noqa: PT009
    for trace in dict.fromkeys(event.trace for event in events):
        known = Microcosm(extract([event for event in events if event.trace == trace]).givens)
        (expected,) = known.assert_(text)  # noqa: PT009
        assert answers[trace]["verdict"] == expected.verdict
        assert {name: answers[trace][name] for name in expected.counts} == expected.counts
    with pytest.raises(TextError):
        frames.assert_(frame, "no question")  # noqa: PT009


def test_a_process_that_begins_again_is_asked_in_another_execution(spark: Any) -> None:
    rows = [("p", 1, "a", 1), ("p", 2, "b", 2), ("p", 2, "b", 3), ("p", 1, "x", 4), ("p", 2, "c", 5)]
    frame = spark.createDataFrame(rows, "process string, seq long, label string, line long")
    text = 'every [label = "c"] after some [label = "a"]'
    answers = collected(frames.assert_(frame.selectExpr("*", "'internal' as kind"), text))  # noqa: PT009
    assert [(row["trace"], row["verdict"]) for row in answers] == [("2", "open"), (None, "holds")]


def test_sql_asks_a_microcosm(spark: Any) -> None:
    from pyspark.errors import PySparkException

    known = Microcosm.parse("a < b\nb < c\nc || d\ne <> f")
    frames.register(spark, known)
    names = [*"abcdef", None, "z"]
    spark.createDataFrame([*product(names, names)], "a string, b string").createOrReplaceTempView("asked")
    rows = spark.sql(
        "select a, b, verdict(a, b) as verdict, happens_before(a, b) as before from asked"
    ).collect()
    assert len(rows) == len(names) ** 2
    for row in rows:
        nothing = None in (row.a, row.b) or row.a == row.b
        expected = Relation.SILENT if nothing else known.online(row.a, row.b)
        assert row.verdict == expected.value
        assert row.before == {"<": True, ">": False, "||": False}.get(row.verdict)
    [number] = spark.sql(
        "select verdict(1, 2), verdict(1, null), happens_before(date'2026-01-01', 1.5)"
    ).collect()
    assert [*number] == ["?", None, None]
    [bytes_] = spark.sql(
        "select verdict('a', X'ff'), verdict(cast(X'ff' as string), 'a'), verdict(X'61', 'b')"
    ).collect()
    assert [*bytes_] == ["?", "?", "<"]
    by_name = spark.sql("select a from asked where verdict(b => b, a => a) = '<' order by verdict(a, b), a")
    assert [row.a for row in by_name.collect()] == ["a", "a", "b"]
    for wrong in ("verdict(array('a'), 'b')", "verdict('a')", "happens_before('a', 'b', 'c')"):
        with pytest.raises(PySparkException, match="takes the names of two events, not"):
            spark.sql(f"select {wrong}").collect()
    pairs = {frozenset(row) for row in spark.sql("select * from concurrent_pairs()").collect()}
    assert pairs == {frozenset(pair) for pair in known.pairs(Relation.CONCURRENT)} == {frozenset("cd")}


def test_each_session_asks_its_own_microcosm(spark: Any, tmp_path: Path) -> None:
    """Spark asks the active session whether another has the data source, and refused it to that."""
    (tmp_path / "log.jsonl").write_text('{"process": "p", "seq": 1, "kind": "internal"}\n', encoding="utf-8")
    register(spark, Microcosm.parse("a < b"))
    other = spark.newSession()
    frames.register(other, Microcosm.parse("b < a"))
    frames.register(spark)  # again
    for each, sign in ((spark, "<"), (other, ">")):
        assert each.sql("select verdict('a', 'b')").first()[0] == sign
        assert each.read.format("microcosm").load(str(tmp_path)).count() == 1


def test_the_guide(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/guides/spark.md does with DataFrames, with views in the places of its tables.

    That what comes out is right is for the other tests; here little of it is worked out.
    """
    monkeypatch.chdir(tmp_path)
    Path("replica.mc").write_text("alice:1 < alice:3", encoding="utf-8")
    Path("logs").mkdir()
    Path("logs/a.jsonl").write_text('{"process": "alice", "seq": 1, "kind": "internal"}\n', "utf-8")
    log = [("alice", 1, "internal", "write 1", "alice:1"), ("bob", 1, "internal", "write 1", "bob:1")]
    events = spark.createDataFrame(log, "process string, seq long, kind string, label string, id string")
    events.createOrReplaceTempView("lake_events")
    known = spark.createDataFrame([("a", "x < y"), ("b", "y < x")], "id string, document string")
    known.createOrReplaceTempView("lake_microcosms")
    text = (Path(__file__).parents[2] / "docs" / "guides" / "spark.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"spark": spark}
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block.replace("lake.", "lake_").replace('"logs/"', repr(str(tmp_path / "logs"))), names)
    assert [row.verdict for row in names["answers"].collect()] == ["open"]
    assert len(names["told"].collect()) == 2
    assert {"process", "seq", "reported"} <= set(names["events"].columns)
    assert names["classes"].columns[:2] == ["id", "class"]
    assert names["apart"].columns == ["a", "b"]
    assert names["following"].isStreaming
