"""Sets of dots against plain sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from microcosm.replica.ledger.dots import FIRST, Dot, DotRun, Dots, fingerprint
from tests.replica.invariants import check

RUNS = st.lists(
    st.builds(
        lambda name, incarnation, first, length: DotRun(name, incarnation, first, first + length),
        st.sampled_from("pq"),
        st.integers(1, 2),
        st.integers(1, 12),
        st.integers(0, 4),
    ),
    max_size=10,
)
DOTS = st.builds(Dot, st.sampled_from("pqr"), st.integers(1, 2), st.integers(1, 17))


def plain(runs: list[DotRun]) -> set[Dot]:
    return {Dot(run[0], run[1], number) for run in runs for number in range(run.first, run.end)}


@given(RUNS, RUNS, DOTS, DOTS)
def test_as_plain_sets(mine: list[DotRun], theirs: list[DotRun], low: Dot, high: Dot) -> None:
    one, other = Dots(mine), Dots(theirs)
    check(one)
    assert list(one.dots()) == sorted(plain(mine))
    assert one.count == len(plain(mine))
    assert (low in one) == (low in plain(mine))
    assert set((one | other).dots()) == plain(mine) | plain(theirs)
    assert set((one - other).dots()) == plain(mine) - plain(theirs)
    check(one - other)
    assert plain(one.within(low, high)) == {dot for dot in plain(mine) if low <= dot < high}
    assert one.within(FIRST, None) == list(one)
    assert (one == other) == (plain(mine) == plain(theirs))
    assert (fingerprint(one) == fingerprint(other)) == (plain(mine) == plain(theirs))
    assert one.last(low.stream) == max((d.number for d in plain(mine) if d.stream == low.stream), default=0)


@given(st.permutations(range(1, 9)))
def test_the_order_of_adding_leaves_no_trace(numbers: list[int]) -> None:
    found = Dots()
    for number in numbers:
        assert found.add(Dot("p", 1, number))
    assert not found.add(Dot("p", 1, 3))
    assert list(found) == [DotRun("p", 1, 1, 9)]
