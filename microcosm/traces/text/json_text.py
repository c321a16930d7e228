"""JSON in a log: the object that a line is, and text of any length, read value by value.

`json_object` says why a line is none. `JsonCursor` goes through text from left to right, with ways to go on
behind a fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from json import JSONDecodeError, JSONDecoder
from typing import NoReturn

from microcosm.errors import MicrocosmError
from microcosm.traces.event import writable
from microcosm.traces.text.lines import LINE_LIMIT


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


_decode_value = JSONDecoder().raw_decode
_BLANK = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"|[{}\[\]"\n]')
_SCALAR = re.compile(r"[^,}\]\n]*")
_DOCUMENT = re.compile(r"(?<=\n)[{\[]")
_SOON = 16
"""A fault so few characters before the end of the text at hand may be none once more text is there."""
_CHUNK = 1 << 20


class Fault(MicrocosmError):
    """Why a value cannot be read, and in which line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Lost(Fault):
    """Why the structure is lost; `marks` are those that stand in what was passed over."""

    def __init__(self, message: str, line: int, marks: int) -> None:
        super().__init__(message, line)
        self.marks = marks


class JsonCursor:
    """A place in JSON text that comes in `pieces`, in `line`; `mark` is what is counted on the way.

    Memory: the value that is read, and some pieces. Cost: linear in the text.
    """

    def __init__(self, pieces: Iterator[str], mark: str) -> None:
        self._pieces = pieces
        self._mark = mark
        self._text = ""
        self._at = 0
        self._begun = 0
        self.line = 1

    def value(self) -> object:
        """The value that stands here. Raises `Fault`, and stays before it."""
        self.sign()
        while True:
            try:
                value, end = _decode_value(self._text, self._at)
            except JSONDecodeError as error:
                unended = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _SOON
                if unended and len(self._text) - self._at <= LINE_LIMIT and self._more():
                    continue
                line = self.line + self._text.count("\n", self._at, error.pos)
                raise Fault(f"not JSON: {error.msg}", line) from None
            except (RecursionError, ValueError) as error:
                deep = isinstance(error, RecursionError)
                raise Fault("nested too deeply" if deep else f"not JSON: {error}", self.line) from None
            if end == len(self._text) and self._more():  # a number may go on
                continue
            escaped = self._text.find("\\u", self._at, end) >= 0
            if escaped and not writable(json.dumps(value, ensure_ascii=False)):
                raise Fault("half of a surrogate pair is no text", self.line)
            self._begun = self._at
            self._advance(end)
            return value

    def at_hand(self) -> tuple[object, int] | None:
        """The array or object that stands here and where it ends, if it is plain, in one line and at hand.

        Stays before it. None: it is to be read part by part. Cost: linear in the text at hand.
        """
        if self._text.startswith(("\n", "\r"), self._at + 1):
            return None
        try:
            value, end = _decode_value(self._text, self._at)
        except (RecursionError, ValueError):
            return None
        plain = self._text.find("\n", self._at, end) < 0 and self._text.find("\\u", self._at, end) < 0
        return (value, end) if plain else None

    def keys(self, names: Iterable[str], end: int) -> int:
        """How often some names may be keys in the text from here to an end."""
        return sum(self._text.count(f'"{name}"', self._at, end) for name in names)

    def take(self, end: int) -> None:
        """Go behind a value that is at hand."""
        self._begun, self._at = self._at, end

    def named(self, line: int) -> int:
        """The line of the mark in the value that was just read and begins in `line`."""
        found = self._text.find(f'"{self._mark}"', self._begun, self._at) if self._mark else -1
        return line if found < 0 else line + self._text.count("\n", self._begun, found)

    def pass_over(self) -> int:
        """Go behind the value that stands here, by its brackets; how many marks are in it.

        Raises `Lost` where its brackets are not in order, or it does not end.
        """
        begun, marks = self.line, 0
        if self.sign() not in '{["':
            found = _SCALAR.match(self._text, self._at)
            return self._pass(found.end()) if found else 0
        at = self._at
        opened: list[str] = []
        before = ""  # the last sign that was passed and is not blank
        while True:
            found = _TOKEN.search(self._text, at)
            if found is None or self._unended(found):
                stop = found.start() if found else len(self._text)
                before = self._last(stop) or before
                marks += self._pass(stop)
                if self._more():
                    at = self._at
                    continue
                raise Lost("half-written: the document does not end", begun, marks)
            token, at = found[0], found.end()
            if token == '"' or (token == "\n" and self._begins(at, opened, self._last(at) or before)):
                marks += self._pass(at)
                raise Lost("half-written: another object begins in a later line", begun, marks)
            if token in ("{", "["):
                opened.append(token)
            elif token in ("}", "]") and (not opened or opened.pop() + token not in ("{}", "[]")):
                marks += self._pass(at)
                raise Lost("not JSON: brackets that do not match", begun, marks)
            if not opened and token != "\n":
                return marks + self._pass(at)
            if at - self._at > _CHUNK:
                before = self._last(at) or before
                marks += self._pass(at)

    def _unended(self, token: re.Match[str]) -> bool:
        """Whether what follows the text at hand says what a token is."""
        if token[0] == "\n":
            return token.end() == len(self._text)
        return token[0] == '"' and self._text.find("\n", token.end()) < 0

    def _begins(self, at: int, opened: list[str], before: str) -> bool:
        """Whether what begins a line here is no part of what is open, but a document of its own."""
        if self._text[at] not in "{[" or not opened:
            return False
        return before not in (("[", ",", ":") if opened[-1] == "[" else (":",))

    def _last(self, end: int) -> str:
        """The last sign before a place that is not blank, if it is near."""
        return self._text[max(self._at, end - 200) : end].rstrip()[-1:]

    def to_document(self) -> int:
        """Go to a line that begins a document, or to the end; how many marks stand on the way."""
        marks = 0
        while True:
            found = _DOCUMENT.search(self._text, self._at)
            marks += self._pass(found.start() if found else len(self._text))
            if found or not self._more():
                return marks

    def sign(self) -> str:
        """The next sign that is not blank, to stand before it; nothing at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            assert found is not None
            self._advance(found.end())
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def step(self) -> None:
        """Go behind a sign."""
        self._at += 1  # a sign, and no line end

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _pass(self, end: int) -> int:
        """Advance, and count the marks on the way."""
        marks = self._text.count(self._mark, self._at, end) if self._mark else 0
        self._advance(end)
        return marks

    def _more(self) -> bool:
        """Put as much text again behind what is still to be read; whether there is any.

        Of what was read one sign is kept: it tells whether a line begins.
        """
        kept = max(self._at - 1, 0)
        parts, size = [self._text[kept:]], 0
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            if size >= len(parts[0]):
                break
        if size:
            self._text, self._at = "".join(parts), self._at - kept
        return size > 0
