"""`docs/reference/log-format.md` and the schema say what the reader of the own format does."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats import jsonl
from microcosm.traces.formats.jsonl import FIELDS
from microcosm.traces.options import Lives, Options
from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.traces.formats.test_jsonl import EVENTS, FAULTS, GOOD, LINES, NOT_PLAIN
from tests.traces.logs import read_text

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "log-format.md").read_text(encoding="utf-8")
SCHEMA = json.loads(files("microcosm").joinpath("schemas/event.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def valid() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA).is_valid


@given(event=EVENTS)
def test_what_is_written_fits_the_schema(valid: Any, event: TraceEvent) -> None:
    assert valid(json.loads(jsonl.line_of(event)))


@pytest.mark.parametrize("line", LINES)
def test_what_may_be_left_out_by_the_schema_may_be(valid: Any, line: dict[str, object]) -> None:
    assert valid(line)


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_what_is_wrong_for_the_reader_is_for_the_schema(
    valid: Any, fault: dict[str, object], message: str
) -> None:
    beyond_a_schema = json.dumps(fault) in ('{"stamp": [2, 1]}', '{"seq": 1.0}')
    assert valid({**GOOD, **fault}) is beyond_a_schema


def test_a_line_that_says_nothing_is_no_event(valid: Any) -> None:
    for (line,), _, _ in [case for case in NOT_PLAIN if len(case[0]) == 1][:4]:
        assert not valid(line)


def test_the_page_has_the_fields_of_the_schema() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert set(rows) == set(SCHEMA["properties"]) == FIELDS | {"links", "counted", "origin", "life"}


def test_the_example_of_the_page_means_what_it_says() -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example
    events, report = read_text(example[1])
    assert not report.counts
    found = extract(events).givens.external.values()
    assert [(fact.left, fact.right) for fact in found] == [("alice:1", "alice:2"), ("alice:2", "store:1")]


A, B = "AAAAAAA1", "BBBBBBB2"


def line(process: str, seq: int, life: object, **more: object) -> str:
    return json.dumps({"process": process, "seq": seq, "life": life, "kind": "internal", **more}) + "\n"


@given(
    st.lists(st.tuples(st.sampled_from((A, B)), st.integers(1, 5)), unique=True, min_size=1),
    st.randoms(use_true_random=False),
)
def test_no_order_is_read_between_two_lives(events: list[tuple[str, int]], chosen: object) -> None:
    text = "".join(line("p", seq, life, lives=life) for life, seq in events)
    found, report = read_text(text)
    given_ = extract(found).givens.external.values()
    lives = {event.id: event.attributes["lives"] for event in found}
    assert len(lives) == len(events)
    assert all(lives[fact.left] == lives[fact.right] for fact in given_)
    assert report.counts["another-life"] == len({life for life, _ in events}) - 1


def test_what_names_another_names_its_life() -> None:
    lines = [
        line("p", 1, A),
        line("p", 1, B),
        line("q", 1, B, after=[f"p~{B}:1"], clock={f"p~{B}": 1, f"q~{B}": 1}),
        line("q", 2, B, after=[f"p~{A}:1", "unheard~of"]),
    ]
    found, _ = read_text("".join(lines))
    assert [event.id for event in found] == ["p:1", f"p~{B}:1", "q:1", "q:2"]
    assert found[2].after == (f"p~{B}:1",)
    assert found[2].clock == {f"p~{B}": 1, "q": 1}
    assert found[3].after == ("p:1", "unheard~of")


def test_a_life_that_is_none_is_an_attribute() -> None:
    for other in (7, "short", None, "ä" * 8, [A]):
        found, report = read_text(line("p", 1, other))
        assert found[0].attributes["life"] == other
        assert "another-life" not in report.counts


def test_files_may_be_read_apart_where_each_life_shows_its_name(tmp_path: Path) -> None:
    for name, life in (("a", A), ("b", B)):
        (tmp_path / name).write_text(line("p", 1, life) + line("p", 2, life), encoding="utf-8")
    whole = [event.id for event in read([tmp_path / "a", tmp_path / "b"], "jsonl", report=Report())]
    assert whole == ["p:1", "p:2", f"p~{B}:1", f"p~{B}:2"]
    for order in permutations("ab"):
        apart = [
            e.id for each in order for e in read([tmp_path / each], "jsonl", report=Report(), whole=False)
        ]
        assert set(apart) == {f"p~{life}:{at}" for life in (A, B) for at in (1, 2)}
    assert Lives(Report(), Options(whole=False)).named("p", A) == f"p~{A}"
