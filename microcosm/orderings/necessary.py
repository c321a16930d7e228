"""What a known ordering makes necessary: the real-time order that all executions which keep it agree on.

This is an order in real time, not of causality: of two events of different peers it only says that the
later one did not cause the earlier one. Messages have one receiver each here.
"""

from __future__ import annotations

from microcosm.orderings.closures import Edges, mailbox_edges, outbox_edges
from microcosm.orderings.computation import Computation
from microcosm.orderings.ordering import Ordering


def necessary(computation: Computation, ordering: Ordering) -> list[set[int]] | None:
    """For each event those that come after it in every causally equivalent execution that keeps the ordering.

    None where no execution keeps it. Raises `ValueError` for a message with several receivers. Cost: a
    transitive closure; for Fifo n-n one for each round in which something new follows.

    >>> from microcosm.orderings.computation import parse
    >>> necessary(parse("s1|s2|r1 r2"), Ordering.FIFO_N_1)[0]
    {1, 2, 3}
    """
    if computation.multicast:
        raise ValueError("a message has several receivers")
    after = _closed(computation, _edges(computation, ordering))
    while ordering is Ordering.FIFO_N_N and not _cyclic(after):
        more = _matched(computation, after)
        if not more:
            break
        for event, targets in more.items():
            after[event].update(targets)
        after = _closed(computation, {event: list(targets) for event, targets in enumerate(after)})
    if ordering in (Ordering.FIFO_1_1, Ordering.CAUSAL) and not _kept(computation, after, ordering):
        return None
    return None if _cyclic(after) else after


def _edges(computation: Computation, ordering: Ordering) -> Edges:
    match ordering:
        case Ordering.FIFO_N_1:
            return mailbox_edges(computation)
        case Ordering.FIFO_1_N:
            return outbox_edges(computation)[0]
        case Ordering.RSC:
            return _steps(computation)
        case _:
            return {}


def _steps(computation: Computation) -> Edges:
    """Every event after some event of a message is after its reception, and so for what is before."""
    edges: Edges = {}
    for receptions in computation.receptions:
        for reception in receptions:
            send = computation.send[computation.message[reception]]
            following = computation.next(send)
            if following >= 0:
                edges.setdefault(reception, []).append(_first(computation, following))
            before = computation.chains[computation.peer[reception]][: computation.index[reception]]
            if before:
                edges.setdefault(_last(computation, before[-1]), []).append(send)
            if following >= 0 and before:
                edges.setdefault(_last(computation, before[-1]), []).append(_first(computation, following))
    return edges


def _first(computation: Computation, event: int) -> int:
    """The first event of the step that an event belongs to."""
    return computation.send[computation.message[event]]


def _last(computation: Computation, event: int) -> int:
    """The last event of the step that an event belongs to."""
    m = computation.message[event]
    return computation.receptions[m][0] if computation.receptions[m] else computation.send[m]


def _closed(computation: Computation, edges: Edges) -> list[set[int]]:
    """What each event reaches in one step or more."""
    found: list[set[int]] = []
    for event in range(len(computation)):
        reached: set[int] = set()
        waiting = [event]
        while waiting:
            at = waiting.pop()
            for target in (*computation.successors(at), *edges.get(at, ())):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        found.append(reached)
    return found


def _cyclic(after: list[set[int]]) -> bool:
    return any(event in reached for event, reached in enumerate(after))


def _matched(computation: Computation, after: list[set[int]]) -> Edges:
    """One queue: receptions in the order of their sends, and sends in that of their receptions."""
    more: Edges = {}
    received = [m for m, receptions in enumerate(computation.receptions) if receptions]
    for a in received:
        for b in received:
            sends = (computation.send[a], computation.send[b])
            receptions = (computation.receptions[a][0], computation.receptions[b][0])
            for (x, y), (u, v) in ((sends, receptions), (receptions, sends)):
                if a != b and y in after[x] and v not in after[u]:
                    more.setdefault(u, []).append(v)
    return more


def _kept(computation: Computation, after: list[set[int]], ordering: Ordering) -> bool:
    """Whether a computation is Causal, or Fifo 1-1, by the definition."""
    peer, send = computation.peer, computation.send
    return not any(
        send[b] in after[send[a]] and first in after[second] and peer[first] == peer[second]
        for a, receptions in enumerate(computation.receptions)
        for first in receptions
        for b, others in enumerate(computation.receptions)
        for second in others
        if ordering is Ordering.CAUSAL or peer[send[a]] == peer[send[b]]
    )
