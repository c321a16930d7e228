"""The kernel of the streaming job, without Spark: whatever the order and the batches, the batch's answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.io.events import row_of
from microcosm.spark.stream.kernel import StreamKernel
from microcosm.spark.stream.state import MessageState, ProcessState, message_state_from, process_state_from
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Report
from tests.traces.runs import DROPPED, RUNS, Run, kept_of, simulated


@dataclass
class Memory:
    """A store that packs everything at the end of each batch, as the job does."""

    processes: dict[str, ProcessState] = field(default_factory=dict)
    messages: dict[str, MessageState] = field(default_factory=dict)

    def process(self, process: str) -> ProcessState:
        return self.processes.setdefault(process, ProcessState())

    def message(self, message: str) -> MessageState:
        return self.messages.setdefault(message, MessageState())

    def drop(self, message: str) -> None:
        del self.messages[message]

    def packed(self) -> Memory:
        processes = {name: process_state_from(own.pack()) for name, own in self.processes.items()}
        messages = {name: message_state_from(ends.pack()) for name, ends in self.messages.items()}
        assert (processes, messages) == (self.processes, self.messages)
        return Memory(processes, messages)


Told = tuple[Counter[tuple[str, ...]], dict[str, tuple[str, dict[str, int]]], Counter[str], list[str]]


def streamed(batches: list[list[TraceEvent]], close: bool = True, keep: int = 10_000) -> Told:
    """Edges, the last frontiers, irregularities and the names of events."""
    memory, stopped, doubtful, ended = Memory(), dict[str, int](), dict[str, int](), False
    told: list[dict[str, Any]] = []
    for batch in [*batches, None]:
        kernel = StreamKernel(None, memory, keep)
        kernel.stopped, kernel.doubtful, kernel.ended = stopped, doubtful, ended
        if batch is not None:
            kernel.take(map(row_of, batch))
        elif close:
            kernel.give_up()
        told += kernel.emitted
        memory, stopped, doubtful = memory.packed(), kernel.stopped, kernel.doubtful
        ended = kernel.ended
    edges = Counter((r["left"], r["relation"], r["right"], r["source"]) for r in told if "left" in r)
    frontiers = {r["process"]: (r["last"], dict(r["knows"])) for r in told if "last" in r}
    odd = Counter(r["reported"] for r in told if "reported" in r)
    return edges, frontiers, odd, [r["id"] for r in told if "id" in r]


def test_where_a_process_begins_again_nothing_is_joined() -> None:
    """Whether in one batch or in a later one: what follows is of another execution."""
    first = [TraceEvent("p", 1), TraceEvent("p", 2), TraceEvent("q", 1, "send", "m")]
    second = [
        TraceEvent("p", 1, label="again"),
        *(TraceEvent("p", seq) for seq in (2, 3)),
        TraceEvent("q", 1),
    ]
    runs = [replace(e, file="log", line=at) for at, e in enumerate([*first, *second], 1)]
    for batches in ([runs], [runs[:3], runs[3:]], [runs[:3], runs[3:4], runs[4:]], [runs[:5], runs[5:]]):
        edges, frontiers, odd, names = streamed(batches)
        assert list(edges) == [("p:1", "<", "p:2", "process p")]
        assert frontiers == {"p": ("p:2", {"p": 2}), "q": ("q:1", {"q": 1})}
        assert sorted(names) == ["p:1", "p:2", "q:1"]
        assert odd["restart"] >= 2


def at_once(events: list[TraceEvent]) -> tuple[Counter[tuple[str, ...]], dict[str, Any]]:
    found = covering(events, Report())
    return Counter(found.edges), {each.process: (each.last, each.knows) for each in found.frontiers}


def without_clocks(events: list[TraceEvent]) -> list[TraceEvent]:
    return [TraceEvent(e.process, e.seq, e.kind, e.message, e.to) for e in events]


def in_batches(events: list[TraceEvent], cuts: list[int]) -> list[list[TraceEvent]]:
    batches: list[list[TraceEvent]] = [[] for _ in range(5)]
    for at, event in enumerate(events):
        batches[cuts[at % len(cuts)]].append(event)
    return batches


LONG = st.lists(st.tuples(st.integers(0, 3), st.integers(2, 9), st.integers(0, 5)), min_size=20, max_size=60)
CHATTY = st.builds(simulated, LONG, st.just(True))
CUTS = st.lists(st.integers(0, 4), min_size=1, max_size=24)


@given(RUNS | CHATTY, DROPPED, CUTS, st.randoms())
def test_the_batch_answer_whatever_the_order_and_whatever_is_missing(
    run: Run, dropped: set[int], cuts: list[int], random: Any
) -> None:
    events = without_clocks([run.events[at] for at in kept_of(run, dropped)])
    edges, frontiers = at_once(events)
    random.shuffle(events)
    found = streamed(in_batches(events, cuts))
    assert found[0] == edges
    assert found[1] == frontiers
    assert sorted(found[3]) == sorted(event.id for event in events)


def sharing_names(events: list[TraceEvent], names: int) -> list[TraceEvent]:
    """The events, with so few names of messages that some messages share one."""
    shared: dict[str | None, str | None] = {None: None}
    for event in events:
        shared.setdefault(event.message, f"m{len(shared) % names}")
    return [replace(event, message=shared[event.message]) for event in events]


@given(RUNS | CHATTY, CUTS, st.integers(1, 6), st.randoms())
def test_a_message_that_several_send_orders_nothing_or_it_is_said(
    run: Run, cuts: list[int], names: int, random: Any
) -> None:
    events = sharing_names(without_clocks(run.events), names)
    random.shuffle(events)
    edges, _ = at_once(events)
    together = streamed([events])
    assert together[0] <= edges or together[2]["message-cycle"]
    one_by_one = streamed(in_batches(events, cuts))
    assert one_by_one[0] <= edges or one_by_one[2].keys() & {"ambiguous-message", "message-cycle"}


@given(RUNS, CUTS, st.lists(st.integers(0, 23), max_size=8))
def test_rows_that_come_twice_are_told_once_and_counted(run: Run, cuts: list[int], again: list[int]) -> None:
    events = without_clocks(run.events)
    twice = [*events, *(events[at % len(events)] for at in again)]
    edges, frontiers = at_once(events)
    found = streamed(in_batches(twice, cuts))
    assert (found[0], found[1]) == (edges, frontiers)
    assert found[2]["duplicate-event"] == len(again)


@given(RUNS, DROPPED, CUTS)
def test_what_comes_after_it_was_given_up_adds_only_what_is_true(
    run: Run, dropped: set[int], cuts: list[int]
) -> None:
    events = without_clocks(run.events)
    kept = kept_of(run, dropped)
    places = {event.id: at for at, event in enumerate(events)}
    memory = Memory()
    kernel = StreamKernel(None, memory)
    kernel.take(row_of(events[at]) for at in kept)
    kernel.give_up()
    for at in dropped:
        if at < len(events):
            kernel.take([row_of(events[at])])
            kernel.give_up()
    told = [(row["left"], row["right"]) for row in kernel.emitted if "left" in row]
    assert len(told) == len(set(told))
    assert all(run.before(places[left], places[right]) for left, right in told)
    edges, frontiers = at_once(events)
    assert {(left, right) for left, _, right, _ in edges} <= set(told)
    assert {r["process"]: (r["last"], dict(r["knows"])) for r in kernel.emitted if "last" in r} == frontiers


@given(RUNS, CUTS, st.integers(1, 5))
def test_what_is_remembered_is_bounded_and_what_is_told_stays_true(
    run: Run, cuts: list[int], keep: int
) -> None:
    events = without_clocks(run.events)
    places = {event.id: at for at, event in enumerate(events)}
    edges, frontiers, _, ids = streamed(in_batches(events, cuts), keep=keep)
    assert sorted(ids) == sorted(places)
    assert all(run.before(places[left], places[right]) for left, _, right, _ in edges)
    exact = at_once(events)
    assert edges <= exact[0]
    for process, (last, knows) in frontiers.items():
        assert last == exact[1][process][0]
        assert all(count <= exact[1][process][1][name] for name, count in knows.items())


def test_what_a_late_delivery_discloses_is_passed_on_to_whom_it_has_reached() -> None:
    first = [
        TraceEvent("q", 1, "receive", "m"),
        TraceEvent("q", 2, "send", "n"),
        TraceEvent("r", 1, "receive", "n"),
        TraceEvent("r", 2, "send", "o"),
        TraceEvent("s", 1, "receive", "o"),
    ]
    frontiers = streamed([first, [TraceEvent("p", 1), TraceEvent("p", 2, "send", "m")]])[1]
    assert frontiers["s"] == ("s:1", {"p": 2, "q": 2, "r": 2, "s": 1})
    assert frontiers["r"] == ("r:2", {"p": 2, "q": 2, "r": 2})


def test_a_delivery_waits_for_its_own_kind_of_sending_until_nothing_more_is_expected() -> None:
    relayed = [TraceEvent("q", 1, "send", "m"), TraceEvent("r", 1, "deliver", "m")]
    first = TraceEvent("p", 1, "causal_send", "m")
    assert not streamed([relayed], close=False)[0]
    assert list(streamed([relayed])[0]) == [("q:1", "<", "r:1", "message m")]
    assert list(streamed([relayed, [first]])[0]) == [("p:1", "<", "r:1", "message m")]


def test_sendings_of_which_none_can_be_taken_are_said() -> None:
    events = [TraceEvent(process, 1, "causal_send", "m") for process in "pq"]
    events.append(TraceEvent("r", 1, "receive", "m"))
    report = Report()
    assert not covering(events, report).edges
    assert report.counts["ambiguous-message"] == 1
    for batches in ([events], [[event] for event in events], [[event] for event in events[::-1]]):
        edges, _, odd, _ = streamed(batches)
        assert (dict(edges), dict(odd)) == ({}, {"ambiguous-message": 1})


@given(st.permutations(range(5)), st.booleans(), st.integers(0, 4), st.booleans())
def test_the_right_sending_is_told_though_another_was_taken_for_it(
    order: list[int], relayed: bool, late: int, packed: bool
) -> None:
    """Of a message that goes over two levels: what a whole log says is told, and what it does not is said."""
    sender = "q" if relayed else "p"
    network = TraceEvent(sender, 1 if relayed else 2, "send", "m")
    events = [TraceEvent("p", 1, "causal_send", "m"), network]
    events += [TraceEvent("r", 1, "receive", "m"), TraceEvent("r", 2, "deliver", "m"), TraceEvent("s", 1)]
    memory, told = Memory(), []
    for batch in ([events[at] for at in order if at != late], [events[late]]):
        kernel = StreamKernel(None, memory)
        kernel.take(map(row_of, batch))
        kernel.give_up()
        told += kernel.emitted
        memory = memory.packed() if packed else memory
    edges = {(row["left"], row["right"]) for row in told if "left" in row}
    expected, frontiers = at_once(events)
    right = {(left, right) for left, _, right, _ in expected}
    assert right <= edges
    assert {r["process"]: (r["last"], dict(r["knows"])) for r in told if "last" in r} == frontiers
    said = {row.get("reported") for row in told}
    assert edges <= right | {("p:1", "r:1")} or "ambiguous-message" in said


def test_what_has_waited_long_enough_is_taken_whatever_goes_on_coming() -> None:
    def row(process: str, seq: int, arrived: int) -> dict[str, Any]:
        return {**row_of(TraceEvent(process, seq)), "arrived": arrived}

    kernel = StreamKernel(None, Memory())
    kernel.take([row("p", 2, 100), row("p", 5, 150), row("q", 2, 200)])
    kernel.take([row("p", 6, 300), row("r", 1, 300)])
    assert kernel.stopped == {"p": 100, "q": 200}
    kernel.give_up(99)
    assert kernel.stopped == {"p": 100, "q": 200}
    kernel.give_up(100)
    assert kernel.stopped == {"p": 150, "q": 200}
    kernel.take([row("q", 1, 400), row("p", 4, 400)])
    assert kernel.stopped == {"p": 150}
    kernel.give_up(150)
    assert not kernel.stopped
    assert [row["id"] for row in kernel.emitted if "id" in row] == [
        "r:1",
        "p:2",
        "q:1",
        "q:2",
        "p:4",
        "p:5",
        "p:6",
    ]


def test_a_message_that_goes_round_in_a_circle_is_reported() -> None:
    log = [
        TraceEvent("p", 1, "receive", "b"),
        TraceEvent("p", 2, "send", "a"),
        TraceEvent("q", 1, "receive", "a"),
        TraceEvent("q", 2, "send", "b"),
    ]
    edges, _, odd, _ = streamed([log])
    assert odd["message-cycle"] == 1
    assert ("p:2", "<", "q:1", "message a") not in edges or ("q:2", "<", "p:1", "message b") not in edges


def test_a_message_to_oneself_is_no_second_edge() -> None:
    log = [TraceEvent("p", 1, "send", "m"), TraceEvent("p", 2, "receive", "m")]
    assert streamed([log])[0] == at_once(log)[0]


def test_clocks_and_links_are_not_used_and_that_is_said() -> None:
    events = [TraceEvent("p", 1, clock={"p": 1}), TraceEvent("p", 2, clock={"p": 2}, after=("p:1",))]
    _, _, counts, names = streamed([[*events, TraceEvent("p", 3)]])
    assert counts == {"unused-clock": 1, "unused-link": 1}  # once in a batch, with how many there are
    assert names == ["p:1", "p:2", "p:3"]
    kernel = StreamKernel(None, Memory())
    kernel.take(map(row_of, events))
    told = {(row["fault"], row["count"]) for row in kernel.emitted if "reported" in row}
    said = "is not used, for this is a stream"
    assert told == {(f"p:1: its clock {said}", 2), (f"p:2: its link {said}", 1)}
