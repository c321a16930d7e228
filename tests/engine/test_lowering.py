"""Lowering: rule text in, plan out. Shapes are recognised by form, whatever the rules are called."""

from __future__ import annotations

import pytest

from microcosm import Microcosm
from microcosm.engine.lowering import PlanShape, compile_rules, initial, online
from microcosm.errors import Contradiction
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import parse_rules, read_rules

GIVEN = """
rule Start:
    given a R b
    ---
    |-0 a R b
"""

CASES = [
    ("given alone is a view", "", initial(Relation.BEFORE), "view", False),
    (
        "two steps in a row are a closure, in either order of premises",
        "rule Any-Name:\n |-0 e < b\n |-0 a < e\n ---\n |-0 a < b",
        initial(Relation.BEFORE),
        "closure",
        False,
    ),
    (
        "a guarded transitive rule is no closure",
        "rule T:\n |-0 a < e\n |-0 e < b\n a in M\n ---\n |-0 a < b",
        initial(Relation.BEFORE),
        "table",
        False,
    ),
    (
        "a converse makes symmetric, and stays a view",
        "rule S:\n |-0 a || b\n ---\n |-0 b || a",
        initial(Relation.CONCURRENT),
        "view",
        True,
    ),
    (
        "symmetric and transitive together are a table",
        "rule S:\n |-0 a || b\n ---\n |-0 b || a\nrule T:\n |-0 a || e\n |-0 e || b\n ---\n |-0 a || b",
        initial(Relation.CONCURRENT),
        "table",
        True,
    ),
    (
        "an intermediate event needs a table even without recursion",
        "rule J:\n |-0 a < e\n |-0 e || b\n ---\n |- a ? b",
        online(Relation.UNKNOWN),
        "table",
        False,
    ),
    (
        "premises on two events only are a view, negation included",
        "rule V:\n |-0 a <> b\n |/-0 a < b\n a in M\n ---\n |- a <> b",
        online(Relation.RELATED),
        "view",
        False,
    ),
    (
        "a symmetric body makes a symmetric predicate without a rule that says so",
        "rule V:\n |/-0 a _ b\n a in M\n b in M\n ---\n |- a ? b",
        online(Relation.UNKNOWN),
        "view",
        True,
    ),
]


@pytest.mark.parametrize(("title", "rules", "pred", "shape", "symmetric"), CASES, ids=[c[0] for c in CASES])
def test_shapes(title: str, rules: str, pred: tuple[object, object], shape: str, symmetric: bool) -> None:
    program = compile_rules(parse_rules(GIVEN + rules))
    plan = program.of[pred]  # type: ignore[index]
    assert plan.shape.value == shape
    assert program.symmetric(pred) is symmetric  # type: ignore[arg-type]


def test_the_shipped_rules_make_one_closure_and_one_table() -> None:
    program = compile_rules(read_rules())
    shapes = {
        (pred[0].value, str(pred[1])): plan.shape
        for pred, plan in program.of.items()
        if pred[0] is not Judgement.OFFLINE
    }
    assert shapes == {
        ("initial", "<"): PlanShape.CLOSURE,
        ("initial", "||"): PlanShape.VIEW,
        ("initial", "<>"): PlanShape.VIEW,
        ("online", "<"): PlanShape.VIEW,
        ("online", "||"): PlanShape.VIEW,
        ("online", "<>"): PlanShape.VIEW,
        ("online", "?"): PlanShape.TABLE,
    }


def test_the_offline_rules_are_one_stratum_above_the_others() -> None:
    plans = {
        str(p[1]): plan for p, plan in compile_rules(read_rules()).of.items() if p[0] is Judgement.OFFLINE
    }
    assert set(plans) == {"<", "||", "<>", "!<", "!||", "!<>"}
    assert {plan.shape for sign, plan in plans.items() if sign != "!<>"} == {PlanShape.TABLE}
    assert len({id(plan) for sign, plan in plans.items() if sign != "!<>"}) == 1


def test_relation_variables_of_one_premise_are_evaluated_in_one_pass() -> None:
    plan = compile_rules(read_rules()).of[online(Relation.UNKNOWN)]
    passes = [b for b in plan.bodies[online(Relation.UNKNOWN)] if b.instance.rule.name == "Un-2"]
    assert [b.mirrored for b in passes] == [False, True]
    assert all(
        sorted(str(part.relation) for p in b.pairs for part in p.source.parts) == ["<", "<>", "||"]
        for b in passes
    )


def test_mirror_images_that_say_the_same_are_left_out() -> None:
    plan = compile_rules(read_rules()).of[online(Relation.UNKNOWN)]
    names = [b.instance.rule.name for b in plan.bodies[online(Relation.UNKNOWN)] if b.mirrored]
    assert names == ["Un-2"], "Un-1, Un-3 and Un-4 are symmetric as they stand"


def test_rules_that_need_what_is_unstated_are_left_out() -> None:
    program = compile_rules(read_rules(), frozenset({Relation.CONCURRENT, Relation.RELATED}))
    judged = {(p[0].value, str(p[1])) for p in program.of if p[0] is not Judgement.OFFLINE}
    assert judged == {("initial", "<"), ("online", "<"), ("online", "?")}
    kept = program.of[online(Relation.UNKNOWN)].bodies[online(Relation.UNKNOWN)]
    assert {b.instance.rule.name for b in kept} == {"Un-2", "Un-3", "Un-4"}
    (before,) = program.of[online(Relation.BEFORE)].bodies[online(Relation.BEFORE)]
    assert len(before.pairs) == 1, "nothing is more accurate"


def test_the_first_of_a_relation_brings_its_rules_back() -> None:
    known = Microcosm.parse("a < b\nc < d")
    assert known.online("a", "c") is Relation.UNKNOWN
    known.add("a || d")
    assert known.online("d", "a") is Relation.CONCURRENT
    known.add("d || e")
    assert known.online("a", "e") is Relation.UNKNOWN, "by Un-1"
    why = known.why("a", "e")
    assert why is not None
    assert why.rule == "Un-1"
    known.remove("a || d")
    assert known.online("d", "a") is Relation.UNKNOWN


def test_an_addition_that_by_a_rule_makes_its_own_clash_is_refused() -> None:
    """Nothing was concurrent before, and what is given is only `<`."""
    steps = "rule Tr:\n |-0 a < e\n |-0 e < b\n ---\n |-0 a < b\n"
    rules = parse_rules(GIVEN + steps + "rule Odd:\n given b < a\n ---\n |-0 a || b")
    with pytest.raises(Contradiction):
        Microcosm.parse("x < y", rules=rules)
    empty = Microcosm.parse("", rules=rules)
    with pytest.raises(Contradiction):
        empty.add("x < y")
    assert empty.events == []
