"""Joins: asking for any solution says whether there is one, and no less where it stops at the first."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from microcosm.engine.body import LEFT, RIGHT
from microcosm.engine.engine import Engine
from microcosm.engine.join import Join
from microcosm.engine.lowering import online
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import read_rules

SIZE = 9


def engine(rng: Random) -> Engine:
    givens = Givens()
    for a, b in product(range(SIZE), repeat=2):
        if a < b and rng.random() < 0.15:
            relation = rng.choice([Relation.BEFORE, Relation.BEFORE, Relation.RELATED])
            givens.add(Correspondence(f"e{a}", relation, f"e{b}"))
    return Engine(read_rules(), givens)


def connected(asked: Engine, a: int, b: int) -> bool:
    memo = asked.memo
    return any(
        memo.judged(pred).holds(x, y)
        for pred in memo.program.of
        if pred[0] is Judgement.INITIAL
        for x, y in ((a, b), (b, a))
    )


@pytest.mark.parametrize("seed", range(8))
def test_some_is_whether_an_event_shares_nothing(seed: int) -> None:
    """Rule Un-3 for one event and a set of others; a search over sets says what is right."""
    rng = Random(seed)
    asked = engine(rng)
    memo = asked.memo
    (body,) = [
        rest
        for plan in memo.program.of.values()
        for body in plan.bodies.get(online(Relation.UNKNOWN), ())
        for rest in [body.split((online(Relation.UNKNOWN),))[1]]
        if rest is not None and rest.nones
    ]
    join = Join(body, (LEFT,), RIGHT, memo)
    assert join._sole_absent is not None, "the case that stops early"
    events = [*asked.universe.position.values()]
    met = {a: {e for e in events if connected(asked, a, e)} for a in events}
    answers = set()
    for a in events:
        for _ in range(6):
            others = rng.sample(events, rng.randrange(len(events)))
            target = sum(1 << at for at in others)
            expected = any(not met[a] & met[b] for b in others)
            assert join.some({LEFT: a}, target) is expected
            assert bool(join.solve({LEFT: a}, target)) is expected
            answers.add(expected)
    assert answers == {True, False}
