"""From a rule book to a program: every predicate with its plan, strata in order.

A wildcard that may read its own stratum is spelled out, and what nothing is given of can be left out. Nothing
here knows a microcosm: it is done once a rule book.

Some questions have quick answers because of what the paper's rules say of happens-before. Whether the rules
in force say it too is asked here, by their form, whatever they are called; where they do not, a question is
answered by its definition, or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

from microcosm.engine.body import LEFT, RIGHT, Body, LiteralSource, PairLiteral, body
from microcosm.engine.plan import Draft, Plan, PlanShape, is_symmetry, planned
from microcosm.engine.strata import Stratum, strata
from microcosm.givens.relation import GIVEN_RELATIONS, Relation
from microcosm.logic.rule import ANY, Given, Instance, Judged, Judgement, Pred, Premise, predicate
from microcosm.logic.rulebook import RuleBook


@dataclass(frozen=True)
class Program:
    """The plans of a rule book, by predicate, and the rules that conclude each, as they stand."""

    of: dict[Pred, Plan]
    concluding: dict[Pred, tuple[Body, ...]]

    @cached_property
    def orders(self) -> tuple[Pred, ...]:
        """The predicates that are kept as a happens-before."""
        return tuple(pred for pred, plan in self.of.items() if plan.shape is PlanShape.CLOSURE)

    def symmetric(self, pred: Pred) -> bool:
        """Whether the predicate is its own converse, by its rules. Cost: a look-up."""
        plan = self.of.get(pred)
        return plan is not None and pred in plan.symmetric


@lru_cache(maxsize=64)
def compile_rules(rules: RuleBook, unstated: frozenset[Relation] = frozenset()) -> Program:
    """The program of a rule book. Raises `RuleError` where negation is not stratified.

    Rules that need what is `unstated` (relations that nothing is given of) are left out, and so are
    predicates that nothing else concludes: nothing holds of them. Cost: the square of the instances, once.
    """
    plans: list[Plan] = []
    empty = {LiteralSource("given", None, relation) for relation in unstated}
    symmetric: set[Pred] = set()
    concluding: dict[Pred, tuple[Body, ...]] = {}
    concluded = dict.fromkeys(predicate(instance.conclusion) for instance in rules.instances)
    for stratum in strata(rules):
        bodies: dict[Pred, list[Body]] = {pred: [] for pred in sorted(stratum.preds, key=str)}
        for instance in _spelled_out(stratum, list(concluded)):
            lowered = body(instance)
            if not _concludes_itself(lowered):
                bodies[lowered.head].append(lowered)
        if unstated:
            bodies = _possible(bodies, empty)
        concluding.update({pred: tuple(found) for pred, found in bodies.items()})
        groups = (
            [bodies] if stratum.recursive and bodies else [{pred: found} for pred, found in bodies.items()]
        )
        for group in groups:
            ordered = not unstated or all(_is_order(rules, pred) for pred in group)
            bodies_of = {pred: tuple(found) for pred, found in group.items()}
            plan = planned(Draft(bodies_of, frozenset(symmetric), ordered))
            plans.append(plan)
            symmetric |= plan.symmetric
    return Program({pred: plan for plan in plans for pred in plan.bodies}, concluding)


def _spelled_out(stratum: Stratum, concluded: list[Pred]) -> Iterator[Instance]:
    """The instances of a stratum, with every `_` that may read the stratum itself as each relation in turn.

    Of what lies below, `_` is read as a whole. Offline judgements are searched together, of any stratum.
    """
    unsettled = {judgement for judgement, _ in stratum.preds} | {Judgement.OFFLINE}
    for instance in stratum.instances:
        meant: list[list[Premise]] = []
        for premise in instance.premises:
            match premise:
                case Judged(judgement, a, relation, b) if relation == ANY and judgement in unsettled:
                    relations = [r for of, r in concluded if of is judgement]
                    meant.append(
                        [Judged(judgement, *ends) for r in relations for ends in ((a, r, b), (b, r, a))]
                    )
                case _:
                    meant.append([premise])
        for premises in product(*meant):
            yield instance if premises == instance.premises else replace(instance, premises=premises)


def _concludes_itself(b: Body) -> bool:
    """Whether the conclusion is a premise of itself: such a rule brings nothing."""
    return PairLiteral(LiteralSource("judged", *b.head), LEFT, RIGHT) in b.pairs


def _possible(bodies: dict[Pred, list[Body]], empty: set[LiteralSource]) -> dict[Pred, list[Body]]:
    """The rules of a stratum that can conclude anything; `empty` are the sources that nothing is in.

    Predicates without such a rule are put among the latter.
    """
    possible: dict[Pred, list[Body]] = {}
    empty.update(LiteralSource("judged", *pred) for pred in bodies)
    grows = True
    while grows:
        grows = False
        for pred, found in bodies.items():
            able = [b for b in found if not any(p.positive and p.source in empty for p in b.pairs)]
            if len(able) > len(possible.get(pred, ())):
                possible[pred] = able
                empty.discard(LiteralSource("judged", *pred))
                grows = True
    return {pred: [_without(b, empty) for b in found] for pred, found in possible.items()}


def _without(b: Body, empty: Set[LiteralSource]) -> Body:
    """The premises but those that hold of themselves: what is denied of, or sought in, an empty source."""
    nones = [none for none in b.nones if not any(p.positive and p.source in empty for p in none.pairs)]
    kept = [p for p in b.pairs if p.source not in empty]
    named = {LEFT, RIGHT, *(o.variable for o in b.ones), *(v for p in kept for v in p.ends)}
    # A proof names every event of the rule: what stands only where something is denied is looked for, too.
    pairs = tuple(p for p in b.pairs if p in kept or not p.ends <= named)
    return b._replace(pairs=pairs, nones=tuple(_without(none, empty) for none in nones))


def _is_order(rules: RuleBook, pred: Pred) -> bool:
    """Whether the rules, none left out, keep a predicate as an order, of which all memos share one."""
    return compile_rules(rules).of[pred].shape is PlanShape.CLOSURE


ONLINE_ORDER = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)
"""Verdicts, most accurate first (Theorem 3.6: with the rules of the paper at most one holds)."""


def online(relation: Relation) -> Pred:
    """`|- a R b` as a predicate. Cost: constant."""
    return (Judgement.ONLINE, relation)


def initial(relation: Relation) -> Pred:
    """`|-0 a R b` as a predicate. Cost: constant."""
    return (Judgement.INITIAL, relation)


ONLINE = {relation: online(relation) for relation in ONLINE_ORDER}
"""The predicate of each verdict, most accurate first."""


@lru_cache(maxsize=64)
def closes_givens(rules: RuleBook) -> bool:
    """Whether |-0 is what is given, `<` closed under transitivity, the others perhaps symmetric, and no more.

    Cost: linear in the rules, once a rule book.

    >>> from microcosm.logic.rulebook import read_rules
    >>> shipped = read_rules()
    >>> closes_givens(shipped), closes_givens(RuleBook(shipped.rules[:1]))  # Init alone
    (True, False)
    """
    program = compile_rules(rules)
    concluded = {pred for pred in program.concluding if pred[0] is Judgement.INITIAL}
    if concluded != {initial(relation) for relation in GIVEN_RELATIONS}:
        return False
    for pred in concluded:
        given = {
            PairLiteral(LiteralSource("given", None, pred[1]), *ends)
            for ends in ((LEFT, RIGHT), (RIGHT, LEFT))
        }
        plan = program.of[pred]
        if pred[1] is Relation.BEFORE:
            if plan.shape is not PlanShape.CLOSURE or not plan.plain or not plan.bodies[pred]:
                return False
            continue
        stated = [rule for rule in program.concluding[pred] if not is_symmetry(rule)]
        if not stated or any(rule.ones or rule.nones or len(rule.pairs) != 1 for rule in stated):
            return False
        if any(rule.pairs[0] not in given for rule in stated):
            return False
    return True


@lru_cache(maxsize=64)
def tells_given_order(rules: RuleBook) -> bool:
    """Whether an order that is given and one that only follows may lead to different conclusions.

    So it is where a rule reads `given a < b` and concludes more than an initial judgement. Cost: that of
    reading the rules, once.

    >>> from microcosm.logic.rulebook import read_rules
    >>> tells_given_order(read_rules())
    False
    """
    return any(
        isinstance(premise, Given)
        and premise.relation is Relation.BEFORE
        and instance.conclusion.judgement is not Judgement.INITIAL
        for instance in rules.instances
        for premise in instance.premises
    )
