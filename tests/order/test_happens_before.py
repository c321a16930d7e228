"""Orders of positions that extend edges."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from microcosm.order.happens_before import (
    AcyclicGraph,
    Cycle,
    causal_order,
    cycle_or_order,
    edge_sets,
    repaired,
)


@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_a_repaired_order_extends_old_edges_and_new(size: int, rng: Random) -> None:
    true = rng.sample(range(size), size)
    edges = {(true[i], true[j]) for j in range(size) for i in range(j) if rng.random() < 0.4}
    old = {edge for edge in edges if rng.random() < 0.6}
    before = cycle_or_order(size, *edge_sets(size, old))
    rank = {v: at for at, v in enumerate(before)}
    late = {b for a, b in edges if rank[a] > rank[b]}
    _, predecessors = edge_sets(size, edges)
    after = {v: at for at, v in enumerate(repaired(before, late, predecessors))}
    assert after.keys() == set(range(size))
    assert all(after[a] < after[b] for a, b in edges)
    if not late:
        assert list(after) == before


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_the_order_of_columns_is_that_of_pairs(pairs: list[tuple[int, int]]) -> None:
    try:
        expected = AcyclicGraph(10, pairs).order
    except Cycle:
        expected = []
    assert causal_order(10, [a for a, _ in pairs], [b for _, b in pairs]) == expected
