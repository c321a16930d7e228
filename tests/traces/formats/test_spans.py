"""Spans, whatever the format: two events each, starts ordered by parents, ends by nothing but links."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from microcosm.givens.givens import Givens
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract, microcosm_of_logs
from microcosm.traces.formats.span import Span, Spans
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from tests.traces.logs import closed, read_text, told

Event = list[TraceEvent]


def spans(*found: Span) -> tuple[Event, Report]:
    report = Report()
    reader = Spans(report, Options())
    for span in found:
        reader.add(span, "<test>")
    return list(reader.rest()), report


def orders(givens: Givens) -> set[tuple[str, str]]:
    """Which events come before which, by the ids of their spans and their positions."""
    assert givens.events is not None
    table = givens.events

    def place(name: str) -> str:
        row = table.row(name)
        assert row is not None
        half = "/server" if row.attributes.get("kind") == "server" else ""
        return f"{row.attributes['span_id']}{half}:{row.seq}"

    return {(place(fact.left), place(fact.right)) for fact in givens.external.values()}


def test_a_parent_starts_before_its_child_and_nothing_else_is_known_of_ends() -> None:
    events, report = spans(Span("t", "b", "a", start=1, end=9), Span("t", "a", start=0, end=2))
    assert [event.id for event in events] == ["span#2", "span#2/end", "span#1", "span#1/end"]
    assert orders(extract(events).givens) == {("a:1", "a:2"), ("b:1", "b:2"), ("a:1", "b:1")}
    assert not report.counts


def test_a_link_proves_that_its_target_started_before_the_linker_ended() -> None:
    one = Span("t", "a", start=5, end=6), Span("t", "b", start=1, end=2, links=(("t", "a"), ("t", "a")))
    assert ("a:1", "b:2") in orders(extract(spans(*one)[0]).givens)
    other = Span("t", "a", start=5, end=6), Span("u", "b", start=1, end=2, links=(("t", "a"),))
    assert ("a:1", "b:2") in orders(extract(spans(*other)[0]).givens)


def test_the_halves_of_a_shared_span() -> None:
    """The client's start comes first; a child belongs to the half of its service, the client's in doubt."""
    events, _ = spans(
        Span("t", "c", "s", service="back", start=3, end=4),
        Span("t", "s", "r", service="back", kind="server", shared=True, start=2, end=5),
        Span("t", "d", "s", service="elsewhere", start=3, end=4),
        Span("t", "s", "r", service="front", kind="client", start=1, end=6),
        Span("t", "r", service="front", start=0, end=7),
    )
    found = orders(extract(events).givens)
    assert {("s:1", "s/server:1"), ("s/server:1", "c:1"), ("s:1", "d:1"), ("r:1", "s:1")} <= found
    assert ("s/server:1", "d:1") not in found
    assert len(events) == 10


def test_a_servers_half_alone_comes_after_the_parent() -> None:
    events, _ = spans(Span("t", "s", "r", kind="server", shared=True), Span("t", "c", "s"), Span("t", "r"))
    found = orders(extract(events).givens)
    assert {("r:1", "s/server:1"), ("s/server:1", "c:1")} <= found


def test_what_is_odd_is_told_and_kept() -> None:
    events, report = spans(
        Span("t", "a", "a", start=5, end=4, line=1),
        Span("t", "b", "a", start=4, end=9, line=2),
        Span("t", "b", "a", start=4, end=9, line=3),
        Span("t", "c", "lost", line=4),
    )
    assert len(events) == 6
    assert report.lost == 2
    assert sorted(told(report)) == [
        ("clock-inversion", 1),
        ("clock-inversion", 2),
        ("duplicate-event", 3),
        ("link-cycle", 1),
        ("missing-time", 4),
    ]
    assert extract(events).reported == {"unknown-event": 1}


def test_parents_in_a_circle_are_not_believed() -> None:
    events, _ = spans(Span("t", "a", "b"), Span("t", "b", "a"))
    assert len(events) == 4
    found = extract(events)
    assert found.reported == {"link-cycle": 2}
    assert orders(found.givens) == {("a:1", "a:2"), ("b:1", "b:2")}


OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t",
                            "spanId": "a",
                            "kind": 3,
                            "startTimeUnixNano": "10",
                            "endTimeUnixNano": 20,
                        },
                        {
                            "traceId": "t",
                            "spanId": "b",
                            "parentSpanId": "a",
                            "kind": "SPAN_KIND_SERVER",
                            "startTimeUnixNano": "11",
                            "endTimeUnixNano": "12",
                            "attributes": [{"key": "lock", "value": {"intValue": "7"}}],
                        },
                        {"spanId": "c"},
                    ]
                }
            ],
        }
    ]
}
JAEGER = {
    "data": [
        {
            "traceID": "t",
            "processes": {"p1": {"serviceName": "shop"}},
            "spans": [
                {"traceID": "t", "spanID": "a", "startTime": 10, "duration": 10, "processID": "p1"},
                {
                    "traceID": "t",
                    "spanID": "b",
                    "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "a"}],
                    "startTime": 11,
                    "duration": 1,
                    "processID": "p1",
                    "tags": [{"key": "lock", "value": "7"}],
                },
                {"operationName": "c"},
            ],
        }
    ],
    "total": 0,
}
ENDPOINT = {"serviceName": "shop"}
ZIPKIN = [
    {"traceId": "t", "id": "a", "timestamp": 10, "duration": 10, "localEndpoint": ENDPOINT},
    {
        "traceId": "t",
        "id": "b",
        "parentId": "a",
        "timestamp": 11,
        "duration": 1,
        "localEndpoint": ENDPOINT,
        "tags": {"lock": "7"},
    },
    {"id": "c"},
]


def test_spans_that_jaeger_keeps_in_elasticsearch_say_what_its_interface_shows() -> None:
    traces = [
        {**trace, "spans": [{**one, "operationName": "x"} for one in trace["spans"]]}
        for trace in JAEGER["data"]
    ]  # type: ignore[attr-defined]
    *spans, faulty = traces[0]["spans"]
    kept = [{**one, "process": {"serviceName": "shop"}} for one in spans]
    shown = read_text(json.dumps({"data": traces}), "jaeger")[0]
    hits = [{"_index": "jaeger-span-2026-11-29", "_source": one} for one in [*kept, faulty]]
    for text, lost in (
        (json.dumps({"took": 1, "hits": {"total": {"value": 3}, "hits": hits}}, indent=1), 1),
        ("".join(f"{json.dumps(hit)}\n" for hit in hits), 1),
        ("".join(f"{json.dumps(one)}\n" for one in kept), 0),
    ):
        assert formats.detect(text, "x.json").NAME == "jaeger"
        events, report = read_text(text, "jaeger")
        assert events == shown
        assert report.counts == ({"bad-line": lost} if lost else {})


def in_protobuf(span: dict[str, Any]) -> dict[str, Any]:
    """What protobuf's JSON has of a span with hexadecimal ids that the interface shows in microseconds."""

    def ids(of: dict[str, Any]) -> dict[str, str]:
        return {f"{one}Id": b64encode(bytes.fromhex(of[f"{one}ID"])).decode() for one in ("trace", "span")}

    second, fraction = divmod(span["startTime"], 10**6)
    kinds = {"CHILD_OF": {}, "FOLLOWS_FROM": {"refType": "FOLLOWS_FROM"}}
    named = {str: "vStr", bool: "vBool", int: "vInt64"}
    return {
        **ids(span),
        "operationName": span["operationName"],
        "references": [{**ids(one), **kinds[one["refType"]]} for one in span["references"]],
        "startTime": f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:06}123Z",
        "duration": f"{span['duration'] * 1000}ns",
        "tags": [{"key": one["key"], named[type(one["value"])]: one["value"]} for one in span["tags"]],
        "processId": span["processID"],
        "process": {"serviceName": "shop"},
    }


def test_spans_in_the_json_of_jaegers_protobuf_say_what_its_interface_shows() -> None:
    trace = "0" * 31 + "1"

    def span(
        number: int, *references: dict[str, Any], tags: tuple[tuple[str, object], ...] = ()
    ) -> dict[str, Any]:
        own = {"traceID": trace, "spanID": f"{number:016x}", "operationName": "buy", "processID": "p1"}
        times = {"startTime": 10**15 + number, "duration": 7}
        listed = [{"key": key, "value": value} for key, value in tags]
        return {**own, **times, "references": [*references], "tags": listed}

    first = span(1, tags=(("span.kind", "server"), ("n", 3), ("error", True)))
    child = {"refType": "CHILD_OF", "traceID": trace, "spanID": first["spanID"]}
    spans = [first, span(2, child), span(3, {**child, "refType": "FOLLOWS_FROM"})]
    processes = {"p1": {"serviceName": "shop"}}
    shown = read_text(
        json.dumps({"data": [{"traceID": trace, "spans": spans, "processes": processes}]}), "jaeger"
    )[0]
    kept = [*map(in_protobuf, spans)]
    apart = [{name: value for name, value in one.items() if name != "process"} for one in kept]
    listed = {"spans": apart, "processMap": [{"processId": "p1", "process": {"serviceName": "shop"}}]}
    for text in (
        "".join(f"{json.dumps(one)}\n" for one in kept),
        json.dumps(listed),
        json.dumps({"spans": kept}, indent=1),
    ):
        assert formats.detect(text, "x.json").NAME == "jaeger"
        events, report = read_text(text, "jaeger")
        assert not report.counts
        times = [event.attributes["time"] for event in events]
        assert times == [event.attributes["time"] * 1000 + 123 for event in shown]
        for event, other in zip(events, shown, strict=True):
            assert replace(event, attributes={**event.attributes, "time": other.attributes["time"]}) == other


TEMPO = {"batches": OTLP["resourceSpans"]}
WRAPPED = [{"trace": OTLP, "metrics": {}}, {"result": OTLP}]
FOUND = [ZIPKIN[:1], ZIPKIN[1:]]
DOCUMENTS = [("jaeger", JAEGER), *(("otlp", one) for one in (OTLP, TEMPO, *WRAPPED))]


@pytest.mark.parametrize(("form", "document"), [*DOCUMENTS, ("zipkin", ZIPKIN), ("zipkin", FOUND)])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_on_one_line_or_many(form: str, document: object, indent: int | None) -> None:
    text = json.dumps(document, indent=indent) + "\n"
    events, report = read_text(text, form)
    assert [(event.full_id, event.after) for event in events] == [
        ("shop#1", ()),
        ("shop#1/end", ()),
        ("shop#2", ("shop#1",)),
        ("shop#2/end", ()),
    ]
    assert [event.attributes["span_id"] for event in events] == ["a", "a", "b", "b"]
    assert {event.attributes["trace_id"] for event in events} == {"t"}
    assert all(event.attributes["service"] == "shop" for event in events)
    assert [event.attributes["time"] for event in events] == [10, 20, 11, 12]
    assert events[2].attributes["lock"] == "7"
    assert (dict(report.counts), report.lost) == ({"bad-line": 1}, 2)
    if indent and form != "zipkin":
        lines = text.split("\n")
        assert [lines[event.line - 1].count('"a"') for event in events[:2]] == [1, 1]
    assert form == formats.detect(text, "x.json").NAME


@pytest.mark.parametrize("indent", [None, 2])
def test_documents_one_after_the_other(indent: int | None) -> None:
    second = json.loads(json.dumps(OTLP).replace('"t"', '"u"'))
    text = "\n".join(json.dumps(one, indent=indent) for one in (OTLP, second))
    events, _ = read_text(text, "otlp")
    assert [event.trace for event in events] == ["t"] * 4 + ["u"] * 4


def test_a_trace_may_stand_in_data_by_itself() -> None:
    alone = {"data": JAEGER["data"][0], "id": "t"}  # type: ignore[index]
    assert len(read_text(json.dumps(alone, indent=1), "jaeger")[0]) == 4


def test_a_link_to_what_is_not_in_the_log_is_reported() -> None:
    found = json.loads(json.dumps(OTLP))
    found["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["links"] = [{"traceId": "x", "spanId": "y"}]
    events, _ = read_text(json.dumps(found), "otlp")
    assert events[3].after == ("x/y",)
    assert extract(events).reported == {"unknown-event": 1}


NEZHA = """\
TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration
t,a,root,shop,/*,10,20,10
t,b,a,"till, main",pay,9,12,3
t,c,a
"""


def test_spans_in_columns() -> None:
    events, report = read_text(NEZHA, "nezha")
    assert [event.full_id for event in events] == [
        *("shop./*#1", "shop./*#1/end"),
        *("till, main.pay#1", "till, main.pay#1/end"),
    ]
    assert events[2].attributes == {"service": "till, main", "time": 9, "trace_id": "t", "span_id": "b"}
    assert told(report) == [("bad-line", 4), ("clock-inversion", 3)]
    assert formats.detect(NEZHA, "x.csv").NAME == "nezha"


def test_a_span_that_is_no_object_is_not_lost_silently() -> None:
    text = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [5, None]}]}]})
    events, report = read_text(text, "otlp")
    assert (events, dict(report.counts), report.lost) == ([], {"bad-line": 2}, 4)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("key", ["resourceSpans", "scopeSpans", "spans"])
def test_a_key_that_stands_there_twice_loses_no_span(key: str, indent: int | None) -> None:
    levels = ["resourceSpans", "scopeSpans", "spans"]
    at = levels.index(key)
    inner: list[object] = [{"traceId": "t", "spanId": "a"}]
    for name in reversed(levels[at + 1 :]):
        inner = [{name: inner}]
    another = json.loads(json.dumps(inner).replace('"a"', '"b"'))
    twice: object = {key: inner, "again": another, "once more": None}
    for name in reversed(levels[:at]):
        twice = {name: [twice]}
    text = json.dumps(twice, indent=indent).replace("again", key).replace("once more", key)
    events, report = read_text(text, "otlp")
    assert [event.attributes["span_id"] for event in events] == [*"aabb"]
    assert report.counts == {"missing-time": 2}


def test_the_case_of_the_digits_of_ids_is_of_no_consequence(tmp_path: Path) -> None:
    """In OTLP they are hexadecimal in either case, or base64; what is neither is another id."""
    spans = [
        {"traceId": "AB", "spanId": "c1"},
        {"traceId": "ab", "spanId": "d1", "parentSpanId": "C1"},
        {"traceId": "aB", "spanId": "E1", "links": [{"spanId": "D1"}, {"traceId": "Ab", "spanId": "C1"}]},
        {"traceId": "ab", "spanId": "W47=", "parentSpanId": "w47="},
        {"traceId": "ab", "spanId": "W47/95gDgQM=", "parentSpanId": "C1"},
        {"traceId": "ab", "spanId": "f1", "parentSpanId": "5B8EFFF798038103"},
    ]
    text = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    wanted = {("c1:1", "d1:1"), ("d1:1", "e1:2"), ("c1:1", "e1:2")}
    wanted |= {("c1:1", "5b8efff798038103:1"), ("5b8efff798038103:1", "f1:1")}
    careful = extract(read_text(text, "otlp")[0])
    (tmp_path / "log.json").write_text(text, "utf-8")
    for found in (careful, microcosm_of_logs([tmp_path / "log.json"])):
        assert {(a, b) for a, b in orders(found.givens) if a[:-2] != b[:-2]} == wanted
        assert found.reported["unknown-event"] == 1


ZIPKIN_HALVES = [
    {"traceId": "1", "id": "a", "kind": "CLIENT", "timestamp": 1, "localEndpoint": {"serviceName": "x"}},
    {
        "traceId": "1",
        "id": "a",
        "kind": "SERVER",
        "shared": True,
        "timestamp": 50,
        "duration": 9,
        "localEndpoint": {"serviceName": "y"},
    },
    {"traceId": "1", "id": "b", "parentId": "a", "timestamp": 12, "localEndpoint": {"serviceName": "y"}},
    {
        "traceId": "1",
        "id": "a",
        "kind": "SERVER",
        "shared": True,
        "timestamp": 10,
        "duration": 9,
        "localEndpoint": {"serviceName": "y"},
    },
]


def zipkin_orders(spans: list[dict[str, object]]) -> set[tuple[str, str]]:
    return orders(extract(read_text(json.dumps(spans), "zipkin")[0]).givens)


def test_the_half_of_a_parent_is_chosen_when_all_are_read() -> None:
    """Which of two servers' halves it is cannot be told: then it is after the client's, in whatever order."""
    found = [zipkin_orders(list(one)) for one in permutations(ZIPKIN_HALVES)]
    assert all(one == found[0] for one in found)
    assert ("a:1", "b:1") in found[0]
    assert not any(earlier.startswith("a/server") and later == "b:1" for earlier, later in found[0])


def test_a_report_without_a_kind_is_part_of_the_half_of_its_service() -> None:
    part = {"traceId": "1", "id": "a", "name": "get", "localEndpoint": {"serviceName": "y"}}
    for spans in permutations([part, *ZIPKIN_HALVES[:2]]):
        events, report = read_text(json.dumps(spans), "zipkin")
        assert sorted(event.id for event in events) == ["x#1", "x#1/end", "y.get#1", "y.get#1/end"]
        assert (report.counts["partial-span"], report.lost) == (1, 2)
        assert ("a:1", "a/server:1") in orders(extract(events).givens)


def test_a_message_may_have_many_receivers_of_one_service() -> None:
    """Where a server's half has no end it is one of them; what it began cannot be told from the others'."""
    client, server, child, other = (dict(span) for span in ZIPKIN_HALVES)
    for half in (server, other):
        del half["duration"]
    assert ("a:1", "b:1") in zipkin_orders([client, server, child])
    assert ("a/server:1", "b:1") not in zipkin_orders([client, server, child])


def test_hosts_tell_the_halves_of_a_service_that_calls_itself_apart() -> None:
    client, server, child, _ = (dict(span) for span in ZIPKIN_HALVES)
    for span, host in ((client, "1"), (server, "2"), (child, "2")):
        span["localEndpoint"] = {"serviceName": "y", "ipv4": host}
    assert ("a/server:1", "b:1") in zipkin_orders([client, server, child])
    child["localEndpoint"] = {"serviceName": "y", "ipv4": "1"}
    assert ("a:1", "b:1") in zipkin_orders([client, server, child])
    assert ("a/server:1", "b:1") not in zipkin_orders([server, child])


def first_version(span: dict[str, object]) -> dict[str, object]:
    """A span as version 1 of Zipkin's format has it, where annotations tell whose half it is."""
    at, values = span["timestamp"], ("sr", "ss") if span.get("shared") else ("cs", "cr")
    notes = [{"value": value, "timestamp": at, "endpoint": span["localEndpoint"]} for value in values]
    return {**{key: span[key] for key in span.keys() & {"traceId", "id", "parentId"}}, "annotations": notes}


@pytest.mark.parametrize("many", [2, 3, 4])
def test_the_first_version_of_zipkin_claims_what_the_second_does(many: int) -> None:
    for halves in permutations(ZIPKIN_HALVES, many):
        second = [{"kind": "CLIENT", **half} for half in halves]
        text = json.dumps([first_version(half) for half in second])
        assert formats.detect(text, "x.json").NAME == "zipkin"
        events, report = read_text(text, "zipkin")
        assert orders(extract(events).givens) == zipkin_orders(second)
        assert not report.counts.get("duplicate-event")


def test_of_the_servers_half_alone_a_child_elsewhere_is_not_known_to_be_after_it() -> None:
    client, server, child, _ = (dict(span) for span in ZIPKIN_HALVES)
    child["localEndpoint"] = {"serviceName": "z"}
    assert ("a:1", "b:1") in zipkin_orders([client, server, child])
    assert not any(later == "b:1" for _, later in zipkin_orders([server, child]))


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_and_thinned_spans_claim_no_more(seed: int) -> None:
    """A tree of calls, some with two halves of one id; each event goes by its place."""
    random = Random(seed)
    spans: list[dict[str, object]] = [{"traceId": "1", "id": "0", "localEndpoint": {"serviceName": "s0"}}]
    for number in range(1, 40):
        parent = random.choice(spans)
        service = f"s{random.randrange(4)}"
        one = {
            "traceId": "1",
            "id": str(number),
            "parentId": parent["id"],
            "timestamp": number,
            "duration": 9,
        }
        spans.append({**one, "kind": "CLIENT", "localEndpoint": parent["localEndpoint"]})
        if {"serviceName": service} != parent["localEndpoint"] and random.random() < 0.7:
            half = {"kind": "SERVER", "shared": True, "localEndpoint": {"serviceName": service}}
            spans.append({**one, **half})

    def past(chosen: list[int]) -> dict[int, int]:
        text = "[\n" + ",\n".join(json.dumps(spans[at]) for at in chosen) + "\n]"
        events, _ = read_text(text, "zipkin")
        place = {event.id: 2 * chosen[event.line - 2] + event.seq for event in events}
        before: dict[int, set[int]] = {one: set() for one in place.values()}
        for fact in extract(events).givens.external.values():
            before[place[fact.right]].add(place[fact.left])
        return closed(before)

    whole = past(list(range(len(spans))))
    for share in (0.05, 0.3, 0.6, 0):
        left = [at for at in range(len(spans)) if random.random() >= share]
        random.shuffle(left)
        found = past(left)
        assert not any(seen & ~whole[one] for one, seen in found.items())
        assert share or found == whole


def test_a_trace_may_be_spread_over_files(tmp_path: Path) -> None:
    """The child in one file, the parent in another: either order says the same."""
    resource, trace = OTLP["resourceSpans"][0], JAEGER["data"][0]  # type: ignore[index]
    (scope,) = resource["scopeSpans"]
    documents: list[list[object]] = [
        [{"resourceSpans": [{**resource, "scopeSpans": [{"spans": [one]}]}]} for one in scope["spans"][:2]],
        [{"data": [{**trace, "spans": [one]}]} for one in trace["spans"][:2]],
        [[one] for one in ZIPKIN[:2]],
    ]
    for two in documents:
        paths = [tmp_path / "a", tmp_path / "b"]
        for path, document in zip(paths, two, strict=True):
            path.write_text(json.dumps(document), encoding="utf-8")
        for several in (paths, paths[::-1]):
            found = {
                (left, right.replace("/server", ""))
                for left, right in orders(extract(formats.read(several)).givens)
            }
            assert ("a:1", "b:1") in found


def test_two_lines_that_run_into_one_are_no_span() -> None:
    events, report = read_text(NEZHA.replace(",10\n", ",10"), "nezha")
    assert (events, told(report)) == ([], [("bad-line", 2), ("bad-line", 3)])


def test_a_header_in_the_middle_is_no_span(tmp_path: Path) -> None:
    events, report = read_text(NEZHA.replace("t,c,a\n", "") * 2, "nezha")
    assert len(events) == 4
    assert report.counts == {"duplicate-event": 2, "clock-inversion": 1}


CONSOLE = """{
    "name": "pay",
    "context": {"trace_id": "0x0a", "span_id": "0x0b", "trace_state": "[]"},
    "kind": "SpanKind.SERVER",
    "parent_id": null,
    "start_time": "2024-05-01T12:00:00.000001Z",
    "end_time": "2024-05-01T12:00:01.000000Z",
    "status": {"status_code": "UNSET"},
    "attributes": {"lock": "7"},
    "events": [],
    "links": [],
    "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""}
}
{
    "name": "store",
    "context": {"trace_id": "0x0a", "span_id": "0x0c", "trace_state": "[]"},
    "kind": "SpanKind.CLIENT",
    "parent_id": "0x0b",
    "start_time": "2024-05-01T12:00:00.500000Z",
    "end_time": null,
    "links": [{"context": {"trace_id": "0x0a", "span_id": "0x0b", "trace_state": "[]"}, "attributes": {}}],
    "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""}
}
{"context": {}}
"""


def test_spans_as_they_are_printed() -> None:
    events, report = read_text(CONSOLE, "console")
    assert formats.detect(CONSOLE, "x.log").NAME == "console"
    assert [(e.label, e.line) for e in events] == [
        ("pay", 1),
        ("end of pay", 1),
        ("store", 14),
        ("end of store", 14),
    ]
    assert events[0].attributes["time"] == 1714564800000001000
    assert told(report) == [("bad-line", 24), ("missing-time", 14)]


def test_lines_of_the_collector_that_hold_no_spans_are_told_of() -> None:
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"observedTimeUnixNano": "1"}] * 3}]}]}
    lines = [{"resourceMetrics": []}, logs, OTLP]
    events, report = read_text("\n".join(map(json.dumps, lines)), "otlp")
    assert len(events) == 4
    assert report.counts == {"unparsed-text": 2, "bad-line": 1}
    assert report.lost == 3 + 2


def test_what_stands_beside_spans_in_a_document_is_told_of() -> None:
    both = OTLP | {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"observedTimeUnixNano": "1"}] * 3}]}]}
    expected, _ = read_text(json.dumps(OTLP), "otlp")
    for document in (both, dict(reversed(both.items()))):
        events, report = read_text(json.dumps(document), "otlp")
        assert events == expected
        assert (report.counts, report.lost) == ({"unparsed-text": 1, "bad-line": 1}, 3 + 2)


def named(paths: list[Path]) -> dict[tuple[object, int, object], str]:
    """The names of events by their spans."""
    return {
        (event.attributes["span_id"], event.seq, event.attributes.get("kind")): event.full_id
        for event in formats.read(paths)
    }


@pytest.mark.parametrize("seed", range(3))
def test_names_depend_on_no_order_of_spans_or_files(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    spans = [
        {
            "traceId": f"t{number % 3}",
            "id": f"{number:016x}",
            "name": random.choice(("get", "put")),
            "timestamp": random.randrange(5) or None,
            "localEndpoint": {"serviceName": random.choice(("shop", "till"))},
        }
        for number in range(20)
    ]
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps(spans), encoding="utf-8")
    whole = named([one])
    assert len({*whole.values()}) == 40
    assert {*whole.values()} >= {"shop.get#1", "shop.get#1/end", "till.put#1"}
    random.shuffle(spans)
    one.write_text(json.dumps(spans[:8]), encoding="utf-8")
    two.write_text(json.dumps(spans[8:]), encoding="utf-8")
    assert named([one, two]) == named([two, one]) == whole


def test_a_copy_has_the_names_of_the_log(tmp_path: Path) -> None:
    from microcosm.traces.formats import jsonl, parquet

    log, copy, columns = tmp_path / "otlp.json", tmp_path / "copy.jsonl", tmp_path / "copy.parquet"
    log.write_text(json.dumps(OTLP), encoding="utf-8")
    with copy.open("w", encoding="utf-8") as stream:
        jsonl.write(formats.read([log]), stream)
    with columns.open("wb") as binary:
        parquet.write(formats.read([log]), binary)
    wanted = [event.full_id for event in formats.read([log])]
    for path in (copy, columns):
        assert [event.full_id for event in formats.read([path])] == wanted
        assert extract(formats.read([path])).givens == extract(formats.read([log])).givens


def test_a_name_means_one_thing_over_files_that_are_read_together(tmp_path: Path) -> None:
    """Copies of two logs whose spans are numbered alike, and a third log: no name twice, no link astray."""
    from microcosm.traces.formats import jsonl

    paths = []
    for at, trace in enumerate("tuv"):
        path = tmp_path / f"{at}.json"
        path.write_text(json.dumps(OTLP).replace('"t"', f'"{trace}"'), encoding="utf-8")
        if at < 2:
            copy = tmp_path / f"copy{at}.jsonl"
            with copy.open("w", encoding="utf-8") as stream:
                jsonl.write(formats.read([path]), stream)
            path = copy
        paths.append(path)
    events = list(formats.read(paths))
    assert len({event.full_id for event in events}) == len(events) == 12
    found = extract(events).givens
    assert found.events is not None
    for fact in found.external.values():
        left, right = found.events.row(fact.left), found.events.row(fact.right)
        assert left is not None
        assert right is not None
        assert left.attributes["trace_id"] == right.attributes["trace_id"]


def test_of_a_part_of_a_log_spans_are_called_by_their_ids(tmp_path: Path) -> None:
    """Other parts, that are read elsewhere, call them so, too."""
    path = tmp_path / "part.json"
    path.write_text(json.dumps(OTLP), encoding="utf-8")
    events = list(formats.read([path], whole=False))
    assert [(event.full_id, event.after) for event in events] == [
        ("t/a:1", ()),
        ("t/a:2", ()),
        ("t/b:1", ("a:1",)),
        ("t/b:2", ()),
    ]
