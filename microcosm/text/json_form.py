"""The JSON form of a microcosm, `microcosm/1`: the same givens as a `.mc` file, strictly checked.

Members are read as the types that are expected, or a fault names their JSON path.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from microcosm.errors import MicrocosmError, TextError
from microcosm.givens.clock import Clock, Stamp
from microcosm.givens.columns import Message
from microcosm.givens.event_table import NOTHING, EventRow, EventTable, EventTableBuilder
from microcosm.givens.exact import Number, in_json, json_text, of_float, written
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.text import statement as st
from microcosm.text.event_line import event_to_json
from microcosm.text.strict_json import decode_json

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
    if not isinstance(found, dict):
        raise JsonFault("", f"expected an object, not {described(found)}")
    for key in found:
        if key not in FIELDS:
            near = difflib.get_close_matches(str(key)[:40], FIELDS, 1)
            raise JsonFault(
                "",
                f"unknown field {described(key)}",
                f"Did you mean {near[0]!r}?" if near else f"Fields: {', '.join(FIELDS)}.",
            )
    schema = found.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise JsonFault(
            "schema", f'expected "{SCHEMA}", not {described(schema)}', "This version reads no other schema."
        )
    givens = Givens(name=optional_text(found.get("name"), "name"))
    fields: dict[str, object] = found

    def each(field: str, read: Callable[[object, str], Value]) -> list[Value]:
        members = list_of(fields.get(field, []), field)
        return [read(member, f"{field}[{at}]") for at, member in enumerate(members)]

    givens.internal = events_of(fields.get("internal", []), "internal")
    place = "" if file is None else f"{file}:"
    for fact in (*each("external", partial(_external, place)), *each("refuted", partial(_refuted, place))):
        givens.add(fact)
    givens.stamps = table_of(fields.get("stamps", {}), "stamps", _stamp)
    givens.clocks = table_of(fields.get("clocks", {}), "clocks", _clock)
    givens.messages = each("messages", _message)
    givens.processes = table_of(fields.get("processes", {}), "processes", _group)
    givens.orderings = [*dict.fromkeys(each("orderings", _ordering))]
    complete = fields.get("complete", False)
    if isinstance(complete, list):
        givens.complete = tuple(events_of(complete, "complete")) or False
    else:
        givens.complete = truth_of(complete, "complete")
    givens.tokens = table_of(fields.get("tokens", {}), "tokens", _group)
    if rows := each("events", _event):
        givens.events = _table(rows)
    givens.add_processes_of_table()
    return givens


def _external(place: str, member: object, path: str) -> Correspondence:
    parts = list_of(member, path, 3, 4, "[event, relation, event], and possibly its provenance")
    relation = SPELLINGS.get(parts[1]) if isinstance(parts[1], str) else None
    if relation not in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
        hint = 'A refuted `<` stands in "refuted": [["a", "b"]].' if relation is Relation.NOT_BEFORE else None
        raise JsonFault(
            f"{path}[1]", f'expected a relation ("<", ">", "||", "<>"), not {described(parts[1])}', hint
        )
    left, right = _pair(parts[0], parts[2], f"{path}[0]", f"{path}[2]")
    source = st.stated(text_of(parts[3], f"{path}[3]")) if len(parts) > 3 else place + path
    return Correspondence(left, relation, right, source)


def _refuted(place: str, member: object, path: str) -> Correspondence:
    parts = list_of(member, path, 2, 3, "[event, event], and possibly its provenance")
    left, right = _pair(parts[0], parts[1], f"{path}[0]", f"{path}[1]")
    source = st.stated(text_of(parts[2], f"{path}[2]")) if len(parts) > 2 else place + path
    return Correspondence(left, Relation.NOT_BEFORE, right, source)


def _pair(left: object, right: object, left_path: str, right_path: str) -> tuple[str, str]:
    one, other = name_of(left, left_path), name_of(right, right_path)
    if one == other:
        fault = f"an event stands in no relation to itself: {st.shown(one)}"
        raise JsonFault(right_path, fault, "Name two different events.")
    return one, other


def _stamp(found: object, path: str) -> Stamp:
    if isinstance(found, list):
        parts = list_of(found, path, 2, 2, "[earliest, latest]")
        earliest, latest = number_of(parts[0], f"{path}[0]"), number_of(parts[1], f"{path}[1]")
        if earliest > latest:
            raise JsonFault(
                path,
                f"the interval ends ({latest}) before it begins ({earliest})",
                "Write [earliest, latest].",
            )
        return (earliest, latest)
    return integer_of(found, path, "an integer (a Lamport time) or [earliest, latest]")


def _clock(found: object, path: str) -> Clock:
    parts = list_of(found, path, 2, 4, "[process, {process: count}, ticked]")
    process = name_of(parts[0], f"{path}[0]")
    entries = table_of(parts[1], f"{path}[1]", _count)
    ticked = truth_of(parts[2], f"{path}[2]") if len(parts) > 2 else True
    return Clock(process, entries, ticked, name_of(parts[3], f"{path}[3]") if len(parts) > 3 else None)


def _count(found: object, path: str) -> int:
    count = integer_of(found, path, "a count")
    if count < 0:
        raise JsonFault(
            path, f"a clock counts events: its entries are not negative, and this is {described(count)}"
        )
    return count


def _message(found: object, path: str) -> Message:
    parts = list_of(
        found,
        path,
        4,
        5,
        '["send", event, message, process, [receivers]] or ["receive", event, message, process]',
    )
    event, message, process = (name_of(part, f"{path}[{at}]") for at, part in enumerate(parts[1:4], 1))
    match parts[0]:
        case "send":
            receivers = events_of(parts[4], f"{path}[4]", once=False) if len(parts) > 4 else []
            return Message("send", event, message, process, tuple(receivers))
        case "receive" if len(parts) == 4:
            return Message("receive", event, message, process)
        case "receive":
            raise JsonFault(f"{path}[4]", "a reception has no receivers: its process is the receiver")
        case kind:
            raise JsonFault(f"{path}[0]", f'expected "send" or "receive", not {described(kind)}')


def _ordering(found: object, path: str) -> str:
    text = text_of(found, path)
    if text.removesuffix(st.INTERIOR) not in st.ORDERINGS:
        raise JsonFault(
            path,
            f"unknown ordering {described(text)}",
            f"Known orderings: {', '.join(st.ORDERINGS)}; `X interior` for an interior.",
        )
    return text


def _table(rows: list[EventRow]) -> EventTable:
    builder = EventTableBuilder()
    for at, row in enumerate(rows):
        if row.name in builder:
            raise JsonFault(f"events[{at}]", f"{st.shown(row.name)} stands twice", "Name it once.")
        builder.add(row)
    return builder.table()


def _event(found: object, path: str) -> EventRow:
    if not isinstance(found, dict):
        raise JsonFault(path, f"expected an object, not {described(found)}")
    fields: dict[str, Any] = {}
    for key, value in found.items():
        place = f"{path}.{key}"
        match key:
            case "name":
                fields[key] = name_of(value, place)
            case "process" | "file":
                fields[key] = text_of(value, place)
            case "message" | "label" | "trace":
                fields[key] = optional_text(value, place)
            case "seq" | "line" if type(value) is int and st.is_count(str(value)):
                fields[key] = value
            case "seq" | "line":
                raise JsonFault(place, f"expected a whole number up to 19 digits, not {described(value)}")
            case "kind" if value in ("", *st.KINDS):
                fields[key] = value
            case "kind":
                raise JsonFault(place, f"expected one of {', '.join(st.KINDS)}, not {described(value)}")
            case "attributes" if isinstance(value, dict):
                fields[key] = json.loads(json_text(value)) or NOTHING
            case "attributes":
                raise JsonFault(place, f"expected an object, not {described(value)}")
            case "time":
                fields[key] = json.loads(json_text(value))
            case _:
                hint = f"Fields: {', '.join(EventRow._fields)}."
                raise JsonFault(path, f"unknown field {described(key)}", hint)
    if "name" not in fields:
        raise JsonFault(path, "the event has no name", 'An event is {"name": "p:1", "label": "log in"}.')
    fields.setdefault("time", fields.get("attributes", NOTHING).get("time"))
    return EventRow(**fields)


def _group(found: object, path: str) -> tuple[str, ...]:
    if not (events := events_of(found, path)):
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


def events_of(found: object, path: str, once: bool = True) -> list[str]:
    """A list of names, each standing there once unless `once` is false."""
    events = list_of(found, path)
    seen: set[str] = set()
    for at, event in enumerate(events):
        if not isinstance(event, str) or st.unfit(event):
            name_of(event, f"{path}[{at}]")
        if once and event in seen:
            raise JsonFault(f"{path}[{at}]", f"{st.shown(event)} stands twice", "Name it once.")
        seen.add(event)
    return list(events)


def table_of(found: object, path: str, read: Callable[[object, str], Value]) -> dict[str, Value]:
    """An object whose keys are names and whose values `read` reads, given a value and its path."""
    if not isinstance(found, dict):
        raise JsonFault(path, f"expected an object, not {described(found)}")
    table = {}
    for key, value in found.items():
        place = f"{path}[{json.dumps(key)}]"
        table[name_of(key, place)] = read(value, place)
    return table


def list_of(
    found: object, path: str, least: int = 0, most: float = math.inf, what: str = "a list"
) -> list[Any]:
    """A list of `least` to `most` members of any type; `what` describes it."""
    if isinstance(found, list) and least <= len(found) <= most:
        return found
    raise JsonFault(path, f"expected {what}, not {described(found)}")


def name_of(found: object, path: str) -> str:
    """A string that can name an event."""
    if not isinstance(found, str):
        raise JsonFault(path, f"expected a name (a string), not {described(found)}")
    if fault := st.unfit(found):
        raise JsonFault(path, fault)
    return found


def text_of(found: object, path: str) -> str:
    """A string, possibly empty, that UTF-8 can write."""
    if not isinstance(found, str):
        raise JsonFault(path, f"expected a string, not {described(found)}")
    return name_of(found, path) if found else found


def optional_text(found: object, path: str) -> str | None:
    """A string, or null."""
    return None if found is None else text_of(found, path)


def truth_of(found: object, path: str) -> bool:
    """True or false."""
    if not isinstance(found, bool):
        raise JsonFault(path, f"expected true or false, not {described(found)}")
    return found


def integer_of(found: object, path: str, what: str) -> int:
    """An integer, which true and false are not."""
    if not isinstance(found, int) or isinstance(found, bool):
        raise JsonFault(path, f"expected {what}, not {described(found)}")
    return found


def number_of(found: object, path: str) -> Number:
    """A finite number, exactly; a float stands for what it is shown as."""
    if isinstance(found, int | float | Decimal) and not isinstance(found, bool):
        if not isinstance(found, float) or math.isfinite(found):
            return of_float(found)
        raise JsonFault(path, "the number is too large")
    raise JsonFault(path, f"expected a number, not {described(found)}")


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
