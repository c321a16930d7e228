"""The naive evaluator says what the rules say: held to the oracle, and to hand-worked small cases."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from tests import oracle
from tests.enumeration import Facts, as_givens, enumerated, inside
from tests.naive import Fact, Naive
from tests.notation import mc, table, verdicts
from tests.rulesets import ADDED, TEN, edited, extended, not_offline, ten, without
from tests.strategies import microcosms

ALL_OF_3 = enumerated("abc", superseding=True)
SAMPLE = (*ALL_OF_3, *enumerated("abcd", superseding=True)[::200])
"""What changed rules are tried on: every microcosm of 3 events, and some of 4."""


def naive_table(rules: RuleBook, facts: Facts) -> oracle.Table:
    naive = Naive(rules, as_givens(facts), "abcd")
    return {(a, b): naive.verdict(a, b).value for a, b in permutations("abcd", 2)}


def changes(rules: RuleBook, sample: tuple[Facts, ...] = SAMPLE) -> bool:
    """Whether some verdict of the sample is not that of the calculus."""
    return any(naive_table(rules, facts) != oracle.tabulate("abcd", facts, inside(facts)) for facts in sample)


@pytest.mark.parametrize(
    ("givens", "expected"),
    [
        ("a<b b<c", "a<b b<c a<c"),
        ("a<b a||c", "a<b a||c b.c"),
        ("a||b b||c", "a||b b||c a?c"),
        ("a<>b b<>c", "a<>b b<>c a?c"),
        ("a||b b<>c", "a||b b<>c a.c"),
        ("a<b b<c a<>c", "a<b b<c a<c"),
        # c <> b is superseded, so it is no premise of Un-1: nothing is said of a and b.
        ("a<>c c<b c<>b", "a<>c c<b a.b"),
        ("a<b c<d", "a<b c<d a?c a?d b?c b?d"),
        # b and d are unknown by Un-3, so is a to d by Un-2 over a || b, though c relates both to something.
        ("a||b c||d", "a||b c||d a?c a?d b?c b?d"),
        ("| a b c", "a<b b<c a<c"),
        ("a<x | a b", "a<x a<b b.x"),
        ("b!<a", "a?b"),
        ("", "a?b"),
    ],
)
def test_verdicts_by_hand(givens: str, expected: str) -> None:
    want = table(expected)
    events = {event for pair in want for event in pair}
    found = verdicts(events, Naive(read_rules(), mc(givens), events).verdict)
    assert {pair: found[pair] for pair in want} == want


def test_facts_are_judgements_of_distinct_events() -> None:
    naive = Naive(read_rules(), mc("a<b b||c"), ["outside"])
    judged = {str(fact) for fact in naive.facts if fact.judgement is Judgement.INITIAL}
    assert judged == {"⊢₀ a < b", "⊢₀ b || c", "⊢₀ c || b"}
    assert all(fact.left != fact.right for fact in naive.facts)
    assert naive.holds(Fact(Judgement.ONLINE, "b", Relation.AFTER, "a"))
    assert not naive.holds(Fact(Judgement.ONLINE, "a", Relation.AFTER, "b"))
    assert naive.verdict("outside", "a") is Relation.UNKNOWN


def test_an_event_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="z"):
        Naive(read_rules(), mc("a<b")).verdict("a", "z")


def test_rules_of_evolution_take_no_part() -> None:
    shipped = Naive(read_rules(), mc("a<b")).facts
    assert {fact for fact in shipped if fact.judgement is not Judgement.OFFLINE} == Naive(
        parse_rules(ten()), mc("a<b")
    ).facts


def test_rules_that_assume_take_no_part() -> None:
    """Two chords of a 5-cycle of `<>` need an assumption to see that they cannot be (calculus.md, fact 2)."""
    rules = read_rules()
    without = RuleBook(tuple(rule for rule in rules.rules if not rule.name.endswith("Cntrd")))
    givens = mc("a<>b b<>c c<>d d<>e e<>a a||c b||d c||e d||a e||b")
    assert Naive(rules, givens).facts == Naive(without, givens).facts


def test_naive_is_the_oracle_on_all_microcosms_of_3_events() -> None:
    for facts in ALL_OF_3:
        assert naive_table(not_offline(), facts) == oracle.tabulate("abcd", facts, inside(facts)), facts


@given(microcosms(2, 6, nasty=True))
@settings(max_examples=40)
def test_naive_is_the_oracle_on_larger_ones(givens: Givens) -> None:
    events = [*givens.named(), "outside\n"]
    naive = Naive(not_offline(), givens, events)
    assert {(a, b): naive.verdict(a, b).value for a, b in permutations(events, 2)} == oracle.verdict_table(
        events, givens
    )
    initial = {(f.left, f.relation.value, f.right) for f in naive.facts if f.judgement is Judgement.INITIAL}
    assert initial == oracle.initial(oracle.stated(givens))


def test_the_ten_rules_are_the_calculus() -> None:
    rules = parse_rules(ten())
    assert [rule.name for rule in rules.rules] == list(TEN)
    assert not changes(rules)


@pytest.mark.parametrize("name", TEN)
def test_no_rule_of_the_ten_is_idle(name: str) -> None:
    assert changes(without(name))


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("Far", "a||d c<a c||e a<>f"),
        ("Chain", "b||c b<d"),
        ("Triangle", "a||b a||c a<d b<d"),
        ("Bridge", "a<b b<>c c<d"),
    ],
)
def test_no_added_rule_is_idle(name: str, where: str) -> None:
    givens, events = mc(where), [*mc(where).named(), "outside"]
    added, shipped = Naive(extended(name), givens, events), Naive(parse_rules(ten()), givens, events)
    assert name in ADDED
    assert verdicts(events, added.verdict) != verdicts(events, shipped.verdict)


def test_un_2_reads_its_relation_as_written() -> None:
    wider = edited("R in <, ||, <>", "R in <, >, ||, <>", rule="Un-2")
    assert changes(wider)
