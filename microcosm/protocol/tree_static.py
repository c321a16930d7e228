"""Causal delivery along a tree of FIFO links, without any metadata: Tree Topologies, Figure 3, as corrected.

The four rules are: M-Send puts a new message on the way to its receiver; M-Forward is the link; M-Route
passes a message on that has not arrived; M-Receive delivers one that has. A message to several
receivers travels once along a link and is copied where their ways part. For reliable FIFO networks.

Tree Topologies leaves open how a tree is built. A topology is a word: `binary` (complete, root 0), `star`
(all others are children of 0), `path` (each node's parent is the one before it), `K-ary` (complete, K
children each) or the parents of all nodes in their order, as in `p2,p3,p3,p3`, where the root names itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import DUPLICATE, UNKNOWN_PROCESS, UNSOUND, Delivery, Machine
from microcosm.protocol.packets import Marker, Routed


def hops(me: int, parents: Mapping[int, int]) -> dict[int, int]:
    """The neighbour of `me` towards every node (Tree Topologies, Figure 4). The root is its own parent.

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
        self.neighbours = dict.fromkeys(sorted(self._hops.values()))
        """The nodes at the other ends of this one's links."""

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._route(self.me, to, payload)
        return self._clock

    def _on_routed(self, sender: int, packet: Routed) -> str | None:
        if sender not in self.neighbours:
            return UNKNOWN_PROCESS
        if any(j != self.me and j not in self._hops for j in packet.to):
            return UNSOUND
        return self._arrived(packet)

    def _arrived(self, packet: Routed) -> str | None:
        """Pass a packet on to all whom it is for but this node, and deliver it here if it is for this one."""
        if packet.origin == self.me:
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

    HANDLERS: ClassVar[dict[type, str]] = {Routed: "_on_routed"}


TOPOLOGIES = "binary, star, path, K-ary (3-ary), or the parents of all nodes (p2,p3,p3,p3)"

Parents = dict[int, int]


def complete_tree(size: int, arity: int) -> Parents:
    """A complete tree of nodes 0 to size - 1, root 0, in which nodes have up to `arity` children.

    Cost: linear.

    >>> complete_tree(6, 2)
    {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2}
    """
    return {node: (node - 1) // arity if node else 0 for node in range(size)}


def tree_of(topology: str, size: int) -> Parents:
    """The parents that a word stands for. Raises `ProtocolError` for what is no tree of so many nodes.

    Cost: linear.

    >>> tree_of("path", 3), tree_of("p2,p2,p2", 3)
    ({0: 0, 1: 0, 2: 1}, {0: 1, 1: 1, 2: 1})
    """
    if topology == "binary":
        return complete_tree(size, 2)
    if topology == "star":
        return complete_tree(size, max(1, size))
    if topology == "path":
        return complete_tree(size, 1)
    if found := re.fullmatch(r"([1-9]\d{0,8})-ary", topology):
        return complete_tree(size, int(found[1]))
    listed = [re.fullmatch(r"p([1-9]\d{0,8})", part.strip()) for part in topology.split(",")]
    parents = {node: int(part[1]) - 1 for node, part in enumerate(listed) if part}
    if len(parents) != len(listed):
        raise ProtocolError(f"no topology {topology!r}; there are {TOPOLOGIES}")
    if len(parents) != size:
        raise ProtocolError(f"{len(parents)} parents for {size} nodes")
    check_tree(parents)
    return parents


def check_tree(parents: Mapping[int, int]) -> None:
    """Tree Topologies, Definition 3.2: every parent is a node, there is one root, no circle. Cost: linear.

    Raises `ProtocolError` where it is no tree.
    """
    roots = [node for node, parent in parents.items() if node == parent]
    for node, parent in parents.items():
        if parent not in parents:
            raise ProtocolError(f"the parent of {node} is no node: {parent}")
    if len(roots) != 1:
        raise ProtocolError(f"a tree has one root, not {len(roots)}")
    near: dict[int, list[int]] = {}
    for node, parent in parents.items():
        if node != parent:
            near.setdefault(parent, []).append(node)
    reached, stack = 0, roots[:]
    while stack:
        reached += 1
        stack += near.get(stack.pop(), [])
    if reached != len(parents):
        raise ProtocolError("a tree has no circle")


@dataclass(slots=True)
class Snapshot:
    """One node's part: its state, and by neighbour the packets that were on the way from there."""

    state: Any
    links: dict[int, list[Routed]]
    open: set[int] = field(default_factory=set)
    """The neighbours whose markers have not come."""

    @property
    def complete(self) -> bool:
        """Whether this node's part is all there."""
        return not self.open


class SnapshotNode(TreeNode):
    """Snapshots of a tree: a consistent state of nodes and links, while messages go on (Tree Topologies, 5).

    The paper wants to draw on distributed snapshots for recovery. Links of the tree are FIFO, so markers do
    (Chandy and Lamport): who begins records its state and sends a marker to all neighbours. The first marker
    makes a node record its own state, and pass the marker on to all neighbours, before anything else is sent.
    What comes from a neighbour between the node's own record and that neighbour's marker was on the link: it
    is part of the snapshot. In a tree each link is crossed by two markers, and nobody needs to know how many
    nodes there are.

    The cut is consistent: what a node sends after its record is behind its marker on each link, so whoever
    gets it has recorded before; and so on along the way. Each copy of a message that was sent before the cut
    and is delivered after it stands on exactly one link of the snapshot: it passed some nodes before their
    records (then it is before the marker on the link behind the last of these), and was received at the next
    one after its record.

    A node of a tree that takes part in snapshots; each marker costs the number of its neighbours.

    `on_record` gives the state of the application, when it is asked for it. `snapshots` are this node's
    parts, by who began and the number there.

    >>> a, b = SnapshotNode(0, {0: 0, 1: 0}), SnapshotNode(1, {0: 0, 1: 0})
    >>> number = b.causal_send([0], "on the way"), a.snapshot()
    >>> [(_, marker)], [(_, message)] = a.take(), b.take()
    >>> b.receive(0, marker)
    >>> [(_, back)] = b.take()
    >>> a.receive(1, message), a.receive(1, back)
    (None, None)
    >>> a.snapshots[0, 1].links, a.snapshots[0, 1].complete
    ({1: [Routed(origin=1, to=(0,), payload='on the way')]}, True)
    """

    __slots__ = ("on_record", "snapshots")

    def __init__(self, me: int, parents: Mapping[int, int]) -> None:
        super().__init__(me, parents)
        self.on_record: Callable[[], Any] | None = None
        self.snapshots: dict[tuple[int, int], Snapshot] = {}

    def snapshot(self) -> int:
        """Begin a snapshot; its number at this node."""
        number = 1 + sum(origin == self.me for origin, _ in self.snapshots)
        self._record(Marker(self.me, number))
        return number

    def _record(self, marker: Marker) -> Snapshot:
        state = None if self.on_record is None else self.on_record()
        part = Snapshot(state, {neighbour: [] for neighbour in self.neighbours}, set(self.neighbours))
        self.snapshots[marker.origin, marker.number] = part
        for neighbour in part.links:
            self.operations += 1
            self._emit(neighbour, marker)
        return part

    def _on_marker(self, sender: int, marker: Marker) -> str | None:
        if sender not in self.neighbours:
            return UNKNOWN_PROCESS
        key = marker.origin, marker.number
        part = self.snapshots.get(key)
        if part is None:
            if marker.origin == self.me or marker.origin not in self._hops:
                return UNSOUND
            part = self._record(marker)
        if sender not in part.open:
            return DUPLICATE
        part.open.discard(sender)
        return None

    def _on_routed(self, sender: int, packet: Routed) -> str | None:
        for part in self.snapshots.values():
            if sender in part.open:
                part.links[sender].append(packet)
        return super()._on_routed(sender, packet)

    def idle(self) -> bool:
        return all(part.complete for part in self.snapshots.values())

    HANDLERS: ClassVar[dict[type, str]] = {Routed: "_on_routed", Marker: "_on_marker"}
