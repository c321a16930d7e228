"""The search of the kernel: does a microcosm judge this, or does it not?  (trusted)

Negative premises and side conditions cannot be shown by a proof; the kernel decides them here, from
the rule instances alone, by asking only what the question needs. It shares no code with the engine.

A *row* is the set of partners of one event under one judgement and relation. Rows are worked out
together: whoever needs a row waits for its events, is resumed once for each, and when nothing is
left to resume, all rows are complete (tabled resolution). Absence is asked of complete rows only, in
a search of its own, which is sound because negation is stratified.

What rules mean: every event variable ranges over the events of the question (`events`), the variable
of `no e in M with` over the members; a judgement never relates an event to itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from microcosm.errors import RuleError
from microcosm.givens.facts import BaseFacts, GivenFacts
from microcosm.givens.relation import Relation
from microcosm.kernel.givens import GivenRows
from microcosm.kernel.node import Binding
from microcosm.kernel.plan import (
    AnyEvent,
    Cover,
    Link,
    PlanStep,
    RowGoal,
    RulePlan,
    RulePlans,
    variables,
)
from microcosm.logic.rule import BasePredicate, Given, In, Judged, MostAccurate, NoneWith, Not, Pred, finer


class Search:
    """What one microcosm judges, under `program`, of `events` (all that givens and question name)."""

    def __init__(self, program: RulePlans, facts: GivenFacts, events: Set[str]) -> None:
        self.program = program
        self.facts = facts
        self.events = events
        self.complete: dict[RowGoal, Set[str]] = {}
        self.pending: list[Pred] = []
        """What is being concluded from an absence, in the searches that wait for this one."""
        self._given = GivenRows(facts)
        self._base = BaseFacts(facts.givens, self._given.whole, self._given.reached)
        self._asked: set[str] = set()

    def solutions(self, steps: tuple[PlanStep, ...], binding: Binding) -> Iterator[Binding]:
        """Each way to satisfy steps among which no judgement is affirmed.

        Cost: what its rows cost, and the ways there are.
        """
        stack = [(0, binding)]
        while stack:
            at, binding = stack.pop()
            if at == len(steps):
                yield binding
            else:
                stack.extend((at + 1, found) for found in self.satisfying(steps[at], binding))

    def satisfying(self, step: PlanStep, binding: Binding) -> Iterator[Binding]:
        """Each way to satisfy one step in which at most one event is unknown.

        Cost: as for `row`, and the events found.
        """
        unknown = [v for v in variables(step) if v not in binding]
        if unknown:
            for event in self._values(step, unknown[0], binding):
                yield {**binding, unknown[0]: event}
        elif self.true(step, binding):
            yield binding

    def true(self, step: PlanStep, binding: Binding) -> bool:
        """Whether a premise holds, all of whose events are known.

        Cost: a look-up where rows are complete, else that of the row.
        """
        match step:
            case Judged():
                return any(self._holds(p, binding[a], binding[b]) for p, a, b in self.program.readings(step))
            case Given(left, relation, right):
                assert isinstance(relation, Relation)
                return any(True for _ in self.facts.evidence(binding[left], relation, binding[right]))
            case In(event):
                return binding[event] in self.facts.members
            case BasePredicate(name, events):
                return self._base.holds(name, *(binding[v] for v in events))
            case Not(body):
                return not self.true(body, binding)
            case MostAccurate(of):
                return not any(self.true(more, binding) for more in finer(of))
            case NoneWith(event, body):
                rows = (self._values(premise, event, binding) for premise in body)
                return not self.facts.members.intersection(*rows)
            case AnyEvent():
                return True
        raise AssertionError(f"not decided here: {step}")

    def _values(self, step: PlanStep, variable: str, binding: Binding) -> Iterable[str]:
        """Every event that satisfies a step as its `variable`, the others being known."""
        ends = variables(step)
        if variable not in ends:
            return self.events if self.true(step, binding) else ()
        match step:
            case AnyEvent():
                return self.events
            case In():
                return self.facts.members
            case BasePredicate(name, (_,)):
                return self._base.events(name)
            case Judged() | Given() | Cover() | BasePredicate() if len(ends) == 1:
                return ()  # nothing is related to itself
        end = 1 - ends.index(variable)
        event = binding[ends[end]]
        match step:
            case Given(_, relation, _):
                assert isinstance(relation, Relation)
                return self._given.partners(relation, end, event)
            case Cover():
                return self._given.cover(end, event)
            case BasePredicate(name, _):
                return self._base.partners(name, end, event)
            case Judged():
                goals = (
                    RowGoal(pred, int(a == variable), event) for pred, a, _ in self.program.readings(step)
                )
                return (found for goal in goals for found in self.row(goal))
        raise AssertionError(f"not decided here: {step}")

    def _holds(self, pred: Pred, left: str, right: str) -> bool:
        """Whether a concrete judgement holds: in the row of an event that was asked about before."""
        ahead, back = RowGoal(pred, 0, left), RowGoal(pred, 1, right)
        if ahead in self.complete or (left in self._asked and back not in self.complete):
            return right in self.row(ahead)
        return left in self.row(back)

    def row(self, goal: RowGoal) -> Set[str]:
        """The complete row of a goal. Cost: what its rules have to look at, once for this microcosm."""
        self._asked.add(goal.event)
        if self.ready(goal) is None:
            _Rows(self).complete(goal)
        return self.complete[goal]

    def ready(self, goal: RowGoal) -> Set[str] | None:
        """The row of a goal where it is complete, or needs no other row and can be completed at once.

        Cost: for reachability one search of the given pairs, else a look-up.
        """
        if goal not in self.complete and self.program.is_reachability(goal):
            self.complete[goal] = self._given.reached([goal.event], goal.end) - {goal.event}
        return self.complete.get(goal)


class _Task(NamedTuple):
    """The rest of a rule that is being followed to find an event of the row `goal`."""

    goal: RowGoal
    plan: RulePlan
    at: int
    binding: Binding


class _Rows:
    """Rows that are worked out together; none is complete before all of them are."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.rows: dict[RowGoal, dict[str, None]] = {}
        self.waiting: dict[RowGoal, list[tuple[_Task, str]]] = {}
        self.agenda: list[_Task] = []

    def complete(self, goal: RowGoal) -> None:
        """Work out the row of `goal`, and all that it needs."""
        self._open(goal)
        while self.agenda:
            task = self.agenda.pop()
            if task.at < len(task.plan.steps):
                self._advance(task, task.plan.steps[task.at])
            else:
                self._found(task.goal, task.binding[task.plan.wanted])
        self.search.complete.update((g, row.keys()) for g, row in self.rows.items() if not g.link)

    def _open(self, goal: RowGoal) -> None:
        pred = goal.pred
        if pred in self.search.pending:
            raise RuleError(f"negation is not stratified: {pred[0].turnstile} {pred[1]} rests on its absence")
        self.rows[goal] = {}
        self.waiting[goal] = []
        for plan in self.search.program.plans(goal):
            self.agenda.append(_Task(goal, plan, 0, {plan.known: goal.event}))

    def _advance(self, task: _Task, step: PlanStep) -> None:
        match step:
            case Judged():
                for reading in self.search.program.readings(step):
                    self._wait(task, *reading, isinstance(step, Link))
            case _:
                self.search.pending.append(task.goal.pred)  # what it denies must not rest on this row
                for binding in self.search.satisfying(step, task.binding):
                    self.agenda.append(task._replace(at=task.at + 1, binding=binding))
                self.search.pending.pop()

    def _wait(self, task: _Task, pred: Pred, left: str, right: str, link: bool) -> None:
        """Resume the task with every x of a row, as the event that it does not know, now and later."""
        end = int(left not in task.binding)
        known, sought = (right, left) if end else (left, right)
        if known == sought:
            return
        goal = RowGoal(pred, end, task.binding[known], link)
        row: Iterable[str] | None = self.search.ready(goal)
        if row is None:
            if goal not in self.rows:
                self._open(goal)
            self.waiting[goal].append((task, sought))
            row = self.rows[goal]
        for event in row:
            self._with(task, sought, event)

    def _with(self, task: _Task, variable: str, event: str) -> None:
        if task.binding.get(variable, event) == event:
            self.agenda.append(task._replace(at=task.at + 1, binding={**task.binding, variable: event}))

    def _found(self, goal: RowGoal, event: str) -> None:
        row = self.rows[goal]
        if event != goal.event and event not in row:
            row[event] = None
            for task, sought in self.waiting[goal]:
                self._with(task, sought, event)
