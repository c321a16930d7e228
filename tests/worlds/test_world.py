"""Worlds: the order laws, the count of all of them, and that what is drawn from one is true in it."""

from __future__ import annotations

from itertools import pairwise, permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import Undefined, UnknownEvent
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation
from microcosm.worlds.world import World
from tests.enumeration import all_worlds
from tests.notation import mc
from tests.oracle import initial, refusal, stated
from tests.strategies import rngs, shares, worlds, worlds_and_givens

ABC = World.of("abcd", [("a", "b"), ("b", "c")])
"""a < b < c, and d beside them."""


def assert_strict_order(world: World) -> None:
    for a, b in permutations(world.events, 2):
        assert {world.relation(a, b), world.relation(b, a)} in (
            {Relation.BEFORE, Relation.AFTER},
            {Relation.CONCURRENT},
        )
    for a, b in world.before:
        assert a != b
        for c in world.events:
            assert (b, c) not in world.before or (a, c) in world.before


@pytest.mark.parametrize(("events", "count"), [("", 1), ("a", 1), ("ab", 3), ("abc", 19), ("abcd", 219)])
def test_all_worlds_are_every_strict_order_once(events: str, count: int) -> None:
    found = list(all_worlds(events))
    assert len(found) == len({world.before for world in found}) == count
    for world in found:
        assert world.events == tuple(events)
        assert_strict_order(world)


def test_there_are_4231_worlds_of_five_events() -> None:
    assert len({world.before for world in all_worlds("abcde")}) == 4231


@pytest.mark.slow
def test_there_are_130023_worlds_of_six_events() -> None:
    assert sum(1 for _ in all_worlds("abcdef")) == 130_023


def test_a_world_is_closed_under_transitivity() -> None:
    assert ABC.before == {("a", "b"), ("b", "c"), ("a", "c")}
    assert ABC.relation("c", "a") is Relation.AFTER
    assert ABC.relation("d", "a") is Relation.CONCURRENT


def test_a_cycle_is_no_world() -> None:
    with pytest.raises(Undefined, match="cycle"):
        World.of("abc", [("a", "b"), ("b", "c"), ("c", "a")])


def test_no_relation_holds_between_an_event_and_itself() -> None:
    with pytest.raises(Undefined, match="itself"):
        ABC.relation("a", "a")


def test_of_an_event_that_is_not_there_nothing_holds() -> None:
    for a, b in (("a", "z"), ("z", "a"), ("z", "z")):
        with pytest.raises(UnknownEvent, match="'z'"):
            ABC.relation(a, b)
        with pytest.raises(UnknownEvent, match="'z'"):
            ABC.holds(a, "||", b)
    with pytest.raises(UnknownEvent, match="'z'"):
        World.of("abc", [("a", "z")])
    with pytest.raises(Undefined, match="'ab' is no pair of events"):
        World.of("abc", ["ab"])  # type: ignore[list-item]


@given(worlds(0, 9, nasty=True))
def test_a_random_world_is_a_strict_order(world: World) -> None:
    assert_strict_order(world)


def test_density_is_the_chance_of_an_ordered_pair() -> None:
    events = [f"e{n}" for n in range(12)]
    assert World.random(events, Random(1), 0.0).before == frozenset()
    assert len(World.random(events, Random(1), 1.0).before) == 66
    assert World.random(events, Random(2), 0.3) == World.random(events, Random(2), 0.3)


@given(worlds(0, 9), rngs(), shares)
def test_orders_and_chains_of_a_world(world: World, rng: Random, share: float) -> None:
    order = world.order(rng)
    assert sorted(order) == sorted(world.events)
    assert all(order.index(a) < order.index(b) for a, b in world.before)
    chain = world.chain(rng, share)
    assert all(pair in world.before for pair in pairwise(chain))


@given(worlds_and_givens(0, 8, nasty=True))
def test_what_is_drawn_from_a_world_is_true_in_it(drawn: tuple[World, Givens]) -> None:
    world, givens = drawn
    assert world.fits(givens)
    assert refusal(stated(givens)) is None
    assert all(world.holds(a, Relation(sign), b) for a, sign, b in initial(stated(givens)))


@given(worlds_and_givens(0, 8, superseding=False))
def test_condition_4_holds_of_what_is_drawn_without_superseding(drawn: tuple[World, Givens]) -> None:
    world, givens = drawn
    assert world.fits(givens)
    assert refusal(stated(givens), strict=True) is None


@given(worlds(2, 5), st.data())
def test_fits_is_truth_of_every_given(world: World, data: st.DataObject) -> None:
    other = data.draw(st.sampled_from(list(all_worlds(world.events[:4]))))
    givens = other.microcosm(data.draw(rngs()), 0.5)
    assert world.fits(givens) == all(world.holds(a, Relation(sign), b) for a, sign, b in stated(givens))


@pytest.mark.parametrize(
    "text", ["a<c", "a<>c", "a||d d||b", "c!<a d!<a a!||b a!<>d", "| a b c", "a<b | b c"]
)
def test_fits_what_is_true(text: str) -> None:
    assert ABC.fits(mc(text))


@pytest.mark.parametrize(
    "text", ["c<a", "a<d", "a<>d", "a||c", "a!<c", "a!||d", "a!<>b", "| b a", "| a d", "a<z", "a!<z"]
)
def test_does_not_fit_what_is_false(text: str) -> None:
    assert not ABC.fits(mc(text))


@pytest.mark.parametrize(
    ("fits", "givens"),
    [
        (True, Givens(tokens={"lock": ("c", "a", "b")})),
        (False, Givens(tokens={"lock": ("c", "a", "d")})),
        (True, Givens(stamps={"a": 1, "b": 2, "d": 1})),
        (False, Givens(stamps={"a": 2, "b": 2})),
        (True, Givens(stamps={"a": (0.0, 9.0), "b": (5.0, 6.0), "d": 3})),
        (False, Givens(stamps={"a": (7.0, 9.0), "b": (5.0, 6.0)})),
        (True, Givens(clocks={"a": Clock("p", {"p": 1}), "b": Clock("q", {"p": 1, "q": 1})})),
        (True, Givens(clocks={"a": Clock("p", {"p": 1}), "b": Clock("p", {"p": 1}, False)})),
        (False, Givens(clocks={"b": Clock("p", {"p": 1}), "a": Clock("p", {"p": 1}, False)})),
        (False, Givens(clocks={"a": Clock("p", {"p": 1}), "d": Clock("q", {"p": 1, "q": 1})})),
        (False, Givens(clocks={"a": Clock("p", {"p": 1}), "b": Clock("q", {"q": 1})})),
        # Neither has seen the other for certain, but b cannot have seen a: a !< b.
        (False, Givens(clocks={"a": Clock("p", {"p": 2, "q": 1}), "b": Clock("q", {"p": 1, "q": 1}, False)})),
        (True, Givens(clocks={"c": Clock("p", {"p": 2, "q": 1}), "a": Clock("q", {"p": 1, "q": 1}, False)})),
    ],
)
def test_fits_reads_clocks_tokens_and_stamps(fits: bool, givens: Givens) -> None:
    assert ABC.fits(givens) is fits
