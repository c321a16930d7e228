"""The trace that etcd's raft library logs for TLA+: one JSON object a line, in the order of time.

    {"tag": "trace", "event": {"name": "SendAppendEntriesRequest", "nid": "1", "msg": {…}, …}}

Events named `Send…` and `Receive…` have their message in `msg`, which has no id: equal contents are
told apart by their order (`microcosm.traces.content`), and reported. Lines of other tags are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from sys import intern

from microcosm.traces.content import Contents
from microcosm.traces.event import TraceEvent
from microcosm.traces.json_text import BadLine, NotJson, json_object
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options
from microcosm.traces.report import Report

NAME = "etcd"

_LOOKED_AT = 20


def detects(head: str, path: str) -> int:
    """2 where one of the first lines is an event."""
    for line in head.split("\n")[:_LOOKED_AT]:
        try:
            _event(json_object(line))
        except BadLine:
            continue
        return 2
    return 0


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`.

    Memory: two counts for each content of a message.
    """
    contents = Contents()
    for number, text in stream:
        if not text or text.isspace():
            continue
        try:
            record = json_object(text)
            name, process, event = _event(record)
            kind, content, to = _message(name, event)
        except BadLine as fault:
            unfinished = stream.cut_off and isinstance(fault, NotJson)
            reason = f"half-written last line: {fault}" if unfinished else str(fault)
            report.add("bad-line", reason, file=file, line=number, lost=1, lines=1)
            continue
        message = None
        if kind == "send":
            message = contents.sent(content)
        elif kind == "receive":
            message = contents.received(content)
        if message is not None and contents.ambiguous(content):
            told = f"{name}: {content} is sent more than once, and received"
            report.add("ambiguous-content", told, file=file, line=number)
        taken = options.positions_of(None, process)
        taken.add(taken.top + 1)
        more = {key: value for key, value in event.items() if key not in ("name", "nid")}
        if "ts" in record:
            more["ts"] = record["ts"]
        yield TraceEvent(
            process, taken.top, kind, message, to=to, label=name, attributes=more, file=file, line=number
        )


def _event(record: dict[str, object]) -> tuple[str, str, dict[str, object]]:
    """The name, the process and the fields of an event. Raises `BadLine`."""
    event = record.get("event")
    if record.get("tag") != "trace" or type(event) is not dict:
        raise BadLine('not an event: `"tag": "trace"` and an object `event` are expected')
    name, process = event.get("name"), event.get("nid")
    if type(name) is not str or type(process) is not str or not name or not process:
        raise BadLine("not an event: `name` and `nid` are expected")
    return intern(name), intern(process), event


def _message(name: str, event: dict[str, object]) -> tuple[str, str, tuple[str, ...]]:
    """The kind of an event, the content of its message, and the receiver. Raises `BadLine`."""
    kind = "send" if name.startswith("Send") else "receive" if name.startswith("Receive") else "internal"
    if kind == "internal":
        return kind, "", ()
    message = event.get("msg")
    if type(message) is not dict:
        raise BadLine(f"{name}: the message is missing")
    to = message.get("to")
    content = json.dumps(message, sort_keys=True, ensure_ascii=False)
    return kind, content, (to,) if kind == "send" and type(to) is str and to else ()
