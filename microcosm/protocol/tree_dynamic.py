"""Trees that change in operation, and keep causal delivery: what Tree Topologies leaves open.

**Nodes join, leave and fail** (`DynamicTreeNode`). Every node knows the whole tree as parents, so that all
compute the same next hops. One change happens at a time: the host begins one when the one before is known to
all.

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

**Actors move from node to node** (`ActorNode`; section 5), while messages to them are under way. A message is
addressed to an actor. Every node knows, for each actor, the neighbour behind which it lives; no node need
know more, and nothing is told to those whose side does not change.

An actor moves along one link at a time, from node u to its neighbour v, and rests at v until the way behind
it is empty; then it goes on to the next node on its way.

1. u sends it to v (`move`). From now on u passes messages to the actor on to v, behind it (FIFO).
2. v may have sent messages for the actor to u before: u sends them back. So v asks u to empty that link
   (`flush`) when the actor arrives, and u answers (`flushed`), behind all that it sent back.
3. Until then v delivers what comes from u, as it comes, and holds what comes from elsewhere.

Causal delivery stays. Let m cause m', both to the actor. If both reach v over the same link they keep their
order: links are FIFO, and u serves its links in the order of arrival. Say m is held at v, and m' comes from
u. What carried the news of m to u's side left v behind the flush, so m' is behind `flushed`, and m is
delivered by then. Say m comes from u and m' is held. If v had sent m to u, it comes back before `flushed`.
If m comes from u's side, it is ahead of whatever brought the news of it to v. What the actor itself sends
travels as ever: the move goes over the link like a message, behind what the actor sent before and ahead of
what it sends after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from microcosm.errors import ProtocolError
from microcosm.protocol.machine import OUT_OF_WINDOW, UNKNOWN_PROCESS, UNSOUND, WINDOW, Delivery, Machine
from microcosm.protocol.packets import CHANGES, MOVES, Migration, Packet, Posted, Routed, TreeChange, Welcome
from microcosm.protocol.tree_static import TreeNode, hops

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


class DynamicTreeNode(TreeNode):
    """One node of a changing tree; `parents` is the tree as it knows it."""

    __slots__ = ("_early", "_held", "_silent", "_waits", "gone", "parents")

    def __init__(self, me: int, parents: Mapping[int, int]) -> None:
        super().__init__(me, parents)
        self.known = self.parents = dict(parents)
        self._silent: int | None = None
        """The neighbour that is leaving: nothing is sent to it."""
        self._held: list[Routed] = []
        """What would go through that neighbour."""
        self._early: list[tuple[int, Packet]] = []
        """Packets of nodes that are no neighbours yet."""
        self._waits: set[int] | None = None
        """While this node leaves: the neighbours whose last packet has not come."""
        self.gone = False

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
        return super()._send(to, payload)

    def _on_routed(self, sender: int, packet: Routed) -> str | None:
        return self._arrived(packet) if sender in self.neighbours else self._keep(sender, packet)

    def _route(self, origin: int, to: Iterable[int], payload: Any) -> None:
        for j in to:
            if j not in self._hops:
                self.refused[GONE] += 1
        super()._route(origin, [j for j in to if j in self._hops], payload)

    def _emit(self, to: int, packet: Packet) -> None:
        if isinstance(packet, Routed) and to == self._silent:
            self._held.append(packet)
        else:
            super()._emit(to, packet)

    def _on_change(self, sender: int, change: TreeChange) -> str | None:
        if sender not in self.neighbours:
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
        if sender not in self.neighbours or parents.get(self.me) != sender or len(self.parents) != 2:
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
            self._route(packet.origin, packet.to, packet.payload)
        early, self._early = self._early, []
        for sender, kept in early:
            self.receive(sender, kept)

    def _flood(self, change: TreeChange, origin: int) -> None:
        for neighbour in self.neighbours:
            if neighbour not in (origin, change.node):
                self._emit(neighbour, change)

    def _known_to_be(self, parents: dict[int, int]) -> None:
        self.known = self.parents = parents
        self._hops = hops(self.me, parents)
        self.neighbours = dict.fromkeys(sorted(self._hops.values()))

    def idle(self) -> bool:
        return self._waits is None and self._silent is None and not self._held and not self._early

    def integers(self) -> int:
        return 2 * len(self.parents) + len(self._hops) + len(self._held) + len(self._early)

    @property
    def unsent(self) -> int:
        return len(self._held)

    HANDLERS: ClassVar[dict[type, str]] = {
        **TreeNode.HANDLERS,
        TreeChange: "_on_change",
        Welcome: "_on_welcome",
    }


_MOVE, _FLUSH, _FLUSHED = range(len(MOVES))


class Arrived(NamedTuple):
    """An actor that lives here, though the way behind it is not empty yet."""

    behind: int
    goal: int
    held: list[Posted]


class ActorNode(Machine):
    """One node of a tree with actors; `homes` says where each actor lives at first.

    `post` sends a message, `move` an actor. A `Delivery` has the sending actor for its sender, and its
    packet says which actor it is for. `states` are the actors that live here, with what they take along when
    they move.
    """

    __slots__ = ("_arrived", "_hops", "_towards", "states")

    def __init__(self, me: int, parents: Mapping[int, int], homes: Mapping[int, int]) -> None:
        super().__init__(me, frozenset(parents))
        self._hops = hops(me, parents)
        self._towards = {actor: self._hops[home] for actor, home in homes.items() if home != me}
        self._arrived: dict[int, Arrived] = {}
        self.states: dict[int, Any] = {actor: None for actor, home in homes.items() if home == me}

    def post(self, actor: int, to: int, payload: Any = None) -> None:
        """Send a message of an actor that lives here. Raises `ProtocolError` for one that does not.

        Cost: constant.
        """
        if actor not in self.states or (to not in self.states and to not in self._towards):
            raise ProtocolError(f"no message from actor {actor} to actor {to} begins at {self.me}")
        self._pass_on(self.me, Posted(actor, to, payload))

    def move(self, actor: int, goal: int) -> None:
        """Let an actor that lives here, and rests, move to another node. Raises `ProtocolError` else.

        Cost: constant.
        """
        if actor not in self.states or actor in self._arrived or goal not in self._hops:
            raise ProtocolError(f"actor {actor} cannot move from {self.me} to {goal}")
        neighbour = self._hops[goal]
        self._towards[actor] = neighbour
        self._emit(neighbour, Migration(_MOVE, actor, goal, self.states.pop(actor)))

    def _pass_on(self, sender: int, packet: Posted) -> None:
        """A message at this node, that came from a neighbour or (`me`) began here."""
        self.operations += 1
        arrived = self._arrived.get(packet.to)
        if packet.to in self._towards:
            self._emit(self._towards[packet.to], packet)
        elif arrived is not None and sender != arrived.behind and packet.origin != packet.to:
            arrived.held.append(packet)
        else:
            self._deliver(Delivery(packet.origin, packet.payload, packet))

    def _on_posted(self, sender: int, packet: Posted) -> str | None:
        if sender not in self._hops.values():
            return UNKNOWN_PROCESS
        if packet.to not in self._towards and packet.to not in self.states:
            return UNSOUND
        self._pass_on(sender, packet)
        return None

    def _on_migration(self, sender: int, packet: Migration) -> str | None:
        actor, goal = packet.actor, packet.goal
        if sender not in self._hops.values():
            return UNKNOWN_PROCESS
        if packet.what == _MOVE:
            if self._towards.get(actor) != sender or (goal != self.me and goal not in self._hops):
                return UNSOUND
            del self._towards[actor]
            self.states[actor] = packet.payload
            self._arrived[actor] = Arrived(sender, goal, [])
            self._emit(sender, Migration(_FLUSH, actor, goal))
        elif packet.what == _FLUSH:
            if self._towards.get(actor) != sender:
                return UNSOUND
            self._emit(sender, Migration(_FLUSHED, actor, goal))
        else:
            arrived = self._arrived.get(actor)
            if arrived is None or arrived.behind != sender:
                return UNSOUND
            self._rest(actor, arrived)
        return None

    def _rest(self, actor: int, arrived: Arrived) -> None:
        """The way behind an actor is empty: it gets what was held, and goes on."""
        while arrived.held:  # a reaction to what was held may add to it
            packet = arrived.held.pop(0)
            self._deliver(Delivery(packet.origin, packet.payload, packet))
        del self._arrived[actor]
        if arrived.goal != self.me:
            self.move(actor, arrived.goal)

    def causal_send(self, to: Iterable[int], payload: Any = None) -> int:
        """Nodes send nothing to each other here: actors do, by `post`. Raises `ProtocolError`.

        Cost: constant.
        """
        raise ProtocolError("nodes send nothing: actors do")

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        return 0

    def idle(self) -> bool:
        return not self._arrived

    def integers(self) -> int:
        return len(self._hops) + len(self._towards) + len(self.states) + 2 * len(self._arrived)

    @property
    def unsent(self) -> int:
        return sum(len(arrived.held) for arrived in self._arrived.values())

    HANDLERS: ClassVar[dict[type, str]] = {Posted: "_on_posted", Migration: "_on_migration"}
