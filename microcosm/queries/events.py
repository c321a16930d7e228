"""Which event is meant, and which there are: by name, by the line of a log, by the words of one.

Events are looked for in the table that goes with a log (`microcosm.givens.event_table`); where there is none,
by name alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import filterfalse
from typing import Any, Protocol

from microcosm import tuning
from microcosm.errors import NotOneEvent
from microcosm.files import display_name, natural
from microcosm.givens.event_table import EventRow, EventTable
from microcosm.givens.givens import Givens
from microcosm.givens.spelling import expect_text
from microcosm.text.names import quote, string

MOST_NAMED = 10
"""So many of the events that may be meant are told."""

LABEL_SHOWN = 60
"""A label beside a name has at most so many characters."""

_PATTERN = re.compile(r"/(.+)/", re.DOTALL)
_PLACE = re.compile(r"(.+):([1-9][0-9]{0,17})", re.DOTALL)


class Named(Protocol):
    """What names events, as a microcosm does."""

    @property
    def givens(self) -> Givens: ...
    @property
    def events(self) -> list[str]: ...
    def __contains__(self, event: object, /) -> bool: ...


def event_meant(text: str, known: Named) -> str:
    """The event that is meant by its name, by `FILE:LINE`, or by `/regex/` that one event matches.

    A name comes first. A regular expression is looked for in names and labels. What looks like none of these
    is taken for a name that nothing knows yet. Raises `NotOneEvent` where several events, or none, are meant.
    Cost: constant for a name, else linear in the events.

    >>> from microcosm import Microcosm
    >>> album = Microcosm.parse('unshare < upload < "log in"')
    >>> event_meant("upload", album), event_meant("/^log/", album), event_meant("like", album)
    ('upload', 'log in', 'like')
    """
    expect_text(text)
    table = known.givens.events
    if text in known or (table is not None and text in table):
        return text
    if found := _PATTERN.fullmatch(text):
        return _only(text, matching(found[1], known), known)
    if table is not None and (found := _PLACE.fullmatch(text)):
        file, line = found[1], int(found[2])
        lines = [*_lines_of(file, table)]
        if lines:
            return _only(text, [row for row in lines if row.line == line], known, _beside(line, lines))
    return text


def nearest(name: str, known: Named) -> list[str]:
    """Up to three event names like a mistyped one, or with an execution before it, of givens and log.

    None among more than `NAMES_COMPARED` events. Cost: linear.
    """
    expect_text(name)
    table = known.givens.events
    names = list(dict.fromkeys((*known.events, *(() if table is None else table.names))))
    if len(names) > tuning.NAMES_COMPARED:
        return []
    within = [one for one in names if one.endswith(f"/{name}")]
    return within[:3] or get_close_matches(name, names, n=3)


def matching(pattern: str, known: Named) -> list[EventRow]:
    """The events whose name or label a regular expression is found in, in natural order.

    Raises `NotOneEvent` for what is no regular expression. Cost: linear in the events.
    """
    return rows_of(known, found_by(pattern))


def found_by(pattern: str) -> Callable[[EventRow], bool]:
    """Whether a regular expression is found in the words of an event, in its name, or in both together.

    Raises `NotOneEvent` for what is no regular expression. Cost: its length; of a question, that of a match.
    """
    from microcosm.text.regex import read_regex

    try:
        search = read_regex(pattern).search
    except ValueError as error:
        raise NotOneEvent(f"cannot look for /{pattern}/: {error}") from None

    def found(row: EventRow) -> bool:
        texts = (row.label, row.name, f"{row.name} {row.label}") if row.label else (row.name,)
        return any(map(search, texts))

    return found


def rows_of(known: Named, keep: Callable[[EventRow], object] = bool) -> list[EventRow]:
    """What is known of every event that is to be kept, in natural order of their names.

    Of a file without a table that is what its messages say. Cost: linear, and that of sorting what is kept.
    """
    table = known.givens.events
    rows = [*filter(keep, table or ())]
    kinds = {one.event: one for one in known.givens.messages} if table is None else {}
    there = set[str]() if table is None else {*table.names}
    for name in filterfalse(there.__contains__, known.events):
        row = EventRow(name)
        if message := kinds.get(name):
            row = EventRow(name, message.process, 0, message.kind, message.message)
        if keep(row):
            rows.append(row)
    return sorted(rows, key=lambda row: natural(row.name))


def having(rows: Iterable[EventRow], wanted: Mapping[str, str]) -> Iterator[EventRow]:
    """The rows of which each field, or attribute by its dotted name, is as wanted; text beside text.

    Cost: linear in the rows and what is wanted of them.
    """
    return filter(partial(has, wanted.items()), rows)


def has(wanted: Iterable[tuple[str, str]], row: EventRow) -> bool:
    """Whether each field of a row, or attribute by its dotted name, is as wanted. Cost: linear in these."""
    return all(as_text(member(row, name)) == value for name, value in wanted)


def member(row: EventRow, name: str) -> object:
    """A field of an event, or an attribute by its dotted name; None where it has none.

    Cost: linear in the name.
    """
    if name in EventRow._fields and name != "attributes":
        return getattr(row, name) or None
    return attribute(row.attributes, name)


def attribute(attributes: Mapping[str, object], name: str) -> Any:
    """An attribute by its dotted name: as it is written, or part by part into nested ones; else None.

    Cost: linear in the name.
    """
    if name in attributes:
        return attributes[name]
    found: object = attributes
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def as_text(value: object) -> str | None:
    """A value as it is compared and searched for: text as it is, else as JSON, a whole number without a dot.

    Cost: linear in the value.

    >>> as_text(7), as_text(7.0), as_text("7"), as_text(True), as_text(["a"]), as_text(None)
    ('7', '7', '7', 'true', '["a"]', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if value.__class__ is int:
        return str(value)
    from microcosm.givens.exact import json_text

    return json_text(value)


def caption(name: str, table: EventTable | None) -> str:
    """An event as people read it: its name, and its words where a log has some.

    Cost: a look-up.

    >>> from microcosm.givens.event_table import EventTableBuilder
    >>> builder = EventTableBuilder()
    >>> builder.add(EventRow("alice:6", label="write x=1"))
    >>> caption("alice:6", builder.table()), caption("log in", None)
    ('alice:6 "write x=1"', '"log in"')
    """
    label = None if table is None else table.label(name)
    if not label or label == name:
        return quote(name)
    return f"{quote(name)} {string(label if len(label) <= LABEL_SHOWN else label[: LABEL_SHOWN - 1] + '…')}"


def _lines_of(file: str, table: EventTable) -> Iterator[EventRow]:
    """The events of a file, which may be named by the end of its path. Cost: linear."""
    file = display_name(file)
    ending, files = f"/{file.removeprefix('./')}", {*table.files}
    same = {file} if file in files else {each for each in files if f"/{each}".endswith(ending)}
    return (table.at(at) for at, each in enumerate(table.files) if each in same) if same else iter(())


def _beside(line: int, rows: Sequence[EventRow]) -> str:
    """Which lines near one have events."""
    near = sorted({row.line for row in rows}, key=lambda each: abs(each - line))[:2]
    return f"; the nearest lines with one: {', '.join(map(str, sorted(near)))}"


def _only(words: str, found: Sequence[EventRow], known: Named, otherwise: str = "") -> str:
    if len(found) == 1:
        return found[0].name
    if not found:
        near = [] if otherwise else nearest(words.strip("/"), known)
        meant = f"; did you mean {' or '.join(map(quote, near))}?" if near else otherwise
        raise NotOneEvent(f"{words} is no event{meant}")
    table = known.givens.events
    lines = [f"{caption(row.name, table)}{f'   ({row.place})' if row.place else ''}" for row in found]
    more = [f"and {len(found) - MOST_NAMED:,} more"] if len(found) > MOST_NAMED else []
    listed = "".join(f"\n  {line}" for line in [*lines[:MOST_NAMED], *more])
    raise NotOneEvent(
        f"{words} is {len(found):,} events; say which:{listed}", tuple(row.name for row in found)
    )
