"""What is known of some events as constraints on every pair, and the linear-time facts about it.

A world fits a `Knowledge` if it orders all of `before`, orders nothing that is refuted, and leaves no
`related` pair unordered. Concurrent pairs are refuted both ways. (Partially ordered time: each pair has
one of `<`, `>`, `||`; seed 003, section 4.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from microcosm.relations.bits import bits, from_positions
from microcosm.relations.happens_before import cycle_or_order, edge_sets
from microcosm.relations.stamps import StampOrder

Pairs = Iterable[tuple[int, int]]

FEW = 8
"""So many bits are set one by one."""


@dataclass(slots=True)
class Knowledge:
    """Constraints on the positions below `size`; rows are sets as bits.

    `refuted[a]` is the set of all b with a !< b, `related` holds symmetric rows of `<>`; `stamps`
    refute as well. Nothing is closed under anything, and nothing need be consistent.

    >>> known = Knowledge.of(3, before=[(0, 1)], concurrent=[(0, 2)], related=[(1, 2)])
    >>> known.before, known.refuted, known.related
    ([(0, 1)], {0: 4, 2: 1}, {1: 4, 2: 2})
    """

    size: int
    before: list[tuple[int, int]] = field(default_factory=list)
    refuted: dict[int, int] = field(default_factory=dict)
    related: dict[int, int] = field(default_factory=dict)
    stamps: StampOrder = field(default_factory=StampOrder)

    @classmethod
    def of(
        cls,
        size: int,
        before: Pairs = (),
        concurrent: Pairs = (),
        related: Pairs = (),
        refuted: Pairs = (),
        stamps: StampOrder | None = None,
    ) -> Knowledge:
        """From pairs of positions. Cost: linear, but for long rows."""
        return cls(
            size,
            list(before),
            _rows(size, refuted, concurrent),
            _rows(size, (), related),
            stamps or StampOrder(),
        )

    def refute(self, a: int, row: int) -> None:
        """Rule a < b out for each b of a row."""
        if row:
            self.refuted[a] = self.refuted.get(a, 0) | row

    def relate(self, a: int, row: int) -> None:
        """Let a be related to each of a row (which the caller states the other way round as well)."""
        if row:
            self.related[a] = self.related.get(a, 0) | row

    def related_pairs(self) -> Iterator[tuple[int, int]]:
        """Each `<>` once, the smaller position first."""
        for a, row in self.related.items():
            for b in bits(row >> (a + 1)):
                yield a, a + 1 + b

    def graph(self) -> Graph:
        """The order as a graph. Raises `Cycle`."""
        return Graph(self.size, self.before)


def _rows(size: int, pairs: Pairs, symmetric: Pairs) -> dict[int, int]:
    listed: list[list[int]] = [[] for _ in range(size)]
    for a, b in pairs:
        listed[a].append(b)
    for a, b in symmetric:
        listed[a].append(b)
        listed[b].append(a)
    return {a: _row(row, size) for a, row in enumerate(listed) if row}


def _row(positions: list[int], size: int) -> int:
    if len(positions) > FEW:
        return from_positions(positions, size)
    row = 0
    for at in positions:
        row |= 1 << at
    return row


class Graph:
    """An acyclic set of pairs: successors, predecessors, and an order that extends it. Raises `Cycle`."""

    def __init__(self, size: int, edges: Pairs) -> None:
        self.successors, self.predecessors = edge_sets(size, edges)
        self.order = cycle_or_order(size, self.successors, self.predecessors)

    def pasts(self) -> list[int]:
        """For each position the row of all that is before it, itself included. Cost: O(E · n/64)."""
        rows = [0] * len(self.order)
        for v in self.order:
            row = 1 << v
            for u in self.predecessors[v]:
                row |= rows[u]
            rows[v] = row
        return rows

    def futures(self) -> list[int]:
        """For each position the row of all that is after it, itself included. Cost: as `pasts`."""
        rows = [0] * len(self.order)
        for v in reversed(self.order):
            row = 1 << v
            for w in self.successors[v]:
                row |= rows[w]
            rows[v] = row
        return rows


def refutations(known: Knowledge, graph: Graph, past: list[int]) -> list[int]:
    """All that is refuted without a look at `<>`: row a is the set of all b with a !< b, a included.

    Exact where nothing is related: whatever is not refuted holds in some world. What is refuted of an
    event is refuted of all that is after it (No-Tr-L), and with an event all that is before it is
    refuted (No-Tr-R): one pass along the pairs as given. Cost: O((|before| + |refuted|) · n/64).

    >>> known = Knowledge.of(3, before=[(0, 1)], concurrent=[(0, 2)])
    >>> graph = known.graph()
    >>> [bin(row) for row in refutations(known, graph, graph.pasts())]
    ['0b101', '0b111', '0b101']
    """
    rows = [0] * known.size
    predecessors, refuted, stamps = graph.predecessors, known.refuted, known.stamps
    for v in graph.order:
        row = past[v]
        for u in predecessors[v]:
            row |= rows[u]
        own = refuted.get(v, 0)
        if stamps:
            own |= stamps.row(v)
        left = own & ~row
        while left:
            w = left.bit_length() - 1
            row |= past[w]
            left &= ~row
        rows[v] = row
    return rows
