"""Forgetting: what follows of the rest stays, nothing comes back, and a year takes no more room."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from microcosm.errors import Contradiction
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import read_rules
from microcosm.replica.journal import Journal
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Add, Append, Evolution
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.ledger.ledger import FactKey
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import APPLICATION, Memory, Store
from microcosm.state.forget import without_events
from microcosm.state.microcosm import Microcosm
from tests.replica.invariants import check

INITIAL = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)


def judged(known: Microcosm, events: list[str]) -> set[tuple[str, Relation, str]]:
    """All that is judged initially of some events."""
    return {
        (a, relation, b)
        for a in events
        for b in events
        for relation in INITIAL
        if a != b and known.holds(Judgement.INITIAL, a, relation, b)
    }


def grown(replica: Replica, random: Random, events: int, facts: int) -> None:
    for n in range(events):
        replica.local(f"{replica.name}{replica.seen().count}.{n}")
    names = sorted({*replica.events, "u", "v", "w"})
    for _ in range(facts):
        left, right = random.sample(names, 2)
        with suppress(Contradiction):
            replica.learn(f"{left} {random.choice(('<', '<', '||', '<>', '!<'))} {right}")


def stated(known: Microcosm) -> tuple[list[str], set[FactKey], set[FactKey]]:
    """What a microcosm is given, whoever says so."""
    return known.givens.internal, {*known.givens.external}, {*known.givens.refuted}


@given(st.integers(0, 10**6), st.data())
def test_what_follows_of_the_others_stays(seed: int, data: st.DataObject) -> None:
    one, other = (Replica(Memory(), name, incarnation=1) for name in "ab")
    grown(one, Random(seed), 6, 8)
    level(one, other)
    grown(other, Random(seed + 1), 4, 8)
    level(one, other)
    gone = data.draw(st.lists(st.sampled_from(one.events), max_size=6, unique=True))
    rest = [event for event in one.events if event not in gone]
    before = judged(one.known, rest)
    one.forget(*gone)
    assert judged(one.known, rest) == before
    assert stated(one.known) == stated(one._fresh().microcosm)
    assert not {*gone} & {*one.events}
    check(one.ledger)
    one.known._check()
    assert not level(one, other).new[0]
    assert not {*gone} & {*one.events}
    assert judged(one.known, rest) == judged(other.known, rest) == before
    third = Replica(Memory(), "c", incarnation=1)
    level(third, one)
    assert judged(third.known, rest) == before


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 8))
@example(754, 3)  # one correspondence in two spellings, of which one goes
def test_what_is_left_is_what_would_be_built_anew(seed: int, window: int) -> None:
    """As events of several processes come and go, contradictions set aside or not."""
    random = Random(seed)
    one = Replica(Memory(), "a", incarnation=1, forgetting=Forgetting(window=window))
    others = [Replica(Memory(), name, incarnation=1) for name in "bc"]
    for _ in range(6):
        for each in (one, *others):
            grown(each, random, random.randrange(5), random.randrange(4))
            if random.randrange(2):
                level(one, each)
        one.tidy()
        if random.randrange(3):
            fresh = one._fresh()
            assert stated(one.known) == stated(fresh.microcosm)
            assert one.conflicts == fresh.conflicts
            one.known._check()


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_many_at_once_are_forgotten_as_one_by_one(seed: int, count: int) -> None:
    one = Replica(Memory(), "a", incarnation=1)
    grown(one, Random(seed), 4, 10)
    gone = Random(seed).sample(one.events, count)
    at_once = Microcosm(without_events(one.known.givens, gone, read_rules()))
    singly = one.snapshot()
    for event in gone:
        if event in singly.events:  # nothing may name it any more
            singly.forget(event)
    rest = [event for event in one.events if event not in gone]
    assert judged(at_once, rest) == judged(singly, rest)
    known = one.known
    if known.contradiction() is None:
        for a, b in combinations(rest, 2):
            before, after, less = (
                {Relation.BEFORE, Relation.AFTER} & {*m.offline(a, b, depth=0).refuted}
                for m in (known, at_once, singly)
            )
            assert less <= after == before  # one by one more is lost: what several `<>` say together


def test_it_is_the_same_after_a_restart() -> None:
    store = Memory()
    one = Replica(store, "a", incarnation=1, forgetting=Forgetting(window=20))
    grown(one, Random(1), 30, 40)
    one.tidy()
    assert len(one.ledger.chain(one.stream)) == 20
    assert Replica(store).digest() == one.digest()
    one.compact()
    again = Replica(store)
    assert again.digest() == one.digest()
    assert again.ledger.marks == one.ledger.marks
    assert again.ledger.theirs == one.ledger.theirs


def test_facts_about_what_is_below_the_mark_are_not_taken() -> None:
    one, other = (Replica(Memory(), name, incarnation=1) for name in "ab")
    for n in range(40):
        one.local(f"a{n}")
    level(one, other)
    one.forgetting = Forgetting(window=10)
    assert one.tidy() == 30
    other.learn("a3 < x")
    other.learn("a35 < y")
    level(one, other)
    assert one.events == [*(f"a{n}" for n in range(30, 40)), "y"]
    assert one.seen().count == other.seen().count
    assert other.ledger.theirs["a"].marks[0].end == 31


def test_by_age() -> None:
    one = Replica(Memory(), "a", incarnation=1, forgetting=Forgetting(age=100))
    for n in range(50):
        one.local(f"a{n}", at=n * 10)
        one.learn(f"old{n} < older{n}", at=n * 10)
    one.tidy(495)
    assert [event for event in one.events if event.startswith("a")] == [f"a{n}" for n in range(40, 50)]
    assert "old39" not in one.events
    assert "old40" in one.events
    one.tidy(10)  # a clock that jumps back
    assert "a40" in one.events


def test_by_size() -> None:
    one = Replica(Memory(), "a", incarnation=1, forgetting=Forgetting(size=100))
    for n in range(400):
        one.local(f"a{n}")
        one.learn(f"a{n} < x{n}")
        assert one.counts()["held"] <= 300
    one.tidy()
    assert one.counts()["held"] <= 113
    assert one.online("a398", "x399") is Relation.BEFORE


def in_memory(store: Memory) -> int:
    """The bytes that a store keeps."""
    kept = store.snapshot()
    return sum(len(record.payload) for record in store.records()) + (len(kept[1]) if kept else 0)


def year(events: int, window: int, store: Store, size: Callable[[], int]) -> tuple[list[int], list[int]]:
    """Two processes that write to each other: what is held, and bytes kept, ten times a window."""
    one = Replica(store, "a", incarnation=1, forgetting=Forgetting(window=window))
    held, stored = [], []
    number = 0
    for n in range(1, events + 1):
        some: list[Evolution] = [Append(Dot("b", 1, number := number + 1), f"b{n}")]
        if n % 3 == 0:
            link = Correspondence(f"a{n - 2}", Relation.BEFORE, f"b{n}")
            some.append(Add(Dot("b", 1, number := number + 1), link))
        with one.transaction():
            one.local(f"a{n}")
            one.take(some)
        if n % (window // 10) == 0:
            held.append(one.counts()["held"])
            stored.append(size())
    assert one.online(f"a{events - window // 2}", f"b{events}") is Relation.BEFORE
    return held, stored


def test_a_year_is_flat() -> None:
    store = Memory()
    held, stored = year(3000, 250, store, lambda: in_memory(store))
    assert_flat(held, stored, 3000, 250)


@pytest.mark.slow
def test_a_year_is_flat_on_disk(tmp_path: Path) -> None:
    """All files of a journal together: what is free in them is used again."""
    with Journal.open(tmp_path / "a", application=APPLICATION, create=True, mode="off") as journal:
        files = lambda: sum(file.stat().st_size for file in tmp_path.iterdir())  # noqa: E731
        held, stored = year(6_000, 400, journal, files)
    assert_flat(held, stored, 6_000, 400)


def assert_flat(held: list[int], stored: list[int], events: int, window: int) -> None:
    begin = 2 * len(held) // (events // window) + 1  # two windows full
    half = begin + (len(held) - begin) // 2
    for kept in (held, stored):
        assert max(kept[half:]) <= 1.1 * max(kept[begin:half])
    assert max(held) <= 3.5 * window


def test_what_was_disowned_is_not_what_was_said_last() -> None:
    """A replica that begins anew takes out what it said that it had forgotten, and then forgets more."""
    store = Memory()
    one = Replica(store, "one", incarnation=1, forgetting=Forgetting(window=3))
    for n in range(9):
        one.local(f"e{n}")
    assert one.tidy()
    one.begin_anew("other", Dot("one", 1, 99))
    for n in range(9):
        one.local(f"later{n}")
    assert one.tidy()
    check(one.ledger)
    assert Replica(store).digest() == one.digest()
