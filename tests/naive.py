"""The rules read literally: every instance, every assignment of events to its variables, to a fixpoint.

The slow engine that is obviously right. It plans nothing, indexes nothing and knows no rule by
name; the tests hold the fast engine to its answers on small microcosms, changed rules included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from microcosm.engine.strata import strata
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Relation
from microcosm.logic.rule import (
    ANY,
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    InProfile,
    Instance,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
    Term,
    finer,
)
from microcosm.logic.rulebook import RuleBook
from microcosm.order.order import base_facts

Events = Mapping[str, str]
"""An assignment: which event each variable of a rule stands for."""

Turn = tuple[str, list[Premise]]
"""A variable, and the premises all of whose events are chosen once it is."""

_BY_ACCURACY = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)


class Fact(NamedTuple):
    """A judged relation between two events: `judgement left relation right`."""

    judgement: Judgement
    left: str
    relation: Relation
    right: str

    def __str__(self) -> str:
        return f"{self.judgement.turnstile} {self.left} {self.relation} {self.right}"


class Naive:
    """All positive judgements of a microcosm under `rules`, over its named events and `extra_events`.

    Rules that assume something and rules between a microcosm and its evolution take no part. Cost: the
    number of events to the power of a rule's variables, for each rule, in each round.
    """

    def __init__(self, rules: RuleBook, givens: Givens, extra_events: Iterable[str] = ()) -> None:
        self.events = tuple(dict.fromkeys([*givens.named(), *extra_events]))
        self.facts: set[Fact] = set()
        self._judged_pairs: set[tuple[Judgement, str, str]] = set()
        self._given = GivenFacts(givens)
        self._base = base_facts(givens)
        for stratum in strata(rules):
            tried = [(instance.conclusion, turns(instance)) for instance in stratum.instances]
            while new := {fact for rule in tried for fact in self._conclusions(*rule)} - self.facts:
                self.facts |= new
                self._judged_pairs |= {(f.judgement, f.left, f.right) for f in new}

    def holds(self, fact: Fact) -> bool:
        """Whether `fact` is derivable; `>` is read as the converse of `<`."""
        if fact.relation in (Relation.AFTER, Relation.NOT_AFTER):
            fact = Fact(fact.judgement, fact.right, fact.relation.converse, fact.left)
        return fact in self.facts

    def verdict(self, a: str, b: str) -> Relation:
        """The most accurate online relation of two distinct events; `SILENT` where there is none.

        Raises KeyError for an event that is neither named by the givens nor among `extra_events`.
        """
        if not {a, b} <= set(self.events):
            raise KeyError(a if b in self.events else b)
        online = (r for r in _BY_ACCURACY if self.holds(Fact(Judgement.ONLINE, a, r, b)))
        return next(online, Relation.SILENT)

    def _conclusions(self, head: Judged, order: list[Turn]) -> Iterator[Fact]:
        """Every assignment that satisfies the premises; each is tried as soon as its events are chosen."""
        assert isinstance(head.relation, Relation)
        satisfying: list[Events] = [{}]
        for variable, ready in order:
            satisfying = [{**events, variable: event} for events in satisfying for event in self.events]
            for premise in ready:
                satisfying = [events for events in satisfying if self._true(premise, events)]
        for events in satisfying:
            left, right = events[head.left], events[head.right]
            if left != right:
                yield Fact(head.judgement, left, head.relation, right)

    def _true(self, premise: Premise, events: Events) -> bool:
        match premise:
            case Judged(judgement, left, relation, right):
                return self._judged(judgement, events[left], relation, events[right])
            case Given(left, relation, right):
                return self._is_given(events[left], relation, events[right])
            case In(event):
                return events[event] in self._given.members
            case BasePredicate(name, arguments):
                return tuple(events[event] for event in arguments) in self._base.get(name, ())
            case Not(body):
                return not self._true(body, events)
            case NoneWith(variable, body):
                tried = ({**events, variable: member} for member in self._given.members)
                return not any(all(self._true(p, each) for p in body) for each in tried)
            case MostAccurate(of):
                return not any(self._true(more, events) for more in finer(of))
            case Incompatible() | InProfile():
                return True  # decided when the instance was made
            case Assume():
                raise AssertionError("an instance that assumes stands in no stratum")

    def _judged(self, judgement: Judgement, a: str, relation: Term, b: str) -> bool:
        if relation == ANY:
            return not {(judgement, a, b), (judgement, b, a)}.isdisjoint(self._judged_pairs)
        assert isinstance(relation, Relation)
        return Fact(judgement, a, relation, b) in self.facts

    def _is_given(self, a: str, relation: Term, b: str) -> bool:
        if relation == ANY:
            return any(self._is_given(a, r, b) or self._is_given(b, r, a) for r in GIVEN_RELATIONS)
        assert isinstance(relation, Relation)
        return any(True for _ in self._given.evidence(a, relation, b))


def turns(instance: Instance) -> list[Turn]:
    """The variables of an instance, one after another. Cost: the product of variables and premises."""
    waiting, chosen, found = list(instance.premises), set[str](), list[Turn]()
    for variable in dict.fromkeys(_variables(instance.conclusion, *waiting)):
        chosen.add(variable)
        found.append((variable, [premise for premise in waiting if chosen.issuperset(_variables(premise))]))
        waiting = [premise for premise in waiting if premise not in found[-1][1]]
    return found


def _variables(*premises: Premise) -> Iterator[str]:
    """The event variables of premises, but not the one that a `no e in M with …` ranges over itself."""
    for premise in premises:
        match premise:
            case Judged() | Given() | Assume():
                yield premise.left
                yield premise.right
            case In(event):
                yield event
            case BasePredicate(_, arguments):
                yield from arguments
            case Not(body) | MostAccurate(body):
                yield from _variables(body)
            case NoneWith(event, body):
                yield from (variable for variable in _variables(*body) if variable != event)
            case Incompatible():
                pass
