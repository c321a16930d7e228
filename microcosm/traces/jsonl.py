"""The own format: one event a line, as JSON.

    {"process": "p", "seq": 1, "kind": "send", "message": "m1"}

`process`, `seq` and `kind` are required; `trace`, `id`, `to`, `message`, `clock`, `stamp`, `label`
and `attributes` are optional, and fields that are not known become attributes. A line that is no
event is reported and passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from json import JSONDecodeError, JSONDecoder
from sys import intern
from typing import IO, NoReturn

from microcosm.errors import TextError
from microcosm.relations.givens import Stamp
from microcosm.traces.event import KINDS, LARGEST, NOTHING, TraceEvent, as_clock, writable
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options
from microcosm.traces.report import Report

NAME = "jsonl"

_FIELDS = frozenset(
    ("process", "seq", "kind", "message", "to", "clock", "stamp", "label", "attributes", "trace", "id")
)
_REQUIRED = frozenset(("process", "seq", "kind"))
_LOOKED_AT = 20
"""Lines at the beginning of a file that may tell its format: the first ones may be damaged."""


class _BadLine(Exception):
    """Why a line is no event, in words."""


class _NotJson(_BadLine):
    """The line is no JSON either; the last one of a log may be half-written."""


def detects(head: str, path: str) -> int:
    """2 where a line near the beginning is an event; 1 where one nearly is, or all are damaged JSON."""
    promised = path.endswith((".jsonl", ".ndjson")) and head.lstrip().startswith("{")
    nearly = False
    for line in head.split("\n")[:_LOOKED_AT]:
        try:
            record = _object(line)
            nearly = nearly or len(_REQUIRED & record.keys()) > 1
            promised = False
            _event(record, "", 0)
        except _BadLine:
            continue
        return 2
    return int(promised or nearly)


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`, repeated positions too."""
    if options.pattern is not None:
        raise TextError("a pattern is of no use for a trace in JSON lines", file=file)
    for number, text in stream:
        if not text or text.isspace():
            continue
        try:
            event = _event(_object(text), file, number)
        except _BadLine as fault:
            unfinished = stream.cut_off and isinstance(fault, _NotJson)
            message = f"half-written last line: {fault}" if unfinished else str(fault)
            report.add("bad-line", message, file=file, line=number, lost=1, lines=1)
            continue
        if not options.positions_of(event.trace, event.process).add(event.seq):
            message = f"{event.process} has an event {event.seq} already"
            report.add("duplicate-event", message, file=file, line=number, lost=1, lines=1)
            continue
        yield event


def event_of(record: dict[str, object], file: str, line: int) -> TraceEvent:
    """The event that a record states, as a line of JSON or a row of a table. Raises `TextError`."""
    try:
        return _event(record, file, line)
    except _BadLine as fault:
        raise TextError(str(fault), file=file, line=line) from None


def write(events: Iterable[TraceEvent], stream: IO[str]) -> int:
    """Write events as JSON lines, in the order given; how many there were."""
    count = 0
    for event in events:
        stream.write(line_of(event))
        count += 1
    return count


def line_of(event: TraceEvent) -> str:
    """An event as one line, with its end; what is not known is left out.

    >>> line_of(TraceEvent("p", 1, "send", "m1", to=("q",))).rstrip()
    '{"process": "p", "seq": 1, "kind": "send", "message": "m1", "to": ["q"]}'
    """
    record: dict[str, object] = {} if event.trace is None else {"trace": event.trace}
    record.update(process=event.process, seq=event.seq, kind=event.kind)
    optional = (
        ("id", event.name),
        ("message", event.message),
        ("to", event.to or None),
        ("clock", event.clock),
        ("stamp", event.stamp),
        ("label", event.label),
        ("attributes", event.attributes or None),
    )
    record.update((name, value) for name, value in optional if value is not None)
    return json.dumps(record, ensure_ascii=False) + "\n"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_decode = JSONDecoder(parse_constant=_refuse).raw_decode


def _object(text: str) -> dict[str, object]:
    try:
        record, end = _decode(text, len(text) - len(text.lstrip()))
    except JSONDecodeError as error:
        raise _NotJson(f"not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise _NotJson(f"not JSON: {error}") from None
    except RecursionError:
        raise _BadLine("not an event: nested too deeply") from None
    if type(record) is not dict:
        raise _BadLine("not an event: a JSON object is expected")
    if end < len(text) and not text[end:].isspace():
        raise _NotJson(f"not JSON: more text after the object (column {end + 1})")
    if "\\u" in text and not writable(json.dumps(record, ensure_ascii=False)):
        raise _BadLine("half of a surrogate pair is no text")
    return record


def _event(record: dict[str, object], file: str, line: int) -> TraceEvent:
    get = record.get
    process, seq, kind = get("process"), get("seq"), get("kind")
    if type(process) is not str or not process:
        raise _wrong(record, "process", "some text")
    if type(seq) is not int or not 1 <= seq <= LARGEST:
        raise _wrong(record, "seq", "a whole number from 1")
    if type(kind) is not str or kind not in KINDS:
        raise _wrong(record, "kind", f"one of {', '.join(sorted(KINDS))}")
    recorded = get("clock")
    clock = as_clock(recorded)
    if clock is None and recorded is not None:
        raise _wrong(record, "clock", "an object from processes to whole numbers from 0")
    attributes = get("attributes")
    if attributes is None:
        attributes = NOTHING
    elif type(attributes) is not dict:
        raise _wrong(record, "attributes", "an object")
    if not record.keys() <= _FIELDS:
        attributes = {**attributes, **{key: value for key, value in record.items() if key not in _FIELDS}}
    return TraceEvent(
        intern(process),
        seq,
        intern(kind),
        _text(record, "message") if "message" in record else None,
        _receivers(record) if "to" in record else (),
        clock,
        _stamp(record) if "stamp" in record else None,
        _text(record, "label", empty=True) if "label" in record else None,
        attributes,
        _text(record, "trace") if "trace" in record else None,
        _text(record, "id") if "id" in record else None,
        file,
        line,
    )


def _text(record: dict[str, object], name: str, empty: bool = False) -> str | None:
    value = record.get(name)
    if value is None or (type(value) is str and (value or empty)):
        return value
    raise _wrong(record, name, "text" if empty else "some text")


def _receivers(record: dict[str, object]) -> tuple[str, ...]:
    value = record.get("to")
    if value is None:
        return ()
    if type(value) is list and all(type(name) is str and name for name in value):
        return tuple(dict.fromkeys(value))
    raise _wrong(record, "to", "a list of processes")


def _stamp(record: dict[str, object]) -> Stamp | None:
    value = record.get("stamp")
    if value is None or (type(value) is int and 0 <= value <= LARGEST):
        return value
    if type(value) is list and len(value) == 2 and all(type(bound) in (int, float) for bound in value):
        earliest, latest = value
        if -LARGEST <= earliest <= latest <= LARGEST:
            return earliest, latest
    raise _wrong(record, "stamp", "a whole number from 0 or [earliest, latest]")


def _wrong(record: dict[str, object], name: str, expected: str) -> _BadLine:
    if name not in record:
        return _BadLine(f"`{name}` is missing")
    shown = json.dumps(record[name], ensure_ascii=False)
    return _BadLine(f"`{name}` must be {expected}, not {shown if len(shown) <= 40 else shown[:39] + '…'}")
