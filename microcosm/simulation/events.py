"""What happens in a run, one event at a time, in the order of execution.

    causal_send   the application asks for message `message` to be sent to `to`
    send          a copy goes to the network, for `to` (again, if it is a retransmission)
    receive       a copy comes off the wire, from `peer`
    deliver       the message goes up to the application; `peer` sent it

Acks, permits and nulls are no messages, and no events here.

From the events alone an observer judges a run: whether it is causally delivered, exactly once, and complete.
Happens-before between messages is that of the application (Hybrid Buffering, section 4.1): a message happens
before those that its sender sends later, and before those that a receiver sends after *delivering* it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from microcosm.protocol.packets import (
    Ack,
    LamportClocked,
    Marker,
    Migration,
    Permit,
    TreeChange,
    Welcome,
    YouCanTell,
)

CAUSAL_SEND = "causal_send"
SEND = "send"
RECEIVE = "receive"
DELIVER = "deliver"

CONTROL = (Ack, Permit, YouCanTell, TreeChange, Welcome, Marker, Migration)


class Event(NamedTuple):
    """One event of process `process`. Processes and messages are numbers here."""

    time: float
    process: int
    kind: str
    message: int
    to: tuple[int, ...] = ()
    peer: int = -1


def carries_message(packet: object) -> bool:
    """Whether a packet brings a message, and is not an ack, a permit or a null.

    >>> carries_message(Ack(1)), carries_message(LamportClocked(3, 0, "hello"))
    (False, True)
    """
    return not isinstance(packet, CONTROL) and not (isinstance(packet, LamportClocked) and packet.null)


def process_name(process: int) -> str:
    """How a process is called in traces: p1, p2, ..."""
    return f"p{process + 1}"


def message_name(message: int) -> str:
    """How a message is called in traces: m1, m2, ..."""
    return f"m{message + 1}"


class TraceLines:
    """Events as objects of the own trace format, one after the other; `seq` counts from 1 at each process."""

    def __init__(self) -> None:
        self._seq: dict[int, int] = {}

    def line(self, event: Event) -> dict[str, object]:
        """The object of the next event."""
        seq = self._seq[event.process] = self._seq.get(event.process, 0) + 1
        line: dict[str, object] = {
            "process": process_name(event.process),
            "seq": seq,
            "kind": event.kind,
            "message": message_name(event.message),
        }
        if event.to:
            line["to"] = [process_name(j) for j in event.to]
        return line


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not happen: what, where, of which message, and of which one before it."""

    kind: str
    process: int
    message: int
    before: int | None = None

    def __str__(self) -> str:
        subject = f"{message_name(self.message)} at {process_name(self.process)}"
        if self.before is not None:
            return f"{self.kind}: {subject}, before {message_name(self.before)}"
        return f"{self.kind}: {subject}"


class CausalCheck:
    """Watches a run, event by event.

    `kept_at` are the processes that were promised causal delivery (None: all). Cost: the number of
    processes in the causal past, an event. Memory: the messages under way.
    """

    def __init__(self, kept_at: Container[int] | None = None) -> None:
        self.violations: list[Violation] = []
        self.delivered = 0
        self._kept_at = kept_at
        self._past: dict[int, dict[int, int]] = {}
        """For each process, how many causal sends of each process are in its causal past."""
        self._stamp: dict[int, tuple[int, int, dict[int, int], set[int]]] = {}
        """Of each message under way: sender, number there, causal past, receivers that miss it."""
        self._pending: dict[int, dict[int, deque[tuple[int, int]]]] = {}
        """For each receiver and sender, the messages not known to be delivered, oldest first."""
        self._sent = 0

    def see(self, event: Event) -> None:
        """Take note of the next event."""
        if event.kind == CAUSAL_SEND:
            self._send(event)
        elif event.kind == DELIVER:
            self._deliver(event)

    def finish(self) -> list[Violation]:
        """All violations, those included that only the end shows: what was never delivered."""
        missing = [
            Violation("never delivered", j, message)
            for message, (_, _, _, receivers) in self._stamp.items()
            for j in sorted(receivers)
        ]
        return self.violations + missing

    def _send(self, event: Event) -> None:
        i = event.process
        past = self._past.setdefault(i, {})
        number = past.get(i, 0) + 1
        self._stamp[event.message] = (i, number, dict(past), set(event.to))
        past[i] = number
        for j in event.to:
            self._pending.setdefault(j, {}).setdefault(i, deque()).append((number, event.message))

    def _deliver(self, event: Event) -> None:
        j, message = event.process, event.message
        stamp = self._stamp.get(message)
        if stamp is None or j not in stamp[3]:
            self.violations.append(Violation("delivered twice or to the wrong process", j, message))
            return
        sender, number, before, missing = stamp
        missing.discard(j)
        self.delivered += 1
        if self._kept_at is None or j in self._kept_at:
            self._judge(j, message, before)
        if not missing:
            del self._stamp[message]
        past = self._past.setdefault(j, {})
        for k, count in before.items():
            if count > past.get(k, 0):
                past[k] = count
        past[sender] = max(past.get(sender, 0), number)

    def _judge(self, j: int, message: int, before: dict[int, int]) -> None:
        """Report a message to j that happened before this one and is not delivered."""
        for k, queue in self._pending.get(j, {}).items():
            while queue and (queue[0][1] not in self._stamp or j not in self._stamp[queue[0][1]][3]):
                queue.popleft()
            if queue and queue[0][0] <= before.get(k, 0):
                kind = "out of causal order" if k != self._stamp[message][0] else "out of order of the sender"
                self.violations.append(Violation(kind, j, message, queue[0][1]))


def check(events: Iterable[Event], kept_at: Container[int] | None = None) -> list[Violation]:
    """The violations in a whole run.

    >>> from microcosm.simulation.events import Event
    >>> a, b = Event(0, 0, "causal_send", 0, (2,)), Event(1, 0, "causal_send", 1, (2,))
    >>> [str(v) for v in check([a, b, Event(2, 2, "deliver", 1), Event(3, 2, "deliver", 0)])]
    ['out of order of the sender: m2 at p3, before m1']
    """
    watcher = CausalCheck(kept_at)
    for event in events:
        watcher.see(event)
    return watcher.finish()
