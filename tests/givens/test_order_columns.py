"""What is external in columns is the same as one by one, whoever asks."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.givens.columns import NameNumbers, OrderBuilder
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation

pairs = st.lists(st.permutations("abcdef").map(lambda p: (p[0], p[1])), max_size=12)


def one_by_one(stated: list[tuple[str, str]]) -> Givens:
    givens = Givens(internal=["x", "a"])
    for at, (a, b) in enumerate(stated):
        givens.add(Correspondence(a, Relation.BEFORE, b, f"m{at}"))
    return givens


def in_columns(stated: list[tuple[str, str]]) -> Givens:
    linking = OrderBuilder()
    sources = {}
    for at, pair in enumerate(stated):
        sources.setdefault(pair, f"m{at}")
    for pair, source in sources.items():
        linking.extend(pair, [source])
    assert not linking.repeated
    givens = Givens(internal=["x", "a"])
    givens.set_order_columns(linking.links())
    return givens


@given(pairs)
def test_columns_say_the_same(stated: list[tuple[str, str]]) -> None:
    mine, theirs = in_columns(stated), one_by_one(stated)
    assert mine.external_count == theirs.external_count
    assert list(mine.named()) == list(theirs.named())
    assert list(mine.members()) == list(theirs.members())
    assert mine.order_columns is not None, "so far nobody has asked for objects"
    copied = mine.copy()
    assert copied.order_columns is not None
    assert list(copied.external.items()) == list(theirs.external.items())
    assert [f.source for f in copied.external.values()] == [f.source for f in theirs.external.values()]
    assert copied.order_columns is None
    assert mine.order_columns is not None
    assert mine == theirs
    assert mine.order_columns is None


@given(pairs)
def test_one_link_is_looked_up_without_objects(stated: list[tuple[str, str]]) -> None:
    mine, theirs = in_columns(stated), one_by_one(stated)
    for a, b in product("abcdefx?", repeat=2):
        for relation in Relation:
            expected = list(GivenFacts(theirs).evidence(a, relation, b))
            assert list(GivenFacts(mine).evidence(a, relation, b)) == expected
    assert mine.order_columns is not None
    assert pickle.loads(pickle.dumps(mine)) == theirs


asked = st.lists(st.tuples(st.lists(st.sampled_from("abcdefx?"), max_size=4), st.permutations("abcdefx?")))


@given(pairs, asked, st.integers(0, 3))
def test_links_are_found_in_passes_as_by_a_map(
    stated: list[tuple[str, str]], asked: list[tuple[list[str], list[str]]], passes: int
) -> None:
    expected = one_by_one(stated).external
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "COLUMNS_FROM", -1)
        patch.setattr(tuning, "PASSES", passes)
        links = in_columns(stated).order_columns
        assert links is not None
        for soon, (a, b, *_) in asked:
            links.expect(soon)
            found, fact = links.fact(a, b), expected.get((a, "<", b))
            assert found == fact
            assert found is None or fact is None or found.source == fact.source


@given(st.sets(st.sampled_from("abcdef")), asked, st.integers(0, 3))
def test_names_are_numbered_in_passes_as_by_a_map(
    names: set[str], asked: list[tuple[list[str], list[str]]], passes: int
) -> None:
    column = sorted(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "COLUMNS_FROM", -1)
        patch.setattr(tuning, "PASSES", passes)
        numbers = NameNumbers(column)
        for soon, (name, *_) in asked:
            numbers.expect(soon)
            assert numbers.of(name) == (column.index(name) if name in names else None)


@given(pairs)
def test_what_comes_twice_keeps_its_first_source(stated: list[tuple[str, str]]) -> None:
    linking = OrderBuilder()
    for at, pair in enumerate(stated):
        linking.extend(pair, [f"m{at}"])
    expected = one_by_one(stated).external
    assert linking.repeated is (len(set(stated)) < len(stated))
    assert list(linking.facts().items()) == list(expected.items())
    assert [f.source for f in linking.facts().values()] == [f.source for f in expected.values()]


@given(st.lists(pairs))
def test_what_comes_together_is_what_comes_one_by_one(batches: list[list[tuple[str, str]]]) -> None:
    together, single = OrderBuilder(), OrderBuilder()
    for batch in batches:
        sources = [f"m{at}" for at in range(len(batch))]
        together.extend([end for pair in batch for end in pair], sources)
        for pair, source in zip(batch, sources, strict=True):
            single.extend(pair, [source])
    stated = [pair for batch in batches for pair in batch]
    assert together.repeated is single.repeated is (len(set(stated)) < len(stated))
    assert together.numbers == single.numbers
    assert list(together.facts().items()) == list(single.facts().items())


def test_columns_are_copied_and_pickled() -> None:
    for copied in (copy.deepcopy, copy.copy, lambda givens: pickle.loads(pickle.dumps(givens))):
        assert copied(in_columns([("a", "b")])) == one_by_one([("a", "b")])
