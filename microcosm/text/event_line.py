"""What a log says of an event, as one line of a microcosm file or as one JSON object; both ways.

    event alice:6 process alice seq 6 kind send message m7 "write x=1" key="x" tries=[1, 2] at alice.log:12

After the name everything is optional and stands in any order: a text in double quotes is the label,
`KEY=VALUE` an attribute with a value in JSON, `trace NAME` the execution and `time VALUE` the time of day
where no attribute says it. `event` is no keyword: it begins such a line only where a name follows it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, repeat
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from json.encoder import encode_basestring
from operator import add
from typing import Any, TypeVar

from microcosm.givens.event_table import NOTHING, EventRow, EventTable
from microcosm.givens.exact import json_text
from microcosm.text import statement as st
from microcosm.text.names import KEYWORDS, quote
from microcosm.text.statement import all_quoted

FORM = 'An event is `event NAME process P seq N kind K message M "label" KEY=VALUE at FILE:LINE`.'
_WORDS = ("process", "seq", "kind", "message", "trace", "time", "at")

_begins = re.compile(rf"\s*+event\s++(?=({st.OPERAND}))").match
_item = re.compile(
    rf"\s*+(?:(?P<key>{st.OPERAND})\s*+=\s*+"
    rf"|(?P<time>time)(?=\s)\s*+"
    rf"|(?P<word>{'|'.join(_WORDS)})\s++(?P<value>{st.OPERAND})"
    rf"|(?P<label>{st.STRING}))"
).match
_blank = re.compile(r"\s*+(?:#.*)?\Z").match
_decode = JSONDecoder(parse_constant=str).raw_decode
_encode = JSONEncoder(ensure_ascii=False, separators=("\n", ": ")).encode
"""A list in JSON, of which each entry is on a line of its own if none is in parts."""


def event_on(line: str) -> EventRow | None:
    """What a line says of an event; None where it is no such line. Raises `BadStatement`. Cost: linear.

    >>> event_on('event p:1 process p "log in" n=3 at "my log:7"')
    EventRow(name='p:1', process='p', seq=0, kind='', message=None, label='log in', trace=None, \
attributes={'n': 3}, time=None, file='my log', line=7)
    >>> event_on("event < b")
    """
    begin = _begins(line)
    if begin is None:
        return None
    if begin[1] in KEYWORDS:
        raise st.keyword(begin[1], begin.end() + 1)
    name = st.name_at((begin[1], begin.end() + 1))
    stated: dict[str, Any] = {}
    attributes: dict[str, object] = {}
    at = begin.end(1)
    while not _blank(line, at):
        found = _item(line, at)
        if found is None or (found.end("key") == at and found["key"]):
            at += len(line[at:]) - len(line[at:].lstrip())
            unread = line[at:].split(None, 1)[0]
            near = difflib.get_close_matches(unread[: st.SHOWN], _WORDS, 1)
            hint = f"Did you mean `{near[0]}`? {FORM}" if near and near[0] != unread else FORM
            fault = f"unexpected {st.shown(unread)} in what is said of an event"
            raise st.BadStatement(fault, hint, column=at + 1)
        start = found.end() - len(found[0].lstrip())
        if found["key"] or found["time"]:
            key = st.text_at((found["key"], start + 1)) if found["key"] else "time"
            into = attributes if found["key"] else stated
            if key in into:
                raise st.twice(st.shown(key), column=start + 1)
            into[key], at = _value(line, found.end())
            continue
        word = found["word"] or "label"
        if word in stated or (word == "at" and "line" in stated):
            raise st.twice(f"the {word} of the event", column=start + 1)
        group = "value" if found["word"] else "label"
        stated.update(_fields(word, (found[group], found.start(group) + 1)))
        at = found.end()
    stated.setdefault("time", attributes.get("time"))
    return EventRow(name=name, attributes=attributes or NOTHING)._replace(**stated)


def lines_of_events(
    table: EventTable, names: Mapping[str, str], many: int, written: Sequence[str] | None = None
) -> Iterator[str]:
    """The lines that say so, so `many` at a time, each with its end; `names` has each name as it is written.

    `written` are the names of all events, where they have been looked at already.

    >>> from microcosm.givens.event_table import EventTableBuilder
    >>> from microcosm.text.statement import Quoted
    >>> table = EventTableBuilder()
    >>> table.add(EventRow("p:1", "p", 1, label="log in", attributes={"n": 3}, file="a.log", line=3))
    >>> [*lines_of_events(table.table(), Quoted(), 100)]
    ['event p:1 process p seq 1 "log in" n=3 at a.log:3\\n']
    """
    for at in range(0, len(table), many):
        event, process, seq, kind, message, label, trace, attributes, time, file, line = (
            column[at : at + many] for column in table.columns
        )
        words = (
            map("event ".__add__, all_quoted(event) if written is None else written[at : at + many]),
            _each(
                [word or None for word in process],
                lambda texts: map(" process {}".format, all_quoted(texts)),
            ),
            _each([number or None for number in seq], lambda numbers: map(" seq {}".format, numbers)),
            _each([word or None for word in kind], lambda texts: map(" kind {}".format, texts)),
            _each(message, lambda texts: map(" message {}".format, all_quoted(texts))),
            _each(trace, lambda texts: map(" trace {}".format, all_quoted(texts))),
            _each(label, lambda texts: map(" {}".format, _all_shown(texts))),
            _attributes(attributes, names),
            _times(time, [known.get("time") for known in attributes]),
            _places(file, line, names),
        )
        yield "".join(chain.from_iterable(zip(*words, repeat("\n"), strict=False)))


Entry = TypeVar("Entry", str, int)


def _each(column: Sequence[Entry | None], write: Callable[[Sequence[Entry]], Iterable[str]]) -> Iterator[str]:
    """The text that `write` makes of each entry of a column, once for all that are equal; none of None."""
    entries = [entry for entry in dict.fromkeys(column) if entry is not None]
    written = write(entries)
    if len(entries) == len(column):  # no two are equal, and none is None
        return iter(written)
    found: dict[Entry | None, str] = dict(zip(entries, written, strict=True))
    found[None] = ""
    return map(found.__getitem__, column)


def _times(times: Sequence[object | None], known: Sequence[object | None]) -> Iterable[str]:
    """The time of each event that its attributes do not say."""
    if times == known:
        return repeat("", len(times))
    return (f" time {_shown(time)}" if time != at else "" for time, at in zip(times, known, strict=True))


def _attributes(rows: Sequence[Mapping[str, object]], names: Mapping[str, str]) -> Iterator[str]:
    if not any(rows):
        return repeat("", len(rows))
    every = [*chain.from_iterable(rows)]
    keys = {key: f" {names[key]}=" for key in dict.fromkeys(every)}
    values = _all_shown([*chain.from_iterable(row.values() for row in rows)])
    words = map(add, map(keys.__getitem__, every), values)
    sizes = [*map(len, rows)]
    if sizes.count(sizes[0]) == len(sizes):
        return map("".join, zip(*repeat(words, sizes[0]), strict=True))
    return ("".join(islice(words, many)) for many in sizes)


def _places(files: Sequence[str], lines: Sequence[int], names: Mapping[str, str]) -> Iterator[str]:
    plain = {file: f" at {file}:" if file and names[file] == file else "" for file in dict.fromkeys(files)}
    if all(plain.values()):
        return map(add, map(plain.__getitem__, files), map(str, lines))
    return (
        f"{plain[file]}{line}" if plain[file] else f" at {quote(f'{file}:{line}')}" if file or line else ""
        for file, line in zip(files, lines, strict=True)
    )


def event_to_json(row: EventRow) -> dict[str, object]:
    """An event's row as a JSON object, without what is not known.

    >>> event_to_json(EventRow("p:1", "p", 1, label="log in", file="a.log", line=3))
    {'name': 'p:1', 'process': 'p', 'seq': 1, 'label': 'log in', 'file': 'a.log', 'line': 3}
    """
    unsaid = EventRow._field_defaults
    found = {name: value for name, value in row._asdict().items() if name == "name" or value != unsaid[name]}
    if row.attributes:
        found["attributes"] = {**row.attributes}
    found.pop("time", None)
    if row.time != row.attributes.get("time"):
        found["time"] = row.time
    return found


def _fields(word: str, value: st.Word) -> dict[str, object]:
    text, column = st.text_at(value), value[1]
    if word == "seq":
        if not st.is_count(text):
            raise st.BadStatement(f"`seq` is a whole number, not {st.shown(text)}", None, column=column)
        return {"seq": int(text)}
    if word == "kind" and text not in st.KINDS:
        hint = f"Kinds: {', '.join(st.KINDS)}."
        raise st.BadStatement(f"unknown kind {st.shown(text)}", hint, column=column)
    if word == "at":
        file, _, line = text.rpartition(":")
        if not st.is_count(line) or ":" not in text:
            raise st.BadStatement(f"expected FILE:LINE, not {st.shown(text)}", None, column=column)
        return {"file": file, "line": int(line)}
    return {word: text}


def _value(line: str, at: int) -> tuple[object, int]:
    """The JSON value that begins at a place, and where it ends."""
    try:
        value, end = _decode(line, at)
    except JSONDecodeError as error:
        hint = 'The value of an attribute is JSON: key="x", key=3, key=[1, 2].'
        raise st.BadStatement(f"not JSON: {error.msg}", hint, column=error.pos + 1) from None
    except RecursionError:
        raise st.BadStatement("the value is nested too deeply", None, column=at + 1) from None
    except ValueError:
        raise st.BadStatement("the number has too many digits", None, column=at + 1) from None
    if end < len(line) and not line[end].isspace():
        raise st.BadStatement(f"unexpected {st.shown(line[end])} after the value", None, column=end + 1)
    if "\\u" in line and (fault := st.unfit(json.dumps(value, ensure_ascii=False))):
        raise st.BadStatement(fault, None, column=at + 1)
    return value, end


def _all_shown(values: Sequence[object]) -> Sequence[str]:
    """`_shown` of each value, at a tenth of its price where none is in parts and all can be shown."""
    with suppress(TypeError):  # a decimal is for `json_text`
        text = _encode(values)[1:-1]
        entries = text.split("\n")
        if len(entries) == len(values) and text.replace("\n", "").isprintable():
            return entries
    return [*map(_shown, values)]


def _shown(value: object) -> str:
    """A value as JSON in which a terminal shows every sign."""
    text = encode_basestring(value) if type(value) is str else json_text(value)
    return text if text.isprintable() else json_text(value, ensure_ascii=True)
