"""What a run cost: metadata, state, operations, latency, messages in transit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from microcosm.simulation.events import CAUSAL_SEND, DELIVER, RECEIVE, SEND, Event
from microcosm.simulation.run import Run

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
