"""What is called possible, offline never refutes; what offline proves is the only thing possible."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Contradiction, Microcosm, Relation
from microcosm.givens.columns import Message
from microcosm.givens.facts import STRONGER
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.queries.offline import Inconsistent, Offline
from tests.strategies import rngs

WHOLE = """
send s1 = m1 ann -> cid
receive r1 = m1 cid
send s2 = m2 bob -> cid
receive r2 = m2 cid
s1 < r1 < r2
s2 < r2
"""


def run_of(rng: Random, share: float) -> Givens:
    """A run of a few processes, of which a share is told: its messages, and some of what is so and not so."""
    givens = Givens()
    last: dict[str, str] = {}
    underway: list[tuple[str, str]] = []
    order: list[str] = []
    past: dict[str, set[str]] = {}
    covers: list[tuple[str, str]] = []
    for number in range(rng.randint(3, 6)):
        event, process = f"e{number}", rng.choice("pqr")
        sources = [last[process]] if process in last else []
        if underway and rng.random() < 0.6:
            message, sender = underway.pop(rng.randrange(len(underway)))
            givens.messages.append(Message("receive", event, message, process))
            sources.append(sender)
        elif rng.random() < 0.9:
            message = f"m{number}"
            givens.messages.append(Message("send", event, message, process))
            underway.append((message, event))
        past[event] = {source for s in sources for source in (s, *past[s])}
        covers += [(source, event) for source in sources]
        last[process] = event
        order.append(event)
    for a, b in covers:
        if rng.random() < share:
            givens.add(Correspondence(a, Relation.BEFORE, b))
    for a, b in combinations(order, 2):
        ordered = a in past[b]
        if rng.random() < 0.15:
            apart, either = Relation.CONCURRENT, Relation.RELATED
            givens.add(Correspondence(a, either if ordered else apart, b))
        if rng.random() < 0.1:
            givens.add(Correspondence(b, Relation.NOT_BEFORE, a))
    return givens


@st.composite
def runs(draw: st.DrawFn) -> Givens:
    """A run with what is stated of its network and its log, be that true or not."""
    givens = run_of(draw(rngs()), draw(st.sampled_from([0.6, 1.0, 1.0])))
    givens.complete = draw(st.booleans())
    names = [*STRONGER, *(f"{name} interior" for name in STRONGER)]
    givens.orderings = draw(st.lists(st.sampled_from(names), max_size=1))
    return givens


@given(runs(), rngs(), st.sampled_from([0, 1, None]))
def test_offline_and_possible_agree(givens: Givens, rng: Random, depth: int | None) -> None:
    try:
        known = Microcosm(givens)
    except Contradiction:
        return
    a, b = rng.sample(known.events or ["x", "y"], 2) if len(known.events) > 1 else ("x", "y")
    possible = known.possible(a, b)
    try:
        found: Offline | None = known.offline(a, b, depth=depth)
    except Inconsistent:
        found = None
    if depth is None:
        assert bool(possible.relations) is (found is not None)
    elif found is None:
        assert not possible.relations
    if found is None or not possible.relations:
        return
    assert possible.exact is not bool(possible.ignored)
    left = set(possible.relations)
    assert left.isdisjoint(found.refuted)
    if found.relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT):
        assert left == {found.relation}
    if depth is None and possible.exact:
        assert (set(found.possible), found.exact) == (left, True)
    if found.exact:
        assert possible.exact


@given(runs())
def test_the_tables_agree(givens: Givens) -> None:
    try:
        known = Microcosm(givens)
        offline = {(a, b): left for a, b, left in known.offline_table()}
    except (Contradiction, Inconsistent):
        return
    table = known.possible_table()
    for a, b, left in table[0] if table is not None else ():
        assert set(left) <= set(offline[a, b])
        if not known.worlds.ignored:
            assert left == known.possible(a, b).relations


def test_a_complete_log_is_taken_into_account() -> None:
    known = Microcosm.parse(WHOLE + "complete")
    found, told = known.possible("s1", "s2"), known.offline("s1", "s2")
    assert (found.relations, found.exact, found.ignored) == ((Relation.CONCURRENT,), True, ())
    assert (told.relation, told.possible, told.exact) == (Relation.CONCURRENT, found.relations, True)
    assert "s1" in found.worlds[Relation.CONCURRENT].order
    assert known.possible_table() is not None
    anything = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
    assert Microcosm.parse(WHOLE).possible("s1", "s2").relations == anything


def test_an_ordering_is_named_and_what_it_refutes_is_left_out() -> None:
    found = Microcosm.parse(WHOLE + "ordering causal").possible("s1", "s2")
    assert found.relations == (Relation.BEFORE, Relation.CONCURRENT)
    assert (found.exact, found.decided, found.ignored) == (False, True, ("ordering causal",))
    broken = Microcosm.parse(WHOLE + "ordering causal\ns2 < s1")
    assert broken.possible("s1", "r2").relations == ()
    assert broken.possible_table() is None


@pytest.mark.parametrize("dropped", ["s2 < r2", "s1 < r1 < r2", "send s1 = m1 ann -> cid"])
def test_a_complete_log_that_leaves_out_what_such_a_log_says_proves_nothing(dropped: str) -> None:
    """Its messages stand in it, not what they order: `s || r` of one message would be false."""
    known = Microcosm.parse(WHOLE.replace(dropped, "") + "complete")
    for a, b in combinations(known.events, 2):
        assert Relation.CONCURRENT is not known.offline(a, b).relation
        found = known.possible(a, b)
        assert (found.exact, found.ignored) == (False, ("complete",))


def test_the_events_of_one_process_are_never_concurrent() -> None:
    known = Microcosm.parse("send a = m1 p\nsend b = m2 p\ncomplete")
    assert known.offline("a", "b").relation is None
    assert not known.possible("a", "b").exact


RING = """
a <> b \n b <> c \n c <> d \n d <> e \n e <> a
a || c \n b || d \n c || e \n d || a \n e || b
"""


@pytest.mark.parametrize("questions", range(6))
def test_a_table_that_is_stopped_leaves_something_of_every_pair_or_says_that_no_world_fits(
    questions: int,
) -> None:
    """The search that would tell may be stopped, and what propagation tells of each pair still do."""
    asked = iter(range(questions))
    found = Microcosm.parse(RING).possible_table(stop=lambda: next(asked, None) is None)
    assert found is None or all(left for _, _, left in found[0])
