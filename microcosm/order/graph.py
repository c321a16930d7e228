"""An acyclic set of pairs: neighbours both ways, an order that extends it, rows of past and future."""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.order.happens_before import cycle_or_order


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
        return _closed(self.order, self.predecessors)

    def futures(self) -> list[int]:
        """For each position the row of all that is after it, itself included. Cost: as `pasts`."""
        return _closed(self.order[::-1], self.successors)

    def inherited(self, own: list[int]) -> list[int]:
        """Rows joined with those of all that is before. Cost: as `pasts`.

        >>> Graph(3, [(2, 0), (0, 1)]).inherited([0, 8, 16])
        [16, 24, 16]
        """
        rows = own.copy()
        for v in self.order:
            row = rows[v]
            for u in self.predecessors[v]:
                row |= rows[u]
            rows[v] = row
        return rows


def _closed(order: list[int], neighbours: list[list[int]]) -> list[int]:
    rows = [0] * len(order)
    for v in order:
        row = 1 << v
        for u in neighbours[v]:
            row |= rows[u]
        rows[v] = row
    return rows
