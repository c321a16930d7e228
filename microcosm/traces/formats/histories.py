"""Histories of operations, as Jepsen and Porcupine record them: invocations and completions.

    {:process 0, :type :invoke, :f :write, :value 3, :time 1200, :index 4}     Jepsen's `history.edn`
    INFO  jepsen.util - 0   :ok :write  3                                      lines of its log
    0   :ok :write  3                                                          of its `history.txt`, with tabs
    {"ClientId": 0, "Input": …, "Call": 1200, "Output": …, "Return": 1900}     operations of Porcupine

An operation is an event, in the line of its invocation. Its client, which has one at a time, is a process.
An operation that was over before another began is before it in *real time*: that is kept as a stamp, the
interval from the invocation to the completion, from which it follows that the later one was not before the
earlier one. That the earlier one is before the later one in the causal order follows only where their
clock is known to order causally, which no history says. What did not complete (`:info`, or the end of the
log) may take effect at any time later. What is done (`:f`) may be left out, as in Elle's. Without `:time`
the order of lines, or `:index`, is the time. The times of several files, or of executions that follow one
another, say nothing of one another: only the first has stamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite

from microcosm.givens.exact import of_float
from microcosm.givens.relation import Stamp
from microcosm.traces.event import TraceEvent, writable
from microcosm.traces.options import LeftOut, Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import units
from microcosm.traces.text.lines import BadLine, Lines, json_text

JEPSEN = "jepsen"
_LOOKED_AT = 200
_LOGGED = re.compile(
    r"(?:.*\bjepsen\.util(?: -|:) +|(?=\S+\t))(:?[\w-]+)\s+:(invoke|ok|fail|info)\s+:?(\S+)\s*(.*)"
)
_FOREVER = 4 * 10**18
"""What is not known to have begun or ended did so within this; a double holds it, too."""
_JITTER = 1_000_000_000
"""Nanoseconds by which the lines of a history may be out of order."""
_TYPES = ("invoke", "ok", "fail", "info")


@dataclass(slots=True)
class _Line:
    """A line of a history: who begins or ends what, and when."""

    process: str
    type: str
    what: str
    value: str
    time: int | None
    index: int | None
    more: dict[str, object]
    text: str
    line: int


@dataclass(slots=True)
class _History:
    """The file at hand: who has begun what, and the latest `:index` and `:time`."""

    open: dict[str, _Line] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    """How often each client crashed and went on."""
    crashed: set[str] = field(default_factory=set)
    index: int = -1
    time: int = -1


def detects(head: str, path: str) -> int:
    """2 where one of the first lines is an operation that begins or ends."""
    for line in head.split("\n")[:_LOOKED_AT]:
        if ":process" in line and ":type" in line:
            try:
                return 2 * bool(_operation(value_at(line, _passed(line, 0))[0], line, 1))
            except (BadLine, RecursionError):
                continue
        if _LOGGED.fullmatch(line):
            return 2
    return 0


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """An event for each operation, when it ends; lines that are none are reported.

    Memory: what is under way, and a number for each line that has a time or an index.
    """
    return _Reader(file, report, options).events(stream)


class _Reader:
    def __init__(self, file: str, report: Report, options: Options) -> None:
        self._file = file
        self._report = report
        self._options = options
        self._left_out = options.one(LeftOut, report)
        self._seen: set[int] = options.shared(f"{JEPSEN} lines", set)
        files: list[str] = options.shared(f"{JEPSEN} files", list)
        files.append(file)
        self._has_stamps = len(files) == 1
        self._trace: str | None = None
        self._clock = ""
        """What tells when something is, of all lines: of one that does not have it that is not known."""
        self._now = _History()

    def events(self, stream: Lines) -> Iterator[TraceEvent]:
        """The events of the file."""
        for number, text in stream:
            for line in self._operations(text, number):
                if self._is_repeated(line):
                    message = f"{line.process}: the same line stands there already"
                    self._report.add("duplicate-event", message, file=self._file, line=number, lines=1)
                    continue
                if self._begins_again(line):
                    yield from self._unfinished()
                    self._begin(line)
                yield from self._step(line)
        yield from self._unfinished()

    def _operations(self, text: str, line: int) -> Iterator[_Line]:
        """What a line says, which may be the whole history; what is no operation is reported."""
        if logged := _LOGGED.fullmatch(text):
            process, type_, what, value = logged.groups()
            yield _Line(process.lstrip(":"), type_, what, value, None, None, {}, text, line)
            return
        at = 0
        while (at := _passed(text, at)) < len(text):
            begun, at = at, len(text)
            try:
                value, end = value_at(text, begun)
                if type(value) is dict:
                    at = end  # what is behind something else is part of it
                yield _operation(value, text[begun:at], line)
            except (BadLine, RecursionError) as fault:
                left = text[begun:at]
                lost = left.count(":type") or int("jepsen.util" in left)
                kind = "bad-line" if lost else "unparsed-text"
                detail = str(fault) if isinstance(fault, BadLine) else "nested too deeply"
                self._report.add(kind, detail, file=self._file, line=line, lost=lost, lines=1)

    def _step(self, line: _Line) -> Iterator[TraceEvent]:
        now = self._now
        begun = now.open.get(line.process)
        if line.type == "invoke":
            if begun is not None:
                yield self._event(begun, None)
            now.open[line.process] = line
        elif begun is not None and begun.what == line.what:
            del now.open[line.process]
            yield self._event(begun, line)
        elif line.type == "info" and not line.process.isdigit():
            yield self._event(line, line)  # of the nemesis, which does not invoke
        else:
            if begun is not None:
                yield self._event(now.open.pop(line.process), None)
            yield self._event(None, line)

    def _event(self, begun: _Line | None, ended: _Line | None) -> TraceEvent:
        line = begun or ended
        assert line is not None
        crashes = ended is None or (ended.type == "info" and ended is not begun)
        process = line.process
        if process in self._now.crashed:
            self._now.crashed.discard(process)
            self._now.lives[process] = self._now.lives.get(process, 1) + 1
        if ended is not None and crashes:
            self._now.crashed.add(process)
        lives = self._now.lives.get(process, 1)
        own = (process, lives) if lives > 1 else None
        called = f"{process} ({lives})" if own else process
        process, seq = self._left_out.place(called, self._trace, self._file, line.line, own)
        self._options.positions[self._trace, process].add(seq)
        value = ended.value if ended is not None and ended.type == "ok" else line.value
        more: dict[str, object] = {**line.more}
        if ended is not None and ended is not begun:
            more |= {**ended.more, "outcome": ended.type, "completed_line": ended.line}
            if ended.time is not None:
                more["completed"] = ended.time
        if line.time is not None:
            more["time"] = line.time
        return TraceEvent(
            process,
            seq,
            stamp=self._stamp(begun, None if crashes else ended),
            label=f"{line.what} {value}".strip(),
            attributes=more,
            trace=self._trace,
            file=self._file,
            line=line.line,
            numbered=True,
        )

    def _stamp(self, begun: _Line | None, ended: _Line | None) -> Stamp | None:
        if not self._has_stamps:
            return None
        first, last = self._when(begun, -_FOREVER), self._when(ended, _FOREVER)
        if begun is not None and ended is not None and last < first:
            detail = f"{begun.process}: {begun.what} ends before it begins, by its times"
            self._report.add("clock-inversion", detail, file=self._file, line=ended.line)
            return None
        return of_float(first), of_float(last)

    def _when(self, line: _Line | None, unknown: int) -> int:
        if line is not None and not self._clock:
            self._clock = (
                "line" if line.index is line.time is None else "index" if line.time is None else "time"
            )
        known = None if line is None else getattr(line, self._clock)
        return unknown if known is None else int(known)

    def _is_repeated(self, line: _Line) -> bool:
        if line.time is None and line.index is None:
            return False
        key = hash((self._trace, line.text))
        if key in self._seen:
            return True
        self._seen.add(key)
        return False

    def _begins_again(self, line: _Line) -> bool:
        now = self._now
        if line.index is not None:
            again = line.index <= now.index
        else:
            again = line.time is not None and line.time < min(now.time / 2, now.time - _JITTER)
        now.index = line.index if line.index is not None else now.index
        now.time = max(now.time, line.time if line.time is not None else -1)
        return again

    def _begin(self, first: _Line) -> None:
        detail = "the times or positions of operations begin again: another execution begins"
        self._report.add("restart", detail, file=self._file, line=first.line)
        self._trace = self._options.begin(behind=True)
        self._has_stamps = False
        self._now = _History(index=self._now.index, time=-1 if first.time is None else first.time)

    def _unfinished(self) -> Iterator[TraceEvent]:
        """What was begun and did not end."""
        for line in self._now.open.values():
            yield self._event(line, None)
        self._now.open = {}


def _passed(text: str, at: int) -> int:
    """Where the next operation of a line begins: behind blanks, the brackets of a list, and a comment."""
    found = _BETWEEN.match(text, at)
    return at if found is None else found.end()


def _operation(record: object, text: str, line: int) -> _Line:
    """The operation that a value of EDN is. Raises `BadLine`, and `RecursionError`."""
    if type(record) is not dict:
        raise BadLine("not an operation: a map with `:process`, `:type` and `:f` or `:value` is expected")
    process, type_, what = record.pop(":process", None), record.pop(":type", None), record.pop(":f", None)
    says = what is not None or ":value" in record
    if process is None or type(type_) is not str or type_.lstrip(":") not in _TYPES or not says:
        wanted = "`:process`, `:type` (:invoke, :ok, :fail or :info) and `:f` or `:value` are expected"
        raise BadLine(f"not an operation: {wanted}")
    time, index = record.pop(":time", None), record.pop(":index", None)
    key = f"{shown(record.pop(':key'))} " if ":key" in record else ""
    value = shown(record.pop(":value", None))
    more = {
        name.lstrip(":"): (one.removeprefix(":") if type(one) is str else one) for name, one in record.items()
    }
    who = shown(process).lstrip(":")
    if not who:
        raise BadLine("not an operation: `:process` is empty")
    if not writable(text):
        raise BadLine("half of a surrogate pair is no text")
    return _Line(
        who,
        type_.lstrip(":"),
        "" if what is None else shown(what).lstrip(":"),
        f"{key}{value}",
        time if type(time) is int and 0 <= time <= _FOREVER else None,
        index if type(index) is int and 0 <= index <= _FOREVER else None,
        more,
        text.strip(),
        line,
    )


# -- EDN, the text of Clojure's data, which Jepsen writes ----------------------------------------------------

_TOKEN = re.compile(
    r'[\s,]+|;[^\n]*|"((?:[^"\\]|\\.)*)"|#\{|#_|\\\S[^\s,()\[\]{}"]*|[()\[\]{}]|[^\s,()\[\]{}";]+'
)
_BETWEEN = re.compile(r"[\s,\[\]()]*(?:;.*)?", re.DOTALL)
_CLOSES = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def value_at(text: str, at: int) -> tuple[object, int]:
    """The first value of a text in EDN from somewhere on, and where it ends. Raises `BadLine`. Cost: linear.

    Maps are dictionaries, lists are such, keywords have their colon; a tag is taken away.

    >>> value_at('{:f :cas, :value [3 nil "a\\\\n"], :t #inst "2024"}', 0)[0]
    {':f': ':cas', ':value': [3, None, 'a\\n'], ':t': '2024'}
    """
    opened: list[tuple[str, list[object]]] = []
    passed_over: dict[int, int] = {}
    """How many values are to come that `#_` stands before, by depth."""
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise BadLine(f"not EDN (column {at + 1})")
        token, at = found[0], found.end()
        value: object
        if token[0] in " ,;\t\n\r\f\v" or token.isspace():
            continue
        if token == "#_":
            passed_over[len(opened)] = passed_over.get(len(opened), 0) + 1
            continue
        if token in _CLOSES:
            opened.append((token, []))
            continue
        if token in ("}", "]", ")"):
            if not opened or _CLOSES[opened[-1][0]] != token:
                raise BadLine(f"not EDN: brackets that do not match (column {at})")
            kind, members = opened.pop()
            value = _map(members) if kind == "{" else members
        elif token[0] == "#" != token[1:2]:
            continue  # a tag: what it stands before is enough
        else:
            value = _atom(token, found[1])
        if passed_over.get(len(opened)):
            passed_over[len(opened)] -= 1
        elif not opened:
            return value, at
        else:
            opened[-1][1].append(value)
    raise BadLine("not EDN: it does not end")


def _map(members: list[object]) -> dict[str, object]:
    if len(members) % 2:
        raise BadLine("not EDN: a key without a value")
    return {shown(key): value for key, value in zip(members[::2], members[1::2], strict=True)}


def _atom(token: str, text: str | None) -> object:
    if text is not None:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)
    if token in ("nil", "true", "false"):
        return {"nil": None, "true": True, "false": False}[token]
    if re.fullmatch(r"[+-]?\d{1,40}N?", token):
        return int(token.rstrip("N"))
    if re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?", token):
        value = float(token.rstrip("M"))
        if isfinite(value) and len(token) < (17 if token.endswith("M") else 25):
            return value
    return token  # as it is written, also a number that no float may hold


def shown(value: object) -> str:
    """A value of EDN as people read it.

    >>> shown([3, None, ":a"]), shown(None), shown({":a": 1})
    ('[3 nil :a]', 'nil', '{":a": 1}')
    """
    if type(value) is list and all(type(one) is not list and type(one) is not dict for one in value):
        return f"[{' '.join(map(shown, value))}]"
    if type(value) is str:
        return value
    return "nil" if value is None else json_text(value)


# -- Porcupine -----------------------------------------------------------------------------------------------


def read_porcupine(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """An event for each operation, client by client; of clients that do two at once each operation is one.

    Memory: the operations of a file.
    """
    files: list[str] = options.shared("porcupine files", list)
    files.append(file)
    left_out = options.one(LeftOut, report)
    clients: dict[str, dict[str, tuple[int, int, dict[str, object], int]]] = {}
    for unit in units(stream, frozenset(), file, report):
        call, back = unit.value.get("Call"), unit.value.get("Return")
        if type(call) is not int or type(back) is not int or not -_FOREVER <= call <= min(back, _FOREVER):
            detail = "not an operation: `Call` and `Return`, no earlier, are expected"
            report.add("bad-line", detail, file=file, line=unit.line, lost=1)
            continue
        own = clients.setdefault(str(unit.value.get("ClientId", 0)) or '""', {})
        if (same := json_text(unit.value)) in own:
            detail = "the same operation stands there already"
            report.add("duplicate-event", detail, file=file, line=unit.line, lost=1)
        else:
            own[same] = call, min(back, _FOREVER), unit.value, unit.line
    for client, known in clients.items():
        operations = sorted(known.values(), key=lambda one: (one[0], one[1], one[3]))
        pairs = pairwise(operations)
        at_once = next((later for earlier, later in pairs if later[0] <= earlier[1]), None)
        if at_once is not None:
            detail = f"client {client} does two things at once: nothing orders what it does"
            report.add("clock-inversion", detail, file=file, line=at_once[3])
        for number, (call, back, value, line) in enumerate(operations, 1):
            name, whose = (client, None) if at_once is None else (f"{client}.{number}", (client, number))
            process, seq = left_out.place(name, None, file, line, whose)
            options.positions[None, process].add(seq)
            detail = " → ".join(
                json_text(value[end]) for end in ("Input", "Output") if value.get(end) is not None
            )
            yield TraceEvent(
                process,
                seq,
                stamp=(of_float(call), of_float(back)) if len(files) == 1 else None,
                label=detail,
                attributes={**value, "time": call},
                file=file,
                line=line,
                numbered=True,
            )
