"""JSON documents taken apart: the parts are those of the whole, wherever lines end."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.report import Report
from microcosm.traces.text import json_units, lines
from microcosm.traces.text.json_units import units
from microcosm.traces.text.lines import Lines
from tests.traces.logs import read_text, told

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


SPAN = '{"traceID": "t", "spanID": "s%d", "references": [{"spanID": "r"}], "operationName": "o{]"}'


def layouts(many: int) -> dict[str, str]:
    """A trace of so many spans, laid out in the ways that there are; and a log that is a trace a line."""
    spans = [SPAN % number for number in range(many)]
    document = '{"data": [{"traceID": "t", "spans": [%s], "processes": {}}]}'
    return {
        "one line": document % ", ".join(spans),
        "pretty": json.dumps(json.loads(document % ", ".join(spans)), indent=2),
        "a trace a line": "".join(document % span + "\n" for span in spans),
        "cut off": (document % ", ".join(spans))[: many * 80],
        "faulty": document % ", ".join(span.replace(": ", " ", 1) for span in spans),
        "a quote too few": (document % ", ".join(spans)).replace('"t"', '"t', 1),
        "no end of a string": '{"data": ["' + "x" * 90 * many,
        "a bracket too few": (document % ", ".join(spans)).replace("]", "", 1),
    }


@pytest.mark.parametrize("layout", layouts(1))
@pytest.mark.parametrize("form", ["jaeger", "otlp"])
def test_work_grows_as_the_text_does(layout: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted is every character that is decoded, searched, copied or counted over."""
    text = layouts(1500)[layout], layouts(3000)[layout]
    if form == "otlp":
        text = tuple(_as_otlp(one) for one in text)
    less, more = (_work(one, form, monkeypatch) for one in text)
    assert more < 2.5 * less
    assert less < 40 * len(text[0])


def _as_otlp(text: str) -> str:
    for old, new in (("data", "resourceSpans"), ("traceID", "traceId"), ("spanID", "spanId")):
        text = text.replace(old, new)
    return text.replace('"spans": [', '"scopeSpans": [{"spans": [').replace(
        '], "processes', ']}], "processes'
    )


def _work(text: str, form: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much text is gone through while a log is read, in blocks of 4 KiB."""
    done = 0

    class Watched(json_units.JsonCursor):
        def _more(self) -> bool:
            nonlocal done
            found = super()._more()
            done += len(self._text)
            return found

        def _advance(self, end: int) -> None:
            nonlocal done
            done += end - self._at
            super()._advance(end)

    decode = lines._decode

    def watched(text: str, at: int) -> tuple[object, int]:
        nonlocal done
        try:
            value, end = decode(text, at)
        except json.JSONDecodeError as error:
            done += (len(text) if error.msg.startswith("Unterminated") else error.pos) - at
            raise
        done += end - at
        return value, end

    with monkeypatch.context() as patch:
        patch.setattr(json_units, "JsonCursor", Watched)
        patch.setattr(json_units, "_decode_value", watched)
        patch.setattr(lines, "_BLOCK", 4096)
        read_text(text, form)
    return done


def test_a_line_may_be_longer_than_a_line_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is on what must be kept, and a document in one line is read part by part."""
    monkeypatch.setattr(lines, "_BLOCK", 1000)
    text = layouts(1000)["one line"]
    report = Report()
    stream = Lines(BytesIO(text.encode()), "f", report, limit=500)
    [unit] = units(stream, KEYS, "f", report, (frozenset(("spans",)),), "spanID")
    assert isinstance(unit.value["spans"], json_units.Elements)
    assert len(unit.value["spans"]) == 1000
    assert not report.counts


INNER = (frozenset(("scopes",)), frozenset(("spans",)))
A_SPAN = st.fixed_dictionaries({"id": st.text('a{}[]"\\\ud800', max_size=2)}, optional={"more": JSON})
A_SCOPE = st.fixed_dictionaries({}, optional={"spans": st.lists(A_SPAN | JSON, max_size=3), "x": JSON})
A_RESOURCE = st.fixed_dictionaries({}, optional={"scopes": st.lists(A_SCOPE, max_size=2), "x": JSON})


def in_depth(text: str) -> list[object]:
    """The units of a text with arrays inside, the lines of all that is read apart, and what is reported."""
    report = Report()
    stream = Lines(BytesIO(text.encode("utf-8", "surrogatepass")), "<test>", report)
    found = [*units(stream, KEYS, "<test>", report, INNER, "id")]
    scopes = [unit.value.get("scopes") for unit in found]
    spans = [s.get("spans") for own in scopes if isinstance(own, json_units.Elements) for s in own]
    seen = [each.lines for each in spans if isinstance(each, json_units.Elements)]
    return [found, seen, report.findings]


@given(
    st.lists(st.lists(A_RESOURCE, max_size=2), min_size=1, max_size=2),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.integers(0, 400),
    st.sampled_from(["", "", "{", "]", ",", '"', "\n", "\\", "\\ud800", "]}"]),
    st.sampled_from(["x", "x", "scopes", "spans", "data"]),
)
def test_what_is_read_at_once_is_as_what_is_read_part_by_part(
    documents: list[list[dict[str, object]]], indent: int | None, ascii: bool, at: int, put: str, again: str
) -> None:
    """Also where a key stands there twice."""
    text = "\n".join(json.dumps({"data": one}, indent=indent, ensure_ascii=ascii) for one in documents)
    text = text.replace('"x":', f'"{again}":')
    at %= len(text)
    for damaged in (text, text[:at], text[:at] + put + text[at + 1 :]):
        found = in_depth(damaged)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(json_units.JsonCursor, "at_hand", lambda _: None)
            assert found == in_depth(damaged)
