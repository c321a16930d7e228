"""The errata of docs/errata.md: each claim by its smallest example, and that no smaller one exists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import pytest

from microcosm import Contradiction, Microcosm, Relation, World
from tests.enumeration import Facts, as_givens, enumerated, inside

UNWORLDLY = (("a", "<", "c"), ("c", "<", "b"), ("a", "||", "d"), ("b", "||", "d"), ("c", "<>", "d"))


def worlds(events: str) -> Iterator[World]:
    """Every world on these events (19 on three, 219 on four)."""
    pairs = list(combinations(events, 2))
    for chosen in product(*([(), (pair,), (pair[::-1],)] for pair in pairs)):
        before = frozenset(pair for some in chosen for pair in some)
        if all((a, d) in before for a, b in before for c, d in before if b == c):
            yield World(tuple(events), before)


def true_in(world: World, facts: Facts) -> bool:
    """Whether all that is given holds in a world; worked out from its order alone."""
    for a, sign, b in facts:
        ordered = ((a, b) in world.before, (b, a) in world.before)
        if sign == "<" and not ordered[0]:
            return False
        if sign in ("||", "<>") and any(ordered) != (sign == "<>"):
            return False
    return True


@pytest.mark.parametrize(("events", "count"), [("abc", 19), ("abcd", 219)])
def test_the_worlds_are_all_there(events: str, count: int) -> None:
    assert len(list(worlds(events))) == count


def test_condition_4_holds_and_yet_no_world_fits() -> None:
    known = Microcosm(as_givens(UNWORLDLY), strict=True)
    assert known.online("c", "d") is Relation.RELATED
    assert not any(true_in(world, UNWORLDLY) for world in worlds("abcd"))


def test_three_events_are_too_few_for_that() -> None:
    for facts in enumerated("abc"):
        assert any(true_in(world, facts) for world in worlds("abc")), facts


def test_dropping_any_of_the_five_makes_it_worldly() -> None:
    for left_out in UNWORLDLY:
        rest = tuple(fact for fact in UNWORLDLY if fact != left_out)
        assert any(true_in(world, rest) for world in worlds("abcd"))


@pytest.mark.parametrize("strict", [True, False])
def test_an_order_that_reaches_a_concurrent_pair_is_refused(strict: bool) -> None:
    known = Microcosm.parse("a < b\na || c", strict=strict)
    with pytest.raises(Contradiction) as refused:
        known.add("b < c")
    assert len(refused.value.derivations) == 2
    assert known.online("a", "c") is Relation.CONCURRENT
    assert known.online("b", "c") is Relation.SILENT


def test_silence_exists_with_three_events_and_not_with_two() -> None:
    assert Microcosm.parse("a < b\na || c").online("b", "c") is Relation.SILENT
    for facts in enumerated("ab"):
        verdict = Microcosm(as_givens(facts)).online("a", "b")
        assert verdict is not Relation.SILENT
        assert (verdict is Relation.UNKNOWN) == (not inside(facts))


def test_a_silent_pair_is_decided_by_an_addition() -> None:
    known = Microcosm.parse("a < b\na || c")
    known.add("b || c")
    assert known.online("b", "c") is Relation.CONCURRENT


def test_analogy_does_not_survive_removal_but_equality_does() -> None:
    one, other = Microcosm.parse("a < c\nc < b"), Microcosm.parse("a < b\na < c\nc < b")
    assert list(one.table()) == list(other.table())
    one.remove("a < c")
    other.remove("a < c")
    assert (one.online("a", "b"), other.online("a", "b")) == (Relation.UNKNOWN, Relation.BEFORE)


def test_removal_in_any_order_leads_to_the_same() -> None:
    given = ["a < c", "c < b", "a < b", "a || d"]
    for gone in permutations(given, 3):
        known = Microcosm.parse("\n".join(given))
        for statement in gone:
            known.remove(statement)
        (left,) = set(given) - set(gone)
        alone = Microcosm.parse(left)
        for a, b in combinations("abcd", 2):
            assert known.online(a, b) is alone.online(a, b)
