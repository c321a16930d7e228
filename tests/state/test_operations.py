"""Each operation of evolution by itself: add, update, remove, append, forget, batch, copy, merge.

Worlds of Events, sections 2, 3 and 6; and the evolution rules of Figure 3 as derivations.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.world import World
from tests.model import Model, same_givens
from tests.notation import mc
from tests.strategies import truth, worlds_and_givens

REFUSED = (Contradiction, Undefined)


def sames(m: Microcosm, givens: str, *, strict: bool = False) -> bool:
    """Whether `m` is given just `givens`, and says just what a fresh microcosm of them says."""
    fresh = Microcosm(mc(givens), strict=strict)
    return same_givens(m.givens, fresh.givens) and [*m.table()] == [*fresh.table()]


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_given_already_changes_nothing_or_is_not_defined(strict: bool) -> None:
    m = Microcosm(mc("a<b c||d e<>f"), strict=strict)
    for again in ("a < b", "b > a", "c || d", "d || c", "f <> e"):
        if strict:
            with pytest.raises(REFUSED):
                m.add(again)
        else:
            m.add(again)
        assert sames(m, "a<b c||d e<>f")


def test_what_is_derivable_can_be_given_by_default_and_not_strictly() -> None:
    m = Microcosm(mc("a<b b<c"))
    m.add("a < c")
    m.remove("a < b")
    assert sames(m, "b<c a<c")
    strict = Microcosm(mc("a<b b<c"), strict=True)
    with pytest.raises(REFUSED):
        strict.add("a < c")
    assert sames(strict, "a<b b<c", strict=True)


@pytest.mark.parametrize("chain", ["b < c < a", "b < c < b", "b < c < d", "d < a"])
def test_an_update_of_a_chain_is_made_whole_or_not_at_all(chain: str) -> None:
    m = Microcosm(mc("b<>c a<d"))
    with pytest.raises(REFUSED):
        m.update(chain)
    assert sames(m, "b<>c a<d")
    m.update("b < c")
    assert sames(m, "b<c a<d")


def test_a_removal_undoes_an_addition_strict() -> None:
    """M - c is defined when M = M' + c is: not where c follows from the rest (Definition 6.1)."""
    m = Microcosm(mc("a<b b<c a<c"), strict=True)
    with pytest.raises(Undefined):
        m.remove("a < c")
    assert sames(m, "a<b b<c a<c", strict=True)
    m.remove("a < b")
    assert sames(m, "b<c a<c", strict=True)


def test_a_chain_is_added_whole_or_not_at_all() -> None:
    m = Microcosm(mc("c<a"))
    with pytest.raises(Contradiction):
        m.add("x < a < b < c")
    assert sames(m, "c<a")
    m.add("x < y < c")
    assert sames(m, "c<a x<y y<c")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("givens", "removal"),
    [
        ("a<b b<c", "a < c"),  # it follows, but is not given
        ("a<b", "b < a"),
        ("a<b", "a <> b"),
        ("a<b", "a < z"),
        ("| a b c", "a < b"),  # internal pairs stay
        ("a<b | a c", "a < c"),
    ],
)
def test_only_external_givens_can_be_removed(givens: str, removal: str, strict: bool) -> None:
    m = Microcosm(mc(givens), strict=strict)
    with pytest.raises(Undefined):
        m.remove(removal)
    assert sames(m, givens, strict=strict)


def test_a_pair_of_a_token_cannot_be_removed_or_updated() -> None:
    m = Microcosm(Givens(tokens={"lock": ("a", "b", "c")}))
    for operation in (m.remove, m.update):
        with pytest.raises(Undefined):
            operation("a <> b" if operation == m.remove else "a < b")
    m.add("a < b")
    assert m.online("a", "b") is Relation.BEFORE
    m.remove("a < b")
    assert m.online("a", "b") is Relation.RELATED


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("givens", "update"),
    [("a<b", "a < b"), ("", "a < b"), ("a||b", "a < b"), ("a<>b", "a || b"), ("a<>b", "a <> b")],
)
def test_only_a_given_relatedness_is_updated_and_only_to_an_order(
    givens: str, update: str, strict: bool
) -> None:
    m = Microcosm(mc(givens), strict=strict)
    with pytest.raises(Undefined):
        m.update(update)
    assert sames(m, givens, strict=strict)


def test_an_update_that_closes_a_cycle_is_refused() -> None:
    m = Microcosm(mc("a<>b b<c c<a"))
    with pytest.raises(Contradiction):
        m.update("a < b")
    assert sames(m, "a<>b b<c c<a")
    m.update("b < a")
    assert sames(m, "b<a b<c c<a")


@pytest.mark.parametrize("strict", [False, True])
def test_append_puts_an_event_after_the_whole_chain(strict: bool) -> None:
    m = Microcosm(strict=strict)
    for event in ("i", "j", "k"):
        m.append(event)
    assert sames(m, "| i j k", strict=strict)
    with pytest.raises(Undefined):
        m.append("j")
    m.add("x < k")
    with pytest.raises(Contradiction):
        m.append("x")
    m.add("j || y")
    with pytest.raises(Contradiction):
        m.append("y")
    assert sames(m, "x<k j||y | i j k", strict=strict)


def test_append_supersedes_by_default_and_not_strictly() -> None:
    m = Microcosm(mc("i<>e | i j"))
    m.append("e")
    assert m.online("i", "e") is Relation.BEFORE
    m.forget("j")
    assert m.online("i", "e") is Relation.BEFORE
    strict = Microcosm(mc("i<>e | i j"), strict=True)
    with pytest.raises(REFUSED):
        strict.append("e")
    assert sames(strict, "i<>e | i j", strict=True)


@pytest.mark.parametrize(
    ("givens", "left"),
    [
        ("a<e e<b", "a<b"),
        ("a<e e<b a<b", "a<b"),
        ("a<e e<b a<c c<b", "a<c c<b"),
        ("a<c c<e e<d d<b", "a<c d<b c<d"),
        ("a<e b<e e<c e<d", "a<c a<d b<c b<d"),
        ("a||e e<b c<>e", "b!<a"),
        ("x<e | a e b", "x<b | a b"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_forget_keeps_the_orders_that_ran_through_the_event(givens: str, left: str, strict: bool) -> None:
    m = Microcosm(mc(givens), strict=strict)
    m.forget("e")
    assert sames(m, left, strict=strict)


def test_forget_leaves_superseded_what_was() -> None:
    m = Microcosm(mc("a<>b a<e e<b"))
    m.forget("e")
    assert sames(m, "a<>b a<b")


def test_forget_needs_an_event_that_is_named() -> None:
    m = Microcosm(mc("a<b"))
    with pytest.raises(Undefined):
        m.forget("z")
    assert sames(m, "a<b")


def test_a_batch_is_all_or_nothing() -> None:
    m = Microcosm(mc("a<b e<>f | i"))

    def spoil() -> None:
        with m.batch():
            m.add("b < c")
            m.remove("a < b")
            m.update("e < f")
            m.append("j")
            m.forget("b")
            assert m.online("i", "j") is Relation.BEFORE
            m.add("j < i")

    with pytest.raises(Contradiction):
        spoil()
    assert sames(m, "a<b e<>f | i")


def test_a_batch_within_a_batch_is_undone_alone() -> None:
    m = Microcosm(mc("a<b"))

    def spoil() -> None:
        with m.batch():
            m.add("c < d")
            m.add("b < a")

    with m.batch():
        m.add("b < c")
        with pytest.raises(Contradiction):
            spoil()
        m.add("x < y")
    assert sames(m, "a<b b<c x<y")


def test_a_copy_goes_its_own_way() -> None:
    m = Microcosm(mc("a<b c<>d"))
    other = m.copy()
    other.add("b < c")
    other.forget("d")
    m.append("i")
    assert sames(m, "a<b c<>d | i")
    assert sames(other, "a<b b<c")


def test_merge_is_the_union_of_what_both_know() -> None:
    m = Microcosm(mc("a<b | i j"))
    m.merge(Microcosm(mc("b<c a<b x||y | i j k")))
    assert sames(m, "a<b b<c x||y | i j k")
    m.merge(Microcosm(mc("| c d e")))
    assert sames(m, "a<b b<c x||y c<d d<e | i j k")


@pytest.mark.parametrize("other", ["b<a", "a||b", "| b a", "b<c c<a"])
def test_merge_refuses_what_conflicts(other: str) -> None:
    m = Microcosm(mc("a<b"))
    with pytest.raises(Contradiction) as refused:
        m.merge(Microcosm(mc(other)))
    assert len(refused.value.derivations) == 2
    assert sames(m, "a<b")


# Strng, Weak, Up-S and Up-W as derivations.


@given(worlds_and_givens(2, 6), st.data())
def test_every_evolution_is_explained_and_checked(drawn: tuple[World, Givens], data: st.DataObject) -> None:
    """Each verdict that Strng or Weak (Up-S or Up-W) is about is derived by it, and by none else."""
    world, givens = drawn
    m = Microcosm(givens)
    vague = [f for f in givens.external.values() if f.relation is Relation.RELATED]
    update = bool(vague) and data.draw(st.booleans())
    if update:
        given_before = data.draw(st.sampled_from(vague))
        change = truth(world, given_before.left, given_before.right).normal()
    else:
        change = truth(
            world, *data.draw(st.sampled_from(list(permutations(world.events, 2)))), data.draw(st.booleans())
        )
        if change.key() in givens.external:
            return
    before = {pair: m.online(*pair) for pair in permutations(world.events, 2)}
    known = {pair for pair in before if Model(givens, False).knows(*pair)}
    (m.update if update else m.add)(change)
    sharpened, carried = ("Up-S", "Up-W") if update else ("Strng", "Weak")
    for (a, b), verdict in before.items():
        why = m.explain_evolution(a, b, change, update=update)
        kept = verdict not in (Relation.UNKNOWN, Relation.SILENT) and m.online(a, b) is verdict
        own = {a, b} == {change.left, change.right} and m.online(change.left, change.right) is change.relation
        if kept or (own and ((a, b) not in known or (update and verdict is Relation.RELATED))):
            assert why is not None
        if why is not None:
            assert why.rule in ({sharpened, carried} if own else {carried})
            assert {why.conclusion.left, why.conclusion.right} == {a, b}
            now = m.online(why.conclusion.left, str(why.conclusion.right))
            assert why.conclusion.relation == str(now.value)
            assert kernel.check(m.givens, m.rules, why.to_json()) is None


def test_nothing_is_explained_by_what_is_not_given() -> None:
    m = Microcosm(mc("a<b b<c"))
    with pytest.raises(Undefined):
        m.explain_evolution("a", "c", Correspondence("a", Relation.BEFORE, "c"))
    # a < c came with b < c, but is a consequence of both: no rule of evolution says so.
    assert m.explain_evolution("a", "c", Correspondence("b", Relation.BEFORE, "c")) is None
