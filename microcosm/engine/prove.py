"""Derivations on demand: none is stored, the memo guides the search for a short one.

A transitive chain is a shortest path over what is given, nested in balance. Any other goal is searched
breadth first through the rules that conclude it, so that the fewest recursive steps win; where that
takes too long, the order in which saturation found the pairs leads to a derivation without a search.

Whether a goal holds at all is found by a search of its own (`backward_search`): over sets of goals, and
without the way to each, it takes a fourth of the time of this one among 100 events and a tenth among 300.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import inf
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.backward_search import Climb
from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import PlanShape, is_symmetry
from microcosm.engine.memo import Memo
from microcosm.engine.relations import RowRelation
from microcosm.engine.steps import Env, Goal, Steps
from microcosm.engine.table import Table, Tables
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import Judgement, Pred
from microcosm.order.bits import bits, lowest


class Prover:
    """Finds derivations of what an engine judges. Valid until the givens change."""

    EXPANSIONS = tuning.EXPANSIONS

    def __init__(self, engine: Engine, givens: Givens) -> None:
        self._engine, self._givens = engine, givens
        self.steps = self._steps = Steps(engine, givens, self._derive)

    def __reduce__(self) -> tuple[object, ...]:
        return Prover, (self._engine, self._givens)

    def derive(self, judgement: Judgement, a: str, relation: Relation, b: str) -> Derivation | None:
        """A derivation of `judgement a R b`, None where it is not judged.

        Cost: a shortest path for `<`; else a search through the rules, at most one saturation.
        """
        return (
            self.known(judgement, a, relation, b) if self._engine.holds(judgement, a, relation, b) else None
        )

    def known(self, judgement: Judgement, a: str, relation: Relation, b: str) -> Derivation:
        """A derivation of `judgement a R b`, which is judged. Cost: as `derive`."""
        if relation in (Relation.AFTER, Relation.NOT_AFTER):
            a, b, relation = b, a, relation.converse
        memo, x, y = self._engine.locate(a, b)
        with memo.named(((a, x), (b, y))):
            return self._derive(memo, ((judgement, relation), x, y))

    def _derive(self, memo: Memo, goal: Goal) -> Derivation:
        """A derivation of a goal that holds. Recursion is bounded by the number of strata."""
        pred = goal[0]
        plan = memo.program.of[pred]
        if plan.shape is PlanShape.CLOSURE:
            return self._chain(memo, goal)
        rules = memo.program.concluding[pred]
        if len(rules) == 1 and isinstance(plan.alias, tuple):  # one premise, of the same two events
            return self._steps.node(memo, rules[0], {LEFT: goal[1], RIGHT: goal[2]}, {})
        found = self._along_trail(memo, goal) or self._breadth_first(memo, goal)
        if found is None:
            tables = memo.tables(pred)
            assert tables is not None, "a view needs no recursive step but symmetry"
            found = Ranked(self._steps).derive(memo, tables, goal)
        return found

    # -- transitive predicates -----------------------------------------------------------------------

    def _chain(self, memo: Memo, goal: Goal) -> Derivation:
        pred, x, y = goal
        plan = memo.program.of[pred]
        given = self._engine.ground.given[Relation.BEFORE]
        if plan.plain and given.compressed:
            direct = given.holds(x, y)
            path = [x, y] if direct else _path_over_rows(given, x, y, self._engine.order.past(y))
        else:
            path = self._engine.chain(x, y) or []
        for columns in self._steps.columns:
            columns.expect([self._steps.names[at] for at in path])
        (transitive, *_), rules, links = plan.transitive, plan.bodies[pred], []
        for u, v in pairwise(path):
            if plan.plain:
                links.append(self._steps.given(rules[0], u, v))
            elif (link := self._steps.step(memo, rules, (pred, u, v))) is not None:
                links.append(link)
        return balanced(transitive.instance.rule.name, links, forwards=transitive.pairs[0].left == LEFT)

    # -- other predicates ----------------------------------------------------------------------------

    def _breadth_first(self, memo: Memo, goal: Goal) -> Derivation | None:
        """A derivation with the fewest recursive steps; None when the search grows too large."""
        stratum = tuple(memo.program.of[goal[0]].bodies)
        settled = {p: [r for r in memo.program.concluding[p] if not r.reads(stratum)] for p in stratum}
        recursive = {p: [r for r in memo.program.concluding[p] if r.reads(stratum)] for p in stratum}
        agenda: deque[_Way] = deque([_Way(goal, None, None, {})])
        met = {goal}
        expansions = 0
        while agenda:
            way = agenda.popleft()
            leaf = self._steps.step(memo, settled[way.goal[0]], way.goal)
            if leaf is not None:
                return self._climb(memo, way, leaf)
            expansions += 1
            if expansions > self.EXPANSIONS and memo.tables(goal[0]) is not None:
                return None
            # Among the goals one step further, any that needs no further step is found as a set.
            further = []
            for rule in recursive[way.goal[0]]:
                reads = rule.reads(stratum)
                if len(reads) > 1 or reads[0].source.kind == "any":
                    return None
                further.append(_Further(rule, reads[0], self._candidates(memo, rule, reads[0], way.goal)))
            for step in further:
                done = self._settled(memo, step, way, settled)
                if done is not None:
                    leaf = self._steps.step(memo, settled[done.goal[0]], done.goal)
                    assert leaf is not None
                    return self._climb(memo, done, leaf)
            for step in further:
                for following in step.ways(way):
                    if following.goal not in met and following.goal[1] != following.goal[2]:
                        met.add(following.goal)
                        agenda.append(following)
        return None

    def _along_trail(self, memo: Memo, goal: Goal) -> Derivation | None:
        """The derivation that a search came upon, if it was far away and is remembered."""
        pred, x, y = goal
        relation = memo.judged(pred)
        trail = relation.trail(x, y) if isinstance(relation, Table) else None
        if not trail:
            return None
        recursive = [rule for rule in memo.program.concluding[pred] if rule.reads((pred,))]
        way = _Way(goal, None, None, {})
        for further in _turned(pred, trail):
            following = self._next(memo, recursive, way, further)
            if following is None:
                return None
            way = following
        settled = [rule for rule in memo.program.concluding[pred] if not rule.reads((pred,))]
        leaf = self._steps.step(memo, settled, way.goal)
        return None if leaf is None else self._climb(memo, way, leaf)

    def _next(self, memo: Memo, rules: list[Body], way: _Way, goal: Goal) -> _Way | None:
        """A step from one goal to another by one of some rules."""
        for rule in rules:
            (read,) = rule.reads((goal[0],))
            step = _Further(rule, read, self._candidates(memo, rule, read, way.goal))
            ends = {read.left, read.right}
            middle = goal[1] if ends != {LEFT, RIGHT} else None
            if step.values >> (middle or 0) & 1 and (following := step.way(way, middle)).goal == goal:
                return following
        return None

    def _candidates(self, memo: Memo, rule: Body, read: PairLiteral, goal: Goal) -> int:
        """The values of the recursive premise's own event for which all other premises hold (or 1)."""
        rest = rule.without(read)
        middle = next((v for v in (read.left, read.right) if v not in (LEFT, RIGHT)), None)
        return self._steps.join(memo, rest, (LEFT, RIGHT), middle).solve(
            {LEFT: goal[1], RIGHT: goal[2]}, memo.domain
        )

    def _settled(
        self, memo: Memo, step: _Further, way: _Way, settled: Mapping[Pred, list[Body]]
    ) -> _Way | None:
        """One of the goals of a step that rules without recursion conclude."""
        read = step.read
        if not step.values or {read.left, read.right} == {LEFT, RIGHT}:
            return None
        middle, kept = (read.left, read.right) if read.right in (LEFT, RIGHT) else (read.right, read.left)
        if kept not in (LEFT, RIGHT):
            return None
        fixed = way.goal[2] if kept == RIGHT else way.goal[1]
        pred = read.pred
        assert pred is not None
        bound, root = ((RIGHT,), LEFT) if middle == read.left else ((LEFT,), RIGHT)
        for rule in settled[pred]:
            found = self._steps.join(memo, rule, bound, root).solve(
                {bound[0]: fixed}, step.values & ~(1 << fixed)
            )
            if found:
                ends = {LEFT: way.goal[1], RIGHT: way.goal[2]}
                return step.way(way, lowest(self._steps.nearest(step.rule, middle, ends, found)))
        return None

    def _climb(self, memo: Memo, way: _Way, leaf: Derivation) -> Derivation:
        """Put the recursive steps that lead to a goal under it, from the leaf upwards."""
        derivation = leaf
        while way.parent is not None and way.step is not None:
            env = dict(way.env)
            self._steps.bind(memo, way.step.rule.without(way.step.read), env)
            derivation = self._steps.node(memo, way.step.rule, env, {way.step.read: derivation})
            way = way.parent
        return derivation


class _Further(NamedTuple):
    """A recursive rule at a goal: the values for which all but its recursive premise hold."""

    rule: Body
    read: PairLiteral
    values: int

    def ways(self, parent: _Way) -> Iterator[_Way]:
        """The goals one step further."""
        if {self.read.left, self.read.right} == {LEFT, RIGHT}:
            if self.values:
                yield self.way(parent, None)
            return
        for value in bits(self.values):
            yield self.way(parent, value)

    def way(self, parent: _Way, value: int | None) -> _Way:
        """The goal for one value."""
        env = {LEFT: parent.goal[1], RIGHT: parent.goal[2]}
        for variable in (self.read.left, self.read.right):
            if variable not in env and value is not None:
                env[variable] = value
        assert self.read.pred is not None
        return _Way((self.read.pred, env[self.read.left], env[self.read.right]), parent, self, env)


class _Way(NamedTuple):
    """How the search came to a goal."""

    goal: Goal
    parent: _Way | None
    step: _Further | None
    env: Env


def _turned(pred: Pred, trail: Climb) -> Iterator[Goal]:
    """The goals of a trail after the first, each pair turned round before its right end moves."""
    left, right = trail[0]
    for pair in trail[1:]:
        if right not in pair:
            left, right = right, left
            yield pred, left, right
        left = pair[0] if pair[1] == right else pair[1]
        yield pred, left, right


class Ranked:
    """Each pair is concluded from pairs found before it. Cost: one saturation that keeps a log."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def derive(self, memo: Memo, tables: Tables, goal: Goal) -> Derivation:
        """A derivation in the order in which saturation found the pairs."""
        tables.saturate(log=True)
        stratum = tables.preds
        done: dict[Goal, Derivation] = {}
        stack = [goal]
        chosen: dict[Goal, tuple[Body, Env]] = {}
        while stack:
            at = stack[-1]
            if at in done:
                stack.pop()
                continue
            if at not in chosen:
                chosen[at] = self._choice(memo, tables, at)
            rule, env = chosen[at]
            reads = {p: self._read_goal(tables, p, env) for p in rule.reads(stratum)}
            waiting = [sub for sub in reads.values() if sub not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            done[at] = self._steps.node(memo, rule, env, {p: done[sub] for p, sub in reads.items()})
        return done[goal]

    def _choice(self, memo: Memo, tables: Tables, goal: Goal) -> tuple[Body, Env]:
        """A rule that concludes the goal from pairs found earlier, turned round if need be."""
        pred, x, y = goal
        found = self._instance(memo, tables, goal, self._rank(tables, goal))
        if found is not None:
            return found
        turn = next(rule for rule in memo.program.concluding[pred] if is_symmetry(rule))
        return turn, {LEFT: x, RIGHT: y}

    def _instance(self, memo: Memo, tables: Tables, goal: Goal, rank: float) -> tuple[Body, Env] | None:
        for rule in memo.program.concluding[goal[0]]:
            if is_symmetry(rule):
                continue
            reads = rule.reads(tables.preds)
            rest = rule
            for read in reads:
                rest = rest.without(read)
            for env in self._steps.assignments(memo, rest, rule, {LEFT: goal[1], RIGHT: goal[2]}):
                if all(self._rank(tables, self._read_goal(tables, p, env)) < rank for p in reads):
                    return rule, env
        return None

    def _rank(self, tables: Tables, goal: Goal) -> float:
        """When saturation found the pair, in either direction where that is the same; infinity: never."""
        pred, x, y = goal
        times = [tables.found_at(pred, x, y)]
        if pred in tables.symmetric:
            times.append(tables.found_at(pred, y, x))
        return min((time for time in times if time is not None), default=inf)

    def _read_goal(self, tables: Tables, read: PairLiteral, env: Env) -> Goal:
        left, right = env[read.left], env[read.right]
        if read.pred is not None:
            return (read.pred, left, right)
        for pred in tables.preds:
            for a, b in ((left, right), (right, left)):
                if tables.found_at(pred, a, b) is not None:
                    return (pred, a, b)
        return (tables.preds[0], left, right)


def balanced(rule: str, links: list[Derivation], forwards: bool = True) -> Derivation:
    """A chain of links as one derivation of depth ⌈log₂ n⌉, two premises a step.

    Cost: linear in the links.

    >>> from microcosm.logic.derivation import step
    >>> ab = step("Init", Judgement.INITIAL, "a", Relation.BEFORE, "b")
    >>> bc = step("Init", Judgement.INITIAL, "b", Relation.BEFORE, "c")
    >>> str(balanced("In-Tr", [ab, bc]).conclusion)
    '⊢₀ a < c'
    """
    while len(links) > 1:
        merged = []
        for at in range(0, len(links) - 1, 2):
            one, other = links[at], links[at + 1]
            conclusion = Conclusion(
                one.conclusion.judgement, one.conclusion.left, one.conclusion.relation, other.conclusion.right
            )
            merged.append(Derivation(rule, conclusion, (one, other) if forwards else (other, one)))
        if len(links) % 2:
            merged.append(links[-1])
        links = merged
    return links[0]


def _path_over_rows(given: RowRelation, x: int, y: int, inside: int) -> list[int]:
    """A shortest path over the pairs of a relation that may be compressed."""
    parent = {x: x}
    queue = deque([x])
    unseen = inside
    while queue:
        v = queue.popleft()
        if given.holds(v, y):
            path = [y, v]
            while v != x:
                v = parent[v]
                path.append(v)
            return path[::-1]
        for w in bits(given.row(v) & unseen):
            parent[w] = v
            unseen &= ~(1 << w)
            queue.append(w)
    raise AssertionError("a row says x < y, and no givens lead there")
