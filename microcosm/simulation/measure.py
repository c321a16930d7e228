"""Table 1 of seed 001, measured: how the costs of each protocol grow with the number of processes.

All protocols get the same work on the same network of constant delays, a round trip being 1. Growth is
the exponent k of n^k between the smallest and the largest number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.simulation.causal_check import CausalCheck
from microcosm.simulation.network import Constant, Link, Network
from microcosm.simulation.run import Application, Run
from microcosm.simulation.statistics import Gauge, Statistics
from microcosm.simulation.workload import Mixture, Stream

SIZES = (5, 10, 20, 40)
MESSAGES = 400
STREAM = 100
"""So many messages go to one receiver, to see whether throughput depends on the round trip time."""
RTTS = (1, 10, 100)
LIMIT = 2_000_000
"""A run that takes more steps is not live."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one protocol; lists run over `SIZES`, `finish` over `RTTS`."""

    protocol: str
    tolerates: tuple[str, ...]
    metadata: list[float]
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


def measured(
    protocol: Protocol, application: Application, size: int, rtt: float, seed: int
) -> tuple[Statistics, Run, int]:
    """One run on a network of constant delays, and its violations."""
    check = CausalCheck(protocol.monitors(size))
    tick = rtt if protocol.machine.NEEDS_TICKS else None
    run = Run(
        protocol.make(size),
        Network(Link(Constant(rtt / 2))),
        application,
        seed=seed,
        tick=tick,
        observers=[check.see],
    )
    gauge = Gauge(run, lambda i, j: rtt / 2)
    run.go(LIMIT)
    return gauge.read(), run, len(check.finish())


def table(seed: int = 0) -> Iterator[Row]:
    """The rows, one after the other as they are measured."""
    for name, protocol in PROTOCOLS.items():
        runs = [
            # The same unicast work for all, so that the numbers compare.
            measured(protocol, Mixture(MESSAGES, spacing=0.25), size, 1.0, seed)
            for size in SIZES
        ]
        streams = [measured(protocol, Stream(STREAM), SIZES[0], float(rtt), seed) for rtt in RTTS]
        wrong = sum(violations for _, _, violations in (*runs, *streams))
        yield Row(
            protocol=name,
            tolerates=tuple(sorted(protocol.machine.TOLERATES)),
            metadata=[statistics.metadata for statistics, _, _ in runs],
            state=[float(statistics.state) for statistics, _, _ in runs],
            sender=[statistics.operations - _receiving(run) for statistics, run, _ in runs],
            receiver=[_receiving(run) for _, run, _ in runs],
            non_causal=[statistics.non_causal or 0.0 for statistics, _, _ in runs],
            non_causal_peak=[statistics.non_causal_peak or 0.0 for statistics, _, _ in runs],
            control=[statistics.control for statistics, _, _ in runs],
            finish=[statistics.duration for statistics, _, _ in streams],
            in_transit=streams[-1][0].in_transit,
            live=not any(run.undelivered for _, run, _ in (*runs, *streams)),
            violations=wrong,
        )


def _receiving(run: Run) -> float:
    return run.receiver_operations / max(1, run.sent)
