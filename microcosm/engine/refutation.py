"""Refutation by assumption: depth by depth, or exactly, by splitting what is related in no known direction.

A hypothetical microcosm is assumptions on top of what is judged, propagated pair by pair, and undone
(`Hypothesis`). Judgements of one stratum are kept as facts, each with the rule instance that brought it
first; what lies below is asked of the memo. A queue of new facts wakes the rules that mention their relation.
Facts stand on a trail: what an assumption brought is taken back from its end. Nothing is ever copied.

Assumptions nest: under one, others are refuted in their turn. Splitting every `<>` ends where propagation
alone is exact, so the search is complete for the rules of the paper; it is exponential in the `<>` at worst.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, starmap
from math import inf

from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.join import Join
from microcosm.engine.memo import Memo
from microcosm.engine.steps import Env, Steps
from microcosm.engine.strata import Assumption, assumptions
from microcosm.errors import Stopped
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import expect
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import ASSUME, CLASH, CONTRADICTION, Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.order.bits import bits, from_positions
from microcosm.worlds.search import STOPPED, Stop

Fact = tuple[Relation, int, int]
"""A relation judged of two positions."""

_FACTS, _EVENTS = 256, 16
"""After so many facts that wake rules, and events from which it is begun, it is asked whether to stop."""


@dataclass(frozen=True)
class _Trigger:
    """A rule as it is woken by one of its premises: the others of the stratum are matched in turn."""

    rule: Body
    read: PairLiteral
    others: tuple[PairLiteral, ...]
    rest: Body
    plain: bool
    """Whether nothing but premises of the stratum is left to ask."""
    allowed: tuple[int, int]
    """Events of which alone, to the left and to the right, the rest can hold."""
    free: int | None
    """The end of the conclusion to which the one other premise leads from an end of this one, if it does.

    So it is of a transitive relation, of which most ways lead to what is judged already.
    """


class Hypothesis:
    """The offline judgements over some events, under assumptions made and taken back.

    `clashes` holds, for each relation, what excludes it (see `Assumptions`). Once two facts exclude each
    other (`clash`), propagation stops until the assumption behind them is undone. Cost: one step for each
    way in which a rule's premises are met.
    """

    def __init__(
        self,
        clashes: dict[Relation, tuple[tuple[Relation, bool], ...]],
        steps: Steps,
        memo: Memo,
        events: Iterable[int],
        stop: Stop | None = None,
    ) -> None:
        self.events = sorted(events)
        self.stop = stop
        self.clash: tuple[Fact, Fact] | None = None
        self._clashes = clashes
        self._steps, self._memo = steps, memo
        self._inside = from_positions(self.events, self.events[-1] + 1) if self.events else 0
        self._why: dict[Fact, Derivation | tuple[Body, Env] | None] = {}
        self._rows: defaultdict[Relation, dict[int, int]] = defaultdict(dict)
        self._cols: defaultdict[Relation, dict[int, int]] = defaultdict(dict)
        self._bit: dict[int, int] = {}  # of each event in these rows, and its number by that
        self._event: list[int] = []
        self._trail: list[Fact] = []
        self._done: dict[Fact, Derivation] = {}
        self._at = 0  # the facts of the trail before it have woken their rules
        self._triggers: dict[Relation, list[_Trigger]] = {}
        self._prepared = False

    def holds(self, relation: Relation, a: int, b: int) -> bool:
        """Whether the relation is judged."""
        return (relation, a, b) in self._why

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._trail)

    def related(self, relation: Relation) -> Iterator[tuple[int, int]]:
        """Every pair of which a relation is judged."""
        for a, row in [*self._rows[relation].items()]:
            for b in self._listed(row):
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
            self._rows[relation][a] ^= self._bit[b]
            self._cols[relation][b] ^= self._bit[a]
        if self.clash is not None and self.clash[1] not in self._why:
            self.clash = None
        self._at = min(self._at, mark)

    def assume(self, relation: Relation, a: int, b: int, proof: Derivation | None = None) -> None:
        """Add what is assumed, or has a proof from elsewhere, and what follows."""
        self._add((relation, a, b), proof)
        self.propagate()

    def propagate(self) -> None:
        """Let every fact wake the rules that mention it, until nothing is new or two facts clash.

        Raises `Stopped` where it is told to stop, which it asks now and then; called again it goes on.
        """
        if not self._prepared:
            self._triggers.clear()
            for pred in [pred for pred in self._steps.program.concluding if pred[0] is Judgement.OFFLINE]:
                for rule in self._steps.rules(pred):
                    self._prepare(rule)
            self._prepared = True
        while self._at < len(self._trail) and self.clash is None:
            self._give_up(self._at, _FACTS)
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
                names = self._steps.names
                conclusion = Conclusion(Judgement.OFFLINE, names[fact[1]], str(fact[0]), names[fact[2]])
                self._done[fact] = Derivation(ASSUME, conclusion)
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
        return clash_of(*(self.derivation(*fact) for fact in self.clash))

    def _give_up(self, at: int, each: int) -> None:
        if self.stop is not None and at % each == each - 1 and self.stop():
            raise Stopped(STOPPED)

    def _add(self, fact: Fact, why: Derivation | tuple[Body, Env] | None) -> None:
        if fact in self._why:
            return
        relation, a, b = fact
        self._why[fact] = why
        for event in (a, b):
            if event not in self._bit:
                self._bit[event] = 1 << len(self._event)
                self._event.append(event)
        rows, cols = self._rows[relation], self._cols[relation]
        rows[a] = rows.get(a, 0) | self._bit[b]
        cols[b] = cols.get(b, 0) | self._bit[a]
        self._trail.append(fact)
        if self.clash is None:
            for other, straight in self._clashes.get(relation, ()):
                excluded = (other, a, b) if straight else (other, b, a)
                if excluded in self._why:
                    self.clash = (excluded, fact)
                    return

    def _reads(self, rule: Body) -> tuple[PairLiteral, ...]:
        return tuple(p for p in rule.pairs if p.positive and p.source.judgement is Judgement.OFFLINE)

    def _prepare(self, rule: Body) -> None:
        # What else of this judgement is denied, no assumption can bring (`strata`); nor base predicates.
        reads = self._reads(rule)
        base = [p.source for p in rule.pairs if p.positive and p.source.kind == "base"]
        if not all(any(self._memo.relation(source).support()) for source in base):
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
            allowed = self._allowed(rest, read.left), self._allowed(rest, read.right)
            free = _free(read, *others) if plain and len(others) == 1 else None
            trigger = _Trigger(rule, read, others, rest, plain, allowed, free)
            self._triggers.setdefault(relation, []).append(trigger)

    def _allowed(self, rest: Body, variable: int) -> int:
        """The events that a variable may stand for, as far as single premises on base predicates tell."""
        found = self._memo.domain
        for p in rest.pairs:
            if p.positive and variable in p.ends and p.source.kind == "base":
                found &= self._memo.relation(p.source).support()[p.right == variable]
        return found

    def _listed(self, row: int) -> Iterator[int]:
        return map(self._event.__getitem__, bits(row))

    def _begin(self, rule: Body) -> None:
        """What a rule concludes from lower strata alone."""
        join = Join(rule, (LEFT,), RIGHT, self._memo)
        for at, a in enumerate(self.events):
            self._give_up(at, _EVENTS)
            for b in bits(join.solve({LEFT: a}, self._inside & ~(1 << a))):
                self._add((rule.head[1], a, b), (rule, {LEFT: a, RIGHT: b}))

    def _matches(self, trigger: _Trigger, fact: Fact) -> list[Env]:
        """Every way to meet the premises of a rule of which one is the fact."""
        _, a, b = fact
        left, right = trigger.allowed
        if not (left >> a & 1 and right >> b & 1):
            return []
        envs: list[Env] = [{trigger.read.left: a, trigger.read.right: b}]
        if (free := trigger.free) is not None:
            return self._unjudged(trigger, free, *envs)
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
            for b in self._listed(self._rows[relation].get(left, 0)):
                yield {**env, p.right: b}
        elif right is not None:
            for a in self._listed(self._cols[relation].get(right, 0)):
                yield {**env, p.left: a}
        else:
            for a, b in self.related(relation):
                yield {**env, p.left: a, p.right: b}

    def _unjudged(self, trigger: _Trigger, free: int, env: Env) -> list[Env]:
        """The ways to meet the one other premise that lead to what is not judged yet.

        Cost: a row operation, and a step for each.
        """
        (p,), (_, concluded) = trigger.others, trigger.rule.head
        relation = p.source.relation
        assert isinstance(relation, Relation)
        rows, cols = self._rows, self._cols
        led = rows[relation].get(env[p.left]) if p.right == free else cols[relation].get(env[p.right])
        known = rows[concluded].get(env[LEFT]) if free == RIGHT else cols[concluded].get(env[RIGHT])
        led, known = led or 0, known or 0
        return [{**env, free: event} for event in self._listed(led ^ led & known)]


def clash_of(one: Derivation, other: Derivation) -> Derivation:
    """The contradiction of two facts that exclude each other. Cost: constant."""
    return Derivation(CLASH, replace(one.conclusion, relation=CONTRADICTION), (one, other))


def _free(read: PairLiteral, other: PairLiteral) -> int | None:
    """The end of a conclusion that one premise leaves free and the other leads to from the first, if so."""
    ends = {LEFT, RIGHT} - read.ends
    return ends.pop() if len(ends) == 1 and other.ends - read.ends == ends else None


def _without(rule: Body, reads: tuple[PairLiteral, ...]) -> Body:
    for read in reads:
        rule = rule.without(read)
    return rule


ASSUMED = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
"""What is assumed of a pair, in this order; after it `<>`, where a rule says so."""


class Refutation:
    """The offline judgements of one microcosm over some events, refuted as far as is asked.

    `stop` is asked before each assumption, and now and then between two, whether to give up; `most`
    assumptions are made.
    """

    def __init__(
        self,
        rules: RuleBook,
        steps: Steps,
        memo: Memo,
        events: list[int],
        stop: Stop | None = None,
        most: float = inf,
    ) -> None:
        known = assumptions(rules)
        self.hypothesis = Hypothesis(known.clashes, steps, memo, events, stop)
        self.begun: int | None = None
        """The mark up to which propagation alone has come; None where it was stopped."""
        with suppress(Stopped):  # whatever goes on from here is stopped, too
            self.hypothesis.propagate()
            self.begun = self.hypothesis.mark()
        self._rules = known.rules
        related = any(rule.assumed is Relation.RELATED for rule in known.rules)
        self._assumed = (*ASSUMED, Relation.RELATED) if related else ASSUMED
        self._steps, self._memo = steps, memo
        self._stop, self._left = stop, most
        self._guards: dict[tuple[int, int, int], bool] = {}

    def begin_again(self, stop: Stop | None, most: float) -> None:
        """Take back all but what propagation alone has concluded; it must have `begun`.

        Cost: linear in what is taken back.
        """
        assert self.begun is not None
        self.hypothesis.undo(self.begun)
        self.hypothesis.stop = self._stop = stop
        self._left = most

    @property
    def clash(self) -> Derivation | None:
        """The contradiction that the judgements have come to."""
        return self.hypothesis.contradiction() if self.hypothesis.clash else None

    def deepen(self, depth: int) -> None:
        """Refute every assumption that comes to a contradiction by assumptions nested up to `depth`.

        Cost: at depth k, up to (3n²)^k propagations and more, repeated while something is refuted.
        """
        expect(int, "depth of assumptions", depth)
        self.hypothesis.propagate()
        nested = [self._deepened(depth)]
        try:
            while nested:
                deeper = next(nested[-1], None)
                if deeper is None:
                    nested.pop()
                else:
                    nested.append(self._deepened(deeper))
        finally:  # whoever is stopped keeps nothing that was assumed
            while nested:
                nested.pop().close()

    def _deepened(self, depth: int) -> Generator[int, None, None]:
        """As `deepen`, but that what is assumed is deepened by others, to each depth that comes."""
        changed = depth > 0
        while changed and self.hypothesis.clash is None:
            changed = False
            for a, b in combinations(self.hypothesis.events, 2):
                for relation in self._assumed:
                    changed = (yield from self._try(relation, a, b, depth)) or changed
                    if self.hypothesis.clash is not None:
                        return

    def settle(self, a: int, b: int) -> None:
        """Refute whatever cannot hold of one pair, exactly. Raises `Stopped`.

        Cost: exponential in the `<>` at worst.
        """
        self.hypothesis.propagate()
        for relation in self._assumed:
            deque(self._try(relation, a, b, None), maxlen=0)

    def inconsistency(self) -> Derivation | None:
        """A contradiction of the microcosm itself, found by splitting every `<>`. Raises `Stopped`.

        Cost: exponential in the `<>` at worst.
        """
        self.hypothesis.propagate()
        mark = self.hypothesis.mark()
        try:
            return self._search()
        finally:
            self.hypothesis.undo(mark)

    def _try(self, relation: Relation, a: int, b: int, depth: int | None) -> Generator[int, None, bool]:
        """Assume a relation and refute it if that fails; whether it was refuted now. Depth None: exactly."""
        if relation is Relation.AFTER:
            relation, a, b = Relation.BEFORE, b, a
        refuted = False
        for left, right in ((a, b), (b, a)) if relation.symmetric else ((a, b),):
            rule = self._rule(relation, left, right)
            if rule is None:
                continue
            mark = self.hypothesis.mark()
            try:
                self._assume(relation, left, right)
                turned = self.hypothesis.holds(relation, right, left)
                if depth is None:
                    clash = self._search()
                else:
                    yield depth - 1
                    clash = self.clash
            finally:
                self.hypothesis.undo(mark)
            if clash is not None:
                self._conclude(rule, relation, left, right, clash)
                refuted = True
            elif turned:
                break  # to assume it the other way round is to assume the same
        return refuted

    def _search(self) -> Derivation | None:
        """A contradiction from what is assumed now; None where some world fits. Never recurses."""
        related = list(self.hypothesis.related(Relation.RELATED))
        at = 0  # those before it are open no more, under whatever is assumed further
        stack: list[tuple[Assumption, int, int, int, int]] = []
        while True:
            if self.hypothesis.clash is not None:
                clash = self.hypothesis.contradiction()
                if not stack:
                    return clash
                rule, a, b, at, mark = stack.pop()
                self.hypothesis.undo(mark)
                self._conclude(rule, Relation.BEFORE, a, b, clash)
                continue
            split = None
            while split is None and at < len(related):
                split = self._split(*related[at])
                at += split is None
            if split is None:  # what became related meanwhile
                split = next(
                    filter(None, starmap(self._split, self.hypothesis.related(Relation.RELATED))), None
                )
            if split is None:
                if stack:
                    self.hypothesis.undo(stack[0][-1])
                return None
            stack.append((*split, at, self.hypothesis.mark()))
            self._assume(Relation.BEFORE, *split[1:])

    def _split(self, a: int, b: int) -> tuple[Assumption, int, int] | None:
        """A related pair whose direction is open, and a rule that may assume one."""
        rule = self._rule(Relation.BEFORE, a, b)
        return None if rule is None else (rule, a, b)

    def _assume(self, relation: Relation, a: int, b: int) -> None:
        self._left -= 1
        if self._left < 0 or (self._stop is not None and self._stop()):
            raise Stopped(STOPPED)
        self.hypothesis.assume(relation, a, b)

    def _conclude(self, rule: Assumption, assumed: Relation, a: int, b: int, clash: Derivation) -> None:
        """Put the refutation of what was assumed of a and b among the facts."""
        names = self._steps.names
        left, right = (b, a) if rule.turned else (a, b)
        bound = {LEFT: left, RIGHT: right}
        self._steps.bind(self._memo, rule.guard, bound)  # other events that the rule asks for
        guarded = self._steps.node(self._memo, rule.guard, bound, {})
        assumes = {"assumes": [names[a], str(assumed), names[b]]}
        proof = replace(guarded, premises=(*guarded.premises, clash), evidence=assumes)
        self.hypothesis.assume(rule.guard.head[1], left, right, proof)

    def _rule(self, relation: Relation, a: int, b: int) -> Assumption | None:
        """A rule that may assume `a relation b`, which is open, and would conclude something new."""
        if self.hypothesis.clash is not None or self.hypothesis.holds(relation, a, b):
            return None
        for rule in self._rules:
            ends = (b, a) if rule.turned else (a, b)
            concluded = self.hypothesis.holds(rule.guard.head[1], *ends)
            if rule.assumed is relation and not concluded and self._guarded(rule.guard, *ends):
                return rule
        return None

    def _guarded(self, guard: Body, left: int, right: int) -> bool:
        """Whether what a rule asks besides holds of the two events of its conclusion."""
        if not (guard.ones or guard.pairs or guard.nones):
            return True
        key = (id(guard), left, right)
        if key not in self._guards:
            join = Join(guard, (LEFT, RIGHT), None, self._memo)
            self._guards[key] = bool(join.solve({LEFT: left, RIGHT: right}, 0))
        return self._guards[key]
