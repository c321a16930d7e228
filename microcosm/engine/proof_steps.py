"""One step of a derivation: which events satisfy a rule's premises, and what the step looks like.

Intermediate events are chosen among those that givens link directly to what is known already, where there
are any: proofs stay short so. Where a search for a short proof takes too long, the order in which saturation
found the pairs leads to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf

from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral, judged
from microcosm.engine.engine import Engine
from microcosm.engine.join import Join
from microcosm.engine.memo import Memo
from microcosm.engine.plan import is_symmetry
from microcosm.engine.table import Tables
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation, absent, leaf_shows, not_in
from microcosm.logic.rule import ANY, Given, In, Judged, Judgement, NoneWith, Not, Pred
from microcosm.order.bits import bits

Env = dict[int, int]
"""The position that each variable of a body stands for."""

Goal = tuple[Pred, int, int]
"""A predicate of two positions, to be derived."""


class Steps:
    """Builds steps; `derive` gives derivations of their premises from lower strata.

    Cost of a step: a join for each intermediate event, and the derivations of its premises.
    """

    def __init__(self, engine: Engine, givens: Givens, derive: Callable[[Memo, Goal], Derivation]) -> None:
        self._engine = engine
        self._derive = derive
        self._facts = GivenFacts(givens)
        self.columns = [kept for kept in (givens.links, givens.events) if kept is not None]
        """What is to be told of the events whose steps are asked for next."""
        self.program = engine.program
        self.names = self._names = engine.universe.names
        self._joins: dict[tuple[int, Body, tuple[int, ...], int | None], Join] = {}

    def rules(self, pred: Pred) -> tuple[Body, ...]:
        return self._engine.program.concluding.get(pred, ())

    def join(self, memo: Memo, lowered: Body, bound: tuple[int, ...], root: int | None) -> Join:
        key = (id(memo), lowered, bound, root)
        join = self._joins.get(key)
        if join is None:
            join = self._joins[key] = Join(lowered, bound, root, memo)
        return join

    def given(self, rule: Body, x: int, y: int) -> Derivation:
        """The step of a rule that only says that what is given holds."""
        a, b = self._names[x], self._names[y]
        conclusion = Conclusion(rule.head[0], a, str(rule.head[1]), b)
        return Derivation(
            rule.instance.rule.name, conclusion, (), leaf_shows(self._facts, a, rule.head[1], b)
        )

    def step(self, memo: Memo, rules: Iterable[Body], goal: Goal) -> Derivation | None:
        """The step of the shortest of some rules without recursion that concludes the goal."""
        for rule in sorted(rules, key=lambda r: len(r.instance.premises)):
            env: Env = {LEFT: goal[1], RIGHT: goal[2]}
            if self.bind(memo, rule, env):
                return self.node(memo, rule, env, {})
        return None

    def bind(self, memo: Memo, lowered: Body, env: Env) -> bool:
        """Choose values for the intermediate events, near ones first; whether there are any."""
        return next(self.assignments(memo, lowered, lowered, env, into=env), None) is not None

    def assignments(
        self, memo: Memo, lowered: Body, whole: Body, env: Env, into: Env | None = None
    ) -> Iterator[Env]:
        """Every way to bind the intermediate events of `whole` such that `lowered` holds."""
        variables = [
            v
            for v in dict.fromkeys(
                [*(o.variable for o in whole.ones), *(v for p in whole.pairs for v in (p.left, p.right))]
            )
            if v not in env
        ]
        if not variables:
            if self.join(memo, lowered, tuple(sorted(env)), None).solve(env, 0):
                yield env
            return
        stack: list[tuple[int, Env, Iterator[int]]] = []

        def open_level(depth: int, bound: Env) -> None:
            variable = variables[depth]
            values = self.join(memo, lowered, tuple(sorted(bound)), variable).solve(bound, memo.domain)
            near = self.nearest(lowered, variable, bound, values)
            stack.append((depth, bound, iter([*bits(near), *bits(values & ~near)])))

        open_level(0, dict(env))
        while stack:
            depth, bound, values = stack[-1]
            value = next(values, None)
            if value is None:
                stack.pop()
                continue
            following = {**bound, variables[depth]: value}
            if depth + 1 < len(variables):
                open_level(depth + 1, following)
                continue
            if into is not None:
                into.update(following)
            yield following

    def nearest(self, lowered: Body, variable: int, env: Mapping[int, int], values: int) -> int:
        """Of some values, those that givens link directly to what is bound, where there are any."""
        for p in lowered.pairs:
            if not p.positive or p.pred is None or variable not in (p.left, p.right):
                continue
            other = p.left if p.right == variable else p.right
            given = self._engine.ground.given.get(p.pred[1])
            if other in env and given is not None:
                linked = given.row(env[other]) if p.left == other else given.col(env[other])
                if p.pred[1].symmetric:
                    linked |= given.row(env[other]) | given.col(env[other])
                values = values & linked or values
        return values

    def node(self, memo: Memo, rule: Body, env: Env, given: Mapping[PairLiteral, Derivation]) -> Derivation:
        """The step of a rule under an assignment; recursive premises come ready."""
        instance = rule.instance
        at = {name: env[number] for number, name in enumerate(rule.variables) if number in env}
        premises: list[Derivation] = []
        evidence: dict[str, object] = {}
        ready = {(p.source, p.left, p.right): d for p, d in given.items()}
        number = {name: n for n, name in enumerate(rule.variables)}
        for premise in instance.premises:
            match premise:
                case Judged(judgement, left, relation, right):
                    done = None
                    if ready:
                        done = ready.get((judged(judgement, relation), number[left], number[right]))
                    premises.append(done or self.premise(memo, premise, at[left], at[right]))
                case Not() | NoneWith():
                    leaf = self.absence(premise, instance.conclusion, at)
                    if leaf is not None:
                        premises.append(leaf)
                case Given(left, relation, right):
                    assert isinstance(relation, Relation)
                    ends = self._names[at[left]], self._names[at[right]]
                    evidence.update(leaf_shows(self._facts, ends[0], relation, ends[1]))
        if premises:
            evidence.pop("source", None)  # which of them it is said of could not be told
        head = instance.conclusion
        assert isinstance(head.relation, Relation)
        conclusion = Conclusion(
            head.judgement, self._names[at[head.left]], str(head.relation), self._names[at[head.right]]
        )
        return Derivation(instance.rule.name, conclusion, tuple(premises), evidence)

    def premise(self, memo: Memo, premise: Judged, x: int, y: int) -> Derivation:
        if isinstance(premise.relation, Relation):
            return self._derive(memo, ((premise.judgement, premise.relation), x, y))
        for pred in self._engine.program.of:
            if pred[0] is premise.judgement:
                for a, b in ((x, y), (y, x)):
                    if memo.judged(pred).holds(a, b):
                        return self._derive(memo, (pred, a, b))
        raise AssertionError("a wildcard premise that nothing satisfies")

    def absence(self, premise: Not | NoneWith, head: Judged, at: Mapping[str, int]) -> Derivation | None:
        name = {variable: self._names[position] for variable, position in at.items()}
        match premise:
            case Not(Judged(judgement, left, relation, right)):
                return absent(judgement, name[left], name[right], str(relation))
            case Not(In(event)):
                return not_in(name[event])
            case NoneWith():
                both = related_to_both(premise)
                if both is not None:
                    judgement, left, right = both
                    return absent(judgement, name[left], name[right], "in-both")
                return absent(head.judgement, name[head.left], name[head.right], "none")
        return None


def related_to_both(premise: NoneWith) -> tuple[Judgement, str, str] | None:
    """The two events of a premise `no e in M with |- a _ e, |- b _ e`, if it is of that form.

    Cost: constant.
    """
    match premise.body:
        case (Judged(one, l1, r1, m1), Judged(other, l2, r2, m2)) if one is other and r1 == r2 == ANY:
            ends = [{l1, m1} - {premise.event}, {l2, m2} - {premise.event}]
            if all(len(end) == 1 for end in ends):
                return one, ends[0].pop(), ends[1].pop()
    return None


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
