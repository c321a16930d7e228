"""JSON documents larger than memory: their parts, one at a time.

A file may hold one document or several, one a line, spread over lines or all in one line. What is read at a
time is an element of an array at the top, an element of an array under one of some keys of an object at the
top, or else a whole object. Arrays further inside may be named, too: their elements are then read one by
one, so that a fault costs one of them and not the whole part, and the end of a file that was cut off costs
the last one.

Where a fault leaves the brackets in order, what they enclose is passed over. Where it does not, nothing is
known of the structure any more, and the rest is passed over up to a line that begins a document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from typing import Any

from microcosm.errors import MicrocosmError
from microcosm.traces.event import writable
from microcosm.traces.report import Report
from microcosm.traces.text.lines import LINE_LIMIT, Lines

_FAULTY = object()
_UNENDED = "half-written: the document does not end"


class Elements(list[dict[str, object]]):
    """The objects of an array that could be read, and the line of each: of its mark, where it has one."""

    def __init__(self, objects: Iterable[dict[str, object]] = (), line: int = 0) -> None:
        super().__init__(objects)
        self.lines = [line] * len(self)

    def take(self, objects: Iterable[dict[str, object]], lines: Iterable[int]) -> None:
        """Take in more objects, each with its line."""
        self.extend(objects)
        self.lines.extend(lines)


@dataclass(slots=True)
class Unit:
    """A part of a document, the line it begins in, and its place in the array of its key; faulty ones count.

    `place` is -1 where it stands in no such array, as where the structure was lost, and behind two commas:
    nobody knows whether one is too many, or what stood between them is gone.
    """

    value: dict[str, object]
    line: int
    place: int = -1


def units(
    stream: Lines,
    keys: frozenset[str],
    file: str,
    report: Report,
    inner: Sequence[frozenset[str]] = (),
    mark: str = "",
    each: int = 2,
    around: frozenset[str] | None = None,
    beside: frozenset[str] = frozenset(),
    ends: bool = True,
) -> Iterator[Unit]:
    """The objects of a stream, as said above; what is no JSON or no object is reported as `bad-line`.

    `inner` names the arrays that are read element by element, level by level below the units; in their place
    stand `Elements`. `mark` is a key that each event or span has once: by it those are counted that cannot be
    read, `each` so many events. With `around` a document may stand in one at the top: as the value of such a
    key, or an array in the array. An object in which such a key stands `beside` those of the units is one of
    them, too. An array at the top has its last bracket if it `ends`. Memory: the largest unit; cost: linear
    in the text, whatever its layout.
    """
    json = JsonCursor(stream.pieces(), mark)  # no quotes, of which one may be what is damaged
    return _Documents(json, keys, file, report, inner, each if mark else 1, around, beside, ends).units()


def of_json(*marks: str, in_object: int = 2) -> Callable[[str, str], int]:
    """How a format in JSON is told: 2 where the text begins as such and has all of some keys.

    `in_object`: how sure it is where it begins with an object, which a logger may have written.
    """
    sure = {"[": 2, "{": in_object}

    def detects(head: str, path: str) -> int:
        return sure.get(head.lstrip()[:1], 0) * all(f'"{mark}"' in head for mark in marks)

    return detects


def marks_in(value: object, mark: str) -> int:
    """How many events or spans a value may hold that is none of what was expected.

    >>> marks_in({"scope": {}, "sqans": [{"spanId": "a"}, {"spanId": "b"}]}, "spanId")
    2
    """
    return json.dumps(value).count(f'"{mark}"')


@dataclass(slots=True)
class _Documents:
    """The documents of a stream, read from left to right; `_broken` says that the structure was lost."""

    _json: JsonCursor
    _keys: frozenset[str]
    _file: str
    _report: Report
    _inner: Sequence[frozenset[str]]
    _each: int
    _around: frozenset[str] | None
    _beside: frozenset[str]
    _ends: bool
    _broken: bool = False

    def units(self) -> Iterator[Unit]:
        """All units."""
        while sign := self._json.sign():
            if sign == "{":
                yield from self._top()
            elif sign == "[":
                yield from self._array(0, sure=False, nested=self._around is not None)
            elif sign in ",]}":  # left over from where the structure was lost
                self._json.step()
            else:
                self._break("not JSON", self._json.line)
            self._broken = False

    def _top(self, within: bool = False) -> Iterator[Unit]:
        """An object at the top, or `within` one: the elements under its keys, or else the object itself."""
        line = self._json.line
        if not self._keys and not self._inner:
            if (value := self._element(0)) is not None:
                yield Unit(value, line)
            return
        found: dict[str, object] = {}
        apart = faulty = False
        for key in self._members():
            sign = self._json.sign()
            if key in self._keys and sign == "[":
                apart = True
                yield from self._array(0)
            elif self._around and key in self._around and sign == "{" and not within:
                apart = True
                yield from self._top(within=True)
            elif key in self._keys and sign == "{":
                apart = True
                begun = self._json.line
                if (value := self._element(0)) is not None:
                    yield Unit(value, begun)
            else:
                faulty |= not self._member(found, key, 0)
        whole = not (faulty or self._broken)
        if not self._beside.isdisjoint(found) if apart else whole or (found and self._inner):
            yield Unit(found, line)

    def _array(self, level: int, sure: bool = True, nested: bool = False) -> Iterator[Unit]:
        """The objects of an array whose elements are units (level 0) or stand so deep inside of one.

        `sure`: their places mean something. `nested`: those of arrays in it are elements, too.
        """
        begun, ends = self._json.line, sure or self._ends
        if (known := self._plain(list, level)) is not None:
            for place, one in enumerate(known):
                yield Unit(one, begun, place if sure else -1)
            return
        self._json.step()
        place = 0
        while (sign := self._json.sign()) != "]":
            if not sign:
                if ends:
                    self._break(_UNENDED, begun)
                return
            line = self._json.line
            sure = sure and sign != ","
            if sign == "{":
                element = self._element(level)
                if element is not None:
                    yield Unit(element, self._json.named(line) if level else line, place if sure else -1)
            elif sign == "[" and nested:
                yield from self._array(level, sure=False)
            elif self._value_or_fault() is not _FAULTY:
                self._bad("a JSON object is expected", line)
            place += 1
            if self._broken:
                return
            sign = self._json.sign()
            if sign == ",":
                self._json.step()
            elif sign and sign != "]":
                self._break("not JSON: `,` or `]` is expected", self._json.line)
                return
        self._json.step()

    def _element(self, level: int) -> dict[str, object] | None:
        """An object in an array; what is lost of it is reported."""
        if level >= len(self._inner):
            value = self._value_or_fault()
            return value if type(value) is dict else None
        if (known := self._plain(dict, level)) is not None:
            return known[0]
        found: dict[str, object] = {}
        for key in self._members():
            self._member(found, key, level)
        return found

    def _plain(self, kind: type, level: int) -> list[dict[str, object]] | None:
        """The object or the objects of the array that stands here, behind which it goes if all is plain.

        None: it is to be read part by part.
        """
        known = self._json.at_hand()
        if known is None or type(known[0]) is not kind:
            return None
        value, end = known
        objects: list[dict[str, object]] = value if type(value) is list else [value]
        if any(type(one) is not dict for one in objects):
            return None
        if further := self._inner[level:]:
            parted = [self._parted(one, level) for one in objects]
            # No key of an inner array stands there again, what is said first being lost.
            if -1 in parted or sum(parted) != self._json.keys(chain.from_iterable(further), end):
                return None
        self._json.take(end)
        return objects

    def _parted(self, value: dict[str, object], level: int) -> int:
        """Put `Elements` for the inner arrays of an object in one line; how many keys of such there are.

        -1 where they hold what is no object.
        """
        many = 0
        for key in self._inner[level] & value.keys():
            many += 1
            listed = value[key]
            if type(listed) is list:
                if any(type(one) is not dict for one in listed):
                    return -1
                value[key] = Elements(listed, self._json.line)
                further = [self._parted(one, level + 1) for one in listed] if self._inner[level + 1 :] else []
                if -1 in further:
                    return -1
                many += sum(further)
        return many

    def _members(self) -> Iterator[str]:
        """The keys of an object, each when its value is to be read."""
        begun = self._json.line
        self._json.step()
        while (sign := self._json.sign()) != "}":
            try:
                key = self._json.value() if sign == '"' else None
            except Fault:
                key = None
            if type(key) is not str or self._json.sign() != ":":
                self._break("not JSON" if self._json.sign() else _UNENDED, begun)
                return
            self._json.step()
            yield key
            if self._broken:
                return
            sign = self._json.sign()
            if sign == ",":
                self._json.step()
            elif sign != "}":
                detail = "not JSON: `,` or `}` is expected" if sign else _UNENDED
                self._break(detail, self._json.line if sign else begun)
                return
        self._json.step()

    def _member(self, found: dict[str, object], key: str, level: int) -> bool:
        """Read the value of a key of a unit, or so deep inside of one; whether it could be read.

        Where the key of an inner array stands there again, the elements of both are read.
        """
        known = found.get(key)
        if level < len(self._inner) and key in self._inner[level] and self._json.sign() == "[":
            elements = found[key] = known if isinstance(known, Elements) else Elements()
            for unit in self._array(level + 1):
                elements.take([unit.value], [unit.line])
            return True
        value = self._value_or_fault()
        if value is _FAULTY:
            return False
        if not isinstance(known, Elements):
            found[key] = value
        return True

    def _value_or_fault(self) -> object:
        """The value that stands here, or `_FAULTY`; then it is reported and passed over."""
        try:
            return self._json.value()
        except Fault as fault:
            try:
                self._bad(str(fault), fault.line, self._json.pass_over())
            except Lost as lost:
                self._break(str(lost), lost.line, lost.marks)
            return _FAULTY

    # -- faults ----------------------------------------------------------------------------------------

    def _bad(self, message: str, line: int, marks: int = 0) -> None:
        lost = self._each * max(1, marks)
        self._report.add("bad-line", message, file=self._file, line=line, lost=lost)

    def _break(self, message: str, line: int, marks: int = 0) -> None:
        """The structure is lost: pass all over up to a line that begins a document, and say so."""
        self._broken = True
        self._bad(message, line, marks + self._json.to_document())


# -- a place in the text ---------------------------------------------------------------------------------

_decode_value = JSONDecoder(parse_constant=str).raw_decode  # NaN and Infinity are no numbers of JSON
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

    def at_hand(self) -> tuple[Any, int] | None:
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
