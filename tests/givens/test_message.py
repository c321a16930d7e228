"""Messages in columns are the same as one by one, whoever asks."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.engine.ground import Processes, Universe
from microcosm.givens import columns
from microcosm.givens.columns import Message, MessageBuilder, MessageColumns, OrderBuilder
from microcosm.givens.givens import Givens
from microcosm.traces.extract import plain_extraction
from microcosm.traces.report import Report

Row = tuple[Literal["send", "receive", ""], str, str, str]
kinds = st.sampled_from(("send", "receive", ""))
rows = st.lists(st.tuples(kinds, st.sampled_from("abcdef"), st.sampled_from("mn"), st.sampled_from("pq")))


def linked(stated: set[tuple[str, str]]) -> Givens:
    linking = OrderBuilder()
    for pair in sorted(stated):
        linking.extend(pair, [None])
    givens = Givens()
    givens.set_order_columns(linking.links())
    return givens


def both(rows: list[Row], order: list[int], stated: set[tuple[str, str]]) -> tuple[Givens, Givens]:
    """The same givens twice: messages in columns and one by one."""
    mine, theirs = linked(stated), linked(stated)
    named = {event for pair in stated for event in pair}
    apart = [at for at in order if rows[at][0] and rows[at][1] not in named]
    columns = [[row[column] for row in rows] for column in (1, 2, 3)]
    mine.set_message_columns(MessageColumns(order, [row[0] for row in rows], *columns, apart))
    theirs.messages = [Message(kind, *rest) for kind, *rest in (rows[at] for at in order) if kind]
    return mine, theirs


@st.composite
def twins(draw: st.DrawFn) -> tuple[Givens, Givens]:
    drawn = draw(rows)
    order = draw(st.permutations(range(len(drawn))))
    pair = st.permutations("abcd").map(lambda p: (p[0], p[1]))
    return both(drawn, order, draw(st.sets(pair, max_size=4)))


def processes(givens: Givens) -> dict[str, object]:
    universe = Universe([*givens.named()])
    of = Processes(givens, universe)
    return {event: of(at) for event, at in universe.position.items()}


@given(twins(), st.booleans())
def test_columns_say_the_same(twins: tuple[Givens, Givens], made: bool) -> None:
    mine, theirs = twins
    if made:  # then `apart` does not say enough any more
        mine.external.clear()
        theirs.external.clear()
    assert list(mine.events_with_process()) == list(theirs.events_with_process())
    assert set(mine.named()) == set(theirs.named())
    assert mine.listed() == list(mine.named())
    assert set(mine.members()) == set(theirs.members())
    copied = mine.copy()
    assert processes(mine).keys() == processes(theirs).keys()
    assert mine.message_columns is not None, "so far nobody has asked for objects"
    copied.messages.append(Message("send", "z", "m", "p"))
    assert copied.message_columns is None
    assert mine.messages == theirs.messages == copied.messages[:-1]
    assert mine.message_columns is None
    assert mine == theirs


@given(twins())
def test_whose_event_it_is_is_known_from_columns(twins: tuple[Givens, Givens]) -> None:
    mine, theirs = twins
    assert processes(mine) == processes(theirs)


@given(twins())
def test_columns_are_copied_and_pickled(twins: tuple[Givens, Givens]) -> None:
    for copied in (copy.deepcopy, lambda givens: pickle.loads(pickle.dumps(givens))):
        assert copied(twins[0]) == twins[1]


@given(
    st.lists(rows.filter(bool).map(lambda many: many * 3) | rows), st.permutations("abcd"), st.integers(1, 9)
)
def test_messages_of_linked_events_are_known_by_their_numbers(
    runs: list[list[Row]], names: list[str], together: int
) -> None:
    builder, linked = MessageBuilder(), {name: at for at, name in enumerate(names)}
    for run in runs:
        builder.extend([*zip(*run, strict=True)] or [()] * 4)
    flat = [row for run in runs for row in run]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "_TOGETHER", together)
        found, owners = builder.columns(linked)
    whose = {event: process for _, event, _, process in flat}
    assert found.messages() == [Message(kind, *rest) for kind, *rest in flat if kind]
    assert len(found) == len(found.messages())
    assert [*found.unlinked] == [at for at, row in enumerate(flat) if row[1] not in linked]
    assert owners == ([whose[name] for name in names] if whose.keys() >= linked.keys() else None)


def test_a_question_to_a_log_makes_no_objects(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"process": "p", "seq": 1, "kind": "send", "message": "m"}\n'
        '{"process": "r", "seq": 1, "kind": "send", "message": "lost"}\n'
        '{"process": "q", "seq": 1, "kind": "receive", "message": "m"}\n'
    )
    found = plain_extraction([path], Report())
    assert found is not None
    known = Microcosm(found.givens)
    assert [str(known.online("p:1", other)) for other in ("q:1", "r:1")] == ["<", "?"]
    assert list(known.events) == ["p:1", "q:1", "r:1"]
    assert found.givens.message_columns is not None
    assert found.givens.order_columns is not None
    assert processes(found.givens) == {"p:1": "p", "q:1": "q", "r:1": "r"}
