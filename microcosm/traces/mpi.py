"""SimGrid's time-independent traces of MPI programs: `rank operation arguments`, in program order.

    0 send 1 0 1e6          to rank 1, tag 0
    1 irecv 0 0 1e6         from rank 0, tag 0
    1 wait 0 1 0            for what rank 0 sends to rank 1 with tag 0

Messages of a (source, destination, tag) are received in the order in which they are sent. An `irecv`
only asks: it is the `wait` for it that receives. The k-th collective operation of each rank is the
same one: what follows it at a rank comes after it at all others (at the root, or the root's, for
operations that have one). Where ranks have a file each, what follows a collective operation is known to
come after it only at the ranks whose files come earlier.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from microcosm.traces.event import TraceEvent
from microcosm.traces.json_text import BadLine
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options
from microcosm.traces.report import Report

NAME = "mpi"

_LINE = re.compile(r"\s*(\S+)\s+([A-Za-z]\w*)((?:\s+\S+)*)\s*")
_RANK = re.compile(r"[A-Za-z_]*\d+")
_POINT_TO_POINT = frozenset(("send", "isend", "recv", "irecv", "test", "wait", "waitall"))
_ALONE = frozenset(("init", "finalize", "compute", "sleep", "sample", "location", "comm_size"))
_GATHERING = ("allreduce", "alltoall", "alltoallv", "allgather", "allgatherv", "reducescatter")
_TO_ALL = frozenset(("barrier", *_GATHERING))
_ROOT_ARGUMENT = {"bcast": 1, "scatter": 2, "reduce": 2, "gather": 2}
"""Where collective operations with a root have it; without it the root is rank 0."""
_FROM_ROOT = frozenset(("bcast", "scatter"))
_LOOKED_AT = 50


def detects(head: str, path: str) -> int:
    """2 where all of the first lines are a rank and an operation, some of them telling."""
    lines = [line for line in head.split("\n")[:_LOOKED_AT] if line.strip() and not line.startswith("#")]
    if len(head) > 1 and not head.endswith("\n") and len(lines) > 1:
        lines.pop()  # it may be cut
    found = [_LINE.fullmatch(line) for line in lines]
    known = all(one and _RANK.fullmatch(one[1]) and _is_operation(one[2]) for one in found)
    telling = _POINT_TO_POINT | _TO_ALL | {"init", "finalize"}
    return 2 * (known and any(one is not None and one[2].lower() in telling for one in found))


def _is_operation(name: str) -> bool:
    return name.lower() in _POINT_TO_POINT | _ALONE | _TO_ALL | _ROOT_ARGUMENT.keys()


Channel = tuple[str, str, str]
"""Source, destination and tag."""


@dataclass(slots=True)
class _Collective:
    """The k-th collective operation: which it is, its root, its event at each rank."""

    operation: str
    root: str
    events: dict[str, str] = field(default_factory=dict)
    agreed: bool = True

    def before(self, rank: str) -> list[str]:
        """The events that come before what follows this operation at a rank."""
        if not self.agreed:
            return []
        if self.operation in _FROM_ROOT:
            return [event for other, event in self.events.items() if other == self.root != rank]
        if self.operation in _ROOT_ARGUMENT and rank != self.root:
            return []
        return [event for other, event in self.events.items() if other != rank]


@dataclass(slots=True)
class _Rank:
    """A rank: its receptions asked for, how many collectives it did, the one it just did."""

    asked: dict[Channel, deque[str]] = field(default_factory=dict)
    collectives: int = 0
    just: int | None = None


class _Run:
    """A program on its way to events. Memory: requests under way, and the collective operations."""

    def __init__(self) -> None:
        self._ranks: dict[str, _Rank] = {}
        self._sent: Counter[Channel] = Counter()
        self._asked: Counter[Channel] = Counter()
        self._sendings: dict[str, str] = {}
        self._collectives: list[_Collective] = []
        self._held: list[tuple[TraceEvent, int | None, list[str]]] = []

    def begin(self, file: str, report: Report, options: Options) -> None:
        """Go on in another file."""
        self._file, self._report, self._options = file, report, options

    def line(self, text: str, number: int) -> Iterator[TraceEvent]:
        """The event of a line, unless it must wait for the end. Raises `BadLine`."""
        found = _LINE.fullmatch(text)
        if found is None or not _is_operation(found[2]):
            raise BadLine("not an event: `rank operation arguments` is expected")
        name, operation, words = found[1], found[2].lower(), found[3].split()
        kind, message, to, many = self._message(name, operation, words)
        rank = self._ranks.setdefault(name, _Rank())
        taken = self._options.positions_of(None, name)
        taken.add(taken.top + 1)
        label = " ".join((operation, *words))
        event = TraceEvent(name, taken.top, kind, message, to, label=label, file=self._file, line=number)
        if kind == "send" and message is not None:
            self._sendings[message] = event.id
        just, rank.just = rank.just, None
        if operation in _TO_ALL or operation in _ROOT_ARGUMENT:
            self._collective(event, operation, words, rank)
        if just is None and not many:
            yield event
        else:
            self._held.append((event, just, many))

    def rest(self) -> Iterator[TraceEvent]:
        """The events that had to wait for what other ranks did."""
        held, self._held = self._held, []
        for event, collective, many in held:
            after = [] if collective is None else self._collectives[collective].before(event.process)
            after += [self._sendings[message] for message in many if message in self._sendings]
            yield replace(event, after=tuple(dict.fromkeys(after)))
            for message in many:
                if message not in self._sendings:
                    told = f"{event.id}: the sending of {message} is not in the log"
                    self._report.add("unmatched-receive", told, file=event.file, line=event.line)

    def _message(
        self, rank: str, operation: str, words: list[str]
    ) -> tuple[str, str | None, tuple[str, ...], list[str]]:
        """The kind, message and receiver of an event; the messages of one that receives several."""
        if operation in ("send", "isend", "recv", "irecv"):
            if not words:
                raise BadLine(f"{operation} does not say with whom")
            tag = words[1] if len(words) > 2 else ""
            if operation in ("send", "isend"):
                channel = rank, words[0], tag
                self._sent[channel] += 1
                return "send", _name(channel, self._sent[channel]), (words[0],), []
            channel = words[0], rank, tag
            self._asked[channel] += 1
            message = _name(channel, self._asked[channel])
            if operation == "recv":
                return "receive", message, (), []
            self._ranks.setdefault(rank, _Rank()).asked.setdefault(channel, deque()).append(message)
        elif operation == "wait" and len(words) >= 2 and words[1] == rank:
            asked = self._ranks.setdefault(rank, _Rank()).asked
            waiting = asked.get((words[0], rank, words[2] if len(words) > 2 else ""))
            if waiting:
                return "receive", waiting.popleft(), (), []
        elif operation == "waitall":
            asked = self._ranks.setdefault(rank, _Rank()).asked
            messages = [message for waiting in asked.values() for message in waiting]
            asked.clear()
            if len(messages) == 1:
                return "receive", messages[0], (), []
            return "internal", None, (), messages
        return "internal", None, (), []

    def _collective(self, event: TraceEvent, operation: str, words: list[str], rank: _Rank) -> None:
        at = _ROOT_ARGUMENT.get(operation)
        root = words[at] if at is not None and len(words) > at else "0"
        rank.just = rank.collectives
        rank.collectives += 1
        if rank.just == len(self._collectives):
            self._collectives.append(_Collective(operation, root))
        collective = self._collectives[rank.just]
        if (collective.operation, collective.root) != (operation, root) and collective.agreed:
            collective.agreed = False
            told = f"{event.id} does {operation} where another rank does {collective.operation}"
            self._report.add("collective-mismatch", told, file=self._file, line=event.line)
        collective.events[event.process] = event.id


def _name(channel: Channel, count: int) -> str:
    source, destination, tag = channel
    return f"{source}->{destination}{f' tag {tag}' if tag else ''} #{count}"


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`."""
    run = options.state.setdefault(NAME, _Run())
    assert isinstance(run, _Run)
    run.begin(file, report, options)
    for number, text in stream:
        if not text.strip() or text.startswith("#"):
            continue
        try:
            yield from run.line(text, number)
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
    yield from run.rest()
