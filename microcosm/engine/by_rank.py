"""Derivations in the order in which saturation found the pairs: no search, whatever the recursion."""

from __future__ import annotations

from math import inf

from microcosm.engine.body import LEFT, RIGHT, Body, Pair, Source
from microcosm.engine.memo import Memo
from microcosm.engine.proof_steps import Env, Goal, Steps
from microcosm.engine.table import Tables
from microcosm.logic.derivation import Derivation


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
        turn = next(rule for rule in memo.program.concluding[pred] if turns(rule))
        return turn, {LEFT: x, RIGHT: y}

    def _instance(self, memo: Memo, tables: Tables, goal: Goal, rank: float) -> tuple[Body, Env] | None:
        for rule in memo.program.concluding[goal[0]]:
            if turns(rule):
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

    def _read_goal(self, tables: Tables, read: Pair, env: Env) -> Goal:
        left, right = env[read.left], env[read.right]
        if read.pred is not None:
            return (read.pred, left, right)
        for pred in tables.preds:
            for a, b in ((left, right), (right, left)):
                if tables.found_at(pred, a, b) is not None:
                    return (pred, a, b)
        return (tables.preds[0], left, right)


def turns(lowered: Body) -> bool:
    """Whether a rule only says that its predicate is symmetric."""
    return lowered.pairs == (Pair(Source("judged", *lowered.head), RIGHT, LEFT),)
