"""Random rule sets: engine, naive evaluator and kernel agree, or the rules are refused at their place.

No case may take long: rules that a user makes up must not hang a question.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from random import Random
from types import FrameType

import pytest

from microcosm import Microcosm
from microcosm.errors import Contradiction, RuleError
from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import RuleBook, parse_rules
from microcosm.queries.offline import Inconsistent
from tests.assuming import Assuming
from tests.engine.test_changed_rules import check
from tests.naive import Naive
from tests.notation import mc
from tests.random_rules import random_givens, random_rules
from tests.rulesets import blocks, ten
from tests.thorough import draws

SECONDS = 10
"""A case that takes longer has hung: most take a hundredth of one."""


@contextmanager
def in_time() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done in {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def online(seed: int) -> None:
    rng = Random(seed)
    rules = random_rules(rng)
    for _ in range(3):
        givens = random_givens(rng)
        with in_time():
            check(rules, givens)
            check_derivations(rules, givens)


def check_derivations(rules: RuleBook, givens: Givens) -> None:
    """Whatever is judged, and not only what is most accurate, has a derivation that the kernel takes."""
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        return
    for fact in Naive(rules, givens).facts:
        proof = m.derive(fact.judgement, fact.left, fact.relation, fact.right)
        assert proof is not None, fact
        assert kernel.check(givens, rules, proof.to_json()) is None, fact


def offline(seed: int) -> None:
    rng = Random(seed)
    rules = random_rules(rng, offline=True)
    for depth, events in ((0, "abcd"), (1, "abc")):
        with in_time():
            check_offline(rules, random_givens(rng, events), depth)


def check_offline(rules: RuleBook, givens: Givens, depth: int) -> None:
    """What the rules refute to a depth of assumptions is what they say, read literally; and proved."""
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        return
    literally = Assuming(rules, givens, depth)
    found, proofs = None, []
    try:
        found = {(a, b): set(map(str, left)) for a, b, left in m.offline_table(depth=depth)}
    except Inconsistent as problem:
        proofs.append(problem.derivation)
    assert found == (None if literally.clash else literally.left())
    for a, b in combinations(m.events, 2) if found is not None else ():
        try:
            proofs += filter(None, m.offline(a, b, depth=depth).derivations.values())
        except Inconsistent as problem:  # no world fits, which these rules see only by cases
            proofs.append(problem.derivation)
    for proof in proofs:
        assert kernel.check(givens, rules, proof.to_json()) is None


@pytest.mark.parametrize("seed", range(40))
def test_online_verdicts_under_random_rules(seed: int) -> None:
    online(seed)


@pytest.mark.parametrize("seed", range(15))
def test_offline_verdicts_under_random_rules(seed: int) -> None:
    offline(seed)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(draws(1, 10)))
def test_online_verdicts_under_hundreds_of_random_rule_sets(hundred: int) -> None:
    for seed in range(1000 + 100 * hundred, 1100 + 100 * hundred, draws(4, 1)):
        online(seed)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(draws(1, 5)))
def test_offline_verdicts_under_hundreds_of_random_rule_sets(hundred: int) -> None:
    for seed in range(1000 + 100 * hundred, 1100 + 100 * hundred, draws(4, 1)):
        offline(seed)


# rules that once were answered wrongly, or never

ODD = {
    "any relation, where one is given nowhere": "|-0 a _ e\n |-0 e _ b\n ---\n |- a ? b",
    "any relation, and one denied": "|-0 a _ b\n |/-0 b || f\n ---\n |- a ? b",
    "any relation of the same judgement": "|-0 a _ f\n |-0 a <> b\n ---\n |-0 a || b",
    "any relation, one way": "|-0 a _ e\n |-0 e < b\n ---\n |-0 a <> b",
    "an event that is only denied": "|- a || b\n |/-0 b <> f\n ---\n |- f < a",
    "an event that is only denied, in the order": "|- a || b\n |/-0 b <> f\n ---\n |- a < b",
    "what concludes itself": "|- b ? a\n |- a ? b\n ---\n |- a ? b",
    "an order that runs in a cycle": "|- a || b\n ---\n |- a < b",
}


@pytest.mark.parametrize("rule", ODD.values(), ids=ODD)
@pytest.mark.parametrize("basis", ["ten", "init"])
def test_odd_rules_are_read_as_they_stand(rule: str, basis: str) -> None:
    """The ten rules with another one, or that one beside what says that givens hold and are approved."""
    init = "".join(block for name, block in blocks("initial.rules", "online.rules").items() if name in PLAIN)
    rules = parse_rules(f"{ten() if basis == 'ten' else init}\nrule Odd:\n {rule}\n")
    for text in ("a<b b<c", "a<>b", "a||b b<c", "a<b b<>c c<d", "a||b a<>c", "a<b b||c c<d"):
        with in_time():
            check(rules, mc(text))
            check_derivations(rules, mc(text))


PLAIN = ("Init", "In-OK")


CASES = "||- d S e where S in <, ||\n ||- d T e where T in <, || and S incompatible T"

REFUSED = {
    "the absence of ⊩ a !< b, which an assumption may bring": "||/- a !< b\n ---\n |- a ? b",
    "from ⊩ a !< b, which an assumption may bring": "||- a !< b\n ---\n |-0 a || b",
    "Odd does not assume one thing": f"assume a < b\n {CASES.replace('||- d', '||- a')}\n ---\n ||- a !< b",
    "Odd assumes something else": f"assume a < c\n b in M\n {CASES}\n ---\n ||- a !< b",
    "Odd assumes something, and does not conclude": f"assume a < b\n {CASES}\n ---\n |- a ? b",
    "Odd takes other judgements for a contradiction than Cntrd": f"assume a < b\n {CASES}\n ---\n ||- a !< b",
}


@pytest.mark.parametrize("said", REFUSED)
def test_rules_that_the_search_could_not_follow_are_refused(said: str) -> None:
    shipped = blocks("initial.rules", "online.rules", "offline.rules")
    kept = "".join(shipped[name] for name in ("Init", "In-OK", "Off-OK", "Ref-<", "Cntrd"))
    kept = kept.replace("profile full  or  |/- a _ b", "profile full")
    rules = parse_rules(f"{kept}rule Odd:\n {REFUSED[said]}\n", "odd.rules")
    with pytest.raises(RuleError) as problem:
        Microcosm(mc("a<b"), rules=rules)
    assert said in str(problem.value)
    assert str(problem.value).startswith("odd.rules:")
    assert "\n  ^\n" in str(problem.value)
