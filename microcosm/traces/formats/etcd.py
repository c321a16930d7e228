"""The trace that etcd's raft library logs for TLA+: one JSON object a line, in the order of time.

    {"tag": "trace", "event": {"name": "SendAppendEntriesRequest", "nid": "1", "msg": {…}, …}}

Events named `Send…` and `Receive…` have their message in `msg`, which has no id: equal contents are told
apart by their order, and reported. Where anything in the log shows that lines are missing, none are: a
reception then comes after what its message proves by itself to have been before. Several files are merged
by their times (`ts`), as are the parts of a file where time goes back. Where a node does two things at a
time, or begins again in an earlier term, the parts are of several runs. Lines of other tags are reported.

Each event carries the state of its node. The term and the commit index of a node only grow, and so does,
within a term, the log of who leads in it and the part of it that others have acknowledged. What a node
has not yet reached it cannot have sent: all its events up to there come before every sending of such a
message, be that in the log or not, and so before every reception. This is so whatever lines are missing.

The lines of a log are put aside first. They stand in the order of time; where time goes back in a file, lines
of elsewhere were put behind: of another node, of an earlier time, or of another run.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from sys import intern
from typing import Any, NamedTuple

from microcosm.traces.event import Contents, Spool, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines, NotJson, any_object, json_object, json_text, why_bad


def detects(head: str, path: str) -> int:
    """2 where one of the first lines is an event."""
    return 2 * any_object(head, _event)


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """No event before the last file is read; lines that are none are reported as `bad-line`.

    Memory: two counts for each content of a message; the events themselves wait on disk.
    """
    log = options.one(_Log, report)
    parts = log.begin(file)
    lost = report.lost
    for number, text in stream.filled():
        try:
            record = json_object(text)
            name, process, event = _event(record)
            kind, content, to = _message(name, event)
        except BadLine as fault:
            unfinished = stream.cut_off and isinstance(fault, NotJson)
            report.add("bad-line", why_bad(fault, stream.cut_off), file=file, line=number, lost=1, lines=1)
            lost += unfinished or isinstance(fault, _OfOthers)  # nothing is behind it, or it is no event
            continue
        del event["name"], event["nid"]  # what is left of it are the attributes
        time = record.get("ts")
        if "ts" in record:
            event["ts"] = time
        known = time if type(time) is float or type(time) is int else None
        parts.add(Line(process, name, kind, content, to, event, known, number), report)
    if report.lost > lost:
        log.hole("a line cannot be read", file, None)
    yield from ()


class _OfOthers(BadLine):
    """The line is an object of JSON, but no event of a node."""


_Content = tuple[int, str]
"""The run, and what a message says."""


class _Log:
    """The lines of all files: gone through once to see whether any are missing, and once for the events.

    No event can be given away before the last line is read, as that may be the one that shows a hole. To put
    lines aside and go through them twice makes reading take a third longer than matching them as they come;
    with the microcosm made of it, a seventh.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._files: list[File] = []
        self._sign: tuple[str, str, int | None] | None = None
        """What showed first that lines are missing, with file and line."""
        self._runs = 1
        self._nodes: dict[tuple[int, str], Node] = {}
        self._early: set[tuple[int, str]] = set()
        """What was received before it was sent, by the order of lines."""

    def begin(self, file: str) -> File:
        """Where to put the lines of another file."""
        self._files.append(File(file))
        return self._files[-1]

    def hole(self, what: str, file: str, line: int | None) -> None:
        """Take note of what shows that lines are missing; reported, once, where something hangs on it."""
        if self._sign is None:
            self._sign = f"{what}: lines are missing, and contents that may recur are not matched", file, line

    def rest(self) -> Iterator[TraceEvent]:
        """The events of all lines."""
        self._tell_runs()
        counts = self._survey()
        contents: Contents[_Content] = Contents()
        places = {of: self._options.positions[self._trace(of[0]), of[1]] for of in self._nodes}
        before = {of: taken.top for of, taken in places.items()}
        reported: set[tuple[int, str]] = set()
        for file, run, line in self._lines(None):
            message: str | None = None
            after: tuple[str, ...] = ()
            if line.kind != "internal":
                key = run, line.content
                if self._sign is None or self._is_one(key, line, *counts.times(key)):
                    message = contents.sent(key) if line.kind == "send" else contents.received(key)
                    ambiguous, why = contents.ambiguous(key), "is sent more than once, and received"
                else:
                    ambiguous, why = key not in reported, "may be several messages: lines are missing"
                    if not reported:
                        self._report.add("log-hole", self._sign[0], file=self._sign[1], line=self._sign[2])
                    reported.add(key)
                if ambiguous:
                    detail = f"{line.name}: {line.content} {why}"
                    self._report.add("ambiguous-content", detail, file=file, line=line.number)
                if line.kind == "receive" and self._sign is not None:
                    after = self._after(before, run, line)
            yield TraceEvent(
                line.process,
                places[run, line.process].append(),
                line.kind,
                message,
                line.to,
                label=line.name,
                attributes=line.more,
                trace=self._trace(run),
                after=after,
                links=("what its message proves",) * len(after),
                file=file,
                line=line.number,
            )

    def _survey(self) -> Contents[_Content]:
        """How often what is sent and received; along the way, whether it all fits together."""
        contents: Contents[_Content] = Contents()
        seqs: Counter[tuple[int, str]] = Counter()
        in_order = len(self._files) == 1 or not any(None in file.times for file in self._files)
        unsent: dict[tuple[int, object], tuple[str, str, int | None]] = {}
        for file, run, line in self._lines(self._report):
            of, key = (run, line.process), (run, line.content)
            if of not in self._nodes:
                self._nodes[of] = Node(line.process)
            seqs[of] += 1
            odd = self._nodes[of].add(seqs[of], line.name, line.more)
            if line.kind == "send":
                contents.sent(key)
            elif line.kind == "receive":
                contents.received(key)
                if in_order and contents.more_received(key):
                    self._early.add(key)
                    detail = f"{line.process} receives {line.content}, which has not been sent so often"
                    unsent.setdefault((run, line.more["msg"].get("from")), (detail, file, line.number))
            if odd is not None:
                self.hole(odd, file, line.number)
        if not in_order:
            for run, content in filter(contents.more_received, contents):
                detail = f"{content} is received more often than it is sent"
                unsent.setdefault((run, json.loads(content).get("from")), (detail, self._files[0].name, None))
        for sender, sign in unsent.items():
            if sender in self._nodes or type(sender[1]) is not str:  # else its file is not there
                self.hole(*sign)
        return contents

    def _tell_runs(self) -> None:
        """Put the parts into runs: into the first where no node does two things at a time."""
        runs: list[dict[str, tuple[float, float]]] = [{}]
        for file in self._files:
            run = 0
            for part in file.parts:
                run += part.anew
                while run < len(runs) and part.overlaps(runs[run]):
                    run += 1
                if run == len(runs):
                    runs.append({})
                part.run = run
                for node, (first, last) in part.times.items():
                    begun, ended = runs[run].get(node, (first, last))
                    runs[run][node] = min(first, begun), max(last, ended)
        self._runs = len(runs)

    def _lines(self, report: Report | None) -> Iterator[tuple[str, int, Line]]:
        """The lines of all files with their file and run: run by run, in the order of time.

        A line that is there twice at a time is left out, unless all lines are of one time.
        """
        times = set().union(*(file.times for file in self._files))
        for run in range(self._runs):
            parts = [
                file.timed(number)
                for file in self._files
                for number, part in enumerate(file.parts)
                if part.run == run
            ]
            now: dict[str, list[Line]] = {}
            for _, file, line in merge(*parts, key=itemgetter(0)):
                latest = now.get(line.process)
                if latest is None or latest[0].time != line.time:
                    now[line.process] = [line]
                elif len(times) > 1 and line.time is not None:
                    if any(line[:-1] == other[:-1] for other in latest):
                        if report is not None:
                            again = f"{line.process} does {line.name} at {line.time} already"
                            report.add("duplicate-event", again, file=file, line=line.number, lost=1, lines=1)
                        continue
                    latest.append(line)
                yield file, run, line

    def _is_one(self, key: tuple[int, str], line: Line, sent: int, received: int) -> bool:
        """Whether a content is surely of one message, sent and received once, or has one end only."""
        if not (sent and received):
            return True
        return sent == received == 1 and key not in self._early and line.more["msg"].get("type") in ONCE

    def _after(self, before: dict[tuple[int, str], int], run: int, line: Line) -> tuple[str, ...]:
        """The last event that comes before the sending of what a line receives, whichever that be."""
        sender = line.more["msg"].get("from")
        node = self._nodes.get((run, sender)) if type(sender) is str and sender != line.process else None
        last = 0 if node is None else node.before(line.more["msg"])
        return (f"{sender}:{before[run, sender] + last}",) if last else ()

    def _trace(self, run: int) -> str | None:
        return f"run {run + 1}" if self._runs > 1 else None


def _event(record: dict[str, object]) -> tuple[str, str, dict[str, object]]:
    """The name, the process and the fields of an event. Raises `BadLine`."""
    event, is_other = record.get("event"), record.get("tag") != "trace"
    if is_other or type(event) is not dict:
        fault = _OfOthers if is_other else BadLine
        raise fault('not an event: `"tag": "trace"` and an object `event` are expected')
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
    if any(isinstance(message.get(field), (dict, list)) for field in ("type", "from")):
        raise BadLine(f"{name}: `type` and `from` of the message must be texts")
    to = message.get("to")
    content = json_text(message)
    return kind, content, (to,) if kind == "send" and type(to) is str and to else ()


ONCE = frozenset(("MsgVote", "MsgVoteResp"))
"""A candidate asks each peer once in a term and is answered once: what is equal is one message."""

_OWN_TERM = ONCE | {"MsgApp", "MsgAppResp", "MsgHeartbeat", "MsgHeartbeatResp", "MsgSnap", "MsgTimeoutNow"}
"""Their term is that of their sender when it sends them; that of a pre-vote is not."""
_ANSWERED = ("MsgApp", "MsgHeartbeat")
"""Whoever is not in a later term answers these at once."""
FIRST = "InitState"
"""What a node says first."""


class Node:
    """A node by its lines. Memory: a few words for each change of its state."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stated = 0
        """The position of the last event that carries a state."""
        self._reached: list[tuple[int, int]] = []
        """The terms and lengths of the log that it has reached, growing; and the last event before each."""
        self._reached_after: list[int] = []
        self._commits: list[int] = [-1]
        self._commits_after: list[int] = [0]
        self._term = self._commit = -1
        self._asked_by: str | None = None
        """Who may be answered now."""
        self._must_answer = False

    def add(self, seq: int, event: str, fields: Mapping[str, Any]) -> str | None:
        """Take in the next event, at position `seq`; what about it shows that lines are missing, if any does.

        Events that do not carry a state show nothing.
        """
        state = fields.get("state")
        if type(state) is not dict:
            return None
        term, commit = term_of(fields), _number(state.get("commit"))
        length = _number(fields.get("log"))
        odd: str | None
        if not self._stated and event != FIRST:
            odd = f"{self.name} begins with {event} instead of {FIRST}"
        elif term < self._term or commit < self._commit:
            odd = f"{self.name}: the term or the commit index goes back"
        else:
            odd = self._exchange(event, fields.get("msg"), term)
        if not self._reached or (term, length) > self._reached[-1]:
            self._reached.append((term, length))
            self._reached_after.append(self._stated)
        if commit > self._commits[-1]:
            self._commits.append(commit)
            self._commits_after.append(self._stated)
        self._term, self._commit, self._stated = term, commit, seq
        return odd

    def _exchange(self, event: str, message: object, term: int) -> str | None:
        """What is odd about an event beside the request that came before it."""
        if type(message) is not dict:
            return None
        if event.startswith("Send") and event.endswith("Response"):
            to, asked_by = message.get("to"), self._asked_by
            if to == self.name:
                return None
            self._asked_by, self._must_answer = None, False
            return None if to == asked_by else f"{self.name} answers {to}, of which no request is there"
        odd = None
        if self._must_answer:
            odd = f"{self.name} has not answered {self._asked_by}"
        self._asked_by, self._must_answer = None, False
        if event.startswith("Receive") and not event.endswith("Response"):
            self._asked_by = message.get("from")
            self._must_answer = message.get("type") in _ANSWERED and _number(message.get("term")) >= term
        return odd

    def before(self, message: Mapping[str, Any]) -> int:
        """The position of the last event that surely comes before every sending of a message; 0: of none."""
        kind, term = message.get("type"), _number(message.get("term"))
        if kind not in _OWN_TERM or term < 0:
            return 0
        length = commit = -1
        if kind == "MsgApp":
            length = _number(message.get("index")) + max(0, _number(message.get("entries")))
        elif kind == "MsgAppResp" and message.get("reject") is False:
            length = _number(message.get("index"))
        if kind in _ANSWERED:
            commit = _number(message.get("commit"))
        return max(
            self._until(bisect_left(self._reached, (term, length)), self._reached_after),
            self._until(bisect_left(self._commits, commit), self._commits_after),
        )

    def _until(self, at: int, after: list[int]) -> int:
        return after[at] if at < len(after) else self._stated


def term_of(fields: Mapping[str, Any]) -> int:
    """The term in which a node is at an event; -1 where the event does not carry its state."""
    state = fields.get("state")
    return _number(state.get("term")) if type(state) is dict else -1


def _number(value: object) -> int:
    return value if type(value) is int else -1


_PARTS = 1000
"""So often time may go back in a file; then its lines are taken as they stand."""


class Line(NamedTuple):
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
class Part:
    """Lines of a file, in the order of time: from which on, and when each node began and ended there."""

    start: int
    anew: bool = False
    """Whether a node begins again with it."""
    times: dict[str, tuple[float, float]] = field(default_factory=dict)
    run: int = 0

    def overlaps(self, times: dict[str, tuple[float, float]]) -> bool:
        """Whether a node of it does something while it does something else elsewhere."""
        return any(
            first < times[node][1] and times[node][0] < last
            for node, (first, last) in self.times.items()
            if node in times
        )


class File:
    """The lines of a file, put aside, in parts that begin where time goes back."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spool = Spool()
        self.parts = [Part(0)]
        self.times: set[float | None] = set()
        """Up to two of the times, to see whether they tell anything."""
        self._latest = float("-inf")
        self._nodes: dict[str, tuple[float | None, int]] = {}

    def add(self, line: Line, report: Report) -> None:
        """Put the next line aside; what is odd about its time is reported."""
        time, term = line.time, term_of(line.more)
        last, known = self._nodes.get(line.process, (None, -1))
        if time is not None and last is not None and time < last:
            detail = f"{line.process}: {line.name} has an earlier time than the line before it"
            report.add("clock-inversion", detail, file=self.name, line=line.number)
        anew = line.name == FIRST and term < known
        if anew or (time is not None and time < self._latest and len(self.parts) < _PARTS):
            self.parts.append(Part(len(self.spool), anew))
            self._latest = float("-inf")
        if time is not None:
            times = self.parts[-1].times
            first, end = times.get(line.process, (time, time))
            times[line.process] = first if first < time else time, end if end > time else time
            self._latest = max(self._latest, time)
        if len(self.times) < 2:
            self.times.add(time)
        self._nodes[line.process] = (time, term)
        self.spool.add(line)

    def timed(self, number: int) -> Iterator[tuple[float, str, Line]]:
        """The lines of a part, each with its time and file; one that has none with the time before it."""
        stop = self.parts[number + 1].start if number + 1 < len(self.parts) else len(self.spool)
        latest = float("-inf")
        for line in map(Line._make, self.spool.read(self.parts[number].start, stop)):
            if line.time is not None and line.time > latest:
                latest = line.time
            yield latest, self.name, line
