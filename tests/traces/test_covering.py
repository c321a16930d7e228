"""The edges and frontiers of an execution against the happens-before that its run was made with."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.covering import covering
from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.traces.closure import knowledge
from tests.traces.runs import DROPPED, RUNS, Run, kept_of


def reach(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """The transitive closure, by hand."""
    found = set(edges)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def named(run: Run) -> dict[str, int]:
    return {event.id: at for at, event in enumerate(run.events)}


def without_clocks(events: list[TraceEvent]) -> list[TraceEvent]:
    return [TraceEvent(e.process, e.seq, e.kind, e.message, e.to) for e in events]


@given(RUNS)
def test_everything_that_happened_before_follows_from_the_edges(run: Run) -> None:
    places = named(run)
    expected = {(a, b) for a in places for b in places if run.before(places[a], places[b])}
    for events in (run.events, without_clocks(run.events)):
        found = covering(events, Report())
        edges = [(left, right) for left, relation, right, _ in found.edges if relation == "<"]
        assert len(edges) == len(set(edges))
        assert reach(edges) == expected


@given(RUNS)
def test_a_frontier_is_the_past_of_the_last_event(run: Run) -> None:
    places = named(run)
    for events in (run.events, without_clocks(run.events)):
        for frontier in covering(events, Report()).frontiers:
            last = places[frontier.last]
            assert run.events[last].seq == max(e.seq for e in run.events if e.process == frontier.process)
            past = [e for at, e in enumerate(run.events) if at == last or run.before(at, last)]
            assert frontier.knows == {
                process: max(e.seq for e in past if e.process == process)
                for process in {e.process for e in past}
            }


@given(RUNS)
def test_chosen_events_are_concurrent_exactly_where_none_happened_before_the_other(run: Run) -> None:
    places = named(run)
    chosen = [(event.process, event.seq) for event in run.events if event.seq % 2]
    expected = {
        (a, b)
        for a in places
        for b in places
        if a < b and run.events[places[a]].seq % 2 and run.events[places[b]].seq % 2
        if run.relation(places[a], places[b]) == "||"
    }
    found = covering(without_clocks(run.events), Report(), chosen=chosen)
    assert {(left, right) for left, relation, right, _ in found.edges if relation == "||"} == expected


@given(RUNS, DROPPED)
def test_in_a_log_with_holes_only_what_is_true_is_said(run: Run, dropped: set[int]) -> None:
    places = named(run)
    events = [run.events[at] for at in kept_of(run, dropped)]
    chosen = [(event.process, event.seq) for event in events]
    for log in (events, without_clocks(events)):
        for left, relation, right, _ in covering(log, Report(), chosen=chosen).edges:
            assert run.relation(places[left], places[right]) == relation


def test_what_lost_an_event_is_not_complete() -> None:
    """The second event with that position may be what orders the two, as here."""
    log = [TraceEvent("p", 1, "send", "m"), TraceEvent("q", 1), TraceEvent("q", 1, "receive", "m")]
    assert covering(log[:2], Report(), chosen=[("p", 1), ("q", 1)]).edges == [
        ("p:1", "||", "q:1", "concurrent")
    ]
    assert covering(log, Report(), chosen=[("p", 1), ("q", 1)]).edges == []


def test_a_hole_in_any_execution_is_one_of_the_log() -> None:
    one = [TraceEvent(process, 1, trace="one") for process in "pq"]
    other = [TraceEvent("p", 1, "receive", "m", trace="two")]
    for log in ([*one, *other], [*other, *one]):
        edges = covering(log, Report(), chosen=[("p", 1), ("q", 1)]).edges
        assert [edge for edge in edges if edge[1] == "||"] == []


def test_a_link_to_elsewhere_may_lead_back() -> None:
    """As through another execution, of which one event comes after `q:1`."""
    log = [TraceEvent("q", 1, trace="t"), TraceEvent("p", 1, after=("other/z:1",), trace="t")]
    found = covering(log, Report(), full_names=True, chosen=[("p", 1), ("q", 1)])
    assert ([link.left for link in found.foreign], found.edges) == (["other/z:1"], [])


def test_what_clocks_call_concurrent_no_link_orders() -> None:
    log = [TraceEvent("p", 1, clock={"p": 1}), TraceEvent("q", 1, clock={"q": 1}, after=("p:1",))]
    report = Report()
    found = covering(log, report, chosen=[("p", 1), ("q", 1)])
    assert found.edges == [("p:1", "||", "q:1", "concurrent")]
    assert report.counts == {"link-against-clock": 1}


def test_holders_of_a_token_are_related_one_by_one() -> None:
    log = [TraceEvent(process, 1, attributes={"lock": "l"}) for process in "pqr"]
    edges = covering(log, Report(), token="lock").edges
    assert edges == [("p:1", "<>", "q:1", "token l"), ("q:1", "<>", "r:1", "token l")]


def test_too_many_chosen_events_are_reported() -> None:
    report = Report()
    log = [TraceEvent(f"p{at}", 1) for at in range(5_001)]
    assert covering(log, report, chosen=[(event.process, 1) for event in log]).edges == []
    assert report.counts["too-many-chosen"] == 1


def test_a_process_whose_only_event_has_a_name_that_is_taken() -> None:
    report = Report()
    found = covering([TraceEvent("p", 1, name="x"), TraceEvent("q", 1, name="x")], report)
    assert report.counts["duplicate-event"] == 1
    assert [each.process for each in found.frontiers] == ["p"]


@given(
    RUNS,
    DROPPED,
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("pqrs"), st.integers(0, 4)), max_size=6),
    st.sets(st.integers(0, 40)),
)
def test_frontiers_are_the_closure_of_the_edges_whatever_the_clocks_say(
    run: Run, dropped: set[int], wrong: list[tuple[int, str, int]], clockless: set[int]
) -> None:
    events = [run.events[at] for at in kept_of(run, dropped)]
    for at, process, value in wrong if events else ():
        event = events[at % len(events)]
        events[at % len(events)] = replace(event, clock={**(event.clock or {}), process: value})
    events = [replace(e, clock=None) if at in clockless else e for at, e in enumerate(events)]
    found = covering(events, Report())
    edges = [(left, right) for left, relation, right, _ in found.edges if relation == "<"]
    expected = knowledge(edges, {event.id: (event.process, event.seq) for event in events})
    assert {each.process: each.knows for each in found.frontiers} == expected


def test_a_clock_that_runs_backwards_spoils_nothing_else() -> None:
    events = [
        TraceEvent("a", 1, clock={"a": 2}),
        TraceEvent("a", 2, clock={"a": 1}),
        TraceEvent("b", 1, "send", "m", ("c",)),
        TraceEvent("c", 1, "receive", "m"),
        TraceEvent("c", 2),
    ]
    found = covering(events, Report())
    assert [each.knows for each in found.frontiers] == [{"a": 2}, {"b": 1}, {"b": 1, "c": 2}]
    again = [replace(events[0], name="x"), replace(events[0], process="b", name="x"), *events[2:]]
    assert covering(again, Report()).frontiers[-1].knows == {"b": 1, "c": 2}


def test_alone_is_who_is_so_in_the_microcosm() -> None:
    """An end of a message that counting named tells nothing alone, nor do packets beside messages of the
    application."""
    events = [
        TraceEvent("p", 1, "send", Counted("m1")),
        TraceEvent("q", 1, "receive", "packet"),
        TraceEvent("r", 1, "causal_send", "text"),
        TraceEvent("s", 1, "send", Counted("m2")),
        TraceEvent("t", 1, "receive", Counted("m2")),
    ]
    one, other = Report(), Report()
    covering(events, one)
    extract(events, report=other)
    assert one.counts == other.counts
    assert [found.line for found in one.findings] == [found.line for found in other.findings]
    assert one.counts["isolated-event"] == 2
