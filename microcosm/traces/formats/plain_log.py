"""What all plain logs have in common: a chain a process, and no message unless fields say so.

A plain log has neither positions nor clocks: the lines of a process stand in the order in which it wrote
them. That is taken for granted; where the times of a process go back it is told (`clock-inversion`), and a
line that stands in another file as well, or behind a line of a later time, is the same line told again. The
lines of one file say nothing of the order of those in another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from microcosm.errors import TraceError
from microcosm.traces.event import KINDS, LARGEST, NOTHING, TraceEvent, writable
from microcosm.traces.formats.jsonl import in_execution
from microcosm.traces.options import LeftOut, Options
from microcosm.traces.report import Report
from microcosm.traces.text import records
from microcosm.traces.text.lines import BadLine, Lines
from microcosm.traces.text.records import Boundary, Delimiter

PATTERN = "plain"
"""The format that a pattern without a clock describes."""

KIND_WORDS = {
    **{kind: kind for kind in KINDS},
    **dict.fromkeys(("sent", "sends", "sending", "snd", "tx", "->", "!", ">"), "send"),
    **dict.fromkeys(("recv", "received", "receives", "receiving", "rcv", "rx", "<-", "?", "<"), "receive"),
    **dict.fromkeys(("delivered", "delivers"), "deliver"),
    **dict.fromkeys(("local", "event"), "internal"),
}
"""The words by which a log says whether it sends or receives."""


@dataclass(slots=True)
class PlainLine:
    """An event as a plain log shows it. `process` is empty where its file stands for it.

    `kind`, `message`, `to` and `seq` are what fields say of them, mostly nothing.
    """

    process: str
    label: str
    time: object = None
    attributes: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    kind: str = ""
    message: str | None = None
    to: tuple[str, ...] = ()
    seq: int | None = None


Named = Callable[[], str]
"""What the process is called that a file stands for."""

NAMING = (
    ("hostname", "host", "host.name", "host.hostname", "MachineName", "Properties.MachineName"),
    ("node",),
    ("kubernetes.namespace_name", "kubernetes.namespace"),
    ("kubernetes.pod_name", "kubernetes.pod.name"),
    (
        *("kubernetes.container_name", "kubernetes.container.name"),
        *("container_id", "container.id", "container_name", "container.name"),
    ),
    ("service", "service.name", "app", "application", "Application", "Properties.Application"),
    ("process",),
)
"""The fields that name a process, from the outside in: of each group the first that a line has."""

PASSED_OVER = PlainLine("", "")
"""What a line is that says nothing and is no fault: the names of columns."""


def field_of(fields: dict[str, Any], name: str, take: Callable[..., object] = dict.get) -> object:
    """A field of an object, or None; `host.name` is also the `name` in an object `host`.

    >>> field_of({"host": {"name": "web"}}, "host.name"), field_of({"host.name": "web"}, "host.name")
    ('web', 'web')
    """
    value = take(fields, name, None)
    if value is not None or "." not in name:
        return value
    outer, _, inner = name.partition(".")
    within = fields.get(outer)
    return field_of(within, inner) if type(within) is dict else None


def first(fields: dict[str, Any], names: Iterable[str], take: Callable[..., object] = dict.get) -> str:
    """The first of some fields that is a text, or nothing."""
    for name in names:
        if type(value := field_of(fields, name, take)) is str and value:
            return value
    return ""


def process_of(fields: dict[str, Any], named: Named, take: Callable[..., object] = dict.get) -> str:
    """The process that fields name, which `take` may take away; else the one that the file stands for."""
    may_be = _naming(tuple(fields))
    return "/".join([name for names in may_be if (name := first(fields, names, take))]) or named()


@lru_cache(maxsize=1024)
def possible(names: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some names of fields that lines with some keys may have: most lines of a log have the same.

    >>> possible(("host", "host.name", "node"), ("level", "host"))
    ('host', 'host.name')
    """
    there = {*keys}
    return tuple(name for name in names if name in there or name.partition(".")[0] in there)


@lru_cache
def _naming(keys: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The names of `NAMING` that lines with some keys may have."""
    return [may_be for names in NAMING if (may_be := possible(names, keys))]


class PlainLog:
    """The files of a plain log on their way to events. Memory: a number for each line that has a time."""

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._left_out = options.one(LeftOut, report)
        self._trace: str | None = None
        self._any = False
        self._latest: dict[tuple[str, str], tuple[str, float]] = {}
        """The latest time of each process, by file."""
        self._reported: dict[int, str] = {}
        """The file of each line that has a time, by process and text."""
        self._again = False
        """Whether the line before was one told again."""
        self._stems: dict[str, str] = {}

    def begin(self, boundary: Boundary) -> None:
        """What follows is another execution. Before the first event that is said of a name only."""
        if self._any or boundary.name is not None:
            self._trace = self._options.begin(boundary.name, behind=self._any)
        self._any = False
        self._latest = {}
        self._again = False

    def events(self, plain: PlainLine, text: str, file: str, line: int) -> Iterable[TraceEvent]:
        """The event of a line that is `text`, and those that waited for it. Raises `BadLine`."""
        process = plain.process or self.named_by(file)
        if not (plain.label.isascii() and process.isascii()) and not writable(process + plain.label):
            raise BadLine("half of a surrogate pair is no text")
        if plain.message is None and (plain.to or plain.kind not in ("", "internal")):
            what = "`to`" if plain.to else f"`{plain.kind}`"
            raise BadLine(f"{what} says that there is a message, but `message` is missing")
        if plain.time is not None and self._is_repeated(process, plain.time, text, file, line):
            return ()
        self._any = True
        if plain.seq is None:
            process, seq = self._left_out.place(process, self._trace, file, line)
        else:
            seq = plain.seq
            process = self._left_out.place_stated(process, self._trace, seq, file, line)
        kind = plain.kind or ("internal" if plain.message is None else "send" if plain.to else "")
        if not kind:
            self._left_out.remember_all()
        more = plain.attributes if plain.time is None else {**plain.attributes, "time": plain.time}
        event = TraceEvent(
            process,
            seq,
            kind,
            plain.message,
            plain.to,
            label=plain.label,
            attributes=more,
            trace=self._trace,
            file=file,
            line=line,
            numbered=plain.seq is None,
        )
        if event.numbered:
            self._options.positions[event.trace, process].add(seq)
        elif (placed := in_execution(event, self._options, self._report)) is None:
            return ()
        else:
            event = placed
        self._left_out.remember(event)
        return self._left_out.settled(event)

    def named_by(self, file: str) -> str:
        """The process that a file stands for: its name without ending, and its folder where that is needed.

        >>> log = PlainLog(Report(), Options())
        >>> [log.named_by(name) for name in ("a/bob.log", "<stdin>", "c.jsonl.gz", "b/bob.log")]
        ['bob', 'stdin', 'c', 'b/bob']
        """
        if file not in self._stems:
            path, name = os.path.split(file)
            stem = _ENDING.sub("", name).strip("<>") or name
            if stem in self._stems.values():
                folder = os.path.basename(path)
                longer = f"{folder}/{stem}"
                stem = longer if folder and longer not in self._stems.values() else file
            self._stems[file] = stem
        return self._stems[file]

    def _is_repeated(self, process: str, time: object, text: str, file: str, line: int) -> bool:
        """Whether a line stands in the log already; a time that goes back otherwise is reported."""
        now = instant(time)
        if now is None:
            return False
        key = hash((self._trace, process, text))
        first = self._reported.get(key)
        place = file, process
        before = self._latest.get(place)
        back = before is not None and _is_before(now, before)
        if first is not None and (back or first != file or (self._again and now == before)):
            self._again = True
            detail = f"{process}: the same line stands there already"
            self._report.add("duplicate-event", detail, file=file, line=line, lost=1, lines=1)
            return True
        self._reported[key] = file
        self._again = False
        if back:
            detail = f"{process}: its time is before that of a line above it; the lines are its order"
            self._report.add("clock-inversion", detail, file=file, line=line)
        else:
            self._latest[place] = now
        return False


_ENDING = re.compile(
    r"(?:-json)?(?:\.(?:log|txt|jsonl?|ndjson|csv|tsv|edn|out|err|gz|bz2|xz|zst))+(?:\.\d+)?$", re.IGNORECASE
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_OF_YEAR = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d(?:\.\d+)?)$")
_KLOG = re.compile(r"(\d\d)(\d\d) (\d\d):(\d\d):(\d\d\.\d+)$")
_OF_DAY = re.compile(r"(\d\d):(\d\d):(\d\d(?:[.,]\d+)?)$")
_NUMBER = re.compile(r"\d{1,20}(?:\.\d+)?$")
_DAY = 86_400.0


def instant(time: object) -> tuple[str, float] | None:
    """A time as a log has it, to be compared with others of its form; None for what is none.

    >>> instant("2024-01-02T03:04:05Z"), instant("Jan  2 00:00:01"), instant("00:01:00,5"), instant("now")
    (('date', 1704164645.0), ('year', 86401.0), ('day', 60.5), None)
    """
    if type(time) is float or (type(time) is int and abs(time) < 2**1000):
        return "number", float(time)
    if type(time) is not str:
        return None
    text = time.strip("[] ")
    if text[4:5] in ("-", "/") and (date := _date(text)) is not None:
        return date
    if _NUMBER.match(text):
        return "number", float(text)
    if found := _OF_DAY.match(text):
        hours, minutes, seconds = found.groups()
        return "day", int(hours) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
    found = _OF_YEAR.match(text) or _KLOG.match(text)
    if found and (found[1].isdigit() or found[1] in _MONTHS):
        month = int(found[1]) - 1 if found[1].isdigit() else _MONTHS.index(found[1]) // 3
        day, hours, minutes = map(int, found.groups()[1:4])
        return "year", (month * 31 + day - 1) * _DAY + hours * 3600 + minutes * 60 + float(found[5])
    return _date(text)


def _date(text: str) -> tuple[str, float] | None:
    try:
        date = datetime.fromisoformat(text.replace("/", "-"))
    except ValueError:
        return None
    if date.tzinfo is not None:
        return "date", date.timestamp()
    return "local date", date.replace(tzinfo=UTC).timestamp()


_AROUND = {"day": _DAY / 2, "year": 186 * _DAY}
"""Times without a day or year begin again: a step back by more than so much is one ahead."""


def _is_before(now: tuple[str, float], then: tuple[str, float]) -> bool:
    return now[0] == then[0] and 0 < then[1] - now[1] < _AROUND.get(now[0], float("inf"))


def delimiter_of(options: Options) -> Delimiter:
    """What tells the lines between executions: the user's expression, or a line `=== a name ===`."""
    if options.delimiter is None:
        return records.USUAL
    return Delimiter(records.compiled(options.delimiter, "--delimiter"), explicit=True)


FOLLOWING = "following"
"""The attribute of an event that is the text of the lines behind its own which belong to no record."""


class _Taken:
    """The lines of a file on their way to events, each with what follows on it, as a traceback does.

    These are reported as well (`unparsed-text`): they may be events that nobody could read.
    """

    def __init__(self, log: PlainLog, file: str, report: Report) -> None:
        self._log, self._file, self._report = log, file, report
        self.unread = records.Unread(file, report)
        self._held: tuple[PlainLine, str, int] | None = None
        self._following: list[str] = []

    def take(self, plain: PlainLine, text: str, line: int) -> Iterable[TraceEvent]:
        """The event of the line before; this one, which is `text`, is at hand from now on."""
        before = self.end()
        self._held = plain, text, line
        return before

    def follow(self, line: int, text: str) -> None:
        """A line that belongs to no record follows on the one at hand."""
        if self.unread.add(line, text) and len(self._following) < records.SPAN:
            self._following.append(text)

    def end(self) -> Iterable[TraceEvent]:
        """The event of the line at hand: what comes next does not follow on it."""
        held, self._held = self._held, None
        found: Iterable[TraceEvent] = ()
        if held is not None:
            plain, text, line = held
            if self._following:
                plain.attributes = {FOLLOWING: "\n".join(self._following), **plain.attributes}
            try:
                found = self._log.events(plain, text, self._file, line)
            except BadLine as fault:
                self._report.add("bad-line", str(fault), file=self._file, line=line, lost=1, lines=1)
        self._following.clear()
        self.unread.end()
        return found


def read_lines(
    stream: Iterable[tuple[int, str]],
    file: str,
    report: Report,
    options: Options,
    line_of: Callable[[str, Named], PlainLine | None],
) -> Iterator[TraceEvent]:
    """The events of a file with one a line; `line_of` gives None for what belongs to none.

    It is given a line, and how to call the process that the file stands for. What it refuses (`BadLine`) is
    reported as `bad-line`.
    """
    log, delimiter = options.one(PlainLog, report), delimiter_of(options)
    taken, named = _Taken(log, file, report), partial(log.named_by, file)
    for number, text in stream:
        if not text or text.isspace():
            continue
        boundary, fault = delimiter.at(number, text) if delimiter.explicit else None, None
        if boundary is None:
            try:
                plain = line_of(text, named)
                if plain is PASSED_OVER:
                    continue
                if plain is not None:
                    yield from taken.take(plain, text, number)
                    continue
            except BadLine as refused:
                fault = refused
            boundary = delimiter.at(number, text)
        if boundary is not None:
            yield from taken.end()
            log.begin(boundary)
        elif fault is not None:
            yield from taken.end()
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
        else:
            taken.follow(number, text)
    yield from taken.end()


def read_pattern(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file whose records `--pattern` describes, without clocks; text between them is
    reported.

    The groups `host` (or `process`), `event`, `message`, `to`, `kind`, `seq` and `time` are what they are
    called, all others attributes; without a process the file is one. Raises `TraceError` where no record is.
    """
    if options.pattern is None:
        hint = "It is read by --pattern '(?<time>\\S+) (?<host>\\S+) (?<event>.*)', as its lines may be."
        raise TraceError("a plain log needs a pattern", file=file, hint=hint)
    expression = records.plain_pattern(options.pattern)
    log, any_record = options.one(PlainLog, report), False
    taken = _Taken(log, file, report)
    for item in records.matched(expression, iter(stream), delimiter_of(options), records.plain_record):
        if isinstance(item, records.Left):
            if item.text and not item.text.isspace():
                taken.follow(item.line, item.text)
            continue
        if isinstance(item, Boundary):
            yield from taken.end()
            log.begin(item)
            continue
        assert isinstance(item, records.Record)
        any_record = True
        try:
            plain = of_groups(item.host, item.label, {**item.attributes})
        except BadLine as fault:
            yield from taken.end()
            report.add("bad-line", str(fault), file=file, line=item.line, lost=1, lines=1)
            continue
        yield from taken.take(plain, repr((item.host, item.label, item.attributes)), item.line)
        if item.bare:
            message = "the group `event` took nothing of the line (does the pattern end with $?)"
            report.add("no-text", message, file=file, line=item.line)
    yield from taken.end()
    if not any_record and taken.unread.first is not None:
        hint = f"A pattern that would read its first line: --pattern '{records.guessed(stream.head)}'"
        raise TraceError(
            "the pattern matches no record in the whole text", file=file, line=taken.unread.first, hint=hint
        )


_GROUPS = ("kind", "to", "seq", "message", "time")
"""The groups that are no attributes, nor who did what."""


def of_groups(process: str, label: str, groups: dict[str, object]) -> PlainLine:
    """The line that named texts make; those of other names become attributes. Raises `BadLine`."""
    for known in ("host", "process", "event"):
        groups.pop(known, None)
    kind, to, seq, message, time = [str(groups.pop(name, "") or "").strip() for name in _GROUPS]
    if kind and kind.lower() not in KIND_WORDS:
        raise BadLine(f"`kind` must be one of {', '.join(sorted(KINDS))}, not {kind}")
    if seq and not (seq.isascii() and seq.isdigit() and len(seq) < 19 and 1 <= int(seq) <= LARGEST):
        raise BadLine(f"`seq` must be a whole number from 1, not {seq[:40]}")
    receivers = tuple(dict.fromkeys(re.split(r"[\s,;]+", to))) if to else ()
    kind, position = KIND_WORDS[kind.lower()] if kind else "", int(seq) if seq else None
    more = groups or NOTHING
    return PlainLine(
        process.strip(), label.strip(), time or None, more, kind, message or None, receivers, position
    )


def names_message(fields: Mapping[str, object]) -> bool:
    """Whether the field `message` of a line names one that is sent or received, as `to` or `kind` say."""
    if type(fields.get("message")) is not str:
        return False
    return "to" in fields or KIND_WORDS.get(str(fields.get("kind")).lower(), "internal") != "internal"


def with_message(line: PlainLine, more: dict[str, object]) -> PlainLine:
    """The line, with what its attributes say of a message that it sends or receives; they lose it.

    They do where there is a `message`, and `to` or a `kind` that is one of `KIND_WORDS`. Where the process is
    called by several fields, receivers that are called by one are not known. Raises `BadLine`.
    """
    to = more.get("to")
    if names_message(more):
        groups = {name: more.pop(name, "") for name in ("kind", "message")}
        groups["to"] = ",".join(map(str, to)) if type(to) is list else to
        more.pop("to", None)
        plain = of_groups("", "", groups)
        known = "/" not in line.process or all("/" in receiver for receiver in plain.to)
        line.kind, line.message, line.to = plain.kind, plain.message, plain.to if known else ()
    elif more.get("kind") == "internal":
        del more["kind"]
    return line
