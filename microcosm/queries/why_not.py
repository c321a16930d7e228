"""Why a relation is not judged: the premises of each rule that could conclude it, and which of them hold.

Intermediate events are chosen so that as many premises hold as can; one that nothing fits is shown by its
name in the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, count

from microcosm.engine.body import LEFT, RIGHT, Body, body
from microcosm.engine.engine import Engine
from microcosm.engine.join import Join
from microcosm.engine.lowering import online
from microcosm.engine.memo import Memo
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Words
from microcosm.logic.printer import premise_text
from microcosm.logic.rule import Judged, Judgement, MostAccurate, NoneWith, Not, Pred, Premise, finer
from microcosm.order.bits import lowest
from microcosm.text.names import quote


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
