"""JSON documents taken apart: the parts are those of the whole, wherever lines end."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.json_units import units
from microcosm.traces.lines import Lines
from microcosm.traces.report import Report
from tests.traces.logs import told

KEYS = frozenset(("data",))


def taken(text: str) -> tuple[list[Any], Report]:
    report = Report()
    stream = Lines(BytesIO(text.encode()), "<test>", report)
    return [unit.value for unit in units(stream, KEYS, "<test>", report)], report


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('{}[]"\\a,:\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('{a"\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text('{}"ab', max_size=3), JSON, max_size=3), max_size=4)


@given(
    st.lists(st.tuples(OBJECTS, st.sampled_from(["array", "data", "one"])), max_size=3),
    st.sampled_from([None, 1]),
)
def test_the_parts_are_those_of_the_whole(
    documents: list[tuple[list[dict[str, object]], str]], indent: int | None
) -> None:
    expected, texts = [], []
    for objects, shape in documents:
        expected += objects
        if shape == "array":
            texts.append(objects)
        elif shape == "data":
            texts.append({"before": {"x": [{}]}, "data": objects, "after": [{"data": [{}]}]})
        else:
            texts += objects
    found, report = taken("\n".join(json.dumps(one, indent=indent) for one in texts))
    assert found == expected
    assert not report.counts


def test_a_half_written_document_is_reported_and_the_others_read() -> None:
    found, report = taken('{"a": 1}\n{"a": "x\n{"a": 2}\nrubbish\n{"a": 3}\n[1, {"a": }]\n{"a": {')
    assert found == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert told(report) == [("bad-line", line) for line in (2, 4, 6, 6, 7)]
