"""Table 1 of seed 001, measured: how the costs of each protocol grow with the number of processes.

All protocols get the same work on the same network of constant delays, a round trip being 1. Growth is
the exponent k of n^k between the smallest and the largest number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import NamedTuple

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.protocol.encoding import encode
from microcosm.protocol.packets import Packet
from microcosm.simulation.events import CausalCheck, carries_message
from microcosm.simulation.run import Application, Constant, Link, Network, Run
from microcosm.simulation.statistics import Gauge, Statistics
from microcosm.simulation.simulate import Mixture, Stream

SIZES = (5, 10, 20, 40)
MESSAGES = 400
STREAM = 100
"""So many messages go to one receiver, to see whether throughput depends on the round trip time."""
RTTS = (1, 10, 100)
LIMIT = 2_000_000
"""A run that takes more steps is not live."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one protocol; lists run over `SIZES`, `finish` over `RTTS`.

    `octets` are the bytes of a message packet, with a payload of a few.
    """

    protocol: str
    tolerates: tuple[str, ...]
    metadata: list[float]
    octets: list[float]
    state: list[float]
    sender: list[float]
    receiver: list[float]
    non_causal: list[float]
    non_causal_peak: list[float]
    control: list[float]
    finish: list[float]
    in_transit: int
    live: bool
    violations: int

    def growth(self, costs: list[float]) -> float | None:
        """The exponent of a cost in the number of processes; None where there is no cost."""
        if not costs[0] or not costs[-1]:
            return None
        return log(costs[-1] / costs[0]) / log(SIZES[-1] / SIZES[0])


class Measured(NamedTuple):
    """One run: what it cost, how often it went wrong, and the mean size of a message packet in bytes."""

    statistics: Statistics
    run: Run
    violations: int
    octets: float


def measured(protocol: Protocol, application: Application, size: int, rtt: float, seed: int) -> Measured:
    """One run on a network of constant delays."""
    check = CausalCheck(protocol.monitors(size))
    run = Run(
        protocol.make(size),
        Network(Link(Constant(rtt / 2))),
        application,
        seed=seed,
        tick=rtt if protocol.machine.NEEDS_TICKS else None,
        observers=[check.see],
    )
    written: list[int] = []

    def weigh(sender: int, receiver: int, packet: Packet) -> None:
        if carries_message(packet):
            written.append(len(encode(packet)))

    run.on_packet = weigh
    gauge = Gauge(run, lambda i, j: rtt / 2)
    run.go(LIMIT)
    return Measured(gauge.read(), run, len(check.finish()), sum(written) / max(1, len(written)))


def table(seed: int = 0) -> Iterator[Row]:
    """The rows, one after the other as they are measured; all protocols get the same unicast work."""
    for name, protocol in PROTOCOLS.items():
        runs = [measured(protocol, Mixture(MESSAGES, spacing=0.25), size, 1.0, seed) for size in SIZES]
        streams = [measured(protocol, Stream(STREAM), SIZES[0], float(rtt), seed) for rtt in RTTS]
        costs = [one.statistics for one in runs]
        yield Row(
            protocol=name,
            tolerates=tuple(sorted(protocol.machine.TOLERATES)),
            metadata=[cost.metadata for cost in costs],
            octets=[one.octets for one in runs],
            state=[float(cost.state) for cost in costs],
            sender=[one.statistics.operations - _receiving(one.run) for one in runs],
            receiver=[_receiving(one.run) for one in runs],
            non_causal=[cost.non_causal or 0.0 for cost in costs],
            non_causal_peak=[cost.non_causal_peak or 0.0 for cost in costs],
            control=[cost.control for cost in costs],
            finish=[one.statistics.duration for one in streams],
            in_transit=streams[-1].statistics.in_transit,
            live=not any(one.run.undelivered for one in (*runs, *streams)),
            violations=sum(one.violations for one in (*runs, *streams)),
        )


def _receiving(run: Run) -> float:
    return run.receiver_operations / max(1, run.sent)
