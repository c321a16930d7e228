"""The search of the kernel: does a microcosm judge this, or does it not?  (trusted)

Negative premises and side conditions cannot be shown by a proof; the kernel decides them here, from
the rule instances alone, by asking only what the question needs. It shares no code with the engine.

A *row* is the set of partners of one event under one judgement and relation. Rows are worked out
together: whoever needs a row waits for its events, is resumed once for each, and when nothing is
left to resume, all rows are complete (tabled resolution). The rows of what is given are listed without
expanding what is given in compressed form: the internal chain, clocks and tokens stand for up to n² facts,
and `GivenFacts` decides each. Absence is asked of complete rows only, in
a search of its own, which is sound because negation is stratified.

What rules mean: every event variable ranges over the events of the question (`events`), the variable
of `no e in M with` over the members; a judgement never relates an event to itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Set
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from microcosm.errors import RuleError
from microcosm.givens.facts import BaseFacts, GivenFacts, covered, heard, lines, senders, undirected
from microcosm.givens.relation import Clock, Relation
from microcosm.kernel.node import Binding
from microcosm.kernel.plan import AnyEvent, Cover, Link, PlanStep, RowGoal, RulePlan, RulePlans, variables
from microcosm.logic.rule import BasePredicate, Given, In, Judged, MostAccurate, NoneWith, Not, Pred, finer

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens


Links = tuple[dict[str, list[str]], dict[str, list[str]]]
"""The successors of each event, and its predecessors."""


class GivenRows:
    """The givens behind `facts`, row by row. End 0 asks for x in `event R x`, end 1 in `x R event`."""

    def __init__(self, facts: GivenFacts) -> None:
        self._facts = facts
        self._givens = facts.givens
        self._internal = sorted(facts.chain, key=facts.chain.__getitem__)

    def partners(self, relation: Relation, end: int, event: str) -> Iterator[str]:
        """Every x given in `relation` to the event; one may come twice. Cost: linear in the events."""
        others = [*self._stated[end].get(event, [])]
        if relation is Relation.RELATED:
            others += chain(*(self._givens.tokens[token] for token in self._facts.tokens.get(event, ())))
        elif event in self._givens.clocks:
            others += self._givens.clocks
        if relation is Relation.BEFORE and event in self._facts.chain:
            others += self._internal
        for other in others:
            left, right = (event, other) if end == 0 else (other, event)
            if any(True for _ in self._facts.evidence(left, relation, right)):
                yield other

    def cover(self, end: int, event: str) -> list[str]:
        """Some x given in `<` to the event: all others are reached from it through these, step by step.

        Cost: a look-up, after one pass over what is given.
        """
        return self._cover[end].get(event, [])

    def reached(self, events: Collection[str], end: int) -> set[str]:
        """Some events and all given to be after them (end 0), or before them (end 1). Cost: linear."""
        found, waiting = set(events), [*events]
        while waiting:
            further = [other for other in self.cover(end, waiting.pop()) if other not in found]
            found.update(further)
            waiting += further
        return found

    def whole(self) -> bool:
        """Whether the events of a complete log are ordered as they must be, or the order closes a cycle.

        Each two events said to be of a process, or related, and a reception with one of its sendings; of a
        log of which only some processes are complete those of theirs, and a reception from one of these. And
        whether it tells what clocks have `heard`. Cost: linear
        where the givens say so step by step; at worst what stands between the two, for each of these pairs.
        """
        try:
            rank = {event: at for at, event in enumerate(TopologicalSorter(self._cover[1]).static_order())}
        except CycleError:
            return True
        direct = {(a, b) for b, before in self._cover[1].items() for a in before}

        def leads(a: str, b: str) -> bool:
            """Whether a is before b: some way along the cover, which never passes the rank of b."""
            waiting, met = [a], {b} if (a, b) in direct else set[str]()
            while waiting and b not in met:
                nearer = {e for e in self.cover(0, waiting.pop()) if rank[e] <= rank.get(b, -1)} - met
                met |= nearer
                waiting.extend(nearer)
            return b in met

        partly = covered(self._givens) if isinstance(self._givens.complete, tuple) else None
        messages = [m for m in self._givens.messages if partly is None or m.event in partly]
        ordered = chain(lines(self._givens).values(), undirected(self._givens))
        in_turn = (pairwise(sorted(events, key=lambda e: rank.get(e, -1))) for events in ordered)
        sent = senders(messages)
        expected = (m for m in messages if m.kind == "receive" and (sent(m) or partly is None))
        return (
            all(leads(a, b) for pairs in in_turn for a, b in pairs)
            and all(any(leads(one.event, message.event) for one in sent(message)) for message in expected)
            and heard(self._givens).fault is None
        )

    @cached_property
    def _stated(self) -> Links:
        stated = chain(self._givens.external.values(), self._givens.refuted.values())
        return _links((fact.left, fact.right) for fact in stated)

    @cached_property
    def _cover(self) -> Links:
        return _links(_cover(self._givens, self._internal))


def _links(pairs: Iterable[tuple[str, str]]) -> Links:
    links: Links = {}, {}
    for a, b in pairs:
        links[0].setdefault(a, []).append(b)
        links[1].setdefault(b, []).append(a)
    return links


def _cover(givens: Givens, internal: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs given in `<` whose transitive closure holds every pair given in `<`."""
    yield from ((f.left, f.right) for f in givens.external.values() if f.relation is Relation.BEFORE)
    yield from pairwise(internal)
    executions: dict[str | None, dict[str, Clock]] = {}
    for event, clock in givens.clocks.items():
        executions.setdefault(clock.execution, {})[event] = clock
    for clocks in executions.values():
        yield from _clock_cover(clocks)


def _clock_cover(clocks: dict[str, Clock]) -> Iterator[tuple[str, str]]:
    """The pairs of `_cover` that the clocks of one execution give.

    Consecutive events of a process; and into each process, wherever the highest component met so far
    for another process p rises, a link from the last event of p that this component has seen. Let a of
    p be seen by b. The last such rise at or before b has seen a too, so its link leaves from a or from
    a later event of p, and arrives at b or at an earlier event of b's process.
    """
    processes: dict[str, list[str]] = {}
    for event, clock in clocks.items():
        processes.setdefault(clock.process, []).append(event)
    needed: dict[str, list[int]] = {}  # by place in the process: what shows this event or a later one
    for process, events in processes.items():
        events.sort(key=lambda event: clocks[event].own)  # stable: equal ones stay in program order
        yield from pairwise(events)
        needed[process] = list(accumulate((_shown_by(clocks[e]) for e in reversed(events)), min))[::-1]
    unseen_at_0 = {p: 0 for p, least in needed.items() if least[0] <= 0}  # only by negative components
    for process, events in processes.items():
        highest: dict[str, int] = {}
        for event in events:
            for other, seen in {**unseen_at_0, **clocks[event].entries}.items():
                if other != process and other in needed and seen > highest.get(other, seen - 1):
                    highest[other] = seen
                    count = bisect_right(needed[other], seen)
                    if count:
                        yield processes[other][count - 1], event


def _shown_by(clock: Clock) -> int:
    """The least component that has seen the event (`Clock.reached_by`)."""
    return clock.own if clock.ticked and clock.own > 0 else clock.own + 1


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
