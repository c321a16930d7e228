"""The microcosm of a trace: true of the run, whatever the log has lost; complete where it has not."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation, between
from microcosm.state.microcosm import Microcosm
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract, microcosm_of_logs, on_circles
from microcosm.traces.formats import jsonl
from microcosm.traces.report import Extraction, Report
from tests.traces.logs import read_text
from tests.traces.runs import DROPPED, RUNS, TICKING_RUNS, Run, kept_of, shiviz_text

Log = Callable[[Run, list[int]], tuple[list[TraceEvent], Report]]
"""Write what was kept of a run as a log, and read it."""


def by_jsonl(run: Run, kept: list[int]) -> tuple[list[TraceEvent], Report]:
    stream = io.StringIO()
    jsonl.write((run.events[at] for at in kept), stream)
    return read_text(stream.getvalue())


def by_shiviz(run: Run, kept: list[int]) -> tuple[list[TraceEvent], Report]:
    return read_text(shiviz_text([run.events[at] for at in kept]), "shiviz")


def told_by_clocks(givens: Givens, a: str, b: str) -> str | None:
    """What the clocks among the givens say; the order of statement is that of a process."""
    first, second = givens.clocks[a], givens.clocks[b]
    if first.process == second.process:
        return "<" if list(givens.clocks).index(a) < list(givens.clocks).index(b) else ">"
    said = between(first, second)
    return None if said is None else said.value


@given(TICKING_RUNS, DROPPED, st.sampled_from([by_jsonl, by_shiviz]))
def test_clocks_that_tick_say_all_that_is_true(run: Run, dropped: set[int], log: Log) -> None:
    """Of the events that a log has kept, every pair, and as it was."""
    kept = kept_of(run, dropped)
    if not kept:
        return
    events, report = log(run, kept)
    found = extract(events, report=report)
    names = {run.events[at].id: at for at in kept}
    assert found.givens.clocks.keys() == names.keys()
    for a, b in combinations(names, 2):
        assert told_by_clocks(found.givens, a, b) == run.relation(names[a], names[b])
    assert found.events == len(kept)
    assert found.isolated == found.outside == 0


@given(RUNS, DROPPED)
def test_nothing_false_is_said_of_a_log_with_holes(run: Run, dropped: set[int]) -> None:
    """Not even where only sendings tick: positions show what a hole may hide."""
    kept = kept_of(run, dropped)
    givens = extract(by_jsonl(run, kept)[0]).givens
    names = {run.events[at].id: at for at in kept}
    for a, b in combinations(givens.clocks, 2):
        assert told_by_clocks(givens, a, b) in (run.relation(names[a], names[b]), None)
    for fact in givens.external.values():
        assert fact.relation is Relation.BEFORE
        assert run.before(names[fact.left], names[fact.right])


@given(RUNS, DROPPED)
def test_what_a_whole_log_shows_stays_true_of_its_parts(run: Run, dropped: set[int]) -> None:
    """Clocks read from the whole log, some events forgotten later."""
    events, _ = by_shiviz(run, kept_of(run, ()))
    full = extract(events).givens
    names = {event.id: at for at, event in enumerate(events)}
    left = [name for name in full.clocks if names[name] not in dropped]
    for a, b in combinations(left, 2):
        assert told_by_clocks(full, a, b) in (run.relation(names[a], names[b]), None)


def closure(givens: Givens) -> set[tuple[str, str]]:
    """All pairs that follow from the chain and the external correspondences."""
    after: dict[str, set[str]] = {}
    for fact in givens.external.values():
        after.setdefault(fact.left, set()).add(fact.right)
    for a, b in zip(givens.internal, givens.internal[1:], strict=False):
        after.setdefault(a, set()).add(b)
    pairs = set()
    for start, first in after.items():
        waiting = list(first)
        while waiting:
            event = waiting.pop()
            if (start, event) not in pairs:
                pairs.add((start, event))
                waiting += after.get(event, ())
    return pairs


@given(RUNS, DROPPED, st.sampled_from([by_jsonl, by_shiviz]))
def test_without_clocks_nothing_false_is_said(run: Run, dropped: set[int], log: Log) -> None:
    kept = kept_of(run, () if log is by_shiviz else dropped)
    events, _ = log(run, kept)
    givens = extract(events, with_clocks=False).givens
    assert not givens.clocks
    at = {event.id: kept[number] for number, event in enumerate(events)}
    for a, b in closure(givens):
        assert run.before(at[a], at[b])


@given(TICKING_RUNS, DROPPED, st.sampled_from([by_jsonl, by_shiviz]))
def test_without_clocks_nothing_is_forgotten(run: Run, dropped: set[int], log: Log) -> None:
    kept = kept_of(run, dropped)
    if not kept:
        return
    pairs = closure(extract(log(run, kept)[0], with_clocks=False).givens)
    names = {run.events[at].id: at for at in kept}
    assert pairs == {(a, b) for a in names for b in names if run.before(names[a], names[b])}


@given(RUNS, st.booleans())
def test_messages_and_processes_alone_give_the_whole_order(run: Run, clocks: bool) -> None:
    """A whole log with message names needs no clocks."""
    events = [TraceEvent(e.process, e.seq, e.kind, e.message, e.to) for e in run.events]
    report = Report()
    found = extract(events if not clocks else run.events, with_clocks=False, report=report)
    at = {event.id: number for number, event in enumerate(run.events)}
    assert closure(found.givens) == {(a, b) for a in at for b in at if run.before(at[a], at[b])}
    assert set(report.counts) <= {"unreceived-send", "isolated-event", "own-missing"}


@given(RUNS, DROPPED, st.booleans(), st.integers(0, 3))
def test_a_process_knows_its_causal_past_and_nothing_else(
    run: Run, dropped: set[int], clocks: bool, who: int
) -> None:
    kept = kept_of(run, dropped)
    events = [run.events[at] for at in kept]
    if not clocks:
        events = [TraceEvent(e.process, e.seq, e.kind, e.message, e.to) for e in events]
    process = "pqrs"[who]
    own = [at for at in kept if run.events[at].process == process]
    if not own:
        with pytest.raises(TextError, match=f"no process '{process}'"):
            extract(events, process=process)
        return
    whole, view = extract(events), extract(events, process=process)
    names = {run.events[at].id: at for at in kept}
    past = {at for at in kept if at == own[-1] or run.before(at, own[-1])}
    known = {names[name] for name in view.givens.named()}
    assert known <= past
    assert view.givens.internal == [run.events[at].id for at in own]
    assert view.givens.name == process
    external = view.givens.external.values()
    assert not any({fact.left, fact.right} <= set(view.givens.internal) for fact in external)
    assert view.events + view.outside == whole.events
    for a, b in closure(view.givens):
        assert run.before(names[a], names[b])
    assert view.givens.clocks.items() <= whole.givens.clocks.items()
    if not dropped:
        assert view.events == len(past)


@given(RUNS, DROPPED, st.booleans())
def test_no_event_vanishes(run: Run, dropped: set[int], clocks: bool) -> None:
    """Each is named, or counted as isolated; what was there twice is reported as lost."""
    events = [run.events[at] for at in kept_of(run, dropped)]
    if not clocks:
        events = [TraceEvent(e.process, e.seq, e.kind, e.message, e.to) for e in events]
    report = Report()
    found = extract([*events, *events[:3]], report=report)
    assert found.events + report.lost == len(events) + len(events[:3])
    assert report.lost == len(events[:3])
    assert found.events == len(set(found.givens.named())) + found.isolated
    assert found.processes == len({event.process for event in events})
    if ids := {event.message for event in events} - {None}:
        assert found.messages == len(ids)
    assert found.correspondences == len(found.givens.external)
    assert found.reported == report.counts


def facts(found: Extraction) -> list[str]:
    return [f"{fact} {fact.source}" for fact in found.givens.external.values()]


def test_events_with_and_without_clocks_make_one_chain() -> None:
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("p", 2, clock={"p": 2}),
        TraceEvent("p", 3),
        TraceEvent("p", 4, clock={"p": 4}),
    ]
    found = extract(events)
    assert facts(found) == ["p:2 < p:3 process p", "p:3 < p:4 process p"]
    assert list(found.givens.clocks) == ["p:1", "p:2", "p:4"]
    assert found.reported == {}


def test_a_position_is_taken_once_whatever_its_event_is_called() -> None:
    report = Report()
    events = [TraceEvent("p", 1, name="x"), TraceEvent("p", 1, name="y"), TraceEvent("p", 2)]
    assert facts(extract(events, report=report)) == ["x < p:2 process p"]
    assert (report.counts, report.lost) == ({"duplicate-event": 1}, 1)


def test_sources_say_where_an_order_comes_from() -> None:
    events = [
        TraceEvent("p", 1, "send", "m", clock={"p": 1}, name="shout"),
        TraceEvent("q", 1, "receive", "m", clock={"p": 1, "q": 1}, name="hear"),
    ]
    assert facts(extract(events)) == ["shout < hear message m"]
    bare = [TraceEvent(e.process, e.seq, clock=e.clock, name=e.name) for e in events]
    assert facts(extract(bare, with_clocks=False)) == ["shout < hear vector time of hear"]


def test_only_the_latest_that_a_clock_has_newly_seen_is_an_edge() -> None:
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("p", 2, clock={"p": 2}),
        TraceEvent("q", 1, clock={"p": 2, "q": 1}),
        TraceEvent("r", 1, clock={"p": 2, "q": 1, "r": 1}),
        TraceEvent("r", 2, clock={"p": 2, "q": 1, "r": 2}),
    ]
    found = extract(events, with_clocks=False)
    assert [str(fact) for fact in found.givens.external.values()] == [
        "p:1 < p:2", "r:1 < r:2", "p:2 < q:1", "q:1 < r:1",
    ]  # fmt: skip


def test_several_executions_are_kept_apart() -> None:
    one = [
        TraceEvent("p", 1, "send", "m", ("q",), {"p": 1}, attributes={"lock": "l"}),
        TraceEvent("q", 1, "receive", "m", (), {"p": 1, "q": 1}, attributes={"lock": "l"}),
    ]
    first, two = ([replace(event, trace=trace) for event in one] for trace in ("one", "two"))
    assert [event.full_id for event in two] == ["two/p:1", "two/q:1"]
    givens = extract([*first, *two], token="lock").givens
    assert list(givens.clocks) == ["one/p:1", "one/q:1", "two/p:1", "two/q:1"]
    assert givens.clocks["two/q:1"] == Clock("two/q", {"two/p": 1, "two/q": 1}, True, "two")
    assert [(m.event, m.message, m.process, m.receivers) for m in givens.messages[:2]] == [
        ("one/p:1", "one/m", "one/p", ("one/q",)),
        ("one/q:1", "one/m", "one/q", ()),
    ]
    assert givens.tokens == {"one/l": ("one/p:1", "one/q:1"), "two/l": ("two/p:1", "two/q:1")}
    assert list(extract(two).givens.clocks) == ["p:1", "q:1"]
    view = extract([*first, *two], process="two/q")
    assert (view.givens.internal, view.events, view.outside) == (["two/q:1"], 2, 2)
    with pytest.raises(TextError, match=r"2 executions have a process 'q'\nSay which: one/q, two/q"):
        extract([*first, *two], process="q")


def test_an_unknown_process_is_answered_with_those_like_it() -> None:
    with pytest.raises(TextError, match=r"no process 'phon' in the trace\nDid you mean 'phone'\?"):
        extract([TraceEvent("phone", 1), TraceEvent("laptop", 1)], process="phon")


def test_tokens_that_are_called_alike_among_several_executions_are_two() -> None:
    log = [
        TraceEvent(process, 1, attributes={"lock": lock}, trace=trace)
        for trace, lock in (("a", "b/x"), ("a/b", "x"))
        for process in "pq"
    ]
    first, second = (("a/p:1", "a/q:1"), ("a/b/p:1", "a/b/q:1"))
    assert extract(log, token="lock").givens.tokens == {"a/b/x": first, "a/b/x (2)": second}


def test_holders_of_a_token_are_grouped_by_its_value() -> None:
    values = ("a", 7, "a", None, "", 7, "b")
    events = [TraceEvent("p", seq, attributes={"lock": value}) for seq, value in enumerate(values, 1)]
    assert extract(events, token="lock").givens.tokens == {"a": ("p:1", "p:3"), "7": ("p:2", "p:6")}
    other = TraceEvent("q", 1, attributes={"lock": "a"})
    assert extract([*events, other], token="lock").givens.tokens["a"] == ("p:1", "q:1", "p:3")
    assert extract([*events, other], token="lock", process="p").givens.tokens["a"] == ("p:1", "p:3")
    with pytest.raises(TextError, match=r"no event has an attribute 'lok'\nDid you mean 'lock'\?"):
        extract(events, token="lok")


def test_stamps_that_are_in_order_are_kept() -> None:
    events = [
        TraceEvent("p", 1, "send", "m", stamp=4),
        TraceEvent("q", 1, "receive", "m", stamp=5),
        TraceEvent("q", 2, stamp=(1.0, 2.0)),
    ]
    assert extract(events).givens.stamps == {"p:1": 4, "q:1": 5, "q:2": (1.0, 2.0)}
    assert extract(events, process="p").givens.stamps == {"p:1": 4}


def test_stamps_of_two_executions_are_left_out() -> None:
    """A stamp does not say of which execution it is; the clocks of two need not run alike."""
    events = [TraceEvent("p", 1, stamp=5, trace="A"), TraceEvent("q", 1, stamp=(1, 2), trace="B", line=7)]
    report = Report()
    assert extract(events, report=report).givens.stamps == {}
    assert report.counts == {"stamp-of-several": 2, "isolated-event": 2}
    assert extract(events[:1]).givens.stamps == {"p:1": 5}
    agree = [TraceEvent("p", at, stamp=(at, at), trace=trace) for trace in "AB" for at in (1, 2)]
    found = extract(agree, synchronous=0).givens
    assert found.stamps == {}
    assert len(found.external) == 2


MIXED = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.sampled_from("AB"),
        st.sampled_from(["internal", "send", "receive"]),
        st.one_of(st.none(), st.integers(0, 9), st.tuples(st.integers(0, 4), st.integers(5, 9))),
        st.sampled_from([None, "x"]),
        st.one_of(st.none(), st.dictionaries(st.sampled_from("pq"), st.integers(0, 3))),
    ),
    max_size=8,
)


@given(MIXED)
def test_nothing_is_said_of_two_executions(steps: list[tuple[Any, ...]]) -> None:
    """Whatever is recorded in each: order, messages, clocks, stamps, tokens. Offline and online."""
    counts: Counter[tuple[str, str]] = Counter()
    events = []
    for process, trace, kind, stamp, lock, clock in steps:
        counts[process, trace] += 1
        more = {"lock": lock} if lock else {}
        message = None if kind == "internal" else "m"
        one = TraceEvent(process, counts[process, trace], kind, message, trace=trace, attributes=more)
        events.append(replace(one, stamp=stamp, clock=clock))
    token = "lock" if any(event.attributes for event in events) else None
    known = Microcosm(extract(events, token=token).givens)
    names = {event.full_id: event.trace for event in events if event.full_id in known}
    for a, b in combinations(names, 2):
        if names[a] != names[b]:
            assert known.online(a, b) in (None, Relation.UNKNOWN)
            assert not known.offline(a, b).refuted


def test_an_empty_trace_is_an_empty_microcosm() -> None:
    found = extract([])
    assert list(found.givens.named()) == []
    assert (found.events, found.processes, found.messages, found.correspondences) == (0, 0, 0, 0)


def test_a_long_log_is_no_deep_one() -> None:
    """Nothing recurses on the length of a log."""
    relay = []
    for at in range(3000):
        if at:
            relay.append(TraceEvent("pq"[at % 2], at // 2 * 2 + 1, "receive", f"m{at - 1}"))
        relay.append(TraceEvent("pq"[at % 2], at // 2 * 2 + 2, "send", f"m{at}"))
    assert extract(relay, process="q").outside == 0
    assert extract(relay, process="p").outside == 2
    ring = [
        TraceEvent(f"p{at}", seq, kind, f"m{message % 3000}")
        for at in range(3000)
        for seq, kind, message in ((1, "receive", at - 1), (2, "send", at))
    ]
    assert extract(ring).reported == {"message-cycle": 3000}


def test_receptions_without_a_message_name_are_found_by_merged_clocks() -> None:
    events = [
        TraceEvent("p", 1, clock={"p": 1}),
        TraceEvent("p", 2, clock={"p": 2}),
        TraceEvent("q", 1, clock={"q": 1}),
        TraceEvent("q", 2, clock={"p": 2, "q": 2}),
        TraceEvent("q", 3, clock={"p": 2, "q": 3}),
    ]
    assert extract(events).messages == 1
    assert extract(events[:3]).messages == 0


def test_what_a_process_could_know_includes_what_links_tell() -> None:
    events = [
        TraceEvent("p", 1),
        TraceEvent("p", 2),
        TraceEvent("q", 1, after=("p:1",)),
        TraceEvent("q", 2),
    ]
    found = extract(events, process="q")
    assert [str(fact) for fact in found.givens.external.values()] == ["p:1 < q:1"]
    assert (found.givens.internal, found.events, found.outside) == (["q:1", "q:2"], 3, 1)


def test_a_link_to_another_execution_is_believed_where_it_can_close_no_circle() -> None:
    events = [
        TraceEvent("p", 1, trace="one"),
        TraceEvent("q", 1, trace="two", after=("one/p:1",)),
        TraceEvent("q", 2, trace="two", after=("one/p:1", "one/p:2")),
    ]
    found = extract(events)
    orders = {(fact.left, fact.right) for fact in found.givens.external.values()}
    assert orders == {("two/q:1", "two/q:2"), ("one/p:1", "two/q:2")}
    assert found.reported == {"unknown-event": 2}


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=12))
def test_what_is_on_a_circle_or_behind_one_is_found(links: list[tuple[str, str]]) -> None:
    graph = networkx.DiGraph(links)
    parts = networkx.strongly_connected_components(graph)
    circled = {one for part in parts for one in part if len(part) > 1 or graph.has_edge(one, one)}
    behind = circled.union(*(networkx.descendants(graph, event) for event in circled))
    assert on_circles(links) == {(a, b) for a, b in links if {a, b} <= behind}


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """As where a folder is named, and a file in it."""
    log = tmp_path / "a.jsonl"
    log.write_text('{"process": "a", "label": "x"}\n{"process": "a", "label": "y"}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").symlink_to(log)
    for more in ({}, {"process": "a"}):
        found = microcosm_of_logs([log, tmp_path / "." / "a.jsonl", tmp_path / "b.jsonl"], **more)
        assert found.events == 2
    for unfit in ("a\0b", "a\ud800b"):
        with pytest.raises(TextError, match="cannot be read"):
            microcosm_of_logs([log, unfit])
