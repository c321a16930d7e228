"""Every protocol by its name, and how to make one for each of n processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from microcosm.protocol.comparators import KS, MF, RST, Cykas, Newtop
from microcosm.protocol.hybrid.dependencies import HybridDependencies
from microcosm.protocol.hybrid.multicast import HybridMulticast, HybridMulticastSPS
from microcosm.protocol.hybrid.unicast import HybridBasic, HybridSPS
from microcosm.protocol.machine import Machine
from microcosm.protocol.monitoring import Monitored
from microcosm.protocol.tree_static import Parents, TreeNode, complete_tree


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol: its name, its machine, and `make(n)` for the machines of n processes."""

    name: str
    machine: type[Machine]
    make: Callable[[int], list[Machine]]

    @property
    def symmetric(self) -> bool:
        """Whether processes differ by nothing but their numbers, and nothing goes by the order of these."""
        return self.machine not in (Monitored, TreeNode, Newtop, HybridDependencies)

    def monitors(self, size: int) -> range:
        """The processes to which it promises causal delivery: all, or process 0. Cost: constant."""
        return range(1 if self.machine is Monitored else size)


def _of(name: str, machine: type[Machine], one: Callable[[int, int], Machine]) -> tuple[str, Protocol]:
    return name, Protocol(name, machine, lambda size: [one(me, size) for me in range(size)])


PROTOCOLS: dict[str, Protocol] = dict(
    [
        _of("hybrid-basic", HybridBasic, lambda me, size: HybridBasic(me, range(size))),
        _of("hybrid-sps", HybridSPS, lambda me, size: HybridSPS(me, range(size))),
        _of("hybrid-multicast", HybridMulticast, lambda me, size: HybridMulticast(me, range(size))),
        _of("hybrid-multicast-sps", HybridMulticastSPS, lambda me, size: HybridMulticastSPS(me, range(size))),
        _of("hybrid-dependencies", HybridDependencies, lambda me, size: HybridDependencies(me, range(size))),
        _of("tree", TreeNode, lambda me, size: TreeNode(me, complete_tree(size, 2))),
        _of("monitor", Monitored, Monitored),
        _of("rst", RST, RST),
        _of("ks", KS, KS),
        _of("newtop", Newtop, Newtop),
        _of("mf", MF, lambda me, size: MF(me, range(size))),
        _of("cykas", Cykas, lambda me, size: Cykas(me, range(size))),
    ]
)


def on_tree(parents: Parents) -> Protocol:
    """The protocol `tree` on a tree of its own, for as many processes as it has nodes. Cost: constant."""
    return replace(PROTOCOLS["tree"], make=lambda size: [TreeNode(me, parents) for me in range(size)])


def with_budget(budget: int | None) -> Protocol:
    """The protocol `hybrid-dependencies` with a budget of its own; None: no bound. Cost: constant."""
    return replace(
        PROTOCOLS["hybrid-dependencies"],
        make=lambda size: [HybridDependencies(me, range(size), budget=budget) for me in range(size)],
    )
