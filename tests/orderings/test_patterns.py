"""Crowns, knots and ladders of any size; what no bounded pattern or number of rounds decides."""

from __future__ import annotations

import pytest

from microcosm.orderings.closures import mailbox_execution, outbox_execution
from microcosm.orderings.computation import Computation, NoComputation, build, linear_extension, parse
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.queue import ladder, queue_execution
from microcosm.orderings.verdicts import classify
from tests.orderings.notation import is_crown, is_knot
from tests.orderings.rounds import one_round


@pytest.mark.parametrize("rungs", range(1, 9))
def test_ladders(rungs: int) -> None:
    """In every closure but those of Fifo n-n and RSC, and minimal: without any message they are in."""
    computation = ladder(rungs)
    messages = range(len(computation.messages))
    assert len(messages) == 2 * rungs + 2
    verdicts = classify(computation)
    assert verdicts[Ordering.FIFO_N_1].closure
    assert verdicts[Ordering.FIFO_1_N].closure
    assert not verdicts[Ordering.FIFO_N_N].closure
    pattern = verdicts[Ordering.FIFO_N_N].pattern
    assert pattern is not None
    assert (pattern.kind, set(pattern.messages)) == ("ladder", set(computation.messages))
    for m in messages:
        assert queue_execution(computation.restrict(set(messages) - {m})) is not None


@pytest.mark.parametrize("rungs", range(1, 9))
def test_a_fixed_number_of_rounds_does_not_suffice(rungs: int) -> None:
    """Applying both implications once more after a transitive closure, round by round: ladders need many."""
    assert rounds_to_a_cycle(ladder(rungs)) > (rungs - 1) // 2


def rounds_to_a_cycle(computation: Computation) -> int:
    """How many rounds of "close, then add what sends and receptions imply" it takes until a cycle shows."""
    events = range(len(computation))
    after = {event: computation.future(event) for event in events}
    for done in range(20):
        if any(event in after[event] for event in events):
            return done
        after = one_round(computation, after)
    raise AssertionError("no cycle")


def knot_of(size: int) -> Computation:
    """Senders of two messages each; receivers of the second of one and the first of the next."""
    senders = [f"s{2 * at} s{2 * at + 1}" for at in range(size)]
    receivers = [f"r{2 * at + 1} r{(2 * at + 2) % (2 * size)}" for at in range(size)]
    return parse("|".join(senders + receivers))


@pytest.mark.parametrize("size", range(1, 6))
def test_knots(size: int) -> None:
    computation = knot_of(size)
    verdicts = classify(computation)
    for ordering in (Ordering.FIFO_N_1, Ordering.FIFO_1_N, Ordering.FIFO_N_N):
        pattern = verdicts[ordering].pattern
        assert pattern is not None
        assert (pattern.kind, len(pattern.messages)) == ("causal-knot", 2 * size)
    messages = set(range(2 * size))
    for m in messages:
        fewer = computation.restrict(messages - {m})
        assert mailbox_execution(fewer) is not None
        assert outbox_execution(fewer) is not None


@pytest.mark.parametrize("size", range(2, 7))
def test_crowns(size: int) -> None:
    computation = parse("|".join(f"s{at} r{(at - 1) % size}" for at in range(size)))
    pattern = classify(computation)[Ordering.RSC].pattern
    assert pattern is not None
    assert (pattern.kind, len(pattern.messages)) == ("crown", size)


def test_what_is_no_pattern() -> None:
    assert not is_crown(parse("s1|r1"), (0,))
    assert not is_knot(parse("s1 s2|r1 r2"), (0, 1))
    assert is_knot(parse("s1 s2|r2 r1"), (0, 1))


def test_erratum_7_a_knot_of_size_two_that_is_not_just_causal() -> None:
    """`s1 s2 s3 s4|r2 r3 r4 r1` is a knot, and has none of the larger size alone: it is not even Fifo 1-1."""
    verdicts = classify(parse("s1 s2 s3 s4|r2 r3 r4 r1"))
    assert not verdicts[Ordering.FIFO_1_1].closure


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ({"p": [("send", "m"), ("send", "m")]}, "sent twice"),
        ({"p": [("send", "m")], "q": [("receive", "m"), ("receive", "m")]}, "received twice"),
        ({"q": [("receive", "m")]}, "never sent"),
        ({"p": [("send", "m"), ("receive", "m")]}, "its own sender"),
        (
            {"p": [("receive", "b"), ("send", "a")], "q": [("receive", "a"), ("send", "b")]},
            "before it is sent",
        ),
    ],
)
def test_what_is_no_computation(events: dict[str, list[tuple[str, str]]], said: str) -> None:
    with pytest.raises(NoComputation, match=said):
        build(events)


def test_the_empty_computation_satisfies_everything() -> None:
    verdicts = classify(build({}), [])
    assert all(one.execution and one.closure and one.interior for one in verdicts.values())
    assert linear_extension(build({})) == []
