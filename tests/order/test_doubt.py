"""Events whose past changed a short while ago, against a plain dictionary of pasts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from microcosm.order.bits import from_positions
from microcosm.order.edits import Doubt, Waiting

WIDE = 1200
"""More positions than a row has room for at first."""

positions = st.integers(0, WIDE - 1)
pasts = st.sets(positions, max_size=6)
rising = st.lists(st.integers(1, 12), max_size=20).map(
    lambda steps: [sum(steps[: at + 1]) for at in range(len(steps))]
)
events = st.one_of(rising, st.lists(positions, max_size=20))


@given(st.data(), events)
def test_each_bit_is_that_of_the_last_past_that_was_put(data: st.DataObject, order: list[int]) -> None:
    waiting, told = Waiting(), dict[int, set[int]]()
    for y in order:
        told[y] = data.draw(pasts)
        waiting.put(y, from_positions(told[y], WIDE))
    assert set(waiting) == set(told)
    assert waiting.row == from_positions(told, WIDE)
    for a in {data.draw(positions), *(v for past in told.values() for v in past)}:
        expected = from_positions([y for y, past in told.items() if a in past], WIDE)
        assert waiting.after(a, WIDE) == expected


@given(st.data(), events, events)
def test_rows_are_right_before_and_after_events_settle(
    data: st.DataObject, early: list[int], late: list[int]
) -> None:
    """Pasts of one link each, so that the closure is at hand: v < y for each y that was put."""
    doubt, told = Doubt(), dict[int, set[int]]()
    stale = from_positions(data.draw(pasts), WIDE)
    for settled, order in ((True, early), (False, late)):
        for y in order:
            told[y] = {v for v in data.draw(pasts) if v not in told and v != y and v not in (*early, *late)}
            doubt.put(y, from_positions(told[y], WIDE))
        if settled and order:
            successors: list[set[int]] = [set() for _ in range(WIDE)]
            for y, past in told.items():
                for v in past:
                    successors[v].add(y)
            doubt.settle([*told, *(v for v in range(WIDE) if v not in told)], successors)
    for a in {data.draw(positions), *(v for past in told.values() for v in past)}:
        now = from_positions([y for y, past in told.items() if a in past], WIDE)
        assert doubt.row(stale, a, WIDE) == stale & ~from_positions(told, WIDE) | now
