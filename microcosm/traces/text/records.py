"""What a text log is made of, whatever its layout: records, lines that are none, and boundaries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from microcosm.traces.event import NOTHING, as_clock, writable


@dataclass(frozen=True, slots=True)
class Record:
    """An event as the text shows it: `line` is where it begins; `bare` says that it has no text."""

    line: int
    host: str
    clock: dict[str, int]
    label: str
    bare: bool = False
    attributes: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record of `lines` lines that is no event: the kind of irregularity, and why."""

    line: int
    kind: str
    message: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Left:
    """A line that belongs to no record; it may be blank."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """A line that begins another execution, which it may name."""

    line: int
    name: str | None


Item = Record | BadRecord | Left | Boundary


_BETWEEN = re.compile(r"\s*(?:={2,}\s*(?P<trace>[^=\s](?:.*[^=\s])?)?\s*={2,}|-{2,}|={3,})\s*")


def between_executions(line: int, text: str) -> Boundary | None:
    """The boundary that a line of dashes or of `=== a name ===` is, or None.

    >>> between_executions(3, "=== run 2 ==="), between_executions(4, "--"), between_executions(5, "a -- b")
    (Boundary(line=3, name='run 2'), Boundary(line=4, name=None), None)
    """
    found = _BETWEEN.fullmatch(text)
    return None if found is None else Boundary(line, found["trace"])


class Delimiter:
    """What tells a boundary: a regular expression, found anywhere in a line, that may have a group `trace`.

    An `explicit` one was given by the log and outranks records; the usual one only reads lines that
    belong to none.
    """

    def __init__(self, pattern: re.Pattern[str], explicit: bool) -> None:
        self._search = pattern.search
        self._named = "trace" in pattern.groupindex
        self.explicit = explicit

    def at(self, line: int, text: str) -> Boundary | None:
        """The boundary that a line is, or None."""
        found = self._search(text) if text else None
        if found is None:
            return None
        return Boundary(line, (found["trace"] or "").strip() or None if self._named else None)


def clock_of(text: str) -> dict[str, int] | None:
    r"""The vector time that a text spells in JSON, perhaps escaped once more; None if it is none.

    >>> clock_of('{"a": 1}'), clock_of(r'{\"a\": 1}'), clock_of(r'"{\"a\": 1}"'), clock_of("{a: 1}")
    ({'a': 1}, {'a': 1}, {'a': 1}, None)
    """
    value = _json(text)
    if value is None and '\\"' in text:
        value = _json(f'"{text}"')
    if type(value) is str:
        value = _json(value)
    clock = as_clock(value)
    if clock is None or ("\\u" in text and not all(map(writable, clock))):
        return None
    return clock


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
