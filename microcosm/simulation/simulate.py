"""A protocol under a workload on a network of a few parameters, and what that cost: `microcosm simulate`.

Processes send a mixture by default, or the patterns by which protocols are compared. A workload makes exactly
as many causal sends as it was told, and nothing random but by the run's source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from microcosm.errors import ProtocolError
from microcosm.protocol.catalogue import PROTOCOLS, Protocol, on_tree, with_budget
from microcosm.protocol.tree_static import tree_of
from microcosm.simulation.run import (
    CAUSAL_SEND,
    DELIVER,
    RECEIVE,
    SEND,
    CausalCheck,
    Event,
    Network,
    NetworkLink,
    Run,
    Uniform,
    Violation,
    spread,
)


@dataclass
class Mixture:
    """`messages` sends in all, about `in_flight` under way at a time, half of them reactions to a delivery.

    A reaction goes back to the sender (ping-pong), on to a third process (hand-over), or to several. `most`
    bounds the receivers of a message; `spacing` is the mean time before a send that is no reaction.
    """

    messages: int
    most: int = 1
    in_flight: int = 10
    spacing: float = 0.25

    def __post_init__(self) -> None:
        self._left = self.messages
        self._seen = 0
        """Messages below this number have been answered, by a reaction or by another send."""
        self._answered: set[int] = set()

    def start(self, run: Run) -> None:
        for _ in range(min(self.in_flight, self.messages)):
            self._later(run)

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        if message in self._answered or message < self._seen:
            return
        self._answered.add(message)
        while self._seen in self._answered:
            self._answered.discard(self._seen)
            self._seen += 1
        if self._left <= 0:
            return
        if run.random.random() < 0.5:
            self._left -= 1
            run.causal_send(process, self._receivers(run, process, sender))
        else:
            self._later(run)

    def _later(self, run: Run) -> None:
        """A send of some process, soon."""
        if self._left <= 0:
            return
        self._left -= 1
        process = run.random.randrange(run.size)
        delay = 2 * self.spacing * run.random.random()
        run.at(delay, lambda: run.causal_send(process, self._receivers(run, process, None)))

    def _receivers(self, run: Run, process: int, sender: int | None) -> tuple[int, ...]:
        random = run.random
        count = 1 if self.most == 1 or random.random() < 0.5 else random.randint(2, self.most)
        back = sender is not None and sender != process and random.random() < 0.3
        chosen = [sender] if back and sender is not None else []
        while len(chosen) < min(count, run.size - 1):
            other = random.randrange(run.size - 1)
            other += other >= process
            if other not in chosen:
                chosen.append(other)
        return tuple(sorted(chosen))


@dataclass
class Script:
    """Sends at given times: (time, process, receivers). Nobody reacts."""

    sends: Sequence[tuple[float, int, tuple[int, ...]]]

    def start(self, run: Run) -> None:
        for time, process, to in self.sends:
            run.at(time, partial(run.causal_send, process, to))

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        pass


def steady_stream(messages: int, spacing: float = 0.01) -> Script:
    """Process 0 sends `messages` to process 1, one every `spacing`: does the protocol pipeline?"""
    return Script([(number * spacing, 0, (1,)) for number in range(messages)])


RECEIVERS = 3
"""The most receivers of a message in the default workload, where the protocol can multicast."""


@dataclass(frozen=True, slots=True)
class SimulationSetting:
    """The parameters of a run.

    `rtt`: the least and the greatest round trip time of a pair of processes. `topology`: of the protocol
    `tree` (`protocol.tree_static`); `budget`: of `hybrid-dependencies`. None: as the protocol has it.
    """

    processes: int = 5
    messages: int = 100
    seed: int = 0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False
    rtt: tuple[float, float] = (1.0, 1.0)
    topology: str | None = None
    budget: int | None = None

    def network(self) -> Network:
        """The network: a packet takes half a round trip, give or take a half of that."""
        low, high = self.rtt
        link = NetworkLink(Uniform(low / 4, 3 * low / 4), self.loss, self.duplicate, self.reorder)
        if low == high:
            return Network(link)
        return spread(self.processes, low, high, Random(self.seed), link)


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a run cost, and what went wrong in it."""

    statistics: Statistics
    violations: list[Violation]
    refused: dict[str, int]


def outside_the_model(protocol: Protocol, faults: set[str]) -> list[str]:
    """The faults of a network for which a protocol is not made (Hybrid Buffering, Table 1), sorted."""
    return sorted(faults - protocol.machine.TOLERATES)


def chosen(name: str, setting: SimulationSetting) -> Protocol:
    """The protocol as a setting wants it. Raises `ProtocolError` where it has no such parameter."""
    if setting.topology is not None:
        if name != "tree":
            raise ProtocolError(f"{name} has no topology: tree has")
        return on_tree(tree_of(setting.topology, setting.processes))
    if setting.budget is not None:
        if name != "hybrid-dependencies":
            raise ProtocolError(f"{name} has no budget: hybrid-dependencies has")
        return with_budget(setting.budget)
    return PROTOCOLS[name]


def simulate(
    name: str, setting: SimulationSetting, observer: Callable[[Event], None] | None = None
) -> SimulationResult:
    """Run a protocol to quiescence. Raises `ProtocolError` for a network that it is not made for.

    >>> simulate("hybrid-basic", SimulationSetting(messages=20, loss=0.3)).violations
    []
    """
    protocol, network = chosen(name, setting), setting.network()
    outside = outside_the_model(protocol, network.faults())
    if outside:
        raise ProtocolError(f"{name} is not made for a network with {' and '.join(outside)}")
    ticks = bool(setting.loss) or protocol.machine.NEEDS_TICKS
    low, high = setting.rtt
    workload = Mixture(
        setting.messages,
        most=min(RECEIVERS, setting.processes - 1) if protocol.machine.MULTICAST else 1,
        spacing=(low + high) / 8,
    )
    check = CausalCheck(protocol.monitors(setting.processes))
    observers = [check.see] if observer is None else [observer, check.see]
    run = Run(
        protocol.make(setting.processes),
        network,
        workload,
        seed=setting.seed,
        tick=2 * high if ticks else None,
        observers=observers,
    )
    gauge = Gauge(run)
    run.go()
    refused: Counter[str] = Counter()
    for machine in run.machines:
        refused.update(machine.refused)
    return SimulationResult(gauge.read(), check.finish(), dict(sorted(refused.items())))


SAMPLE = 16
"""The state of a process is measured at every so many events."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Averages over a run, and peaks where the name says so.

    `metadata` is in integers a copy on the wire, `control` in packets without a message, a message;
    `state` the most integers that a process held; `operations` those of all processes, a message;
    `latency` from causal send to delivery; `non_causal` what neither the network nor causality explains of it
    (None where travel times are not known beforehand); `in_transit` the most copies of one sender on the
    wire; `held_at_sender` and `held_at_receiver` the shares of copies that waited there.
    """

    sent: int
    delivered: int
    metadata: float
    metadata_peak: int
    control: float
    state: int
    operations: float
    latency: float
    latency_peak: float
    non_causal: float | None
    non_causal_peak: float | None
    in_transit: int
    held_at_sender: float
    held_at_receiver: float
    duration: float


@dataclass(slots=True)
class _OpenCopy:
    """A message that has not been delivered everywhere."""

    asked: float
    missing: int
    before: dict[int, float]
    """For each receiver, by when the messages that happened before could have been there."""
    ideal: dict[int, float]
    """For each receiver, by when the message itself could have been delivered there."""
    waiting: set[int] = field(default_factory=set)
    """Receivers whose copies are not on the network yet."""
    received: dict[int, float] = field(default_factory=dict)


class Gauge:
    """Watches a run from its start; `read` gives its statistics.

    `travel(i, j)` is how long a copy takes from i to j on this network, where that is certain. The ideal is
    a receiver that gets every copy at once on its way and holds back only what causality demands.
    """

    def __init__(self, run: Run, travel: Callable[[int, int], float] | None = None) -> None:
        self._run = run
        self._travel = travel
        self._open: dict[int, _OpenCopy] = {}
        self._ideal: dict[int, dict[int, float]] = {}
        """For each process, the `before` of what it would send now."""
        self._copies = self._delivered = self._seen = 0
        self._latency = self._peak = self._late = self._late_peak = 0.0
        self._state = self._in_transit = self._held_out = self._held_in = 0
        self._last = 0.0
        run.observers.append(self.see)

    def see(self, event: Event) -> None:
        """Take note of the next event."""
        time, process, kind, message, to, _ = event
        current = self._open.get(message)
        if kind == CAUSAL_SEND:
            self._ask(event)
        elif kind == DELIVER and current is not None:
            self._deliver(time, process, message, current)
        elif kind == SEND and current is not None and to[0] in current.waiting:
            current.waiting.discard(to[0])
            self._held_out += time > current.asked
        elif kind == RECEIVE and current is not None:
            current.received.setdefault(process, time)
        self._in_transit = max(self._in_transit, self._run.in_transit[process])
        self._seen += 1
        if self._seen % SAMPLE == 0:
            self._state = max(self._state, self._run.machines[process].integers())

    def read(self) -> Statistics:
        """The statistics of what happened so far."""
        run = self._run
        metadata = run.metadata
        copies, sent = max(1, self._delivered), max(1, run.sent)
        known = self._travel is not None
        return Statistics(
            sent=run.sent,
            delivered=self._delivered,
            metadata=sum(metadata) / max(1, len(metadata)),
            metadata_peak=max(metadata, default=0),
            control=(run.packets - len(metadata)) / sent,
            state=max([self._state, *(machine.integers() for machine in run.machines)]),
            operations=sum(machine.operations for machine in run.machines) / sent,
            latency=self._latency / copies,
            latency_peak=self._peak,
            non_causal=self._late / copies if known else None,
            non_causal_peak=self._late_peak if known else None,
            in_transit=self._in_transit,
            held_at_sender=self._held_out / max(1, self._copies),
            held_at_receiver=self._held_in / copies,
            duration=self._last,
        )

    def _ask(self, event: Event) -> None:
        self._copies += len(event.to)
        mine = self._ideal.setdefault(event.process, {})
        current = _OpenCopy(event.time, len(event.to), {}, {}, set(event.to))
        if self._travel is not None:
            current.before = dict(mine)
            for j in event.to:
                travel = self._travel(event.process, j) if j != event.process else 0.0
                current.ideal[j] = mine[j] = max(event.time + travel, mine.get(j, 0.0))
        self._open[event.message] = current

    def _deliver(self, time: float, process: int, message: int, current: _OpenCopy) -> None:
        self._delivered += 1
        self._last = time
        self._latency += time - current.asked
        self._peak = max(self._peak, time - current.asked)
        self._held_in += time > current.received.get(process, time)
        if self._travel is not None:
            late = max(0.0, time - current.ideal.get(process, time))
            self._late += late
            self._late_peak = max(self._late_peak, late)
            mine = self._ideal.setdefault(process, {})
            for known in (current.before, current.ideal):
                for j, ideal in known.items():
                    if ideal > mine.get(j, 0.0):
                        mine[j] = ideal
        current.missing -= 1
        if not current.missing:
            del self._open[message]
