"""The JSON form of a microcosm, `microcosm/1`: the same givens as a `.mc` file, strictly checked.

Members are read as the types that are expected, or a fault names their JSON path. JSON says one thing here:
no key stands twice in an object, and no number is NaN. Where that is asked for it is read at any depth.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from microcosm.errors import MicrocosmError, TextError
from microcosm.givens.columns import Message
from microcosm.givens.event_table import NOTHING, EventRow, EventTableBuilder
from microcosm.givens.exact import Number, in_json, json_text, number_or_infinity, of_float, written
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation, Stamp
from microcosm.givens.spelling import SPELLINGS
from microcosm.text import statement as st
from microcosm.text.event_line import event_to_json
from microcosm.text.statement import shown

LONGEST_INTEGER = 300
"""Of JSON at any depth an integer of more digits than any count has is read as a float."""


class TwiceError(TextError):
    """A key that stands twice in one object: well-formed JSON that says two things."""


def decode_json(text: str, file: str | None = None, *, deep: bool = False) -> object:
    """JSON to plain objects, numbers being exact; `deep`: at any depth, with floats. Cost: linear.

    Raises `TwiceError` for a repeated key, `TextError` for NaN, infinities, and what is no JSON, with line
    and column where the decoder knows them.
    """
    try:
        return _decoded(text, file, deep)
    except json.JSONDecodeError as error:
        several = error.msg == "Extra data"
        hint = "If these are the lines of a log: they are in no format known here." if several else None
        message = "more than one JSON document" if several else f"not JSON: {error.msg}"
        raise _at(text, error.pos, message, file, hint) from None
    except RecursionError:
        if deep:
            return from_inside(text, file)
        raise TextError("the JSON is nested too deeply", file=file) from None
    except ValueError:
        raise TextError("a JSON number has too many digits", file=file) from None


def _decoded(text: str, file: str | None, deep: bool, members: Iterator[object] | None = None) -> object:
    """The value of a text, one of `members` standing wherever there is a hole."""

    def constant(name: str) -> object:
        if members is not None and name == _HOLE:
            return next(members)
        raise TextError(f"{name} is no JSON number", file=file)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for at, key in enumerate(keys) if key in keys[:at])
            raise TwiceError(f"the key {shown(twice)} stands twice in one object", file=file)
        return found

    return json.loads(
        text,
        object_pairs_hook=unique,
        parse_constant=constant,
        parse_float=None if deep else number_or_infinity,
        parse_int=_integer if deep else None,
    )


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _at(text: str, at: int, message: str, file: str | None, hint: str | None = None) -> TextError:
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[begin : end if end >= 0 else None]
    number = text.count("\n", 0, at) + 1
    return TextError(message, file=file, line=number, column=at - begin + 1, text=line, hint=hint)


_PART = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]|-Infinity|[^]["{}-]++|.', re.DOTALL)
"""A string, a bracket, or what stands between."""

_HOLE = "-Infinity"
"""What stands in the place of an array or object that was read already: nothing that a text may have."""


@dataclass
class _Opened:
    """An array or object that is open, or the text around all of them: what was read of it, and in it."""

    begins: int
    parts: list[str] = field(default_factory=list)
    members: list[object] = field(default_factory=list)


def from_inside(text: str, file: str | None = None) -> object:
    """The value of a text that is nested deeper than the library reads: from inside to outside.

    Raises as `decode_json`. Cost: linear.
    """

    def value(opened: _Opened) -> object:
        try:
            return _decoded("".join(opened.parts), file, True, iter(opened.members))
        except json.JSONDecodeError as error:
            raise _at(text, opened.begins, f"not JSON: {error.msg}", file) from None

    opened = [_Opened(0)]
    for found in _PART.finditer(text):
        part = found[0]
        if part == _HOLE:
            raise _at(text, found.start(), f"{part} is no JSON number", file)
        if part in "[{":
            opened.append(_Opened(found.start()))
        opened[-1].parts.append(part)
        if part in "]}":
            if len(opened) == 1:
                break
            inner = opened.pop()
            opened[-1].members.append(value(inner))
            opened[-1].parts.append(_HOLE)
    return value(opened[-1])


SCHEMA = "microcosm/1"

FIELDS = (
    "schema", "name", "internal", "external", "refuted", "stamps",
    "clocks", "messages", "processes", "orderings", "complete", "tokens", "events",
)  # fmt: skip


def givens_to_json(givens: Givens, events: bool | None = None) -> dict[str, object]:
    """The JSON form, all fields present but perhaps `events`; `json.dumps` takes it as it is.

    But for bounds of stamps that have more digits than a float: they are decimals, which
    `microcosm.givens.exact.json_text` writes.

    An external has its source as a fourth member, a refuted one as a third, where somebody stated it. What a
    log says of its events is there if `events`, and unless that is said where it has words for any of them.
    """
    table = givens.events
    with_events = table is not None and (table.has_words if events is None else events)
    return {
        "schema": SCHEMA,
        "name": givens.name,
        "internal": list(givens.internal),
        "external": [
            [fact.left, fact.relation.value, fact.right, *_origin(fact)] for fact in givens.external.values()
        ],
        "refuted": [[fact.left, fact.right, *_origin(fact)] for fact in givens.refuted.values()],
        "stamps": {
            event: [*map(in_json, stamp)] if isinstance(stamp, tuple) else stamp
            for event, stamp in givens.stamps.items()
        },
        "clocks": {event: clock.stated() for event, clock in givens.clocks.items()},
        "messages": [[*m[:4], *([[*m.receivers]] if m.kind == "send" else [])] for m in givens.messages],
        **(
            {"processes": {name: list(events) for name, events in givens.processes.items()}}
            if givens.processes
            else {}
        ),
        "orderings": list(givens.orderings),
        "complete": givens.complete if isinstance(givens.complete, bool) else list(givens.complete),
        "tokens": {token: list(group) for token, group in givens.tokens.items()},
        **({"events": [*map(event_to_json, table)]} if table is not None and with_events else {}),
    }


def _origin(fact: Correspondence) -> list[str]:
    return [] if fact.source is None or st.is_default(fact.source) else [str(fact.source)]


def read_json(text: str, file: str | None = None) -> Givens:
    """The givens of a JSON text. Raises `TextError`, with line and column where the decoder knows them."""
    return givens_from_json(decode_json(text, file), file)


def givens_from_json(found: object, file: str | None = None) -> Givens:
    """The givens that a decoded JSON object states; absent fields are empty. Raises `TextError`."""
    try:
        return _givens(found, file)
    except JsonFault as fault:
        raise TextError(
            f"{fault.path}: {fault.message}" if fault.path else fault.message, file=file, hint=fault.hint
        ) from None


def _givens(found: object, file: str | None) -> Givens:
    fields: dict[str, object] = _typed(dict, "an object", found, "")
    for key in fields:
        if key not in FIELDS:
            near = difflib.get_close_matches(str(key)[:40], FIELDS, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Fields: {', '.join(FIELDS)}."
            raise JsonFault("", f"unknown field {described(key)}", hint)
    if (schema := fields.get("schema", SCHEMA)) != SCHEMA:
        raise _unexpected(f'"{SCHEMA}"', schema, "schema", "This version reads no other schema.")
    givens = Givens(name=_optional_text(fields.get("name"), "name"))

    def each(field: str, read: Callable[[object, str], Value]) -> list[Value]:
        members = _list(fields.get(field, []), field)
        return [read(member, f"{field}[{at}]") for at, member in enumerate(members)]

    givens.internal = _names(fields.get("internal", []), "internal")
    place = "" if file is None else f"{file}:"
    for fact in (*each("external", partial(_external, place)), *each("refuted", partial(_refuted, place))):
        givens.add(fact)
    givens.stamps = _table(fields.get("stamps", {}), "stamps", _stamp)
    givens.clocks = _table(fields.get("clocks", {}), "clocks", _clock)
    givens.messages = each("messages", _message)
    givens.processes = _table(fields.get("processes", {}), "processes", _group)
    givens.orderings = [*dict.fromkeys(each("orderings", _ordering))]
    complete = fields.get("complete", False)
    if isinstance(complete, list):
        givens.complete = tuple(_names(complete, "complete")) or False
    else:
        givens.complete = _truth(complete, "complete")
    givens.tokens = _table(fields.get("tokens", {}), "tokens", _group)
    if rows := each("events", _event):
        builder = EventTableBuilder()
        for at, row in enumerate(rows):
            if row.name in builder:
                raise JsonFault(f"events[{at}]", f"{st.shown(row.name)} stands twice", "Name it once.")
            builder.add(row)
        givens.events = builder.table()
    givens.add_processes_of_table()
    return givens


def _external(place: str, member: object, path: str) -> Correspondence:
    parts = _list(member, path, 3, 4, "[event, relation, event], and possibly its provenance")
    relation = SPELLINGS.get(parts[1]) if isinstance(parts[1], str) else None
    if relation not in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
        hint = 'A refuted `<` stands in "refuted": [["a", "b"]].' if relation is Relation.NOT_BEFORE else None
        raise _unexpected('a relation ("<", ">", "||", "<>")', parts[1], f"{path}[1]", hint)
    return _fact(parts, relation, place, path)


def _refuted(place: str, member: object, path: str) -> Correspondence:
    parts = _list(member, path, 2, 3, "[event, event], and possibly its provenance")
    return _fact(parts, Relation.NOT_BEFORE, place, path)


def _fact(parts: list[Any], relation: Relation, place: str, path: str) -> Correspondence:
    """The fact that a list says, in which the second event stands behind the relation if that is there."""
    last = 1 if relation is Relation.NOT_BEFORE else 2
    left, right = _name(parts[0], f"{path}[0]"), _name(parts[last], f"{path}[{last}]")
    if left == right:
        fault = f"an event stands in no relation to itself: {st.shown(left)}"
        raise JsonFault(f"{path}[{last}]", fault, "Name two different events.")
    origin = parts[last + 1 :]
    source = st.stated(_text(origin[0], f"{path}[{last + 1}]")) if origin else place + path
    return Correspondence(left, relation, right, source)


def _stamp(found: object, path: str) -> Stamp:
    if not isinstance(found, list):
        return int(_typed(int, "an integer (a Lamport time) or [earliest, latest]", found, path))
    parts = _list(found, path, 2, 2, "[earliest, latest]")
    earliest, latest = _number(parts[0], f"{path}[0]"), _number(parts[1], f"{path}[1]")
    if earliest > latest:
        fault = f"the interval ends ({latest}) before it begins ({earliest})"
        raise JsonFault(path, fault, "Write [earliest, latest].")
    return (earliest, latest)


def _clock(found: object, path: str) -> Clock:
    parts = _list(found, path, 2, 4, "[process, {process: count}, ticked]")
    process = _name(parts[0], f"{path}[0]")
    entries = _table(parts[1], f"{path}[1]", _count)
    ticked = _truth(parts[2], f"{path}[2]") if len(parts) > 2 else True
    return Clock(process, entries, ticked, _name(parts[3], f"{path}[3]") if len(parts) > 3 else None)


def _count(found: object, path: str) -> int:
    count: int = _typed(int, "a count", found, path)
    if count < 0:
        fault = f"a clock counts events: its entries are not negative, and this is {described(count)}"
        raise JsonFault(path, fault)
    return count


_MESSAGE = '["send", event, message, process, [receivers]] or ["receive", event, message, process]'


def _message(found: object, path: str) -> Message:
    kind, *parts = _list(found, path, 4, 5, _MESSAGE)
    event, message, process = (_name(part, f"{path}[{at}]") for at, part in enumerate(parts[:3], 1))
    if kind not in ("send", "receive"):
        raise _unexpected('"send" or "receive"', kind, f"{path}[0]")
    if kind == "receive" and len(parts) > 3:
        raise JsonFault(f"{path}[4]", "a reception has no receivers: its process is the receiver")
    receivers = _names(parts[3], f"{path}[4]", once=False) if len(parts) > 3 else []
    return Message(kind, event, message, process, tuple(receivers))


def _ordering(found: object, path: str) -> str:
    text = _text(found, path)
    if text.removesuffix(st.INTERIOR) not in st.ORDERINGS:
        hint = f"Known orderings: {', '.join(st.ORDERINGS)}; `X interior` for an interior."
        raise JsonFault(path, f"unknown ordering {described(text)}", hint)
    return text


def _event(found: object, path: str) -> EventRow:
    fields = {}
    for key, value in _typed(dict, "an object", found, path).items():
        if key not in _OF_EVENT:
            hint = f"Fields: {', '.join(EventRow._fields)}."
            raise JsonFault(path, f"unknown field {described(key)}", hint)
        fields[key] = _OF_EVENT[key](value, f"{path}.{key}")
    if "name" not in fields:
        raise JsonFault(path, "the event has no name", 'An event is {"name": "p:1", "label": "log in"}.')
    fields.setdefault("time", fields.get("attributes", NOTHING).get("time"))
    return EventRow(**fields)


def _place(found: object, path: str) -> int:
    if type(found) is int and st.is_count(str(found)):
        return found
    raise _unexpected("a whole number up to 19 digits", found, path)


def _kind(found: object, path: str) -> str:
    if found in ("", *st.KINDS):
        return str(found)
    raise _unexpected(f"one of {', '.join(st.KINDS)}", found, path)


def _plain(found: object, path: str) -> Any:
    """A value as JSON has it without decimals."""
    return json.loads(json_text(found))


def _attributes(found: object, path: str) -> Mapping[str, object]:
    return _plain(_typed(dict, "an object", found, path), path) or NOTHING


def _group(found: object, path: str) -> tuple[str, ...]:
    if not (events := _names(found, path)):
        raise JsonFault(path, "expected the names of some events")
    return tuple(events)


Value = TypeVar("Value")


class JsonFault(MicrocosmError):
    """What is wrong, and the JSON path of the value."""

    def __init__(self, path: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


def _unexpected(what: str, found: object, path: str, hint: str | None = None) -> JsonFault:
    return JsonFault(path, f"expected {what}, not {described(found)}", hint)


def _typed(kind: type, what: str, found: object, path: str) -> Any:
    """A value of a type, true and false being no numbers; `what` describes it."""
    if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)):
        return found
    raise _unexpected(what, found, path)


def _names(found: object, path: str, once: bool = True) -> list[str]:
    """A list of names, each standing there once unless `once` is false."""
    events = _list(found, path)
    seen: set[str] = set()
    for at, event in enumerate(events):
        if not isinstance(event, str) or st.unfit(event):
            _name(event, f"{path}[{at}]")
        if once and event in seen:
            raise JsonFault(f"{path}[{at}]", f"{st.shown(event)} stands twice", "Name it once.")
        seen.add(event)
    return list(events)


def _table(found: object, path: str, read: Callable[[object, str], Value]) -> dict[str, Value]:
    """An object whose keys are names and whose values `read` reads, given a value and its path."""
    table = {}
    for key, value in _typed(dict, "an object", found, path).items():
        place = f"{path}[{json.dumps(key)}]"
        table[_name(key, place)] = read(value, place)
    return table


def _list(
    found: object, path: str, least: int = 0, most: float = math.inf, what: str = "a list"
) -> list[Any]:
    """A list of `least` to `most` members of any type; `what` describes it."""
    if isinstance(found, list) and least <= len(found) <= most:
        return found
    raise _unexpected(what, found, path)


def _name(found: object, path: str) -> str:
    """A text that can name an event."""
    name: str = _typed(str, "a name (a string)", found, path)
    if fault := st.unfit(name):
        raise JsonFault(path, fault)
    return name


def _text(found: object, path: str) -> str:
    """A text, possibly empty, that UTF-8 can write."""
    return _name(found, path) if _typed(str, "a string", found, path) else ""


def _optional_text(found: object, path: str) -> str | None:
    return None if found is None else _text(found, path)


def _truth(found: object, path: str) -> bool:
    return bool(_typed(bool, "true or false", found, path))


def _number(found: object, path: str) -> Number:
    """A finite number, exactly; a float stands for what it is shown as."""
    if not isinstance(found, int | float | Decimal) or isinstance(found, bool):
        raise _unexpected("a number", found, path)
    if isinstance(found, float) and not math.isfinite(found):
        raise JsonFault(path, "the number is too large")
    return of_float(found)


_OF_EVENT: dict[object, Callable[[object, str], Any]] = {
    "name": _name,
    **dict.fromkeys(("process", "file"), _text),
    **dict.fromkeys(("message", "label", "trace"), _optional_text),
    **dict.fromkeys(("seq", "line"), _place),
    "kind": _kind,
    "attributes": _attributes,
    "time": _plain,
}


def described(found: object) -> str:
    """A value in an error, in one short line."""
    match found:
        case dict():
            return "an object"
        case list():
            return f"a list of {len(found)}"
        case Decimal():
            return written(found)
        case _:
            text = json.dumps(found, default=repr)
            return text if len(text) <= st.SHOWN else text[: st.SHOWN] + "…"
