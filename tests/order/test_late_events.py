"""Events whose past changed a short while ago, against a plain dictionary of pasts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from microcosm.order.bits import from_positions
from microcosm.order.edits import LateEvents

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
    late, told = LateEvents(), dict[int, set[int]]()
    stale = from_positions(data.draw(pasts), WIDE)
    for y in order:
        told[y] = data.draw(pasts)
        late.put(y, from_positions(told[y], WIDE))
        if data.draw(st.booleans()):
            late.future(stale, y, WIDE)
    assert {y for y in range(WIDE) if y in late} == set(told)
    assert late.row == from_positions(told, WIDE)
    for a in {data.draw(positions), *(v for past in told.values() for v in past)}:
        now = from_positions([y for y, past in told.items() if a in past], WIDE)
        assert late.future(0, a, WIDE) == now
        assert late.future(stale, a, WIDE) == stale & ~from_positions(told, WIDE) | now
