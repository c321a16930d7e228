"""A table row by row: the verdicts of one that is made at once, and no rows of all events kept for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from microcosm import tuning
from microcosm.engine.backward_search import BackwardSearch
from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.table import Table, Tables
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.order.rows import Rows
from microcosm.queries.batch import VerdictTable
from tests.random_rules import random_givens, random_rules
from tests.thorough import draws

RULES = read_rules()
Verdict = tuple[str, str, Relation]


@pytest.fixture(params=[None, 0, 1 << 40], ids=["as it is", "no saturation", "no patience"])
def _row_by_row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths of many events, for few; searches give way to saturation as usual, never, or at once."""
    monkeypatch.setattr(tuning, "TABLE_AT_ONCE", 0)
    monkeypatch.setattr(tuning, "ROWS_KEPT", 0)
    monkeypatch.setattr(tuning, "ROWS_HELD", 2)
    if request.param is not None:
        monkeypatch.setattr(Table, "MOST", request.param)
    if request.param:
        monkeypatch.setattr(Table, "SEARCH", 0)
        monkeypatch.setattr(Table, "WORTH", request.param)


def tables(rules: RuleBook, givens: Givens) -> tuple[list[Verdict], list[Verdict]]:
    """The table row by row, and the verdicts of an engine that has all rows at hand."""
    saturated, names = Engine(rules, givens), [*givens.named()]
    saturated.saturate()
    expected = [(a, b, saturated.verdict(a, b)) for at, a in enumerate(names) for b in names[at + 1 :]]
    return [*VerdictTable(Engine(rules, givens), names)], expected


@pytest.mark.usefixtures("_row_by_row")
def test_row_by_row_verdicts_are_those_of_the_whole() -> None:
    for seed in range(draws(40, 400)):
        with suppress(CyclicGivens):
            found, expected = tables(RULES, random_givens(Random(seed)))
            assert found == expected, seed


@pytest.mark.usefixtures("_row_by_row")
def test_under_any_rules_row_by_row_verdicts_are_those_of_the_whole() -> None:
    for seed in range(draws(40, 400)):
        rng = Random(seed)
        rules, givens = random_rules(rng), random_givens(rng)
        with suppress(CyclicGivens):
            found, expected = tables(rules, givens)
            assert found == expected, seed


def trees(count: int, size: int = 10) -> Givens:
    """So many requests of spans, each a beginning and an end, begun by one before it."""
    givens, rng = Givens(), Random(count)
    for tree in range(count):
        for at in range(size):
            givens.add(Correspondence(f"{tree}.{at}", Relation.BEFORE, f"{tree}.{at}!"))
            if at:
                givens.add(Correspondence(f"{tree}.{rng.randrange(at)}", Relation.BEFORE, f"{tree}.{at}"))
    return givens


@pytest.mark.parametrize("count", [4, 16, 64])
def test_of_many_small_requests_few_rows_are_kept(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "TABLE_AT_ONCE", 0)
    monkeypatch.setattr(tuning, "POSITIONS_A_MEMBER", 4)
    monkeypatch.setattr(tuning, "ROWS_HELD", held := 16)
    made = [0]
    for owner, name in ((Rows, "_close"), (Tables, "saturate")):
        monkeypatch.setattr(owner, name, lambda *_, **__: made.append(1))
    givens = trees(count)
    engine = Engine(RULES, givens)
    order = engine.order
    assert isinstance(order, Rows)
    for row in watched(engine, [*givens.named()]):
        assert row[Relation.UNKNOWN].bit_count() % 20 == 0, "every pair of two requests, and no other"
        assert all(len(found) <= held for found in order._known_rows)
    assert made == [0], "all rows were made"


@pytest.mark.parametrize("shape", ["chain", "tree", "several"])
def test_of_one_deep_request_few_rows_are_kept_and_no_pair_is_searched_for(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is begun by one event is silent about each other, a row at a time."""
    for name in ("TABLE_AT_ONCE", "ROWS_KEPT"):
        monkeypatch.setattr(tuning, name, 0)
    monkeypatch.setattr(tuning, "POSITIONS_A_MEMBER", 1 << 20)
    monkeypatch.setattr(tuning, "ROWS_HELD", held := 16)
    made, decided = [0], [0]
    for owner, name in ((Rows, "_close"), (Tables, "saturate")):
        monkeypatch.setattr(owner, name, lambda *_, **__: made.append(1))
    decide = BackwardSearch.decide
    monkeypatch.setattr(BackwardSearch, "decide", lambda *asked: decided.append(1) or decide(*asked))
    givens, rng = Givens(), Random(1)
    for at in range(200):
        givens.add(Correspondence(f"{at}", Relation.BEFORE, f"{at}!"))
        if at > (shape == "several"):
            above = rng.randrange(at) if shape == "tree" else at - 1 - (shape == "several")
            givens.add(Correspondence(f"{above}", Relation.BEFORE, f"{at}"))
    engine = Engine(RULES, givens)
    order = engine.order
    assert isinstance(order, Rows)
    for row in watched(engine, [*givens.named()]):
        assert not row[Relation.UNKNOWN] or shape == "several"
        assert all(len(found) <= held for found in (*order._known_rows, *order._expected_rows))
    assert made == decided == [0], "all rows were made, or pairs searched for"
    assert order._expected == ()


def watched(engine: Engine, names: list[str]) -> Iterator[dict[Relation, int]]:
    """The rows, after each of which it is seen that they are of all later events."""
    for left, row in zip(range(len(names) - 1, -1, -1), engine.rows(names), strict=True):
        assert sum(map(int.bit_count, row.values())) == left
        yield row
