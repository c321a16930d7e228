"""Undo and redo lead exactly back and forth; what goes wrong or is interrupted changes nothing."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Contradiction, Correspondence, Microcosm, Relation, Undefined
from microcosm.engine.engine import Engine
from microcosm.errors import MicrocosmError
from microcosm.givens.givens import Givens
from microcosm.state import evolve, timeline
from microcosm.state.timeline import Timeline
from microcosm.text.mc_writer import write_mc
from microcosm.text.names import quote
from tests.strategies import microcosms

TraceFunction = Callable[[FrameType, str, Any], Any]
EVENTS = ["a", "b", "c", "log in"]
SIGNS = ["<", ">", "||", "<>", "!<"]

names = st.sampled_from(EVENTS)
others = names.map(quote)
statements = st.one_of(
    st.builds(" ".join, st.tuples(others, st.sampled_from(SIGNS), others)),
    st.builds(" < ".join, st.permutations([quote(event) for event in EVENTS])),
    st.builds("clock {} = p {{p: {}}}".format, others, st.integers(1, 5)),
    st.builds("token lock = {}, new".format, st.sampled_from(["a", "b"])),
    st.sampled_from(["complete", "name album", "ordering causal", "stamp a = 5", "send a = m p -> q"]),
)
changes = st.tuples(st.sampled_from(["add", "add", "update", "remove"]), statements) | st.tuples(
    st.sampled_from(["forget", "append"]), names
)


def exactly(givens: Givens) -> tuple[str, list[tuple[str | None, ...]]]:
    """All that is given, in its order, with every source."""
    facts = (*givens.external.values(), *givens.refuted.values())
    return write_mc(givens), [(fact.left, fact.relation.value, fact.right, fact.source) for fact in facts]


def change(story: Timeline, step: tuple[str, str]) -> bool:
    """Make one change; whether it was made."""
    before = exactly(story.givens)
    what, text = step
    try:
        getattr(story, what)([text] if what == "append" else text)
    except MicrocosmError:
        assert exactly(story.givens) == before
        return False
    return exactly(story.givens) != before


@given(microcosms(), st.lists(changes, max_size=12), st.booleans())
def test_undo_after_any_changes_restores_the_givens_exactly(
    givens: Givens, steps: list[tuple[str, str]], strict: bool
) -> None:
    try:
        known = Microcosm(givens, strict=strict)
    except MicrocosmError:
        return
    story = Timeline(known)
    states = [exactly(story.givens)]
    for step in steps:
        if change(story, step):
            states.append(exactly(story.givens))
        assert exactly(story.known.givens) == exactly(story.givens)
    made = len(states) - 1
    for direction, expected in ((story.undo, states[-2::-1]), (story.redo, states[1:])):
        for state in expected:
            assert direction() is not None
            assert exactly(story.givens) == state
            assert story.known.givens == story.givens
            story.known._check()
        assert direction() is None
    while story.undo():
        made -= 1
    assert made == 0
    assert story.is_saved
    assert list(story.diff()) == []


@given(microcosms(), st.lists(changes, max_size=6))
def test_the_diff_leads_from_what_was_saved_to_what_is_given(
    givens: Givens, steps: list[tuple[str, str]]
) -> None:
    story = Timeline(Microcosm(givens))
    expected = statements_of(givens)
    for step in steps:
        change(story, step)
    for sign, said in story.diff():
        if sign == "-":
            assert said in expected
            expected -= Counter([said])
        else:
            expected += Counter([said])
    assert expected == statements_of(story.givens)


def statements_of(givens: Givens) -> Counter[str]:
    """The lines of the file, with a line for each internal event."""
    lines = write_mc(replace(givens, internal=[])).splitlines()
    return Counter([*lines, *(f"internal {quote(event)}" for event in givens.internal)])


def test_a_change_that_contradicts_leaves_everything_as_it_was() -> None:
    story = Timeline(Microcosm.parse("a < b < c"))
    story.undo()
    with pytest.raises(Contradiction):
        story.add("c < a")
    with pytest.raises(Contradiction):
        story.add("c < d < a")
    with pytest.raises(Undefined):
        story.update("a < b")
    assert story.known.to_text() == "a < b\nb < c\n"
    assert story.is_saved
    assert story.undo() is None


def test_updates_and_removals_keep_no_copy_of_all_that_is_given() -> None:
    story = Timeline(Microcosm.parse("\n".join(f"a{at} <> b{at}\nb{at} !< c{at}" for at in range(30))))
    texts = [story.known.to_text()]
    for at in range(30):
        story.remove(f"b{at} !< c{at}")
        story.update(f"a{at} < b{at}")
        texts.append(story.known.to_text())
    gc.collect()
    assert sum(type(one) is Givens and "a29" in set(one.named()) for one in gc.get_objects()) < 9
    for text in reversed(texts[:-1]):
        story.undo(), story.undo()
        assert story.known.to_text() == text
    for text in texts[1:]:
        story.redo(), story.redo()
        assert story.known.to_text() == text


def test_what_is_given_already_is_no_change() -> None:
    story = Timeline(Microcosm.parse("a < b"))
    assert not story.add("a < b")
    assert not story.add("b > a")
    assert story.add("a < b < c")
    assert story.undo() == "add a < b < c"
    assert story.known.to_text() == "a < b\n"


def test_a_new_change_ends_what_could_be_redone() -> None:
    story = Timeline(Microcosm.parse("a < b"))
    story.add("b < c")
    story.undo()
    story.add("b < d")
    assert story.redo() is None
    assert list(story.diff()) == [("+", "b < d")]


def test_what_was_saved_is_what_changes_are_counted_from() -> None:
    story = Timeline(Microcosm.parse("a < b"))
    story.add("b < c")
    assert not story.is_saved
    story.saved()
    assert story.is_saved
    story.undo()
    assert not story.is_saved
    assert list(story.diff()) == [("-", "b < c")]
    story.redo()
    assert story.is_saved
    story.undo()
    story.add("b < d")
    assert not story.is_saved
    assert list(story.diff()) == [("-", "b < c"), ("+", "b < d")]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_interrupt_in_the_middle_of_a_change_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    story = Timeline(Microcosm.parse("a < b"))
    calls = 0
    plain = evolve.add

    def interrupted(engine: Engine, givens: Givens, fact: Correspondence, strict: bool) -> None:
        nonlocal calls
        calls += 1
        plain(engine, givens, fact, strict)
        if calls == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(evolve, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            story.add("b < c < d < e")
    assert story.known.to_text() == "a < b\n"
    assert story.known.online("b", "c") is not Relation.BEFORE
    story.known._check()
    assert story.is_saved
    assert story.add("b < c < d < e")
    assert story.known.online("a", "e") is Relation.BEFORE


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("add", "b < c"),
        ("add", "b < c !< d < e"),
        ("add", "token lock = a, b"),
        ("update", "x < y"),
        ("remove", "a < b"),
        ("forget", "b"),
        ("append", "f"),
        ("undo", ""),
        ("redo", ""),
    ],
)
def test_an_interrupt_anywhere_finds_the_givens_of_before_or_after(what: str, text: str) -> None:
    at, finished = 0, False
    while not finished:
        at += 1
        story = Timeline(Microcosm.parse("a < b\nx <> y"))
        story.add("y || z")
        story.add("a < n < m")
        if what == "redo":
            story.undo()
        before = exactly(story.givens)
        finished = not interrupted(at, lambda: getattr(story, what)(*([text] if text else [])))  # noqa: B023
        after = exactly(story.givens)
        if finished:
            assert after != before
            break
        story.recover()
        assert exactly(story.known.givens) == after
        if after == before:
            getattr(story, what)(*([text] if text else []))
        while story.undo():
            story.known._check()
        assert exactly(story.givens)[0] == "a < b\nx <> y\n"
        while story.redo():
            story.known._check()


def interrupted(at: int, act: Callable[[], object]) -> bool:
    """Whether Ctrl-C came before `act` ended: when it reached its line number `at` in the timeline."""
    left = at

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        nonlocal left
        if frame.f_code.co_filename != timeline.__file__:
            return None
        left -= event == "line"
        if left == 0:
            raise KeyboardInterrupt
        return trace

    traced = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(traced)
    return False
