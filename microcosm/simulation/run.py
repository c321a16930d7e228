"""One run of a protocol: a virtual clock, a network that delays and loses, applications that react.

Everything follows from the seed: two runs with the same arguments are the same, event for event.

What the network does to packets are values: delays, order, loss, duplication. Times are in
whatever unit the latencies are in; by default a round trip takes about 1.

What happens in a run, one event at a time, in the order of execution:

    causal_send   the application asks for message `message` to be sent to `to`
    send          a copy goes to the network, for `to` (again, if it is a retransmission)
    receive       a copy comes off the wire, from `peer`
    deliver       the message goes up to the application; `peer` sent it

Acks, permits and nulls are no messages, and no events here. From the events alone an observer judges a run:
whether it is causally delivered, exactly once, and complete. Happens-before between messages is that of the
application (Hybrid Buffering, section 4.1): a message happens before those that its sender sends later, and
before those that a receiver sends after *delivering* it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple, Protocol

from microcosm.protocol.machine import Delivery, Machine
from microcosm.protocol.packets import (
    Ack,
    LamportClocked,
    Marker,
    Migration,
    Packet,
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

    >>> from microcosm.simulation.run import Event
    >>> a, b = Event(0, 0, "causal_send", 0, (2,)), Event(1, 0, "causal_send", 1, (2,))
    >>> [str(v) for v in check([a, b, Event(2, 2, "deliver", 1), Event(3, 2, "deliver", 0)])]
    ['out of order of the sender: m2 at p3, before m1']
    """
    watcher = CausalCheck(kept_at)
    for event in events:
        watcher.see(event)
    return watcher.finish()


PATIENCE = 300
"""After so many rounds of ticks in which nothing was delivered, a run is stuck; where packets are lost, after
so many more as it takes for as many packets to come."""


class Application(Protocol):
    """What the processes do, beyond delivering."""

    def start(self, run: Run) -> None:
        """Make the first sends, by `run.causal_send` or later by `run.at`."""

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        """React, from within the delivery."""


class Run:
    """Machines on a network under an application.

    `observers` see every event in the order of execution. `tick` is the time between rounds of ticks,
    None where there are none. Cost: a heap operation a packet.
    """

    def __init__(
        self,
        machines: Iterable[Machine],
        network: Network,
        application: Application,
        *,
        seed: int = 0,
        tick: float | None = None,
        observers: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        self.machines = list(machines)
        self.size = len(self.machines)
        self.network = network
        self.random = Random(seed)
        """For the network and the application."""
        self.now = 0.0
        self.sent = 0
        """Causal sends so far; they are numbered from 0."""
        self.undelivered = 0
        """Copies that were causally sent and not delivered."""
        self.packets = 0
        self.in_transit = [0] * self.size
        """Copies of messages on the wire, by sender."""
        self.metadata: list[int] = []
        """The integers of each copy that was given to the network, in order."""
        self.receiver_operations = 0
        """Elementary steps that receptions of messages took; all others are the senders'."""
        self.on_packet: Callable[[int, int, Packet], None] | None = None
        """Sees every packet before its receiver does: from, to, packet."""
        self.stuck = False
        self._application = application
        self.observers = list(observers)
        self._tick = tick
        self._queue: list[tuple[float, int, int, int, Packet | None, Callable[[], object] | None]] = []
        self._count = 0
        self._last: dict[tuple[int, int], float] = {}
        self._asking = [0] * self.size
        """The elementary steps of each process that causal sends took."""
        self._progress = 0
        losses = (link.loss for link in (network.link, *network.links.values()) if link.loss < 1)
        self._patience = PATIENCE / (1 - max(losses, default=0.0))
        for machine in self.machines:
            machine.on_deliver = self._delivering(machine)

    def causal_send(self, process: int, to: Iterable[int]) -> int:
        """Let a process send a message now; its number."""
        message, receivers = self.sent, tuple(to)
        self.sent += 1
        self.undelivered += len(receivers)
        machine = self.machines[process]
        self._flush(process, machine)
        self._see(Event(self.now, process, CAUSAL_SEND, message, receivers))
        before = machine.operations - self._asking[process]
        machine.causal_send(receivers, message)
        self._asking[process] = machine.operations - before
        self._flush(process, machine)
        return message

    def at(self, delay: float, action: Callable[[], object]) -> None:
        """Do something `delay` from now."""
        self._push(self.now + delay, -1, -1, None, action)

    def go(self, most_events: int | None = None) -> Run:
        """Run until nothing is under way (or so many steps); itself."""
        self._application.start(self)
        if self._tick is not None:
            self.at(self._tick, self._tick_all)
        steps = 0
        while self._queue and steps != most_events:
            steps += 1
            self.now, _, i, j, packet, action = heappop(self._queue)
            if packet is not None:
                self._take(i, j, packet)
            elif action is not None:
                action()
        return self

    def _push(
        self, time: float, i: int, j: int, packet: Packet | None, action: Callable[[], object] | None = None
    ) -> None:
        self._count += 1
        heappush(self._queue, (time, self._count, i, j, packet, action))

    def _tick_all(self) -> None:
        """A round of ticks, and the next one, unless all is done or nothing moves any more."""
        if not self._queue and not self.undelivered and all(machine.idle() for machine in self.machines):
            return
        self._progress += 1
        if self._progress > self._patience:
            self.stuck = True
            return
        for i, machine in enumerate(self.machines):
            machine.tick()
            self._flush(i, machine)
        assert self._tick is not None
        self.at(self._tick, self._tick_all)

    def _delivering(self, machine: Machine) -> Callable[[Delivery], None]:
        process = machine.me

        def delivering(delivery: Delivery) -> None:
            self._flush(process, machine)  # what went out before, in its place
            self._progress = 0
            self.undelivered -= 1
            sender, message, _ = delivery
            self._see(Event(self.now, process, DELIVER, message, (), sender))
            self._application.delivered(self, process, sender, message)

        return delivering

    def _see(self, event: Event) -> None:
        for observer in self.observers:
            observer(event)

    def _flush(self, i: int, machine: Machine) -> None:
        if not machine.out:
            return
        for output in machine.take():
            if type(output) is not Delivery:
                self._transmit(i, output[0], output[1])

    def _transmit(self, i: int, j: int, packet: Packet) -> None:
        random, network = self.random, self.network
        link = network.links.get((i, j), network.link)
        message = carries_message(packet)
        self.packets += 1
        copies = 1
        if link.loss and random.random() < link.loss:
            copies = 0
        if link.duplicate and random.random() < link.duplicate:
            copies += copies
        for _ in range(copies):
            time = self.now + link.latency.draw(random)
            if not link.reorder:
                time = self._last[i, j] = max(time, self._last.get((i, j), 0.0))
            if message:
                self.in_transit[i] += 1
            self._push(time, i, j, packet)
        if message:
            self.metadata.append(packet.integers)
            self._see(Event(self.now, i, SEND, packet.payload, (j,), j))  # type: ignore[attr-defined]

    def _take(self, i: int, j: int, packet: Packet) -> None:
        machine = self.machines[j]
        if self.on_packet is not None:
            self.on_packet(i, j, packet)
        if carries_message(packet):
            self.in_transit[i] -= 1
            self._see(Event(self.now, j, RECEIVE, packet.payload, (), i))  # type: ignore[attr-defined]
            before = machine.operations - self._asking[j]
            machine.receive(i, packet)
            self.receiver_operations += machine.operations - self._asking[j] - before
        else:
            machine.receive(i, packet)
        self._flush(j, machine)


class Latency(Protocol):
    """How long a packet travels, one way."""

    def draw(self, random: Random) -> float:
        """The delay of one packet."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same delay."""

    delay: float = 0.5

    def draw(self, random: Random) -> float:
        return self.delay


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any delay from `low` to `high`."""

    low: float = 0.2
    high: float = 0.8

    def draw(self, random: Random) -> float:
        return self.low + (self.high - self.low) * random.random()


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """One direction of a connection. Without `reorder`, no packet overtakes another."""

    latency: Latency = Uniform()
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False

    def faults(self) -> set[str]:
        """Which of `loss`, `duplicate`, `reorder` it is capable of."""
        return {name for name in ("loss", "duplicate", "reorder") if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class Network:
    """The links between all processes; `links` overrides `link` for a pair (from, to)."""

    link: NetworkLink = NetworkLink()
    links: Mapping[tuple[int, int], NetworkLink] = field(default_factory=dict)

    def faults(self) -> set[str]:
        """Which of `loss`, `duplicate`, `reorder` some link is capable of."""
        return set().union(self.link.faults(), *(link.faults() for link in self.links.values()))


def spread(size: int, low: float, high: float, random: Random, link: NetworkLink) -> Network:
    """A network in which each pair of processes has a round trip time of its own, from `low` to `high`.

    A packet takes half of it, give or take a half of that.
    """
    links = {}
    for a in range(size):
        for b in range(a):
            rtt = low + (high - low) * random.random()
            near = NetworkLink(Uniform(rtt / 4, 3 * rtt / 4), link.loss, link.duplicate, link.reorder)
            links[a, b] = links[b, a] = near
    return Network(link, links)
