"""Closures of Fifo n-1, Fifo 1-n and RSC: is there an execution that keeps the ordering?

Each asks for more edges than the causal ones; where they close no cycle, any order that extends them
all is an answer (Orderings Beyond Causality, Lemmas 16 and 29 with "acyclic" for "antisymmetric", Theorem
13).

Where there is none, the reason is a short cycle of what its executions would have to obey, found in linear
time. A path goes along peers at no cost and jumps along messages and along edges that an ordering adds. One
with the fewest jumps enters a peer at most once, or once more where it closes a cycle, so it is short however
long the log is; and of the computation it needs no other messages than those it jumps along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from microcosm.orderings.computation import Computation, linear_extension, sort

AddedEdges = dict[int, list[int]]


def mailbox_edges(computation: Computation) -> AddedEdges:
    """Fifo n-1: of consecutive receptions of a peer the sends, in the same order (Definition 15).

    Cost: linear.
    """
    edges: AddedEdges = {}
    for chain in computation.chains:
        sends = [computation.send[computation.message[e]] for e in chain if not computation.sends(e)]
        for a, b in pairwise(sends):
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
    for chain in computation.chains:
        received = [computation.receptions[computation.message[e]] for e in chain if computation.sends(e)]
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
    count = len(computation)
    before: dict[int, int] = {}
    for node, left in enumerate(waiting):
        if left:
            causal = computation.successors(node) if node < count else ()
            before.update((after, node) for after in (*causal, *extra.get(node, ())))
    start = _on_a_cycle(before, next(node for node in before if node < count and waiting[node]))
    while start >= count:
        start = before[start]
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
    start = _on_a_cycle(before, next(iter(before)))
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


def _on_a_cycle(before: dict[int, int], start: int) -> int:
    """A node that is reached again by going back and back."""
    seen: set[int] = set()
    while start not in seen:
        seen.add(start)
        start = before[start]
    return start
