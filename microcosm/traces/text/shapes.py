"""The layouts of text logs that need no pattern; each in one pass, its cost linear in the text.

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
from collections.abc import Callable, Iterator

from microcosm.traces.event import as_clock, writable
from microcosm.traces.text.records import Boundary, Delimiter, Item, Left, Record, clock_of

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
