"""The fast lane of `extract` for OTLP says what the careful reader says, or nothing."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract, microcosm_of_logs
from microcosm.traces.report import Extraction, Report
from microcosm.traces.span_columns import SpanLog, read_spans
from microcosm.traces.text.lines import open_lines

Record = dict[str, object]


def careful(paths: Sequence[Path], report: Report) -> Extraction:
    return extract(formats.read(paths, report=report), report=report)


def in_columns(*paths: Path) -> SpanLog | None:
    try:
        return read_spans([partial(open_lines, path) for path in paths])
    except TextError:  # in no format known here
        return None


def outcome(*paths: Path, lane: bool, strict: bool = False) -> object:
    """What comes of a reading, with what is told of it; or why nothing does."""
    report = Report(strict)
    try:
        found = microcosm_of_logs(paths, report=report) if lane else careful(paths, report)
        return found, report.findings
    except TextError as fault:
        return str(fault)


def assert_same(log: SpanLog, *paths: Path) -> None:
    """The lane says what the careful reader says, in its order."""
    mine, theirs = Report(), Report()
    found, expected = log.extraction(mine), careful(paths, theirs)
    assert mine.findings == theirs.findings
    assert found.givens.listed() == expected.givens.listed()  # while they are columns
    assert found == expected
    assert found.givens.events == expected.givens.events
    stored = pickle.dumps(found.givens.events)
    assert b"itertools" not in stored  # which no Python after 3.13 reads
    assert pickle.loads(stored) == expected.givens.events
    assert [*found.givens.external.items()] == [*expected.givens.external.items()]
    sources = [fact.source for fact in expected.givens.external.values()]
    assert [fact.source for fact in found.givens.external.values()] == sources


TRACES = ("t", "u", "t/a", "é")
SERVICES = ("shop", "shop.pay", "", "#1")
NAMES = ("pay", "", "pay#1", "x/end", "pay.pay")
VALUES = [
    {"stringValue": "x"},
    {"intValue": "3"},
    {"boolValue": True},
    {"kvlistValue": {"values": []}},
    {},
    7,
]
ATTRIBUTES = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a", "assumed", "time", "service", "spanId"]),
            "value": st.sampled_from(VALUES),
        }
    ),
    max_size=3,
)
TIMES = st.integers(0, 6) | st.integers(0, 6).map(str) | st.integers(10**18, 10**18 + 6).map(str)
LINKS = st.lists(st.tuples(st.integers(-1, 9), st.booleans()), max_size=3)
SPANS = st.lists(
    st.tuples(
        st.sampled_from(TRACES),
        st.integers(-2, 9),
        LINKS,
        st.sampled_from(SERVICES),
        st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(NAMES),
                "kind": st.sampled_from([0, 1, 2, 3, 5, "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "odd", None]),
                "startTimeUnixNano": TIMES,
                "endTimeUnixNano": TIMES,
                "attributes": ATTRIBUTES,
                "status": st.just({"code": 2}),
            },
        ),
    ),
    min_size=1,
    max_size=10,
)
CUTS = st.lists(st.integers(1, 3), min_size=1, max_size=12)
LAYOUTS = st.sampled_from(["a line each", "one document", "pretty", "elements"])


def log(
    spans: list[tuple[str, int, list[tuple[int, bool]], str, Record]], forward: bool
) -> list[tuple[str, Record]]:
    """Spans and the services that they are of: parents and targets of links are other ones, or missing.

    A parent is of the same trace; only with `forward` may it stand behind its child.
    """
    found: list[tuple[str, Record]] = []
    for at, (trace, above, links, service, more) in enumerate(spans):
        record: Record = {"traceId": trace, "spanId": f"{at:x}"}
        if above >= 0:
            same = [i for i, each in enumerate(spans) if each[0] == trace and (forward or i < at)]
            record["parentSpanId"] = f"{same[above % len(same)]:x}" if same and above < 8 else "gone"
        if links:
            targets = [(spans[to % len(spans)][0], f"{to % len(spans):x}") for to, _ in links]
            record["links"] = [
                {**({"traceId": trace} if named else {}), "spanId": identity if to >= 0 else "gone"}
                for (to, named), (trace, identity) in zip(links, targets, strict=True)
            ]
        found.append((service, {**record, **more}))
    return found


def text(spans: list[tuple[str, Record]], cuts: list[int], layout: str) -> str:
    """The spans in resources, scopes and documents."""
    resources: list[Record] = []
    at = 0
    for cut in [*cuts, *[3] * len(spans)]:
        part = spans[at : at + cut]
        at += cut
        for service, record in part:
            name = [{"key": "service.name", "value": {"stringValue": service}}]
            scopes = [{"spans": [record]}, {"scope": {}}]
            last = resources[-1] if resources and cut > 1 else None
            if last is not None and last["resource"] == {"attributes": name}:
                last["scopeSpans"][0]["spans"].append(record)  # type: ignore[index]
            else:
                resources.append({"resource": {"attributes": name}, "scopeSpans": scopes})
    if layout == "a line each":
        step = cuts[0]
        parts = [resources[at : at + step] for at in range(0, len(resources), step)]
        return "".join(json.dumps({"resourceSpans": part}) + "\n" for part in parts)
    if layout == "elements":
        return json.dumps({"resourceSpans": resources}).replace("}, {", "},\n{")
    return json.dumps({"resourceSpans": resources}, indent=1 if layout == "pretty" else None)


def written(folder: pytest.TempPathFactory, text: str) -> Path:
    path = folder.mktemp("log") / "a.json"
    path.write_text(text, "utf-8")
    return path


@given(SPANS, CUTS, LAYOUTS)
def test_logs_with_ids_of_their_own_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    spans: list[tuple[str, int, list[tuple[int, bool]], str, Record]],
    cuts: list[int],
    layout: str,
) -> None:
    """Parents and targets of links may be missing or in another trace, and times odd."""
    path = written(tmp_path_factory, text(log(spans, forward=False), cuts, layout))
    found = in_columns(path)
    assert found is not None
    assert_same(found, path)
    assert outcome(path, lane=True, strict=True) == outcome(path, lane=False, strict=True)


@given(st.lists(SPANS, min_size=2, max_size=4), CUTS, LAYOUTS)
def test_logs_in_files_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[tuple[str, int, list[tuple[int, bool]], str, Record]]],
    cuts: list[int],
    layout: str,
) -> None:
    """A trace may begin in one file and go on in another, and so may what is odd about it."""
    records = log([span for part in parts for span in part], forward=False)
    paths, at = [], 0
    for part in parts:
        paths.append(written(tmp_path_factory, text(records[at : at + len(part)], cuts, layout)))
        at += len(part)
    found = in_columns(*paths)
    assert found is not None
    assert_same(found, *paths)
    assert outcome(*paths, lane=True, strict=True) == outcome(*paths, lane=False, strict=True)
    again = in_columns(*paths, paths[0])
    assert again is None, "whose spans are there twice"
    assert outcome(*paths, paths[0], lane=True) == outcome(*paths, paths[0], lane=False)


ODD: list[Record] = [
    {"spanId": "0"},
    {"spanId": "0", "traceId": "t", "kind": 2},
    {"spanId": "0", "traceId": "t", "links": [{"spanId": "1"}]},
    {"spanId": ""},
    {"traceId": 3},
    {"parentSpanId": "0"},
    {"parentSpanId": "1"},
    {"parentSpanId": ["0"]},
    {"parentSpanId": "pay#1"},
    {"parentSpanId": "shop.pay#1"},
    {"links": [{"spanId": "pay#1", "traceId": "shop"}, {"spanId": 3}, 4]},
    {"links": {"spanId": "0"}},
    {"links": [{"spanId": "a/0", "traceId": "t"}, {"spanId": "0", "traceId": "t/a"}, {"spanId": "0"}]},
    {"attributes": {"key": "a"}},
    {
        "attributes": [
            3,
            {"key": 4, "value": {"stringValue": "x"}},
            {"key": "\ud800", "value": {"stringValue": "x"}},
        ]
    },
    {"name": 7},
    {"name": "\ud800"},
    {"kind": True},
    {"kind": 2.0},
    {"kind": [2]},
    {"startTimeUnixNano": -3},
    {"startTimeUnixNano": 2.5, "endTimeUnixNano": 1e300},
    {"startTimeUnixNano": "9" * 19, "endTimeUnixNano": "9" * 20},
    {"startTimeUnixNano": "٣", "endTimeUnixNano": ""},
    {"startTimeUnixNano": "1_0"},
]
FAULTS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(ODD)), max_size=3)


@given(
    SPANS,
    CUTS,
    LAYOUTS,
    FAULTS,
    st.integers(0, 2000),
    st.sampled_from(
        [None, None, None, "", "{", "]", ",", "\n", '"', '"spans": [7], ', '{"resourceLogs": []}\n']
    ),
)
@example([("t", 0, [], "shop", {})] * 2, [3], "one document", [], 0, None)
def test_what_is_odd_is_told_as_the_careful_reader_tells_it(
    tmp_path_factory: pytest.TempPathFactory,
    spans: list[tuple[str, int, list[tuple[int, bool]], str, Record]],
    cuts: list[int],
    layout: str,
    faults: list[tuple[int, Record]],
    place: int,
    put: str | None,
) -> None:
    records = log(spans, forward=True)
    for at, fault in faults:
        records[at % len(records)][1].update(fault)
    said = text(records, cuts, layout)
    if put is not None:
        place %= len(said)
        said = said[:place] + put + said[place:]
    path = written(tmp_path_factory, said)
    found = in_columns(path)
    event("in columns" if found is not None else "with care")
    if found is not None:
        assert_same(found, path)
    assert outcome(path, lane=True) == outcome(path, lane=False)
    assert outcome(path, lane=True, strict=True) == outcome(path, lane=False, strict=True)


DOCUMENT = '{"resourceSpans": [{"scopeSpans": [{"spans": […]}]}]}'
SPAN = '{"traceId": "t", "spanId": "%s", "parentSpanId": "%s"}'


def test_an_id_of_zeros_is_that_of_no_parent(tmp_path_factory: pytest.TempPathFactory) -> None:
    zeros = ", ".join((SPAN % ("a", "0" * 16), SPAN % ("b", "a")))
    for parents, missing in ((zeros, 0), (zeros.replace("000", "001"), 1)):
        path = written(tmp_path_factory, DOCUMENT.replace("…", parents))
        assert in_columns(path) is not None
        assert outcome(path, lane=True) == outcome(path, lane=False)
        assert careful([path], Report()).reported.get("unknown-event", 0) == missing


NOT_PLAIN = [
    SPAN % ("a", "a"),
    ", ".join((SPAN % ("a", "b"), SPAN % ("b", "a"))),
    ", ".join((SPAN % ("a", ""), SPAN % ("a", ""))),
    SPAN % ("", ""),
    SPAN % ("a", "span#1"),
    SPAN % ("a", "") + ", 7",
    SPAN.replace("{", '{"startTimeUnixNano": -1, ') % ("a", ""),
    "",
]


@pytest.mark.parametrize("spans", NOT_PLAIN)
def test_what_is_not_plain_is_left_alone(tmp_path_factory: pytest.TempPathFactory, spans: str) -> None:
    path = written(tmp_path_factory, DOCUMENT.replace("…", spans))
    assert in_columns(path) is None


def test_a_link_to_another_trace_is_told_behind_all_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    linking = '{"traceId": "t", "spanId": "a", "links": [{"traceId": "u", "spanId": "b"}]}'
    spans = f'{linking}, {{"traceId": "u", "spanId": "b"}}'
    path = written(tmp_path_factory, DOCUMENT.replace("…", spans))
    found = microcosm_of_logs([path]).givens
    assert found.order_columns is not None
    assert [str(fact) for fact in found.external.values()][-1] == "span#2 < span#1/end"
