"""The statements of Worlds of Events, each by its number, on microcosms drawn from worlds.

What the paper proves on paper is tried here on the engine; where it is a statement about judgements and
not about verdicts, on the naive evaluator.
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import parse_rules
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.world import World
from tests import oracle
from tests.enumeration import all_worlds, as_givens, enumerated
from tests.naive import Naive
from tests.notation import mc
from tests.proofs import answers, proved, steps
from tests.rulesets import ten
from tests.strategies import correspondences, drawn_from, microcosms, rngs, shares, worlds, worlds_and_givens

OUTSIDE = "outside"
UNDECIDED = (Relation.UNKNOWN, Relation.SILENT)


@given(worlds())
def test_proposition_2_2_every_world_is_consistent(world: World) -> None:
    """Two accurate relations of one pair are the same; `<>` is `<` or `>`, and so is not `||`."""
    accurate = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
    for a, b in permutations(world.events, 2):
        [holding] = [relation for relation in accurate if world.holds(a, relation, b)]
        assert holding is world.relation(a, b) is world.relation(b, a).converse
        assert world.holds(a, Relation.RELATED, b) == (holding is not Relation.CONCURRENT)
        assert world.holds(b, Relation.RELATED, a) == world.holds(a, Relation.RELATED, b)


def test_proposition_2_2_on_every_world_of_4_events() -> None:
    for world in all_worlds("abcd"):
        for a, b in permutations(world.events, 2):
            both = {(a, b), (b, a)} & world.before
            assert len(both) < 2
            assert (world.relation(a, b) is Relation.CONCURRENT) == (not both)
            assert all((a, d) in world.before for c, d in world.before if (a, c) in world.before)


@given(microcosms())
def test_lemma_3_2_what_is_judged_online_is_judged_at_once(givens: Givens) -> None:
    m, initial = Microcosm(givens), oracle.initial(oracle.stated(givens))
    for a, b in permutations(m.events, 2):
        verdict = m.online(a, b)
        if verdict not in UNDECIDED:
            left, right = (b, a) if verdict is Relation.AFTER else (a, b)
            sign = "<" if verdict is Relation.AFTER else verdict.value
            assert (left, sign, right) in initial
            why = proved(m, a, b)
            assert why is not None
            assert any(
                (p.conclusion.judgement, p.conclusion.left, p.conclusion.relation, p.conclusion.right)
                == (Judgement.INITIAL, left, sign, right)
                for p in why.premises
            )


@given(microcosms(2, 6))
def test_lemma_3_3_what_a_derivation_does_not_use_can_go(givens: Givens) -> None:
    m = Microcosm(givens)
    for a, b in permutations(m.events, 2):
        why = proved(m, a, b)
        if why is None:
            continue
        used = {(s.conclusion.left, s.conclusion.relation, s.conclusion.right) for s in steps(why)}
        for fact in givens.external.values():
            if (fact.left, fact.relation.value, fact.right) not in used:
                smaller = m.copy()
                smaller.remove(fact)
                assert smaller.online(a, b) is m.online(a, b), f"without {fact}"


@given(microcosms(2, 6))
def test_theorem_3_4_every_verdict_is_found_in_finitely_many_steps(givens: Givens) -> None:
    """Silence included; and no derivation passes through one conclusion twice."""
    m = Microcosm(givens)
    found = {(a, b): relation for a, b, relation in m.table()}
    assert list(found) == list(combinations(m.events, 2))
    assert set(found.values()) <= {
        Relation.BEFORE,
        Relation.AFTER,
        Relation.CONCURRENT,
        Relation.RELATED,
        Relation.UNKNOWN,
        Relation.SILENT,
    }
    for a, b in found:
        if why := proved(m, a, b):
            assert_no_conclusion_rests_on_itself(why)


def assert_no_conclusion_rests_on_itself(derivation: Derivation) -> None:
    stack = [(derivation, frozenset([derivation.conclusion]))]
    while stack:
        step, above = stack.pop()
        for premise in step.premises:
            if premise.rule != "absent":
                assert premise.conclusion not in above
                stack.append((premise, above | {premise.conclusion}))


@given(microcosms(2, 6))
@settings(max_examples=40)
def test_theorem_3_6_no_pair_has_two_relations(givens: Givens) -> None:
    naive = Naive(parse_rules(ten()), givens, [OUTSIDE])
    online: dict[tuple[str, str], set[Relation]] = {}
    for fact in naive.facts:
        if fact.judgement is Judgement.ONLINE:
            online.setdefault((fact.left, fact.right), set()).add(fact.relation)
            online.setdefault((fact.right, fact.left), set()).add(fact.relation.converse)
    assert all(len(relations) == 1 for relations in online.values())


def test_theorem_3_6_on_every_microcosm_of_3_events() -> None:
    for facts in enumerated("abc", superseding=True):
        m = Microcosm(as_givens(facts))
        for a, b in combinations("abc", 2):
            assert m.online(a, b) is m.online(b, a).converse


def test_definition_3_8_accuracy_is_this_partial_order() -> None:
    judged = [
        Relation.UNKNOWN,
        Relation.RELATED,
        Relation.BEFORE,
        Relation.AFTER,
        Relation.CONCURRENT,
        Relation.SILENT,
    ]
    strictly = {(a, b) for a, b in product(judged, judged) if a.at_most_as_accurate_as(b) and a is not b}
    assert strictly == {
        (Relation.UNKNOWN, Relation.RELATED),
        (Relation.UNKNOWN, Relation.CONCURRENT),
        (Relation.UNKNOWN, Relation.BEFORE),
        (Relation.UNKNOWN, Relation.AFTER),
        (Relation.RELATED, Relation.BEFORE),
        (Relation.RELATED, Relation.AFTER),
    }
    assert all(a.at_most_as_accurate_as(a) for a in judged)
    for a, b, c in product(judged, repeat=3):
        if a.at_most_as_accurate_as(b) and b.at_most_as_accurate_as(c):
            assert a.at_most_as_accurate_as(c)
            assert a is c or not c.at_most_as_accurate_as(a)


@given(worlds_and_givens())
def test_lemma_3_9_a_microcosm_approximates_its_world(drawn: tuple[World, Givens]) -> None:
    world, givens = drawn
    m = Microcosm(givens)
    for a, b in permutations(world.events, 2):
        verdict = m.online(a, b)
        assert verdict is Relation.SILENT or verdict.at_most_as_accurate_as(world.relation(a, b))


@given(st.data())
def test_corollary_3_10_microcosms_of_one_world_never_conflict(data: st.DataObject) -> None:
    world = data.draw(worlds(2, 6))
    one, other = (Microcosm(data.draw(drawn_from(world))) for _ in range(2))
    for a, b in permutations(world.events, 2):
        r, s = one.online(a, b), other.online(a, b)
        if Relation.SILENT not in (r, s):
            assert r.at_most_as_accurate_as(s) or s.at_most_as_accurate_as(r)


def arrivals(world: World, share: float, rng_share: st.DataObject, *, strict: bool) -> list[Correspondence]:
    """Correspondences of `world`; under `strict` such that each order of arrival is defined.

    That is so when none follows from the others and condition (4) holds of all together.
    """
    givens = world.microcosm(
        rng_share.draw(rngs()), share, vague=rng_share.draw(shares), internal=0.0, superseding=not strict
    )
    facts = list(givens.external.values())
    if not strict:
        return facts
    kept = list(facts)
    for fact in facts:
        rest = [f for f in kept if f is not fact]
        known = oracle.initial((f.left, str(f.relation.value), f.right) for f in rest)
        if any(
            (x, s, y) in known for x, y in permutations((fact.left, fact.right)) for s in ("<", "||", "<>")
        ):
            kept = rest
    return kept


@given(st.data())
def test_theorem_5_12_order_of_arrival_strict(data: st.DataObject) -> None:
    check_theorem_5_12(data, strict=True)


@given(st.data())
def test_theorem_5_12_order_of_arrival_default(data: st.DataObject) -> None:
    check_theorem_5_12(data, strict=False)


def check_theorem_5_12(data: st.DataObject, *, strict: bool) -> None:
    """Two analogous microcosms that are told the same in two orders are analogous again."""
    world = data.draw(worlds(2, 6))
    facts = arrivals(world, data.draw(shares), data, strict=strict)
    first, second = Microcosm(strict=strict), Microcosm(strict=strict)
    for fact in facts:
        first.add(fact)
    for fact in data.draw(st.permutations(facts)):
        second.add(fact)
    want = oracle.verdict_table(world.events, first.givens)
    assert answers(first, world.events) == answers(second, world.events) == want
    for a, b in permutations(world.events, 2):
        proved(first, a, b)
        proved(second, a, b)


@given(st.data())
def test_theorem_5_12_when_defined_both_ways_strict(data: st.DataObject) -> None:
    """Orders that are not always defined: what one refuses the other need not, but both ends agree."""
    world = data.draw(worlds(2, 5))
    facts = arrivals(world, data.draw(shares), data, strict=False)
    ends = []
    for order in (facts, data.draw(st.permutations(facts))):
        m = Microcosm(strict=True)
        try:
            for fact in order:
                m.add(fact)
        except (Undefined, Contradiction):
            return
        ends.append(answers(m, world.events))
    assert ends[0] == ends[1]


# The lemmata on the way to Theorem 5.10: analogous microcosms that are told the same.


def initially(m: Microcosm) -> set[tuple[str, str, str]]:
    return oracle.initial(oracle.stated(m.givens))


def analogous_to(m: Microcosm, rng: Random) -> Microcosm:
    """Another one with the same verdicts: orders that follow are given or not, symmetric ones are turned."""
    chain = list(pairwise(m.givens.internal))
    orders = {(a, b) for a, sign, b in initially(m) if sign == "<"}
    covering = {(a, b) for a, b in orders if not any((a, e) in orders and (e, b) in orders for e in m.events)}
    told = sorted(covering.difference(chain) | {pair for pair in orders if rng.random() < 0.4})
    facts = [Correspondence(a, Relation.BEFORE, b) for a, b in told]
    for fact in m.givens.external.values():
        if fact.relation is not Relation.BEFORE:
            ends = (fact.left, fact.right) if rng.random() < 0.5 else (fact.right, fact.left)
            facts.append(Correspondence(ends[0], fact.relation, ends[1]))
    other = Givens(internal=list(m.givens.internal))
    for fact in rng.sample(facts, len(facts)):
        other.add(fact)
    return Microcosm(other, strict=True)


Told = tuple[Microcosm, Microcosm, Microcosm, Microcosm, Correspondence]


@st.composite
def told_the_same(draw: st.DrawFn) -> Told | None:
    """M, an analogous M', both with the same addition c, and c; None where it is not defined (in both)."""
    world, givens = draw(worlds_and_givens(2, 6, superseding=False))
    m = Microcosm(givens, strict=True)
    other = analogous_to(m, draw(rngs()))
    assert answers(m, world.events) == answers(other, world.events)
    fact = draw(correspondences(world)).normal()
    ends = []
    for old in (m, other):
        new = old.copy()
        try:
            new.add(fact)
        except (Undefined, Contradiction):
            new = old
        ends.append(new)
    assert (ends[0] is m) == (ends[1] is other), "analogous microcosms can be told the same"
    return None if ends[0] is m else (m, other, ends[0], ends[1], fact)


def uses(derivation: Derivation, fact: Correspondence) -> bool:
    """Whether a correspondence appears in a derivation, on either side where it is symmetric."""
    said = {(s.conclusion.left, s.conclusion.relation, s.conclusion.right) for s in steps(derivation)}
    ends = [(fact.left, fact.right)]
    if fact.relation is not Relation.BEFORE:
        ends.append((fact.right, fact.left))
    return any((a, str(fact.relation), b) in said for a, b in ends)


@given(told_the_same())
def test_lemma_5_3_analogous_microcosms_judge_the_same_initially_after_the_same_addition(
    told: Told | None,
) -> None:
    if told is not None:
        m, other, new, changed, _ = told
        assert initially(m) == initially(other)
        assert initially(new) == initially(changed)


def test_lemma_5_3_needs_condition_4() -> None:
    """A `<>` that is superseded is an initial judgement, of which analogy sees nothing."""
    one, other = Microcosm(mc("a<b b<c a<>c")), Microcosm(mc("a<b b<c"))
    assert answers(one, "abc") == answers(other, "abc")
    assert initially(one) != initially(other)
    for m in (one, other):
        m.add("c < d")
    assert initially(one) != initially(other)
    assert answers(one, "abcd") == answers(other, "abcd")


@given(told_the_same())
def test_lemma_5_5_a_verdict_that_does_not_use_the_addition_is_that_of_the_other_microcosm(
    told: Told | None,
) -> None:
    if told is None:
        return
    m, other, new, changed, fact = told
    for a, b in permutations(sorted({*new.events}), 2):
        why = proved(new, a, b)
        if why is not None and not uses(why, fact):
            assert m.online(a, b) is other.online(a, b) is new.online(a, b), "Lemma 3.3, and analogy"
            proved(changed, a, b)
            assert changed.online(a, b) is new.online(a, b)


@given(told_the_same())
def test_lemma_5_7_a_verdict_that_uses_the_addition_is_found_in_the_other_microcosm(
    told: Told | None,
) -> None:
    if told is None:
        return
    _, _, new, changed, fact = told
    used = 0
    for a, b in permutations(sorted({*new.events}), 2):
        why = proved(new, a, b)
        if why is not None and uses(why, fact):
            used += 1
            assert proved(changed, a, b) is not None
            assert changed.online(a, b) is new.online(a, b)
    assert used >= 1, "that of the pair itself does"


# The rules between a microcosm and its evolution are admissible.


@given(worlds_and_givens(2, 6), st.data())
def test_strng_what_was_undecided_is_decided_by_the_addition(
    drawn: tuple[World, Givens], data: st.DataObject
) -> None:
    world, givens = drawn
    a, b = data.draw(st.sampled_from(list(permutations(world.events, 2))))
    m = Microcosm(givens)
    if m.online(a, b) in UNDECIDED:
        m.add(Correspondence(a, world.relation(a, b), b))
        assert m.online(a, b) is world.relation(a, b)
        proved(m, a, b)


@given(worlds_and_givens(2, 6), st.data())
def test_weak_an_addition_takes_nothing_away(drawn: tuple[World, Givens], data: st.DataObject) -> None:
    world, givens = drawn
    c, d = data.draw(st.sampled_from(list(permutations(world.events, 2))))
    m = Microcosm(givens)
    before = {pair: m.online(*pair) for pair in permutations(world.events, 2)}
    m.add(Correspondence(c, world.relation(c, d), d))
    for pair, verdict in before.items():
        assert verdict in UNDECIDED or verdict.at_most_as_accurate_as(m.online(*pair))


@given(worlds_and_givens(2, 6), st.data())
def test_up_s_and_up_w_an_update_sharpens_one_pair(drawn: tuple[World, Givens], data: st.DataObject) -> None:
    world, givens = drawn
    vague = [fact for fact in givens.external.values() if fact.relation is Relation.RELATED]
    if not vague:
        return
    chosen = data.draw(st.sampled_from(vague))
    m = Microcosm(givens)
    before = {pair: m.online(*pair) for pair in permutations(world.events, 2)}
    sharper = Correspondence(chosen.left, world.relation(chosen.left, chosen.right), chosen.right)
    m.update(sharper)
    assert m.online(sharper.left, sharper.right) is sharper.relation
    for pair, verdict in before.items():
        assert verdict in UNDECIDED or verdict.at_most_as_accurate_as(m.online(*pair))


@pytest.mark.parametrize("strict", [False, True])
def test_nothing_is_silent_or_unknown_for_want_of_trying(strict: bool) -> None:
    """A world told in full is known in full."""
    world = World.of("abcdef", [("a", "b"), ("b", "c"), ("d", "c"), ("d", "e")])
    m = Microcosm(strict=strict)
    for a, b in world.before:
        if not any((a, e) in world.before and (e, b) in world.before for e in world.events):
            m.add(Correspondence(a, Relation.BEFORE, b))
    for a, b in combinations(world.events, 2):
        if world.relation(a, b) is Relation.CONCURRENT:
            m.add(Correspondence(a, Relation.CONCURRENT, b))
    assert answers(m, world.events) == {
        (a, b): world.relation(a, b).value for a, b in permutations(world.events, 2)
    }
