"""An acyclic set of pairs: neighbours both ways, an order that extends it, rows of past and future."""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.relations.happens_before import cycle_or_order


class Graph:
    """`successors` and `predecessors` list a pair as often as it was stated. Raises `Cycle`.

    >>> graph = Graph(3, [(2, 0), (0, 1)])
    >>> graph.order, graph.pasts()
    ([2, 0, 1], [5, 7, 4])
    """

    def __init__(self, size: int, edges: Iterable[tuple[int, int]]) -> None:
        self.successors: list[list[int]] = [[] for _ in range(size)]
        self.predecessors: list[list[int]] = [[] for _ in range(size)]
        self.order: list[int] = []
        self.add(edges)

    def add(self, edges: Iterable[tuple[int, int]]) -> None:
        """Put in more pairs, and order all anew. Raises `Cycle`. Cost: O(V + E)."""
        successors, predecessors = self.successors, self.predecessors
        for a, b in edges:
            successors[a].append(b)
            predecessors[b].append(a)
        self.order = cycle_or_order(len(successors), successors, predecessors)

    def pasts(self) -> list[int]:
        """For each position the row of all that is before it, itself included. Cost: O(E · n/64)."""
        return inherited([1 << v for v in range(len(self.order))], self.order, self.predecessors)

    def futures(self) -> list[int]:
        """For each position the row of all that is after it, itself included. Cost: as `pasts`."""
        return inherited([1 << v for v in range(len(self.order))], self.order[::-1], self.successors)


def inherited(own: list[int], order: Iterable[int], of: list[list[int]]) -> list[int]:
    """Rows joined with those of the neighbours, which come earlier in the order.

    >>> inherited([1, 2, 4], [2, 0, 1], [[2], [0], []])
    [5, 7, 4]
    """
    rows = own.copy()
    for v in order:
        if of[v]:
            row = rows[v]
            for u in of[v]:
                row |= rows[u]
            rows[v] = row
    return rows
