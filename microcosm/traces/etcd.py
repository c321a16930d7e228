"""The trace that etcd's raft library logs for TLA+: one JSON object a line, in the order of time.

    {"tag": "trace", "event": {"name": "SendAppendEntriesRequest", "nid": "1", "msg": {…}, …}}

Events named `Send…` and `Receive…` have their message in `msg`, which has no id: equal contents are
told apart by their order (`microcosm.traces.content`), and reported. Where anything in the log shows that
lines are missing, none are: a reception then comes after what its message proves by itself to have been
before (`microcosm.traces.raft`). Several files are merged by their times (`ts`). A node that begins anew,
in an earlier term or at an earlier time, is one of another run. Lines of other tags are reported.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from sys import intern
from typing import Any, NamedTuple

from microcosm.traces.content import Contents
from microcosm.traces.event import TraceEvent
from microcosm.traces.json_text import BadLine, NotJson, json_object
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options, Positions
from microcosm.traces.raft import FIRST, ONCE, Node, term_of
from microcosm.traces.report import Report
from microcosm.traces.spool import Spool

NAME = "etcd"

_LOOKED_AT = 20
_written = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


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
    """No event before the last file is read; lines that are none are reported as `bad-line`.

    Memory: two counts for each content of a message; the events themselves wait on disk.
    """
    log = options.shared(NAME, lambda: _Log(report, options))
    spool = log.begin(file)
    lost = report.lost
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
            lost += unfinished or isinstance(fault, _OfOthers)  # nothing is behind it, or it is no event
            continue
        more = {key: value for key, value in event.items() if key not in ("name", "nid")}
        time = record.get("ts")
        if "ts" in record:
            more["ts"] = time
        if type(time) is not float and type(time) is not int:
            time, log.timed = None, False
        spool.add((process, name, kind, content, to, more, time, number))
    if report.lost > lost:
        log.hole("a line cannot be read", file, None)
    yield from ()


class _OfOthers(BadLine):
    """The line is an object of JSON, but no event of a node."""


_Content = tuple[int, str]
"""The run, and what a message says."""


class _Line(NamedTuple):
    """A line that is an event, as it was put aside."""

    process: str
    name: str
    kind: str
    content: str
    to: tuple[str, ...]
    more: dict[str, Any]
    time: float | None
    number: int


@dataclass(slots=True)
class _Place:
    """Where a node is, going through the lines: in which run, with what time and fields, at that time."""

    run: int = 0
    time: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    now: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)


class _Log:
    """The lines of all files: gone through once to see whether any are missing, and once for the events."""

    def __init__(self, report: Report, options: Options) -> None:
        self.timed = True
        """Whether all lines have a time."""
        self._report = report
        self._options = options
        self._files: list[tuple[str, Spool]] = []
        self._sign: tuple[str, str, int | None] | None = None
        """What showed first that lines are missing, with file and line."""
        self._runs = 1
        self._nodes: dict[tuple[int, str], Node] = {}
        self._early: set[tuple[int, str]] = set()
        """What was received before it was sent, by the order of lines."""

    def begin(self, file: str) -> Spool:
        """Where to put the lines of another file."""
        self._files.append((file, Spool()))
        return self._files[-1][1]

    def hole(self, what: str, file: str, line: int | None) -> None:
        """Take note of what shows that lines are missing; reported, once, where something hangs on it."""
        if self._sign is None:
            self._sign = f"{what}: lines are missing, and contents that may recur are not matched", file, line

    def rest(self) -> Iterator[TraceEvent]:
        """The events of all lines."""
        counts = self._survey()
        before = {of: self._positions(*of).top for of in self._nodes}
        contents: Contents[_Content] = Contents()
        told: set[tuple[int, str]] = set()
        for file, run, line in self._lines():
            message: str | None = None
            after: tuple[str, ...] = ()
            if line.kind != "internal":
                key = run, line.content
                sent, received = counts.times(key)
                if self._sign is None or not (sent and received) or self._is_one(key, line, sent, received):
                    message = contents.sent(key) if line.kind == "send" else contents.received(key)
                    ambiguous, why = contents.ambiguous(key), "is sent more than once, and received"
                else:
                    ambiguous, why = key not in told, "may be several messages: lines are missing"
                    if not told:
                        self._report.add("log-hole", self._sign[0], file=self._sign[1], line=self._sign[2])
                    told.add(key)
                if ambiguous:
                    said = f"{line.name}: {line.content} {why}"
                    self._report.add("ambiguous-content", said, file=file, line=line.number)
                if line.kind == "receive" and self._sign is not None:
                    after = self._after(before, run, line)
            taken = self._positions(run, line.process)
            taken.add(taken.top + 1)
            yield TraceEvent(
                line.process,
                taken.top,
                line.kind,
                message,
                line.to,
                label=line.name,
                attributes=line.more,
                trace=self._trace(run),
                after=after,
                file=file,
                line=line.number,
            )

    def _survey(self) -> Contents[_Content]:
        """How often what is sent and received; along the way, whether it all fits together."""
        contents: Contents[_Content] = Contents()
        seqs: Counter[tuple[int, str]] = Counter()
        in_order = self.timed or len(self._files) == 1
        unsent: dict[tuple[int, object], tuple[str, str, int | None]] = {}
        for file, run, line in self._lines(self._report):
            of, key = (run, line.process), (run, line.content)
            node = self._nodes.get(of)
            if node is None:
                node = self._nodes[of] = Node(line.process)
            seqs[of] += 1
            odd = node.add(seqs[of], line.name, line.more)
            if line.kind == "send":
                contents.sent(key)
            elif line.kind == "receive":
                contents.received(key)
                if in_order and contents.more_received(key):
                    self._early.add(key)
                    said = f"{line.process} receives {line.content}, which has not been sent so often"
                    unsent.setdefault((run, line.more["msg"].get("from")), (said, file, line.number))
            if odd is not None:
                self.hole(odd, file, line.number)
        if not in_order:
            for run, content in filter(contents.more_received, contents):
                said = f"{content} is received more often than it is sent"
                unsent.setdefault((run, json.loads(content).get("from")), (said, self._files[0][0], None))
        for sender, sign in unsent.items():
            if sender in self._nodes or type(sender[1]) is not str:  # else its file is not there
                self.hole(*sign)
        return contents

    def _lines(self, report: Report | None = None) -> Iterator[tuple[str, int, _Line]]:
        """The lines of all files with their file and run, in the order of time where they have times."""
        nodes: defaultdict[str, _Place] = defaultdict(_Place)
        files = [_by_time(number, spool) for number, (_, spool) in enumerate(self._files)]
        several = len(files) > 1
        for _, number, line in merge(*files, key=itemgetter(0)) if several else files[0]:
            file = self._files[number][0]
            node = nodes[line.process]
            back = line.time is not None and node.time is not None and line.time < node.time
            if line.name == FIRST and (back or term_of(node.fields) > term_of(line.more)):
                node.run += 1
                self._runs = max(self._runs, node.run + 1)
                back = False
            if several:
                if line.time is None or line.time != node.time:
                    node.now.clear()
                elif any(line[:-1] == known and number != of for known, of in node.now):
                    if report is not None:
                        said = f"{line.process} does {line.name} at {line.time} already"
                        report.add("duplicate-event", said, file=file, line=line.number, lost=1, lines=1)
                    continue
                node.now.append((line[:-1], number))
            if back and report is not None:
                said = f"{line.process}: {line.name} has an earlier time than the line before it"
                report.add("clock-inversion", said, file=file, line=line.number)
                self.hole(f"the time of {line.process} goes back", file, line.number)
            node.time, node.fields = line.time, line.more
            yield file, node.run, line

    def _is_one(self, key: tuple[int, str], line: _Line, sent: int, received: int) -> bool:
        """Whether a content is surely of one message, which is sent and received once."""
        return sent == received == 1 and key not in self._early and line.more["msg"].get("type") in ONCE

    def _after(self, before: dict[tuple[int, str], int], run: int, line: _Line) -> tuple[str, ...]:
        """The last event that comes before the sending of what a line receives, whichever that be."""
        sender = line.more["msg"].get("from")
        node = self._nodes.get((run, sender)) if type(sender) is str and sender != line.process else None
        last = 0 if node is None else node.before(line.more["msg"])
        return (f"{sender}:{before[run, sender] + last}",) if last else ()

    def _positions(self, run: int, process: str) -> Positions:
        return self._options.positions_of(self._trace(run), process)

    def _trace(self, run: int) -> str | None:
        return f"run {run + 1}" if self._runs > 1 else None


def _by_time(file: int, spool: Spool) -> Iterator[tuple[float, int, _Line]]:
    """The lines of a file, each with its time; one that has none, or an earlier one, with that before it."""
    latest = float("-inf")
    for record in spool:
        line = _Line(*record)
        if line.time is not None and line.time > latest:
            latest = line.time
        yield latest, file, line


def _event(record: dict[str, object]) -> tuple[str, str, dict[str, object]]:
    """The name, the process and the fields of an event. Raises `BadLine`."""
    event = record.get("event")
    if record.get("tag") != "trace":
        raise _OfOthers('not an event: `"tag": "trace"` and an object `event` are expected')
    if type(event) is not dict:
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
    content = _written(message)
    return kind, content, (to,) if kind == "send" and type(to) is str and to else ()
