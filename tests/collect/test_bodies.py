"""What a request holds is what is kept: held to protobuf's own writer of JSON, on random requests."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from microcosm.collect.bodies import (
    JSON,
    PROTOBUF,
    Reason,
    Refused,
    _depth,
    media_of,
    spans_of,
    taken,
    unpacked,
)

NAMED_AS_IDS = ("traceId", "spanId", "parentSpanId")
DEEPEST = 3


def values(field: Any, depth: int) -> st.SearchStrategy[Any]:
    """Values of a field of protobuf, of which most are unlike its default."""
    whole = {
        field.TYPE_INT32: (-(2**31), 2**31 - 1),
        field.TYPE_UINT32: (0, 2**32 - 1),
        field.TYPE_FIXED32: (0, 2**32 - 1),
        field.TYPE_INT64: (-(2**63), 2**63 - 1),
        field.TYPE_FIXED64: (0, 2**64 - 1),
        field.TYPE_ENUM: (0, 2),
    }
    if field.type in whole:
        return st.integers(*whole[field.type])
    if field.type == field.TYPE_MESSAGE:
        return messages(field.message_type, depth + 1)
    if field.type == field.TYPE_BYTES:
        sizes = {"trace_id": 16, "span_id": 8}
        size = sizes.get(field.name)
        return st.binary(max_size=20) if size is None else st.just(bytes(range(1, size + 1)))
    return {
        field.TYPE_STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        field.TYPE_BOOL: st.booleans(),
        field.TYPE_DOUBLE: st.floats(),
    }[field.type]


@st.composite
def messages(draw: st.DrawFn, descriptor: Any, depth: int = 0) -> Any:
    """A message of any kind, with any of the fields that the library knows: also those of later versions."""
    from google.protobuf.message_factory import GetMessageClass

    made = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        needed = descriptor.name == "Span" and field.name in ("trace_id", "span_id")
        if not needed and (depth > DEEPEST + 3 or not draw(st.booleans())):
            continue
        if field.is_repeated:
            for value in draw(st.lists(values(field, depth), max_size=2)):
                if field.type == field.TYPE_MESSAGE:
                    getattr(made, field.name).add().CopyFrom(value)
                else:
                    getattr(made, field.name).append(value)
        elif field.type == field.TYPE_MESSAGE:
            getattr(made, field.name).CopyFrom(draw(values(field, depth)))
        else:
            setattr(made, field.name, draw(values(field, depth)))
    return made


def with_hexadecimal_ids(value: Any) -> Any:
    """What protobuf writes of a message, with ids as OTLP writes them."""
    if isinstance(value, list):
        return [*map(with_hexadecimal_ids, value)]
    if isinstance(value, dict):
        return {
            name: base64.b64decode(inner).hex() if name in NAMED_AS_IDS else with_hexadecimal_ids(inner)
            for name, inner in value.items()
        }
    return value


@given(messages(ExportTraceServiceRequest.DESCRIPTOR))
def test_protobuf_becomes_the_json_that_protobuf_itself_writes(message: Any) -> None:
    spans = spans_of(message.SerializeToString(), PROTOBUF)
    theirs = with_hexadecimal_ids(MessageToDict(message, use_integers_for_enums=True))
    assert spans.line.count(b"\n") == 1
    ours = json.loads(spans.line)
    assert repr(ours) == repr(theirs) or ours == theirs
    assert (spans.kept, spans.rejected) == (
        sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans),
        0,
    )


@given(messages(ExportTraceServiceRequest.DESCRIPTOR))
def test_json_is_kept_as_it_came(message: Any) -> None:
    value = with_hexadecimal_ids(MessageToDict(message, use_integers_for_enums=True))
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert json.loads(spans_of(text.encode(), JSON).line) == value


IDS = {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"traceId": "0" * 32},
        {"traceId": "xyz"},
        {"traceId": None},
        {"spanId": "0" * 16},
        {"spanId": 7},
        {"spanId": "b7ad6b716920333"},
    ],
)
def test_a_span_without_ids_is_left_out_and_told(wrong: dict[str, Any]) -> None:
    spans = [{**IDS, "name": "good"}, {**IDS, **wrong, "name": "bad"}]
    found = spans_of(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode(), JSON)
    assert (found.kept, found.rejected) == (1, 1)
    assert (found.line.count(b"good"), found.line.count(b"bad")) == (1, 0)
    assert "1 without a trace id" in found.warning


def test_a_text_under_a_key_is_not_all_of_an_attribute() -> None:
    message = ExportTraceServiceRequest()
    attribute = message.resource_spans.add().resource.attributes.add(key="k")
    attribute.value.string_value = "v"
    if "key_strindex" not in attribute.DESCRIPTOR.fields_by_name:
        pytest.skip("the installed opentelemetry-proto has no such field")
    attribute.key_strindex = 1
    assert b'"keyStrindex":1' in spans_of(message.SerializeToString(), PROTOBUF).line


def test_older_documents_have_spans_too() -> None:
    spans = [{**IDS, "traceId": "AB" * 16}, {**IDS, "spanId": 7}]
    body = json.dumps({"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": spans}]}]}).encode()
    found = spans_of(body, JSON)
    assert (found.kept, found.rejected) == (1, 1)
    assert b"ab" * 16 in found.line


def test_ids_are_written_alike() -> None:
    links = [{"traceId": "AB" * 16, "spanId": "CD" * 8}]
    span = {"traceId": "Ab" * 16, "spanId": "1D" * 8, "parentSpanId": "CD" * 8, "links": links, "name": "AB"}
    line = spans_of(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode(), JSON).line
    (found,) = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert found == {
        **{"traceId": "ab" * 16, "spanId": "1d" * 8, "parentSpanId": "cd" * 8, "name": "AB"},
        "links": [{"traceId": "ab" * 16, "spanId": "cd" * 8}],
    }


def test_a_span_without_ids_is_left_out_of_protobuf() -> None:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for trace, own, name in (
        (b"t" * 16, b"s" * 8, "good"),
        (b"", b"s" * 8, "bad"),
        (b"t" * 16, bytes(8), "bad"),
    ):
        spans.add(trace_id=trace, span_id=own, name=name)
    found = spans_of(request.SerializeToString(), PROTOBUF)
    assert (found.kept, found.rejected) == (1, 2)
    assert (found.line.count(b"good"), found.line.count(b"bad")) == (1, 0)


def why(body: bytes, media: str = JSON, encoding: str = "", largest: int = 1000) -> Reason:
    with pytest.raises(Refused) as caught:
        spans_of(unpacked(body, encoding, largest), media)
    return caught.value.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", Reason.BAD_JSON),
        (b"[]", Reason.BAD_JSON),
        (b'{"resourceSpans": [', Reason.BAD_JSON),
        (b'{"resourceSpans": {}}', Reason.BAD_JSON),
        (b'{"resourceSpans": [{"scopeSpans": [3]}]}', Reason.BAD_JSON),
        (b'{"resourceSpans": [], "x": NaN}', Reason.BAD_JSON),
        (b'{"resourceSpans": [], "x": 1e999}', Reason.BAD_JSON),
        (b'{"x": ' + b"9" * 5000 + b"}", Reason.BAD_JSON),
        (b'{"x": "\xff"}', Reason.BAD_JSON),
        (b'{"resourceSpans": [], "resourceSpans": []}', Reason.BAD_JSON),  # only the second was kept
        (b'{"resourceSpans": [{"scopeSpans": [], "scope\\u0053pans": []}]}', Reason.BAD_JSON),
        (b'{"x": "\\ud800"}', Reason.BAD_JSON),
        (b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}", Reason.TOO_DEEP),
        (b"[" * 100_000, Reason.TOO_DEEP),
    ],
)
def test_json_that_is_no_request(body: bytes, reason: Reason) -> None:
    assert why(body) == reason


def test_protobuf_that_lies_about_its_length() -> None:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(
        trace_id=b"t" * 16, span_id=b"s" * 8, name="x" * 50
    )
    body = request.SerializeToString()
    assert why(body[:-7], PROTOBUF) == Reason.BAD_PROTOBUF
    assert why(body[:1] + b"\xff\xff\xff\x7f" + body[2:], PROTOBUF) == Reason.BAD_PROTOBUF
    assert why(b'{"resourceSpans": []}', PROTOBUF) == Reason.BAD_PROTOBUF


@given(st.binary(max_size=60))
def test_no_bytes_are_an_unforeseen_error(body: bytes) -> None:
    for media in (PROTOBUF, JSON):
        for encoding in ("", "gzip"):
            with suppress(Refused):
                assert spans_of(unpacked(body, encoding, 1000), media).line.endswith(b"\n")


def test_gzip_is_unpacked_as_far_as_it_may_be() -> None:
    body = gzip.compress(b"{}")
    assert unpacked(body, "gzip", 2) == b"{}"
    assert why(body, encoding="gzip", largest=1) == Reason.TOO_LARGE
    assert why(gzip.compress(bytes(10**8)), encoding="gzip", largest=10**6) == Reason.TOO_LARGE
    for broken in (
        body[:-1],
        body[:5],
        b"",
        body[:12] + b"\xff" + body[13:],
        body + b"x",
        zlib.compress(b"{}"),
    ):
        assert why(broken, encoding="gzip") == Reason.BAD_GZIP
    assert why(b"{}", encoding="br") == Reason.CONTENT_ENCODING


def test_content_types() -> None:
    assert media_of("application/json; charset=utf-8") == JSON
    assert media_of("Application/X-Protobuf") == PROTOBUF
    for wrong in ("", "text/plain", "application/grpc", "application/jsonl"):
        with pytest.raises(Refused, match="application/x-protobuf"):
            media_of(wrong)


@given(st.recursive(st.text(max_size=3), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_depth(value: Any) -> None:
    def depth(one: Any) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    assert _depth(json.dumps(value, ensure_ascii=False)) == depth(value)


def test_answers_are_what_protobuf_reads() -> None:
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    for rejected, said in ((0, ""), (3, "no ids"), (0, "odd"), (10**12, "é" * 300)):
        one = ExportTraceServiceResponse.FromString(taken(PROTOBUF, rejected, said))
        other = Parse(taken(JSON, rejected, said), ExportTraceServiceResponse())
        assert one == other
        assert one.HasField("partial_success") == bool(rejected or said)
        assert (one.partial_success.rejected_spans, one.partial_success.error_message) == (rejected, said)


def test_refusals_are_what_googles_status_is() -> None:
    status = pytest.importorskip("google.rpc.status_pb2").Status
    found = status.FromString(Refused(Reason.TOO_LARGE, "é" * 200).body(PROTOBUF))
    assert (found.code, found.message) == (3, "é" * 200)
    assert json.loads(Refused(Reason.BAD_GZIP, "x").body(JSON)) == {"code": 3, "message": "x"}
