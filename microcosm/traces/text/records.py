"""What a text log is made of (records, other lines, boundaries), and the layouts that need no pattern.

Such a layout is read in one pass, its cost linear in the text.

    event first             clock first             one line
    Sending a request       client {"client": 2}    [INFO] [app/client] {"client": 2} Sending a request
    client {"client": 2}    Sending a request

The first two are ShiViz's and GoVector's, the third is how Akka's logger puts it: there the process
is the last word before the clock (or the last part of a path there) and must be one of its entries.
Every line that is a process and a clock is an event, whether it has a text or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from microcosm.traces.event import NOTHING, as_clock, writable
from microcosm.traces.report import Report


@dataclass(unsafe_hash=True, slots=True)
class Record:
    """An event as the text shows it: `line` is where it begins; `bare` says that it has no text.

    Nothing changes one. It is not frozen, for the reason that a `TraceEvent` is not.
    """

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


_BRACES = 8
"""So many braces in a line are tried as the beginning of its clock."""

_CLOCK = re.compile(r'\{\s*\\*"[^"]*"\s*:\s*-?\d')
_decode_at = json.JSONDecoder().raw_decode

Shape = Callable[[Iterator[tuple[int, str]], Delimiter], Iterator[Item]]


def clock_line(text: str) -> tuple[str, dict[str, int]] | None:
    """The process and the clock of a line that is `process {clock}`, else None."""
    at = text.find(" ")
    if at <= 0 or not text.startswith("{", at + 1):
        return None
    host, clock = text[:at], clock_of(text[at + 1 :].rstrip())
    return None if clock is None or host.isspace() or not writable(host) else (host, clock)


def event_first(lines: Iterator[tuple[int, str]], delimiter: Delimiter) -> Iterator[Item]:
    """Records of two lines, the text before the process and its clock."""
    held: tuple[int, str] | None = None
    for number, text in lines:
        boundary = delimiter.at(number, text) if delimiter.explicit else None
        found = clock_line(text) if boundary is None else None
        if found is not None:
            if held is None:
                yield Record(number, *found, "", bare=True)
            else:
                yield Record(held[0], *found, held[1].rstrip())
            held = None
            continue
        if held is not None:
            yield _left(held, delimiter)
        held = (number, text) if boundary is None else None
        if boundary is not None:
            yield boundary
    if held is not None:
        yield _left(held, delimiter)


def clock_first(lines: Iterator[tuple[int, str]], delimiter: Delimiter) -> Iterator[Item]:
    """Records of two lines, the process and its clock before the text."""
    held: tuple[int, str, dict[str, int]] | None = None
    for number, text in lines:
        boundary = delimiter.at(number, text) if delimiter.explicit else None
        found = clock_line(text) if boundary is None else None
        if held is not None:
            bare = found is not None or boundary is not None
            yield Record(*held, "" if bare else text.rstrip(), bare)
            if not bare:
                held = None
                continue
        held = None if found is None else (number, *found)
        if boundary is not None:
            yield boundary
        elif found is None:
            yield _left((number, text), delimiter)
    if held is not None:
        yield Record(*held, "", bare=True)


def one_line(lines: Iterator[tuple[int, str]], delimiter: Delimiter) -> Iterator[Item]:
    """Records of one line, the clock in its middle; what is before the clock becomes `prefix`."""
    for number, text in lines:
        boundary = delimiter.at(number, text) if delimiter.explicit else None
        yield boundary or _inline(number, text) or _left((number, text), delimiter)


SHAPES: tuple[Shape, ...] = (event_first, clock_first, one_line)
"""In this order of preference, when the text does not tell."""


def likeliest(lines: list[tuple[int, str]], delimiter: Delimiter, cut: bool) -> Shape:
    """The shape that leaves the least text over.

    `cut` says that more lines follow, so that the last one may lack its other half.
    """

    def cost(shape: Shape) -> tuple[bool, int]:
        items = list(shape(iter(lines), delimiter))
        if cut and items and _over(items[-1]):
            items.pop()
        return not any(isinstance(item, Record) for item in items), sum(map(_over, items))

    return min(SHAPES, key=cost)


def damaged_clock_line(text: str) -> bool:
    """Whether a line begins as a process and its clock, but the clock cannot be read."""
    at = text.find(" ")
    return at > 0 and text.startswith("{", at + 1) and has_clock(text) and clock_line(text) is None


def has_clock(text: str) -> bool:
    """Whether a line holds something like a clock in JSON, perhaps escaped once more, perhaps damaged."""
    return _CLOCK.search(text) is not None


def _over(item: Item) -> bool:
    return (isinstance(item, Left) and not item.text.isspace() and item.text != "") or (
        isinstance(item, Record) and item.bare
    )


def _left(line: tuple[int, str], delimiter: Delimiter) -> Left | Boundary:
    return (None if delimiter.explicit else delimiter.at(*line)) or Left(*line)


def _inline(number: int, text: str) -> Record | None:
    at = text.find("{")
    for _ in range(_BRACES):
        if at <= 0:
            break
        words = text[:at].rsplit(None, 1)
        try:
            value, end = _decode_at(text, at)
        except (ValueError, RecursionError):
            value = None
        clock = as_clock(value)
        if words and clock and all(map(writable, clock)):
            word = words[-1].strip("[](){}<>|,;:")
            for host in (word, word.rsplit("/", 1)[-1]):
                if host in clock:
                    label = text[end:].strip()
                    return Record(number, host, clock, label, not label, {"prefix": text[:at].strip()})
        at = text.find("{", at + 1)
    return None


class Unread:
    """Lines of a file that belong to no record, told of run by run; comments apart, which are none."""

    def __init__(self, file: str, report: Report) -> None:
        self._file = file
        self._report = report
        self._kind = ""
        self._first = self._many = 0

    def add(self, line: int, text: str) -> None:
        """Take in the next line of a run, which is not blank."""
        kind = "comment" if text.lstrip().startswith(_COMMENT) else "unparsed-text"
        if kind != self._kind:
            self.end()
        self._kind, self._first = kind, self._first or line
        self._many += 1

    def end(self) -> None:
        """What follows is none of the run."""
        if self._many:
            what = "a line" if self._many == 1 else f"{self._many:,} lines"
            one, more = ("is a comment", "are comments") if self._kind == "comment" else _NO_RECORD
            said = f"{what} {one if self._many == 1 else more}"
            self._report.add(self._kind, said, file=self._file, line=self._first, lines=self._many)
            self._first = self._many = 0


_COMMENT = ("#", "//")
_NO_RECORD = "belongs to no record", "belong to no record"
