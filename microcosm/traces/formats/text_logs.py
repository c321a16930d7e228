r"""Plain logs in text, a line an event, that are told by their beginnings: containers, syslog, loggers,
columns.

    2024-05-01T12:00:00.669794202Z stdout F started           `cri`: a container of Kubernetes
    I0501 12:00:00.678901       1 leader.go:92] elected       `klog`: a component of Kubernetes
    <34>May  1 12:00:00 web su[12]: failed                    `syslog`: RFC 3164, with or without <34>
    <165>1 2024-05-01T12:00:00Z web app 12 ID47 - started     `syslog`: RFC 5424
    time=2024-05-01T12:00:00Z level=info msg="started"        `logfmt`
    2024-05-01 12:00:00,123 [main] INFO app.Main - started    `dated`: a time and a level, as most loggers
                                                              of text write them
    web-1  | 2024-05-01 12:00:00,123 INFO started             `compose`: a container, and one of the lines
                                                              above, an object of JSON, or any text
    time,process,label                                        `csv`: columns, named in the first line, with
                                                              commas, semicolons or tabs between them

What stands in columns of other names becomes attributes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.json_logs import (
    PRIORITIES,
    is_logging,
    is_structlog,
    logging,
    of_stream,
    structlog,
)
from microcosm.traces.formats.plain_log import (
    NAMING,
    PASSED_OVER,
    Named,
    PlainLine,
    names_message,
    of_groups,
    process_of,
    read_lines,
    with_message,
)
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import LOOKED_AT, BadLine, Lines, NotJson, json_object


def _all_of(head: str, fits: Callable[[str], object]) -> bool:
    """Whether all lines at the beginning fit, but for such as a traceback has, some others that follow on one
    that does, and a last that is cut.
    """
    lines = [line for line in head.split("\n")[:LOOKED_AT] if line.strip()]
    if len(lines) > 1 and not head.endswith("\n") and len(head.split("\n")) <= LOOKED_AT:
        lines.pop()
    fitting = [fit for line in lines if (fit := bool(fits(line))) or not _TRACED(line)]
    return bool(fitting) and fitting[0] and 2 * sum(fitting) > len(fitting)


_TRACED = re.compile(
    r"\s|Traceback |Caused by: |[\w.$]+(?:Error|Exception|Throwable)\b|(?:panic|stack):|goroutine \d"
).match
"""How lines begin that a traceback has."""

Reader = Callable[[Lines, str, Report, Options], Iterator[TraceEvent]]


def _by_line(
    fits: Callable[[str], object], line_of: Callable[[str, Named], PlainLine | None]
) -> tuple[Callable[[str, str], int], Reader]:
    """How a format of lines is told, 2 where they fit; and its reader.

    A line for which that has None follows on the line above, which is reported.
    """

    def detects(head: str, path: str) -> int:
        return 2 * _all_of(head, fits)

    def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
        return read_lines(stream, file, report, options, line_of)

    return detects, read


# -- containers and components of Kubernetes -----------------------------------------------------------------

_ISO = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"
_CRI = re.compile(_ISO + r" (stdout|stderr) ([FP])(?: (.*))?")
_KLOG = re.compile(r"([IWEF])((?:\d\d)?\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(\d+) ([^\s:\]]+:\d+)\]? ?(.*)")
_SEVERITIES = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}


def _cri(text: str, named: Named) -> PlainLine | None:
    found = _CRI.fullmatch(text)
    if found is None:
        return None
    more: dict[str, object] = {"stream": found[2]}
    if found[3] == "P":
        more["partial"] = True
    return PlainLine(of_stream(named(), found[2]), found[4] or "", found[1], more)


cri = _by_line(_CRI.fullmatch, _cri)
"""Lines that begin as those of a container runtime."""


def _klog(text: str, named: Named) -> PlainLine | None:
    found = _KLOG.fullmatch(text)
    if found is None:
        return None
    severity, time, thread, source, label = found.groups()
    more: dict[str, object] = {"level": _SEVERITIES[severity], "source": source}
    return PlainLine(f"{named()}[{thread}]", label, time, more)


klog = _by_line(_KLOG.fullmatch, _klog)
"""Lines that begin as klog's and glog's."""

# -- syslog --------------------------------------------------------------------------------------------------

_OLD = re.compile(
    rf"(?:<(\d{{1,3}})>)?([A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{_ISO[1:-1]}) ([\w.:-]+) "
    r"(?:([^\s:\[\]]+)(?:\[(\d+)\])?: ?)?(.*)"
)
_STRUCTURED = r'(-|(?:\[(?:[^\]\\"]|\\.|"(?:[^"\\]|\\.)*")*\])+)'
_NEW = re.compile(r"<(\d{1,3})>[1-9]\d{0,2} (\S+) (\S+) (\S+) (\S+) (\S+) " + _STRUCTURED + r"(?: (.*))?")
_DATA = re.compile(r'(?<=\s)([^\s=]++)="((?:[^"\\]|\\.)*)"')
_LEVELS = re.compile(r"trace|debug|info|notice|warn(ing)?|err(or)?|crit(ical)?|fatal|severe", re.IGNORECASE)


def _is_syslog(text: str) -> bool:
    """Whether a line is one of syslog; a word for a level where the host should be is another log's."""
    if _NEW.fullmatch(text):
        return True
    found = _OLD.fullmatch(text)
    return found is not None and found[4] is not None and not _LEVELS.fullmatch(found[3])


def _syslog(text: str, named: Named) -> PlainLine | None:
    found = _NEW.fullmatch(text)
    if found is not None:
        priority, time, host, app, pid, identity, data, label = found.groups()
        more = _of_priority(priority)
        if identity != "-":
            more["msgid"] = identity
        more.update((name, value.replace("\\", "")) for name, value in _DATA.findall(data))
        return _of_host(host, app, pid, (label or "").removeprefix("\ufeff"), time, more)
    found = _OLD.fullmatch(text)
    if found is None:
        return None
    priority, time, host, app, pid, label = found.groups()  # without app: `last message repeated 2 times`
    return _of_host(host, app or "-", pid or "-", label, time, _of_priority(priority))


def _of_priority(text: str | None) -> dict[str, object]:
    number = int(text) if text else 192
    return {"level": PRIORITIES[number % 8], "facility": number // 8} if number < 192 else {}


def _of_host(host: str, app: str, pid: str, label: str, time: str, more: dict[str, object]) -> PlainLine:
    process = "/".join(part for part in (host, app) if part != "-") or "syslog"
    return PlainLine(
        f"{process}[{pid}]" if pid != "-" else process, label, None if time == "-" else time, more
    )


syslog = _by_line(_is_syslog, _syslog)

# -- a time and a level --------------------------------------------------------------------------------------

_DAY = r"\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d[-/.]\d{2,4}|\d{1,2}[-/\ ][A-Z][a-z]{2}[-/\ ]\d{4}"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"\ ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w)|\ [A-Z]{3,4}(?=\ \[\d)"
_STAMP = rf"(?:{_DAY})[T\ ]{_CLOCK}(?:{_ZONE})?"
_LEVEL = (
    "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|ALERT|EMERG|FATAL|SEVERE|CONFIG|FINE(?:R|ST)?"
    "|TRC|DBG|INF|WRN|FTL|LOG|DETAIL|HINT|STATEMENT|NOTE|SYSTEM|PANIC"
)
_TIME = rf"""\[?(?P<time>(?:(?:{_DAY})[T\ ])?{_CLOCK}(?:{_ZONE})?|\d{{6}}\ \d{{6}}
        |[A-Z][a-z]{{2}}\ [A-Z][a-z]{{2}}\ +\d\d?\ {_CLOCK}\ \d{{4}})\]?"""
_PIECE = re.compile(
    rf"""\s*+(?:
    {_TIME} |\[(?:\w+:)?(?P<word>(?i:{_LEVEL}))\s*\]:? |(?P<level>{_LEVEL})[\]:]?
    |\[\s*(?P<owner>[^\[\]]{{1,80}}(?:\[[^\[\]]*\][^\[\]]*)?)\] |(?P<pid>\d+)\ --- |(?P<number>\d+)
    |(?P<worker>\d+\#\d+): |<(?P<erlang>\d+\.\d+\.\d+)> |(?P<user>[\w.-]+@[\w.-]+)
    |\{{(?P<context>[^{{}}\s]*)\}}
    |<(?P<angled>Fatal|Critical|Error|Warning|Notice|Information|Debug|Trace)>
    |(?P<name>[A-Za-z][\w.$/:-]*)(?=\s+[-|]?\s*(?:{_LEVEL}|{_TIME.replace("?P<time>", "?:")})(?:\s|$)) |[-|]
    )(?=[\s\[]|$)""",
    re.VERBOSE,
)
"""What may stand before the text of a line: a time, a level, whose it is, and dashes between these."""
_SAYS = {"word": "level", "angled": "level", "name": "owner"}
_SAYS |= dict.fromkeys(("pid", "worker", "erlang"), "number")
_BEFORE = "number", "name", "user", "context"
"""What belongs to the text where time and level stand before it."""
_CALLER = re.compile(r":[\w$.]+@-?\d+$")
_NAMED = re.compile(r"((?:[\w-]+\.)*[a-z_][\w-]*): ")
"""A name that may be a host's; that of a Java class is a logger's."""


_DOTNET = re.compile(r"(?P<level>trce|dbug|info|warn|fail|crit): (?P<text>[\w.`+]+\[-?\d+\].*)")
"""A line of .NET's console: a level, the name of a logger and a number; the text is in the line below."""
_OF_ONE = [
    re.compile(rf"(?P<pid>\d+):[XCSM] (?P<time>\d\d \w{{3}} \d{{4}} {_CLOCK}) (?P<sign>[.*#-]) (?P<text>.*)"),
    re.compile(r"[DIWEFA], \[(?P<time>\S+) #(?P<pid>\d+)\] +(?P<level>[A-Z]+) -- (?P<text>.*)"),
    re.compile(rf"(?P<level>{_LEVEL}):(?P<text>[\w.]+:.*)"),
    re.compile(
        r"(?=(?:DEBUG|ERROR): {4}\S|INFO: {5}\S|WARNING: {2}\S|CRITICAL: \S)(?P<level>[A-Z]+): +(?P<text>.*)"
    ),
    re.compile(rf"\[(?P<time>{_STAMP}): (?P<level>{_LEVEL})/(?P<pid>[\w-]+)\] (?P<text>.*)"),
    re.compile(
        rf"(?P<time>{_STAMP}) pid=(?P<pid>\d+) tid=(?P<thread>\w+)(?P<pairs>(?: \w+=\S+)*)"
        rf" (?P<level>{_LEVEL}): (?P<text>.*)"
    ),
    _DOTNET,
]
"""Lines of Redis, Ruby's logger, Python's `logging` without a format, uvicorn, Celery, Sidekiq and .NET."""
_SIGNS = {".": "debug", "-": "verbose", "*": "notice", "#": "warning"}


def _of_one(text: str, process: str) -> PlainLine | None:
    """A line of one of the loggers that say a number of a process, or nothing of whose a line is."""
    found = next((found for one in _OF_ONE if (found := one.fullmatch(text))), None)
    if found is None:
        return None
    says = found.groupdict()
    called = f"{process}[{says['pid']}]" if "pid" in says else process
    level = says["level"].lower() if "level" in says else _SIGNS[says["sign"]]
    more = {"thread": says["thread"], **_pairs(says["pairs"])} if "thread" in says else {}
    return PlainLine(called, says["text"].removeprefix(": "), says.get("time"), {"level": level, **more})


def _dated(text: str, process: str) -> PlainLine | None:
    """A line with a time and a level before its text, in either order; `process` stands for its file."""
    found: dict[str, str] = {}
    at = 0
    while (piece := _PIECE.match(text, at)) is not None:
        name = piece.lastgroup
        if name is not None:
            kind = _SAYS.get(name, name)
            if kind == "owner" and "level" in found:
                kind = "inner"
            if kind in found or (name in _BEFORE and found.keys() >= {"time", "level"}):
                break
            found[kind] = piece[name]
        at = piece.end()
    if "time" not in found or "level" not in found:
        return _of_one(text, process)
    owners = [_CALLER.sub("", found.get(kind, "").strip(" :")) for kind in ("number", "owner", "inner")]
    called = process + "".join([f"[{owner}]" for owner in owners if owner])
    more: dict[str, object] = {name: found[name] for name in ("user", "context") if found.get(name)}
    return PlainLine(called, text[at:].strip(), found["time"], {"level": found["level"].lower(), **more})


def _with_texts(stream: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines, those of .NET's console with the text that stands below them."""
    held = None
    for number, text in stream:
        if held is not None and text.startswith("      "):
            yield held[0], f"{held[1]} {text.strip()}"
            held = None
            continue
        if held is not None:
            yield held
        held = (number, text) if _DOTNET.fullmatch(text) else None
        if held is None:
            yield number, text
    if held is not None:
        yield held


def detects_dated(head: str, path: str) -> int:
    """1 where lines have a time and a level before their text; a format with a mark of its own is surer."""
    return int(_all_of(head, lambda line: _dated(line, "")))


def read_dated(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file whose lines begin with a time and a level.

    What stands in brackets, as a number or a name beside these, may be a thread, a logger, a process or a
    host: nothing says which, so that the lines of each are a chain of their own. So are those that begin
    their text with one name, where most at the beginning of the file have such a name.
    """
    begun = [line for text in stream.head.split("\n")[:LOOKED_AT] if (line := _dated(text, ""))]
    named_in_text = 2 * sum(_NAMED.match(line.label) is not None for line in begun) > len(begun)

    def line_of(text: str, named: Named) -> PlainLine | None:
        line = _dated(text, named())
        if line is not None and named_in_text and (name := _NAMED.match(line.label)) is not None:
            line.process, line.label = f"{line.process}[{name[1]}]", line.label[name.end() :]
        return line

    return read_lines(_with_texts(stream), file, report, options, line_of)


# -- logfmt --------------------------------------------------------------------------------------------------

_PAIR = re.compile(r'([A-Za-z_@][\w.@/-]*+)(?:=("[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s"]*+))?(?:\s++|$)')
_TEXTS = ("msg", "message", "event")
_TIMES = ("time", "ts", "timestamp", "t", "at")
_SAID = {*_TEXTS, *_TIMES, "level", "lvl", "severity"}


def _pairs(text: str) -> dict[str, object]:
    """The pairs of a line, which begins with one; a key alone is `true`. None where it has something else."""
    found: dict[str, object] = {}
    end, text = 0, text.strip()
    for pair in _PAIR.finditer(text):
        key, value = pair.groups()
        if pair.start() != end or (value is None and not end):
            return {}
        if value is None:
            value = "true"
        elif value[:1] == '"':
            value = re.sub(r"\\(.)", r"\1", value[1:-1]) if "\\" in value else value[1:-1]
        if key not in found:
            found[key] = value
        end = pair.end()
    return found if end == len(text) else {}


def _is_logfmt(text: str) -> bool:
    """Whether a line has pairs `key=value`, some of them a logger's."""
    return len(pairs := _pairs(text)) > 1 and not _SAID.isdisjoint(pairs)


def _logfmt(text: str, named: Named) -> PlainLine | None:
    pairs = _pairs(text)
    return _of_fields(pairs, named) if pairs else None


logfmt = _by_line(_is_logfmt, _logfmt)

# -- several containers --------------------------------------------------------------------------------------

_COMPOSED = re.compile(
    r"(?:(?P<clock>\d\d:\d\d:\d\d) )?(?:(?P<who>(?:\d+\|)?[\w.@-]+) *\||\[(?P<pod>pod/[^\]\s]+)\])"
    rf"(?: (?:(?P<time>{_ISO[1:-1]})(?: |$))?(?P<wrote>.*))?"
)
_NUMBERED = re.compile(r".*[-_.]\d+|.*@.*|\d+\|.*")


def detects_compose(head: str, path: str) -> int:
    """2 where most lines at the beginning have a container or process before them, with a number, as those of
    `docker compose logs`, `docker service logs`, foreman and pm2 have, or with its pod, as those of
    `kubectl logs --prefix`.
    """
    lines = [line for line in head.split("\n")[:LOOKED_AT] if line.strip()]
    composed = [found for line in lines if (found := _COMPOSED.fullmatch(line))]
    named = sum(bool(found["pod"] or _NUMBERED.fullmatch(found["who"])) for found in composed)
    return 2 * (2 * named > len(lines))


def _composed(text: str, named: Named) -> PlainLine | None:
    """A line of a container, which is a chain: what it wrote is read as the logs of such lines are.

    Whatever fields call a process, it is the container, of which others may say the same.
    """
    found = _COMPOSED.fullmatch(text)
    if found is None:
        if text.startswith("Attaching to ") or " exited with code " in text:
            return PASSED_OVER
        raise BadLine("no container stands before it")
    process, wrote = f"{named()}[{found['who'] or found['pod']}]", found["wrote"] or ""
    time = found["time"] or found["clock"]
    line = _of_object(wrote, process)
    if line is None and _is_logfmt(wrote):
        line = _logfmt(wrote, lambda: process)
    if line is None:
        return _dated(wrote, process) or PlainLine(process, wrote.strip(), time)
    line.kind = line.kind or ("send" if line.to else "")
    line.process, line.to, line.time = process, (), line.time or time
    return line


def _of_object(text: str, process: str) -> PlainLine | None:
    """The line that an object of a logger is; None for any other text."""
    if not text.startswith("{"):
        return None
    with suppress(NotJson):
        record = json_object(text)
        for is_one, read in (is_structlog, structlog), (is_logging, logging):
            if is_one(record):
                return read(record, lambda: process)
    return None


compose = detects_compose, _by_line(_COMPOSED.fullmatch, _composed)[1]

# -- columns -------------------------------------------------------------------------------------------------

_PROCESSES = {*chain.from_iterable(NAMING)}
_LABELS = ("label", "event", "msg", "text", "content", "description", "message")
_COLUMN_TIMES = (*_TIMES, "@timestamp", "datetime", "date")
_COLUMNS = {*_PROCESSES, *_LABELS, *_COLUMN_TIMES, "kind", "to", "seq", "pid", "level"}
_NAME = re.compile(r"[A-Za-z_@][\w .@/()-]*")


def detects_csv(head: str, path: str) -> int:
    """2 where the first line names columns, among them one for what happened, and the next ones fill them."""
    lines = [line for line in head.split("\n") if line.strip()]
    sign = _separator(lines[0]) if lines else ","
    lines = [text for _, text in islice(_rows(enumerate(lines), sign), LOOKED_AT)]
    names = _cells(lines[0], sign) if lines else []
    lowered = [name.strip().lower() for name in names]
    if len(names) < 2 or len({*lowered}) < len(lowered) or not all(map(_NAME.fullmatch, names)):
        return 0
    telling = not {*_LABELS}.isdisjoint(lowered) and not {*_PROCESSES, *_COLUMN_TIMES}.isdisjoint(lowered)
    return 2 * (telling and all(len(_cells(line, sign)) == len(names) for line in lines[1:-1] or lines[1:]))


def read_csv(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file, a row each; the first names the columns."""
    header: list[str] = []
    names: list[str] = []
    sign = _separator(next((line for line in stream.head.split("\n") if line.strip()), ""))

    def line_of(text: str, named: Named) -> PlainLine | None:
        cells = [cell.strip() for cell in _cells(text, sign)]
        if not header:
            header.extend(cells)
            names.extend(name.lower() if name.lower() in _COLUMNS else name for name in header)
        if cells == header:
            return PASSED_OVER  # the first line, and where files were put together
        if len(cells) != len(header):
            if not cells:
                raise BadLine("a quoted cell does not end, or something follows it")
            raise BadLine(f"{len(cells)} cells, where the first line names {len(header)} columns")
        fields: dict[str, object] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        position = of_groups("", "", {"seq": fields.pop("seq")}).seq if "seq" in fields else None
        line = _of_fields(fields, named)
        line.seq = position
        return line

    return read_lines(_rows(stream, sign), file, report, options, line_of)


_LINES_OF_ROW = 200
"""A quoted cell may go over so many lines; one that does not end until then ends with its line."""


def _rows(lines: Iterable[tuple[int, str]], sign: str) -> Iterator[tuple[int, str]]:
    """The rows of a text, each with the number of its first line: a quoted cell may have ends of lines.

    Where one does not end, or its row has not as many cells as the first, its line and those behind it are
    rows by themselves. Memory: a row.
    """
    held: list[tuple[int, str]] = []
    width = 0
    for number, text in lines:
        held.append((number, text))
        if '"' not in text and 1 < len(held) < _LINES_OF_ROW:
            continue
        row = "\n".join(line for _, line in held)
        is_open = '"' in row and _is_open(row, sign)
        if is_open and len(held) < _LINES_OF_ROW:
            continue
        if len(held) > 1 and not is_open and len(_cells(row, sign)) == width:
            held = [(held[0][0], row)]
        width = width or len(_cells(row, sign))
        yield from held
        held = []
    yield from held


def _is_open(row: str, sign: str) -> bool:
    """Whether a row ends within a quoted cell."""
    try:
        next(csv.reader((row,), delimiter=sign, strict=True), [])
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _separator(header: str) -> str:
    """What stands between the cells of a text that begins with a line: most often in that line."""
    return max(",;\t", key=lambda sign: len(_cells(header, sign)))


def _cells(text: str, sign: str) -> list[str]:
    """The cells of a row; none where it is none."""
    try:
        return next(csv.reader((text,), delimiter=sign, strict=True), [])
    except csv.Error:
        return []


@lru_cache
def _roles(keys: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Those of some fields that may be the label, and the one that is the time: most lines have the same."""
    labels = tuple(name for name in _LABELS if name in keys)
    return labels, next((name for name in _COLUMN_TIMES if name in keys), None)


def _of_fields(fields: dict[str, object], named: Named) -> PlainLine:
    """The event that named texts are; its label is the first of those that say what happened.

    `message` names a message where `kind` or `to` says that one is sent or received. What is left of the
    fields are its attributes.
    """
    labels, time = _roles(tuple(fields))
    if labels[:1] == ("message",) and names_message(fields):
        labels = labels[1:]
    text = str(fields.pop(labels[0])) if labels else ""
    at = None if time is None else fields.pop(time)
    process = process_of(fields, named, dict.pop)
    pid = fields.pop("pid", None)
    return with_message(PlainLine(f"{process}[{pid}]" if pid else process, text, at, fields), fields)
