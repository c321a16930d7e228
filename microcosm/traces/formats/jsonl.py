"""The own format: one event a line, as JSON.

    {"process": "p", "seq": 1, "kind": "send", "message": "m1"}

`process` and one of `kind`, `message` and `label` are required; `seq` is the order of lines where it is left
out, and `kind` what is plain (`microcosm.traces.options`). `trace`, `id`, `to`, `clock`, `stamp`,
`attributes` and `after` are optional, and fields that are not known become attributes.
`docs/reference/log-format.md` and `microcosm/schemas/event.json` have all of it. A copy of a log of another
format says in `counted` which of `seq` and `message` its reader counted, for want of them in the log, and any
copy in `origin` from which file and line an event was read: there it still is said to stand. A line that is
no event is reported and passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from sys import intern
from typing import IO, cast

from microcosm.errors import TextError
from microcosm.givens.exact import in_json, json_text, number_or_infinity, of_float
from microcosm.givens.relation import Stamp
from microcosm.traces.event import COUNTED, KINDS, LARGEST, NOTHING, Counted, TraceEvent, as_clock
from microcosm.traces.options import LeftOut, Lives, Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import LOOKED_AT, BadLine, Lines, json_object, why_bad

NAME = "jsonl"

COPIES = "copies"
"""Under this name `Options.state` has the files that are copies with counted names of events."""

FIELDS = frozenset(
    (
        *("process", "seq", "kind", "message", "to", "clock", "stamp"),
        *("label", "attributes", "trace", "id", "after"),
    )
)
"""The fields of an event in the own format, but for the rare `links`, `counted` and `origin`."""
_CALLED = {
    "process": ("host", "node", "actor", "proc", "service", "pid", "who"),
    "seq": ("position", "index", "number", "step"),
    "kind": ("type", "op"),
    "message": ("msg", "msg_id", "message_id", "mid"),
    "to": ("receiver", "receivers", "recipient", "recipients", "dest", "destination", "target"),
    "label": ("event", "text", "name", "what", "description"),
    "clock": ("vc", "vclock", "vector", "vector_clock"),
    "after": ("parents", "deps", "causes"),
}
"""What a field is called elsewhere."""

_SAYING = ("kind", "message", "label")
"""One of these says what an event is."""
_OF_LOGGERS = frozenset(("level", "levelname", "severity", "logger", "timestamp", "asctime", "time", "ts"))
"""Where these stand and nothing else tells, a line is one of an ordinary log, of whatever process."""


def detects(head: str, path: str) -> int:
    """2 where a line near the beginning is an event; 1 where one nearly is, or all are damaged JSON."""
    promised = path.endswith((".jsonl", ".ndjson")) and head.lstrip().startswith("{")
    nearly = False
    for line in head.split("\n")[:LOOKED_AT]:
        try:
            record = json_object(line)
        except BadLine:
            continue
        promised = False
        try:
            event_of(record if record.keys() >= {"seq", "kind"} else _completed(record), "", 0)
        except BadLine:
            nearly = nearly or _is_nearly(record)
            continue
        return 2
    return int(promised or nearly)


def _is_nearly(record: dict[str, object]) -> bool:
    """Whether an object is meant to be an event, whatever is wrong with it."""
    if len(record.keys() & {"process", "seq", "kind"}) > 1:
        return True
    return "process" in record and not record.keys().isdisjoint(_SAYING) and record.keys() <= FIELDS


def _completed(record: dict[str, object]) -> dict[str, object]:
    """An object that leaves something out as an event that does not. Raises `BadLine`."""
    if record.keys().isdisjoint(("seq", "kind", "label", "to")) and not record.keys().isdisjoint(_OF_LOGGERS):
        raise BadLine("a line of an ordinary log")
    kind = _kind(record)
    return {**record, "seq": record.get("seq", 1), "kind": kind or "receive"}


def why_no_event(record: dict[str, object]) -> str:
    """What is wrong with an object as an event of this format.

    >>> why_no_event({"host": "a", "label": "x"})
    '`process` is missing; did you mean it by `host`?'
    """
    try:
        event_of(_completed(record), "", 0)
    except BadLine as fault:
        return str(fault)
    return "nothing is wrong"


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`, repeated positions too.

    Where a process is at its first position again with another event, another execution begins.
    """
    if options.pattern is not None:
        raise TextError("a pattern is of no use for a trace in JSON lines", file=file)
    left_out = options.one(LeftOut, report)
    known = left_out.fields
    counts, waiting = left_out.counts, left_out.waiting  # mostly empty, which costs nothing then
    known.update(FIELDS, ("links", "counted", "origin", "life"))
    for number, text in stream:
        if not text or text.isspace():
            continue
        try:
            record = json_object(text, FIELDS)
            if "life" in record:
                options.one(Lives, report).settle(record, file, number)
            if "stamp" in record:
                _make_exact(record, text)
            if "seq" in record and "kind" in record:
                event = event_of(record, file, number)
                if counts:
                    left_out.check_stated(event.process, event.trace, file)
            else:
                event = _event_of_less(record, file, number, left_out)
        except BadLine as fault:
            lost = max(1, text.count('"process"'))  # a damaged line end makes one line of two
            detail = why_bad(fault, stream.cut_off)
            report.add("bad-line", detail, file=file, line=number, lost=lost, lines=1)
            continue
        if event.attributes is not record.get("attributes", NOTHING) and not record.keys() <= known:
            check_names(record, known, report, file, number)
        if type(event.name) is Counted:
            event = of_copy(event, stream.file, options)
        if (placed := in_execution(event, options, report)) is None:
            continue
        event = placed
        if event.message is not None and left_out.remembers:
            left_out.remember(event)
        if waiting or not event.kind:
            yield from left_out.settled(event)
        else:
            yield event


def _event_of_less(record: dict[str, object], file: str, line: int, left_out: LeftOut) -> TraceEvent:
    """The event of an object that leaves out `seq` or `kind`; a kind that only others tell is ``""``.

    Raises `BadLine` where what is there does not make its meaning plain.
    """
    kind = _kind(record)
    event = event_of({"seq": 1, **record, "kind": kind or "receive"}, file, line)
    if "seq" not in record:
        event.process, event.seq = left_out.place(event.process, event.trace, file, line)
        event.numbered = True
    else:
        left_out.check_stated(event.process, event.trace, file)
    if "kind" not in record:
        left_out.remember_all()
    event.kind = kind
    return event


def _kind(record: dict[str, object]) -> str:
    """The kind of an event that may leave it out; ``""`` where its message is sent or received."""
    if "process" not in record:
        raise _wrong(record, "process", "some text")
    if "kind" in record:
        return cast(str, record["kind"])
    if record.keys().isdisjoint(_SAYING):
        called = [name for field in _SAYING if (name := meant(record, field))]
        hint = f"; is it `{called[0]}`?" if called else ""
        raise BadLine(f"an event has one of `kind`, `message` and `label`{hint}")
    if record.get("to") and record.get("message") is None:
        raise BadLine("`to` says that a message is sent, but `message` is missing")
    if record.get("message") is None:
        return "internal"
    return "send" if record.get("to") else ""


def of_copy(event: TraceEvent, file: str, options: Options) -> TraceEvent:
    """An event whose name was counted when a log was copied: in a second copy the same name is another's."""
    copies: list[str] = options.shared(COPIES, list)
    if file not in copies:
        copies.append(file)
    if file == copies[0]:
        return event
    where = f" ({file if copies[0].endswith(os.path.basename(file)) else os.path.basename(file)})"
    process, name = event.process + where, Counted(f"{event.name}{where}")
    return replace(event, process=process, name=name, after=tuple(f"{one}{where}" for one in event.after))


def in_execution(event: TraceEvent, options: Options, report: Report) -> TraceEvent | None:
    """The event, in an execution of its own from where on a process of its execution begins again.

    It does where it stands at a position once more with another message, label or name, or at its first one
    with anything else. So it is where a log of several runs does not name them. An execution that has the
    name which was made for another gets one of its own. None where the event stands there already, which
    is reported.
    """
    again = options.again
    trace = again.get(event.trace, event.trace) if again else event.trace
    named_so = trace == event.trace and trace in options.made
    taken = options.positions[trace, event.process]
    first, digest = taken.stands, hash((event.message, event.label, event.name)) | 1
    if named_so or (
        first is not None
        and taken.top >= event.seq
        and (
            first != (event if event.kind else replace(event, kind=first.kind))
            if event.seq == taken.lowest
            else taken.differs(event.seq, digest)
        )
    ):
        message = f"{event.process} begins again with another event {event.seq}: another execution begins"
        if named_so:
            message = f"{trace} is what an execution is called that began again: another one begins"
        report.add("restart", message, file=event.file, line=event.line)
        again[event.trace] = trace = options.begin(event.trace, behind=True)
        options.made.add(trace)
        taken = options.positions[trace, event.process]
    if taken.stands is None or event.seq < taken.lowest:
        taken.lowest, taken.stands = event.seq, event
        if trace is not None:
            options.names.setdefault(trace, 1)
    if trace != event.trace:
        event = replace(event, trace=trace)
    if taken.add(event.seq, digest):
        return event
    message = f"{event.process} has an event {event.seq} already"
    report.add("duplicate-event", message, file=event.file, line=event.line, lost=1, lines=1)
    return None


def event_stated(record: dict[str, object], file: str, line: int) -> TraceEvent:
    """The event that a record states, as a line of JSON or a row of a table. Raises `TextError`."""
    try:
        return event_of(record, file, line)
    except BadLine as fault:
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
    return json_text(record_stating(event)) + "\n"


def record_stating(event: TraceEvent) -> dict[str, object]:
    """An event as an object of this format, without what is not known."""
    record: dict[str, object] = {} if event.trace is None else {"trace": event.trace}
    record.update(process=event.process, seq=event.seq, kind=event.kind)
    optional = (
        ("id", event.name),
        ("message", event.message),
        ("to", event.to or None),
        ("clock", event.clock),
        ("stamp", [*map(in_json, event.stamp)] if isinstance(event.stamp, tuple) else event.stamp),
        ("label", event.label),
        ("attributes", event.attributes or None),
        ("after", event.after or None),
        ("links", event.links or None),
        ("counted", event.counted or None),
        ("origin", event.origin),
    )
    record.update((name, value) for name, value in optional if value is not None)
    return record


def event_of(record: dict[str, object], file: str, line: int) -> TraceEvent:
    """The event that an object of this format is. Raises `BadLine`."""
    get = record.get
    process, seq, kind = get("process"), get("seq"), get("kind")
    if type(process) is not str or not process:
        raise _wrong(record, "process", "some text")
    if type(seq) is not int or not 1 <= seq <= LARGEST:
        raise _wrong(record, "seq", "a whole number from 1")
    if type(kind) is not str or kind not in KINDS:
        raise _wrong(record, "kind", f"one of {', '.join(sorted(KINDS))}")
    clock = get("clock")
    if clock is not None and (clock := as_clock(clock)) is None:
        raise _wrong(record, "clock", "an object from processes to whole numbers from 0")
    attributes = get("attributes")
    if attributes is None:
        attributes = NOTHING
    elif type(attributes) is not dict:
        raise _wrong(record, "attributes", "an object")
    message = _text(record, "message") if "message" in record else None
    name = _text(record, "id") if "id" in record else None
    counted: list[str] = []
    own = True
    links: tuple[str, ...] = ()
    if not record.keys() <= FIELDS:
        counted = _counted(record)
        if message is not None and "message" in counted:
            message = Counted(message)
        if name is not None and "id" in counted:
            name = Counted(name)
        more = {key: value for key, value in record.items() if key not in FIELDS}
        if counted:
            del more["counted"]
        if "links" in more and _are_links(more["links"], record.get("after")):
            links = tuple(map(intern, cast(list[str], more.pop("links"))))
        if "origin" in more and (place := _place(more["origin"])) is not None:
            file, line = place
            own = False
            del more["origin"]
        attributes = {**attributes, **more} if more else attributes
    return TraceEvent(
        intern(process),
        seq,
        intern(kind),
        message,
        _names(record, "to", "processes") if "to" in record else (),
        clock,
        _stamp(record) if "stamp" in record else None,
        _text(record, "label", empty=True) if "label" in record else None,
        attributes,
        _text(record, "trace") if "trace" in record else None,
        name,
        _names(record, "after", "events") if "after" in record else (),
        file,
        line,
        "seq" in counted,
        own,
        links,
    )


def _make_exact(record: dict[str, object], text: str) -> None:
    """Read the stamp of a line again, in exact numbers; all others stay as they are read fastest."""
    stamp = record["stamp"]
    if type(stamp) is list and float in map(type, stamp):
        try:
            record["stamp"] = json.loads(text, parse_float=number_or_infinity)["stamp"]
        except ValueError as fault:
            raise BadLine(str(fault)) from None


def _counted(record: dict[str, object]) -> list[str]:
    """The fields that a reader counted; none where `counted` says something else of the event."""
    counted = record.get("counted")
    return counted if type(counted) is list and counted and all(name in COUNTED for name in counted) else []


def _are_links(links: object, after: object) -> bool:
    """Whether a field says what each link is called."""
    return (
        type(links) is list
        and type(after) is list
        and len(links) == len(after) == len(set(map(str, after)))
        and all(type(link) is str and link for link in links)
    )


def _place(origin: object) -> tuple[str, int] | None:
    """The file and line that a copy says an event was read from; None where it says something else."""
    if type(origin) is list and len(origin) == 2:
        file, line = origin
        if type(file) is str and file and type(line) is int and 0 < line <= LARGEST:
            return intern(file), line
    return None


def _text(record: dict[str, object], name: str, empty: bool = False) -> str | None:
    value = record.get(name)
    if value is None or (type(value) is str and (value or empty)):
        return value
    raise _wrong(record, name, "text" if empty else "some text")


def _names(record: dict[str, object], field: str, what: str) -> tuple[str, ...]:
    value = record.get(field)
    if value is None:
        return ()
    if type(value) is list and all(type(name) is str and name for name in value):
        return tuple(dict.fromkeys(value))
    raise _wrong(record, field, f"a list of {what}")


def _stamp(record: dict[str, object]) -> Stamp | None:
    value = record.get("stamp")
    if value is None or (type(value) is int and 0 <= value <= LARGEST):
        return value
    if (
        type(value) is list
        and len(value) == 2
        and all(type(bound) in (int, float, Decimal) for bound in value)
    ):
        earliest, latest = value
        if -LARGEST <= earliest <= latest <= LARGEST:
            return of_float(earliest), of_float(latest)
    raise _wrong(record, "stamp", "a whole number from 0 or [earliest, latest]")


def _wrong(record: dict[str, object], name: str, expected: str) -> BadLine:
    if name not in record:
        called = meant(record, name)
        return BadLine(f"`{name}` is missing" + (f"; did you mean it by `{called}`?" if called else ""))
    value, shown = record[name], json_text(record[name])
    detail = f"`{name}` must be {expected}, not {shown if len(shown) <= 40 else shown[:39] + '…'}"
    like = get_close_matches(value.lower(), KINDS, n=1) if name == "kind" and type(value) is str else ()
    return BadLine(detail + (f"; did you mean {json_text(like[0])}?" if like else ""))


def check_names(record: dict[str, object], known: set[str], report: Report, file: str, line: int) -> None:
    """Report each field that is not known and like one that is, once."""
    for name in record.keys() - known:
        known.add(name)
        like = get_close_matches(name, FIELDS - record.keys(), n=1, cutoff=0.8)
        if like and like[0][0] == name[0]:
            detail = f"`{name}` is no field of an event, and kept as an attribute; did you mean `{like[0]}`?"
            report.add("misnamed-field", detail, file=file, line=line, fatal=False)


def meant(record: dict[str, object], name: str) -> str | None:
    """The field of an object that is meant where another one is missing: one like it, or called so
    elsewhere.
    """
    others = [other for other in record if other not in FIELDS]
    called = [other for other in others if other.lower() in _CALLED.get(name, ())]
    return next(iter(get_close_matches(name, others, n=1, cutoff=0.7) or called), None)
