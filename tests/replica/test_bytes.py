"""Evolutions and messages as bytes: there and back, and whatever else comes is `Malformed`."""

from __future__ import annotations

from contextlib import suppress

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import Malformed
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica import exchange as messages
from microcosm.replica.exchange import Compare, ExchangeMessage, Gone, Range, Same, Supply, Want
from microcosm.replica.ledger import evolution, records
from microcosm.replica.ledger.dots import FIRST, Dot, DotRun
from microcosm.replica.ledger.evolution import Add, Append, Evolution, Forget, Remove

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
DOTS = st.builds(Dot, NAMES, st.integers(1, 2**40), st.integers(1, 2**48 - 100))
RUNS = st.builds(lambda dot, more: DotRun(*dot, dot.number + more), DOTS, st.integers(1, 99))
SIGNS = st.sampled_from((Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE))
FACTS = st.builds(Correspondence, NAMES, SIGNS, NAMES, st.none() | NAMES).filter(lambda f: f.left != f.right)
TIMES = st.none() | st.floats(allow_nan=False) | st.integers(-9, 2**40)
SOME_DOTS = st.lists(DOTS, max_size=4).map(tuple)
EVOLUTIONS = st.one_of(
    st.builds(Append, DOTS, NAMES, TIMES),
    st.builds(Add, DOTS, FACTS, SOME_DOTS, st.tuples(st.none() | DOTS, st.none() | DOTS), TIMES),
    st.builds(Remove, DOTS, SOME_DOTS),
    st.builds(Forget, DOTS, st.lists(RUNS, max_size=3).map(tuple)),
)
SOME_RUNS = st.lists(RUNS, max_size=4).map(tuple)
RANGES = st.builds(Range, st.just(FIRST) | DOTS, st.none() | DOTS, st.binary(max_size=16) | SOME_RUNS)
MESSAGES = st.one_of(
    st.builds(Compare, st.lists(RANGES, max_size=3).map(tuple)),
    st.builds(Same, st.binary(max_size=16)),
    st.builds(Want, SOME_RUNS),
    st.builds(Supply, st.lists(st.binary(max_size=20), max_size=3).map(tuple)),
    st.builds(Gone, SOME_RUNS),
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=30,
)


@given(EVOLUTIONS)
def test_an_evolution_comes_back(one: Evolution) -> None:
    back = evolution.decode(evolution.encode(one))
    assert back == one
    assert getattr(back, "fact", None) is None or back.fact.source == one.fact.source  # type: ignore[union-attr]


@given(MESSAGES)
def test_a_message_comes_back(one: ExchangeMessage) -> None:
    assert messages.decode(messages.encode(one)) == one


@given(st.one_of(st.binary(max_size=60), TREES.map(msgpack.packb)))
def test_nothing_else_is_raised(content: bytes) -> None:
    for decode in (evolution.decode, messages.decode, records.decode_state, records.decode_identity):
        with suppress(Malformed):
            decode(content)


@given(EVOLUTIONS, st.data())
def test_a_damaged_evolution_is_malformed_or_another_one(one: Evolution, data: st.DataObject) -> None:
    content = bytearray(evolution.encode(one))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    try:
        back = evolution.decode(bytes(content))
    except Malformed:
        return
    evolution.decode(evolution.encode(back))


@pytest.mark.parametrize(
    "parts",
    [
        [2, 0, ["p", 1, 0], "e", None],
        [2, 0],
        [0, 0, ["p", 1, 1], "e", None],
        [1, 0, ["p", 1, 0], "e", None],
        [1, 0, ["p", 0, 1], "e", None],
        [1, 0, ["p", True, 1], "e", None],
        [1, 0, ["", 1, 1], "e", None],
        [1, 0, ["p", 1, 1], "", None],
        [1, 0, ["p", 1, 1], "e", float("nan")],
        [1, 1, ["p", 1, 1], ["a", ">", "b", None], [], [None, None], None],
        [1, 1, ["p", 1, 1], ["a", "<", "a", None], [], [None, None], None],
        [1, 2, ["p", 1, 1], [["p", 1]]],
        [1, 3, ["p", 1, 1], [["p", 1, 4, 4]]],
        [1, 4, ["p", 1, 1]],
        [1],
        [],
        {},
    ],
)
def test_unsound_evolutions(parts: object) -> None:
    with pytest.raises(Malformed):
        evolution.decode(msgpack.packb(parts))


def test_a_large_one_is_not_read() -> None:
    with pytest.raises(Malformed, match="at most"):
        evolution.decode(evolution.encode(Append(Dot("p", 1, 1), "e" * evolution.LARGEST)))
