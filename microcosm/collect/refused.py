"""Why a request was not taken, and what HTTP and gRPC say of it.

What is told is a `google.rpc.Status`, in the form of the request: JSON, or two fields of protobuf, which need
no library to be written. The answer to what was taken is built here as well.
"""

from __future__ import annotations

from typing import NamedTuple

from microcosm.errors import MicrocosmError
from microcosm.givens.exact import json_text

PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Reason(NamedTuple):
    """Why requests are refused: `name` is what they are counted under; `again`: later may be better."""

    name: str
    status: int
    """Of HTTP."""
    code: int
    """Of gRPC."""
    again: bool = False


CONTENT_TYPE = Reason("content type", 400, 3)
NO_PROTOBUF = Reason("no protobuf library", 415, 12)
CONTENT_ENCODING = Reason("content encoding", 400, 3)
BAD_GZIP = Reason("broken gzip", 400, 3)
BAD_PROTOBUF = Reason("broken protobuf", 400, 3)
BAD_JSON = Reason("broken JSON", 400, 3)
TOO_DEEP = Reason("nested too deep", 400, 3)
TOO_LARGE = Reason("too large", 413, 3)
CUT_OFF = Reason("cut off", 400, 1)
TOO_SLOW = Reason("too slow", 408, 4)
TOO_FAST = Reason("rate", 429, 14, again=True)
TOO_MANY = Reason("too many at once", 503, 14, again=True)
NOT_WRITTEN = Reason("not written", 503, 14, again=True)
NO_SPANS = Reason("not for spans", 404, 12)


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
    said: dict[str, object] = {"rejectedSpans": str(rejected)} if rejected else {}
    if message:
        said["errorMessage"] = message
    return json_text({"partialSuccess": said} if said else {}).encode()


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
