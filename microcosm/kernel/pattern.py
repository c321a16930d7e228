"""Rules as patterns: what the nodes of one step must say, and what is left to look for.  (trusted)

A rule book is made into patterns, and into a program for the search, once. Of the book only `rules` is
looked at: its instances are made here, with all premises of all rules, whatever its profile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.node import JUDGEMENTS, NodeLine
from microcosm.kernel.plan import Binding, PlanStep, RulePlans, planned, variables
from microcosm.logic.rule import (
    ANY,
    CONTRADICTION,
    Assume,
    Given,
    In,
    Incompatible,
    Instance,
    Judged,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
    Rule,
    RuleChange,
    finer,
    predicate,
)

if TYPE_CHECKING:
    from microcosm.logic.rulebook import RuleBook


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

    Two judgements of one pair that must be incompatible stand as one premise, their contradiction. Cost:
    linear in the premises, doubled for each that may be turned.
    """
    head = _said(instance.conclusion)
    nodes: list[tuple[NodeLine, ...]] = []
    others: list[Premise] = []
    where: list[Premise] = []
    assumes, outside = None, 0
    clash = _clash(instance)
    for premise in instance.premises:
        match premise:
            case Assume(left, relation, right):
                assumes = _said(Judged(instance.conclusion.judgement, left, relation, right))
                outside = len(nodes)
            case Judged() if clash and _said(premise) in clash:
                if _said(premise) == clash[0]:
                    nodes.append((clash[0]._replace(relation=CONTRADICTION),))
            case Judged():
                line = _said(premise)
                nodes.append((line, line.turned) if line.relation is None else (line,))
            case Not(Judged() as denied):
                line = _said(denied)
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
    """The two premises that a rule asks to be incompatible, where they speak of one pair."""
    if not any(isinstance(premise, Incompatible) for premise in instance.premises):
        return None
    lines = [_said(premise) for premise in instance.premises if isinstance(premise, Judged)]
    pairs = {frozenset((line.left, line.right)) for line in lines}
    return (lines[0], lines[1]) if len(lines) == 2 and len(pairs) == 1 and lines[0] != lines[1] else None


def _said(judged: Judged) -> NodeLine:
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
            said = (JUDGEMENTS[line.judgement], Relation(line.relation))
            concluding = (
                i for i in self._instances if i.rule.name == name and predicate(i.conclusion) == said
            )
            self._patterns[key] = [pattern for instance in concluding for pattern in patterns(instance)]
        return self._patterns[key]


kernel_rules = lru_cache(maxsize=16)(KernelRules)
"""The rules as the kernel holds proofs against them: the same each time. May raise `RuleError`.

Cost: linear in the instances, once; afterwards a lookup."""
