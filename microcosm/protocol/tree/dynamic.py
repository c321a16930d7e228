"""A tree that changes in operation: nodes join, leave and fail, and the rest keep causal delivery.

Tree Topologies leaves this open. Every node knows the whole tree as parents, so that all compute the same
next hops. One change happens at a time: the host begins one when the one before is known to all.

*Join.* A node that admits another tells all others along the tree. The news travel like a message, and
trees deliver causally, so whoever hears from the new node, or of anything it caused, has heard of it.

*Leave.* A node y that leaves hands its neighbours over to its heir: its parent, or its least child.

1. y asks all its neighbours to send it nothing more (`retire`); each answers with its last packet (`last`)
   and holds back what would go through y. Links are FIFO: what y has got by then is all there ever was.
2. y has passed all of it on when the last answer is there, and says so (`done`), its own last packet.
3. Who has got `done` has got everything that came through y. Only now it takes packets of its new
   neighbours (it holds those that came before), sends what it held back, and tells the others (`gone`).

So along any new way nothing is taken that could have overtaken a message on the old one: whatever went
through y is taken at each neighbour before `done`, and whatever goes round it, after.

*Failure.* The host tells each neighbour that y is lost, after all packets from y: that stands for `done`.
What y had not passed on is lost with it; what is delivered is in causal order among all others, and once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import OUT_OF_WINDOW, UNKNOWN_PROCESS, UNSOUND, WINDOW, Delivery, Machine
from microcosm.protocol.packets import CHANGES, Packet, Routed, TreeChange, Welcome
from microcosm.protocol.tree.static import hops

GONE = "its receiver is gone"

_JOINED, _RETIRE, _LAST, _DONE, _GONE = range(len(CHANGES))


def heir(node: int, parents: Mapping[int, int]) -> int:
    """Who takes over the neighbours of a node: its parent, or of the root the least child.

    Cost: linear in the tree at most.

    >>> heir(1, {0: 0, 1: 0, 2: 1}), heir(0, {0: 0, 2: 0, 1: 0})
    (0, 1)
    """
    if parents[node] != node:
        return parents[node]
    return min((child for child, parent in parents.items() if parent == node != child), default=node)


def without(node: int, parents: Mapping[int, int]) -> dict[int, int]:
    """The tree without a node, its children being those of its heir. Cost: linear in the tree."""
    new = heir(node, parents)
    return {child: new if parent == node else parent for child, parent in parents.items() if child != node}


class DynamicTreeNode(Machine):
    """One node of a changing tree; `parents` is the tree as it knows it."""

    __slots__ = ("_clock", "_early", "_held", "_hops", "_silent", "_waits", "gone", "parents")

    def __init__(self, me: int, parents: Mapping[int, int]) -> None:
        self.parents = dict(parents)
        super().__init__(me, self.parents)
        self._clock = 0
        self._hops = hops(me, self.parents)
        self._silent: int | None = None
        """The neighbour that is leaving: nothing is sent to it."""
        self._held: list[Routed] = []
        """What would go through that neighbour."""
        self._early: list[tuple[int, Packet]] = []
        """Packets of nodes that are no neighbours yet."""
        self._waits: set[int] | None = None
        """While this node leaves: the neighbours whose last packet has not come."""
        self.gone = False

    @property
    def neighbours(self) -> list[int]:
        """The nodes at the other ends of this one's links, sorted."""
        return sorted(set(self._hops.values()))

    def admit(self, node: int) -> None:
        """Let a node join below this one; it starts as `DynamicTreeNode(node, {this: this, node: this})`.

        Raises `ProtocolError` where it is in the tree already, or this node is leaving. Cost: linear in the
        nodes, and a packet to each neighbour.
        """
        if node in self.parents or self._waits is not None or self.gone:
            raise ProtocolError(f"{node} cannot join below {self.me}")
        self._flood(TreeChange(_JOINED, node, self.me), self.me)
        self._known_to_be({**self.parents, node: self.me})
        self._emit(node, Welcome(tuple(sorted(self.parents.items()))))

    def retire(self) -> None:
        """Leave the tree. This node sends no message of its own any more, and is `gone` in the end.

        Raises `ProtocolError` where it is leaving already. Cost: a packet to each neighbour.
        """
        if self._waits is not None or self.gone:
            raise ProtocolError(f"{self.me} is leaving already")
        self._waits = set(self.neighbours)
        for neighbour in self.neighbours:
            self._emit(neighbour, TreeChange(_RETIRE, self.me, self.me))
        self._finish()

    def lost(self, node: int) -> None:
        """A neighbour has failed, and all packets that it sent have been received.

        Cost: linear in the tree.
        """
        if node in self.neighbours:
            self._close(node)

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        if self._waits is not None or self.gone:
            raise ProtocolError(f"{self.me} is leaving")
        self._clock += 1
        self._route(Routed(self.me, to, payload))
        return self._clock

    def _on_routed(self, sender: int, packet: Routed) -> str | None:
        if sender not in self._hops.values():
            return self._keep(sender, packet)
        if packet.origin == self.me:
            return UNSOUND
        beyond = tuple(j for j in packet.to if j != self.me)
        if beyond:
            self._route(Routed(packet.origin, beyond, packet.payload))
        if len(beyond) < len(packet.to):
            self._deliver(Delivery(packet.origin, packet.payload, packet))
        return None

    def _route(self, packet: Routed) -> None:
        ways: dict[int, list[int]] = {}
        for j in packet.to:
            self.operations += 1
            if j in self._hops:
                ways.setdefault(self._hops[j], []).append(j)
            else:
                self.refused[GONE] += 1
        for neighbour, receivers in ways.items():
            copy = Routed(packet.origin, tuple(receivers), packet.payload)
            if neighbour == self._silent:
                self._held.append(copy)
            else:
                self._emit(neighbour, copy)

    def _on_change(self, sender: int, change: TreeChange) -> str | None:
        if sender not in self._hops.values():
            return self._keep(sender, change)
        node = change.node
        if change.what == _JOINED:
            if node in self.parents or change.other not in self.parents:
                return UNSOUND
            self._known_to_be({**self.parents, node: change.other})
            self._flood(change, sender)
        elif change.what == _GONE:
            if node not in self.parents or node == self.me or node in self.neighbours:
                return UNSOUND  # of a neighbour one hears from itself
            self._known_to_be(without(node, self.parents))
            self._flood(change, sender)
        elif change.what == _RETIRE and node == sender:
            self._silent = sender
            self._emit(sender, TreeChange(_LAST, sender, sender))
        elif change.what == _LAST and self._waits is not None:
            self._waits.discard(sender)
            self._finish()
        elif change.what == _DONE and node == sender:
            self._close(sender)
        else:
            return UNSOUND
        return None

    def _on_welcome(self, sender: int, packet: Welcome) -> str | None:
        parents = dict(packet.parents)
        if sender not in self._hops.values() or parents.get(self.me) != sender or len(self.parents) != 2:
            return UNSOUND
        try:
            hops(self.me, parents)
        except ProtocolError:
            return UNSOUND
        self._known_to_be(parents)
        return None

    def _keep(self, sender: int, packet: Packet) -> str | None:
        """A packet of a node that will be a neighbour, once this one has heard of the change."""
        if sender not in self.parents or self.gone:
            return UNKNOWN_PROCESS
        if len(self._early) >= WINDOW:
            return OUT_OF_WINDOW
        self._early.append((sender, packet))
        return None

    def _finish(self) -> None:
        """All that could come through this node has been passed on: say so, and be gone."""
        if self._waits is not None and not self._waits:
            for neighbour in self.neighbours:
                self._emit(neighbour, TreeChange(_DONE, self.me, self.me))
            self.gone = True
            self._waits = None
            self._known_to_be({self.me: self.me})

    def _close(self, node: int) -> None:
        """Nothing will come from a neighbour any more: go round it."""
        mine = [neighbour for neighbour in self.neighbours if neighbour != node]
        self._known_to_be(without(node, self.parents))
        self._silent = None
        for neighbour in mine:
            self._emit(neighbour, TreeChange(_GONE, node, node))
        held, self._held = self._held, []
        for packet in held:
            self._route(packet)
        early, self._early = self._early, []
        for sender, kept in early:
            self.receive(sender, kept)

    def _flood(self, change: TreeChange, origin: int) -> None:
        for neighbour in self.neighbours:
            if neighbour not in (origin, change.node):
                self._emit(neighbour, change)

    def _known_to_be(self, parents: dict[int, int]) -> None:
        self.parents = parents
        self.known = parents
        self._hops = hops(self.me, parents)

    def idle(self) -> bool:
        return self._waits is None and self._silent is None and not self._held and not self._early

    def integers(self) -> int:
        return 2 * len(self.parents) + len(self._hops) + len(self._held) + len(self._early)

    @property
    def unsent(self) -> int:
        return len(self._held)

    HANDLERS: ClassVar[dict[type, str]] = {
        Routed: "_on_routed",
        TreeChange: "_on_change",
        Welcome: "_on_welcome",
    }
