"""Links beside a closure: what they say together is what a search over all edges says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.order.bits import bits, from_positions
from microcosm.order.edits import LateEvents, Pending
from microcosm.order.rows import Rows

SIZE = 40


def reach(start: int, neighbours: dict[int, set[int]]) -> set[int]:
    seen: set[int] = set()
    stack = [start]
    while stack:
        fresh = neighbours.get(stack.pop(), set()) - seen
        seen |= fresh
        stack += fresh
    return seen


def following(edges: list[tuple[int, int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for a, b in edges:
        found.setdefault(a, set()).add(b)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_closure_and_links_together_are_a_search_over_all(seed: int) -> None:
    rng = Random(seed)
    order = rng.sample(range(SIZE), SIZE)
    every = [(order[i], order[k]) for i, k in (sorted(rng.sample(range(SIZE), 2)) for _ in range(60))]
    told = rng.randrange(10, 50)
    closure = Rows(SIZE, every[:told])
    closure.saturate()
    pending = Pending(SIZE)
    for number, (u, v) in enumerate(every[told:], told + 1):
        pending.put(u, v, closure.past(u), closure.future(v))
        if number % 5 and number != len(every):
            continue
        onwards = following(every[:number])
        futures = {a: reach(a, onwards) for a in range(SIZE)}
        for a in range(SIZE):
            assert set(bits(pending.future(a, closure.future(a)))) == futures[a]
            assert set(bits(pending.past(a, closure.past(a)))) == {x for x in futures if a in futures[x]}
            for b in rng.sample(range(SIZE), 8):
                led = pending.before(a, b)
                assert (led or closure.before(a, b)) is (b in futures[a])
                met = any(v == a or closure.before(v, a) for _, v in pending.links)
                met |= any(u == b or closure.before(b, u) for u, _ in pending.links)
                assert pending.independent(a, b) is not met


def test_waiting_links_touch_few_rows_and_are_taken_in_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of 2,000 events in many parts, which links in random order join."""
    monkeypatch.setattr(Rows, "LINKS", 50)
    rng = Random(3)
    chain = [(v, v + 1) for v in range(1999)]
    rng.shuffle(chain)
    rows = Rows(2000, chain[:1600])
    rows.saturate()
    before = rows.updates
    for a, b in chain[1600:]:
        rows.add(a, b)
        assert rows.before(a, b)
    assert rows.before(0, 1999)
    assert rows.updates - before < 30_000, "one by one they would change hundreds of thousands"
    rows._check()


@pytest.mark.parametrize("seed", range(4))
def test_links_that_change_few_rows_do_not_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose links come in random order: the first ones change few rows, the last ones many."""
    monkeypatch.setattr(Rows, "WAIT", 0)
    monkeypatch.setattr(Rows, "MANY", 12 * 120)
    monkeypatch.setattr(Rows, "LINKS", 6)
    rng = Random(seed)
    chain = [(v, v + 3) for v in range(117)] + [(v, v + 4) for v in range(0, 116, 5)]
    rng.shuffle(chain)
    rows = Rows(120, chain[:40])
    rows.saturate()
    waited, beside = [], 0
    for number, (a, b) in enumerate(chain[40:], 41):
        waiting = rows._pending and len(rows._pending)
        rows.add(a, b)
        waited.append(rows.all_rows(forwards=False) is None)
        beside += waiting is not None and rows._pending is not None and len(rows._pending) == waiting
        fresh, v = Rows(120, chain[:number]), rng.randrange(120)
        assert (rows.past(v), rows.future(v)) == (fresh.past(v), fresh.future(v))
        if number % 10 == 0:
            rows._check()
    assert sum(waited[:30]) < sum(waited[-30:])
    assert not waited[0]
    assert any(waited)
    assert beside, "none was put into the rows while others waited"


@pytest.mark.parametrize("seed", range(3))
def test_links_that_come_and_go_in_random_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log in which links wait, and some are taken away again: rows are those that are made anew."""
    monkeypatch.setattr(Rows, "MANY", 30 * 1500)
    monkeypatch.setattr(Rows, "LINKS", 40)
    rng = Random(seed)
    every = [(v, v + 5) for v in range(1495)] + [(v, v + rng.randrange(6, 30)) for v in range(0, 1470, 3)]
    order = rng.sample(range(1500), 1500)  # positions are not in causal order
    every = [(order[a], order[b]) for a, b in dict.fromkeys(every)]
    rng.shuffle(every)
    rows, there = Rows(1500, every[:900]), set(every[:900])
    rows.saturate()
    for number, link in enumerate(every[900:]):
        rows.add(*link)
        there.add(link)
        if number % 100 == 99:
            gone = rng.choice(sorted(there))
            rows.remove(*gone)
            there.remove(gone)
        if number % 50 in (0, 47):
            fresh = Rows(1500, there)
            fresh.saturate()
            for v in rng.sample(range(1500), 40):
                assert (rows.past(v), rows.future(v)) == (fresh.past(v), fresh.future(v))
                assert rows.before(v, link[1]) is fresh.before(v, link[1])


@pytest.mark.parametrize("seed", range(6))
def test_a_log_grows_at_its_ends_while_links_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processes that go on, and links between old events that come late."""
    monkeypatch.setattr(Rows, "WAIT", 0)
    monkeypatch.setattr(Rows, "MANY", 2 * 60)
    monkeypatch.setattr(Rows, "LINKS", 12)
    rng = Random(seed)
    rows = Rows(3, [])
    rows.saturate()
    last, time = [0, 1, 2], [0, 0, 0]
    for step in range(120):
        p = rng.randrange(3)
        rows.grow(rows.size + 1)
        time.append(step)
        rows.add(last[p], rows.size - 1)
        last[p] = rows.size - 1
        if rng.random() < 0.4:
            a, b = sorted(rng.sample(range(rows.size), 2), key=time.__getitem__)
            if not rows.before(b, a):
                rows.add(a, b)
        if rng.random() < 0.5:
            asked = rng.randrange(rows.size)
            assert [rows.before(asked, b) for b in range(rows.size)] == [
                bool(rows.past(b) >> asked & 1) for b in range(rows.size)
            ]
            assert list(bits(rows.future(asked))) == [b for b in range(rows.size) if rows.before(asked, b)]
        if step % 10 == 9:
            rows._check()


WIDE = 1200
"""More positions than a row has room for at first."""

positions = st.integers(0, WIDE - 1)
pasts = st.sets(positions, max_size=6)
rising = st.lists(st.integers(1, 12), max_size=20).map(
    lambda steps: [sum(steps[: at + 1]) for at in range(len(steps))]
)
events = st.one_of(rising, st.lists(positions, max_size=20))


@given(st.data(), events)
def test_each_bit_is_that_of_the_last_past_that_was_put(data: st.DataObject, order: list[int]) -> None:
    late, told = LateEvents(), dict[int, set[int]]()
    stale = from_positions(data.draw(pasts), WIDE)
    for y in order:
        told[y] = data.draw(pasts)
        late.put(y, from_positions(told[y], WIDE))
        if data.draw(st.booleans()):
            late.future(stale, y, WIDE)
    assert {y for y in range(WIDE) if y in late} == set(told)
    assert late.row == from_positions(told, WIDE)
    for a in {data.draw(positions), *(v for past in told.values() for v in past)}:
        now = from_positions([y for y, past in told.items() if a in past], WIDE)
        assert late.future(0, a, WIDE) == now
        assert late.future(stale, a, WIDE) == stale & ~from_positions(told, WIDE) | now
