"""One run of a protocol: a virtual clock, a network that delays and loses, applications that react.

Everything follows from the seed: two runs with the same arguments are the same, event for event.

What the network does to packets are values: delays, order, loss, duplication. Times are in
whatever unit the latencies are in; by default a round trip takes about 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Protocol

from microcosm.protocol.machine import Delivery, Machine
from microcosm.protocol.packets import Packet
from microcosm.simulation.events import CAUSAL_SEND, DELIVER, RECEIVE, SEND, Event, carries_message

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
