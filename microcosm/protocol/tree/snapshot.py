"""Snapshots of a tree: a consistent state of nodes and links, while messages go on (seed 000, section 5).

The seed wants to draw on distributed snapshots for recovery. Links of the tree are FIFO, so markers do
(Chandy and Lamport): who begins records its state and sends a marker to all neighbours. The first marker
makes a node record its own state, and pass the marker on to all neighbours, before anything else is sent.
What comes from a neighbour between the node's own record and that neighbour's marker was on the link: it is
part of the snapshot. In a tree each link is crossed by two markers, and nobody needs to know how many nodes
there are.

The cut is consistent: what a node sends after its record is behind its marker on each link, so whoever gets
it has recorded before; and so on along the way. Each copy of a message that was sent before the cut and is
delivered after it stands on exactly one link of the snapshot: it passed some nodes before their records
(then it is before the marker on the link behind the last of these), and was received at the next one after
its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, UNKNOWN_PROCESS, UNSOUND
from microcosm.protocol.packets import Marker, Routed
from microcosm.protocol.tree.static import TreeNode


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
    """A node of a tree that takes part in snapshots; each marker costs the number of its neighbours.

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
        part = Snapshot(state, {neighbour: [] for neighbour in sorted(self.neighbours)}, set(self.neighbours))
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
