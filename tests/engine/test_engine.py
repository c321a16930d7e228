"""The engine: memo, tables, searches and derivations agree with one another whatever is asked first."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.prove import Prover
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import parse_rules, read_rules
from tests.naive import Naive
from tests.rulesets import not_offline

EVENTS = "abcde"
RULES = read_rules()


@st.composite
def givens(draw: st.DrawFn) -> Givens:
    """Any acyclic givens over five events, contradictions between `||` and `<` included."""
    found = Givens(internal=draw(st.sampled_from([[], ["a"], ["b", "d"], ["a", "c", "e"]])))
    for fact in draw(
        st.lists(
            st.tuples(
                st.sampled_from(EVENTS),
                st.sampled_from([Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED]),
                st.sampled_from(EVENTS),
            ),
            max_size=9,
        )
    ):
        left, relation, right = fact
        if left != right:
            if relation is Relation.BEFORE and left > right:
                left, right = right, left
            found.add(Correspondence(left, relation, right))
    return found


PAIRS = [(a, b) for a in EVENTS + "uv" for b in EVENTS + "uv" if a != b]


@given(givens())
def test_a_single_question_and_a_full_table_agree_with_the_naive_evaluator(given: Givens) -> None:
    asked, saturated = Engine(RULES, given), Engine(RULES, given)
    saturated.saturate()
    named = set(given.named())
    naive, outside = (Naive(not_offline(), given, extra_events=extra) for extra in ((), ("u", "v")))
    for a, b in PAIRS:
        if {a, b} <= named or {a, b} - named <= {"u", "v"}:
            expected = (naive if {a, b} <= named else outside).verdict(a, b)
            assert asked.verdict(a, b) is saturated.verdict(a, b) is expected


@given(givens(), st.sampled_from([0, 300]))
def test_derivations_verify_whether_searched_or_ranked(given: Givens, expansions: int) -> None:
    engine = Engine(RULES, given)
    finder = Prover(engine, given)
    finder.EXPANSIONS = expansions
    for a, b in PAIRS:
        verdict = engine.verdict(a, b)
        if verdict is not Relation.SILENT:
            derivation = finder.derive(Judgement.ONLINE, a, verdict, b)
            assert derivation is not None
            assert kernel.check(given, RULES, derivation.to_json()) is None


def test_a_chain_is_derived_as_a_shortest_path_in_balance() -> None:
    given = Givens()
    names = [f"e{n}" for n in range(65)]
    for a, b in itertools.pairwise(names):
        given.add(Correspondence(a, Relation.BEFORE, b))
    engine = Engine(RULES, given)
    long = Prover(engine, given).derive(Judgement.INITIAL, "e0", Relation.BEFORE, "e64")
    assert long is not None
    assert depth(long) == 7, "64 links nest 6 deep, and a link is one more"
    given.add(Correspondence("e1", Relation.BEFORE, "e63"))
    engine = Engine(RULES, given)
    short = Prover(engine, given).derive(Judgement.INITIAL, "e0", Relation.BEFORE, "e64")
    assert short is not None
    assert leaves(short) == ["e0 < e1", "e1 < e63", "e63 < e64"]


def test_internal_pairs_are_one_step_however_far_apart() -> None:
    given = Givens(internal=[f"e{n}" for n in range(50)])
    derivation = Prover(Engine(RULES, given), given).derive(Judgement.INITIAL, "e3", Relation.BEFORE, "e47")
    assert derivation is not None
    assert derivation.rule == "Init"


def test_a_cycle_is_named() -> None:
    given = Givens()
    for fact in ("ab", "bc", "ca", "cd"):
        given.add(Correspondence(fact[0], Relation.BEFORE, fact[1]))
    with pytest.raises(CyclicGivens) as raised:
        Engine(RULES, given)
    assert sorted(raised.value.path) == ["a", "b", "c"]


def test_the_rows_of_a_saturated_engine_tell_silence_from_not_knowing() -> None:
    """A star: the leaves all relate to the hub, so no rule says anything about two leaves."""
    given = Givens()
    for n in range(40):
        given.add(Correspondence("hub", Relation.BEFORE, f"leaf{n}"))
        given.add(Correspondence(f"lone{n}", Relation.CONCURRENT, f"lone{n + 1}"))
    engine = Engine(RULES, given)
    engine.saturate()
    rows = engine.rows(list(given.named()))
    assert sum(row[Relation.SILENT].bit_count() for row in rows) == 40 * 39 // 2
    assert engine.verdict("leaf1", "leaf2") is Relation.SILENT
    assert engine.verdict("leaf1", "lone7") is Relation.UNKNOWN


def test_rules_may_lead_to_events_never_heard_of() -> None:
    rules = parse_rules(
        "rule Init:\n given a R b\n ---\n |-0 a R b\n"
        "rule Seed:\n a in M\n b not in M\n ---\n |- a ? b\n"
        "rule Step:\n |-0 a <> e\n |- e ? b\n |/-0 a _ b\n ---\n |- a < b"
    )
    given = Givens()
    given.add(Correspondence("a", Relation.RELATED, "b"))
    engine = Engine(rules, given)
    assert engine.verdict("a", "elsewhere") is Relation.BEFORE
    assert Naive(rules, given, extra_events=("elsewhere",)).verdict("a", "elsewhere") is Relation.BEFORE


def test_an_order_may_come_from_membership_alone() -> None:
    """Such an order reaches events never heard of, so it is no closure over what is named."""
    rules = parse_rules(
        "rule Init:\n given a R b\n ---\n |-0 a R b\n"
        "rule In-Tr:\n |-0 a < b\n |-0 b < c\n ---\n |-0 a < c\n"
        "rule In-OK:\n |-0 a R b\n ---\n |- a R b\n"
        "rule Known:\n a in M\n b not in M\n ---\n |-0 a < b"
    )
    given = Givens()
    given.add(Correspondence("p", Relation.CONCURRENT, "q"))
    assert Engine(rules, given).verdict("p", "elsewhere") is Relation.BEFORE
    assert Naive(rules, given, extra_events=("elsewhere",)).verdict("p", "elsewhere") is Relation.BEFORE


def depth(derivation: object) -> int:
    level, count = [derivation], 0
    while level:
        level, count = [p for d in level for p in d.premises], count + 1  # type: ignore[attr-defined]
    return count


def leaves(derivation: object) -> list[str]:
    stack, found = [derivation], []
    while stack:
        node = stack.pop()
        stack.extend(reversed(node.premises))  # type: ignore[attr-defined]
        if not node.premises:  # type: ignore[attr-defined]
            conclusion = node.conclusion  # type: ignore[attr-defined]
            found.append(f"{conclusion.left} {conclusion.relation} {conclusion.right}")
    return found
