"""JSON documents larger than memory: their parts, one at a time.

A file may hold one document or several, one a line or spread over lines. What is read at a time is an
element of an array at the top, an element of an array under one of some keys of an object at the top,
or else a whole object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from microcosm.traces.event import writable
from microcosm.traces.lines import Lines
from microcosm.traces.report import Report

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_BRACKET = re.compile(r"[{}\[\]]")
_OVER = -1
"""The parts of a document have been read; the rest of it is of no interest."""


@dataclass(slots=True)
class Unit:
    """A part of a document, the line it begins in, its text, to find lines in, and its place in its array."""

    value: dict[str, object]
    line: int
    text: str
    place: int = 0
    _at: int = 0

    def line_of(self, key: str, value: object) -> int:
        """The line of the next `"key": value`, for parts asked for in their order; else that of the unit."""
        if "\n" not in self.text:
            return self.line
        found = re.compile(rf'"{key}"\s*:\s*{re.escape(json.dumps(value))}').search(self.text, self._at)
        if found is None:
            return self.line
        self.line += self.text.count("\n", self._at, found.start())
        self._at = found.start()
        return self.line


def units(stream: Lines, keys: frozenset[str], file: str, report: Report) -> Iterator[Unit]:
    """The objects of a stream, as said above; what is no JSON or no object is reported as `bad-line`.

    Memory: the largest of them.
    """
    for line, text, place in _texts(stream, keys, file, report):
        try:
            value = json.loads(text)
        except ValueError as error:
            at = line + getattr(error, "lineno", 1) - 1
            _bad(report, f"not JSON: {getattr(error, 'msg', error)}", file, at)
            continue
        except RecursionError:
            _bad(report, "nested too deeply", file, line)
            continue
        if type(value) is not dict:
            _bad(report, "a JSON object is expected", file, line)
        elif "\\u" in text and not writable(json.dumps(value, ensure_ascii=False)):
            _bad(report, "half of a surrogate pair is no text", file, line)
        else:
            yield Unit(value, line, text, place)


def _bad(report: Report, message: str, file: str, line: int) -> None:
    report.add("bad-line", message, file=file, line=line, lost=1)


def _texts(stream: Lines, keys: frozenset[str], file: str, report: Report) -> Iterator[tuple[int, str, int]]:
    """The text of each unit with its first line and its place, told by brackets alone.

    Units begin at the depth `base`: 0 for whole objects, 1 in an array at the top or for an object
    under a key, 2 in an array under a key.
    """
    depth = base = number = place = 0
    first: int | None = None
    parts: list[str] = []
    key = ""
    in_array = False
    for number, text in stream:
        if first is not None and len(parts) == 1 and text.startswith("{") and not _goes_on(parts[0]):
            _bad(report, "half-written: another object begins in the next line", file, first)
            depth, first, parts = 0, None, []
        if not depth and text.strip() and text.lstrip()[0] not in "{[":
            _bad(report, "not JSON", file, number)
            continue
        begin = 0
        if depth > 1 and _BRACKET.search(text) is None:
            if first is not None:
                parts.append(text)
            continue
        for found in _TOKEN.finditer(text):
            token = found[0]
            if token[0] == '"':
                key = token[1:-1] if depth == 1 else key
            elif token in "{[":
                if depth == 0:
                    place = 0
                    in_array = token == "["
                    base = int(in_array)
                elif depth == 1 and not in_array and key in keys:
                    base, first, parts = (2 if token == "[" else 1), None, []
                    place = 0
                if depth == base:
                    first, begin = number, found.start()
                depth += 1
            elif depth:
                depth -= 1
                if first is not None and depth == base:
                    yield first, "\n".join((*parts, text[begin : found.end()])), place
                    first, parts = None, []
                    place += 1
                if not in_array and 1 == depth <= base:
                    base = _OVER
        if first is not None:
            parts.append(text[begin:])
    if depth:
        _bad(report, "half-written: the document does not end", file, first or number)


def _goes_on(text: str) -> bool:
    """Whether a line of JSON may well go on in the next one."""
    return text.rstrip()[-1:] in ("", "[", "{", ",", ":")
