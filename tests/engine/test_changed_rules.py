"""Nothing of the calculus is hard-wired: with a rule gone, changed, renamed or added, engine is naive.

An event variable of a rule ranges over the events that the microcosm names and the two that are asked
about. The ten rules cannot tell, but others can; the naive evaluator is therefore asked pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings

from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.world import World
from tests.enumeration import as_givens, enumerated, up_to_renaming
from tests.naive import Naive
from tests.notation import mc
from tests.proofs import proved, steps
from tests.rulesets import ADDED, TEN, edited, extended, ten, without
from tests.strategies import microcosms, truth
from tests.thorough import draws

OUTSIDE = "outside"

TRANSITIVE = """
rule Co-Tr:
    |-0 a || b
    |-0 b || c
    ------------
    |-0 a || c
"""

VARIANTS: dict[str, Callable[[], RuleBook]] = {
    **{f"without {name}": partial(without, name) for name in TEN},
    **{f"with {name}": partial(extended, name) for name in ADDED},
    "wider Un-2": lambda: edited("R in <, ||, <>", "R in <, >, ||, <>", rule="Un-2"),
    "narrower Un-1": lambda: edited("R in ||, <>", "R in <>", rule="Un-1"),
    "everything approved": lambda: edited("where R is most accurate", "where R in <, ||, <>", rule="In-OK"),
    "concurrency transitive": lambda: parse_rules(ten() + TRANSITIVE),
}

TELLING = ("a||d c<a c||e a<>f", "b||c b<d", "a||b a||c a<d b<d", "a<b b<>c c<d", "a<>b a<c c<b b<>d")
"""Microcosms that tell a variant from the calculus where those of 3 events do not."""


def check(rules: RuleBook, givens: Givens, *, proofs: bool = True) -> None:
    """The engine's verdicts under `rules` are the naive ones, and proved.

    Other rules can make a microcosm contradictory; then the naive judgements contradict each other too.
    """
    naive = Naive(rules, givens)
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        assert contradictory(naive)
        return
    for a, b in permutations(naive.events, 2):
        assert m.online(a, b) is naive.verdict(a, b), f"{a}, {b}"
        if proofs:
            proved(m, a, b)
    for event in naive.events[:1] if proofs else ():
        wider = Naive(rules, givens, [OUTSIDE])
        assert m.online(event, OUTSIDE) is wider.verdict(event, OUTSIDE)
        assert m.online(OUTSIDE, event) is wider.verdict(OUTSIDE, event)
        proved(m, event, OUTSIDE)


def contradictory(naive: Naive) -> bool:
    judged = {(f.left, f.relation, f.right) for f in naive.facts if f.judgement is Judgement.INITIAL}
    unordered = {(x, y) for a, r, b in judged if r is Relation.CONCURRENT for x, y in ((a, b), (b, a))}
    return any(
        (r is Relation.BEFORE and (b, r, a) in judged)
        or (r is not Relation.CONCURRENT and (a, b) in unordered)
        for a, r, b in judged
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "stride", [pytest.param(3, id="sample"), pytest.param(1, id="all", marks=pytest.mark.thorough)]
)
def test_engine_is_naive_on_microcosms_of_3_events(variant: str, stride: int) -> None:
    rules = VARIANTS[variant]()
    first = list(VARIANTS).index(variant) % stride
    for at, facts in enumerate(enumerated("abc", superseding=True)[first::stride]):
        check(rules, as_givens(facts), proofs=at % 5 == 0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_is_naive_on_some_larger_microcosms(variant: str) -> None:
    rules = VARIANTS[variant]()
    for facts in enumerated("abcd", superseding=True)[::1500]:
        check(rules, as_givens(facts))
    for text in TELLING:
        check(rules, mc(text))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_is_naive_on_many_larger_microcosms(variant: str) -> None:
    rules = VARIANTS[variant]()
    for facts in up_to_renaming("abcd", superseding=True)[:: draws(36, 12)]:
        check(rules, as_givens(facts))

    @given(microcosms(4, 7))
    @settings(max_examples=draws(8, 20))
    def agree(givens: Givens) -> None:
        check(rules, givens)

    agree()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variant_makes_a_difference_to_the_engine(variant: str) -> None:
    rules, calculus = VARIANTS[variant](), parse_rules(ten())
    samples = [*map(mc, TELLING), *map(as_givens, enumerated("abcd", superseding=True)[::60])]
    assert any(verdicts_or_none(givens, rules) != verdicts_or_none(givens, calculus) for givens in samples)


def verdicts_or_none(givens: Givens, rules: RuleBook) -> list[Relation] | None:
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        return None
    return [m.online(a, b) for a, b in permutations([*m.events, OUTSIDE], 2)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_after_evolution_the_engine_is_a_fresh_one(variant: str) -> None:
    rules, rng = VARIANTS[variant](), Random(variant)
    for _ in range(4):
        world = World.random("abcde", rng, 0.4)
        m = Microcosm(rules=rules)
        for _ in range(8):
            a, b = rng.sample(world.events, 2)
            try:
                if m.givens.external and rng.random() < 0.3:
                    m.remove(rng.choice(list(m.givens.external.values())))
                else:
                    m.add(truth(world, a, b, rng.random() < 0.5))
            except Contradiction:
                pass
            fresh = Microcosm(m.givens, rules=rules)
            assert [m.online(*pair) for pair in permutations("abcdez", 2)] == [
                fresh.online(*pair) for pair in permutations("abcdez", 2)
            ]


def test_a_renamed_rule_shows_its_new_name_in_proofs() -> None:
    samples = [*map(mc, TELLING), *map(as_givens, enumerated("abcd", superseding=True)[::1500])]
    for name in TEN:
        rules = edited(f"rule {name}:", "rule Renamed:", rule=name)
        used: set[str] = set()
        for givens in samples:
            m = Microcosm(givens, rules=rules)
            for a, b in permutations([*m.events, OUTSIDE], 2):
                if why := proved(m, a, b):
                    used |= {step.rule for step in steps(why)}
        assert "Renamed" in used, name
        assert name not in used


def test_without_online_rules_everything_is_silent() -> None:
    rules = parse_rules("rule Init:\n    given a R b\n    ------------\n    |-0 a R b\n")
    m = Microcosm(mc("a<b"), rules=rules)
    assert m.online("a", "b") is m.online("a", OUTSIDE) is Relation.SILENT
    assert m.holds(Judgement.INITIAL, "a", Relation.BEFORE, "b")


def test_a_verdict_may_have_another_meaning_under_other_rules() -> None:
    """A rule that approves only what is given outright: a transitive consequence becomes silent."""
    approved = "|-0 a R b                     where R is most accurate"
    rules = edited(approved, "given a R b                   where R in <, ||, <>", rule="In-OK")
    m = Microcosm(mc("a<b b<c"), rules=rules)
    assert m.online("a", "b") is Relation.BEFORE
    assert m.online("a", "c") is Relation.SILENT
    proved(m, "a", "b")
