"""What a line of a log says in JSON, or in EDN, the text of Clojure's data, which Jepsen writes."""

from __future__ import annotations

import json
import re
from json import JSONDecodeError, JSONDecoder
from typing import NoReturn

from microcosm.errors import MicrocosmError
from microcosm.traces.event import writable


class BadLine(MicrocosmError):
    """Why a line is no event, in words."""


class NotJson(BadLine):
    """The line is no JSON either; the last one of a log may be half-written."""


def why_bad(fault: BadLine, cut_off: bool) -> str:
    """What is wrong with a line, in words; `cut_off` if it is the last one and has no line end."""
    return f"half-written last line: {fault}" if cut_off and isinstance(fault, NotJson) else str(fault)


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
    if type(record) is not dict:
        raise BadLine("not an event: a JSON object is expected")
    return record


# -- EDN -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r'[\s,]+|;[^\n]*|"((?:[^"\\]|\\.)*)"|#\{|#_|\\\S[^\s,()\[\]{}"]*|[()\[\]{}]|[^\s,()\[\]{}";]+'
)
_CLOSES = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def edn(text: str) -> object:
    """The first value of a text in EDN: maps as dictionaries, lists as such, keywords with their colon.

    What a tag stands before is taken without it. Raises `BadLine` for what is none. Cost: linear.

    >>> edn('{:f :cas, :value [3 nil "a\\\\n"], :t #inst "2024"}')
    {':f': ':cas', ':value': [3, None, 'a\\n'], ':t': '2024'}
    """
    opened: list[tuple[str, list[object]]] = []
    at = 0
    passed_over: dict[int, int] = {}
    """How many values are to come that `#_` stands before, by depth."""
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise BadLine(f"not EDN (column {at + 1})")
        token, at = found[0], found.end()
        value: object
        if token[0] in " ,;\t\n\r\f\v" or token.isspace():
            continue
        if token == "#_":
            passed_over[len(opened)] = passed_over.get(len(opened), 0) + 1
            continue
        if token in _CLOSES:
            opened.append((token, []))
            continue
        if token in ("}", "]", ")"):
            if not opened or _CLOSES[opened[-1][0]] != token:
                raise BadLine(f"not EDN: brackets that do not match (column {at})")
            kind, members = opened.pop()
            value = _map(members) if kind == "{" else members
        elif token[0] == "#":
            continue  # a tag: what it stands before is enough
        else:
            value = _atom(token, found[1])
        if passed_over.get(len(opened)):
            passed_over[len(opened)] -= 1
        elif not opened:
            return value
        else:
            opened[-1][1].append(value)
    raise BadLine("not EDN: it does not end")


def _map(members: list[object]) -> dict[str, object]:
    if len(members) % 2:
        raise BadLine("not EDN: a key without a value")
    return {shown(key): value for key, value in zip(members[::2], members[1::2], strict=True)}


def _atom(token: str, text: str | None) -> object:
    if text is not None:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)
    if token in ("nil", "true", "false"):
        return {"nil": None, "true": True, "false": False}[token]
    if re.fullmatch(r"[+-]?\d{1,40}N?", token):
        return int(token.rstrip("N"))
    if re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?", token):
        return float(token.rstrip("M"))
    return token


def shown(value: object) -> str:
    """A value of EDN as people read it.

    >>> shown([3, None, ":a"]), shown(None), shown({":a": 1})
    ('[3 nil :a]', 'nil', '{":a": 1}')
    """
    if type(value) is list and all(type(one) is not list and type(one) is not dict for one in value):
        return f"[{' '.join(map(shown, value))}]"
    if type(value) is str:
        return value
    return "nil" if value is None else json_text(value)
