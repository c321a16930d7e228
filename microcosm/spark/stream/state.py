"""What is remembered of a trace while it arrives: a state for each process and each message."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from microcosm.spark.io.events import Row
from microcosm.traces.event import SENDS


class Hole(NamedTuple):
    """Positions that were given up, between two events; `before` is None at the beginning."""

    first: int
    last: int
    before: str | None
    after: str


class Sent(NamedTuple):
    """A sending: of `kind`, at `seq` of `process`; `to` is empty where receivers are not recorded."""

    kind: str
    process: str
    seq: int
    name: str
    to: tuple[str, ...]


Received = tuple[str, str, int, str]
"""A reception: of `kind`, by a process at a position, and its name."""


@dataclass(slots=True)
class ProcessState:
    """A process up to position `reached`, whose event is `name`.

    `waiting` are rows beyond it. `heard` has, for every position at which something was learnt, all that
    is known from there on of other processes; `out` the positions told and to whom (process, position);
    `sent` and `open` the messages sent, and received without their sending, by position. `base` is what
    was known before the oldest of `heard`; `first` is the lowest position that has come and a hash of what
    stood there, `top` the highest.
    """

    reached: int = 0
    name: str | None = None
    waiting: dict[int, Row] = field(default_factory=dict)
    holes: list[Hole] = field(default_factory=list)
    base: dict[str, int] = field(default_factory=dict)
    heard: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    out: list[tuple[int, str, int]] = field(default_factory=list)
    sent: list[tuple[int, str]] = field(default_factory=list)
    open: list[tuple[int, str]] = field(default_factory=list)
    first: tuple[int, str] = (0, "")
    top: int = 0

    def begins_again(self, seq: int, value: object) -> bool:
        """Take note of a position; whether it is the first one again, with something else there.

        >>> own = ProcessState()
        >>> [own.begins_again(seq, said) for seq, said in ((1, "a"), (2, "b"), (2, "c"), (1, "a"), (1, "b"))]
        [False, False, False, False, True]
        """
        lowest, stands = self.first
        if not lowest or seq <= lowest:
            mark = sha256(json.dumps(value, default=str).encode()).hexdigest()[:16]
            if seq == lowest:
                return mark != stands
            self.first = (seq, mark)
        self.top = max(self.top, seq)
        return False

    def known_at(self, process: str, seq: int) -> dict[str, int]:
        """What `process`, whose state this is, knew at a position."""
        at = bisect_right(self.heard, seq, key=_position) - 1
        known = self.heard[at][1] if at >= 0 else self.base
        return {**known, process: max(seq, known.get(process, 0))}

    def hear(self, process: str, seq: int, known: dict[str, int]) -> bool:
        """Learn something at a position; whether it was new then or later.

        >>> own = ProcessState(reached=5)
        >>> own.hear("p", 4, {"q": 2}), own.hear("p", 2, {"q": 1, "r": 1}), own.hear("p", 5, {"r": 1})
        (True, True, False)
        >>> own.known_at("p", 3), own.known_at("p", 5)
        ({'q': 1, 'r': 1, 'p': 3}, {'q': 2, 'r': 1, 'p': 5})
        """
        at = bisect_left(self.heard, seq, key=_position)
        if at == len(self.heard) or self.heard[at][0] != seq:
            before = self.heard[at - 1][1] if at else self.base
            if not _exceeds(known, before, process):
                return False
            self.heard.insert(at, (seq, dict(before)))
        grown = False
        for _, vector in self.heard[at:]:
            if not _exceeds(known, vector, process):
                break  # nor the later ones, which know as much
            grown = True
            for other, count in known.items():
                if other != process and count > vector.get(other, 0):
                    vector[other] = count
        return grown

    def skip(self, last: int) -> None:
        """Give up the positions up to `last`; the event after them is not known yet."""
        self.holes.append(Hole(self.reached + 1, last, self.name, ""))
        self.reached = last

    def close(self, name: str) -> None:
        """The event after a hole has come."""
        if self.holes and not self.holes[-1].after:
            self.holes[-1] = self.holes[-1]._replace(after=name)

    def next_to(self, first: int, second: int) -> bool:
        """Whether no event stands between two positions, as far as is known."""
        gap = (first + 1, second - 1)
        return first + 1 == second or any((hole.first, hole.last) == gap for hole in self.holes)

    def split(self, hole: Hole, seq: int, name: str) -> None:
        """An event in a hole has come late."""
        parts = [Hole(hole.first, seq - 1, hole.before, name), Hole(seq + 1, hole.last, name, hole.after)]
        at = self.holes.index(hole)
        self.holes[at : at + 1] = [part for part in parts if part.first <= part.last]

    def forget(self, oldest: int) -> None:
        """Give up what was told and heard up to a position."""
        at = bisect_right(self.heard, oldest, key=_position)
        if at:
            self.base = self.heard[at - 1][1]
            del self.heard[:at]
        del self.out[: bisect_right(self.out, oldest, key=_position)]

    def pack(self) -> bytes:
        """The state as bytes, for `process_state_from`."""
        waiting = list(self.waiting.values())
        fields = [self.reached, self.name, waiting, self.holes, self.base, self.heard, self.out]
        return _packed([*fields, self.sent, self.open, self.first, self.top])


@dataclass(slots=True)
class MessageState:
    """A message: its sendings, the receptions that still wait for one, and who has met it in which way.

    `taken` are the sendings on the other level that were taken for those of some receptions.
    """

    sent: list[Sent] = field(default_factory=list)
    waits: list[Received] = field(default_factory=list)
    met: set[tuple[str, str]] = field(default_factory=set)
    taken: dict[Received, Sent] = field(default_factory=dict)

    def senders(self, kind: str, receiver: str) -> dict[str, Sent]:
        """The first sending to a receiver, by sender."""
        found: dict[str, Sent] = {}
        for sent in self.sent:
            fits = sent.kind == kind and (not sent.to or receiver in sent.to)
            if fits and (sent.process not in found or sent.seq < found[sent.process].seq):
                found[sent.process] = sent
        return found

    def covers(self, again: Sent) -> bool:
        """Whether its process has sent the message to all of its receivers before."""
        own = [sent for sent in self.sent if (sent.kind, sent.process) == (again.kind, again.process)]
        return all(any(to in (sent.to or (None,)) for sent in own) for to in again.to or (None,))

    def forget(self, process: str, seq: int) -> bool:
        """Forget what happened at a position; whether something was still to come for it."""
        for sent in [sent for sent in self.sent if (sent.process, sent.seq) == (process, seq)]:
            self.sent.remove(sent)
            met = {receiver for kind, receiver in self.met if kind == SENDS[sent.kind]}
            return not (met.issuperset(sent.to) if sent.to else met)
        self.taken = {entry: sent for entry, sent in self.taken.items() if entry[1:3] != (process, seq)}
        for entry in [entry for entry in self.waits if entry[1:3] == (process, seq)]:
            self.waits.remove(entry)
            return True
        return False

    def empty(self) -> bool:
        return not (self.sent or self.waits or self.taken)

    def pack(self) -> bytes:
        """The state as bytes, for `message_state_from`."""
        return _packed([self.sent, self.waits, sorted(self.met), *([*each] for each in self.taken.items())])


class TraceState:
    """The states of one trace, which Spark keeps: read when they are asked for, and written together."""

    def __init__(self, processes: Any, messages: Any) -> None:
        self._kept = (processes, messages)
        self._processes: dict[str, ProcessState] = {}
        self._messages: dict[str, MessageState | None] = {}

    def process(self, process: str) -> ProcessState:
        """The state of a process, to be changed; an empty one at first."""
        own = self._processes.get(process)
        if own is None:
            kept = self._kept[0]
            known = kept.containsKey((process,))
            own = process_state_from(kept.getValue((process,))[0]) if known else ProcessState()
            self._processes[process] = own
        return own

    def message(self, message: str) -> MessageState:
        """The state of a message, to be changed; an empty one at first."""
        ends = self._messages.get(message)
        if ends is None:
            kept = self._kept[1]
            known = message not in self._messages and kept.containsKey((message,))
            ends = message_state_from(kept.getValue((message,))[0]) if known else MessageState()
            self._messages[message] = ends
        return ends

    def drop(self, message: str) -> None:
        """Forget a message."""
        self._messages[message] = None

    def write(self) -> None:
        """Let Spark keep what has changed."""
        processes, messages = self._kept
        for process, own in self._processes.items():
            processes.updateValue((process,), (own.pack(),))
        for message, ends in self._messages.items():
            if ends is not None:
                messages.updateValue((message,), (ends.pack(),))
            elif messages.containsKey((message,)):
                messages.removeKey((message,))


def process_state_from(packed: bytes) -> ProcessState:
    """The state that was packed.

    >>> hole = Hole(1, 2, None, "p:3")
    >>> own = ProcessState(3, "p:3", {5: {"seq": 5}}, [hole], {}, [(3, {"q": 1})], [(3, "q", 2)])
    >>> process_state_from(own.pack()) == own
    True
    """
    reached, name, waiting, holes, base, *entries, first, top = json.loads(packed)
    rows, given_up = {row["seq"]: row for row in waiting}, [Hole(*hole) for hole in holes]
    heard, out, sent, open_ = ([*map(tuple, each)] for each in entries)
    return ProcessState(reached, name, rows, given_up, base, heard, out, sent, open_, tuple(first), top)


def message_state_from(packed: bytes) -> MessageState:
    """The state that was packed."""
    sent, waits, met, *taken = json.loads(packed)
    return MessageState(
        [_sent(one) for one in sent],
        [*map(tuple, waits)],
        {*map(tuple, met)},
        {tuple(entry): _sent(one) for entry, one in taken},
    )


def _sent(packed: list[Any]) -> Sent:
    kind, process, seq, name, to = packed
    return Sent(kind, process, seq, name, tuple(to))


def _packed(fields: list[Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _position(entry: tuple[Any, ...]) -> int:
    position: int = entry[0]
    return position


def _exceeds(known: dict[str, int], vector: dict[str, int], process: str) -> bool:
    return any(other != process and count > vector.get(other, 0) for other, count in known.items())
