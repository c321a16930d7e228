"""JSON objects in lines of text, and why a line is none."""

from __future__ import annotations

import json
from json import JSONDecodeError, JSONDecoder
from typing import NoReturn

from microcosm.errors import MicrocosmError
from microcosm.traces.event import writable


class BadLine(MicrocosmError):
    """Why a line is no event, in words."""


class NotJson(BadLine):
    """The line is no JSON either; the last one of a log may be half-written."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


json_text = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
"""A value as JSON, the same for equal ones."""

_decode = JSONDecoder(parse_constant=_refuse).raw_decode


def json_object(text: str) -> dict[str, object]:
    """The object that a line is. Raises `BadLine`, or `NotJson` where it is no JSON at all.

    >>> json_object(' {"a": 1} ')
    {'a': 1}
    """
    record = json_value(text)
    if type(record) is not dict:
        raise BadLine("not an event: a JSON object is expected")
    return record


def json_value(text: str) -> object:
    """The value that a text is. Raises as `json_object` does."""
    try:
        record, end = _decode(text, len(text) - len(text.lstrip()))
    except JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise NotJson(f"not JSON: {error}") from None
    except RecursionError:
        raise BadLine("not an event: nested too deeply") from None
    if end < len(text) and not text[end:].isspace():
        raise NotJson(f"not JSON: more text after the object (column {end + 1})")
    if "\\u" in text and not writable(json.dumps(record, ensure_ascii=False)):
        raise BadLine("half of a surrogate pair is no text")
    return record
