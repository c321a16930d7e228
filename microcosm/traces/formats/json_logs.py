"""Plain logs in JSON, an object a line: structlog, loguru, Python's logging and its like, journald, Docker.

What each format calls the text, the time and the process of an event stands in its function; all else that
it says becomes attributes. A number of an operating system's process stands in brackets behind the name,
`app[4711]`; where no field names the process its file does. The log of a container has a chain for each of
its streams, for nothing orders what it wrote to one among what it wrote to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.plain_log import (
    Named,
    PlainLine,
    field_of,
    first,
    names_message,
    possible,
    process_of,
    read_lines,
    with_message,
)
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines, NotJson, any_object, json_object, why_bad

Fields = dict[str, object]

_OF_SERILOG = ("@m", "RenderedMessage", "@mt", "MessageTemplate")
_TEXTS = ("message", "msg", "text", "log", "@message", "fields.message", "short_message", *_OF_SERILOG)
_TIMES = ("time", "timestamp", "@timestamp", "asctime", "ts", "t", "datetime", "date", "@t", "Timestamp")
_LEVELS = ("level", "levelname", "severity", "log_level", "lvl", "log.level", "@level", "@l", "Level")
_LOGGERS = ("logger", "logger_name", "name", "loggerName", "caller", "funcName", "lineno")
_PIDS = ("pid", "process", "process_id", "process.pid", "ProcessId", "Properties.ProcessId")
PRIORITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")


def detects(marks: Callable[[Fields], bool]) -> Callable[[str, str], int]:
    """How a format of this kind is told: 2 where a line near the beginning is an object with its marks."""
    return lambda head, path: 2 * any_object(head, marks)


def read(
    fields_of: Callable[[Fields, Named], PlainLine],
    stream: Lines,
    file: str,
    report: Report,
    options: Options,
) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`, text as `unparsed-text`."""

    def line_of(text: str, named: Named) -> PlainLine | None:
        if not text.lstrip().startswith("{"):
            return None
        try:
            return fields_of(json_object(text), named)
        except NotJson as fault:
            raise BadLine(why_bad(fault, stream.cut_off)) from None

    return read_lines(stream, file, report, options, line_of)


# -- journald: `journalctl -o json` --------------------------------------------------------------------------


def is_journald(record: Fields) -> bool:
    """Whether an object is an entry of journald's journal."""
    return "__REALTIME_TIMESTAMP" in record and ("__CURSOR" in record or "_BOOT_ID" in record)


def journald(record: Fields, named: Named) -> PlainLine:
    """An entry: a chain for each process of a host."""
    if "MESSAGE" not in record:
        raise BadLine("`MESSAGE` is missing")
    who = first(record, ("SYSLOG_IDENTIFIER", "_COMM", "_SYSTEMD_UNIT", "_TRANSPORT")) or named()
    pid = first(record, ("_PID", "SYSLOG_PID"))
    host = first(record, ("_HOSTNAME",))
    more = {name: value for name, value in record.items() if not name.startswith("__") and name != "MESSAGE"}
    priority = first(record, ("PRIORITY",))
    if priority.isdigit() and int(priority) < len(PRIORITIES):
        more["level"] = PRIORITIES[int(priority)]
    process = f"{host}/{who}" if host else who
    text = _journal_text(record["MESSAGE"])
    return PlainLine(f"{process}[{pid}]" if pid else process, text, record.get("__REALTIME_TIMESTAMP"), more)


def _journal_text(value: object) -> str:
    """A field of the journal as text: one that is none is a list of bytes."""
    if type(value) is list and all(type(one) is int and 0 <= one < 256 for one in value):
        return bytes(value).decode("utf-8", "replace")
    return value if type(value) is str else "" if value is None else str(value)


# -- Docker's `json-file` ------------------------------------------------------------------------------------


def is_docker(record: Fields) -> bool:
    """Whether an object is a line that a container wrote."""
    return {"log", "stream"} <= record.keys() and record["stream"] in ("stdout", "stderr")


def docker(record: Fields, named: Named) -> PlainLine:
    """A line of a container, which its file names unless fields do. A long line is in parts, all but the
    last without its end.
    """
    text, stream = record.get("log"), record.get("stream")
    if type(text) is not str or type(stream) is not str:
        raise BadLine("not a line of a container: `log` and `stream` are expected")
    more: Fields = {name: value for name, value in record.items() if name != "log"}
    time = _time(more)
    if not text.endswith("\n"):
        more["partial"] = True
    return PlainLine(of_stream(process_of(record, named), stream), text.rstrip("\r\n"), time, more)


def of_stream(container: str, stream: str) -> str:
    """The process that writes to a stream of a container, whose 64 digits are cut to 12.

    >>> of_stream("0123456789abcdef" * 4, "stdout"), of_stream("web", "stderr")
    ('0123456789ab', 'web/stderr')
    """
    if len(container) == 64 and all(sign in "0123456789abcdef" for sign in container):
        container = container[:12]
    return container if stream == "stdout" else f"{container}/{stream}"


# -- loguru, `serialize=True` --------------------------------------------------------------------------------


def is_loguru(record: Fields) -> bool:
    """Whether an object is what loguru makes of a record."""
    inner = record.get("record")
    return "text" in record and type(inner) is dict and {"message", "level", "time"} <= inner.keys()


def loguru(record: Fields, named: Named) -> PlainLine:
    """A record of loguru; what was bound to it (`extra`) stands among its attributes."""
    inner = record.get("record")
    if type(inner) is not dict or type(inner.get("message")) is not str:
        raise BadLine("not a record of loguru: `record` with a `message` is expected")
    extra = inner.get("extra")
    more: Fields = dict(extra) if type(extra) is dict else {}
    for name in ("level", "thread", "process", "file"):
        value = inner.get(name)
        if type(value) is dict and value.get("name") is not None:
            more.setdefault(name, value["name"])
    for name in ("name", "module", "function", "line", "exception"):
        if inner.get(name) is not None:
            more.setdefault("logger" if name == "name" else name, inner[name])
    time, process = inner.get("time"), inner.get("process")
    pid = process.get("id") if type(process) is dict else None
    when = (time.get("timestamp") or time.get("repr")) if type(time) is dict else None
    return PlainLine(f"{named()}[{pid}]" if pid else named(), inner["message"], when, more)


# -- structlog, and loggers that call the text `message` or `msg` --------------------------------------------


def is_structlog(record: Fields) -> bool:
    """Whether an object is what structlog renders: an `event` in words, and a level, a logger or a time."""
    return type(record.get("event")) is str and _is_of_logger(record, (*_LEVELS, *_TIMES, "logger"))


def structlog(record: Fields, named: Named) -> PlainLine:
    """An event of structlog. Fields may say that it sends or receives a message, as in the own format."""
    return _logged(record, "event", named)


def is_logging(record: Fields) -> bool:
    """Whether an object is a line of a logger: of Python's logging, pino, bunyan, zap, slog, Serilog."""
    text = _text(record)
    alone = record.keys() <= {"message", "exc_info", "taskName"}
    return text is not None and (alone or _is_of_logger(record, (*_LEVELS, *_TIMES, *_LOGGERS)))


def logging(record: Fields, named: Named) -> PlainLine:
    """A line of a logger."""
    text = _text(record)
    if text is None:
        raise BadLine(f"none of {', '.join(_TEXTS)} is a text")
    return _logged(record, text, named)


def _text(record: Fields) -> str | None:
    """The field that has the text of a line; `message` only where it does not name one that is sent."""
    may_be = possible(_TEXTS, tuple(record))
    texts = [name for name in may_be if type(field_of(record, name)) is str]
    if len(texts) > 1 and texts[0] == "message" and names_message(record):
        return texts[1]
    return next(iter(texts), None)


_OF_OTHERS = ("traceId", "traceID", "spanId", "ph")


def _is_of_logger(record: Fields, names: tuple[str, ...]) -> bool:
    """Whether one of some fields is there, and a level or none that stands in formats of other things."""
    keys = record.keys()
    alone = keys.isdisjoint(_OF_OTHERS) or not keys.isdisjoint(_LEVELS)
    return alone and not keys.isdisjoint(names)


def _logged(record: Fields, text: str, named: Named) -> PlainLine:
    label = field_of(record, text)
    if type(label) is not str:
        raise BadLine(f"`{text}` must be text")
    more = {name: value for name, value in record.items() if name != text}
    time, process = _time(more), process_of(record, named)
    may_be = possible(_PIDS, tuple(record))
    pid = next((pid for name in may_be if type(pid := field_of(record, name)) is int), None)
    line = PlainLine(process if pid is None else f"{process}[{pid}]", label, time, more)
    return line if text == "message" else with_message(line, more)


def _time(more: Fields) -> object:
    """The time among some fields, which lose it."""
    return next((more.pop(name) for name in _TIMES if name in more), None)
