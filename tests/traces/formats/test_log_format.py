"""`docs/reference/log-format.md` and the schema say what the reader of the own format does."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats import jsonl
from microcosm.traces.formats.left_out import FIELDS
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
