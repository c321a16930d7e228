"""The examples of Worlds of Events, acted out: Example 2.4, Figures 2(a) and 2(b), and small cases."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm
from tests.notation import mc, table, verdicts
from tests.proofs import proved, steps

REFUSED = (Contradiction, Undefined)


def assert_verdicts(m: Microcosm, expected: str) -> None:
    """What `table(expected)` says of `m`, each verdict with a checked proof."""
    want = table(expected)
    found = verdicts({event for pair in want for event in pair}, m.online)
    assert {pair: found[pair] for pair in want} == want
    for a, b in want:
        proved(m, a, b)


# Example 2.4.


@pytest.mark.parametrize("chain", ["a<b<c", "a<b"])
def test_example_2_4_no_relation_beside_a_chain(chain: str) -> None:
    """Where a chain orders a pair, condition (4) leaves no room for a `<>` on it, nor sense for `||`."""
    first, last = chain[0], chain[-1]
    for relation in ("<>", "||"):
        with pytest.raises(REFUSED):
            Microcosm(mc(f"{chain} {first}{relation}{last}"), strict=True)
        with pytest.raises(REFUSED):
            Microcosm(mc(f"{first}{relation}{last} | {chain.replace('<', ' ')}"), strict=True)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("givens", "expected"),
    [
        # Neither a total nor a partial order among a, b, c.
        ("a||b b<>c", "a||b b<>c a.c"),
        ("a<>b b<>c", "a<>b b<>c a?c"),
        # A partial order, but no total one.
        ("a<b a<>c", "a<b a<>c b.c"),
        ("a<b b<>c", "a<b b<>c a.c"),
        # Truly a total order.
        ("a<b b<c", "a<b b<c a<c"),
        ("b<c | a b", "a<b b<c a<c"),
    ],
)
def test_example_2_4_permissible_microcosms(givens: str, expected: str, strict: bool) -> None:
    assert_verdicts(Microcosm(mc(givens), strict=strict), expected)


# Figure 2(a): a <> b, a < c; the addition of c < b orders a and b.


def test_figure_2a_strict_refuses_the_addition() -> None:
    m = Microcosm(mc("a<>b a<c"), strict=True)
    with pytest.raises(REFUSED):
        m.add("c < b")
    assert_verdicts(m, "a<>b a<c b.c")
    assert m.givens == mc("a<>b a<c")


def test_figure_2a_default_supersedes_and_brings_back() -> None:
    m = Microcosm(mc("a<>b a<c"))
    m.add("c < b")
    assert_verdicts(m, "a<b a<c c<b")
    for ordered_it in ("c < b", "a < c"):
        less = m.copy()
        less.remove(ordered_it)
        assert_verdicts(less, "a<>b")
    m.remove("a <> b")
    assert_verdicts(m, "a<b a<c c<b")


# Figure 2(b): a <> b, a < c, c <> b; the update of c <> b to c < b orders a and b.


def test_figure_2b_strict_refuses_the_update() -> None:
    m = Microcosm(mc("a<>b a<c c<>b"), strict=True)
    with pytest.raises(REFUSED):
        m.update("c < b")
    assert_verdicts(m, "a<>b a<c b<>c")
    assert m.givens == mc("a<>b a<c c<>b")


def test_figure_2b_default_supersedes_and_brings_back() -> None:
    m = Microcosm(mc("a<>b a<c c<>b"))
    m.update("c < b")
    assert_verdicts(m, "a<b a<c c<b")
    m.remove("a < c")
    assert_verdicts(m, "a<>b c<b a.c")


def test_figure_2b_the_other_direction_is_no_problem() -> None:
    for strict in (True, False):
        m = Microcosm(mc("a<>b a<c c<>b"), strict=strict)
        m.update("b < c")
        assert_verdicts(m, "a<>b a<c b<c")


def test_figure_2b_as_a_batch_ends_where_condition_4_holds() -> None:
    """What the paper leaves open: both updates at once, after which nothing is inaccurate any more."""
    m = Microcosm(mc("a<>b a<c c<>b"))
    with m.batch():
        m.update("c < b")
        m.remove("a <> b")
    assert_verdicts(m, "a<b a<c c<b")
    assert Microcosm(m.givens, strict=True).online("a", "b") is Relation.BEFORE


# What section 2 and 3 say in passing.


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "givens", ["a<b b<c c<a", "a<b a||b", "a||c a<b b<c", "a||b a<>b", "c<a | a b c", "a||c | a b c"]
)
def test_a_contradiction_is_refused_in_either_profile(givens: str, strict: bool) -> None:
    with pytest.raises(Contradiction):
        Microcosm(mc(givens), strict=strict)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("before", "addition"),
    [
        ("a<b b<c", "c < a"),
        ("a<b", "a || b"),
        ("a||b", "a < b"),
        ("a||c a<b", "b < c"),
        ("a<>b", "a || b"),
        ("a||b", "a <> b"),
        ("| a b c", "c < a"),
    ],
)
def test_a_contradictory_addition_leaves_the_state_as_it_was(
    before: str, addition: str, strict: bool
) -> None:
    m = Microcosm(mc(before), strict=strict)
    with pytest.raises(REFUSED if strict else Contradiction):
        m.add(addition)
    assert m.givens == mc(before)
    fresh = Microcosm(mc(before), strict=strict)
    assert [*m.table()] == [*fresh.table()]


def test_a_contradiction_carries_the_derivations_of_both_sides() -> None:
    m = Microcosm(mc("a<b b<c c<d"))
    with pytest.raises(Contradiction) as refused:
        m.add("a || d")
    assert refused.value.derivations
    assert any(step.rule == "In-Tr" for d in refused.value.derivations for step in steps(d))


def test_silence_is_neither_unknown_nor_concurrent() -> None:
    m = Microcosm(mc("a<b a||c"))
    assert m.online("b", "c") is Relation.SILENT
    assert m.why("b", "c") is None
    assert m.online("a", "nowhere") is Relation.UNKNOWN


def test_concurrency_is_not_transitive_and_relatedness_is_not() -> None:
    for sign in ("||", "<>"):
        m = Microcosm(mc(f"a{sign}b b{sign}c"))
        why = proved(m, "a", "c")
        assert why is not None
        assert m.online("a", "c") is Relation.UNKNOWN
        assert why.rule == "Un-1"


def test_all_pairs_of_the_internal_chain_are_given() -> None:
    events = [f"i{n}" for n in range(6)]
    m = Microcosm(mc("| " + " ".join(events)))
    assert all(m.online(a, b) is Relation.BEFORE for a, b in combinations(events, 2))
    assert all(m.online(b, a) is Relation.AFTER for a, b in combinations(events, 2))
    why = m.why("i0", "i5")
    assert why is not None
    assert {step.rule for step in steps(why)} == {"In-OK", "Init"}


def test_the_silent_pairs_of_five_events() -> None:
    """a < b, c < d, a || d: worked by hand. The outsider e is unknown to all of them."""
    m = Microcosm(mc("a<b c<d a||d"))
    # a and c: d is related to both, a || d says nothing of c.  b and d: a is.  b and c: nothing is.
    assert_verdicts(m, "a<b c<d a||d b?c a?c b.d a?e b?e c?e d?e")
    assert len({frozenset(pair) for pair in permutations(m.events, 2)}) == 6
