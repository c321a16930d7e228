"""Causal delivery along a tree of FIFO links, without any metadata: seed 000, Figure 3, as corrected.

The four rules are: M-Send puts a new message on the way to its receiver; M-Forward is the link; M-Route
passes a message on that has not arrived; M-Receive delivers one that has. A message to several
receivers travels once along a link and is copied where their ways part. For reliable FIFO networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import UNKNOWN_PROCESS, UNSOUND, Delivery, Machine
from microcosm.protocol.packets import Routed
from microcosm.protocol.tree.topology import check_tree


def hops(me: int, parents: Mapping[int, int]) -> dict[int, int]:
    """The neighbour of `me` towards every node (seed 000, Figure 4). The root is its own parent.

    Raises `ProtocolError` unless `parents` is a tree (Definition 3.2). Cost: linear.

    >>> hops(2, {1: 1, 2: 1, 3: 2, 4: 1})
    {1: 1, 3: 3, 4: 1}
    """
    check_tree(parents)
    if me not in parents:
        raise ProtocolError(f"{me} is no node")
    near: dict[int, list[int]] = {node: [] for node in parents}
    for node, parent in parents.items():
        if parent != node:
            near[node].append(parent)
            near[parent].append(node)
    towards: dict[int, int] = {}
    stack = [(neighbour, neighbour) for neighbour in near[me]]
    while stack:
        node, via = stack.pop()
        towards[node] = via
        stack.extend((n, via) for n in near[node] if n not in towards and n != me)
    return dict(sorted(towards.items()))


class TreeNode(Machine):
    """One node. Constant time a hop and receiver; no integer of metadata."""

    __slots__ = ("_clock", "_hops", "neighbours")

    def __init__(self, me: int, parents: Mapping[int, int]) -> None:
        super().__init__(me, frozenset(parents))
        self._clock = 0
        self._hops = hops(me, parents)
        self.neighbours = frozenset(self._hops.values())

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._route(self.me, to, payload)
        return self._clock

    def _on_routed(self, sender: int, packet: Routed) -> str | None:
        if sender not in self.neighbours:
            return UNKNOWN_PROCESS
        if any(j != self.me and j not in self._hops for j in packet.to) or packet.origin == self.me:
            return UNSOUND
        beyond = tuple(j for j in packet.to if j != self.me)
        if beyond:
            self._route(packet.origin, beyond, packet.payload)
        if len(beyond) < len(packet.to):
            self.operations += 1
            self._deliver(Delivery(packet.origin, packet.payload, packet))
        return None

    def _route(self, origin: int, to: Iterable[int], payload: Any) -> None:
        ways: dict[int, list[int]] = {}
        for j in to:
            ways.setdefault(self._hops[j], []).append(j)
            self.operations += 1
        for neighbour, receivers in ways.items():
            self._emit(neighbour, Routed(origin, tuple(receivers), payload))

    def idle(self) -> bool:
        return True

    def integers(self) -> int:
        return 1 + len(self._hops)

    @property
    def unsent(self) -> int:
        return 0

    HANDLERS: ClassVar[dict[type, str]] = {Routed: "_on_routed"}
