"""Orders of positions that extend edges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from microcosm.order.happens_before import (
    AcyclicGraph,
    Cycle,
    causal_order,
)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_the_order_of_columns_is_that_of_pairs(pairs: list[tuple[int, int]]) -> None:
    try:
        expected = AcyclicGraph(10, pairs).order
    except Cycle:
        expected = []
    assert causal_order(10, [a for a, _ in pairs], [b for _, b in pairs]) == expected
