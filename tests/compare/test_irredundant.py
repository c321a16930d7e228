"""Irredundant microcosms: what is left out follows, and nothing of what is left does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Contradiction, Microcosm, bisimilar
from microcosm.compare import removals as module
from microcosm.compare.removals import irredundant, is_irredundant, redundant
from microcosm.compare.verdict_rows import analogous
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from tests import oracle
from tests.compare.test_analogy import BOOKS
from tests.strategies import microcosms


@given(microcosms(2, 7))
def test_the_reduction_is_analogous_and_minimal(givens: Givens) -> None:
    m = Microcosm(givens)
    reduced = irredundant(m)
    assert analogous(m, reduced)
    assert is_irredundant(reduced)
    events = sorted(givens.named())
    table = oracle.verdict_table(events, givens)
    assert oracle.verdict_table(events, reduced.givens) == table
    for key in reduced.givens.external:
        less = reduced.givens.copy()
        del less.external[key]
        assert oracle.verdict_table(events, less) != table


@given(microcosms(2, 6))
def test_intervals_and_trials_find_the_same(givens: Givens) -> None:
    m = Microcosm(givens)
    facts = [fact for _, fact in sorted(givens.external.items())]
    assert module._by_intervals(m, facts) == module._by_trial(m, facts)


@given(microcosms(2, 5), st.sampled_from(sorted(BOOKS)))
def test_the_reduction_under_other_rules(givens: Givens, book: str) -> None:
    try:
        m = Microcosm(givens, rules=BOOKS[book])
    except Contradiction:
        return
    reduced = irredundant(m)
    for fact in redundant(m):
        verdicts = m.online(fact.left, fact.right), reduced.online(fact.left, fact.right)
        assert verdicts[0] is verdicts[1]


@given(microcosms(2, 6))
def test_irredundant_and_analogous_with_equal_internal_events_means_equal_givens(givens: Givens) -> None:
    """The reduction is the same wherever one starts: the transitive reduction is unique."""
    m = Microcosm(givens)
    closed = givens.copy()
    for a, b, verdict in m.table():
        if verdict.value in ("<", ">"):
            closed.add(Correspondence(a, verdict, b))
    assert bisimilar(irredundant(m), irredundant(Microcosm(closed)), backward=True).holds


@pytest.mark.parametrize(("one", "other"), [("internal a < b", "a < b"), ("token t = a, b", "a <> b")])
def test_with_other_internal_events_or_tokens_it_does_not(one: str, other: str) -> None:
    """Nothing is redundant in either, they are analogous, and not given the same."""
    left, right = Microcosm.parse(one), Microcosm.parse(other)
    assert is_irredundant(left)
    assert is_irredundant(right)
    assert bisimilar(left, right).holds
    assert not bisimilar(left, right, backward=True).holds
