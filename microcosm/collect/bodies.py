"""What the body of a request holds, as one line of OTLP's JSON, which every command reads; and its answer.

A span without a trace id of 16 bytes and an id of 8 is none, by OTLP's own words: it is left out and counted,
and the sender is told (partial success). Everything else is kept, whether anybody knows what it means; of
protobuf, every field that the installed opentelemetry-proto knows. Why a request was not taken is told as a
`google.rpc.Status`, in the form of the request: JSON, or two fields of protobuf, which need no library to be
written.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import accumulate, chain
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite, isnan
from typing import Any, NamedTuple

from microcosm.errors import MicrocosmError, installing
from microcosm.givens.exact import json_text
from microcosm.traces.formats.tracing import SCOPES

PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Reason(Enum):
    """Why requests are refused: what they are counted as, what HTTP and gRPC say, if later may be better."""

    CONTENT_TYPE = "content type", 400, 3
    NO_PROTOBUF = "no protobuf library", 415, 12
    CONTENT_ENCODING = "content encoding", 400, 3
    BAD_GZIP = "broken gzip", 400, 3
    BAD_PROTOBUF = "broken protobuf", 400, 3
    BAD_JSON = "broken JSON", 400, 3
    TOO_DEEP = "nested too deep", 400, 3
    TOO_LARGE = "too large", 413, 3
    CUT_OFF = "cut off", 400, 1
    TOO_SLOW = "too slow", 408, 4
    TOO_FAST = "rate", 429, 14, True
    TOO_MANY = "too many at once", 503, 14, True
    NOT_WRITTEN = "not written", 503, 14, True
    NO_SPANS = "not for spans", 404, 12

    def __init__(self, called: str, status: int, code: int, again: bool = False) -> None:
        self.called, self.status, self.code, self.again = called, status, code, again


class Refused(MicrocosmError):
    """A request of which nothing was kept; where later may be better, `after` is in how many seconds."""

    def __init__(self, reason: Reason, message: str, after: int = 1) -> None:
        super().__init__(message)
        self.reason = reason
        self.after = after if reason.again else None

    def body(self, media: str) -> bytes:
        """The `google.rpc.Status` of it, in protobuf or JSON."""
        code, message = self.reason.code, str(self)
        if media == PROTOBUF:
            return _number(1, code) + _bytes(2, message.encode(errors="replace"))
        return json_text({"code": code, "message": message}).encode(errors="replace")


def taken(media: str, rejected: int = 0, message: str = "") -> bytes:
    """The answer to what was kept: without a partial success where there is nothing to say.

    >>> taken(JSON, 2, "no ids")
    b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "no ids"}}'
    """
    if media == PROTOBUF:
        part = (_number(1, rejected) if rejected else b"") + (_bytes(2, message.encode()) if message else b"")
        return _bytes(1, part) if part else b""
    fields: dict[str, object] = {"rejectedSpans": str(rejected)} if rejected else {}
    if message:
        fields["errorMessage"] = message
    return json_text({"partialSuccess": fields} if fields else {}).encode()


def _varint(value: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


DEEPEST = 100
"""So deep may JSON be nested, as protobuf's own reader has it for its form."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}
_TRACE, _SPAN = re.compile(r"(?!0{32})[0-9a-fA-F]{32}"), re.compile(r"(?!0{16})[0-9a-fA-F]{16}")


class SpanBatch(NamedTuple):
    """What a request gave: a line for so many spans, `kept`, and how many were none, `rejected`.

    `warning` is what the sender should know of what is odd.
    """

    line: bytes
    kept: int
    rejected: int
    warning: str


def media_of(content_type: str) -> str:
    """Which of the two forms a body has, by its `Content-Type`. Raises `Refused`."""
    media = content_type.partition(";")[0].strip().lower()
    if media in (PROTOBUF, JSON):
        return media
    what = f"{media!r} is" if media else "what is sent is"
    raise Refused(Reason.CONTENT_TYPE, f"{what} not taken here; it is {PROTOBUF} or {JSON}")


def unpacked(body: bytes, encoding: str, largest: int) -> bytes:
    """A body without its `Content-Encoding`, of at most so many bytes. Raises `Refused`."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip":
            return _gunzip(body, largest)
    raise Refused(Reason.CONTENT_ENCODING, f"the encoding {encoding!r} is not taken here; it is gzip or none")


def _gunzip(body: bytes, largest: int) -> bytes:
    """One member, as exporters write it: of many small ones each would cost a copy of the rest."""
    packed = zlib.decompressobj(wbits=31)
    try:
        content = packed.decompress(body, largest + 1)
    except zlib.error as error:
        raise Refused(Reason.BAD_GZIP, f"the gzip is broken: {error}") from None
    if len(content) > largest:
        raise Refused(Reason.TOO_LARGE, f"unpacked, the request is larger than {largest:,} bytes")
    if not packed.eof:
        raise Refused(Reason.BAD_GZIP, "the gzip is cut off")
    if packed.unused_data:
        raise Refused(Reason.BAD_GZIP, "bytes stand behind the end of the gzip")
    return content


def spans_of(body: bytes, media: str) -> SpanBatch:
    """The spans of a body. Raises `Refused` where it is no request. Cost: linear."""
    return _of_protobuf(body) if media == PROTOBUF else _of_json(body)


def _warning(count: int, rejected: int, body: bytes) -> str:
    if rejected:
        return f"{rejected} without a trace id of 16 bytes and a span id of 8 were left out"
    return "" if count or body in (b"", b"{}") else "the request holds no spans"


def has_protobuf() -> bool:
    """Whether the library is there that knows OTLP's protobuf."""
    try:
        import opentelemetry.proto.collector.trace.v1.trace_service_pb2  # noqa: F401
    except ImportError:
        return False
    return True


def _of_protobuf(body: bytes) -> SpanBatch:
    if not has_protobuf():
        message = f"protobuf needs opentelemetry-proto here: {installing('collect')}; JSON needs nothing"
        raise Refused(Reason.NO_PROTOBUF, message)
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise Refused(Reason.BAD_PROTOBUF, f"not a request in OTLP's protobuf: {error}") from None
    count = rejected = 0
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            spans = scope.spans
            for at in [at for at, span in enumerate(spans) if not _has_ids(span)][::-1]:
                del spans[at]
                rejected += 1
            count += len(spans)
    return SpanBatch(_message(request).encode() + b"\n", count, rejected, _warning(count, rejected, body))


def _has_ids(span: Any) -> bool:
    return len(span.trace_id) == 16 and len(span.span_id) == 8 and any(span.trace_id) and any(span.span_id)


def _of_json(body: bytes) -> SpanBatch:
    try:
        text = body.decode("utf-8-sig")
        if _depth(text) > DEEPEST:
            raise Refused(Reason.TOO_DEEP, f"the JSON is nested deeper than {DEEPEST}")
        request = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_members)
        count, rejected = _count(request)
        line = json.dumps(request, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError as error:  # so are bytes that are no text, halves of characters, and infinite numbers
        raise Refused(Reason.BAD_JSON, f"not a request in OTLP's JSON: {error}") from None
    except RecursionError:
        raise Refused(Reason.TOO_DEEP, f"the JSON is nested deeper than {DEEPEST}") from None
    return SpanBatch(line + b"\n", count, rejected, _warning(count, rejected, body))


def _depth(text: str) -> int:
    """How deep brackets are nested outside strings.

    >>> _depth('{"a": [1, "[[[", {}]}')
    3
    """
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(accumulate(map(_DEPTHS.__getitem__, brackets)), default=0)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which each name stands once: of two nobody would keep the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"`{twice}` stands twice in one object")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _count(request: object) -> tuple[int, int]:
    """How many spans a request has; what is none is counted and taken out of it. Raises `ValueError`."""
    if type(request) is not dict:
        raise ValueError("an object with `resourceSpans` is expected")
    count = rejected = 0
    for resource in _objects(request, "resourceSpans"):
        for scope in chain.from_iterable(_objects(resource, name) for name in SCOPES):
            spans = [*_objects(scope, "spans")]
            known = [span for span in spans if _are_ids(span.get("traceId"), span.get("spanId"))]
            for span in known:
                _make_alike(span, *_objects(span, "links"))
            if len(known) < len(spans):
                scope["spans"] = known
            count += len(known)
            rejected += len(spans) - len(known)
    return count, rejected


def _objects(holder: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    value = holder.get(name)
    if value is None:
        return
    if type(value) is not list or not all(type(one) is dict for one in value):
        raise ValueError(f"`{name}` is an array of objects")
    yield from value


def _make_alike(*holders: dict[str, Any]) -> None:
    """Write ids in small letters, in which others write the same ones."""
    for holder in holders:
        for name in _HEXADECIMAL:
            if type(value := holder.get(name)) is str and not value.islower():
                holder[name] = value.lower()


def _are_ids(trace: object, span: object) -> bool:
    both = (_TRACE, trace), (_SPAN, span)
    return all(type(one) is str and form.fullmatch(one) is not None for form, one in both)


Writer = Callable[[Any], str]
_HEXADECIMAL = ("traceId", "spanId", "parentSpanId")
_plans: dict[object, dict[int, tuple[str, Writer, bool]]] = {}
"""Of each kind of message, by the number of a field: its name in JSON, what writes it, if it is a list."""


def _message(message: Any) -> str:
    """A message as OTLP's JSON has it: ids in hexadecimal, numbers of 64 bits as text, enums as numbers.

    `google.protobuf.json_format` writes ids in base64, and takes ten times as long.
    """
    plan = _plans.get(message.DESCRIPTOR)
    if plan is None:
        plan = _plans[message.DESCRIPTOR] = {
            field.number: _field(field) for field in message.DESCRIPTOR.fields
        }
    parts = []
    for field, value in message.ListFields():
        name, write, many = plan[field.number]
        parts.append(f"{name}[{','.join(map(write, value))}]" if many else name + write(value))
    return "{" + ",".join(parts) + "}"


def _field(field: Any) -> tuple[str, Writer, bool]:
    name = field.json_name
    writers: dict[int, Writer] = {
        field.TYPE_STRING: quoted,
        field.TYPE_BOOL: lambda value: "true" if value else "false",
        field.TYPE_DOUBLE: _double,
        field.TYPE_BYTES: _hexadecimal if name in _HEXADECIMAL else _base64,
        field.TYPE_MESSAGE: _message,
        **dict.fromkeys((field.TYPE_INT64, field.TYPE_UINT64, field.TYPE_FIXED64), '"{}"'.format),
    }
    write = writers.get(field.type, str)
    if field.type == field.TYPE_MESSAGE and field.message_type.name == "KeyValue":
        write = _attribute
    return f'"{name}":', write, field.is_repeated


_key = lru_cache(4096)(quoted)


def _attribute(attribute: Any) -> str:
    """An attribute, mostly a text under one of a few keys, and nothing else."""
    text, key = attribute.value.string_value, attribute.key
    if text and key and len(attribute.ListFields()) == 2:
        return f'{{"key":{_key(key)},"value":{{"stringValue":{quoted(text)}}}}}'
    return _message(attribute)


def _hexadecimal(value: bytes) -> str:
    return f'"{value.hex()}"'


def _base64(value: bytes) -> str:
    return f'"{b64encode(value).decode()}"'


def _double(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
