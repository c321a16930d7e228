"""Both ends of a message are put in order where they are merged, if its name tells which they are."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Contradiction, Microcosm, Relation, Undefined
from microcosm.kernel import check as kernel
from microcosm.traces.event import Contents, TraceEvent
from microcosm.traces.extract import extract
from microcosm.worlds.world import World
from tests.strategies import rngs

ALICE = "alice:1 < alice:2\nsend alice:2 = m1 alice -> lock\n"
LOCK = "lock:1 < lock:2\nreceive lock:1 = m1 lock\n"


def merged(*texts: str) -> tuple[Microcosm, list[str]]:
    first, *others = map(Microcosm.parse, texts)
    return first, first.merge(*others)


@pytest.mark.parametrize("texts", [*permutations([ALICE, LOCK])])
def test_the_story_of_the_first_page(texts: tuple[str, ...]) -> None:
    """Nobody's log alone tells that the withdrawal was before the opening; both together do."""
    assert Microcosm.parse(ALICE).online("alice:1", "lock:2") is Relation.UNKNOWN
    known, unjoined = merged(*texts)
    assert (known.online("alice:1", "lock:2"), unjoined) == (Relation.BEFORE, [])
    assert known.givens.external["alice:2", "<", "lock:1"].source == "message m1"
    proof = known.why("alice:1", "lock:2")
    assert proof is not None
    assert kernel.check(known.givens, known.rules, proof.to_json()) is None
    assert Microcosm.parse(known.to_text()).online("alice:1", "lock:2") is Relation.BEFORE
    known._check()


def test_one_microcosm_that_states_both_ends_is_joined_too() -> None:
    known = Microcosm.parse(ALICE + LOCK)
    assert known.online("alice:1", "lock:2") is Relation.UNKNOWN
    assert known.merge() == []
    assert known.online("alice:1", "lock:2") is Relation.BEFORE


def test_what_is_in_order_already_is_left_as_it_is() -> None:
    known, _ = merged("internal s < r\nsend s = m p -> p", "receive r = m p")
    assert not known.givens.external
    known, _ = merged('s < r from "seen"\nsend s = m p', "receive r = m q")
    assert [fact.source for fact in known.givens.external.values()] == ["seen"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["send a = m p", "send b = m q", "receive r = m r"], "message m was sent by a and by b"),
        (["send a = m p -> q", "send b = m p -> q", "receive r = m q"], "message m was sent by a and by b"),
        (["send a = m p -> q", "receive r = m r"], "message m was not sent to r"),
    ],
)
def test_nothing_follows_from_a_name_that_does_not_tell(texts: list[str], said: str) -> None:
    for order in permutations(texts):
        known, unjoined = merged(*order)
        assert unjoined == [said]
        assert not known.givens.external


def test_the_receiver_tells_copies_apart() -> None:
    known, unjoined = merged("send a = m p -> q", "send b = m p -> r", "receive c = m q", "receive d = m r")
    assert unjoined == []
    assert sorted(map(str, known.givens.external.values())) == ["a < c", "b < d"]


def test_a_reception_before_its_sending_is_a_contradiction_and_changes_nothing() -> None:
    known = Microcosm.parse("r < s\nsend s = m p")
    before = known.to_text()
    with pytest.raises(Contradiction):
        known.merge(Microcosm.parse("receive r = m q"))
    assert known.to_text() == before


def run_of(rng: Random) -> list[TraceEvent]:
    """A run of a few processes; some messages are lost, some go to two receivers."""
    events: list[TraceEvent] = []
    underway: list[tuple[str, str]] = []
    counts = dict.fromkeys("pqr", 0)
    for number in range(rng.randint(4, 14)):
        process = rng.choice("pqr")
        counts[process] += 1
        mine = [pair for pair in underway if pair[1] == process]
        if mine and rng.random() < 0.6:
            underway.remove(taken := rng.choice(mine))
            events.append(TraceEvent(process, counts[process], "receive", taken[0]))
        elif rng.random() < 0.6:
            to = tuple(rng.sample([p for p in "pqr" if p != process], rng.randint(1, 2)))
            underway += [(f"m{number}", receiver) for receiver in to]
            events.append(TraceEvent(process, counts[process], "send", f"m{number}", to))
        else:
            events.append(TraceEvent(process, counts[process]))
    return events


@given(rngs(), st.sampled_from([0.0, 0.2]))
def test_processes_that_are_extracted_alone_and_merged_know_what_the_whole_does(
    rng: Random, lost: float
) -> None:
    """Nothing but that, also where lines are missing."""
    run = run_of(rng)
    whole = Microcosm(extract(run).givens)
    kept = [event for event in run if rng.random() >= lost]
    parts = [Microcosm(extract([e for e in kept if e.process == p]).givens) for p in "pqr"]
    rng.shuffle(parts)
    known = Microcosm()
    assert known.merge(*parts) == []
    names = known.events
    for a in names:
        for b in names:
            if a != b and known.online(a, b) is Relation.BEFORE:
                assert whole.online(a, b) is Relation.BEFORE
    if not lost:
        assert (
            World.of(whole.events, pairs_of(whole)).before == World.of(whole.events, pairs_of(known)).before
        )


def pairs_of(known: Microcosm) -> list[tuple[str, str]]:
    return [(fact.left, fact.right) for fact in known.givens.external.values()]


TICKED, LATER = "clock t = p {p: 3}", "clock u = p {p: 3} unticked"
"""Two events of one process that count alike; who ticked was the first."""


@pytest.mark.parametrize("texts", [(TICKED, LATER), (LATER, TICKED), (LATER, f"{TICKED}\n{LATER}")])
def test_of_clocks_that_count_alike_the_first_is_who_ticked(texts: tuple[str, ...]) -> None:
    assert merged(*texts)[0].online("t", "u") is Relation.BEFORE


@pytest.mark.parametrize(
    "texts",
    [
        (LATER, "clock v = p {p: 3} unticked"),
        (f"{TICKED}\n{LATER}\nclock v = p {{p: 3}}", f"{TICKED}\nclock v = p {{p: 3}}\n{LATER}"),
    ],
)
def test_whose_order_no_file_tells_is_not_told_by_the_order_of_the_files(texts: tuple[str, ...]) -> None:
    for order in permutations(texts):
        known, *others = map(Microcosm.parse, order)
        with pytest.raises(Undefined, match="the clocks of u and v count alike for process p"):
            known.merge(*others)


def test_the_order_of_clocks_that_count_alike_is_given() -> None:
    one, other = Microcosm.parse(f"{TICKED}\n{LATER}"), Microcosm.parse(f"{LATER}\n{TICKED}")
    assert (one.online("t", "u"), other.online("t", "u")) == (Relation.BEFORE, Relation.AFTER)
    assert one != other
    assert one.givens != other.givens


def test_names_that_a_reader_counted_mean_nothing_in_another_log() -> None:
    """Two logs of one format whose messages have no names: both readers begin with m1."""
    mine, theirs = Contents(), Contents()
    one = extract([TraceEvent("p", 1), TraceEvent("p", 2, "send", mine.sent("vote"))])
    other = extract([TraceEvent("q", 1, "receive", theirs.received("append")), TraceEvent("q", 2)])
    known = Microcosm(one.givens)
    assert known.merge(Microcosm(other.givens)) == []
    assert known.online("p:1", "q:2") is not Relation.BEFORE
    together = extract(
        [TraceEvent("p", 1, "send", mine.sent("x")), TraceEvent("q", 1, "receive", mine.received("x"))]
    )
    assert [m.kind for m in together.givens.messages] == ["send", "receive"]
