"""Rules as plans of a search, and as patterns of the steps of a derivation.  (trusted)

A plan reads a rule from one end of its conclusion: one event is known, the other wanted, and every step
finds at most one event more. A rule P(x, z) <- P(x, y), P(y, z) is stepped along from one end, each step
a P that *another* rule concludes: every nest of it can be bracketed that way, and its leaves stay the
same. So "is a < b judged?" costs one search of the graph of links, not the closure.

A pattern says what the nodes of one step must say, and what is left to look for. A rule book is made into
patterns and plans once. Of the book only `rules` is looked at: its instances are made here, with all premises
of all rules, whatever its profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from microcosm.errors import RuleError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.node import JUDGEMENTS, Binding, NodeLine
from microcosm.logic.rule import (
    ANY,
    CONTRADICTION,
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    Instance,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Pred,
    Premise,
    Rule,
    RuleChange,
    finer,
    predicate,
)

if TYPE_CHECKING:
    from microcosm.logic.rulebook import RuleBook


@dataclass(frozen=True, slots=True)
class AnyEvent:
    """The variable stands for any event of the question."""

    variable: str


@dataclass(frozen=True, slots=True)
class Link(Judged):
    """`|- left R right`, concluded by a rule other than the transitive one."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Some `given left < right`, enough of them to reach all the others by transitivity."""

    left: str
    right: str


PlanStep = Premise | AnyEvent | Cover


class RowGoal(NamedTuple):
    """A row: every x with `event R x` (end 0) or `x R event` (end 1); `link`: as in `Link`."""

    pred: Pred
    end: int
    event: str
    link: bool = False


class RulePlan(NamedTuple):
    """A rule read from one end of its conclusion: `known` to `wanted`, by steps in this order."""

    known: str
    wanted: str
    steps: tuple[PlanStep, ...]


def variables(step: PlanStep) -> list[str]:
    """The event variables of a step, once each, without the one that it ranges over itself.

    Cost: linear in the step.
    """
    match step:
        case Judged() | Given() | Cover():
            found = [step.left, step.right]
        case In(event) | AnyEvent(event):
            found = [event]
        case BasePredicate(_, events):
            found = list(events)
        case Not(body) | MostAccurate(body):
            found = variables(body)
        case NoneWith(event, body):
            found = [v for premise in body for v in variables(premise) if v != event]
        case _:
            found = []
    return list(dict.fromkeys(found))


def planned(
    premises: Iterable[PlanStep], known: Iterable[str], wanted: Iterable[str] = ()
) -> tuple[PlanStep, ...]:
    """The premises in an order in which each has at most one unknown event, and negative ones none.

    Cost: quadratic in the premises, which are few.
    """
    waiting = [p for p in premises if not isinstance(p, Incompatible)]  # decided when the instance was made
    bound, steps = set(known), list[PlanStep]()

    def unknown(step: PlanStep) -> list[str]:
        return [v for v in variables(step) if v not in bound]

    def cost(step: PlanStep) -> tuple[int, bool]:
        """0: a test. 1: one event to find, better beside a known one. 2: not yet."""
        count = len(unknown(step))
        find = count == 1 and not isinstance(step, Not | NoneWith | MostAccurate)
        return (0 if count == 0 else 1 if find else 2, len(variables(step)) == 1)

    while waiting:
        step = min(waiting, key=cost)
        if cost(step)[0] == 2:
            step = AnyEvent(unknown(step)[0])
        else:
            waiting.remove(step)
        steps.append(step)
        bound.update(variables(step))
    return (*steps, *(AnyEvent(v) for v in dict.fromkeys(wanted) if v not in bound))


class RulePlans:
    """The rules about one microcosm, read from either end of their conclusions."""

    def __init__(self, instances: Iterable[Instance]) -> None:
        self._concluding: dict[Pred, list[Instance]] = {}
        for instance in instances:
            self._concluding.setdefault(predicate(instance.conclusion), []).append(instance)
        self._plans: dict[tuple[Pred, int, bool], list[RulePlan]] = {}

    def concluded(self, judgement: Judgement) -> list[Pred]:
        """What some rule concludes under a judgement. Cost: linear in the relations."""
        return [pred for pred in self._concluding if pred[0] is judgement]

    def readings(self, judged: Judged) -> list[tuple[Pred, str, str]]:
        """`a R b` as it stands; `a _ b` as every relation that rules conclude, in both directions.

        Cost: linear in the relations.
        """
        if judged.relation != ANY:
            return [(predicate(judged), judged.left, judged.right)]
        ends = ((judged.left, judged.right), (judged.right, judged.left))
        return [(pred, a, b) for pred in self.concluded(judged.judgement) for a, b in ends]

    def plans(self, goal: RowGoal) -> list[RulePlan]:
        """How the events of a row are found.

        Cost: linear in the instances that conclude it, once; afterwards a look-up.
        """
        key = (goal.pred, goal.end, goal.link)
        if key not in self._plans:
            self._plans[key] = list(self._planned(*key))
        return self._plans[key]

    def is_reachability(self, goal: RowGoal) -> bool:
        """Whether the row is what the cover of the givens reaches, step by step.

        Cost: linear in the plans.
        """
        plans = self.plans(goal._replace(link=True))
        return bool(plans) and all([*map(type, plan.steps)] == [Cover] for plan in plans)

    def _planned(self, pred: Pred, end: int, link: bool) -> Iterator[RulePlan]:
        instances = self._concluding.get(pred, [])
        others = [i for i in instances if not _transitive(i)]
        stepping = len(others) < len(instances)
        if stepping and not link:
            yield RulePlan("x", "z", (_step(Link, pred, "x", "z", end),))
            yield RulePlan("x", "z", (_step(Judged, pred, "x", "y", end), _step(Link, pred, "y", "z", end)))
            return
        for instance in others:
            ends = (instance.conclusion.left, instance.conclusion.right)
            known, wanted = ends[end], ends[1 - end]
            if any(isinstance(p, Assume) for p in instance.premises):
                raise RuleError(f"absence is asked of what {instance.rule.name} concludes from an assumption")
            premises: tuple[PlanStep, ...] = instance.premises
            if stepping and premises == (Given(ends[0], Relation.BEFORE, ends[1]),):
                premises = (Cover(*ends),)
            yield RulePlan(known, wanted, planned(premises, [known], [wanted]))


def _step(kind: type[Judged], pred: Pred, known: str, wanted: str, end: int) -> Judged:
    left, right = (known, wanted) if end == 0 else (wanted, known)
    return kind(pred[0], left, pred[1], right)


def _transitive(instance: Instance) -> bool:
    """Whether the instance is P(x, z) <- P(x, y), P(y, z), in either order."""
    match instance.premises:
        case (Judged() as one, Judged() as two):
            head = instance.conclusion
            first, second = (one, two) if one.left == head.left else (two, one)
            return (
                predicate(head) == (one.judgement, one.relation) == (two.judgement, two.relation)
                and (first.left, first.right, second.right) == (head.left, second.left, head.right)
                and len({head.left, first.right, head.right}) == 3
            )
    return False


_SYMMETRIC = ("||", "<>", "!||", "!<>")


@dataclass(frozen=True, slots=True)
class StepPattern:
    """One instance of a rule, as a step is held against it."""

    head: NodeLine
    nodes: tuple[NodeLine, ...]
    """What the premises of the step say, in the order of the rule."""
    others: tuple[PlanStep, ...]
    """The premises that have no node, in an order in which they can be looked for."""
    where: tuple[PlanStep, ...]
    """Conditions on the microcosm of the conclusion."""
    evolution: RuleChange | None
    givens: tuple[Given, ...]
    """Those of `others` that are given."""
    assumes: NodeLine | None
    """What the premises may assume,"""
    outside: int
    """but for so many that come before it."""
    clash: tuple[NodeLine, NodeLine] | None
    """What the two premises of a contradiction say; `nodes` has the contradiction itself in their place."""
    alone: bool
    """Whether a given about the two events of the conclusion is the only premise."""

    def assumed(self, named: NodeLine | None, binding: Binding) -> bool:
        """Whether a step names as assumed what its rule assumes; extends the binding. Cost: constant."""
        if self.assumes is None or named is None:
            return self.assumes is named
        return self.assumes.matches(named, binding)

    def evolves(self, update: bool, new: Correspondence, binding: Binding) -> bool:
        """Whether an evolution is one of its rule; extends the binding. Cost: constant."""
        change = self.evolution
        return (
            change is not None
            and (change.update, change.relation) == (update, new.relation)
            and binding.setdefault(change.left, new.left) == new.left
            and binding.setdefault(change.right, new.right) == new.right
        )

    def contradicts(self, premises: list[NodeLine], binding: Binding) -> bool:
        """Whether two premises of a contradiction, in any order, are those of its rule. Cost: constant."""
        if self.clash is None or len(premises) != 2:
            return False
        readings = [(line, line.turned) if line.relation in _SYMMETRIC else (line,) for line in premises]
        for two in product(*readings):
            for lines in (two, two[::-1]):
                found = dict(binding)
                if all(map(NodeLine.matches, self.clash, lines, (found, found))):
                    return True
        return False


def patterns(instance: Instance) -> Iterator[StepPattern]:
    """The patterns of an instance: one for each direction in which its premises `|-0 a _ b` may be read.

    Two judgements of one pair that an assumption makes incompatible stand as one premise, their
    contradiction. Cost: linear in the premises, doubled for each that may be turned.
    """
    head = _line_of(instance.conclusion)
    nodes: list[tuple[NodeLine, ...]] = []
    others: list[Premise] = []
    where: list[Premise] = []
    assumes, outside = None, 0
    clash = _clash(instance)
    for premise in instance.premises:
        match premise:
            case Assume(left, relation, right):
                assumes = _line_of(Judged(instance.conclusion.judgement, left, relation, right))
                outside = len(nodes)
            case Judged() if clash and _line_of(premise) in clash:
                if _line_of(premise) == clash[0]:
                    nodes.append((clash[0]._replace(relation=CONTRADICTION),))
            case Judged():
                line = _line_of(premise)
                nodes.append((line, line.turned) if line.relation is None else (line,))
            case Not(Judged() as denied):
                line = _line_of(denied)
                nodes.append((line._replace(absent=True, relation=line.relation or "_"),))
            case Not(In(event)):
                nodes.append((NodeLine(True, "initial", event, "not-in", ""),))
            case NoneWith() if both := _in_both(premise):
                nodes.append((both,))
            case NoneWith():
                nodes.append((head._replace(absent=True, relation="none"),))
                others.append(premise)
            case MostAccurate(of):
                where += [premise] if any(True for _ in finer(of)) else []
            case _:
                others.append(premise)
    givens = tuple(premise for premise in others if isinstance(premise, Given))
    ends = {instance.conclusion.left, instance.conclusion.right}
    alone = len(givens) == len(instance.premises) == 1 and {givens[0].left, givens[0].right} == ends
    new = instance.evolution
    for chosen in product(*nodes):
        known = {event for line in (head, *chosen) for event in (line.left, line.right)}
        known.update((new.left, new.right) if new else ())
        steps = planned(others, known)
        known.update(event for step in steps for event in variables(step))
        yield StepPattern(
            head, chosen, steps, planned(where, known), new, givens, assumes, outside, clash, alone
        )


def _clash(instance: Instance) -> tuple[NodeLine, NodeLine] | None:
    """The two premises that a rule that assumes asks to be incompatible, where they speak of one pair."""
    if not {Assume, Incompatible} <= set(map(type, instance.premises)):
        return None
    written = [_line_of(premise) for premise in instance.premises if isinstance(premise, Judged)]
    lines = [line for line in written if line.judgement == instance.conclusion.judgement.value]  # no guards
    pairs = {frozenset((line.left, line.right)) for line in lines}
    return (lines[0], lines[1]) if len(lines) == 2 and len(pairs) == 1 and lines[0] != lines[1] else None


def _line_of(judged: Judged) -> NodeLine:
    relation = None if judged.relation == ANY else str(judged.relation)
    return NodeLine(False, judged.judgement.value, judged.left, relation, judged.right)


def _in_both(none: NoneWith) -> NodeLine | None:
    """The leaf of `no e in M with |-0 a _ e, |-0 b _ e`, if it is that, however it is turned."""
    match none.body:
        case (Judged(judgement, a, relation, b), Judged(other, c, another, d)):
            one, two = {a, b} - {none.event}, {c, d} - {none.event}
            related = a != b and c != d and len(one) == len(two) == 1
            if judgement is other and relation == another == ANY and related:
                return NodeLine(True, judgement.value, one.pop(), "in-both", two.pop())
    return None


class KernelRules:
    """A rule book as patterns of steps and as a program for the search; nothing here is of any one proof."""

    def __init__(self, rules: RuleBook) -> None:
        self.rules: dict[str, Rule] = {rule.name: rule for rule in rules.rules}
        self._instances = [i.in_its_profile() for rule in rules.rules for i in rule.instances()]
        self.program = RulePlans(i for i in self._instances if i.evolution is None)
        self._patterns: dict[tuple[str, str, str | None], list[StepPattern]] = {}

    def patterns(self, name: str, line: NodeLine) -> list[StepPattern]:
        """The patterns of a rule that can conclude a line of this judgement and relation.

        Cost: linear in the instances, once; afterwards a look-up.
        """
        key = (name, line.judgement, line.relation)
        if key not in self._patterns:
            wanted = (JUDGEMENTS[line.judgement], Relation(line.relation))
            concluding = (
                i for i in self._instances if i.rule.name == name and predicate(i.conclusion) == wanted
            )
            self._patterns[key] = [pattern for instance in concluding for pattern in patterns(instance)]
        return self._patterns[key]


kernel_rules = lru_cache(maxsize=16)(KernelRules)
"""The rules as the kernel holds proofs against them: the same each time. May raise `RuleError`.

Cost: linear in the instances, once; afterwards a lookup."""
