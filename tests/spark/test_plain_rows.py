"""The digests of plain microcosms are those of the engine; whatever is not plain is left to it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from microcosm.compare.digest import analogy_digest
from microcosm.errors import MicrocosmError
from microcosm.queries.possible import Worlds
from microcosm.spark.bisim.plain_rows import plain_digest
from microcosm.state.microcosm import Microcosm
from microcosm.text.json_form import givens_from_json

NAMES = st.sampled_from(("a", "b", "c", "d", "ü", "f g", "", "\ud800"))
GOOD = st.sampled_from(("a", "b", "c", "d", "ü", "f g"))
FACTS = st.lists(
    st.tuples(GOOD, st.sampled_from(("<", "<", "<", "||", "<>", ">")), GOOD).map(list), max_size=8
)
ODD = st.lists(
    st.one_of(st.lists(st.one_of(NAMES, st.integers(), st.just("<")), max_size=4), st.text(max_size=3)),
    max_size=3,
)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "external": st.one_of(FACTS, FACTS, ODD, st.none()),
        "internal": st.one_of(
            st.lists(GOOD, max_size=4, unique=True), st.lists(NAMES, max_size=3), st.none()
        ),
        "refuted": st.just([["a", "b"]]),
        "name": st.just("x"),
    },
)


@given(RECORDS)
def test_a_digest_is_told_of_plain_microcosms_only_and_is_that_of_the_engine(record: dict[str, Any]) -> None:
    found = plain_digest(record)
    try:
        known = Microcosm(givens_from_json(record))
    except MicrocosmError:
        assert found is None
        return
    if found is not None:
        assert found == analogy_digest(known)
        assert Worlds(known.givens).one() is not None


@given(FACTS)
def test_nothing_plain_is_missed(facts: list[list[str]]) -> None:
    record = {"external": [fact for fact in facts if fact[1] in ("<", "||")]}
    try:
        Microcosm(givens_from_json(record))
    except MicrocosmError:
        assert plain_digest(record) is None
    else:
        assert plain_digest(record) is not None
