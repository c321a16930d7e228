"""What is possible of all pairs at once, as rows; what propagation, or one choice of directions, leaves."""

from __future__ import annotations

from dataclasses import dataclass

from microcosm.givens.relation import Relation
from microcosm.order.happens_before import Graph
from microcosm.worlds.constraints import Knowledge, Pair, refutations
from microcosm.worlds.propagation import Orientation

MEMBERS = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)


@dataclass(slots=True)
class Table:
    """Rows of what is possible: bit b of `before[a]` says that a < b is, of `concurrent[a]` that a || b is.

    `undecided` says how many members were not decided in time; they are among the possible ones.

    Cost of its methods: a look at rows for a pair, n row operations to widen.
    """

    before: list[int]
    concurrent: list[int]
    undecided: int = 0

    def of(self, a: int, b: int) -> list[Relation]:
        """The possible relations of a pair."""
        holds = (self.before[a] >> b & 1, self.before[b] >> a & 1, self.concurrent[a] >> b & 1)
        return [relation for relation, bit in zip(MEMBERS, holds, strict=True) if bit]

    def widen(self, other: Table) -> None:
        """Take in all that is possible by another table."""
        for mine, theirs in ((self.before, other.before), (self.concurrent, other.concurrent)):
            for a, row in enumerate(theirs):
                mine[a] |= row


def of_order(known: Knowledge, edges: list[Pair]) -> Table | None:
    """What is possible if `edges` are the order and nothing is related; None where that is refuted.

    Raises `Cycle`. Cost: two closures.
    """
    graph = Graph(known.size, edges)
    past, future = graph.pasts(), graph.futures()
    everything = (1 << known.size) - 1
    refuted = refutations(known, graph, past)
    if any(row & later & ~(1 << v) for v, (row, later) in enumerate(zip(refuted, future, strict=True))):
        return None
    return Table(
        [everything & ~row for row in refuted],
        [everything & ~(row | past[v]) for v, row in enumerate(future)],
    )


def propagated(state: Orientation) -> Table:
    """What the propagation of a consistent state leaves."""
    known = state.known
    ordered = [
        (a, b) if state.future[a] >> b & 1 else (b, a)
        for a, b in known.related_pairs()
        if (state.future[a] >> b | state.future[b] >> a) & 1
    ]
    left = of_order(known, [*known.before, *ordered])
    assert left is not None, "propagation does not contradict itself"
    for a, row in enumerate(known.related_rows()):
        left.concurrent[a] &= ~row
    return left
