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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from microcosm.traces.report import Report
from microcosm.traces.text.json_text import Fault, JsonCursor, Lost
from microcosm.traces.text.lines import Lines

_FAULTY = object()
_UNENDED = "half-written: the document does not end"


class Elements(list[dict[str, object]]):
    """The objects of an array that could be read, and the line of each: of its mark, where it has one."""

    def __init__(self, objects: Iterable[dict[str, object]] = (), line: int = 0) -> None:
        super().__init__(objects)
        self.lines = [line] * len(self)


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
) -> Iterator[Unit]:
    """The objects of a stream, as said above; what is no JSON or no object is reported as `bad-line`.

    `inner` names the arrays that are read element by element, level by level below the units; in their place
    stand `Elements`. `mark` is a key that each event or span has once: by it those are counted that cannot be
    read, `each` so many events. Memory: the largest unit; cost: linear in the text, whatever its layout.
    """
    return _Documents(stream, keys, file, report, inner, mark, each).units()


def marks_in(value: object, mark: str) -> int:
    """How many events or spans a value may hold that is none of what was expected.

    >>> marks_in({"scope": {}, "sqans": [{"spanId": "a"}, {"spanId": "b"}]}, "spanId")
    2
    """
    return json.dumps(value).count(f'"{mark}"')


class _Documents:
    """The documents of a stream, read from left to right; `_broken` says that the structure was lost."""

    def __init__(
        self,
        stream: Lines,
        keys: frozenset[str],
        file: str,
        report: Report,
        inner: Sequence[frozenset[str]],
        mark: str,
        each: int,
    ) -> None:
        self._json = JsonCursor(stream.pieces(), mark)  # no quotes, of which one may be what is damaged
        self._keys = keys
        self._file = file
        self._report = report
        self._inner = inner
        self._each = each if mark else 1
        self._broken = False

    def units(self) -> Iterator[Unit]:
        """All units."""
        while sign := self._json.sign():
            if sign == "{":
                yield from self._top()
            elif sign == "[":
                yield from self._array(0, sure=False)
            elif sign in ",]}":  # left over from where the structure was lost
                self._json.step()
            else:
                self._break("not JSON", self._json.line)
            self._broken = False

    def _top(self) -> Iterator[Unit]:
        """An object at the top: the elements under its keys, or else the object itself."""
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
            elif key in self._keys and sign == "{":
                apart = True
                begun = self._json.line
                if (value := self._element(0)) is not None:
                    yield Unit(value, begun)
            else:
                faulty |= not self._member(found, key, 0)
        whole = not (faulty or self._broken)
        if not apart and (whole or (found and self._inner)):
            yield Unit(found, line)

    def _array(self, level: int, sure: bool = True) -> Iterator[Unit]:
        """The objects of an array whose elements are units (level 0) or stand so deep inside of one.

        `sure`: their places mean something.
        """
        begun = self._json.line
        self._json.step()
        place = 0
        while (sign := self._json.sign()) != "]":
            if not sign:
                self._break(_UNENDED, begun)
                return
            line = self._json.line
            sure = sure and sign != ","
            if sign == "{":
                element = self._element(level)
                if element is not None:
                    yield Unit(element, self._json.named(line) if level else line, place if sure else -1)
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
        known = self._json.at_hand()
        if known is not None and type(known[0]) is dict:
            inner = chain.from_iterable(self._inner[level:])
            # No key of an inner array stands there again, what is said first being lost.
            if self._parted(known[0], level) == self._json.keys(inner, known[1]):
                self._json.take(known[1])
                return known[0]
        found: dict[str, object] = {}
        for key in self._members():
            self._member(found, key, level)
        return found

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
                said = "not JSON: `,` or `}` is expected" if sign else _UNENDED
                self._break(said, self._json.line if sign else begun)
                return
        self._json.step()

    def _member(self, found: dict[str, object], key: str, level: int) -> bool:
        """Read the value of a key of a unit, or so deep inside of one; whether it could be read."""
        if level < len(self._inner) and key in self._inner[level] and self._json.sign() == "[":
            elements = found[key] = Elements()
            if level + 1 == len(self._inner) and (known := self._json.at_hand()) is not None:
                value, end = known
                if type(value) is list and all(type(one) is dict for one in value):
                    found[key] = Elements(value, self._json.line)
                    self._json.take(end)
                    return True
            for unit in self._array(level + 1):
                elements.append(unit.value)
                elements.lines.append(unit.line)
            return True
        value = self._value_or_fault()
        if value is _FAULTY:
            return False
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
