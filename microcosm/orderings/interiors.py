"""Interiors: does every causally equivalent execution keep the ordering?

Orderings Beyond Causality, section 4, by local conditions that are equivalent to its chains (Theorems 23 to
27). Each function returns None where the ordering must hold, or the edges to add to the causal order so that
every execution that extends them breaks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from microcosm.orderings.closures import AddedEdges
from microcosm.orderings.computation import Computation, linear_extension


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
