"""Copies are independent, and what is shown of the givens cannot be changed behind the engine's back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from microcosm import Correspondence, Microcosm, MicrocosmError, Relation
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.state.timeline import Timeline
from tests.rulesets import without
from tests.strategies import microcosms


def replaced(givens: Givens) -> Givens:
    return replace(givens, name=givens.name)


WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
FULL = (
    "internal i < j\na < b\nb !< i\nstamp a = 3\nclock x = p {p: 1}\nsend a = m p\ntoken t = a, x\ncomplete"
)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_evolves_by_itself(way: Callable[[Microcosm], Microcosm]) -> None:
    known = Microcosm.parse("a < b")
    known.online("a", "b")
    other = way(known)
    assert other.givens == known.givens
    other.add("b < c")
    other.remove("a < b")
    assert (known.online("a", "b"), known.online("b", "c")) == (Relation.BEFORE, Relation.UNKNOWN)
    assert other.online("a", "b") is not Relation.BEFORE
    known._check()
    other._check()


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_keeps_its_rules_and_profile(way: Callable[[Microcosm], Microcosm]) -> None:
    known = Microcosm.parse("a < b < c", strict=True, rules=without("In-Tr"))
    other = way(known)
    assert (other.strict, other.rules) == (True, known.rules)
    assert other.online("a", "c") is known.online("a", "c") is not Relation.BEFORE


@pytest.mark.parametrize("way", WAYS)
def test_what_tells_of_many_pairs_is_copied_with_what_it_tells(way: Callable[[Any], Any]) -> None:
    known = Microcosm.parse("a < b\nprocess p = a, b\nevent c process q\na < c\ncomplete")
    known.add("c < d")
    assert [*way(known.table())] == [*known.table()]
    shown, told = way(known.concluded), known.concluded
    assert [*way(told.table(known.events))] == [*told.table(known.events)] == [*shown.table(known.events)]
    assert str(shown.proof("b", "c")) == str(told.proof("b", "c"))


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_copy_of_a_timeline_goes_its_own_way(way: Callable[[Timeline], Timeline]) -> None:
    story = Timeline(Microcosm.parse("a < b"))
    story.add("b < c")
    other = way(story)
    other.add("c < d")
    assert (story.known.events, other.known.events) == (["a", "b", "c"], ["a", "b", "c", "d"])
    assert (other.undo(), other.undo(), other.undo()) == ("add c < d", "add b < c", None)
    assert story.known.events == ["a", "b", "c"]


@given(microcosms())
def test_the_view_is_equal_to_what_it_shows(givens: Givens) -> None:
    view = Microcosm(givens).givens
    assert view == givens
    assert givens == view
    assert view.copy() == givens
    assert list(view.named()) == list(givens.named())
    assert Microcosm(view).to_json() == Microcosm(givens).to_json()


CHANGES: list[Callable[[Givens], object]] = [
    lambda g: g.add(Correspondence("b", Relation.BEFORE, "a")),
    lambda g: g.internal.append("k"),
    lambda g: g.external.clear(),
    lambda g: g.refuted.clear(),
    lambda g: g.stamps.update(b=1),
    lambda g: g.clocks.clear(),
    lambda g: g.messages.append(Message("send", "b", "n", "p")),
    lambda g: g.orderings.append("causal"),
    lambda g: g.tokens.clear(),
    lambda g: setattr(g, "complete", False),
    lambda g: setattr(g, "internal", []),
    lambda g: delattr(g, "messages"),
    lambda g: g.internal.__setitem__(0, "z"),
    lambda g: g.external.__delitem__(next(iter(g.external))),
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_that_is_shown_can_be_changed(change: Callable[[Givens], object]) -> None:
    known = Microcosm.parse(FULL)
    before = known.to_text()
    with pytest.raises((MicrocosmError, AttributeError, TypeError)):
        change(known.givens)
    assert known.to_text() == before
    change(known.givens.copy())
    assert known.to_text() == before


@pytest.mark.parametrize("way", [*WAYS, replaced])
def test_a_copy_of_the_view_may_be_changed(way: Callable[[Givens], Givens]) -> None:
    known = Microcosm.parse(FULL)
    mine = way(known.givens)
    mine.complete = False
    mine.internal.append("k")
    assert known.givens.complete
    assert known.givens.internal == ["i", "j"]


def test_answers_are_copied_and_pickled() -> None:
    answers = Microcosm.parse("a < b \n b || c").assert_("event any; never any || any", settle=True)  # noqa: PT009
    for copied in (copy.copy(answers), copy.deepcopy(answers), pickle.loads(pickle.dumps(answers))):
        assert copied == answers
        assert (copied.givens, copied.warnings) == (answers.givens, answers.warnings)
        assert str(copied) == str(answers)
