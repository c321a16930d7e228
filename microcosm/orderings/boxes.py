"""Closures of Fifo n-1, Fifo 1-n and RSC: is there an execution that keeps the ordering?

Each asks for more edges than the causal ones; where they close no cycle, any order that extends them
all is an answer (seed 004, Lemmas 16 and 29 with "acyclic" for "antisymmetric", Theorem 13).
"""

from __future__ import annotations

from itertools import pairwise

from microcosm.orderings.computation import Computation, linear_extension

Edges = dict[int, list[int]]


def mailbox_edges(computation: Computation) -> Edges:
    """Fifo n-1: of consecutive receptions of a peer the sends, in the same order (Definition 15).

    Cost: linear.
    """
    edges: Edges = {}
    for chain in computation.chains:
        sends = [computation.send[computation.message[e]] for e in chain if not computation.sends(e)]
        for a, b in pairwise(sends):
            edges.setdefault(a, []).append(b)
    return edges


def outbox_edges(computation: Computation) -> tuple[Edges, int]:
    """Fifo 1-n: of consecutive received sends of a peer the receptions, in the same order (Definition 28).

    Where messages have several receivers a node between them stands for all pairs; how many there are. Cost:
    linear.
    """
    edges: Edges = {}
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

    Cost: linear.
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
