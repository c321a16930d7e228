"""The scan over slices against the happens-before that runs were made with, and against a single pass."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.spark_slices import pairs_in, scan
from microcosm.spark.giant.slices import NEVER, Pairs, by_depth, lowered, monotone, moved, slice_of
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.report import Report
from tests.traces.closure import knowledge as closure
from tests.traces.runs import DROPPED, RUNS, Run, kept_of

SLICES = st.integers(1, 6)


def numbered(events: list[TraceEvent]) -> tuple[dict[str, int], Pairs]:
    """The processes by number, and who sends to whom, each message by one."""
    numbers = {process: number for number, process in enumerate(sorted({e.process for e in events}))}
    sent = {event.message: event for event in events if event.kind == "send"}
    rows = [
        (numbers[sent[e.message].process], sent[e.message].seq, numbers[e.process], e.seq)
        for e in events
        if e.kind == "receive" and e.message in sent
    ]
    return numbers, pairs_in(rows)


@st.composite
def starts(draw: st.DrawFn, processes: int = 4) -> np.ndarray:
    """Any cuts, consistent or not: late starters, skewed clocks, lines in no order."""
    count = draw(SLICES)
    positions = st.one_of(st.integers(0, 12), st.just(NEVER))
    rows = st.lists(positions, min_size=count - 1, max_size=count - 1)
    made = draw(st.lists(rows, min_size=processes, max_size=processes))
    return monotone(np.array(made, dtype=np.int64).reshape(processes, count - 1))


def consistent(cuts: np.ndarray, pairs: Pairs) -> bool:
    sent = slice_of(cuts, pairs.sender, pairs.sent)
    return bool((sent <= slice_of(cuts, pairs.receiver, pairs.received)).all())


@given(RUNS, DROPPED, starts())
def test_every_event_knows_its_past_whatever_the_slices(
    run: Run, dropped: set[int], start: np.ndarray
) -> None:
    kept = kept_of(run, dropped)
    events = [run.events[at] for at in kept]
    if not events:
        return
    numbers, pairs = numbered(events)
    cuts = lowered(start[: len(numbers)], pairs)
    assert consistent(cuts, pairs)
    assert (cuts <= start[: len(numbers)]).all()
    places = {(numbers[e.process], e.seq): at for at, e in zip(kept, events, strict=True)}
    knowledge, cyclic = scan(pairs, cuts, places)
    assert cyclic == []
    edges = {at: set[int]() for at in kept}  # what is left of the past when events are missing
    last: dict[str, int] = {}
    sent = {e.message: at for at, e in zip(kept, events, strict=True) if e.kind == "send"}
    for at, event in zip(kept, events, strict=True):
        sources = {
            last.get(event.process, -1),
            sent.get(event.message, -1) if event.kind == "receive" else -1,
        }
        for source in sources - {-1}:
            edges[at] |= edges[source] | {source}
        last[event.process] = at
    for (process, seq), at in places.items():
        past = [run.events[each] for each in (*edges[at], at)]
        expected: dict[int, int] = {}
        for event in past:
            number = numbers[event.process]
            expected[number] = max(event.seq, expected.get(number, 0))
        assert knowledge.of(process, seq) == expected


@given(st.integers(0, 2**32), starts())
def test_a_sender_may_be_a_reception_too(seed: int, start: np.ndarray) -> None:
    """Pairs as clocks give them: from any event to any later one, however many to one."""
    random = Random(seed)
    line = [(process, seq) for process in range(4) for seq in range(1, 8)]
    random.shuffle(line)
    line.sort(key=lambda each: each[1] + random.random())
    chosen = [sorted(random.sample(range(len(line)), 2)) for _ in range(20)]
    apart = {(line[a], line[b]) for a, b in chosen if line[a][0] != line[b][0]}
    pairs = pairs_in([(*a, *b) for a, b in sorted(apart)])
    knowledge, cyclic = scan(pairs, lowered(start, pairs), line)
    assert cyclic == []
    places = {f"{process}:{seq}": (str(process), seq) for process, seq in line}
    edges = [(f"{p}:{i}", f"{p}:{i + 1}") for p in range(4) for i in range(1, 7)]
    edges += [(f"{p}:{i}", f"{q}:{j}") for (p, i), (q, j) in apart]
    for process, expected in closure(edges, places).items():
        found = knowledge.of(int(process), 7)
        assert found == {int(other): seq for other, seq in expected.items()}


def chained(random: Random, processes: int, events: int, late: bool, messages: int) -> list[TraceEvent]:
    """A run in which work is handed from process to process, or in which all talk to all."""
    made: list[TraceEvent] = []
    seqs = [0] * processes
    inbox: list[list[str]] = [[] for _ in range(processes)]
    for at in range(events):
        turn = at * processes // events
        process = turn if late and random.random() < 0.9 else random.randrange(processes)
        if late and process > turn:
            process = turn
        seqs[process] += 1
        kind, message, to = "internal", None, ()
        if inbox[process] and random.random() < 0.6:
            kind, message = "receive", inbox[process].pop(random.randrange(len(inbox[process])))
        elif random.random() < messages / 10:
            other = min(turn + 1, processes - 1) if late else random.randrange(processes)
            kind, message = "send", f"m{at}"
            inbox[other].append(message)
        made.append(TraceEvent(f"p{process:03}", seqs[process], kind, message, to))
    return made


@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans(), SLICES, st.booleans())
def test_the_frontiers_are_those_of_a_single_pass(
    seed: int, processes: int, late: bool, slices: int, depth: bool
) -> None:
    random = Random(seed)
    events = chained(random, processes, 200, late, random.randrange(1, 8))
    numbers, pairs = numbered(events)
    start = (
        by_depth(pairs, len(numbers), slices)
        if depth
        else monotone(
            np.array(
                [[random.randrange(60) for _ in range(slices - 1)] for _ in numbers], dtype=np.int64
            ).reshape(len(numbers), slices - 1)
        )
    )
    knowledge, _ = scan(pairs, lowered(start, pairs))
    names = {number: name for name, number in numbers.items()}
    last = {event.process: event.seq for event in events}
    for frontier in covering(events, Report()).frontiers:
        found = knowledge.of(numbers[frontier.process], last[frontier.process])
        assert found is not None
        assert {names[number]: seq for number, seq in found.items()} == frontier.knows


@given(st.integers(0, 2**32), st.sampled_from((2, 3, 7)))
def test_cuts_by_depth_are_consistent_and_even(seed: int, slices: int) -> None:
    """Neither hand-over chains nor late starters put most receptions into one slice."""
    random = Random(seed)
    for late in (False, True):
        events = chained(random, 8, 3000, late, 5)
        numbers, pairs = numbered(events)
        cuts = by_depth(pairs, len(numbers), slices)
        assert not len(moved(cuts, lowered(cuts, pairs))[0])
        sizes = np.bincount(slice_of(cuts, pairs.receiver, pairs.received), minlength=slices)
        assert sizes.max() < 2 * len(pairs) / slices + 50


@given(RUNS, starts(), st.integers(0, 2**32))
def test_messages_on_cycles_are_found_in_whatever_slice(run: Run, start: np.ndarray, seed: int) -> None:
    """Receptions of the wrong messages: some are before their sendings."""
    random = Random(seed)
    receptions = [event for event in run.events if event.kind == "receive"]
    swapped = dict(
        zip(
            [(e.process, e.seq) for e in receptions],
            random.sample([e.message for e in receptions], len(receptions)),
            strict=True,
        )
    )
    seen: set[tuple[str, str | None]] = set()
    events = []
    for e in run.events:
        message = swapped.get((e.process, e.seq), e.message)
        if e.kind == "receive" and (e.process, message) in seen:
            message = None
        seen.add((e.process, message))
        events.append(
            TraceEvent(e.process, e.seq, e.kind if message or e.kind != "receive" else "internal", message)
        )
    report = Report()
    single = covering(events, report)
    numbers, pairs = numbered(events)
    cuts = lowered(start[: len(numbers)], pairs)
    knowledge, cyclic = scan(pairs, cuts)
    assert len(cyclic) == report.counts["message-cycle"]
    names = {number: name for name, number in numbers.items()}
    last = {event.process: event.seq for event in events}
    for frontier in single.frontiers:
        found = knowledge.of(numbers[frontier.process], last[frontier.process])
        assert {names[number]: seq for number, seq in (found or {}).items()} == frontier.knows


def test_many_processes_have_sparse_vectors_and_wide_frontiers_are_not_told() -> None:
    """A chain over more processes than a frontier may have."""
    count = 3000
    pairs = pairs_in([(at, 1, at + 1, 1) for at in range(count - 1)])
    pairs = Pairs(pairs.sender, pairs.sent + (pairs.sender > 0), pairs.receiver, pairs.received)
    cuts = lowered(by_depth(pairs, count, 4), pairs)
    knowledge, _ = scan(pairs, cuts)
    assert knowledge.of(999, 2) == {**dict.fromkeys(range(1, 1000), 2), 0: 1}
    assert knowledge.of(1000, 2) is None
    assert knowledge.of(2500, 2) is None
