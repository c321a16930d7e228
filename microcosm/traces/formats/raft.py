"""What the lines of one node of a Raft cluster show: that lines are missing, and what a message comes after.

Each event carries the state of its node. The term and the commit index of a node only grow, and so does,
within a term, the log of who leads in it and the part of it that others have acknowledged. What a node
has not yet reached it cannot have sent: all its events up to there come before every sending of such a
message, be that in the log or not, and so before every reception. This is so whatever lines are missing.

The lines of a log are put aside first. They stand in the order of time; where time goes back in a file, lines
of elsewhere were put behind: of another node, of an earlier time, or of another run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

from microcosm.traces.options import Spool
from microcosm.traces.report import Report

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
            said = f"{line.process}: {line.name} has an earlier time than the line before it"
            report.add("clock-inversion", said, file=self.name, line=line.number)
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

    def lines(self, number: int) -> Iterator[Line]:
        """The lines of a part."""
        stop = self.parts[number + 1].start if number + 1 < len(self.parts) else len(self.spool)
        return map(Line._make, self.spool.read(self.parts[number].start, stop))

    def timed(self, number: int) -> Iterator[tuple[float, str, Line]]:
        """The lines of a part, each with its time and file; one that has none with the time before it."""
        latest = float("-inf")
        for line in self.lines(number):
            if line.time is not None and line.time > latest:
                latest = line.time
            yield latest, self.name, line


def merged(parts: list[tuple[File, int]]) -> Iterator[tuple[str, Line]]:
    """The lines of some parts in the order of time, with their files."""
    if len(parts) == 1:
        file, number = parts[0]
        return zip(repeat(file.name), file.lines(number))
    timed = (file.timed(number) for file, number in parts)
    return ((name, line) for _, name, line in merge(*timed, key=itemgetter(0)))
