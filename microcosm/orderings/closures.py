"""Closures and interiors of the message orderings: is there an execution that keeps one, and does every one?

A closure asks for more edges than the causal ones; where they close no cycle, any order that extends them all
is an answer (Orderings Beyond Causality, Lemmas 16 and 29 with "acyclic" for "antisymmetric", Theorem 13).
Fifo n-n, for which this is not enough, has a module of its own.

Where there is none, the reason is a short cycle of what its executions would have to obey, found in linear
time. A path goes along peers at no cost and jumps along messages and along edges that an ordering adds. One
with the fewest jumps enters a peer at most once, or once more where it closes a cycle, so it is short however
long the log is; and of the computation it needs no other messages than those it jumps along.

Interiors are told by local conditions that are equivalent to the chains of section 4 (Theorems 23 to 27).
Each function returns None where the ordering must hold, or the edges to add to the causal order so that every
execution that extends them breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from microcosm.orderings.computation import Computation, linear_extension, sort

AddedEdges = dict[int, list[int]]


def mailbox_edges(computation: Computation) -> AddedEdges:
    """Fifo n-1: of consecutive receptions of a peer the sends, in the same order (Definition 15).

    Cost: linear.
    """
    edges: AddedEdges = {}
    send, message = computation.send, computation.message
    for chain in computation.chains:
        answered = [(e, send[message[e]]) for e in chain]
        for a, b in pairwise([sent for e, sent in answered if sent != e]):
            edges.setdefault(a, []).append(b)
    return edges


def outbox_edges(computation: Computation) -> tuple[AddedEdges, int]:
    """Fifo 1-n: of consecutive received sends of a peer the receptions, in the same order (Definition 28).

    Where messages have several receivers a node between them stands for all pairs; how many there are. Cost:
    linear.
    """
    edges: AddedEdges = {}
    count = len(computation)
    beyond = 0
    send, message, receptions = computation.send, computation.message, computation.receptions
    for chain in computation.chains:
        received = [receptions[m] for e, m in [(e, message[e]) for e in chain] if send[m] == e]
        for first, second in pairwise(filter(None, received)):
            if len(first) == 1 == len(second):
                edges.setdefault(first[0], []).append(second[0])
                continue
            node = count + beyond
            beyond += 1
            for event in first:
                edges.setdefault(event, []).append(node)
            edges[node] = list(second)
    return edges, beyond


def mailbox_execution(computation: Computation) -> list[int] | None:
    """A causally equivalent execution that is Fifo n-1, or None. Cost: linear."""
    return linear_extension(computation, mailbox_edges(computation))


def outbox_execution(computation: Computation) -> list[int] | None:
    """A causally equivalent execution that is Fifo 1-n, or None. Cost: linear."""
    return linear_extension(computation, *outbox_edges(computation))


def synchronous_execution(computation: Computation) -> list[int] | None:
    """A causally equivalent execution that is RSC, or None: messages as single steps. Cost: linear."""
    order, _ = sort_steps(computation)
    if order is None:
        return None
    return [e for m in order for e in (computation.send[m], *computation.receptions[m])]


def sort_steps(computation: Computation) -> tuple[list[int] | None, list[int]]:
    """The messages in an order in which each peer meets them, or None; and how many remain before each.

    `graphlib` would not say the latter, by which a cycle is found. Cost: linear.
    """
    message = computation.message
    following: list[list[int]] = [[] for _ in computation.messages]
    waiting = [0] * len(computation.messages)
    for chain in computation.chains:
        for a, b in pairwise(chain):
            following[message[a]].append(message[b])
            waiting[message[b]] += 1
    ready = [m for m in range(len(waiting) - 1, -1, -1) if not waiting[m]]
    order = []
    while ready:
        m = ready.pop()
        order.append(m)
        for after in following[m]:
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return (order if len(order) == len(waiting) else None), waiting


Jumps = Callable[[int], Iterable[int]]
"""The events that an event jumps to."""


def along_messages(computation: Computation) -> Jumps:
    """From sends to their receptions: with the order of the peers, the causal order. Cost: constant."""
    return lambda e: computation.receptions[computation.message[e]] if computation.sends(e) else ()


def along(computation: Computation, extra: AddedEdges) -> Jumps:
    """Along messages and `extra` edges; nodes beyond the events are passed through.

    Cost: constant; of each jump, linear in where it leads.
    """
    count, causal = len(computation), along_messages(computation)

    def jumps(event: int) -> list[int]:
        found = [*causal(event)]
        for target in extra.get(event, ()):
            found += [target] if target < count else extra[target]
        return found

    return jumps


def shortest(computation: Computation, start: int, ends: Iterable[int], jumps: Jumps) -> list[int] | None:
    """A path from an event to one of `ends`, of at least one step, with as few jumps as possible.

    The path has `start`, both events of each jump, and the end. Cost: linear in what it passes.

    >>> from microcosm.orderings.computation import parse
    >>> computation = parse("s1 s2|r2 s3|r3 r1")
    >>> shortest(computation, 0, [5], along_messages(computation))
    [0, 5]
    >>> shortest(computation, 0, [4], along_messages(computation))
    [0, 1, 2, 3, 4]
    """
    chains, peer, index = computation.chains, computation.peer, computation.index
    targets = set(ends)
    low: dict[int, int] = {}  # by peer: from here on all has been looked at; nothing yet where it is missing
    far = len(computation)
    entries = [(start, start, 0)]  # an event that was jumped to, where from, and the entry to that peer
    jumped = set[int]()
    at_entry = 0
    while at_entry < len(entries):
        entered = entries[at_entry][0]
        p, begin = peer[entered], index[entered] + (at_entry == 0)
        for event in (*((start,) if at_entry == 0 else ()), *chains[p][begin : low.get(p)]):
            if event in targets and (event != start or at_entry):
                return _path(entries, at_entry, event)
            for target in jumps(event):
                if target not in jumped and index[target] < low.get(peer[target], far):
                    jumped.add(target)
                    entries.append((target, event, at_entry))
        low[p] = min(low.get(p, far), begin)
        at_entry += 1
    return None


def _path(entries: list[tuple[int, int, int]], at: int, end: int) -> list[int]:
    found = [end]
    while at:
        entered, left, at = entries[at]
        found += [entered, left]
    found.append(entries[0][0])
    turned = found[::-1]
    return [a for a, b in pairwise(turned) if a != b] + turned[-1:]


def cycle(computation: Computation, extra: AddedEdges, beyond: int = 0) -> list[int]:
    """The messages of a short cycle of the causal order and `extra` edges, of which there must be one.

    Cost: linear.
    """
    return sorted({computation.message[event] for event in cycle_path(computation, extra, beyond)})


def cycle_path(computation: Computation, extra: AddedEdges, beyond: int = 0) -> list[int]:
    """The cycle itself, as a path from an event to the same one (`shortest`). Cost: linear."""
    waiting = sort(computation, extra, beyond)[1]
    count, send, message, index = len(computation), computation.send, computation.message, computation.index
    added: dict[int, int] = {}  # for each node the last that waits among those with an added edge to it
    for node, targets in extra.items():
        if waiting[node]:
            for target in targets:
                added[target] = max(node, added.get(target, -1))

    def before(node: int) -> int:
        """The last one of those before a node that wait as it does."""
        earlier = [added.get(node, -1)]
        if node < count:
            earlier += [node - 1] if index[node] else []
            earlier += [send[message[node]]] if send[message[node]] != node else []
        return max(each for each in earlier if each >= 0 and waiting[each])

    start = _on_a_cycle(before, next(node for node in range(count) if waiting[node]))
    while start >= count:
        start = before(start)
    found = shortest(computation, start, [start], along(computation, extra))
    assert found is not None
    return found


def steps_cycle(computation: Computation) -> list[int]:
    """Messages of a short cycle, each with an event before one of the next on a peer; there must be one.

    What remains when messages are taken out that wait for no other one, as single steps. Cost: linear.
    """
    message = computation.message
    _, left = sort_steps(computation)
    before = {
        message[b]: message[a]
        for chain in computation.chains
        for a, b in pairwise(chain)
        if left[message[a]] and left[message[b]]
    }
    start = _on_a_cycle(before.__getitem__, next(iter(before)))
    low = [len(chain) for chain in computation.chains]
    origin: dict[int, int] = {}
    level = [start]
    while start not in origin:
        reached = []
        for m in level:
            for event in (computation.send[m], *computation.receptions[m]):
                p, at = computation.peer[event], computation.index[event] + 1
                for after in computation.chains[p][at : low[p]]:
                    if message[after] not in origin:
                        origin[message[after]] = m
                        reached.append(message[after])
                low[p] = min(low[p], at)
        level = reached
    found = [start]
    while origin[found[-1]] != start:
        found.append(origin[found[-1]])
    return sorted(found)


def _on_a_cycle(before: Callable[[int], int], start: int) -> int:
    """A node that is reached again by going back and back."""
    seen: set[int] = set()
    while start not in seen:
        seen.add(start)
        start = before(start)
    return start


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
