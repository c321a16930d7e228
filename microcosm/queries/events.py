r"""Which event is meant, and which there are: by name, by the line of a log, by the words of one.

Events are looked for in the table that goes with a log (`microcosm.givens.event_table`); where there is none,
by name alone.

A regular expression that may run away is refused. Python's matcher goes back as often as a pattern lets it.
Repetitions multiply the ways in which it may do so where the same characters may be of the one or of the
other, and so may be all that must stand between them: `\d+:\d+` fits a text in one way, `.*:.*` in many. At
most `WIDE` repetitions may multiply so, five times as many of what is there or not; and none with itself
within another one, which would be exponentially many ways. What is left takes at most a power of the length
of a text, whose exponent is `WIDE` and one more. Nothing stops a match at run time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from itertools import chain, filterfalse
from math import log2
from string import printable
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
    try:
        search = read_regex(pattern).search
    except ValueError as error:
        raise NotOneEvent(f"cannot look for /{pattern}/: {error}") from None

    def found(row: EventRow) -> bool:
        name, label = row.name, row.label
        if not label:
            return search(name) is not None
        return bool(search(label) or search(name) or search(f"{name} {label}"))

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


WIDE = 4
"""So many repetitions may follow one another that the same characters fit."""
_BITS = 5
"""As so many choices of two does one of them count."""
_DEEPEST = 6
"""So deep may repetitions be nested."""

_GROUP = re.compile(r"\\.|\(\?<(?=[^\W\d])", re.DOTALL)
_RUNS_AWAY = (
    f"repetitions that the same text fits may run away: at most {WIDE} may follow one another, none within "
    "another; write `a+` for `(a+)+`, `[ab]*` for `(a|b)*`, `[^;]*;` for `.*;`, or make it atomic, `(?>…)`"
)

Paths = dict[tuple[int, tuple[int, ...]], float]
"""Repetitions that multiply: the characters of the last one, which of these may be what has to follow it, and
the choices of all.
"""


def read_regex(text: str) -> re.Pattern[str]:
    r"""The pattern that a text says. Raises `ValueError`, whose message says why not and, if known, where.

    Cost: the length of the text by the number of different characters in it, at each depth of repetitions.

    >>> read_regex(r"write (?<key>\w+)").search("write x=1")["key"]
    'x'
    >>> read_regex("(a+)+$")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: repetitions that the same text fits may run away: ...
    """
    spelled = _GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], text)
    try:
        parsed = import_module("re._parser").parse(spelled)
        compiled = re.compile(spelled)
        _Ways(parsed.state, spelled).behind(parsed, {})
    except (re.error, RecursionError, OverflowError) as error:
        message = getattr(error, "msg", "too deep or too large")
        raise ValueError(f"the regular expression does not compile: {message}") from None
    return compiled


class _Ways:
    """The ways in which a pattern may fit a text; looked at are the usual characters, and those it names."""

    def __init__(self, state: Any, spelled: str) -> None:
        self._state = state
        self._signs = [*dict.fromkeys(f"{printable}\0é\u0663\u2003{spelled}{spelled.swapcase()}")]
        self._met = 0
        """The characters that some of the nodes so far fit, a bit for each."""

    def behind(self, nodes: Iterable[Any], before: Paths, within: int = 0) -> Paths:
        """What multiplies behind some nodes, be they `within` repetitions. Raises `ValueError`."""
        for code, argument in nodes:
            name = str(code)
            if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
                fits = self._fitting((code, argument))
                self._met |= fits
                before = {(own, (*must, own & fits)): n for (own, must), n in before.items() if own & fits}
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                keeps = name == "POSSESSIVE_REPEAT"
                before = self._behind_repetition(argument, before, 0 if keeps else within, keeps)
            elif name == "SUBPATTERN":
                before = self.behind(argument[3], before, within)
            elif name == "BRANCH" and within:
                raise ValueError(_RUNS_AWAY)
            elif name in ("BRANCH", "GROUPREF_EXISTS"):
                ways = argument[1] if name == "BRANCH" else argument[1:]
                before = _any_of([self.behind(each or (), before, within) for each in ways])
            elif name in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
                self.behind(argument if name == "ATOMIC_GROUP" else argument[1], {})
        return before

    def _behind_repetition(
        self, repeated: tuple[int, int, Any], before: Paths, within: int, keeps: bool
    ) -> Paths:
        least, most, inner = repeated
        met, self._met = self._met, 0
        within += most > 1 and not keeps
        once = self.behind(inner, {}, within)
        own = -1 if inner.getwidth()[0] == 0 else self._met  # to repeat nothing is as to leave it out
        self._met |= met
        if within > _DEEPEST:
            raise ValueError(_RUNS_AWAY)
        if most > 1 and not keeps:  # what multiplies with the next time does so without end
            self.behind(inner, dict.fromkeys(once, WIDE * _BITS), within)
        passed = self.behind(inner, {} if keeps else before, within) if least else before
        if keeps or least == most:
            return passed
        meeting = [many for (signs, must), many in before.items() if all(own & one for one in (signs, *must))]
        many = max(meeting, default=0) + min(log2(most - least + 1), _BITS)
        if many > WIDE * _BITS:
            raise ValueError(_RUNS_AWAY)
        return _any_of([passed, {(own, ()): many}])

    def _fitting(self, node: Any) -> int:
        part = import_module("re._parser").SubPattern(self._state, [node])
        fits = import_module("re._compiler").compile(part).fullmatch
        return sum((fits(sign) is not None) << at for at, sign in enumerate(self._signs))


def _any_of(every: Iterable[Paths]) -> Paths:
    """What multiplies behind one of several ways."""
    found: Paths = {}
    for path, many in chain.from_iterable(map(dict.items, every)):
        found[path] = max(many, found.get(path, 0))
    return found
