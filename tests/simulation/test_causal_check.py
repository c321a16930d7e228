"""The checker of runs: hand-made bad ones are rejected, and it agrees with the definition, read literally."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from microcosm.simulation.run import Event, check

TIME = count()


def c(process: int, message: int, *to: int) -> Event:
    return Event(next(TIME), process, "causal_send", message, to)


def d(process: int, message: int) -> Event:
    return Event(next(TIME), process, "deliver", message)


def said(*events: Event) -> list[str]:
    return [str(violation) for violation in check(events)]


def test_a_good_run() -> None:
    assert said(c(0, 0, 1, 2), d(1, 0), c(1, 1, 2), d(2, 0), d(2, 1)) == []


def test_a_reaction_overtakes() -> None:
    events = (c(0, 0, 1, 2), d(1, 0), c(1, 1, 2), d(2, 1), d(2, 0))
    assert said(*events) == ["out of causal order: m2 at p3, before m1"]


def test_a_sender_is_overtaken_by_itself() -> None:
    assert said(c(0, 0, 1), c(0, 1, 1), d(1, 1), d(1, 0)) == [
        "out of order of the sender: m2 at p2, before m1"
    ]


def test_a_chain_of_three() -> None:
    events = (c(0, 0, 3), c(0, 1, 1), d(1, 1), c(1, 2, 2), d(2, 2), c(2, 3, 3), d(3, 3), d(3, 0))
    assert said(*events) == ["out of causal order: m4 at p4, before m1"]


def test_twice_never_and_to_the_wrong_process() -> None:
    assert said(c(0, 0, 1), d(1, 0), d(1, 0)) == ["delivered twice or to the wrong process: m1 at p2"]
    assert said(c(0, 0, 1), d(2, 0))[0] == "delivered twice or to the wrong process: m1 at p3"
    assert said(c(0, 0, 1, 2), d(1, 0)) == ["never delivered: m1 at p3"]


def test_receiving_is_not_delivering() -> None:
    """Figure 1: a message received but not delivered before a causal send does not happen before it."""
    received = Event(next(TIME), 1, "receive", 0, (), 0)
    assert said(c(0, 0, 1, 2), received, c(1, 1, 2), d(2, 1), d(2, 0), d(1, 0)) == []


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), max_size=30)
)
def test_it_agrees_with_the_definition(steps: list[tuple[bool, int, int, int]]) -> None:
    """Happens-before closed over all pairs; out of order: m2 is delivered and an earlier m1 is not."""
    events: list[Event] = []
    open_copies: list[tuple[int, int]] = []
    for sending, i, j, pick in steps:
        if sending:
            message = sum(event.kind == "causal_send" for event in events)
            events.append(c(i, message, *{j, pick % 4}))
            open_copies += [(message, k) for k in {j, pick % 4}]
        elif open_copies:
            message, k = open_copies.pop(pick % len(open_copies))
            events.append(d(k, message))
    sends = {e.message: (at, e.process, e.to) for at, e in enumerate(events) if e.kind == "causal_send"}
    delivered = {(e.message, e.process): at for at, e in enumerate(events) if e.kind == "deliver"}
    before = {
        (m, n)
        for m, (at, i, _) in sends.items()
        for n, (later, j, _) in sends.items()
        if (i == j and at < later) or delivered.get((m, j), later) < later
    }
    while grown := {(a, d) for a, b in before for c, d in before if b == c} - before:
        before |= grown
    late = {
        (n, k)
        for m, n in before
        for k in sends[m][2]
        if (n, k) in delivered and delivered.get((m, k), len(events)) > delivered[n, k]
    }
    found = {(v.message, v.process) for v in check(events) if v.kind.startswith("out of")}
    assert found == late
