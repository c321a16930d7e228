"""Rules with events filled in: the steps of a derivation, and where there is none, which premises fail.

Intermediate events are chosen among those that givens link directly to what is known already, where there are
any: proofs stay short so. A leaf that rests on a given shows from which line of which file that came
(`leaf_shows`). Where a relation is not judged (`why_not`) they are chosen so that as many premises hold as
can; one that nothing fits is shown by its name in the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, count

from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral, body, judged
from microcosm.engine.engine import Engine
from microcosm.engine.join import Join
from microcosm.engine.lowering import online
from microcosm.engine.memo import Memo
from microcosm.givens.facts import Evidence, GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Derivation, Words, absent, not_in, step
from microcosm.logic.rule import (
    ANY,
    Given,
    In,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Pred,
    Premise,
    finer,
)
from microcosm.logic.rule_grammar import premise_text
from microcosm.order.bits import bits, lowest
from microcosm.text.names import quote

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
        self.columns = [kept for kept in (givens.order_columns, givens.events) if kept is not None]
        """What is to be told of the events whose steps are asked for next."""
        self.program = engine.program
        self.names = engine.universe.names
        self._joins: dict[tuple[int, Body, tuple[int, ...], int | None], Join] = {}

    def rules(self, pred: Pred) -> tuple[Body, ...]:
        return self.program.concluding.get(pred, ())

    def join(self, memo: Memo, lowered: Body, bound: tuple[int, ...], root: int | None) -> Join:
        key = (id(memo), lowered, bound, root)
        join = self._joins.get(key)
        if join is None:
            join = self._joins[key] = Join(lowered, bound, root, memo)
        return join

    def given(self, rule: Body, x: int, y: int) -> Derivation:
        """The step of a rule that only says that what is given holds."""
        judgement, relation = rule.head
        a, b = self.names[x], self.names[y]
        shows = leaf_shows(self._facts, a, relation, b)
        return step(rule.instance.rule.name, judgement, a, relation, b, **shows)

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
        """Every way to bind the events of `whole` that are not yet bound such that `lowered` holds."""
        spoken = (*(o.variable for o in whole.ones), *(v for p in whole.pairs for v in (p.left, p.right)))
        variables = [v for v in dict.fromkeys((LEFT, RIGHT, *spoken)) if v not in env]
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
                    ends = self.names[at[left]], self.names[at[right]]
                    evidence.update(leaf_shows(self._facts, ends[0], relation, ends[1]))
        if premises:
            evidence.pop("source", None)  # it would not say of which of them
        (judgement, concluded), head = rule.head, instance.conclusion
        left, right = self.names[at[head.left]], self.names[at[head.right]]
        return step(instance.rule.name, judgement, left, concluded, right, *premises, **evidence)

    def premise(self, memo: Memo, premise: Judged, x: int, y: int) -> Derivation:
        if isinstance(premise.relation, Relation):
            return self._derive(memo, ((premise.judgement, premise.relation), x, y))
        for pred in self.program.of:
            if pred[0] is premise.judgement:
                for a, b in ((x, y), (y, x)):
                    if memo.judged(pred).holds(a, b):
                        return self._derive(memo, (pred, a, b))
        raise AssertionError("a wildcard premise that nothing satisfies")

    def absence(self, premise: Not | NoneWith, head: Judged, at: Mapping[str, int]) -> Derivation | None:
        name = {variable: self.names[position] for variable, position in at.items()}
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


_at_line = re.compile(r"(?:(?P<file>.*):|line )(?P<line>\d+)\Z", re.DOTALL).match


def leaf_shows(facts: GivenFacts, left: str, relation: Relation, right: str) -> dict[str, object]:
    """What a step that rests on one given shows: its clocks or token if it is by these, and its `source`.

    In that `text` says by what it is given, `file` and `line` where; None where nobody knows. The place is
    that of the statement in a microcosm file; of what came out of a log it is that of the event to which it
    leads, the right one, or else of the left one. Cost: constant.

    >>> from microcosm.text.mc_reader import read_givens
    >>> facts = GivenFacts(read_givens("a < b\\nb < c from \\"message m\\"\\nevent c at q.log:7", "album.mc"))
    >>> leaf_shows(facts, "a", Relation.BEFORE, "b")
    {'source': {'file': 'album.mc', 'line': 1, 'text': 'album.mc:1'}}
    >>> leaf_shows(facts, "b", Relation.BEFORE, "c")
    {'source': {'file': 'q.log', 'line': 7, 'text': 'message m'}}
    """
    shows: dict[str, object] = {}
    text, stated = None, None
    match next(facts.evidence(left, relation, right), None):
        case Evidence("external", str(source)):
            text, stated = str(source), _at_line(source)
        case Evidence("token", name):
            shows["token"], text = name, f"token {name}"
        case Evidence("clocks"):
            clocks = facts.givens.clocks
            shows["clocks"], text = {event: clocks[event].stated() for event in (left, right)}, "clocks"
        case Evidence("internal"):
            text = "internal events"
    file, line, events = None, None, facts.givens.events
    if stated is not None:
        file, line = stated["file"], int(stated["line"])
    elif events is not None:
        known = [at for event in (right, left) if (at := events.number(event)) is not None]
        places = ((events.files[at], events.lines[at]) for at in known)
        file, line = next(((f, n) for f, n in places if f and n), (None, None))
    return {**shows, "source": {"file": file, "line": line, "text": text}}


@dataclass(frozen=True, slots=True)
class PremiseLine:
    """A premise of `rule` in words, with the events filled in, and whether it holds.

    `conclusion` is what the rule would conclude; `attempt` tells apart the instances of one rule (a relation
    variable, an alternative); `depth` is 0 for the rules that conclude what was asked, 1 for those that
    conclude a premise of theirs that does not hold.
    """

    rule: str
    text: str
    holds: bool
    conclusion: str
    attempt: int = 0
    depth: int = 0
    events: tuple[str, ...] = ()
    """The events that the rule speaks of."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Whether a fact holds, and the premises of every rule that could conclude it."""

    holds: bool
    premises: tuple[PremiseLine, ...]


def why_not(engine: Engine, a: str, relation: Relation, b: str, words: Words = quote) -> WhyNot:
    """Explain the absence (or presence) of `|- a R b`; `words` writes an event. Cost: a few joins a rule."""
    if relation in (Relation.AFTER, Relation.NOT_AFTER):
        a, b, relation = b, a, relation.converse
    memo, x, y = engine.locate(a, b)
    with memo.named(((a, x), (b, y))):
        asker = _Asker(engine, memo, words)
        pred = online(relation)
        return WhyNot(memo.judged(pred).holds(x, y), tuple(asker.lines(pred, x, y, depth=0)))


_LEVELS = list(Judgement)
"""Initial, online, offline: why a judgement fails is told by those before it, and never in a circle."""


class _Asker:
    def __init__(self, engine: Engine, memo: Memo, words: Words) -> None:
        self._words = words
        self._engine = engine
        self._memo = memo
        self._attempts = count()

    def lines(self, pred: Pred, x: int, y: int, depth: int) -> Iterator[PremiseLine]:
        """The premises of each rule for the fact; below them, why a judged one of a lower stratum fails."""
        below: list[tuple[Pred, int, int]] = []
        names, level = self._engine.universe.names, _LEVELS.index(pred[0])
        for lowered in self._engine.program.concluding.get(pred, ()):
            instance = lowered.instance
            attempt = next(self._attempts)
            env = self._nearest_fit(lowered, {LEFT: x, RIGHT: y})
            at = {name: env[n] for n, name in enumerate(lowered.variables) if n in env}
            shown = {
                name: self._words(names[at[name]]) if name in at else "some third event"
                for name in lowered.variables
            }
            events = tuple(names[place] for place in at.values())
            conclusion = premise_text(instance.conclusion, shown)
            for premise in instance.premises:
                if isinstance(premise, MostAccurate) and not list(finer(premise.of)):
                    continue
                holds = self._holds(premise, at, lowered)
                text = premise_text(premise, shown)
                yield PremiseLine(instance.rule.name, text, holds, conclusion, attempt, depth, events)
                if not holds and isinstance(premise, Judged) and isinstance(premise.relation, Relation):
                    lower = (premise.judgement, premise.relation)
                    if (
                        _LEVELS.index(premise.judgement) < level
                        and premise.left in at
                        and premise.right in at
                    ):
                        below.append((lower, at[premise.left], at[premise.right]))
        for lower, left, right in dict.fromkeys(below):
            yield from self.lines(lower, left, right, depth + 1)

    def _holds(self, premise: Premise, at: dict[str, int], lowered: Body) -> bool:
        """Whether a premise holds of some events, as deduction reads it; none holds of an event not found."""
        if isinstance(premise, NoneWith):
            patterns = [p for p in lowered.instance.premises if isinstance(p, NoneWith)]
            none = lowered.nones[patterns.index(premise)]
            env = {n: at[name] for n, name in enumerate(lowered.variables) if name in at}
            needed = {v for v in none.mentioned() if v in env}
            return not Join(none, sorted(needed), None, self._memo).solve(env, 0)
        alone = body(replace(lowered.instance, premises=(premise,)))
        env = {n: at[name] for n, name in enumerate(alone.variables) if name in at}
        if len(env) < len(alone.variables):
            return isinstance(premise, Not | MostAccurate)
        return bool(Join(alone, env, None, self._memo).solve(env, 0))

    def _nearest_fit(self, lowered: Body, env: dict[int, int]) -> dict[int, int]:
        """Values for the intermediate events under which the most literals hold."""
        env = dict(env)
        variables = dict.fromkeys(v for p in lowered.pairs for v in (p.left, p.right) if v not in env)
        for variable in variables:
            others = self._memo.domain
            for at in env.values():
                others &= ~(1 << at)
            sets = []
            for p in lowered.pairs:
                if variable in (p.left, p.right):
                    other = p.left if p.right == variable else p.right
                    if other in env:
                        relation = self._memo.relation(p.source)
                        row = relation.row(env[other]) if p.left == other else relation.col(env[other])
                        sets.append(others & (row if p.positive else ~row))
            value = _most(sets)
            if value is not None:
                env[variable] = value
        return env


def _most(sets: list[int]) -> int | None:
    """An element of as many of the sets as can be, earlier ones preferred; None where all are empty."""
    for size in range(len(sets), 0, -1):
        for chosen in combinations(sets, size):
            common = -1
            for one in chosen:
                common &= one
            if common:
                return lowest(common)
    return None
