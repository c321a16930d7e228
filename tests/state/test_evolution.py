"""Evolution against a plain model: whatever is done to a microcosm, a fresh one agrees, and the oracle.

The model is a `Givens` changed by hand after seed 003, sections 2 and 6: an operation is defined or not,
the outcome contradictory or not, and nothing in between.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from microcosm.errors import Contradiction, Undefined
from microcosm.logic import kernel
from microcosm.relations.correspondence import GIVEN_RELATIONS, Correspondence
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation
from microcosm.state.microcosm import Microcosm
from microcosm.state.world import World
from tests import oracle
from tests.notation import mc
from tests.proofs import answers, proved
from tests.strategies import drawn_from, truth, worlds_and_givens

REFUSED = (Contradiction, Undefined)
OUTSIDE = "outside"


class Stop(Exception):
    """Ends a batch half-way."""


class Model:
    """What a microcosm is given, and which changes of it are defined."""

    def __init__(self, givens: Givens, strict: bool) -> None:
        self.givens = givens
        self.strict = strict

    def copy(self) -> Model:
        return Model(self.givens.copy(), self.strict)

    def knows(self, a: str, b: str) -> bool:
        return any({a, b} == {x, y} for x, _, y in oracle.initial(oracle.stated(self.givens)))

    def becomes(self, changed: Givens) -> type[Exception] | None:
        """Adopt `changed` unless it is contradictory; the expected error if it is."""
        if oracle.refusal(oracle.stated(changed), strict=self.strict) is not None:
            return Undefined if oracle.refusal(oracle.stated(changed)) is None else Contradiction
        self.givens = changed
        return None

    def add(self, fact: Correspondence) -> type[Exception] | None:
        if self.strict and self.knows(fact.left, fact.right):
            return Undefined
        changed = self.givens.copy()
        changed.add(fact)
        return self.becomes(changed)

    def update(self, fact: Correspondence) -> type[Exception] | None:
        vague = Correspondence(fact.left, Relation.RELATED, fact.right).key()
        if fact.normal().relation is not Relation.BEFORE or vague not in self.givens.external:
            return Undefined
        changed = self.givens.copy()
        del changed.external[vague]
        changed.add(fact)
        return self.becomes(changed)

    def remove(self, fact: Correspondence) -> type[Exception] | None:
        if fact.key() not in self.givens.external:
            return Undefined
        changed = self.givens.copy()
        del changed.external[fact.key()]
        if self.strict and Model(changed, True).knows(fact.left, fact.right):
            return Undefined
        return self.becomes(changed)

    def append(self, event: str) -> type[Exception] | None:
        if event in self.givens.internal:
            return Undefined
        changed = self.givens.copy()
        changed.internal.append(event)
        return self.becomes(changed)


def same_givens(one: Givens, other: Givens) -> bool:
    """Equal I and equal X, symmetric relations unordered; and whatever else is given."""
    return (
        one.internal == other.internal
        and one.external.keys() == other.external.keys()
        and one.clocks == other.clocks
        and {k: set(v) for k, v in one.tokens.items()} == {k: set(v) for k, v in other.tokens.items()}
    )


class Evolving(RuleBasedStateMachine):
    """Changes and questions in any order; after each step the microcosm is what the model says."""

    strict = False

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.world, givens = data.draw(worlds_and_givens(3, 6, superseding=not self.strict))
        self.model = Model(givens.copy(), self.strict)
        self.m = Microcosm(givens, strict=self.strict)
        self.merged = 0
        self.kept: list[tuple[Microcosm, oracle.Table]] = []

    def pair(self, data: st.DataObject) -> tuple[str, str]:
        return data.draw(st.sampled_from(list(permutations(self.world.events, 2))))

    def attempt(self, what: str, argument: Correspondence | str) -> None:
        """Do it to both; an error must be the one that the model expects."""
        expected = getattr(self.model, what)(argument)
        if expected is None:
            getattr(self.m, what)(argument)
            return
        with pytest.raises(REFUSED if self.strict else expected):
            getattr(self.m, what)(argument)

    @rule(data=st.data(), vague=st.booleans())
    def add_a_truth(self, data: st.DataObject, vague: bool) -> None:
        self.attempt("add", truth(self.world, *self.pair(data), vague))

    @rule(data=st.data(), relation=st.sampled_from(GIVEN_RELATIONS))
    def add_anything(self, data: st.DataObject, relation: Relation) -> None:
        a, b = self.pair(data)
        self.attempt("add", Correspondence(a, relation, b))

    @rule(data=st.data())
    def update_anything(self, data: st.DataObject) -> None:
        a, b = self.pair(data)
        self.attempt("update", Correspondence(a, Relation.BEFORE, b))

    @rule(data=st.data())
    def update_what_is_vague(self, data: st.DataObject) -> None:
        vague = [f for f in self.model.givens.external.values() if f.relation is Relation.RELATED]
        if vague:
            fact = data.draw(st.sampled_from(vague))
            self.attempt("update", truth(self.world, fact.left, fact.right))

    @rule(data=st.data())
    def remove_a_given(self, data: st.DataObject) -> None:
        if self.model.givens.external:
            fact = data.draw(st.sampled_from(list(self.model.givens.external.values())))
            self.attempt("remove", data.draw(st.sampled_from([fact, fact.converse()])))

    @rule(data=st.data(), relation=st.sampled_from(GIVEN_RELATIONS))
    def remove_anything(self, data: st.DataObject, relation: Relation) -> None:
        a, b = self.pair(data)
        self.attempt("remove", Correspondence(a, relation, b))

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        self.attempt("append", data.draw(st.sampled_from([*self.world.events, "new"])))

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        named = list(self.model.givens.named())
        if not named:
            return
        event = data.draw(st.sampled_from(named))
        before = oracle.initial(oracle.stated(self.model.givens))
        self.m.forget(event)
        after = self.m.givens
        assert event not in set(after.named())
        assert oracle.initial(oracle.stated(after)) == {f for f in before if event not in (f[0], f[2])}
        assert after.internal == [e for e in self.model.givens.internal if e != event]
        self.model.givens = after.copy()

    @rule(data=st.data())
    def batch(self, data: st.DataObject) -> None:
        """All of it or nothing."""
        trial = self.model.copy()
        steps = data.draw(st.lists(st.sampled_from(["add", "add", "update", "remove", "append"]), max_size=4))
        try:
            with self.m.batch():
                for what in steps:
                    a, b = self.pair(data)
                    vague = data.draw(st.booleans())
                    argument = a if what == "append" else truth(self.world, a, b, vague)
                    if getattr(trial, what)(argument) is not None:
                        raise Stop
                    getattr(self.m, what)(argument)
            self.model = trial
        except Stop:
            pass  # the model stays as it was, and so must the microcosm

    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        other = data.draw(drawn_from(self.world))
        self.merged += 1
        other.tokens = {f"{token} of {self.merged}": group for token, group in other.tokens.items()}
        both = oracle.stated(self.model.givens) | oracle.stated(other)
        if oracle.refusal(both, strict=self.strict) is not None:
            with pytest.raises(REFUSED):
                self.m.merge(Microcosm(other))
            return
        self.m.merge(Microcosm(other))
        assert oracle.initial(oracle.stated(self.m.givens)) == oracle.initial(both)
        self.model.givens = self.m.givens.copy()

    @rule()
    def copy(self) -> None:
        """Go on with the copy; the original must stay as it was."""
        self.kept.append((self.m, answers(self.m, self.world.events)))
        self.m = self.m.copy()

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        a, b = self.pair(data)
        proved(self.m, a, b)
        proved(self.m, a, OUTSIDE)

    @invariant()
    def the_givens_are_those_of_the_model(self) -> None:
        assert same_givens(self.m.givens, self.model.givens)

    @invariant()
    def every_verdict_is_that_of_the_oracle_and_of_a_fresh_microcosm(self) -> None:
        events = [*self.world.events, OUTSIDE]
        want = oracle.verdict_table(events, self.model.givens)
        assert answers(self.m, events) == want
        assert answers(Microcosm(self.m.givens.copy(), strict=self.strict), events) == want

    def teardown(self) -> None:
        for m, table in getattr(self, "kept", []):
            assert answers(m, self.world.events) == table


class EvolvingStrictly(Evolving):
    """The paper's profile: additions of what is known and violations of condition (4) are refused."""

    strict = True


SHORT = settings(max_examples=50, stateful_step_count=12)


def test_evolution_default() -> None:
    run_state_machine_as_test(Evolving, settings=SHORT)


def test_evolution_strict() -> None:
    run_state_machine_as_test(EvolvingStrictly, settings=SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Evolving, EvolvingStrictly])
def test_evolution_at_length(machine: type[Evolving]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=400, stateful_step_count=30))


# Each operation by itself.


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
        ("a||e e<b c<>e", ""),
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
