"""Clocks that agree with labels: who is found to agree has nothing before it that is concurrent to it."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from microcosm.givens.clock import Clock
from microcosm.order.bits import bits
from microcosm.order.clock_order import ClockRows, agreeing
from microcosm.order.happens_before import Cycle
from microcosm.order.labels import Labels
from tests.order.test_clock_order import clocks
from tests.strategies import microcosms


@given(clocks(), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=3))
def test_whoever_agrees_has_no_concurrent_event_before_it(
    recorded: dict[str, Clock], more: set[tuple[int, int]]
) -> None:
    size = len(recorded)
    rows = ClockRows(recorded, {event: at for at, event in enumerate(recorded)})
    edges = [*rows.cover(), *((a, b) for a, b in more if max(a, b) < size)]
    try:
        labels = Labels(size, edges, [clock.process for clock in recorded.values()].__getitem__)
    except Cycle:
        assume(False)
    for b in bits(agreeing(rows, labels)):
        assert not rows.concurrent(b) & labels.past(b)


@given(microcosms(4, 8))
def test_in_a_sound_log_every_clocked_event_agrees(known: object) -> None:
    given_clocks = known.clocks  # type: ignore[attr-defined]
    rows = ClockRows(given_clocks, {event: at for at, event in enumerate(given_clocks)})
    owners = [(clock.execution, clock.process) for clock in given_clocks.values()]
    owner = owners.__getitem__
    labels = Labels(len(given_clocks), rows.cover(), owner)
    if len({*owners}) == len(labels.cover.chains):
        assert agreeing(rows, labels) == rows.support()
