"""Clocks as relations: rows, cover and single pairs against the definition of two clocks."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.givens.relation import Clock, Relation, between
from microcosm.order.bits import bits
from microcosm.order.clock_order import ClockRows, agreeing
from microcosm.order.happens_before import Cycle
from microcosm.order.labels import Labels
from tests.strategies import microcosms

PROCESSES = ("p", "q", "r")


@st.composite
def clocks(draw: st.DrawFn) -> dict[str, Clock]:
    """Arbitrary clocks, consistent or not: what is given is given."""
    entries = st.dictionaries(st.sampled_from(PROCESSES), st.integers(0, 3))
    execution = st.sampled_from((None, None, "x", "y"))
    event = st.builds(Clock, st.sampled_from(PROCESSES), entries, st.booleans(), execution)
    return {f"e{n}": clock for n, clock in enumerate(draw(st.lists(event, max_size=8)))}


def given_before(a: Clock, b: Clock, at: int, other: int) -> bool:
    if a.execution != b.execution:
        return False
    if a.process == b.process:
        return (a.own, at) < (b.own, other)
    return a.reached_by(b)


@given(clocks(), st.sampled_from([(0, 1), (0, 2), (0, 16), (1 << 14, 16)]))
def test_rows_say_what_two_clocks_say(recorded: dict[str, Clock], kept: tuple[int, int]) -> None:
    rows = ClockRows(recorded, {event: at for at, event in enumerate(recorded)})
    rows.KEPT = kept[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "EVENTS_CUT_OUT", kept[1])
        _expect_what_two_clocks_say(rows, recorded)


def _expect_what_two_clocks_say(rows: ClockRows, recorded: dict[str, Clock]) -> None:
    listed = list(recorded.values())
    for a, one in enumerate(listed):
        for b, other in enumerate(listed):
            before = a != b and given_before(one, other, a, b)
            assert bool(rows.future(a) >> b & 1) is before
            assert bool(rows.past(b) >> a & 1) is before
            concurrent = one.process != other.process and between(one, other) is Relation.CONCURRENT
            assert bool(rows.concurrent(a) >> b & 1) is concurrent
            missed = a != b and not one.beside(other) and one.missed_by(other)
            assert bool(rows.missed(a) >> b & 1) is bool(rows.unseen(b) >> a & 1) is missed
            assert rows.misses(a, b) is missed


@given(clocks())
def test_the_cover_has_the_same_transitive_closure(recorded: dict[str, Clock]) -> None:
    rows = ClockRows(recorded, {event: at for at, event in enumerate(recorded)})
    listed = list(recorded.values())
    size = len(listed)
    everything = {
        (a, b)
        for a in range(size)
        for b in range(size)
        if a != b and given_before(listed[a], listed[b], a, b)
    }
    cover = set(rows.cover())
    assert cover <= everything
    assert _closure(size, cover) == _closure(size, everything)


def _closure(size: int, edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    reach = set(edges)
    for k in range(size):
        reach |= {(a, b) for a in range(size) for b in range(size) if (a, k) in reach and (k, b) in reach}
    return reach


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
