"""Events are numbered along the order that is given, and everything that is said of them goes along."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.engine.ground import Universe, numbered
from microcosm.givens.columns import OrderBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets

pairs = st.lists(st.permutations("abcdefgh").map(lambda p: (p[0], p[1])), min_size=1, unique=True)
rising = pairs.map(lambda stated: [*dict.fromkeys((min(pair), max(pair)) for pair in stated)])


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("in_columns", [False, True])
@given(st.one_of(pairs, rising), st.integers(0, 2))
def test_events_are_numbered_along_the_order(
    in_columns: bool, many: bool, stated: list[tuple[str, str]], first: int
) -> None:
    givens = Givens()
    if in_columns:
        linking = OrderBuilder()
        linking.extend([end for pair in stated for end in pair], [None] * len(stated))
        givens.set_order_columns(linking.links())
    else:
        for a, b in stated:
            givens.add(Correspondence(a, Relation.BEFORE, b))
    names = givens.listed()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tuning, "COLUMNS_FROM", 0 if many else tuning.COLUMNS_FROM)
        found = numbered(givens, first)
    position = {name: at for at, name in enumerate(found.names, first)}
    assert sorted(found.names) == sorted(names)
    lefts, rights = found.stated[Relation.BEFORE]
    edges = [(position[a], position[b]) for a, b in stated]
    assert [*zip(lefts, rights, strict=True)] == edges
    try:
        cycle_or_order(first + len(names), *edge_sets(first + len(names), edges))
    except Cycle:
        pass
    else:
        assert all(a < b for a, b in edges)


@given(pairs)
def test_names_are_placed_in_any_order(stated: list[tuple[str, str]]) -> None:
    givens = Givens()
    for a, b in stated:
        givens.add(Correspondence(a, Relation.BEFORE, b))
    found = numbered(givens, Universe.OUTSIDERS)
    universe = Universe(found.names, found.placed)
    position = {name: at for at, name in enumerate(found.names, Universe.OUTSIDERS)}
    names = [*givens.numbers()]
    for asked in (names, names[:2], names[::-1], found.names, []):
        expected = [position[name] for name in asked]
        assert [*universe.places(asked)] == [*universe.places(iter(asked))] == expected
    universe.at("z")
    assert [*universe.places(found.names)] == [*position.values()]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefghz") | st.none()))
def test_a_name_is_found_by_passes_or_by_all_positions(names: list[str], asked: list[str | None]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tuning, "COLUMNS_FROM", 0)
        universe = Universe(names)
    position = {name: at for at, name in enumerate(names, Universe.OUTSIDERS)}
    for name in asked:
        universe.names[0] = "z"  # an outsider, whose place is nobody's
        if name is None:
            assert universe.position == position
            assert [*universe.position] == names
        else:
            assert universe.find(name) == position.get(name, -1)
    assert universe.at("z") == len(names) + Universe.OUTSIDERS == universe.find("z")
    assert universe.position == {**position, "z": len(names) + Universe.OUTSIDERS}
