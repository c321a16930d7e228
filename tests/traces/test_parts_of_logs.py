"""Files that are parts of one log are found by what they hold, however it is split, and runs stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.event import TraceEvent
from microcosm.traces.reading import parts_of_logs

LOG = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1]), max_size=8
)
"""Messages: who sends each to whom, one after the other."""


def events_of(messages: list[tuple[int, int]], prefix: str = "") -> list[TraceEvent]:
    counts: dict[str, int] = {}
    events = []
    for number, pair in enumerate(messages):
        for kind, process in zip(("send", "receive"), (f"{prefix}p{at}" for at in pair), strict=True):
            counts[process] = counts.get(process, 0) + 1
            events.append(TraceEvent(process, counts[process], kind, f"m{number}"))
    return events


def parts(files: dict[str, list[TraceEvent]]) -> list[list[str]]:
    """The files of each log, sorted."""
    names = list(files)
    placed = {name: [replace(event, file=name) for event in events] for name, events in files.items()}

    def together(some: Sequence[str]) -> list[TraceEvent]:
        return [event for name in some for event in placed[name]]

    found = parts_of_logs(names, [placed[name] for name in names], together)
    return [[names[at] for at in group] for group in found]


@given(LOG, st.randoms(use_true_random=False))
def test_a_log_split_by_process_is_as_whole_as_its_messages_make_it(
    messages: list[tuple[int, int]], random: Random
) -> None:
    files: dict[str, list[TraceEvent]] = {}
    for event in events_of(messages):
        files.setdefault(event.process, []).append(event)
    graph = nx.Graph([(f"p{one}", f"p{other}") for one, other in messages])
    names = sorted(files)
    random.shuffle(names)
    expected = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(group) for group in parts({name: files[name] for name in names})} == expected


@given(LOG.filter(bool), st.integers(0))
def test_a_log_split_at_a_line_is_one_where_something_goes_on(
    messages: list[tuple[int, int]], where: int
) -> None:
    events = events_of(messages)
    at = where % len(events)
    begin, end = events[:at], events[at:]
    goes_on = {event.process for event in begin} & {event.process for event in end}
    within = {event.message for event in begin} & {event.message for event in end}
    assert len(parts({"end": end, "begin": begin})) == (1 if goes_on or within else 2)


@given(LOG, LOG)
def test_runs_of_the_same_processes_and_logs_of_others_stay_apart(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    """Though their messages are called the same."""
    assert parts({"one": events_of(one), "again": events_of(one)}) == [["one"], ["again"]]
    assert parts({"one": events_of(one), "other": events_of(other, "q")}) == [["one"], ["other"]]


def test_files_that_name_one_execution_are_one_log() -> None:
    p, q = (TraceEvent(process, 1, trace="run") for process in "pq")
    assert parts({"a": [p], "b": [q], "c": [replace(q, process="r", trace="other")]}) == [["a", "b"], ["c"]]


def test_a_message_with_both_ends_in_a_file_is_its_own() -> None:
    sent, received = TraceEvent("p", 1, "send", "m"), TraceEvent("q", 1, "receive", "m")
    other = [replace(sent, process="r"), replace(received, process="s")]
    assert parts({"a": [sent], "other": other, "b": [received]}) == [["a", "b"], ["other"]]
