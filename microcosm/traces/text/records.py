"""What a text log is made of (records, other lines, boundaries), and records by a regular expression.

The user gives one, as for ShiViz: it has JavaScript groups `(?<host>…)` and may span lines; with a group
`clock` its records are those of ShiViz, without one a plain log's. The text is gone through in windows of
lines, so memory is bounded; a record may span `SPAN` of them (fewer where they are very long). Records begin
lines, unless the first window in which there is any has them elsewhere only: then they may stand anywhere,
several in a line. Where none is given, one can be guessed that reads the first line.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, starmap
from typing import NamedTuple

from microcosm.errors import TextError
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


class BadRecord(NamedTuple):
    """A record of `lines` lines that is no event: the kind of irregularity, and why."""

    line: int
    kind: str
    message: str
    lines: int = 1


class Left(NamedTuple):
    """A line that belongs to no record; it may be blank."""

    line: int
    text: str


class Boundary(NamedTuple):
    """A line that begins another execution, which it may name."""

    line: int
    name: str | None


Item = Record | BadRecord | Left | Boundary


_BETWEEN = re.compile(r"\s*(?:={2,}+\s*+(?P<trace>[^=\s](?:.*[^=\s])?)?\s*={2,}|-{2,}|={3,})\s*")


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


USUAL = Delimiter(re.compile(r"^=== (?P<trace>.*) ===$"), explicit=False)
"""What stands between executions where nobody says what does."""


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


class Unread:
    """Lines of a file that belong to no record, told of run by run; comments apart, which are none."""

    def __init__(self, file: str, report: Report) -> None:
        self._file = file
        self._report = report
        self._kind = ""
        self._first = self._many = 0
        self.first: int | None = None
        """The first line of all."""

    def add(self, line: int, text: str) -> bool:
        """Take in the next line of a run, which is not blank. Whether it is no comment."""
        kind = "comment" if text.lstrip().startswith(_COMMENT) else "unparsed-text"
        self.first = self.first or line
        if kind != self._kind:
            self.end()
        self._kind, self._first = kind, self._first or line
        self._many += 1
        return kind != "comment"

    def end(self) -> None:
        """What follows is none of the run."""
        if self._many:
            what = "a line" if self._many == 1 else f"{self._many:,} lines"
            one, more = ("is a comment", "are comments") if self._kind == "comment" else _NO_RECORD
            detail = f"{what} {one if self._many == 1 else more}"
            self._report.add(self._kind, detail, file=self._file, line=self._first, lines=self._many)
            self._first = self._many = 0


_COMMENT = ("#", "//")
_NO_RECORD = "belongs to no record", "belong to no record"


# -- patterns --------------------------------------------------------------------------------------------

SPAN = 100
"""Lines that a record may span."""

_WINDOW = 1000
_WINDOW_CHARACTERS = 4 << 20
_FEWEST = 8
"""Lines that are looked at together however long they are."""
_OWN = ("host", "clock", "event")
PLAIN_GROUPS = ("host", "process", "event", "message", "to", "kind", "seq", "time")
"""What the groups of a pattern without a clock mean; any other group is an attribute."""


def compiled(pattern: str, file: str, line: int | None = None) -> re.Pattern[str]:
    r"""A regular expression in JavaScript's or Python's notation, `^` and `$` at the ends of lines.

    Raises `TextError` with a caret; `file` and `line` say where the expression stands.

    >>> dict(compiled(r"(?<host>\S*) (?<clock>{.*})", "--pattern").groupindex)
    {'host': 1, 'clock': 2}
    """
    python, origins = _as_python(pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of what JavaScript takes as it stands
            return re.compile(python, re.MULTILINE)
    except re.error as error:
        at = None if error.pos is None else origins[min(error.pos, len(origins) - 1)]
        raise _bad(pattern, error.msg, at, file, line) from None
    except (OverflowError, RecursionError) as error:
        raise _bad(pattern, str(error), None, file, line) from None


def record_pattern(pattern: str, file: str, line: int | None = None) -> re.Pattern[str]:
    """The expression for the records of a log, which must have the groups `host` and `clock`.

    Raises `TextError`, also where one is missing.
    """
    expression = compiled(pattern, file, line)
    missing = [name for name in ("host", "clock") if name not in expression.groupindex]
    if missing:
        groups = " and ".join(f"(?<{name}>…)" for name in missing)
        raise _bad(pattern, f"the pattern has no group {groups}", None, file, line)
    return expression


def plain_pattern(pattern: str) -> re.Pattern[str]:
    """The expression for the records of a log without clocks, which must have one of the groups of an event.

    Raises `TextError`, also where it has none, and where it has `host` and `process`.
    """
    expression = compiled(pattern, "--pattern")
    if expression.groupindex.keys().isdisjoint(PLAIN_GROUPS):
        groups = ", ".join(f"(?<{name}>…)" for name in PLAIN_GROUPS)
        raise _bad(pattern, f"the pattern has none of the groups {groups}", None, "--pattern", None)
    if {"host", "process"} <= expression.groupindex.keys():
        raise _bad(pattern, "`host` and `process` are the same thing: one of them", None, "--pattern", None)
    return expression


def clocked_record(found: re.Match[str], line: int, lines: int) -> Item:
    """The record of a match, which has a process and a clock."""
    groups = found.groupdict()
    host, label = groups["host"], groups.get("event")
    if not host or not writable(host):
        return BadRecord(line, "bad-host", "the record names no process", lines)
    clock = clock_of(groups["clock"] or "")
    if clock is None:
        return BadRecord(line, "bad-clock", f"{host}: the vector time cannot be read", lines)
    more = {name: value for name, value in groups.items() if name not in _OWN and value is not None}
    return Record(line, host, clock, label or "", not label and "event" in groups, more)


def plain_record(found: re.Match[str], line: int, lines: int) -> Item:
    """The record of a match without a clock: the attributes have what its groups matched.

    It is `bare` where its group `event` is empty though the line goes on.
    """
    groups = {name: value for name, value in found.groupdict().items() if value is not None}
    label = groups.get("event", found[0].strip("\n"))
    bare = not label and not found.string.startswith("\n", found.end())
    return Record(line, groups.get("host", groups.get("process", "")), {}, label, bare, groups)


def matched(
    pattern: re.Pattern[str],
    lines: Iterator[tuple[int, str]],
    delimiter: Delimiter,
    record: Callable[[re.Match[str], int, int], Item] = clocked_record,
) -> Iterator[Item]:
    """What the lines are by a record pattern. Cost: that of the expression, tried once a line."""
    windows = _Windows(pattern, record)
    for line in lines:
        if (boundary := delimiter.at(*line)) is not None:
            yield from windows.through(final=True)
            yield boundary
        elif windows.fill(line):
            yield from windows.through(final=False)
    yield from windows.through(final=True)


class _Windows:
    """The lines at hand, and how the pattern is tried on them."""

    def __init__(self, pattern: re.Pattern[str], record: Callable[[re.Match[str], int, int], Item]) -> None:
        self._pattern = pattern
        self._record = record
        self._anchored: bool | None = None
        """Whether records begin lines; known with the first record."""
        self._lines: list[tuple[int, str]] = []
        self._size = 0

    def fill(self, line: tuple[int, str]) -> bool:
        """Put a line behind the others; whether there are enough."""
        self._lines.append(line)
        self._size += len(line[1]) + 1
        count = len(self._lines)
        return count >= _WINDOW or (self._size > _WINDOW_CHARACTERS and count >= _FEWEST)

    def through(self, final: bool) -> Iterator[Item]:
        """What the lines at hand are, but for the last `SPAN` ones when more may come."""
        lines, count = self._lines, len(self._lines)
        limit = count if final else max(count - SPAN, count // 2)
        text = "".join([f"{line}\n" for _, line in lines])
        starts = list(accumulate((len(line) + 1 for _, line in lines), initial=0))
        at = offset = 0
        while offset < starts[limit]:
            found = self._next(text, starts, at, offset, limit)
            if found is None:
                break
            first = bisect_right(starts, found.start()) - 1
            yield from starmap(Left, lines[at:first])
            at, offset = bisect_left(starts, found.end()), found.end()
            yield self._record(found, lines[first][0], at - first)
        yield from starmap(Left, lines[at:limit])
        del lines[: max(at, limit)]
        self._size = sum(len(line) + 1 for _, line in lines)

    def _next(self, text: str, starts: list[int], at: int, offset: int, limit: int) -> re.Match[str] | None:
        """The first record that begins at line `at` (or, in a line, at `offset`) or later, before `limit`."""
        if self._anchored is not False:
            match = self._pattern.match
            for start in starts[at:limit]:
                found = match(text, start)
                if found and found.end() > start:
                    self._anchored = True
                    return found
            if self._anchored:
                return None
        found = next((one for one in self._pattern.finditer(text, offset) if one.end() > one.start()), None)
        if found is None or found.start() >= starts[limit]:
            return None
        self._anchored = False
        return found


def _as_python(pattern: str) -> tuple[str, list[int]]:
    r"""The expression in Python's notation, and where each of its characters (and the end) came from."""
    out: list[str] = []
    origins: list[int] = []
    in_class = False
    at = 0
    while at < len(pattern):
        piece = pattern[at]
        width = 1
        if piece == "\\":
            name = re.compile(r"\\k<(\w+)>").match(pattern, at)
            width = name.end() - at if name and not in_class else 2
            piece = f"(?P={name[1]})" if name and not in_class else pattern[at : at + 2]
        elif in_class:
            in_class = piece != "]"
        elif piece == "[":
            in_class = True
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            piece, width = "(?P<", 3
        out.append(piece)
        origins.extend(min(at + k, at + width - 1) for k in range(len(piece)))
        at += width
    return "".join(out), [*origins, len(pattern)]


def _bad(pattern: str, message: str, at: int | None, file: str, line: int | None) -> TextError:
    hint = r"For example: (?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
    column = None if at is None else at + 1
    return TextError(message, file=file, line=line, column=column, text=pattern, hint=hint)


# -- guesses ---------------------------------------------------------------------------------------------

_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|SEVERE"
_PIECES = [
    (name, re.compile(rf"{piece}(?=\s|$)"))
    for name, piece in (
        ("time", r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?( ?(Z|[+-]\d\d:?\d\d))?\]?"),
        ("time", r"\[?\d\d:\d\d:\d\d([.,]\d+)?\]?"),
        ("time", r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(\.\d+)?"),
        ("time", r"\[?\d{9,19}(\.\d+)?\]?"),
        ("time", r"\[\s*\d+\.\d+\]"),
        ("level", rf"[\[(<]?(?i:{_LEVELS})[\])>]?:?"),
        ("thread", r"\((Thread-\S*|MainThread|main)\)"),
        ("host", r"\[[A-Za-z][\w.@/#:-]*\]:?"),
        ("host", r"[A-Za-z][\w.@/#-]*(\[\d+\])?[:>|]"),
    )
]
"""What the beginnings of lines of logs are made of, each once."""
_BRACKETS = {"[": "]", "(": ")", "<": ">"}


def guessed(head: str) -> str:
    r"""A pattern that reads the first line that is not blank: its time, level and process, and the rest.

    The first word of the rest is taken for the process where lines begin with few such words.

    >>> guessed("12:00:01 alice: got the lease\n"), guessed("alice got the lease\n"), guessed("\n")
    ('(?<time>\\S+) (?<host>[^:\\s]+): (?<event>.*)', '(?<host>\\S+) (?<event>.*)', '(?<event>.*)')
    """
    line = next((line for line in head.split("\n") if line.strip()), "")
    rest, found, known = line.strip(), list[str](), set[str]()
    indent = r"\s*" if line[:1].isspace() else ""
    while True:
        for name, piece in _PIECES:
            shown = piece.match(rest) if name not in known else None
            if shown is not None:
                found.append(_group(name, shown[0]))
                known.add(name)
                gap = re.match(r"\s*", rest[shown.end() :])
                assert gap is not None
                found.append(" " if gap[0] in (" ", "") else r"\s+")
                rest = rest[shown.end() + gap.end() :]
                break
        else:
            break
    if "host" not in known and re.match(r"[A-Za-z][\w.@/#-]*\s+\S", rest):
        begun = compiled("".join(("^", indent, *found, r"(?<host>\S+)")), "")
        firsts = [line["host"] for line in begun.finditer(head)]
        if 2 * len({*firsts}) <= len(firsts) + 1:
            found += [r"(?<host>\S+)", " " if re.match(r"\S+ \S", rest) else r"\s+"]
    return "".join((indent, *found, "(?<event>.*)"))


def _group(name: str, text: str) -> str:
    """A group that matches a text, and such as have other words."""
    if (close := _BRACKETS.get(text[0])) is not None and close in text:
        end = text[text.rindex(close) + 1 :]
        return rf"\{text[0]}(?<{name}>[^{re.escape(close)}]+)\{close}{re.escape(end)}"
    if name == "host":
        return rf"(?<host>[^{re.escape(text[-1])}\s]+){re.escape(text[-1])}"
    if name == "level":
        return rf"(?<level>\w+){':' if text.endswith(':') else ''}"
    words = len(text.split())
    gaps = r"\s+" if re.search(r"\s\s", text) else " "
    return f"(?<{name}>{gaps.join([chr(92) + 'S+'] * words)})"
