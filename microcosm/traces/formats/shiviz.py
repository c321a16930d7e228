r"""Text logs with a vector time at every event: ShiViz, TSViz, GoVector.

A record is a process, its clock in JSON, and a text. Three layouts need no pattern, and are read in one pass:

    event first             clock first             one line
    Sending a request       client {"client": 2}    [INFO] [app/client] {"client": 2} Sending a request
    client {"client": 2}    Sending a request

The first two are ShiViz's and GoVector's, which may put a time in digits before the process. The third is how
Akka's logger puts it: there the process is the last word before the clock (or the last part of a path there)
and must be one of its entries. Every line that is a process and a clock is an event, whether it has a text or
not. The layout that leaves the least text over is taken. Any other is described by a regular expression with
the groups `host`, `clock` and `event`, given by the user or in the first line of the file; the second line
then holds the expression of the lines between executions, and may be blank. Further groups become attributes.
Akka's records are read without a pattern; with one it would be

    /(?<host>[^\]/]+)\] (?<clock>{.*?}) (?<event>.*)

Such a log has no message names: receptions show in the clocks. An event's position in its process is
its own clock component wherever that is free. Text that is no record is reported, never dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from microcosm.errors import TextError, TraceError
from microcosm.traces.event import TraceEvent, as_clock, writable
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines
from microcosm.traces.text.records import (
    SPAN,
    USUAL,
    Boundary,
    Delimiter,
    Item,
    Left,
    Record,
    Unread,
    clock_of,
    compiled,
    matched,
    record_pattern,
)

NAME = "shiviz"

# -- layouts ---------------------------------------------------------------------------------------------

_BRACES = 8
"""So many braces in a line are tried as the beginning of its clock."""

_CLOCK = re.compile(r'\{\s*\\*"[^"]*"\s*:\s*-?\d')
_decode_at = json.JSONDecoder().raw_decode

Shape = Callable[[Iterator[tuple[int, str]], Delimiter], Iterator[Item]]
"""How lines become records: a layout, or a pattern."""


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


_TIMED = r"^(?<timestamp>\d+) (?<host>\S+) (?<clock>{.*})(?:\n(?!\d+ \S+ {)(?<event>.*))?"
"""Records with the clock first as GoVector writes them where it is to say the time."""

SHAPES: tuple[Shape, ...] = (event_first, clock_first, one_line, partial(matched, record_pattern(_TIMED, "")))
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


# -- files -----------------------------------------------------------------------------------------------

EXAMPLE = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
"""The pattern of ShiViz's own logs, shown where one must be given."""

_KNOWN: dict[str, Shape] = {EXAMPLE: event_first, r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)": clock_first}
_SEEN = 2000
"""Lines by which the layout is told."""
_SEEN_CHARACTERS = 4 << 20


def detects(head: str, path: str) -> int:
    """2 where the first line is a pattern, 1 where any line holds a clock behind something else."""
    lines = head.split("\n")[:_SEEN]
    if _is_header(lines[0]):
        return 2
    return int(any(has_clock(line) and not line.lstrip().startswith("{") for line in lines))


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file in the order of its lines; raises `TraceError` when it has none.

    Memory: constant but for the names of processes and the holes of their positions.
    """
    return _Log(file, report, options).events(_items(iter(stream), file, options.pattern))


def _items(lines: Iterator[tuple[int, str]], file: str, pattern: str | None) -> Iterator[Item]:
    delimiter = USUAL
    first = next(lines, None)
    if first is not None and _is_header(first[1]):
        reading = _reading(first[1].strip(), file, first[0]) if pattern is None else _reading(pattern)
        delimiter, lines = _second_line(lines, reading, delimiter, file)
        return reading(lines, delimiter)
    if first is not None:
        lines = chain((first,), lines)
    if pattern is not None:
        return _reading(pattern)(lines, delimiter)
    seen: list[tuple[int, str]] = []
    size = 0
    for number, text in lines:
        seen.append((number, text))
        size += len(text)
        if len(seen) >= _SEEN or size > _SEEN_CHARACTERS:
            break
    else:
        return likeliest(seen, delimiter, cut=False)(iter(seen), delimiter)
    return likeliest(seen, delimiter, cut=True)(chain(seen, lines), delimiter)


def _is_header(line: str) -> bool:
    return all(f"(?<{group}>" in line or f"(?P<{group}>" in line for group in ("host", "clock"))


def known(pattern: str) -> Shape | None:
    """The layout that a pattern describes, where it is one of those that need none."""
    return _KNOWN.get(pattern.replace("(?P<", "(?<"))


def _reading(pattern: str, file: str = "--pattern", line: int | None = None) -> Shape:
    return known(pattern) or partial(matched, record_pattern(pattern, file, line))


def _second_line(
    lines: Iterator[tuple[int, str]], reading: Shape, usual: Delimiter, file: str
) -> tuple[Delimiter, Iterator[tuple[int, str]]]:
    """What delimits executions by the second line of a file with a header, and the lines after it.

    The line is a delimiter unless it is blank or begins a record or an execution itself.
    """
    second = next(lines, None)
    if second is None or not second[1].strip():
        return usual, lines
    number, text = second
    named = "(?<trace>" in text or "(?P<trace>" in text
    ahead = [second, *islice(lines, SPAN)]
    begun = next(iter(reading(iter(ahead), usual)), None)
    if not named and begun is not None and begun.line == number and not isinstance(begun, Left):
        return usual, chain(ahead, lines)
    try:
        return Delimiter(compiled(text.strip(), file, number), explicit=True), chain(ahead[1:], lines)
    except TextError:
        if named:
            raise
        return usual, chain(ahead, lines)


class _Log:
    """One file on its way from records to events."""

    def __init__(self, file: str, report: Report, options: Options) -> None:
        self._file = file
        self._report = report
        self._options = options
        self._trace: str | None = None
        self._highest: dict[tuple[str | None, str], int] = {}
        self._records = 0
        self._between = Unread(file, report)

    def events(self, items: Iterable[Item]) -> Iterator[TraceEvent]:
        for item in items:
            if isinstance(item, Left):
                self._left(item)
                continue
            self._between.end()
            if isinstance(item, Boundary):
                self._trace = self._options.begin(item.name)
                continue
            self._records += 1
            self._options.begun = self._options.begun or 1
            if isinstance(item, Record):
                yield self._event(item)
            else:
                self._add(item.kind, item.message, item.line, lost=1, lines=item.lines)
        self._between.end()
        if not self._records and self._between.first is not None:
            what = "there is no" if self._options.pattern is None else "the pattern matches no"
            hint = f"Describe a record with --pattern, for example --pattern '{EXAMPLE}'"
            raise TraceError(
                f"{what} record in the whole text", file=self._file, line=self._between.first, hint=hint
            )

    def _event(self, record: Record) -> TraceEvent:
        host, trace = record.host, self._trace
        own = record.clock.get(host, 0)
        highest = self._highest.get((trace, host), 0)
        if own < highest:
            self._add("line-order", f"{host}: its event {own} stands after its event {highest}", record.line)
        else:
            self._highest[trace, host] = own
        if record.bare:
            self._add("no-text", f"{host}: an event without a text", record.line)
        seq = self._options.positions[trace, host].append(own)
        return TraceEvent(
            host,
            seq,
            clock=record.clock,
            label=record.label,
            attributes=record.attributes,
            trace=trace,
            file=self._file,
            line=record.line,
            numbered=True,
        )

    def _left(self, item: Left) -> None:
        if not item.text or item.text.isspace():
            return
        if damaged_clock_line(item.text):
            self._between.end()
            self._records += 1
            self._add("bad-clock", "the vector time cannot be read", item.line, lost=1, lines=1)
        else:
            self._between.add(item.line, item.text)

    def _add(self, kind: str, message: str, line: int, lost: int = 0, lines: int = 0) -> None:
        self._report.add(kind, message, file=self._file, line=line, lost=lost, lines=lines)
