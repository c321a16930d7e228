"""Lowering, second step: what shape each stratum has, and so how it is evaluated.

Shapes are recognised by the form of the rules, never by their names:

    P(b, a) <- P(a, b)                       symmetric: mirror images instead (see `body`)
    P(a, c) <- P(a, b), P(b, c)              transitive, over pointwise rules: a happens-before
    premises about a and b alone             a view: a few row operations
    anything else                            a table, saturated or searched on demand
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import product

from microcosm.engine.body import LEFT, RIGHT, Body, Pair, Pred, Source, body, merged
from microcosm.engine.strata import Stratum, strata
from microcosm.givens.relation import Relation
from microcosm.logic.judgement import Judgement
from microcosm.logic.rule import ANY, Instance, Judged, Premise
from microcosm.logic.rulebook import RuleBook


class Shape(Enum):
    """How a stratum is evaluated."""

    VIEW = "view"
    CLOSURE = "closure"
    TABLE = "table"


@dataclass(frozen=True)
class Plan:
    """One stratum: its shape, and the bodies of each predicate with mirror images put in.

    A closure's transitive rules stand in `transitive`, its other rules in `bodies`; it is `plain`
    when these only say that what is given holds.
    """

    shape: Shape
    bodies: dict[Pred, tuple[Body, ...]]
    symmetric: frozenset[Pred]
    transitive: tuple[Body, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Program:
    """The plans of a rule book, by predicate, and the rules that conclude each, as they stand."""

    of: dict[Pred, Plan]
    concluding: dict[Pred, tuple[Body, ...]]

    def symmetric(self, pred: Pred) -> bool:
        """Whether the predicate is its own converse, by its rules."""
        plan = self.of.get(pred)
        return plan is not None and pred in plan.symmetric


@lru_cache(maxsize=64)
def compile_rules(rules: RuleBook, unstated: frozenset[Relation] = frozenset()) -> Program:
    """The program of a rule book. Raises `RuleError` where negation is not stratified.

    Rules that need what is `unstated` (relations that nothing is given of) are left out, and so are
    predicates that nothing else concludes: nothing holds of them.
    """
    plans: list[Plan] = []
    empty = {Source("given", None, relation) for relation in unstated}
    symmetric: set[Pred] = set()
    concluding: dict[Pred, tuple[Body, ...]] = {}
    concluded = dict.fromkeys(_head(instance) for instance in rules.instances)
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
            plan = _plan(group, symmetric, ordered)
            plans.append(plan)
            symmetric |= plan.symmetric
    return Program({pred: plan for plan in plans for pred in plan.bodies}, concluding)


def _head(instance: Instance) -> Pred:
    relation = instance.conclusion.relation
    assert isinstance(relation, Relation), "an instance has concrete relations"
    return instance.conclusion.judgement, relation


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
    return Pair(Source("judged", *b.head), LEFT, RIGHT) in b.pairs


def _possible(bodies: dict[Pred, list[Body]], empty: set[Source]) -> dict[Pred, list[Body]]:
    """The rules of a stratum that can conclude anything; `empty` are the sources that nothing is in.

    Predicates without such a rule are put among the latter.
    """
    possible: dict[Pred, list[Body]] = {}
    empty.update(Source("judged", *pred) for pred in bodies)
    grows = True
    while grows:
        grows = False
        for pred, found in bodies.items():
            able = [b for b in found if not any(p.positive and p.source in empty for p in b.pairs)]
            if len(able) > len(possible.get(pred, ())):
                possible[pred] = able
                empty.discard(Source("judged", *pred))
                grows = True
    return {pred: [_without(b, empty) for b in found] for pred, found in possible.items()}


def _without(b: Body, empty: Set[Source]) -> Body:
    """The premises but those that hold of themselves: what is denied of, or sought in, an empty source."""
    nones = [none for none in b.nones if not any(p.positive and p.source in empty for p in none.pairs)]
    kept = [p for p in b.pairs if p.source not in empty]
    named = {LEFT, RIGHT, *(o.variable for o in b.ones), *(v for p in kept for v in p.ends)}
    # A proof names every event of the rule: what stands only where something is denied is looked for, too.
    pairs = tuple(p for p in b.pairs if p in kept or not p.ends <= named)
    return replace(b, pairs=pairs, nones=tuple(_without(none, empty) for none in nones))


def _is_order(rules: RuleBook, pred: Pred) -> bool:
    """Whether the rules, none left out, keep a predicate as an order, of which all memos share one."""
    return compile_rules(rules).of[pred].shape is Shape.CLOSURE


def _plan(bodies: dict[Pred, list[Body]], below: set[Pred], ordered: bool) -> Plan:
    symmetric = {p for p, found in bodies.items() if any(is_symmetry(b) for b in found)}
    rest = {p: [b for b in found if not is_symmetry(b)] for p, found in bodies.items()}
    if ordered and len(bodies) == 1 and not symmetric:
        (pred,) = bodies
        transitive = tuple(b for b in rest[pred] if is_transitivity(b))
        others = tuple(b for b in rest[pred] if not is_transitivity(b))
        of_order = pred == initial(Relation.BEFORE)  # whose cycles contradict; others are no contradiction
        if (
            of_order
            and transitive
            and all(b.pointwise and not b.reads((pred,)) and _is_grounded(b) for b in others)
        ):
            plain = all(_is_given_before(b) for b in others)
            return Plan(Shape.CLOSURE, {pred: others}, frozenset(), transitive, plain)
    for pred, found in rest.items():
        if pred in symmetric:
            shapes = {b.shape(below | symmetric) for b in found}
            found.extend(m for b in tuple(found) if (m := b.mirror()).shape(below | symmetric) not in shapes)
        elif found and not any(b.reads(bodies) for b in found):
            shapes = {b.shape(below) for b in found}
            if all(b.mirror().shape(below) in shapes for b in found):
                symmetric.add(pred)
    settled = not any(b.reads(bodies) for found in rest.values() for b in found)
    pointwise = all(b.pointwise for found in rest.values() for b in found)
    shape = Shape.VIEW if settled and pointwise else Shape.TABLE
    ready = {p: tuple(_merged(found, bodies)) for p, found in rest.items()}
    return Plan(shape, ready, frozenset(symmetric))


def _merged(found: list[Body], stratum: dict[Pred, list[Body]]) -> list[Body]:
    """Union what can be, but for the premises that read the stratum itself."""
    groups: dict[object, list[Body]] = {}
    for b in found:
        groups.setdefault(b.reads(stratum), []).append(b)
    return [b for group in groups.values() for b in merged(group)]


def is_symmetry(b: Body) -> bool:
    """Whether a rule says `b R a` of every `a R b`, and asks for nothing else."""
    return not b.ones and not b.nones and b.pairs == (Pair(Source("judged", *b.head), RIGHT, LEFT),)


def is_transitivity(b: Body) -> bool:
    """Whether a rule says `a R c` of every `a R b` and `b R c`, and asks for nothing else."""
    middle = RIGHT + 1
    links = {Pair(Source("judged", *b.head), LEFT, middle), Pair(Source("judged", *b.head), middle, RIGHT)}
    return not b.ones and not b.nones and len(b.pairs) == len(links) and set(b.pairs) == links


def _is_grounded(b: Body) -> bool:
    """Whether the rule can only speak of pairs that are given in some way: named events, that is."""
    return any(p.positive and p.source.kind in ("given", "base") for p in b.pairs)


def _is_given_before(b: Body) -> bool:
    given = Pair(Source("given", None, Relation.BEFORE), LEFT, RIGHT)
    return b.head[1] is Relation.BEFORE and not b.ones and not b.nones and b.pairs == (given,)


ONLINE_ORDER = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)
"""Verdicts, most accurate first (Theorem 3.6: with the rules of the seed at most one holds)."""


def online(relation: Relation) -> Pred:
    """`|- a R b` as a predicate."""
    return (Judgement.ONLINE, relation)


def initial(relation: Relation) -> Pred:
    """`|-0 a R b` as a predicate."""
    return (Judgement.INITIAL, relation)
