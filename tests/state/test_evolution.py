"""Evolution against a plain model: whatever is done to a microcosm, a fresh one agrees, and the oracle.

An operation is defined or not, its outcome contradictory or not, and a refusal leaves everything as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations

import networkx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.state.microcosm import Microcosm
from tests import oracle
from tests.model import Model, same_givens
from tests.proofs import answers, proved
from tests.strategies import drawn_from, truth, worlds_and_givens
from tests.thorough import draws

REFUSED = (Contradiction, Undefined)
OUTSIDE = "outside"


class Stop(Exception):
    """Ends a batch half-way."""


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
    run_state_machine_as_test(machine, settings=settings(max_examples=draws(15, 50), stateful_step_count=30))


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_what_no_file_could_name_is_no_event(name: str) -> None:
    known = Microcosm.parse("a < b")
    for change in (
        lambda: known.append(name),
        lambda: known.add(Correspondence(name, Relation.BEFORE, "b")),
        lambda: known.add(Correspondence("a", Relation.NOT_BEFORE, name)),
    ):
        with pytest.raises(Undefined, match="a name cannot"):
            change()
    assert known == Microcosm.parse(known.to_text())
    with pytest.raises(Undefined, match="a name cannot"):
        Microcosm.from_networkx(networkx.DiGraph([("a", name)]))


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        (lambda m: m.add('"b < c" < a'), '`"b < c" < a` would close a cycle: ⊢₀ a < "b < c" already'),
        (lambda m: Microcosm.parse('"b < c" < a < "b < c"'), 'a cycle: "b < c" < a < "b < c"'),
        (lambda m: m.remove('"b < c" || a'), '`"b < c" || a` cannot be removed'),
        (lambda m: m.update('"b < c" < d'), '`"b < c" <> d` is not an external given'),
    ],
)
def test_what_is_refused_is_told_as_a_file_would_state_it(
    doing: Callable[[Microcosm], object], said: str
) -> None:
    """Else `b < c < a` is anybody's guess."""
    with pytest.raises(REFUSED, match=re.escape(said)):
        doing(Microcosm.parse('a < "b < c"'))
