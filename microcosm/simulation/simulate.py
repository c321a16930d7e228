"""A protocol under the default workload on a network of a few parameters: what `microcosm simulate` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from microcosm.errors import ProtocolError
from microcosm.protocol.catalogue import PROTOCOLS, Protocol, on_tree, with_budget
from microcosm.protocol.tree.static import tree_of
from microcosm.simulation.events import CausalCheck, Event, Violation
from microcosm.simulation.run import Link, Network, Run, Uniform, spread
from microcosm.simulation.statistics import Gauge, Statistics
from microcosm.simulation.workload import Mixture

RECEIVERS = 3
"""The most receivers of a message in the default workload, where the protocol can multicast."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of a run.

    `rtt`: the least and the greatest round trip time of a pair of processes. `topology`: of the protocol
    `tree` (`protocol.tree.static`); `budget`: of `hybrid-dependencies`. None: as the protocol has it.
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
        link = Link(Uniform(low / 4, 3 * low / 4), self.loss, self.duplicate, self.reorder)
        if low == high:
            return Network(link)
        return spread(self.processes, low, high, Random(self.seed), link)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run cost, and what went wrong in it."""

    statistics: Statistics
    violations: list[Violation]
    refused: dict[str, int]


def outside_the_model(protocol: Protocol, faults: set[str]) -> list[str]:
    """The faults of a network for which a protocol is not made (seed 001, Table 1), sorted."""
    return sorted(faults - protocol.machine.TOLERATES)


def chosen(name: str, setting: Setting) -> Protocol:
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


def simulate(name: str, setting: Setting, observer: Callable[[Event], None] | None = None) -> Outcome:
    """Run a protocol to quiescence. Raises `ProtocolError` for a network that it is not made for.

    >>> simulate("hybrid-basic", Setting(messages=20, loss=0.3)).violations
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
    refused: dict[str, int] = {}
    for machine in run.machines:
        for reason, count in machine.refused.items():
            refused[reason] = refused.get(reason, 0) + count
    return Outcome(gauge.read(), check.finish(), dict(sorted(refused.items())))
