"""Damage of bytes: whatever happens to a log, its events are read or reported; nobody sees a traceback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Report

SPANS = [{"traceID": "t", "spanID": f"s{at}", "startTime": at, "duration": 9} for at in range(6)]
OTLP = [
    {
        "traceId": "t",
        "spanId": f"s{at}",
        "startTimeUnixNano": str(at + 1),
        "endTimeUnixNano": "9",
        "attributes": [{"key": "ä"}],
    }
    for at in range(6)
]
ZIPKIN = [
    {"traceId": "t", "id": f"s{at}", "timestamp": at + 1, "duration": 9, "tags": {"a": "é"}}
    for at in range(6)
]
RESOURCE = {"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": OTLP}]}
OWN = [{"process": "pq"[at % 2], "seq": 1 + at // 2, "kind": "internal", "label": "ä €"} for at in range(12)]
LOGGED = [{"event": f"ä {at}", "level": "info", "timestamp": at} for at in range(12)]
PRINTED = [
    {
        "name": "é",
        "context": {"trace_id": "0xa", "span_id": f"0x{at}"},
        "parent_id": None,
        "start_time": f"2024-05-01T12:00:0{at}Z",
        "end_time": "2024-05-01T13:00:00Z",
    }
    for at in range(6)
]
MARKS = [{"ph": "i", "name": "ä", "pid": 1, "tid": 1, "ts": at} for at in range(12)]
TEXT = "".join(f'an event, the {at}th\np {{"p": {at}}}\n' for at in range(1, 13))


def lines(records: list[dict[str, object]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


LOGS = {
    "jsonl": lines(OWN),
    "jaeger": json.dumps({"data": [{"traceID": "t", "spans": SPANS, "processes": {}}]}),
    "jaeger-lines": lines([{"traceID": "t", "spans": SPANS[:3]}, {"traceID": "t", "spans": SPANS[3:]}]),
    "jaeger-pretty": json.dumps({"data": [{"traceID": "t", "spans": SPANS}]}, indent=2),
    "otlp": json.dumps({"resourceSpans": [RESOURCE]}, ensure_ascii=False),
    "otlp-pretty": json.dumps({"resourceSpans": [RESOURCE]}, ensure_ascii=False, indent=1),
    "zipkin": json.dumps(ZIPKIN, ensure_ascii=False),
    "zipkin-lines": lines(ZIPKIN),
    "shiviz": TEXT,
    "structlog": lines(LOGGED),
    "console": lines(PRINTED),
    "chrome": json.dumps({"traceEvents": MARKS}),
    "chrome-pretty": json.dumps(MARKS, indent=1),
}
EVENTS = 12
"""Of each log."""

UNCOUNTED = {"bad-archive", "bad-encoding", "unparsed-text", "no-text"}
"""Where these are reported nobody knows how many events there were, or the log tells others."""


def read(path: Path, content: bytes, name: str | None = None) -> tuple[list[TraceEvent], Report] | None:
    """The events of a file of this content, which gives a microcosm; None where it is refused in words."""
    path.write_bytes(content)
    report = Report()
    try:
        events = list(formats.read([path], name, report=report))
    except TextError:
        return None
    extract(events)
    return events, report


SPANS_OF = {"jaeger", "otlp", "zipkin", "console"}
"""Formats of which a mark is that of a span, which is two events."""


def accounted(found: tuple[list[TraceEvent], Report] | None, log: str) -> None:
    """Nothing was lost silently; it is counted by marks, one of which the damage itself may have hit."""
    if found is not None:
        events, report = found
        hit = (1 + (log.partition("-")[0] in SPANS_OF)) * bool(report.lost)
        assert len(events) + report.lost + hit >= EVENTS or report.counts.keys() & UNCOUNTED


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage") / "log"


@pytest.mark.parametrize("log", LOGS)
def test_a_log_cut_off_anywhere_keeps_what_is_whole(log: str, path: Path) -> None:
    content = LOGS[log].encode()
    name = log.partition("-")[0]
    whole = [event.id for event in formats.read([_written(path, content)], name)]
    assert len(whole) == EVENTS
    many = 0
    for length in range(0, len(content), max(1, len(content) // 60)):
        found = read(path, content[:length], name)
        if found is not None:
            events, report = found
            ids = [event.id for event in events]
            assert len(ids) >= many or log == "shiviz"  # the more text, the more events
            many = len(ids)
            assert ids == whole[: len(ids)]
            if length and not content[:length].endswith(b"\n"):
                assert report.counts or len(ids) in (many, EVENTS)
    assert many > EVENTS // 2


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@given(st.sampled_from(sorted(LOGS)), st.integers(0), st.integers(1, 255))
@example("chrome-pretty", 6844, 1)  # a trace event of an array without `ph`
@example("jaeger", 123, 99)  # the mark of a span
def test_a_flipped_byte_costs_nothing_silently(path: Path, log: str, where: int, flip: int) -> None:
    content = bytearray(LOGS[log].encode())
    content[where % len(content)] ^= flip
    accounted(read(path, bytes(content), log.partition("-")[0]), log)
    read(path, bytes(content))  # nor does it make telling the format fail


def _marked(encoding: str) -> Callable[[str], bytes]:
    return lambda text: ("\ufeff" + text).encode(encoding)


FORMS: dict[str, Callable[[str], bytes]] = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "mixed": lambda text: text.replace("\n", "\r", 3).encode(),
    "utf-8 with a mark": _marked("utf-8"),
    "utf-16": _marked("utf-16-le"),
    "utf-16, the other way": _marked("utf-16-be"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-32": _marked("utf-32-le"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip of utf-16": lambda text: gzip.compress(text.encode("utf-16")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_the_same_in_any_form(log: str, form: str, path: Path) -> None:
    """The format is told, the events and their lines are the same, and what is unusual is reported."""
    expected = read(path, LOGS[log].encode())
    found = read(path, FORMS[form](LOGS[log]))
    assert expected is not None
    assert found is not None
    assert found[0] == expected[0]
    assert [event.line for event in found[0]] == [event.line for event in expected[0]]
    assert set(found[1].counts) <= {"other-encoding", "line-end"}


@given(st.sampled_from(sorted(LOGS)), st.sampled_from(sorted(FORMS)), st.data())
def test_a_log_in_any_form_may_be_damaged(path: Path, log: str, form: str, data: st.DataObject) -> None:
    content = bytearray(FORMS[form](LOGS[log]))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
        read(path, bytes(content), log.partition("-")[0])
    else:
        content[at] ^= data.draw(st.integers(1, 255))
        if form == "crlf":
            accounted(read(path, bytes(content), log.partition("-")[0]), log)
        else:
            read(path, bytes(content), log.partition("-")[0])


@pytest.mark.parametrize("name", ["jsonl", "jaeger", "otlp", "zipkin", "shiviz"])
def test_a_file_of_which_every_line_is_bad_is_an_error(name: str, path: Path) -> None:
    with pytest.raises(
        TextError, match=r"has no event: nothing in it could be read|no record in the whole text"
    ):
        list(formats.read([_written(path, b"rubbish\nand more of it\n")], name))
    assert list(formats.read([_written(path, b"")], name)) == []


@pytest.mark.parametrize("name", ["jaeger", "otlp"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_damaged_span_costs_no_other(name: str, indent: int | None, path: Path) -> None:
    document = json.loads(LOGS[name])
    content = json.dumps(document, indent=indent).replace('"s2"', "s2")
    found = read(path, content.encode(), name)
    assert found is not None
    ids = [event.attributes["span_id"] for event in found[0][::2]]
    assert ids == ["s0", "s1", "s3", "s4", "s5"]
    assert (found[1].counts, found[1].lost) == ({"bad-line": 1}, 2)
