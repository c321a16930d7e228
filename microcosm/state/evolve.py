"""How knowledge evolves: additions, updates, removals, and what is forgotten (seed 003, sections 3 and 6).

All or nothing: an evolution that contradicts what is known is undone before the error leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from microcosm.engine.engine import CyclicGivens
from microcosm.engine.proofs.prove import Witness
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.correspondence import GIVEN_RELATIONS, Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.judgement import Judgement
from microcosm.state import contradiction
from microcosm.state.decided import Decided
from microcosm.state.forget import without_event
from microcosm.state.joining import join_messages
from microcosm.state.judged import Judged, distinct
from microcosm.state.merge import union
from microcosm.text.mc_reader import parse_correspondences

REFUTED = (Relation.NOT_BEFORE,)


class Evolving(Decided):
    """A microcosm under evolution. Its strict profile evolves as the paper allows, the other one further."""

    def add(self, given: str | Correspondence) -> None:
        """`M + (a R b)`: add what a statement says; a chain `a < b < c` is added whole or not at all.

        What is given already changes nothing (strict: `Undefined`, as is whatever is already judged).
        Raises `Contradiction`, with the derivation of the other side; the state is then unchanged.
        Cost: one row operation for each event whose past changes.
        """
        facts = _facts(given)
        if len(facts) == 1:
            self._add(facts[0])
            return
        with self.batch():
            for fact in facts:
                self._add(fact)

    def update(self, given: str | Correspondence) -> None:
        """`M[a <> b := a < b]`: a direction in place of an external `a <> b`, all or nothing.

        Raises `Undefined` where `a <> b` is not an external given, `Contradiction` as `add` does.
        Cost beyond the changes: a copy of the givens.
        """
        facts = _facts(given)
        with self.batch():
            for fact in facts:
                self._drop(self._updatable(fact))
                self._add(fact)

    def remove(self, given: str | Correspondence) -> None:
        """`M - (a R b)`: take away an external given (Definition 6.1); what follows from the rest stays.

        Raises `Undefined` where it is not given as such. Cost: what loses something is recomputed.
        """
        facts = _facts(given)
        if len(facts) == 1 and not self.strict:
            self._drop(self._removable(facts[0]))
            return
        with self.batch():
            for fact in facts:
                found = self._removable(fact)
                self._drop(found)
                if self.strict and found.relation in GIVEN_RELATIONS:
                    self._expect_undecided(found, "cannot be removed (strict), for it still follows")

    def append(self, event: str) -> None:
        """Make `event` the last of the internal chain. Raises `Undefined`, `Contradiction`."""
        if (
            event in self and event in self._givens.internal
        ):  # the chain is long: look whether it need be read
            raise Undefined(f"{event} is an internal event already")
        last = self._givens.internal[-1] if self._givens.internal else None
        if last is not None and event in self:
            back = self.derive(Judgement.INITIAL, event, Relation.BEFORE, last)
            if back is not None:
                raise contradiction.refused(f"{event} cannot follow {last} in the internal chain", back)
        self._givens.internal.append(event)
        try:
            clash = self._engine.append(event)
            problem = contradiction.of_clash(clash, self._fresh_witness()) if clash else None
            if problem is None and self.strict:
                problem = self._condition_four()
            if problem is not None:
                raise problem
        except BaseException:
            self._givens.internal.pop()
            self._engine = self._build(self._givens)
            raise
        finally:
            self._changed()

    def forget(self, event: str) -> None:
        """Drop all that names an event, keeping every initial judgement about the others, and none more.

        Orders that ran through the event are recorded as givens of their own, and each `a !< b` that offline
        propagation (depth 0) refuted by way of it as a `!<`. Not kept: that a pair is no `||` where only
        propagation ordered it by way of the event; what takes assumptions; `?` against silence. Raises
        `Undefined` for an event that nothing names. Cost: that of building the engine twice, and where
        anything is refuted, of what propagation refutes, twice (n²/8 bytes).
        """
        if event not in set(self._givens.named()):
            raise Undefined(f"nothing names the event {event}")
        self._replace(without_event(self._givens, event, self.rules))

    @contextmanager
    def batch(self) -> Iterator[Self]:
        """Several evolutions, all or nothing: an exception inside leaves the state as it was before.

        Each step is checked as it is made. Cost beyond the steps: a copy of the givens.
        """
        before = self._givens.copy()
        try:
            yield self
        except BaseException:
            self._replace(before)
            raise

    def merge(self, *others: Judged, join: bool = True) -> list[str]:
        """Take over everything that other microcosms are given, and put both ends of each message in order.

        A message is sent before it is received: where one file states the sending and another the reception,
        `send < receive` is added, from "message m" (not without `join`). Returned is what could not be
        joined, since the name of a message does not tell which sending is meant: nothing follows from it, so
        merge in one call what may name a message twice. Raises `Contradiction`, `Undefined`.

        >>> from microcosm import Microcosm
        >>> alice = Microcosm.parse("ask < wait \\n send ask = m1 alice -> lock")
        >>> alice.merge(Microcosm.parse("heard < granted \\n receive heard = m1 lock"))
        []
        >>> alice.online("ask", "granted")
        Relation.BEFORE
        """
        givens = self._givens.copy()
        for other in others:
            givens = union(givens, other.givens)
        unjoined = join_messages(givens) if join else []
        self._replace(givens)
        return unjoined

    def explain_evolution(
        self, a: str, b: str, change: Correspondence, update: bool = False
    ) -> Derivation | None:
        """The verdict on a and b as what one given brought (rules Strng, Weak, Up-S, Up-W).

        The verdict now is derived from what was judged without `change` (with `update`: when `<>`
        stood in its place). None where no evolution rule applies, e.g. for a consequence of the change
        together with others; `why` explains these. Raises `Undefined` where `change` is not given.
        """
        from microcosm.state.evolution_proof import explain_evolution

        return explain_evolution(self._engine, self._givens, self.rules, (a, b), change.checked(), update)

    # -- inside --------------------------------------------------------------------------------

    def _updatable(self, fact: Correspondence) -> Correspondence:
        """The external `a <> b` in whose place `a < b` is to be put."""
        if fact.relation is not Relation.BEFORE:
            raise Undefined(f"an update gives a direction, such as `a < b`; it cannot be `{fact}`")
        related = self._external(fact.left, Relation.RELATED, fact.right)
        if related is None:
            pair = f"{fact.left} <> {fact.right}"
            raise Undefined(f"`{pair}` is not an external given, so it cannot be updated to `{fact}`")
        return related

    def _replace(self, givens: Givens) -> None:
        self._engine = self._build(givens)
        self._givens = givens
        self._changed()

    def _external(self, left: str, relation: Relation, right: str) -> Correspondence | None:
        key = Correspondence(left, relation, right).key()
        return self._givens.external.get(key) or self._givens.refuted.get(key)

    def _removable(self, fact: Correspondence) -> Correspondence:
        found = self._external(fact.left, fact.relation, fact.right)
        if found is None:
            raise Undefined(f"`{fact}` cannot be removed: {self._why_no_given(fact)}")
        return found

    def _why_no_given(self, fact: Correspondence) -> str:
        chain = self._givens.internal
        if fact.relation is Relation.BEFORE and fact.left in chain and fact.right in chain:
            return "it is an order of internal events; forget one of them instead"
        if fact.relation in GIVEN_RELATIONS and self._engine.holds(
            Judgement.INITIAL, fact.left, fact.relation, fact.right
        ):
            return "it follows from other givens, and is not an external one itself"
        return "it is not given"

    def _add(self, fact: Correspondence) -> None:
        if fact.relation not in (*GIVEN_RELATIONS, *REFUTED):
            raise Undefined(f"`{fact}` is no correspondence: only <, >, ||, <> and !< can be given")
        distinct(fact.left, fact.right)
        key = fact.key()
        if key in self._givens.external or key in self._givens.refuted:
            if self.strict:
                raise Undefined(f"`{fact}` is given already")
            return
        if self.strict and fact.relation in GIVEN_RELATIONS:
            self._expect_undecided(fact, "cannot be added (strict)")
        try:
            clash = self._engine.add(fact)
        except CyclicGivens as cycle:
            other = self.derive(Judgement.INITIAL, fact.right, Relation.BEFORE, fact.left)
            raise contradiction.of_addition(fact, other, cycle) from None
        self._givens.add(fact)
        problem = contradiction.of_clash(clash, self._fresh_witness()) if clash else None
        if problem is None and self.strict:
            problem = self._condition_four()
        if problem is not None:
            self._drop(fact)
            raise problem
        self._changed()

    def _drop(self, fact: Correspondence) -> None:
        given = self._givens.external if fact.relation in GIVEN_RELATIONS else self._givens.refuted
        del given[fact.key()]
        self._engine.remove(fact)
        self._changed()

    def _expect_undecided(self, fact: Correspondence, problem: str) -> None:
        """`M + c` is defined only where nothing is judged of the pair in M."""
        for relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
            derivation = self.derive(Judgement.INITIAL, fact.left, relation, fact.right)
            if derivation is not None and (relation is fact.relation or relation is Relation.RELATED):
                raise Undefined(f"`{fact}` {problem}: {derivation.conclusion} already")
            if derivation is not None:
                raise contradiction.refused(f"`{fact}` {problem}", derivation)

    def _condition_four(self) -> Contradiction | None:
        superseded = self._engine.superseded()
        return contradiction.of_condition_four(*superseded, self._fresh_witness()) if superseded else None

    def _fresh_witness(self) -> Witness:
        return Witness(self._engine, self._givens)


def _facts(given: str | Correspondence) -> list[Correspondence]:
    if isinstance(given, Correspondence):
        return [given.checked().normal()]
    return [fact.normal() for fact in parse_correspondences(given)]
