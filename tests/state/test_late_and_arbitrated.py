"""Worlds of Events, section 8: news that arrives late, relayed news, and arbitration beside visibility.

The paper leaves these for later. What a microcosm can say about them without a new rule is tried here.
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from random import Random

import pytest
from hypothesis import given

from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.world import World
from tests.proofs import proved
from tests.strategies import rngs, worlds, worlds_and_givens

# A device learns of x and y one after the other, though they are concurrent.

PHONE = "internal heard_x < heard_y\nx < heard_x\ny < heard_y\n"
LAPTOP = "internal got_y < got_x\ny < got_y\nx < got_x\n"


def test_the_order_in_which_news_arrives_orders_the_arrivals_and_not_the_events() -> None:
    phone = Microcosm.parse(PHONE)
    assert phone.online("heard_x", "heard_y") is Relation.BEFORE
    assert phone.online("x", "heard_y") is Relation.BEFORE
    assert phone.online("x", "y") not in (Relation.BEFORE, Relation.AFTER)
    assert phone.possible("x", "y").relations == (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)


def test_that_they_were_concurrent_may_be_learnt_later() -> None:
    phone = Microcosm.parse(PHONE)
    phone.add("x || y")
    assert phone.online("x", "y") is Relation.CONCURRENT
    assert phone.online("heard_x", "heard_y") is Relation.BEFORE, "the lag stays on record"
    proved(phone, "x", "y")


def test_devices_that_heard_in_different_orders_can_tell_each_other() -> None:
    """Whatever is relayed to the next device, nothing conflicts, in whatever order it comes."""
    for first, second in ((PHONE, LAPTOP), (LAPTOP, PHONE)):
        tablet = Microcosm.parse(first.replace("internal ", ""))
        tablet.add("x || y")
        tablet.merge(Microcosm.parse(second.replace("internal ", "")))
        assert tablet.online("x", "y") is Relation.CONCURRENT
        assert tablet.online("heard_x", "heard_y") is Relation.BEFORE
        assert tablet.online("got_y", "got_x") is Relation.BEFORE
        assert tablet.offline("x", "y").relation is Relation.CONCURRENT


def test_to_take_the_arrivals_for_the_events_contradicts_what_comes_later() -> None:
    """A device that records x and y themselves as its own, in the order of arrival, has said too much."""
    hasty = Microcosm.parse("internal x < y\n")
    with pytest.raises(Contradiction):
        hasty.add("x || y")
    with pytest.raises(Contradiction):
        hasty.merge(Microcosm.parse("y < x\n"))
    assert hasty.online("x", "y") is Relation.BEFORE


@given(worlds(2, 5), rngs())
def test_any_order_of_arrival_fits_any_world(world: World, rng: Random) -> None:
    """News of every event, heard by two devices in orders of their own: nothing is proved of the events."""
    lines = []
    for device in "pq":
        heard = rng.sample(world.events, len(world.events))
        lines += [f"{device}:{a} < {device}:{b}" for a, b in pairwise(heard)]
        lines += [f"{event} < {device}:{event}" for event in heard]
    known = Microcosm.parse("\n".join(lines))
    for a, b in combinations(world.events, 2):
        assert known.online(a, b) in (Relation.UNKNOWN, Relation.SILENT)
        assert len(known.possible(a, b).relations) == 3
    for a, b in world.before:
        known.add(Correspondence(a, Relation.BEFORE, b))
    for a, b in permutations(world.events, 2):
        told = world.relation(a, b)
        assert told is Relation.CONCURRENT or known.online(a, b) is told


# Visibility is the causal past; arbitration is a total order that extends it, here a Lamport time.


def arbitrated(known: Microcosm, order: list[str]) -> Microcosm:
    """The same, with a time for each event of an order."""
    given_ = known.givens.copy()
    given_.stamps = {event: at for at, event in enumerate(order)}
    return Microcosm(given_)


@given(worlds_and_givens(2, 5), rngs())
def test_arbitration_rules_out_nothing_that_is_true(drawn: tuple[World, Givens], rng: Random) -> None:
    """It extends visibility, so that of any two events the later is not before the earlier, and no more."""
    world, givens = drawn
    known = Microcosm(givens)
    order = world.order(rng)
    both = arbitrated(known, order)
    for a, b in combinations(world.events, 2):
        left, was = both.possible(a, b).relations, known.possible(a, b).relations
        assert world.relation(a, b) in left
        assert set(left) <= set(was)
        assert (Relation.AFTER if order.index(a) < order.index(b) else Relation.BEFORE) not in left
        assert both.online(a, b) is known.online(a, b), "it makes nothing visible"


def test_arbitration_is_no_causality() -> None:
    known = Microcosm.parse("stamp a = 5\nstamp b = 7\n")
    assert known.offline("a", "b").possible == (Relation.BEFORE, Relation.CONCURRENT)
    assert Microcosm.parse("stamp a = 5\nstamp b = 7\na || b\n").possible("a", "b").relations == (
        Relation.CONCURRENT,
    ), "concurrent updates are arbitrated too"


def test_where_one_of_two_saw_the_other_arbitration_says_which() -> None:
    known = Microcosm.parse("a <> b\nstamp a = 5\nstamp b = 7\n")
    assert known.online("a", "b") is Relation.RELATED
    assert known.offline("a", "b").relation is Relation.BEFORE


def test_arbitration_against_visibility_is_a_contradiction() -> None:
    assert Microcosm.parse("a < b\nstamp a = 5\nstamp b = 3\n").contradiction() is not None


@given(worlds_and_givens(2, 5))
def test_each_world_that_may_be_has_an_arbitration(drawn: tuple[World, Givens]) -> None:
    """The order of a witness is one: with it, what it was found for is still possible."""
    known = Microcosm(drawn[1])
    a, b = sorted(drawn[0].events)[:2]
    for relation, witness in known.possible(a, b).worlds.items():
        assert relation in arbitrated(known, witness.order).possible(a, b).relations
