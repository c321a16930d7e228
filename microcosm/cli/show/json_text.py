"""JSON text as data, strictly and at any depth: duplicate keys and `NaN` are refused, nothing recurses.

The reader of the standard library does the work; where its recursion ends, a loop with a stack goes on.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from microcosm.errors import MicrocosmError, TextError

LONGEST_INTEGER = 300
"""An integer of more digits than any count has is read as a float."""


class TwiceError(MicrocosmError, ValueError):
    """A key that stands twice in one object: well-formed JSON that says two things."""


def parse(text: str, file: str) -> object:
    """The value of a JSON text. Raises `TextError` where it is none, `TwiceError` for a duplicate key."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, strict=True
        )
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, error.msg, file)
    except _NoJSON as error:
        _refuse(text, max(text.find(str(error)), 0), f"{error} is no JSON value", file)
    except RecursionError:
        return _Stack(text, file).value()


def _refuse(text: str, at: int, message: str, file: str) -> NoReturn:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    raise TextError(
        f"is no JSON: {message}",
        file=file,
        line=text.count("\n", 0, at) + 1,
        column=at - begin + 1,
        text=text[begin : end if end >= 0 else None],
    )


class _NoJSON(MicrocosmError):
    pass


def _constant(word: str) -> NoReturn:
    raise _NoJSON(word)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise TwiceError(f"the key {json.dumps(key)} stands twice in one object")
            seen.add(key)
    return found


_TOKEN = re.compile(r"""[ \t\n\r]*(?:([][{},:])|("(?:[^"\\\x00-\x1f]|\\.)*+")|([-+.\w]+))""")


class _Stack:
    """A reader whose open arrays and objects stand on a list."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.at = 0

    def value(self) -> object:
        """The one value of the text."""
        opened: list[tuple[str, list[object]]] = []  # the bracket, and the members (keys and values in turn)
        while True:
            token = self._token()
            if token in ("[", "{"):
                opened.append((token, []))
                if self._peek() == ("]" if token == "[" else "}"):
                    self._token()
                    value = self._closed(*opened.pop())
                else:
                    self._key(opened[-1])
                    continue
            else:
                value = self._scalar(token)
            while opened:
                kind, members = opened[-1]
                members.append(value)
                token = self._token()
                if token == ",":
                    self._key(opened[-1])
                    break
                if token != ("]" if kind == "[" else "}"):
                    self._fail("',' or a closing bracket is expected")
                value = self._closed(*opened.pop())
            if not opened:
                if self.text[self.at :].strip(" \t\n\r"):
                    self._fail("more text after the value")
                return value

    def _key(self, frame: tuple[str, list[object]]) -> None:
        kind, members = frame
        if kind == "{":
            token = self._token()
            if not token.startswith('"'):
                self._fail("a key in double quotes is expected")
            members.append(self._scalar(token))
            if self._token() != ":":
                self._fail("':' is expected")

    @staticmethod
    def _closed(kind: str, members: list[object]) -> object:
        if kind == "[":
            return members
        return _object([(str(key), value) for key, value in zip(members[::2], members[1::2], strict=True)])

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group().lstrip(" \t\n\r") if match else ""

    def _token(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self._fail("a value is expected")
        self.at = match.end()
        return match.group().lstrip(" \t\n\r")

    def _scalar(self, token: str) -> object:
        try:
            return json.loads(token, parse_constant=_constant, parse_int=_integer)
        except (json.JSONDecodeError, _NoJSON):
            self._fail(f"{token[:20]} is no value")

    def _fail(self, message: str) -> NoReturn:
        _refuse(self.text, self.at, message, self.file)
