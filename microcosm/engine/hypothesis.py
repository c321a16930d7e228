"""A hypothetical microcosm: assumptions on top of what is judged, propagated pair by pair, and undone.

Judgements of one stratum are kept as facts, each with the rule instance that brought it first; what lies
below is asked of the memo. A queue of new facts wakes the rules that mention their relation. Facts stand on a
trail: what an assumption brought is taken back from its end. Nothing is ever copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.join import Join
from microcosm.engine.memo import Memo
from microcosm.engine.proof_steps import Env, Steps
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import ASSUME, CLASH, CONTRADICTION, Judgement
from microcosm.order.bits import bits, from_positions

Fact = tuple[Relation, int, int]
"""A relation judged of two positions."""


@dataclass(frozen=True)
class _Trigger:
    """A rule as it is woken by one of its premises: the others of the stratum are matched in turn."""

    rule: Body
    read: PairLiteral
    others: tuple[PairLiteral, ...]
    rest: Body
    plain: bool
    """Whether nothing but premises of the stratum is left to ask."""


class Hypothesis:
    """The judgements of one kind over some events, under assumptions made and taken back.

    `clashes` holds, for each relation, what excludes it (see `Assumptions`). Once two facts exclude each
    other (`clash`), propagation stops until the assumption behind them is undone. Cost: one step for each
    way in which a rule's premises are met.
    """

    def __init__(
        self,
        judgement: Judgement,
        clashes: dict[Relation, tuple[tuple[Relation, bool], ...]],
        steps: Steps,
        memo: Memo,
        events: Iterable[int],
    ) -> None:
        self.judgement = judgement
        self.events = sorted(events)
        self.clash: tuple[Fact, Fact] | None = None
        self._clashes = clashes
        self._steps, self._memo = steps, memo
        self._inside = from_positions(self.events, self.events[-1] + 1) if self.events else 0
        self._why: dict[Fact, Derivation | tuple[Body, Env] | None] = {}
        self._rows: dict[Relation, dict[int, dict[int, None]]] = {}
        self._cols: dict[Relation, dict[int, dict[int, None]]] = {}
        self._trail: list[Fact] = []
        self._done: dict[Fact, Derivation] = {}
        self._at = 0  # the facts of the trail before it have woken their rules
        self._triggers: dict[Relation, list[_Trigger]] = {}
        preds = [pred for pred in steps.program.concluding if pred[0] is judgement]
        for pred in preds:
            for rule in steps.rules(pred):
                self._prepare(rule)
        self.propagate()

    def holds(self, relation: Relation, a: int, b: int) -> bool:
        """Whether the relation is judged."""
        return (relation, a, b) in self._why

    def related(self, relation: Relation) -> Iterator[tuple[int, int]]:
        """Every pair of which a relation is judged."""
        for a, row in self._rows.get(relation, {}).items():
            for b in row:
                yield a, b

    def mark(self) -> int:
        """A point to `undo` to."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Take back every fact since a mark."""
        while len(self._trail) > mark:
            fact = self._trail.pop()
            del self._why[fact]
            self._done.pop(fact, None)
            relation, a, b = fact
            del self._rows[relation][a][b]
            del self._cols[relation][b][a]
        self.clash = None
        self._at = mark

    def assume(self, relation: Relation, a: int, b: int) -> None:
        """Add what is assumed, and what follows."""
        self._add((relation, a, b), None)
        self.propagate()

    def conclude(self, relation: Relation, a: int, b: int, proof: Derivation) -> None:
        """Add what was derived elsewhere, and what follows."""
        self._add((relation, a, b), proof)
        self.propagate()

    def propagate(self) -> None:
        """Let every fact wake the rules that mention it, until nothing is new or two facts clash."""
        while self._at < len(self._trail) and self.clash is None:
            fact = self._trail[self._at]
            self._at += 1
            for trigger in self._triggers.get(fact[0], ()):
                for env in self._matches(trigger, fact):
                    head = (trigger.rule.head[1], env[LEFT], env[RIGHT])
                    if env[LEFT] != env[RIGHT] and head not in self._why:
                        self._add(head, (trigger.rule, env))
                        if self.clash is not None:
                            return

    def derivation(self, relation: Relation, a: int, b: int) -> Derivation:
        """How a fact came about; it must hold. Works at any depth and never recurses."""
        goal = (relation, a, b)
        stack = [goal]
        while stack:
            fact = stack[-1]
            if fact in self._done:
                stack.pop()
                continue
            why = self._why[fact]
            if why is None:
                self._done[fact] = Derivation(ASSUME, self._conclusion(*fact))
            elif isinstance(why, Derivation):
                self._done[fact] = why
            else:
                rule, env = why
                reads = {p: (p.source.relation, env[p.left], env[p.right]) for p in self._reads(rule)}
                waiting = [read for read in reads.values() if read not in self._done]
                if waiting:
                    stack.extend(waiting)  # type: ignore[arg-type]
                    continue
                full = dict(env)
                self._steps.bind(self._memo, _without(rule, tuple(reads)), full)
                given = {p: self._done[read] for p, read in reads.items()}  # type: ignore[index]
                self._done[fact] = self._steps.node(self._memo, rule, full, given)
            stack.pop()
        return self._done[goal]

    def contradiction(self) -> Derivation:
        """The two facts that exclude each other, as one derivation."""
        assert self.clash is not None
        one, other = (self.derivation(*fact) for fact in self.clash)
        _, a, b = self.clash[0]
        return Derivation(CLASH, self._conclusion(CONTRADICTION, a, b), (one, other))

    def _conclusion(self, relation: Relation | str, a: int, b: int) -> Conclusion:
        names = self._steps.names
        return Conclusion(self.judgement, names[a], str(relation), names[b])

    def _add(self, fact: Fact, why: Derivation | tuple[Body, Env] | None) -> None:
        if fact in self._why:
            return
        relation, a, b = fact
        self._why[fact] = why
        self._rows.setdefault(relation, {}).setdefault(a, {})[b] = None
        self._cols.setdefault(relation, {}).setdefault(b, {})[a] = None
        self._trail.append(fact)
        if self.clash is None:
            for other, straight in self._clashes.get(relation, ()):
                excluded = (other, a, b) if straight else (other, b, a)
                if excluded in self._why:
                    self.clash = (excluded, fact)
                    return

    def _reads(self, rule: Body) -> tuple[PairLiteral, ...]:
        return tuple(p for p in rule.pairs if p.positive and p.source.judgement is self.judgement)

    def _prepare(self, rule: Body) -> None:
        reads = self._reads(
            rule
        )  # what else of this judgement is denied, no assumption can bring: see `strata`
        if any(p.positive and self._never(p) for p in rule.pairs):
            return
        rest = _without(rule, reads)
        if not reads:
            self._begin(rule)
            return
        plain = not (rest.ones or rest.pairs or rest.nones)
        for read in reads:
            others = tuple(p for p in reads if p is not read)
            relation = read.source.relation
            assert relation is not None
            self._triggers.setdefault(relation, []).append(_Trigger(rule, read, others, rest, plain))

    def _never(self, read: PairLiteral) -> bool:
        """Whether a premise is a base predicate that holds of no events: no assumption can change that."""
        return read.source.kind == "base" and not any(self._memo.relation(read.source).support())

    def _begin(self, rule: Body) -> None:
        """What a rule concludes from lower strata alone."""
        join = Join(rule, (LEFT,), RIGHT, self._memo)
        for a in self.events:
            for b in bits(join.solve({LEFT: a}, self._inside & ~(1 << a))):
                self._add((rule.head[1], a, b), (rule, {LEFT: a, RIGHT: b}))

    def _matches(self, trigger: _Trigger, fact: Fact) -> list[Env]:
        """Every way to meet the premises of a rule of which one is the fact."""
        _, a, b = fact
        envs: list[Env] = [{trigger.read.left: a, trigger.read.right: b}]
        for p in trigger.others:
            envs = [extended for env in envs for extended in self._extended(p, env)]
        if not trigger.plain:
            envs = [
                full
                for env in envs
                for full in self._steps.assignments(self._memo, trigger.rest, trigger.rule, env)
            ]
        return envs

    def _extended(self, p: PairLiteral, env: Env) -> Iterator[Env]:
        relation = p.source.relation
        assert isinstance(relation, Relation)
        left, right = env.get(p.left), env.get(p.right)
        if left is not None and right is not None:
            if (relation, left, right) in self._why:
                yield env
        elif left is not None:
            for b in self._rows.get(relation, {}).get(left, ()):
                yield {**env, p.right: b}
        elif right is not None:
            for a in self._cols.get(relation, {}).get(right, ()):
                yield {**env, p.left: a}
        else:
            for a, b in self.related(relation):
                yield {**env, p.left: a, p.right: b}


def _without(rule: Body, reads: tuple[PairLiteral, ...]) -> Body:
    for read in reads:
        rule = rule.without(read)
    return rule
