"""Derivations on demand: none is stored, the memo guides the search for a short one.

A transitive chain is a shortest path over what is given, nested in balance. Any other goal is searched
breadth first through the rules that conclude it, so that the fewest recursive steps win; where that
takes too long, the order in which saturation found the pairs leads to a derivation without a search.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from microcosm.engine.body import LEFT, RIGHT, Body, Pair, Pred, Source, judged
from microcosm.engine.engine import Engine
from microcosm.engine.ground import RowRelation
from microcosm.engine.join import Join
from microcosm.engine.memo import Memo
from microcosm.engine.program import Shape
from microcosm.engine.table import Tables
from microcosm.logic.derivation import Conclusion, Derivation, absent, not_in
from microcosm.logic.judgement import Judgement
from microcosm.logic.rule import ANY, Given, In, Judged, NoneWith, Not
from microcosm.relations.bits import bits, lowest
from microcosm.relations.givens import GivenFacts, Givens
from microcosm.relations.relation import Relation

Env = dict[int, int]
Goal = tuple[Pred, int, int]


class Witness:
    """Finds derivations of what an engine judges. Valid until the givens change."""

    EXPANSIONS = 300
    """So many goals are expanded breadth first before saturation is asked."""

    def __init__(self, engine: Engine, givens: Givens) -> None:
        self._engine = engine
        self._facts = GivenFacts(givens)
        self._names = engine.universe.names
        self._joins: dict[tuple[int, Body, tuple[int, ...], int | None], Join] = {}

    def derive(self, judgement: Judgement, a: str, relation: Relation, b: str) -> Derivation | None:
        """A derivation of `judgement a R b`, None where it is not judged."""
        if relation in (Relation.AFTER, Relation.NOT_AFTER):
            a, b, relation = b, a, relation.converse
        memo, x, y = self._engine.locate(a, b)
        if a == b or not memo.judged((judgement, relation)).holds(x, y):
            return None
        return self._derive(memo, ((judgement, relation), x, y))

    def _derive(self, memo: Memo, goal: Goal) -> Derivation:
        """A derivation of a goal that holds. Recursion is bounded by the number of strata."""
        pred = goal[0]
        plan = self._engine.program.of[pred]
        if plan.shape is Shape.CLOSURE:
            return self._chain(memo, goal)
        found = self._breadth_first(memo, goal)
        if found is None:
            tables = memo.tables(pred)
            assert tables is not None, "a view needs no recursive step but symmetry"
            found = self._by_rank(memo, tables, goal)
        return found

    # -- transitive predicates -----------------------------------------------------------------------

    def _chain(self, memo: Memo, goal: Goal) -> Derivation:
        pred, x, y = goal
        plan = self._engine.program.of[pred]
        transitive = plan.transitive[0]
        path = self._shortest_path(memo, pred, x, y)
        links = []
        for u, v in pairwise(path):
            link = self._given(plan.bodies[pred][0], u, v) if plan.plain else None
            link = link or self._step(memo, plan.bodies[pred], (pred, u, v))
            assert link is not None
            links.append(link)
        return balanced(transitive.instance.name, links, forwards=transitive.pairs[0].left == LEFT)

    def _given(self, rule: Body, x: int, y: int) -> Derivation:
        """The step of a rule that only says that what is given holds."""
        a, b = self._names[x], self._names[y]
        conclusion = Conclusion(rule.head[0], a, str(rule.head[1]), b)
        return Derivation(rule.instance.name, conclusion, (), self._facts.shown(a, rule.head[1], b))

    def _shortest_path(self, memo: Memo, pred: Pred, x: int, y: int) -> list[int]:
        order = self._engine.order(pred)
        plan = self._engine.program.of[pred]
        given = self._engine.ground.given[Relation.BEFORE]
        if not (plan.plain and given.compressed):
            path = order.chain(x, y)
            assert path is not None
            return path
        return _path_over_rows(given, x, y, order.past(y))

    # -- other predicates ----------------------------------------------------------------------------

    def _breadth_first(self, memo: Memo, goal: Goal) -> Derivation | None:
        """A derivation with the fewest recursive steps; None when the search grows too large."""
        stratum = tuple(self._engine.program.of[goal[0]].bodies)
        settled = {p: [r for r in self._rules(p) if not r.reads(stratum)] for p in stratum}
        recursive = {p: [r for r in self._rules(p) if r.reads(stratum)] for p in stratum}
        agenda: deque[_Way] = deque([_Way(goal, None, None, {})])
        met = {goal}
        expansions = 0
        while agenda:
            way = agenda.popleft()
            leaf = self._step(memo, settled[way.goal[0]], way.goal)
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
                    leaf = self._step(memo, settled[done.goal[0]], done.goal)
                    assert leaf is not None
                    return self._climb(memo, done, leaf)
            for step in further:
                for following in step.ways(way):
                    if following.goal not in met and following.goal[1] != following.goal[2]:
                        met.add(following.goal)
                        agenda.append(following)
        return None

    def _candidates(self, memo: Memo, rule: Body, read: Pair, goal: Goal) -> int:
        """The values of the recursive premise's own event for which all other premises hold (or 1)."""
        rest = rule.without(read)
        middle = next((v for v in (read.left, read.right) if v not in (LEFT, RIGHT)), None)
        return self._join(memo, rest, (LEFT, RIGHT), middle).solve(
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
            found = self._join(memo, rule, bound, root).solve({bound[0]: fixed}, step.values & ~(1 << fixed))
            if found:
                ends = {LEFT: way.goal[1], RIGHT: way.goal[2]}
                return step.way(way, lowest(self._nearest(memo, step.rule, middle, ends, found)))
        return None

    def _climb(self, memo: Memo, way: _Way, leaf: Derivation) -> Derivation:
        """Put the recursive steps that lead to a goal under it, from the leaf upwards."""
        derivation = leaf
        while way.parent is not None and way.step is not None:
            env = dict(way.env)
            self._bind(memo, way.step.rule.without(way.step.read), env)
            derivation = self._node(memo, way.step.rule, env, {way.step.read: derivation})
            way = way.parent
        return derivation

    def _by_rank(self, memo: Memo, tables: Tables, goal: Goal) -> Derivation:
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
                chosen[at] = self._ranked_choice(memo, tables, at)
            rule, env = chosen[at]
            reads = {p: self._read_goal(tables, p, env) for p in rule.reads(stratum)}
            waiting = [sub for sub in reads.values() if sub not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            done[at] = self._node(memo, rule, env, {p: done[sub] for p, sub in reads.items()})
        return done[goal]

    def _ranked_choice(self, memo: Memo, tables: Tables, goal: Goal) -> tuple[Body, Env]:
        """A rule that concludes the goal from pairs found earlier, turned round if need be."""
        pred, x, y = goal
        found = self._ranked_instance(memo, tables, goal, self._rank(tables, goal))
        if found is not None:
            return found
        turn = next(rule for rule in self._rules(pred) if _turns(rule))
        return turn, {LEFT: x, RIGHT: y}

    def _ranked_instance(
        self, memo: Memo, tables: Tables, goal: Goal, rank: float
    ) -> tuple[Body, Env] | None:
        for rule in self._rules(goal[0]):
            if _turns(rule):
                continue
            reads = rule.reads(tables.preds)
            rest = rule
            for read in reads:
                rest = rest.without(read)
            for env in self._assignments(memo, rest, rule, {LEFT: goal[1], RIGHT: goal[2]}):
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

    # -- one step --------------------------------------------------------------------------------------

    def _step(self, memo: Memo, rules: Iterable[Body], goal: Goal) -> Derivation | None:
        """The step of the shortest of some rules without recursion that concludes the goal."""
        for rule in sorted(rules, key=lambda r: len(r.instance.premises)):
            env: Env = {LEFT: goal[1], RIGHT: goal[2]}
            if self._bind(memo, rule, env):
                return self._node(memo, rule, env, {})
        return None

    def _bind(self, memo: Memo, lowered: Body, env: Env) -> bool:
        """Choose values for the intermediate events, near ones first; whether there are any."""
        return next(self._assignments(memo, lowered, lowered, env, into=env), None) is not None

    def _assignments(
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
            if self._join(memo, lowered, tuple(sorted(env)), None).solve(env, 0):
                yield env
            return
        stack: list[tuple[int, Env, Iterator[int]]] = []

        def open_level(depth: int, bound: Env) -> None:
            variable = variables[depth]
            values = self._join(memo, lowered, tuple(sorted(bound)), variable).solve(bound, memo.domain)
            near = self._nearest(memo, lowered, variable, bound, values)
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

    def _nearest(self, memo: Memo, lowered: Body, variable: int, env: Mapping[int, int], values: int) -> int:
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

    def _node(self, memo: Memo, rule: Body, env: Env, given: Mapping[Pair, Derivation]) -> Derivation:
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
                    done = ready.get((judged(judgement, relation), number[left], number[right]))
                    premises.append(done or self._premise(memo, premise, at[left], at[right]))
                case Not() | NoneWith():
                    leaf = self._absence(premise, instance.conclusion, at)
                    if leaf is not None:
                        premises.append(leaf)
                case Given(left, relation, right):
                    assert isinstance(relation, Relation)
                    evidence.update(
                        self._facts.shown(self._names[at[left]], relation, self._names[at[right]])
                    )
        head = instance.conclusion
        assert isinstance(head.relation, Relation)
        conclusion = Conclusion(
            head.judgement, self._names[at[head.left]], str(head.relation), self._names[at[head.right]]
        )
        return Derivation(instance.name, conclusion, tuple(premises), evidence)

    def _premise(self, memo: Memo, premise: Judged, x: int, y: int) -> Derivation:
        if isinstance(premise.relation, Relation):
            return self._derive(memo, ((premise.judgement, premise.relation), x, y))
        for pred in self._engine.program.of:
            if pred[0] is premise.judgement:
                for a, b in ((x, y), (y, x)):
                    if memo.judged(pred).holds(a, b):
                        return self._derive(memo, (pred, a, b))
        raise AssertionError("a wildcard premise that nothing satisfies")

    def _absence(self, premise: Not | NoneWith, head: Judged, at: Mapping[str, int]) -> Derivation | None:
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

    # -- plumbing ----------------------------------------------------------------------------------------

    def _rules(self, pred: Pred) -> tuple[Body, ...]:
        return self._engine.program.concluding.get(pred, ())

    def _join(self, memo: Memo, lowered: Body, bound: tuple[int, ...], root: int | None) -> Join:
        key = (id(memo), lowered, bound, root)
        join = self._joins.get(key)
        if join is None:
            join = self._joins[key] = Join(lowered, bound, root, memo)
        return join


@dataclass(frozen=True)
class _Further:
    """A recursive rule at a goal: the values for which all but its recursive premise hold."""

    rule: Body
    read: Pair
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


@dataclass(frozen=True)
class _Way:
    """How the search came to a goal."""

    goal: Goal
    parent: _Way | None
    step: _Further | None
    env: Env


def balanced(rule: str, links: list[Derivation], forwards: bool = True) -> Derivation:
    """A chain of links as one derivation of depth ⌈log₂ n⌉, two premises a step.

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


def related_to_both(premise: NoneWith) -> tuple[Judgement, str, str] | None:
    """The two events of a premise `no e in M with |- a _ e, |- b _ e`, if it is of that form."""
    match premise.body:
        case (Judged(one, l1, r1, m1), Judged(other, l2, r2, m2)) if one is other and r1 == r2 == ANY:
            ends = [{l1, m1} - {premise.event}, {l2, m2} - {premise.event}]
            if all(len(end) == 1 for end in ends):
                return one, ends[0].pop(), ends[1].pop()
    return None


def _turns(lowered: Body) -> bool:
    return lowered.pairs == (Pair(Source("judged", *lowered.head), RIGHT, LEFT),)


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
