"""Actors that move from node to node of a tree, while messages to them are under way (Tree Topologies, 5).

The paper leaves migration open. A message is addressed to an actor. Every node knows, for each actor, the
neighbour behind which it lives; no node need know more, and nothing is told to those whose side does not
change.

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
from microcosm.protocol.machine import UNKNOWN_PROCESS, UNSOUND, Delivery, Machine
from microcosm.protocol.packets import MOVES, Migration, Posted
from microcosm.protocol.tree.static import hops

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
