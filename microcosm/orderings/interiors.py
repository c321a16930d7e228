"""Interiors: does every causally equivalent execution keep the ordering?

Orderings Beyond Causality, section 4, by local conditions that are equivalent to its chains (Theorems 23 to
27). Each function returns None where the ordering must hold, or the edges to add to the causal order so that
every execution that extends them breaks it.

`necessary` tells what a known ordering makes necessary: the real-time order that all executions which keep it
agree on. This is an order in real time, not of causality: of two events of different peers it only says that
the later one did not cause the earlier one. Messages have one receiver each here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from microcosm.orderings.closures import AddedEdges, mailbox_edges, outbox_edges
from microcosm.orderings.computation import Computation, linear_extension
from microcosm.orderings.ordering import Ordering


def boxes_break(
    computation: Computation, order: Sequence[int]
) -> tuple[AddedEdges | None, AddedEdges | None]:
    """For Fifo n-1 and Fifo 1-n. `order` is any linear extension. Cost: O(events × peers).

    Fifo n-1: the sends of consecutive receptions of a peer must be causally ordered. Fifo 1-n: the
    receptions of consecutive received sends of a peer must be.
    """
    message, send, receptions = computation.message, computation.send, computation.receptions
    peer, index = computation.peer, computation.index
    before_it = _previous_received(computation)
    clocks: list[dict[int, int]] = [{} for _ in computation.peers]  # the latest event known of each peer
    transit: list[dict[int, int] | None] = [None] * len(computation.messages)
    left = list(map(len, receptions))
    mailbox: AddedEdges | None = None
    outbox: AddedEdges | None = None
    last = [-1] * len(computation.peers)
    for event in order:
        m, p = message[event], peer[event]
        sent = send[m]
        clock = clocks[p]
        clock[p] = index[event]
        if sent == event:
            if left[m]:
                transit[m] = clock.copy()
            continue
        known = transit[m]
        assert known is not None
        left[m] -= 1
        if not left[m]:
            transit[m] = None
        if last[p] >= 0 and mailbox is None:
            earlier = send[last[p]]
            if known.get(peer[earlier], -1) < index[earlier]:
                mailbox = {sent: [earlier]}
        last[p] = m
        for other, at in known.items():
            if clock.get(other, -1) < at:
                clock[other] = at
        if outbox is None and before_it[m] >= 0:
            missed = (r for r in receptions[before_it[m]] if clock.get(peer[r], -1) < index[r])
            first = next(missed, None)
            if first is not None:
                outbox = {event: [first]}
        if mailbox is not None and outbox is not None:
            break
    return mailbox, outbox


def _previous_received(computation: Computation) -> list[int]:
    """For each received message the one that its sender sent before it and that was received, or -1."""
    before = [-1] * len(computation.messages)
    for chain in computation.chains:
        last = -1
        for event in chain:
            m = computation.message[event]
            if computation.send[m] == event and computation.receptions[m]:
                before[m] = last
                last = m
    return before


def queue_breaks(computation: Computation, order: Sequence[int]) -> AddedEdges | None:
    """For Fifo n-n, where `order` is Fifo n-n itself. Cost: linear, and no clocks."""
    message, send, peer, index = computation.message, computation.send, computation.peer, computation.index
    sent = [
        m for m in map(message.__getitem__, filter(computation.sends, order)) if computation.receptions[m]
    ]
    for a, b in pairwise(sent):
        sa, sb = send[a], send[b]
        firsts, seconds = computation.receptions[a], computation.receptions[b]
        answered = any(peer[x] == peer[sb] and index[x] < index[sb] for x in firsts)
        if peer[sa] != peer[sb] and not answered:
            return {sb: [sa], firsts[0]: [seconds[0]]}
        for x in firsts:
            if peer[x] == peer[sb] and index[x] < index[sb]:
                continue
            for y in seconds:
                if peer[x] != peer[y]:
                    return {y: [x], sa: [sb]}
    return None


def synchrony_breaks(computation: Computation, order: Sequence[int]) -> AddedEdges | None:
    """For RSC, where `order` is RSC itself. Cost: linear."""
    message, send, peer, index = computation.message, computation.send, computation.peer, computation.index
    if not any(computation.receptions):
        return None
    sent = [message[event] for event in order if computation.sends(event)]
    for at, (a, b) in enumerate(pairwise(sent)):
        sa, sb = send[a], send[b]
        received = computation.receptions[a]
        for x in received:
            if peer[x] != peer[sb] or index[x] > index[sb]:
                return {sa: [sb], sb: [x]}
        if not received and peer[sa] != peer[sb]:
            return _around(computation, sent, at)
    return None


def _around(computation: Computation, sent: list[int], at: int) -> AddedEdges:
    """Two concurrent sends, the first never received: one of them can come between another message's events.

    Either the next received message comes after both, and one of the sends up to it is not ordered
    with its own; or the last received one comes before both, and one of them does not wait for it.
    """
    nearest = next((m for m in sent[at + 1 :] if computation.receptions[m]), None)
    if nearest is None:
        nearest = next(m for m in reversed(sent[:at]) if computation.receptions[m])
    send = computation.send[nearest]
    for m in sent[at : at + 2] if nearest not in sent[at : at + 2] else sent[at : at + 1]:
        for x in computation.receptions[nearest]:
            edges = {send: [computation.send[m]], computation.send[m]: [x]}
            if linear_extension(computation, edges) is not None:
                return edges
    raise AssertionError("two concurrent sends, and both are ordered with the nearest message")


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


def _edges(computation: Computation, ordering: Ordering) -> AddedEdges:
    match ordering:
        case Ordering.FIFO_N_1:
            return mailbox_edges(computation)
        case Ordering.FIFO_1_N:
            return outbox_edges(computation)[0]
        case Ordering.RSC:
            return _steps(computation)
        case _:
            return {}


def _steps(computation: Computation) -> AddedEdges:
    """Every event after some event of a message is after its reception, and so for what is before."""
    edges: AddedEdges = {}
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


def _closed(computation: Computation, edges: AddedEdges) -> list[set[int]]:
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


def _matched(computation: Computation, after: list[set[int]]) -> AddedEdges:
    """One queue: receptions in the order of their sends, and sends in that of their receptions."""
    more: AddedEdges = {}
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
