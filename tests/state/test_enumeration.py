"""All microcosms of 3 and 4 events, and random larger ones: engine, naive evaluator and oracle agree.

The counts are those of the calculus itself; a change of any of them is a change of meaning.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import pytest
from hypothesis import given

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import parse_rules
from microcosm.state.microcosm import Microcosm
from tests import oracle
from tests.enumeration import Facts, all_worlds, as_givens, enumerated, inside, side_by_side, up_to_renaming
from tests.naive import Naive
from tests.proofs import answers, proved
from tests.rulesets import ten
from tests.strategies import microcosms

STRIDE = 29
"""How thin the samples are."""

OUTSIDE = "outside"
RULES = parse_rules(ten())


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


@pytest.mark.parametrize(("events", "superseding", "count"), [("abc", True, 28), ("abcd", True, 626)])
def test_how_many_differ_by_more_than_names(events: str, superseding: bool, count: int) -> None:
    """By Burnside's lemma: as many as microcosms that a renaming leaves as they are, on average."""
    assert len(up_to_renaming(events, superseding)) == count
    everything = {frozenset(facts) for facts in enumerated(events, superseding)}
    renamings = [dict(zip(events, names, strict=True)) for names in permutations(events)]
    unchanged = 0
    for names in renamings:
        for facts in everything:
            there = {(names[a], sign, names[b]) for a, sign, b in facts}
            there |= {(b, sign, a) for a, sign, b in there if sign != "<"}
            unchanged += facts <= there
    assert unchanged == count * len(renamings)


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


def test_naive_is_the_oracle_on_all_of_4_events() -> None:
    for facts in up_to_renaming("abcd", superseding=True):
        naive = Naive(RULES, as_givens(facts), "abcd")
        found = {(a, b): naive.verdict(a, b).value for a, b in permutations("abcd", 2)}
        assert found == oracle.tabulate("abcd", facts, inside(facts)), facts


# Engine and oracle.


@pytest.mark.parametrize("superseding", [False, True])
def test_engine_is_the_oracle_on_all_of_3_events(superseding: bool) -> None:
    for facts in enumerated("abc", superseding):
        found = answers(Microcosm(as_givens(facts), strict=not superseding), ["a", "b", "c", OUTSIDE])
        assert found == oracle.tabulate(["a", "b", "c", OUTSIDE], facts, inside(facts)), facts


@pytest.mark.parametrize(
    ("superseding", "stride"), [pytest.param(True, 1, id="default"), pytest.param(False, 7, id="strict")]
)
def test_engine_is_the_oracle_on_all_of_4_events(superseding: bool, stride: int) -> None:
    """On every ordered pair of every one, many of them side by side; strict is a part of default."""
    everything = enumerated("abcd", superseding)[::stride]
    for start in range(0, len(everything), 128):
        several = everything[start : start + 128]
        m = Microcosm(side_by_side(several), strict=not superseding)
        for k, facts in enumerate(several):
            found = {(a, b): m.online(f"{a}{k}", f"{b}{k}").value for a, b in permutations("abcd", 2)}
            assert found == oracle.tabulate("abcd", facts, inside(facts)), facts


def test_engine_is_the_oracle_on_each_of_4_events_alone() -> None:
    for facts in up_to_renaming("abcd", superseding=True):
        found = answers(Microcosm(as_givens(facts)), "abcd")
        assert found == oracle.tabulate("abcd", facts, inside(facts)), facts


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
    for facts in enumerated(events, superseding=True)[:: 10 * STRIDE]:
        if facts not in lawful:
            with pytest.raises((Contradiction, Undefined)):
                Microcosm(as_givens(facts), strict=True)


def test_every_verdict_of_3_events_and_an_outsider_is_proved() -> None:
    for facts in enumerated("abc", superseding=True):
        m = Microcosm(as_givens(facts))
        for a, b in permutations([*"abc", OUTSIDE], 2):
            proved(m, a, b)


@pytest.mark.parametrize(
    "stride", [pytest.param(6, id="sample"), pytest.param(1, id="all", marks=pytest.mark.thorough)]
)
def test_every_verdict_of_4_events_is_proved(stride: int) -> None:
    for facts in up_to_renaming("abcd", superseding=True)[::stride]:
        m = Microcosm(as_givens(facts))
        for a, b in permutations("abcd", 2):
            proved(m, a, b)


@given(microcosms(5, 8))
def test_engine_naive_and_oracle_agree_on_random_microcosms(givens: Givens) -> None:
    events = [*givens.named(), OUTSIDE]
    m = Microcosm(givens)
    want = oracle.verdict_table(events, givens)
    assert answers(m, events) == want
    naive = Naive(RULES, givens, events)
    assert {pair: naive.verdict(*pair).value for pair in want} == want


@given(microcosms(2, 8, nasty=True))
def test_random_verdicts_are_proved_whatever_the_names(givens: Givens) -> None:
    m = Microcosm(givens)
    for a, b in permutations([*givens.named(), OUTSIDE], 2):
        proved(m, a, b)
