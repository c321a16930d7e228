"""Rules as plans: in which order a search looks at the premises of an instance.  (trusted)

A plan reads a rule from one end of its conclusion: one event is known, the other wanted, and every step
finds at most one event more. A rule P(x, z) <- P(x, y), P(y, z) is stepped along from one end, each step
a P that *another* rule concludes: every nest of it can be bracketed that way, and its leaves stay the
same. So "is a < b judged?" costs one search of the graph of links, not the closure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from microcosm.errors import RuleError
from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    ANY,
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
    predicate,
)

Binding = dict[str, str]
"""Which event each variable stands for, so far."""


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
