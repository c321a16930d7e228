"""What two microcosms know differently: true, complete, without what follows, most informative first."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm, Relation
from microcosm.compare.difference import Comparison, difference
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from tests.rulesets import without
from tests.strategies import drawn_from, microcosms, worlds

SILENT_OR_UNKNOWN = (Relation.SILENT, Relation.UNKNOWN)


def knows_more(verdict: Relation, other: Relation) -> bool:
    if verdict in SILENT_OR_UNKNOWN or verdict is other:
        return False
    return other in SILENT_OR_UNKNOWN or other.at_most_as_accurate_as(verdict)


def check_counts_and_conflicts(one: Microcosm, other: Microcosm, found: Comparison) -> None:
    events = sorted({*one.events, *other.events})
    more, conflicts = [0, 0], []
    for pair in combinations(events, 2):
        here, there = one.online(*pair), other.online(*pair)
        more[0] += knows_more(here, there)
        more[1] += knows_more(there, here)
        undecided = here in SILENT_OR_UNKNOWN or there in SILENT_OR_UNKNOWN
        if not (undecided or here is there or knows_more(here, there) or knows_more(there, here)):
            conflicts.append((*pair, (here, there)))
    assert found.more == tuple(more)
    assert [(c.left, c.right, c.verdicts) for c in found.conflicts] == conflicts
    assert found.same is (not any(more) and not conflicts)


def check_news(one: Microcosm, other: Microcosm, found: Comparison) -> None:
    for (has, lacks), news in zip(((one, other), (other, one)), found.news, strict=True):
        assert [item.decides for item in news] == sorted((item.decides for item in news), reverse=True)
        for item in news:
            a, b = item.fact.left, item.fact.right
            assert has.online(a, b) is item.fact.relation
            assert knows_more(has.online(a, b), lacks.online(a, b))
            known = lacks.online(a, b)
            assert item.instead is (None if known in SILENT_OR_UNKNOWN else known)
            told = lacks.copy()
            with nullcontext() if item.decides else pytest.raises(Contradiction):
                told.add(item.fact)
            assert difference(told, lacks).more == (item.decides, 0)


@given(microcosms(2, 6), microcosms(2, 6))
def test_any_two_microcosms(one: Givens, other: Givens) -> None:
    here, there = Microcosm(one), Microcosm(other)
    found = difference(here, there)
    check_counts_and_conflicts(here, there, found)
    check_news(here, there, found)


@given(st.data())
def test_told_all_news_each_knows_what_the_other_does(data: st.DataObject) -> None:
    """Of one world, where there are no conflicts; each fact decides what it says it does."""
    world = data.draw(worlds(2, 7))
    one, other = (Microcosm(data.draw(drawn_from(world))) for _ in range(2))
    found = difference(one, other)
    assert found.conflicts == []
    for (has, lacks), news in zip(((one, other), (other, one)), found.news, strict=True):
        told = lacks.copy()
        for item in news:
            alone = lacks.copy()
            alone.add(item.fact)
            assert difference(alone, lacks).more == (item.decides, 0)
            told.add(item.fact)
        assert difference(has, told).more[0] == 0
        for item in news:
            rest = Microcosm()
            for other in news:
                if other is not item:
                    rest.add(other.fact)
            told_alone = rest.online(item.fact.left, item.fact.right)
            assert told_alone is not item.fact.relation, "none of the news follows from the others alone"


def test_a_link_that_orders_many_pairs_comes_first() -> None:
    one = Microcosm.parse("a < b < c < d < e \n x || y")
    other = Microcosm.parse("a < b \n c < d < e")
    found = difference(one, other)
    assert [(str(item.fact), item.decides) for item in found.news[0]] == [("b < c", 6), ("x || y", 1)]
    assert (found.news[1], found.more) == ([], (7, 0))


def test_what_follows_through_a_conflict_is_told_itself() -> None:
    found = difference(Microcosm.parse("a < c < b"), Microcosm.parse("a < c \n c || b"))
    assert [str(item.fact) for item in found.news[0]] == ["a < b"]
    [conflict] = found.conflicts
    assert (conflict.left, conflict.right) == ("b", "c")
    assert conflict.verdicts == (Relation.AFTER, Relation.CONCURRENT)


def test_where_orders_do_not_follow_each_is_told() -> None:
    rules = without("In-Tr")
    one = Microcosm.parse("a < b < c \n a < c", rules=rules)
    found = difference(one, Microcosm(rules=rules))
    assert [str(item.fact) for item in found.news[0]] == ["a < b", "a < c", "b < c"]


@pytest.mark.parametrize("text", ["", "a < b \n a || c"])
def test_the_same_knowledge(text: str) -> None:
    assert difference(Microcosm.parse(text), Microcosm.parse(text)) == Comparison(([], []), (0, 0), [])


def test_it_is_said_with_names_as_files_write_them() -> None:
    one, other = Microcosm.parse('"log in" < "a\\u001b" \n x || y'), Microcosm.parse("x < y")
    assert str(difference(one, other)).split("\n") == [
        'only the first knows: "log in" < "a\\u001b"',
        "they contradict each other: x || y, and <",
    ]
