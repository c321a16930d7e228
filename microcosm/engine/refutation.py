"""Refutation by assumption: depth by depth, or exactly, by splitting what is related in no known direction.

Assumptions nest: under one, others are refuted in their turn. Splitting every `<>` ends where propagation
alone is exact, so the search is complete for the rules of the paper; it is exponential in the `<>` at worst.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import starmap

from microcosm.engine.assumption import Assumption, assumptions
from microcosm.engine.body import LEFT, RIGHT
from microcosm.engine.hypothesis import Hypothesis
from microcosm.engine.join import Join
from microcosm.engine.memo import Memo
from microcosm.engine.proof_steps import Steps
from microcosm.errors import MicrocosmError
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import Judged, Judgement, NoneWith, Not
from microcosm.logic.rulebook import RuleBook
from microcosm.worlds.search import Stop

ASSUMED = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
"""What is assumed of a pair, in this order; after it `<>`, where a rule says so."""


class Stopped(MicrocosmError):
    """Told to stop before the search was through; what was found so far stands."""


class Stands(Enum):
    """What became of an assumption: refuted now; not; nor would it be the other way round, which it tells."""

    NO = "no"
    SO = "so"
    EITHER_WAY = "either way"


class Refutation:
    """The offline judgements of one microcosm over some events, refuted as far as is asked.

    `stop` is asked before each assumption whether to give up.
    """

    def __init__(
        self, rules: RuleBook, steps: Steps, memo: Memo, events: list[int], stop: Stop | None = None
    ) -> None:
        known = assumptions(rules)
        self.hypothesis = Hypothesis(Judgement.OFFLINE, known.clashes, steps, memo, events)
        self._rules = known.rules
        related = any(rule.assumed is Relation.RELATED for rule in known.rules)
        self._assumed = (*ASSUMED, Relation.RELATED) if related else ASSUMED
        self._steps, self._memo = steps, memo
        self._stop = stop
        self._guards: dict[tuple[int, int, int], bool] = {}

    @property
    def clash(self) -> Derivation | None:
        """The contradiction that the judgements have come to."""
        return self.hypothesis.contradiction() if self.hypothesis.clash else None

    def deepen(self, depth: int) -> None:
        """Refute every assumption that comes to a contradiction by assumptions nested up to `depth`.

        Cost: at depth k, up to (3n²)^k propagations and more, repeated while something is refuted.
        """
        changed = depth > 0
        while changed and self.hypothesis.clash is None:
            changed = False
            events = self.hypothesis.events
            for at, a in enumerate(events):
                for b in events[at + 1 :]:
                    for relation in self._assumed:
                        changed = self._try(relation, a, b, depth) or changed
                        if self.hypothesis.clash is not None:
                            return

    def settle(self, a: int, b: int) -> None:
        """Refute whatever cannot hold of one pair, exactly. Raises `Stopped`.

        Cost: exponential in the `<>` at worst.
        """
        for relation in self._assumed:
            if self.hypothesis.clash is None:
                self._try(relation, a, b, None)

    def inconsistency(self) -> Derivation | None:
        """A contradiction of the microcosm itself, found by splitting every `<>`. Raises `Stopped`.

        Cost: exponential in the `<>` at worst.
        """
        mark = self.hypothesis.mark()
        found = self._search()
        self.hypothesis.undo(mark)
        return found

    def _try(self, relation: Relation, a: int, b: int, depth: int | None) -> bool:
        """Assume a relation and refute it if that fails; whether it was refuted now. Depth None: exactly."""
        if relation is Relation.AFTER:
            relation, a, b = Relation.BEFORE, b, a
        stands = self._stands(relation, a, b, depth)
        if relation.symmetric and stands is not Stands.EITHER_WAY:
            return (self._stands(relation, b, a, depth) is Stands.NO) or stands is Stands.NO
        return stands is Stands.NO

    def _stands(self, relation: Relation, a: int, b: int, depth: int | None) -> Stands:
        """Whether an assumption comes to no contradiction; if it does, what refutes it is concluded."""
        rule = self._rule(relation, a, b)
        if rule is None:
            return Stands.SO
        mark = self.hypothesis.mark()
        self._assume(relation, a, b)
        turned = self.hypothesis.holds(relation, b, a)
        if depth is None:
            clash = self._search()
        else:
            self.deepen(depth - 1)
            clash = self.clash
        self.hypothesis.undo(mark)
        if clash is None:
            return Stands.EITHER_WAY if turned else Stands.SO
        self._conclude(rule, relation, a, b, clash)
        return Stands.NO

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
        if self._stop is not None and self._stop():
            raise Stopped
        self.hypothesis.assume(relation, a, b)

    def _conclude(self, rule: Assumption, assumed: Relation, a: int, b: int, clash: Derivation) -> None:
        """Put the refutation of what was assumed of a and b among the facts."""
        names = self._steps.names
        head = rule.instance.conclusion
        left, right = (b, a) if rule.turned else (a, b)
        at = {head.left: left, head.right: right}
        guards = list(self._guard_nodes(rule, at))
        assert isinstance(head.relation, Relation)
        proof = Derivation(
            rule.instance.rule.name,
            Conclusion(head.judgement, names[left], str(head.relation), names[right]),
            (*guards, clash),
            {"assumes": [names[a], str(assumed), names[b]]},
        )
        self.hypothesis.conclude(head.relation, left, right, proof)

    def _guard_nodes(self, rule: Assumption, at: dict[str, int]) -> Iterator[Derivation]:
        """What the rule asks of the pair besides, as far as it has nodes."""
        for premise in rule.instance.premises:
            match premise:
                case Judged(_, left, _, right):
                    yield self._steps.premise(self._memo, premise, at[left], at[right])
                case Not() | NoneWith():
                    leaf = self._steps.absence(premise, rule.instance.conclusion, at)
                    if leaf is not None:
                        yield leaf

    def _rule(self, relation: Relation, a: int, b: int) -> Assumption | None:
        """A rule that may assume `a relation b`, which is open, and would conclude something new."""
        if self.hypothesis.holds(relation, a, b):
            return None
        for rule in self._rules:
            if rule.assumed is relation and not self._concluded(rule, a, b) and self._guarded(rule, a, b):
                return rule
        return None

    def _concluded(self, rule: Assumption, a: int, b: int) -> bool:
        concluded = rule.instance.conclusion.relation
        assert isinstance(concluded, Relation)
        return self.hypothesis.holds(concluded, *((b, a) if rule.turned else (a, b)))

    def _guarded(self, rule: Assumption, a: int, b: int) -> bool:
        guard = rule.guard
        if not (guard.ones or guard.pairs or guard.nones):
            return True
        key = (id(rule), a, b)
        if key not in self._guards:
            join = Join(guard, (LEFT, RIGHT), None, self._memo)
            left, right = (b, a) if rule.turned else (a, b)
            self._guards[key] = bool(join.solve({LEFT: left, RIGHT: right}, 0))
        return self._guards[key]
