"""All microcosms of 3 and 4 events, and random larger ones: engine, naive evaluator and oracle agree.

The counts are those of the calculus itself; a change of any of them is a change of meaning.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings

from microcosm.engine.naive import Naive
from microcosm.errors import Contradiction, Undefined
from microcosm.logic.judgement import Fact, Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation
from microcosm.state.microcosm import Microcosm
from microcosm.state.world import all_worlds
from tests import oracle
from tests.enumeration import Facts, as_givens, enumerated, inside
from tests.proofs import answers, proved, steps
from tests.rulesets import ADDED, TEN, edited, extended, ten, without
from tests.strategies import microcosms

STRIDE = 13
"""How thin the sweeps are that `-m slow` runs in full."""

OUTSIDE = "outside"


def fits(facts: Facts) -> bool:
    """Whether some world of 4 events agrees with all facts: the worlds of each fact, met as bits."""
    common = -1
    for fact in facts:
        common &= _worlds_where(*fact)
    return common != 0


@cache
def _worlds_where(a: str, sign: str, b: str) -> int:
    worlds = all_worlds("abcd")
    return sum(1 << at for at, world in enumerate(worlds) if world.holds(a, Relation(sign), b))


# The numbers of the calculus, by the oracle.


@pytest.mark.parametrize(
    ("events", "superseding", "count"),
    [("abc", False, 111), ("abc", True, 117), ("abcd", False, 10_191), ("abcd", True, 12_123)],
)
def test_how_many_microcosms_there_are(events: str, superseding: bool, count: int) -> None:
    assert len(enumerated(events, superseding)) == len(set(enumerated(events, superseding))) == count


def test_all_but_108_fit_a_world_and_most_undecided_pairs_are_silent() -> None:
    fitting = [facts for facts in enumerated("abcd") if fits(facts)]
    assert len(fitting) == 10_083
    undecided = [
        verdict
        for facts in fitting
        for (a, b), verdict in oracle.tabulate("abcd", facts, inside(facts)).items()
        if a < b and verdict in ("?", None)
    ]
    assert (undecided.count(None), len(undecided)) == (7_500, 13_074)


def test_every_microcosm_of_3_events_fits_a_world() -> None:
    assert all(fits(facts) for facts in enumerated("abc"))


def test_a_superseded_relation_is_no_premise_of_un_1_and_un_2() -> None:
    """168 tables would differ if it were."""
    different = [
        facts
        for facts in enumerated("abcd", superseding=True)
        if oracle.tabulate("abcd", facts, inside(facts))
        != oracle.tabulate("abcd", facts, inside(facts), strict=True)
    ]
    assert len(different) == 168
    assert not set(different) & set(enumerated("abcd"))


# Naive evaluator and oracle.


@pytest.mark.parametrize(
    "stride", [pytest.param(3 * STRIDE, id="sample"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
def test_naive_is_the_oracle(stride: int) -> None:
    for facts in enumerated("abcd", superseding=True)[::stride]:
        naive = Naive(read_rules(), as_givens(facts), "abcd")
        found = {(a, b): naive.verdict(a, b).value for a, b in permutations("abcd", 2)}
        assert found == oracle.tabulate("abcd", facts, inside(facts)), facts


# Engine and oracle.


@pytest.mark.parametrize("events", ["abc", "abcd"])
@pytest.mark.parametrize("strict", [False, True])
def test_engine_is_the_oracle_on_every_ordered_pair(events: str, strict: bool) -> None:
    for facts in enumerated(events, superseding=not strict):
        found = answers(Microcosm(as_givens(facts), strict=strict), events)
        assert found == oracle.tabulate(events, facts, inside(facts)), facts


def test_table_lists_the_named_events() -> None:
    for facts in enumerated("abcd", superseding=True)[::STRIDE]:
        m = Microcosm(as_givens(facts))
        assert m.events == sorted(inside(facts))
        want = oracle.tabulate(m.events, facts, inside(facts))
        assert [(a, b, r.value) for a, b, r in m.table()] == [
            (a, b, want[a, b]) for a, b in combinations(m.events, 2)
        ]


@pytest.mark.parametrize("events", ["abc", "abcd"])
def test_strict_refuses_what_violates_condition_4_and_default_does_not(events: str) -> None:
    lawful = set(enumerated(events))
    for facts in enumerated(events, superseding=True)[::STRIDE]:
        if facts not in lawful:
            with pytest.raises((Contradiction, Undefined)):
                Microcosm(as_givens(facts), strict=True)


def test_every_verdict_of_3_events_and_an_outsider_is_proved() -> None:
    for facts in enumerated("abc", superseding=True):
        m = Microcosm(as_givens(facts))
        for a, b in permutations([*"abc", OUTSIDE], 2):
            proved(m, a, b)


@pytest.mark.parametrize(
    "stride", [pytest.param(4 * STRIDE, id="sample"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
def test_every_verdict_of_4_events_is_proved(stride: int) -> None:
    for facts in enumerated("abcd", superseding=True)[::stride]:
        m = Microcosm(as_givens(facts))
        for a, b in permutations("abcd", 2):
            proved(m, a, b)


@given(microcosms(5, 8))
def test_engine_naive_and_oracle_agree_on_random_microcosms(givens: Givens) -> None:
    events = [*givens.named(), OUTSIDE]
    m = Microcosm(givens)
    want = oracle.verdict_table(events, givens)
    assert answers(m, events) == want
    naive = Naive(read_rules(), givens, events)
    assert {pair: naive.verdict(*pair).value for pair in want} == want


@given(microcosms(2, 8, nasty=True))
def test_random_verdicts_are_proved_whatever_the_names(givens: Givens) -> None:
    m = Microcosm(givens)
    for a, b in permutations([*givens.named(), OUTSIDE], 2):
        proved(m, a, b)


# Other rules than the shipped ones.

SAMPLE = (*enumerated("abc", superseding=True), *enumerated("abcd", superseding=True)[::97])


def check_with(rules: RuleBook, givens: Givens, events: str) -> oracle.Table | None:
    """The engine's verdicts under `rules`, which must be the naive ones and proved; None where refused.

    Under changed rules a microcosm can become contradictory; then the naive facts are contradictory too.
    """
    naive = Naive(rules, givens, events)
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        assert contradictory(naive)
        return None
    found = answers(m, events)
    assert found == {(a, b): naive.verdict(a, b).value for a, b in permutations(events, 2)}
    for a, b in permutations(events, 2):
        proved(m, a, b)
    return found


def contradictory(naive: Naive) -> bool:
    judged = {(f.left, f.relation.value, f.right) for f in naive.facts if f.judgement is Judgement.INITIAL}
    return any(
        (sign == "<" and ((b, "<", a) in judged or {(a, "||", b), (b, "||", a)} & judged))
        or (sign == "<>" and {(a, "||", b), (b, "||", a)} & judged)
        for a, sign, b in judged
    )


@pytest.mark.parametrize("name", TEN)
def test_without_a_rule_some_verdict_changes_and_engine_is_naive(name: str) -> None:
    changed = False
    for facts in SAMPLE:
        found = check_with(without(name), as_givens(facts), "abcd")
        changed = changed or found != oracle.tabulate("abcd", facts, inside(facts))
    assert changed


VARIANTS = {
    "wider Un-2": lambda: edited("R in <, ||, <>", "R in <, >, ||, <>", rule="Un-2"),
    "narrower Un-1": lambda: edited("R in ||, <>", "R in <>", rule="Un-1"),
    "everything approved": lambda: edited("where R is most accurate", "where R in <, ||, <>", rule="In-OK"),
    "|| transitive": lambda: parse_rules(
        ten() + "\nrule Co-Tr:\n    |-0 a || b\n    |-0 b || c\n    ------------\n    |-0 a || c\n"
    ),
    **{name: (lambda name=name: extended(name)) for name in ADDED},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_with_changed_rules_engine_is_naive(name: str) -> None:
    rules = VARIANTS[name]()
    changed = False
    for facts in SAMPLE:
        found = check_with(rules, as_givens(facts), "abcd")
        changed = changed or found != oracle.tabulate("abcd", facts, inside(facts))
    assert changed


@pytest.mark.parametrize("name", VARIANTS)
def test_with_changed_rules_engine_is_naive_on_larger_microcosms(name: str) -> None:
    rules = VARIANTS[name]()

    @given(microcosms(4, 6))
    @settings(max_examples=15)
    def agree(givens: Givens) -> None:
        check_with(rules, givens, [*givens.named(), OUTSIDE])

    agree()


@pytest.mark.parametrize("name", TEN)
def test_a_renamed_rule_shows_its_new_name_in_proofs(name: str) -> None:
    rules = edited(f"rule {name}:", "rule Renamed:", rule=name)
    used = set()
    for facts in SAMPLE:
        m = Microcosm(as_givens(facts), rules=rules)
        for a, b in permutations("abcd", 2):
            if why := proved(m, a, b):
                used |= {step.rule for step in steps(why)}
    assert "Renamed" in used
    assert name not in used


def test_initial_judgements_are_not_approved_by_name() -> None:
    """Nothing is hard-wired: without any online rule every pair is silent."""
    rules = parse_rules("rule Init:\n    given a R b\n    ------------\n    |-0 a R b\n")
    naive = Naive(rules, as_givens((("a", "<", "b"),)))
    assert naive.facts == {Fact(Judgement.INITIAL, "a", Relation.BEFORE, "b")}
    assert Microcosm(as_givens((("a", "<", "b"),)), rules=rules).online("a", "b") is Relation.SILENT
