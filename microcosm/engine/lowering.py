"""From a rule book to a program: every predicate with its plan, strata in order.

Shapes are recognised by the form of the rules, never by their names:

    P(b, a) <- P(a, b)                       symmetric: mirror images instead
    P(a, c) <- P(a, b), P(b, c)              transitive, over pointwise rules: a happens-before
    premises about a and b alone             a view: a few row operations
    anything else                            a table, saturated or searched on demand

A wildcard that may read its own stratum is spelled out, and what nothing is given of can be left out. Nothing
here knows a microcosm: it is done once a rule book.

Some questions have quick answers because of what the paper's rules say of happens-before. Whether the rules
in force say it too is asked here, by their form, whatever they are called; where they do not, a question is
answered by its definition, or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from itertools import product

from microcosm.engine.body import LEFT, RIGHT, Body, LiteralSource, PairLiteral, body, merged
from microcosm.engine.strata import Stratum, saturating, strata
from microcosm.givens.relation import GIVEN_RELATIONS, Relation
from microcosm.logic.rule import ANY, Given, Instance, Judged, Judgement, Pred, Premise
from microcosm.logic.rulebook import RuleBook, parse_rules

HAPPENS_BEFORE: Pred = (Judgement.INITIAL, Relation.BEFORE)
"""The one predicate that may be kept as an order: its cycles contradict, those of others do not."""


class PlanShape(Enum):
    """How a stratum is evaluated."""

    VIEW = "view"
    CLOSURE = "closure"
    TABLE = "table"


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicates that are evaluated together: how, and the bodies of each with mirror images put in.

    A closure's transitive rules stand in `transitive`, its other rules in `bodies`; it is `plain`
    when these say that what is given holds, and no more. `below` are the symmetric predicates of lower
    strata; `ordered` says that an order may be kept. It begins as a table, and becomes what passes make it.
    """

    bodies: dict[Pred, tuple[Body, ...]]
    below: frozenset[Pred] = frozenset()
    ordered: bool = True
    symmetric: frozenset[Pred] = frozenset()
    transitive: tuple[Body, ...] = ()
    plain: bool = False
    shape: PlanShape = PlanShape.TABLE

    @classmethod
    def of(cls, text: str) -> Plan:
        """The rules of a text as one plan, to see what a pass makes of it. Raises `RuleError`.

        Cost: that of reading it.
        """
        bodies: dict[Pred, tuple[Body, ...]] = {}
        for lowered in map(body, parse_rules(text).instances):
            bodies[lowered.head] = (*bodies.get(lowered.head, ()), lowered)
        return cls(bodies)

    @cached_property
    def alias(self) -> Pred | LiteralSource | None:
        """The one predicate or other source that the predicate merely renames, if it does."""
        (bodies,) = self.bodies.values() if len(self.bodies) == 1 else ((),)
        if (
            self.shape is not PlanShape.VIEW
            or len(bodies) != 1
            or bodies[0].ones
            or len(bodies[0].pairs) != 1
        ):
            return None
        (pair,) = bodies[0].pairs
        renamed = pair.positive and (pair.left, pair.right) == (LEFT, RIGHT)
        return (pair.pred or pair.source) if renamed else None

    @cached_property
    def parts(self) -> tuple[tuple[Body, Body, Body | None, tuple[PairLiteral, ...]], ...]:
        """Each rule, cheap ones first; of its premises those that bound it, the rest, recursive ones."""
        rules = [b for found in self.bodies.values() for b in sorted(found, key=_weight)]
        return tuple((b, *b.split(self.bodies), b.reads(self.bodies)) for b in rules)

    @cached_property
    def searchable(self) -> bool:
        """Whether one pair can be decided by a search from the goal (`microcosm.engine.backward_search`)."""
        if len(self.bodies) != 1 or self.symmetric != self.bodies.keys():
            return False
        for _, _, _, reads in self.parts:
            if len(reads) > 1 or any(read.source.kind == "any" for read in reads):
                return False
            if any(len(read.ends & {LEFT, RIGHT}) != 1 for read in reads):
                return False
        return True


def take_out_symmetry(plan: Plan) -> Plan:
    """First: a rule `b R a` of every `a R b` makes R symmetric, and is evaluated no more.

    Cost: linear in the rules.

    >>> plan = take_out_symmetry(Plan.of("rule S:\\n |-0 a || b\\n ---\\n |-0 b || a"))
    >>> [str(r) for _, r in plan.symmetric], [*plan.bodies.values()]
    (['||'], [()])
    """
    bodies = {pred: tuple(b for b in found if not is_symmetry(b)) for pred, found in plan.bodies.items()}
    symmetric = frozenset(pred for pred, found in bodies.items() if len(found) < len(plan.bodies[pred]))
    return replace(plan, bodies=bodies, symmetric=symmetric)


def keep_order(plan: Plan) -> Plan:
    """Then: `|-0 <` is kept as a happens-before where it is transitive, over rules about given pairs.

    Cost: linear in the rules.

    >>> given = "rule Init:\\n given a < b\\n ---\\n |-0 a < b\\n"
    >>> plan = keep_order(Plan.of(given + "rule T:\\n |-0 a < e\\n |-0 e < b\\n ---\\n |-0 a < b"))
    >>> plan.shape, plan.plain, len(plan.transitive), len(plan.bodies[HAPPENS_BEFORE])
    (<PlanShape.CLOSURE: 'closure'>, True, 1, 1)
    """
    pred = HAPPENS_BEFORE
    if not plan.ordered or plan.symmetric or plan.bodies.keys() != {pred}:
        return plan
    transitive = tuple(b for b in plan.bodies[pred] if is_transitivity(b))
    others = tuple(b for b in plan.bodies[pred] if not is_transitivity(b))
    # Where some premise is given, a rule can only speak of named events.
    grounded = all(any(p.positive and p.source.kind in ("given", "base") for p in b.pairs) for b in others)
    if not (transitive and grounded and all(b.pointwise and not b.reads((pred,)) for b in others)):
        return plan
    given = PairLiteral(LiteralSource("given", None, Relation.BEFORE), LEFT, RIGHT)
    plain = bool(others) and all(b.pairs == (given,) and not b.ones for b in others)
    return replace(plan, shape=PlanShape.CLOSURE, bodies={pred: others}, transitive=transitive, plain=plain)


def find_converses(plan: Plan) -> Plan:
    """Then: a predicate is symmetric, too, where its rules come in pairs that are each other's mirror images.

    Cost: linear in the rules.

    >>> plan = find_converses(Plan.of("rule V:\\n |/-0 a _ b\\n a in M\\n b in M\\n ---\\n |- a ? b"))
    >>> [str(r) for _, r in plan.symmetric]
    ['?']
    """
    if plan.shape is not PlanShape.TABLE:
        return plan
    found = set(plan.symmetric)
    for pred, bodies in plan.bodies.items():
        if bodies and pred not in found and not any(b.reads(plan.bodies) for b in bodies):
            shapes = {b.shape(plan.below) for b in bodies}
            if all(b.mirror().shape(plan.below) in shapes for b in bodies):
                found.add(pred)
    return replace(plan, symmetric=frozenset(found))


def add_mirrors(plan: Plan) -> Plan:
    """Then: the rules of a symmetric predicate get their mirror images, but for those that are there.

    Cost: linear in the rules.

    >>> rules = "rule Init:\\n given a || b\\n ---\\n |-0 a || b\\nrule S:\\n |-0 a || b\\n ---\\n |-0 b || a"
    >>> plan = add_mirrors(take_out_symmetry(Plan.of(rules)))
    >>> [(p.left, p.right) for b in plan.bodies[Judgement.INITIAL, Relation.CONCURRENT] for p in b.pairs]
    [(0, 1), (1, 0)]
    """
    bodies, unordered = dict(plan.bodies), plan.below | plan.symmetric
    for pred in plan.symmetric:
        shapes = {b.shape(unordered) for b in bodies[pred]}
        mirrors = tuple(m for b in bodies[pred] if (m := b.mirror()).shape(unordered) not in shapes)
        bodies[pred] += mirrors
    return replace(plan, bodies=bodies)


def choose_shape(plan: Plan) -> Plan:
    """Then: premises about the two events alone, none of them recursive, make a view; all else is a table.

    Cost: linear in the rules.

    >>> choose_shape(Plan.of("rule J:\\n |-0 a < e\\n |-0 e || b\\n ---\\n |- a ? b")).shape
    <PlanShape.TABLE: 'table'>
    """
    rules = [b for found in plan.bodies.values() for b in found]
    if plan.shape is PlanShape.CLOSURE or any(b.reads(plan.bodies) or not b.pointwise for b in rules):
        return plan
    return replace(plan, shape=PlanShape.VIEW)


def unite_sources(plan: Plan) -> Plan:
    """Last: rules that differ in what one premise reads, not of the plan, are one rule over the union.

    Cost: the square of the rules.

    >>> rule = "rule U:\\n |-0 a R e\\n |-0 e < b  where R in <, ||\\n ---\\n |- a ? b"
    >>> plan = unite_sources(Plan.of(rule))
    >>> [[p.source.kind for p in b.pairs] for b in plan.bodies[Judgement.ONLINE, Relation.UNKNOWN]]
    [['union', 'judged']]
    """
    if plan.shape is PlanShape.CLOSURE:
        return plan
    bodies = {pred: tuple(_merged(found, plan.bodies)) for pred, found in plan.bodies.items()}
    return replace(plan, bodies=bodies)


PASSES = (take_out_symmetry, keep_order, find_converses, add_mirrors, choose_shape, unite_sources)
"""What makes a plan, in this order; each changes nothing but what its first word says."""


def planned(plan: Plan) -> Plan:
    """What the passes make of a plan. Cost: the square of its rules, their premises being compared."""
    for step in PASSES:
        plan = step(plan)
    return plan


def _merged(found: tuple[Body, ...], stratum: Iterable[Pred]) -> list[Body]:
    """Union what can be, but for the premises that read the stratum itself."""
    groups: dict[object, list[Body]] = {}
    for b in found:
        groups.setdefault(b.reads(stratum), []).append(b)
    return [b for group in groups.values() for b in merged(group)]


def is_symmetry(b: Body) -> bool:
    """Whether a rule says `b R a` of every `a R b`, and asks for nothing else. Cost: constant."""
    return (
        not b.ones
        and not b.nones
        and b.pairs == (PairLiteral(LiteralSource("judged", *b.head), RIGHT, LEFT),)
    )


def is_transitivity(b: Body) -> bool:
    """Whether a rule says `a R c` of every `a R b` and `b R c`, and asks for nothing else. Cost: constant."""
    middle = RIGHT + 1
    links = {
        PairLiteral(LiteralSource("judged", *b.head), LEFT, middle),
        PairLiteral(LiteralSource("judged", *b.head), middle, RIGHT),
    }
    return not b.ones and not b.nones and len(b.pairs) == len(links) and set(b.pairs) == links


def _weight(b: Body) -> int:
    return len(b.ones) + 2 * len(b.pairs) + 4 * len(b.nones)


@dataclass(frozen=True, eq=False)
class Program:
    """The plans of a rule book, by predicate, and the rules that conclude each, as they stand."""

    of: dict[Pred, Plan]
    concluding: dict[Pred, tuple[Body, ...]]

    @cached_property
    def order(self) -> Plan | None:
        """The plan of `HAPPENS_BEFORE`, where that is kept as an order."""
        plan = self.of.get(HAPPENS_BEFORE)
        return plan if plan is not None and plan.shape is PlanShape.CLOSURE else None

    @cached_property
    def closes_links(self) -> bool:
        """Whether that order is the closure of the `<` that is given."""
        return self.order is not None and self.order.plain

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
    ordered = not unstated or compile_rules(rules).order is not None  # of which all memos share one
    empty = {LiteralSource("given", None, relation) for relation in unstated}
    symmetric: set[Pred] = set()
    concluding: dict[Pred, tuple[Body, ...]] = {}
    for stratum in strata(rules):
        bodies: dict[Pred, list[Body]] = {pred: [] for pred in sorted(stratum.preds, key=str)}
        for instance in _spelled_out(stratum, rules):
            lowered = body(instance)
            itself = PairLiteral(LiteralSource("judged", *lowered.head), LEFT, RIGHT)
            if itself not in lowered.pairs:  # else the rule brings nothing
                bodies[lowered.head].append(lowered)
        if unstated:
            bodies = _possible(bodies, empty)
        concluding.update({pred: tuple(found) for pred, found in bodies.items()})
        groups = (
            [bodies] if stratum.recursive and bodies else [{pred: found} for pred, found in bodies.items()]
        )
        for group in groups:
            of_each = {pred: tuple(found) for pred, found in group.items()}
            plan = planned(Plan(of_each, frozenset(symmetric), ordered))
            plans.append(plan)
            symmetric |= plan.symmetric
    return Program({pred: plan for plan in plans for pred in plan.bodies}, concluding)


def _spelled_out(stratum: Stratum, rules: RuleBook) -> Iterator[Instance]:
    """The instances of a stratum, with every `_` that may read the stratum itself as each relation in turn.

    Of what lies below, `_` is read as a whole. Offline judgements are searched together, of any stratum.
    """
    unsettled = {judgement for judgement, _ in stratum.preds} | {Judgement.OFFLINE}
    for instance in stratum.instances:
        meant: list[list[Premise]] = []
        for premise in instance.premises:
            match premise:
                case Judged(judgement, a, relation, b) if relation == ANY and judgement in unsettled:
                    # What assumes something concludes offline judgements (`assumptions`).
                    among = rules.instances if judgement is Judgement.OFFLINE else saturating(rules)
                    heads = (instance.conclusion for instance in among)
                    relations = dict.fromkeys(h.relation for h in heads if h.judgement is judgement)
                    meant.append(
                        [Judged(judgement, *ends) for r in relations for ends in ((a, r, b), (b, r, a))]
                    )
                case _:
                    meant.append([premise])
        for premises in product(*meant):
            yield instance if premises == instance.premises else replace(instance, premises=premises)


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
    if not program.closes_links:
        return False
    for pred in concluded - {HAPPENS_BEFORE}:
        given = {
            PairLiteral(LiteralSource("given", None, pred[1]), *ends)
            for ends in ((LEFT, RIGHT), (RIGHT, LEFT))
        }
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
