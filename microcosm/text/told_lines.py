"""Neighbouring lines of messages, and of what a log says of its events, taken apart column by column.

A log of a million events is as many of these lines in its microcosm. Regular expressions find how far lines
without receivers and attributes go on, and such a run, of up to a thousand lines, is read at once, at a fifth
of the price of lines read alone. Whatever is not plain enough is left to be read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from microcosm.givens.event_table import NOTHING, EventTable, Repeated
from microcosm.text.event_line import KINDS
from microcosm.text.names import KEYWORDS
from microcosm.text.words import PLAIN

_TEXT = r'"[^"\\\x00-\x1f\ud800-\udfff]*+"'
"""A text in double quotes that stands for itself."""

_NAMED = rf"(?:{PLAIN}|(?!\"\"){_TEXT})"
_MESSAGE = rf"(?:send|receive) {_NAMED} = {_NAMED} {_NAMED}\n"
_EVENT = (
    rf"event ({_NAMED})(?: process ({PLAIN}|{_TEXT}))?(?: seq ([0-9]{{1,18}}))?(?: kind ({'|'.join(KINDS)}))?"
    rf"(?: message ({PLAIN}|{_TEXT}))?(?: ({_TEXT}))?(?: at ({PLAIN}|{_TEXT}))?\n"
)
_message_lines, _event_lines = (re.compile(f"(?:{line}){{2,1000}}").match for line in (_MESSAGE, _EVENT))
_messages = re.compile(rf"(send|receive) ({_NAMED}) = ({_NAMED}) ({_NAMED})\n").findall
_events = re.compile(_EVENT).findall

_KINDS = {kind: kind for kind in ("send", "receive")}
"""One string each for very many lines."""


def read_messages(text: str, at: int) -> tuple[int, list[Sequence[str]]] | None:
    r"""Where the run of messages without receivers that begins at `at` ends, and its columns; None for none.

    >>> read_messages('send a = m p\nreceive b = m "q 1"\n', 0)
    (33, [['send', 'receive'], ['a', 'b'], ['m', 'm'], ['p', 'q 1']])
    """
    if (found := _message_lines(text, at)) is None:
        return None
    lines = found.group()
    words: list[str] = lines.split()
    columns: Sequence[Sequence[str]] = words[0::5], words[1::5], words[3::5], words[4::5]
    quoted = '"' in lines
    if quoted:
        columns = [*zip(*_messages(lines), strict=True)]
    if not all(map(KEYWORDS.isdisjoint, columns[1:])):
        return None
    kinds, events, messages, processes = map(_texts, columns) if quoted else columns
    once = dict(zip(processes, processes, strict=True))
    processes = [*map(once.__getitem__, processes)]
    return found.end(), [[*map(_KINDS.__getitem__, kinds)], events, messages, processes]


def read_events(text: str, at: int) -> tuple[int, EventTable] | None:
    """Where the run of `event` lines without attributes that begins at `at` ends, and what they say."""
    if (found := _event_lines(text, at)) is None:
        return None
    names, processes, seqs, kinds, messages, labels, places = zip(*_events(found.group()), strict=True)
    files, colons, lines = zip(*(place.rpartition(":") for place in _texts(places)), strict=True)
    placed = [*map(bool, places)]
    if [*map(bool, colons)] != placed or [*map(_is_count, lines)] != placed or not KEYWORDS.isdisjoint(names):
        return None
    many = len(names)
    nothing, no_time = Repeated(NOTHING, many), Repeated(None, many)
    once: dict[str, str] = {}
    return found.end(), EventTable(
        _texts(names),
        [*map(once.setdefault, told := _texts(processes), told)],
        [int(seq or 0) for seq in seqs],
        kinds,
        _if_told(messages),
        _if_told(labels),
        no_time,
        nothing,
        no_time,
        [*map(once.setdefault, files, files)],
        [int(line or 0) for line in lines],
    )


def _is_count(digits: str) -> bool:
    return digits.isascii() and digits.isdecimal() and len(digits) < 20


def _texts(words: Sequence[str]) -> Sequence[str]:
    """What words stand for, plain or quoted."""
    return [word[1:-1] if word[:1] == '"' else word for word in words]


def _if_told(words: Sequence[str]) -> Sequence[str | None]:
    """The same, and None for what is not there."""
    return [text if word else None for word, text in zip(words, _texts(words), strict=True)]
