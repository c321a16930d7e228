"""Records found by a regular expression that the user gives, as for ShiViz.

The expression has JavaScript groups `(?<host>…)` and may span lines; with a group `clock` its records are
those of ShiViz, without one a plain log's. The text is gone through in windows of lines, so memory is
bounded; a record may span `SPAN` of them (fewer where they are very long). Records begin lines, unless the
first window in which there is any has them elsewhere only: then they may stand anywhere, several in a line.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from microcosm.errors import TextError
from microcosm.traces.event import writable
from microcosm.traces.text.records import BadRecord, Delimiter, Item, Left, Record, clock_of

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
    for number, text in lines:
        boundary = delimiter.at(number, text)
        if boundary is not None:
            yield from windows.through(final=True)
            yield boundary
        else:
            windows.append(number, text)
            if windows.full:
                yield from windows.through(final=False)
    yield from windows.through(final=True)


class _Windows:
    """The lines at hand, and how the pattern is tried on them."""

    def __init__(self, pattern: re.Pattern[str], record: Callable[[re.Match[str], int, int], Item]) -> None:
        self._pattern = pattern
        self._record = record
        self._anchored: bool | None = None
        """Whether records begin lines; known with the first record."""
        self._numbers: list[int] = []
        self._texts: list[str] = []
        self._size = 0

    @property
    def full(self) -> bool:
        count = len(self._texts)
        return count >= _WINDOW or (self._size > _WINDOW_CHARACTERS and count >= _FEWEST)

    def append(self, number: int, text: str) -> None:
        self._numbers.append(number)
        self._texts.append(text)
        self._size += len(text) + 1

    def through(self, final: bool) -> Iterator[Item]:
        """What the lines at hand are, but for the last `SPAN` ones when more may come."""
        count = len(self._texts)
        limit = count if final else max(count - SPAN, count // 2)
        text = "\n".join(self._texts) + "\n"
        starts = list(accumulate((len(line) + 1 for line in self._texts), initial=0))
        at = offset = 0
        while offset < starts[limit]:
            found = self._next(text, starts, at, offset, limit)
            if found is None:
                break
            first = bisect_right(starts, found.start()) - 1
            yield from self._left(at, first)
            at, offset = bisect_left(starts, found.end()), found.end()
            yield self._record(found, self._numbers[first], at - first)
        yield from self._left(at, limit)
        at = max(at, limit)
        del self._numbers[:at], self._texts[:at]
        self._size = sum(map(len, self._texts)) + len(self._texts)

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
        found = self._pattern.search(text, offset)
        while found and found.end() == found.start():
            found = self._pattern.search(text, found.end() + 1)
        if found is None or found.start() >= starts[limit]:
            return None
        self._anchored = False
        return found

    def _left(self, start: int, end: int) -> Iterator[Item]:
        yield from map(Left, self._numbers[start:end], self._texts[start:end])


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
