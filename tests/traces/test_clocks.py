"""Clocks: what is believed agrees with itself, and on right logs everything is believed."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.givens.relation import Relation, between
from microcosm.traces.clocks import Clocks, ticked
from microcosm.traces.event import TraceEvent, covers
from microcosm.traces.execution import executions
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.traces.runs import DROPPED, RUNS, Run, kept_of


def clocks_of(events: list[TraceEvent]) -> tuple[Clocks, list[TraceEvent], Report]:
    report = Report()
    run = executions(events, report)[0]
    return Clocks(run, report), run.events, report


def says(clocks: Clocks, a: int, b: int) -> Relation | None:
    """What believed clocks say of two events; those of a process are numbered in program order."""
    first, second = clocks.times[a], clocks.times[b]
    if first.process == second.process:
        return Relation.BEFORE if a < b else Relation.AFTER
    return between(first, second)


@given(RUNS, DROPPED)
def test_clocks_of_real_runs_are_all_believed(run: Run, dropped: set[int]) -> None:
    events = [run.events[at] for at in kept_of(run, dropped)]
    if events:
        clocks, numbered, report = clocks_of(events)
        assert clocks.times.keys() == set(range(len(numbered)))
        assert not {"clock-not-monotone", "clock-contradiction", "seq-against-clock"} & report.counts.keys()


DROPPING = ("clock-not-monotone", "clock-contradiction", "equal-clock")

GARBAGE = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), min_size=3, max_size=3)), min_size=2, max_size=9
)


@given(GARBAGE)
def test_clocks_that_are_believed_agree(drawn: list[tuple[int, list[int]]]) -> None:
    """Whatever was recorded, what is believed is a strict partial order and its concurrency."""
    seqs = dict.fromkeys("pqr", 0)
    events = []
    for who, counts in drawn:
        seqs["pqr"[who]] += 1
        clock = dict(zip("pqr", counts, strict=True))
        events.append(TraceEvent("pqr"[who], seqs["pqr"[who]], clock=clock))
    clocks, _, report = clocks_of(events)
    assert len(clocks.times) + sum(report.counts[kind] for kind in DROPPING) == len(events)
    assert not report.lost
    for a, b in permutations(clocks.times, 2):
        said, back = says(clocks, a, b), says(clocks, b, a)
        assert said is (None if back is None else back.converse)
    for a, b, c in permutations(clocks.times, 3):
        if says(clocks, a, b) is says(clocks, b, c) is Relation.BEFORE:
            assert says(clocks, a, c) is Relation.BEFORE
            # Concurrency would contradict it, and so would the other order.
    assert_acyclic(clocks)


def assert_acyclic(clocks: Clocks) -> None:
    left = set(clocks.times)
    while left:
        first = {b for b in left if not any(says(clocks, a, b) is Relation.BEFORE for a in left if a != b)}
        assert first
        left -= first


@given(RUNS, DROPPED)
def test_covering_edges_and_threads_close_to_what_clocks_say(run: Run, dropped: set[int]) -> None:
    events = [run.events[at] for at in kept_of(run, dropped)]
    if not events:
        return
    report = Report()
    execution = executions(events, report)[0]
    clocks = Clocks(execution, report)
    past: dict[int, set[int]] = {}

    def before(event: int) -> set[int]:
        if event not in past:
            last = execution.previous[event]
            sources = [*clocks.covers.get(event, []), *([last] if last >= 0 else [])]
            past[event] = set().union(*({source} | before(source) for source in sources))
        return past[event]

    for a, b in permutations(range(len(events)), 2):
        if says(clocks, a, b) is Relation.BEFORE:
            assert a in before(b)
    for event, sources in clocks.covers.items():
        for source in sources:
            assert says(clocks, source, event) is Relation.BEFORE
            assert not any(source in before(other) for other in sources)


def event(seq: int, own: int, process: str = "p") -> TraceEvent:
    return TraceEvent(process, seq, clock={process: own})


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([(1, 1), (2, 2), (3, 3)], [True, True, True]),
        ([(2, 2), (5, 5)], [True, True]),
        ([(1, 0), (2, 1), (3, 2)], [False, True, True]),
        ([(1, 1), (2, 1), (3, 2), (4, 2)], [True, False, True, False]),
        ([(1, 1), (2, 1), (3, 3), (4, 4)], [True, False, False, True]),
        ([(1, 1), (2, 1), (4, 2)], [True, False, False]),
        ([(1, 1), (3, 2)], [True, False]),
        ([(3, 1), (4, 2)], [False, True]),
        ([(1, 5), (2, 6)], [True, True]),
        ([(1, 2), (2, 2)], [False, False]),
    ],
)
def test_which_events_ticked(shown: list[tuple[int, int]], expected: list[bool]) -> None:
    """(position, own value): all, unless a value is repeated or must have been within a hole."""
    events = [event(seq, own) for seq, own in shown]
    assert ticked(events, positions=True) == expected


def test_positions_do_not_count_where_clocks_contradict_them() -> None:
    events = [event(seq, own) for seq, own in ((9, 1), (1, 2), (5, 4))]
    assert ticked(events, positions=False) == [True, True, True]
    assert ticked([*events, event(7, 4)], positions=False) == [True, True, False, False]


def test_of_two_clocks_that_do_not_grow_the_odd_one_goes() -> None:
    spike = [TraceEvent("p", seq, clock={"p": seq, "q": q}) for seq, q in ((1, 1), (2, 9), (3, 2), (4, 3))]
    assert clocks_of(spike)[0].times.keys() == {0, 2, 3}
    dip = [TraceEvent("p", seq, clock={"p": seq, "q": q}) for seq, q in ((1, 3), (2, 4), (3, 1), (4, 5))]
    assert clocks_of(dip)[0].times.keys() == {0, 1, 3}


@pytest.mark.parametrize(
    ("seen", "believed"), [((2, 1), ()), ((1, 9, 2, 10), (0, 3)), ((3, 1, 1), (1, 2)), ((3, 1, 4), (2,))]
)
def test_where_nothing_tells_which_of_two_clocks_is_odd_neither_is_believed(
    seen: tuple[int, ...], believed: tuple[int, ...]
) -> None:
    events = [TraceEvent("p", seq, clock={"p": seq, "q": q}) for seq, q in enumerate(seen, 1)]
    assert clocks_of(events)[0].times.keys() == {*believed}


def test_a_clock_that_has_not_seen_all_that_it_must_is_reported() -> None:
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("q", 1, clock={"q": 1, "p": 1}),
        TraceEvent("r", 1, clock={"r": 1, "q": 1}, file="f", line=3),
        TraceEvent("s", 1, clock={"s": 1, "q": 1, "p": 1}),
    ]
    clocks, _, report = clocks_of(events)
    assert clocks.times.keys() == {0, 1, 3}
    assert [str(found) for found in report.findings] == [
        "f:3: r:1: its clock has seen q:1 but not all that that had seen [clock-contradiction]"
    ]


def test_an_event_that_did_not_tick_is_not_what_its_value_shows() -> None:
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("p", 2, clock={"p": 1}),
        TraceEvent("p", 4, clock={"p": 2}),
        TraceEvent("q", 1, clock={"p": 2, "q": 1}),
        TraceEvent("r", 1, clock={"p": 1, "r": 1}),
    ]
    clocks, _, _ = clocks_of(events)
    assert [clocks.times[event].ticked for event in range(5)] == [True, False, False, True, True]
    assert clocks.covers == {3: [1], 4: [0]}


def test_two_events_cannot_have_seen_each_other() -> None:
    both = {"p": 1, "q": 1}
    clocks, _, report = clocks_of([TraceEvent("p", 1, clock=both), TraceEvent("q", 1, clock=dict(both))])
    assert len(clocks.times) == 1
    assert report.counts == {"clock-contradiction": 1}


def test_covering() -> None:
    assert covers({"p": 1, "q": 2}, {"p": 1})
    assert covers({"p": 1}, {"p": 1, "q": 0})
    assert not covers({"p": 1}, {"p": 1, "q": 1})


def test_a_way_that_clocks_deny_is_not_believed() -> None:
    """Through events without clocks; of its messages and links nobody knows which is wrong."""
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("p", 2, "send", "m"),
        TraceEvent("u", 1, "receive", "m"),
        TraceEvent("u", 2),
        TraceEvent("v", 1, after=("u:2",)),
        TraceEvent("v", 2, "send", "n"),
        TraceEvent("q", 1, "receive", "n"),
        TraceEvent("q", 2, clock={"q": 1}),
        TraceEvent("r", 1, "receive", "m", clock={"p": 1, "r": 1}),
    ]
    report = Report()
    found = extract(events, report=report).givens
    assert report.counts == {"message-against-clock": 2, "link-against-clock": 1}
    assert Microcosm(found).online("p:1", "q:2") is Relation.CONCURRENT
    assert [str(fact) for fact in found.external.values() if fact.source == "message m"] == ["p:2 < r:1"]
