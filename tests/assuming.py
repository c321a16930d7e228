"""Offline judgements to a depth of nested assumptions, read off the rules literally: slow, obviously right.

What follows without assumptions is the naive evaluator's; an assumption is one more fact, and a rule that
assumes is tried on every pair. Nothing of the propagation, the search or the tables of the engine is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations, product

from microcosm.engine.strata import strata
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Assume, Incompatible, Instance, Judged, Judgement
from microcosm.logic.rulebook import RuleBook
from tests.naive import Fact, Naive, turns


class Assuming(Naive):
    """What is judged of some givens by rules that may assume, nested up to `depth`.

    `clash` says whether two judgements of the microcosm itself exclude each other; what is judged beside
    that is then of no interest, for the search ends there.
    """

    def __init__(self, rules: RuleBook, givens: Givens, depth: int) -> None:
        super().__init__(rules, givens)
        saturating = [i for stratum in strata(rules) for i in stratum.instances]
        self._plain = [(i.conclusion, turns(i)) for i in saturating if i.conclusion.judgement is OFFLINE]
        assuming = [i for i in rules.instances if any(isinstance(p, Assume) for p in i.premises)]
        self._clashing = {_clash(i) for i in assuming}
        self._assuming = list({(_guards(i), _assumed(i), i.conclusion): i for i in assuming}.values())
        self._deepen(depth)
        self.clash = self._clashes()

    def left(self) -> dict[tuple[str, str], set[str]]:
        """For each pair, first before second, what is left of `<`, `>` and `||`."""
        events = sorted(self.events)
        return {
            (a, b): {s for s in ("<", ">", "||") if not self.holds(Fact(OFFLINE, a, Relation(f"!{s}"), b))}
            for a, b in permutations(events, 2)
            if a < b
        }

    def _deepen(self, depth: int) -> None:
        changed = depth > 0
        while changed and not self._clashes():
            changed = False
            for conclusion, assumed in self._open():
                if conclusion not in self.facts and self._fails(assumed, depth):
                    self._add([conclusion])
                    changed = True

    def _open(self) -> Iterator[tuple[Fact, Fact]]:
        """What each rule that assumes would conclude of each pair, and what it assumes for it."""
        for instance in self._assuming:
            head, assume, guards = instance.conclusion, _assumed(instance), _guards(instance)
            named = (variable for variable, _ in turns(replace(instance, premises=guards)))
            others = [variable for variable in named if variable not in (head.left, head.right)]
            assert isinstance(head.relation, Relation)
            assert isinstance(assume.relation, Relation)
            for a, b in permutations(self.events, 2):
                at = {head.left: a, head.right: b}
                chosen = (
                    dict(zip(others, more, strict=True)) for more in product(self.events, repeat=len(others))
                )
                if any(all(self._true(premise, at | each) for premise in guards) for each in chosen):
                    yield (
                        Fact(OFFLINE, a, head.relation, b),
                        Fact(OFFLINE, at[assume.left], assume.relation, at[assume.right]),
                    )

    def _fails(self, assumed: Fact, depth: int) -> bool:
        """Whether an assumption comes to a contradiction; it is undone."""
        facts, pairs = set(self.facts), set(self._judged_pairs)
        self._add([assumed])
        self._deepen(depth - 1)
        failed = self._clashes()
        self.facts, self._judged_pairs = facts, pairs
        return failed

    def _add(self, new: Iterable[Fact]) -> None:
        while new := set(new) - self.facts:
            self.facts |= new
            self._judged_pairs |= {(f.judgement, f.left, f.right) for f in new}
            new = {fact for rule in self._plain for fact in self._conclusions(*rule)}

    def _clashes(self) -> bool:
        judged = {(f.left, f.relation, f.right) for f in self.facts if f.judgement is OFFLINE}
        return any(
            (a, other, b) in judged if straight else (b, other, a) in judged
            for a, relation, b in judged
            for one, other, straight in self._clashing
            if one is relation
        )


OFFLINE = Judgement.OFFLINE


def _assumed(instance: Instance) -> Assume:
    return next(premise for premise in instance.premises if isinstance(premise, Assume))


def _guards(instance: Instance) -> tuple[object, ...]:
    at = instance.premises.index(_assumed(instance))
    return tuple(p for p in instance.premises[:at] if not isinstance(p, Incompatible))


def _clash(instance: Instance) -> tuple[Relation, Relation, bool]:
    one, other = (p for p in instance.premises if isinstance(p, Judged) and p.judgement is OFFLINE)
    assert isinstance(one.relation, Relation)
    assert isinstance(other.relation, Relation)
    return one.relation, other.relation, one.left == other.left
