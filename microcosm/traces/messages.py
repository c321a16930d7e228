"""Which sending each reception answers: by the names of messages, or where a log has none by their content.

A message may go to several processes, in one event or by a copy each, and be sent again. Of a
process that sends it again the first time counts: that, surely, came before every reception.

The k-th sending of a content on a channel meets its k-th reception. Of a log that has all sendings this
says nothing false, though messages be lost or overtake each other and receptions be missing, as long as
none is duplicated: at the k-th reception k copies have been received, so k have been sent, and the k-th
of them is among these or before one of them.

Where a sending is missing, those behind it are counted one too low, and even a content that is sent once
and received once may be two messages: the second sending and the first reception of one that was sent
twice. Nothing follows from counting in such a log. A hole shows where a content has been received more
often than it was sent (`Contents.more_received`); one that hides behind a message that was lost does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from microcosm.traces.event import OTHER_LEVEL, SENDS, Counted, TraceEvent
from microcosm.traces.execution import Execution
from microcosm.traces.report import Report


@dataclass(slots=True)
class Exchange:
    """The messages of an execution: `pairs` of a sending event and its reception.

    `sent` and `received` are the events that send or receive for the first time, matched or not.
    """

    pairs: list[tuple[int, int]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)


Copies = dict[tuple[str, str | None], dict[str, int]]
"""By message and receiver (None: not recorded), each sender's first sending."""


def exchange(execution: Execution, report: Report) -> Exchange:
    """Match receptions with sendings; report what is repeated and what remains alone. Cost: linear.

    A `receive` answers a `send` and a `deliver` a `causal_send`, or the other where the log has no
    such sending of that message.
    """
    found = Exchange()
    copies = {kind: _sendings(execution, kind, found, report) for kind in SENDS}
    known = {kind: {message for message, _ in copies[kind]} for kind in SENDS}
    heard: set[tuple[str, str | None]] = set()
    for sending, receiving in SENDS.items():
        met: set[tuple[str, str]] = set()
        for event, entry, message in _events(execution, receiving, report):
            if (message, entry.process) in met:
                _add(report, "duplicate-receive", entry, f"{entry.process} receives {message} again")
                continue
            met.add((message, entry.process))
            heard.update(((message, entry.process), (message, None)))
            found.received.append(event)
            level = sending if message in known[sending] else OTHER_LEVEL[sending]
            open_ = copies[level].get((message, None), {})
            senders = {**open_, **copies[level].get((message, entry.process), {})}
            for process in senders.keys() & open_.keys():
                senders[process] = min(senders[process], open_[process])
            if len(senders) == 1:
                found.pairs.append((min(senders.values()), event))
            elif senders:
                among = ", ".join(sorted(senders))
                _add(report, "ambiguous-message", entry, f"{message} was sent by {among}")
            elif message in known[level]:
                _add(report, "wrong-receiver", entry, f"{message} was not sent to {entry.process}")
            else:
                _add(report, "unmatched-receive", entry, f"the sending of {message} is not in the log")
    for event in found.sent:
        entry = execution.events[event]
        missing = [to for to in entry.to or (None,) if (entry.message, to) not in heard]
        if missing:
            by = "" if missing == [None] else f" by {', '.join(str(name) for name in missing)}"
            message = f"the reception of {entry.message}{by} is not in the log"
            _add(report, "unreceived-send", entry, message)
    return found


def _sendings(execution: Execution, kind: str, found: Exchange, report: Report) -> Copies:
    copies: Copies = {}
    for event, entry, message in _events(execution, kind, report):
        firsts = [copies.setdefault((message, receiver), {}) for receiver in entry.to or (None,)]
        if all(entry.process in senders for senders in firsts):
            _add(report, "repeated-send", entry, f"{entry.process} sends {message} again")
            continue
        for senders in firsts:
            senders.setdefault(entry.process, event)
        found.sent.append(event)
    return copies


def _events(execution: Execution, kind: str, report: Report) -> Iterator[tuple[int, TraceEvent, str]]:
    """The events of a kind with their messages, each process in program order."""
    for event, entry in enumerate(execution.events):
        if entry.kind == kind:
            if entry.message is None:
                _add(report, "no-message", entry, f"a {kind} that does not name its message")
            else:
                yield event, entry, entry.message


def _add(report: Report, kind: str, entry: TraceEvent, message: str) -> None:
    report.add(kind, f"{entry.id}: {message}", file=entry.file, line=entry.line)


Content = TypeVar("Content", bound=Hashable)


class Contents(Generic[Content]):
    """Names for the messages of a log, by content. Memory: a few counts for each content.

    >>> found = Contents()
    >>> [found.sent("a"), found.sent("b"), found.sent("a"), found.received("a"), found.received("a")]
    ['m1', 'm2', 'm1.2', 'm1', 'm1.2']
    >>> found.more_received("a"), found.received("a"), found.more_received("a")
    (False, 'm1.3', True)
    """

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._counts: dict[Content, list[int]] = {}

    def sent(self, content: Content) -> str:
        """The name of the next sending of a content."""
        return self._next(content, 1)

    def received(self, content: Content) -> str:
        """The name of the next reception of a content."""
        return self._next(content, 2)

    def count(self, content: Content, *, sent: bool) -> None:
        """Count one more sending or reception, the name of which nobody wants to know."""
        self._counted(content, 1 if sent else 2)

    def ambiguous(self, content: Content) -> bool:
        """Whether a content has just been found to be sent more than once and received; true once."""
        counts = self._counts[content]
        found = counts[1] > 1 and counts[2] > 0 and not counts[3]
        counts[3] |= found
        return found

    def times(self, content: Content) -> tuple[int, int]:
        """How often a content was sent, and how often received, so far."""
        counts = self._counts.get(content, (0, 0, 0))
        return counts[1], counts[2]

    def more_received(self, content: Content) -> bool:
        """Whether a content has been received more often than sent: the log has a hole."""
        sent, received = self.times(content)
        return received > sent

    def __iter__(self) -> Iterator[Content]:
        """All contents."""
        return iter(self._counts)

    def _counted(self, content: Content, side: int) -> list[int]:
        counts = self._counts.get(content)
        if counts is None:
            counts = self._counts[content] = [len(self._counts) + 1, 0, 0, 0]
        counts[side] += 1
        return counts

    def _next(self, content: Content, side: int) -> str:
        counts = self._counted(content, side)
        name = f"{self._prefix}{counts[0]}"
        return Counted(name if counts[side] == 1 else f"{name}.{counts[side]}")
