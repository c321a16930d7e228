"""What is known by the rules of the seed, straight from the givens, without an engine.

For many small microcosms building an engine costs more than everything that is asked of it. These rows are
those of `verdict_rows`, and are made only under rules for which that is known (`verdict_rows.seeds_own`).
"""

from __future__ import annotations

from itertools import pairwise

from microcosm.compare.verdict_rows import VerdictRows
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets


def known_rows(givens: Givens) -> VerdictRows | None:
    """The known relations of the events of which something is known; None where givens contradict.

    Contradictions are those that no microcosm may have: a cycle of `<`, `||` on an ordered pair, or beside
    `<>`.
    Cost: O((n + givens) · n / 64).
    """
    rows = _rows(givens, sorted(givens.members()))
    if rows is None:
        return None
    related = 0
    for matrix in rows.rows.values():
        for k, row in enumerate(matrix):
            if row:
                related |= row | 1 << k
    if related == (1 << len(rows.names)) - 1:
        return rows
    return _rows(givens, [rows.names[k] for k in bits(related)])


def _rows(givens: Givens, names: list[str]) -> VerdictRows | None:
    position = {name: at for at, name in enumerate(names)}
    clocks = ClockRows({e: clock for e, clock in givens.clocks.items() if e in position}, position)
    size = len(names)
    concurrent = [clocks.concurrent(at) for at in range(size)] if clocks else [0] * size
    related = [0] * size
    edges = [*clocks.cover(), *pairwise(position[e] for e in givens.internal if e in position)]
    for fact in givens.external.values():
        a, b = position[fact.left], position[fact.right]
        if fact.relation is Relation.BEFORE:
            edges.append((a, b))
        else:
            rows = concurrent if fact.relation is Relation.CONCURRENT else related
            rows[a] |= 1 << b
            rows[b] |= 1 << a
    for group in givens.tokens.values():
        members = {position[event] for event in group if event in position}
        row = sum(1 << at for at in members)
        for at in members:
            related[at] |= row & ~(1 << at)
    try:
        past, future = _orders(size, edges)
    except Cycle:
        return None
    for k in range(size):
        ordered = past[k] | future[k]
        if concurrent[k] & (ordered | related[k]):
            return None
        related[k] &= ~ordered
    return VerdictRows(
        names, {Relation.BEFORE: past, Relation.CONCURRENT: concurrent, Relation.RELATED: related}
    )


def _orders(size: int, edges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The rows of the past and of the future. Raises `Cycle`."""
    successors, predecessors = edge_sets(size, edges)
    order = cycle_or_order(size, successors, predecessors)
    past, future = [0] * size, [0] * size
    for rows, neighbours, way in ((past, predecessors, order), (future, successors, order[::-1])):
        for v in way:
            row = 0
            for w in neighbours[v]:
                row |= rows[w] | 1 << w
            rows[v] = row
    return past, future
