"""Happens-before rows against a closure by hand, through additions, removals and growth."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.happens_before import Cycle
from microcosm.order.rows import Rows

SIZE = 8


def closure(size: int, edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    reach = set(edges)
    for k in range(size):
        reach |= {(a, b) for a in range(size) for b in range(size) if (a, k) in reach and (k, b) in reach}
    return reach


def ordered(a: int, b: int, reach: set[tuple[int, int]]) -> Relation | None:
    return Relation.BEFORE if (a, b) in reach else Relation.AFTER if (b, a) in reach else None


class RowsMachine(RuleBasedStateMachine):
    """Additions, removals and growth in any order; lazily searched, then saturated."""

    @initialize(
        saturated=st.booleans(),
        limit=st.sampled_from([0, 1 << 15]),
        wait=st.sampled_from([0, 1024]),
        many=st.integers(0, 3),
        pairs=st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=12),
    )
    def start(self, saturated: bool, limit: int, wait: int, many: int, pairs: set[tuple[int, int]]) -> None:
        self.edges = {(a, b) for a, b in pairs if a < b}
        self.rows = Rows(SIZE, self.edges)
        self.rows.SATURATE, self.rows.WAIT = limit, wait
        self.rows.MANY, self.rows.LINKS = many * SIZE, 2 * many
        self.rows.FEW, self.rows.TOLD = min(many, self.rows.FEW), many + 1
        if saturated:
            self.rows.saturate()
        self.size = SIZE

    @rule(a=st.integers(0, SIZE - 1), b=st.integers(0, SIZE - 1))
    def add(self, a: int, b: int) -> None:
        reach = closure(self.size, self.edges)
        if a == b or (b, a) in reach:
            with pytest.raises(Cycle) as raised:
                self.rows.add(a, b)
            path = raised.value.path
            assert path[0] == b
            assert path[-1] == a
            assert a == b or set(itertools.pairwise(path)) <= self.edges
        else:
            self.rows.add(a, b)
            self.edges.add((a, b))

    @rule(at=st.integers(0, 1 << 16))
    def remove(self, at: int) -> None:
        if self.edges:
            edge = sorted(self.edges)[at % len(self.edges)]
            self.edges.remove(edge)
            self.rows.remove(*edge)

    @rule()
    def grow(self) -> None:
        self.size += 1
        self.rows.grow(self.size)

    @rule(a=st.integers(0, SIZE - 1), b=st.integers(0, SIZE - 1))
    def ask(self, a: int, b: int) -> None:
        reach = closure(self.size, self.edges)
        assert self.rows.before(a, b) is ((a, b) in reach)
        assert self.rows.ordered(a, b) is ordered(a, b, reach)

    @rule(direction=st.sampled_from(["past", "future"]))
    def ask_for_rows(self, direction: str) -> None:
        reach = closure(self.size, self.edges)
        for v in [*range(self.size)] * 3:  # often enough for all rows to be computed
            past, future = {a for a, b in reach if b == v}, {b for a, b in reach if a == v}
            assert set(bits(getattr(self.rows, direction)(v))) == (past if direction == "past" else future)

    @rule(a=st.integers(0, SIZE - 1), b=st.integers(0, SIZE - 1))
    def ask_chain(self, a: int, b: int) -> None:
        path = self.rows.chain(a, b)
        if (a, b) not in closure(self.size, self.edges):
            assert path is None
            return
        assert path is not None
        assert path[0] == a
        assert path[-1] == b
        assert set(itertools.pairwise(path)) <= self.edges
        level, length = {a}, 1
        while b not in level:
            level = {y for x, y in self.edges if x in level}
            length += 1
        assert len(path) == length, "not a shortest chain"

    @invariant()
    def same_as_by_hand(self) -> None:
        if hasattr(self, "rows"):
            self.rows._check()


TestRows = RowsMachine.TestCase


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_rows_are_the_closure_or_a_cycle_is_shown(edges: set[tuple[int, int]]) -> None:
    reach = closure(8, edges)
    if any((v, v) in reach for v in range(8)):
        with pytest.raises(Cycle) as raised:
            Rows(8, edges)
        path = raised.value.path
        assert {*itertools.pairwise(path), (path[-1], path[0])} <= edges
        return
    rows = Rows(8, edges)
    rows.saturate()
    assert {(a, b) for a in range(8) for b in bits(rows.future(a))} == reach
    assert {(a, b) for b in range(8) for a in bits(rows.past(b))} == reach
    assert all(rows.ordered(a, b) is ordered(a, b, reach) for a in range(8) for b in range(8))


def test_an_append_in_causal_order_updates_one_row() -> None:
    rows = Rows(1000, [(v, v + 1) for v in range(998)])
    rows.saturate()
    before = rows.updates
    rows.add(998, 999)
    assert rows.updates - before == 1


def test_a_removal_recomputes_no_more_than_it_must() -> None:
    rows = Rows(1000, [(v, v + 1) for v in range(999)] + [(10, 12)])
    rows.saturate()
    before = rows.updates
    rows.remove(10, 12)  # the long way round still orders the pair
    assert rows.updates == before
    rows.remove(997, 998)
    assert rows.updates - before == 2


def test_rows_of_the_future_asked_for_by_themselves_do_not_outlive_a_change() -> None:
    """Found by the evolution of microcosms at length: no row of the past was known when the edge went."""
    rows = Rows(3, [(0, 1), (1, 2)])
    for _ in range(9):
        rows.future(0)
        rows.future(1)
        rows.future(2)
    rows.remove(1, 2)
    assert (rows.future(0), rows.future(1)) == (0b010, 0)
