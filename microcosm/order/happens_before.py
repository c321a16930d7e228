"""Happens-before as a transitively closed relation over positions, behind one interface.

A position is a small integer that stands for an event. `HappensBefore` is what the engine asks for;
`Rows` (`microcosm.order.rows`) keeps it as big-integer bit rows. `AcyclicGraph` is an acyclic
set of pairs that is closed once, and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Protocol, TypeVar

from microcosm.errors import MicrocosmError
from microcosm.givens.relation import Relation
from microcosm.order.bits import diagonal
from microcosm.tuning import COLUMNS_FROM, gc_paused


class Cycle(MicrocosmError):
    """Edges that close a cycle: `path[0] < path[1] < … < path[-1] < path[0]`, each link an edge."""

    def __init__(self, path: list[int]) -> None:
        super().__init__(f"cycle through {len(path)} positions")
        self.path = path


class HappensBefore(Protocol):
    """The least transitive relation that contains a changing set of edges; always irreflexive."""

    size: int
    """Positions are below it."""

    updates: int
    """How many rows, or labels, changes have touched so far."""

    def before(self, a: int, b: int) -> bool:
        """Whether a < b. Cost: a bit test once the row is known."""

    def ordered(self, a: int, b: int) -> Relation | None:
        """`<` or `>`, as the two are ordered, else None. Cost: that of two questions, in one call."""

    def future(self, a: int) -> int:
        """The row of all b with a < b."""

    def past(self, b: int) -> int:
        """The row of all a with a < b."""

    def all_rows(self, forwards: bool) -> list[int] | None:
        """Every `future` (or `past`), where all are known; they are right until the next change."""

    def grow(self, size: int) -> None:
        """Make room for positions below `size`."""

    def add(self, a: int, b: int) -> None:
        """Add an edge. Raises `Cycle`, changing nothing."""

    def remove(self, a: int, b: int) -> None:
        """Take an edge away (it must be there); what rested on it alone goes too."""

    def chain(self, a: int, b: int) -> list[int] | None:
        """A shortest chain of edges from a to b, both included; None when not a < b."""

    def edges(self) -> Iterable[tuple[int, int]]:
        """Every edge, once."""

    def _check(self) -> None:
        """Assert every invariant."""


Node = TypeVar("Node", bound=Hashable)

Adjacency = Sequence[Collection[int]]
"""For each position those beside it."""


def cycle_or_order(size: int, successors: Adjacency, predecessors: Adjacency) -> list[int]:
    """The positions in an order that extends the edges (Kahn). Raises `Cycle`. Cost: O(V + E)."""
    waiting = [*map(len, predecessors)]
    order = [v for v, left in enumerate(waiting) if not left]
    for v in order:
        for w in successors[v]:
            waiting[w] = left = waiting[w] - 1
            if not left:
                order.append(w)
    if len(order) == size:
        return order
    raise Cycle(_shortest_cycle(size, waiting, successors, predecessors))


def causal_order(size: int, lefts: Iterable[int], rights: Iterable[int]) -> list[int]:
    """The positions in the order of `cycle_or_order`, of pairs in columns; none where there is a cycle.

    Cost: O(V + E); a list is made only for a position that is before more than two.

    >>> causal_order(3, [2, 0], [0, 1]), causal_order(2, [0, 1], [1, 0])
    ([2, 0, 1], [])
    """
    waiting, following, second = [0] * size, [-1] * size, [-1] * size
    more: dict[int, list[int]] = {}
    with gc_paused() if size > COLUMNS_FROM else nullcontext():
        for a, b in zip(lefts, rights, strict=True):
            waiting[b] += 1
            if following[a] < 0:
                following[a] = b
            elif second[a] < 0:
                second[a] = b
            elif a in more:
                more[a].append(b)
            else:
                more[a] = [b]
    order = [v for v in range(size) if not waiting[v]]
    for v in order:
        if (w := following[v]) < 0:
            continue
        waiting[w] -= 1
        if not waiting[w]:
            order.append(w)
        if (other := second[v]) < 0:
            continue
        for w in (other, *more.get(v, ())):
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    return order if len(order) == size else []


NONE, SEVERAL = -1, -2
"""In the place of the first predecessor: there is none, or more than one."""


def shortest_way(lefts: Iterable[int], rights: Iterable[int], a: int, b: int) -> list[int] | None:
    """A shortest chain of pairs from a to b, both included, where every pair leads upwards; None if none is.

    Cost: a comparison a pair, and a step for each position and pair between the two.

    >>> shortest_way([0, 1, 0, 2], [1, 2, 2, 3], 0, 3), shortest_way([0, 1], [2, 3], 0, 3)
    ([0, 2, 3], None)
    """
    first, more = [NONE] * (b - a + 1), dict[int, list[int]]()
    for left, right in zip(lefts, rights, strict=True):
        if left >= a and right <= b:
            known = first[right - a]
            if known == NONE:
                first[right - a] = left
            elif known == SEVERAL:
                more[right].append(left)
            else:
                more[right] = [known, left]
                first[right - a] = SEVERAL
    far = b - a + 1
    steps, came = [far] * far, [NONE] * far
    steps[0] = 0
    for at, left in enumerate(first):
        if left == NONE:
            continue
        for u in more[a + at] if left == SEVERAL else (left,):
            if steps[u - a] + 1 < steps[at]:
                steps[at], came[at] = steps[u - a] + 1, u
    way = [b]
    while way[-1] != a:
        if came[way[-1] - a] == NONE:
            return None
        way.append(came[way[-1] - a])
    return way[::-1]


def components(nodes: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
    """The strongly connected components, those that others lead to first (Tarjan, without recursion).

    Cost: O(V + E).

    >>> list(components("abc", {"a": "b", "b": "ac", "c": ""}.__getitem__))
    [['c'], ['a', 'b']]
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    closed: set[Node] = set()
    stack: list[Node] = []
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        path = [(root, iter(following(root)))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    path.append((target, iter(following(target))))
                    break
                if target not in closed:
                    low[node] = min(low[node], number[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    at = len(stack) - 1
                    while stack[at] != node:
                        at -= 1
                    component = stack[at:]
                    del stack[at:]
                    closed.update(component)
                    yield component


def _shortest_cycle(
    size: int, waiting: list[int], successors: Adjacency, predecessors: Adjacency
) -> list[int]:
    """A cycle among the positions that Kahn's algorithm left over, without a chord on the walk's way."""
    left = {v for v in range(size) if waiting[v]}
    # Every leftover position has a leftover predecessor: walking backwards must meet itself.
    at, seen = min(left), dict[int, int]()
    walk: list[int] = []
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = min(p for p in predecessors[at] if p in left)
    start = at
    # Then the shortest way from that position back to itself.
    parent: dict[int, int] = {}
    frontier = [start]
    while start not in parent:
        following = []
        for v in frontier:
            for w in sorted(left.intersection(successors[v])):
                if w not in parent:
                    parent[w] = v
                    following.append(w)
        frontier = following
    path = [start]
    at = parent[start]
    while at != start:
        path.append(at)
        at = parent[at]
    path.reverse()
    return [start, *path[:-1]] if path[-1] == start else path


def edge_sets(size: int, edges: Iterable[tuple[int, int]]) -> tuple[list[set[int]], list[set[int]]]:
    """Successor and predecessor sets of the edges. A self-loop raises `Cycle`."""
    with gc_paused() if size > COLUMNS_FROM else nullcontext():
        successors: list[set[int]] = [set() for _ in range(size)]
        predecessors: list[set[int]] = [set() for _ in range(size)]
        for a, b in edges:
            if a == b:
                raise Cycle([a])
            successors[a].add(b)
            predecessors[b].add(a)
    return successors, predecessors


class AcyclicGraph:
    """`successors` and `predecessors` list a pair as often as it was stated. Raises `Cycle`.

    >>> graph = AcyclicGraph(3, [(2, 0), (0, 1)])
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
        return _joined([*diagonal(len(self.order))], self.order, self.predecessors)

    def futures(self) -> list[int]:
        """For each position the row of all that is after it, itself included. Cost: as `pasts`."""
        return _joined([*diagonal(len(self.order))], self.order[::-1], self.successors)

    def inherited(self, own: list[int]) -> list[int]:
        """Rows joined with those of all that is before. Cost: as `pasts`.

        >>> AcyclicGraph(3, [(2, 0), (0, 1)]).inherited([0, 8, 16])
        [16, 24, 16]
        """
        return _joined(own.copy(), self.order, self.predecessors)


def _joined(rows: list[int], order: list[int], neighbours: list[list[int]]) -> list[int]:
    """Put into each of some rows those of its neighbours, which come before it in an order."""
    for v in order:
        row = rows[v]
        for u in neighbours[v]:
            row |= rows[u]
        rows[v] = row
    return rows
