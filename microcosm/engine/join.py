"""Solving a body by bit rows: one variable for all its values at once, the others bound or joined away.

With some variables bound, what is left of a body is a graph over the unbound ones. A tree is solved by
passing candidate sets from the leaves to the root: one OR of rows an edge, stopping as soon as every
target is reached. A cycle is cut by binding one of its variables, value by value. That covers
compositions, longer chains and any other body alike. What a body says of its two ends alone is a mask
(`Pointwise`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import and_, xor
from typing import Protocol

from microcosm.engine.body import LEFT, RIGHT, Body, EventLiteral, LiteralSource, PairLiteral
from microcosm.engine.relations import RowRelation, Union, all_rows
from microcosm.logic.rule import Judgement
from microcosm.order.bits import bits, diagonal, lowest, without
from microcosm.tuning import ROWS_WASTED, TARGETS_SERVED


class RelationScope(Protocol):
    """Where a join finds its relations: the memo of one microcosm.

    Cost of each: a look-up, once it was made.
    """

    @property
    def domain(self) -> int:
        """Every position that a variable may take."""

    def relation(self, source: LiteralSource) -> RowRelation:
        """The relation that a pair literal names."""

    def any_of(self, judgement: Judgement, instead: Mapping[LiteralSource, RowRelation]) -> RowRelation:
        """`_` under a judgement, some predicates being read from `instead`."""

    def subset(self, source: LiteralSource) -> int:
        """The set that a literal over one variable names."""


Rows = Callable[[int], int]
Meets = Callable[[int, int], int]
"""The events, of some others, that an event is related to: perhaps not all, but some where there are any."""

Literals = list[tuple[Rows, Meets | None, bool]]
"""Of each pair literal between two variables: rows from the one, what it meets from the other, the sign."""


class Pointwise:
    """Premises about the two events of a conclusion alone, as masks on a row, a column or a pair.

    Cost: a row operation, or for a pair a test, for each premise.
    """

    def __init__(
        self, ones: Iterable[EventLiteral], pairs: Iterable[PairLiteral], scope: RelationScope
    ) -> None:
        self._scope = scope
        ones = list(ones)
        self._ones = {v: [(o.source, o.positive) for o in ones if o.variable == v] for v in (LEFT, RIGHT)}
        self._tests = [(scope.relation(p.source), p.left == LEFT, p.positive) for p in pairs]

    def row(self, a: int, target: int) -> int:
        """The right events within `target` that fit the left event a."""
        return self._mask(a, target, LEFT, RIGHT)

    def col(self, b: int, target: int) -> int:
        """The left events within `target` that fit the right event b."""
        return self._mask(b, target, RIGHT, LEFT)

    def ends(self, domain: int) -> tuple[int, int]:
        """The events of a domain that the premises about one event alone allow, on either side."""
        return self._allowed(LEFT, domain), self._allowed(RIGHT, domain)

    def support(self) -> tuple[int, int]:
        """Sets that contain every left event, and every right one, that fits any."""
        left = right = self._scope.domain
        for relation, straight, positive in self._tests:
            if positive:
                rows, cols = relation.support()[:: 1 if straight else -1]
                left &= rows
                right &= cols
        return left, right

    def holds(self, a: int, b: int) -> bool:
        """Whether the premises hold of a pair."""
        if not (self._fits(LEFT, a) and self._fits(RIGHT, b)):
            return False
        for relation, straight, positive in self._tests:
            if (relation.holds(a, b) if straight else relation.holds(b, a)) is not positive:
                return False
        return True

    def _fits(self, variable: int, event: int) -> bool:
        """Whether the premises about one variable alone allow an event for it."""
        for source, positive in self._ones[variable]:
            if (self._scope.subset(source) >> event & 1 == 1) is not positive:
                return False
        return True

    def _allowed(self, variable: int, events: int) -> int:
        """Those of some events that the premises about one variable alone allow for it."""
        for source, positive in self._ones[variable]:
            subset = self._scope.subset(source)
            events &= subset if positive else ~subset
        return events

    def _mask(self, at: int, target: int, near: int, far: int) -> int:
        if not self._fits(near, at):
            return 0
        target = self._allowed(far, target)
        for relation, straight, positive in self._tests:
            if not target:
                break
            met = target & (relation.row(at) if straight is (near == LEFT) else relation.col(at))
            target = met if positive else target ^ met
        return target

    def all_rows(self, width: int) -> list[int]:
        """For each event below `width` those of the whole domain, but itself, that it holds with."""
        left, right = self.ends(self._scope.domain)
        if not left or not right:
            return [0] * width
        rows = [right ^ right & one if left & one else 0 for one in diagonal(width)]
        for relation, straight, positive in self._tests:
            met = map(and_, rows, all_rows(relation, width, straight))
            rows = [*met] if positive else [*map(xor, rows, met)]
        return rows


class Join:
    """Solves `body` for `root` (None: is there a solution?), the variables in `bound` being given.

    Built once a memo; `solve` costs, per tree edge, one row operation for each candidate on its far
    side, or one for each target where these are fewer.
    """

    def __init__(self, body: Body, bound: Iterable[int], root: int | None, scope: RelationScope) -> None:
        self.root = root
        self._scope = scope
        known = set(bound)
        outside = {LEFT, RIGHT, *(o.variable for o in body.ones), *(v for p in body.pairs for v in p.ends)}
        free = [v for v in dict.fromkeys(body.mentioned()) if v not in known and v in outside]
        if root is not None and root not in free:
            free.append(root)
        self._free = free
        self._ones = [(v, o.source, o.positive) for o in body.ones for v in [o.variable] if v in free]
        self._bound_ones = [o for o in body.ones if o.variable in known]
        checks = [p for p in body.pairs if p.left in known and p.right in known]
        self._checks = [(scope.relation(p.source).holds, p.left, p.right, p.positive) for p in checks]
        self._from_bound: list[tuple[int, int, Rows, bool]] = []
        between: dict[tuple[int, int], list[PairLiteral]] = {}
        for p in body.pairs:
            if p.left in known and p.right in free:
                self._from_bound.append((p.right, p.left, scope.relation(p.source).row, p.positive))
            elif p.right in known and p.left in free:
                self._from_bound.append((p.left, p.right, scope.relation(p.source).col, p.positive))
            elif p.left in free:
                between.setdefault((min(p.left, p.right), max(p.left, p.right)), []).append(p)
        among = [sorted({*none.mentioned()} & {*free} - {root}) for none in body.nones]
        self._cut: int | None = next((v for several in among for v in several), None)
        self._steps: list[tuple[int, int | None, Literals]] = []
        if self._cut is None:
            self._cut = self._plan(between)
        if self._cut is not None:
            self._rest = Join(body, [*known, self._cut], root, scope)
        else:
            self._absent = [
                Join(none, known, root if {root} & {*none.mentioned()} else None, scope)
                for none in body.nones
            ]
        self._composition = self._is_composition()
        links = [p for several in between.values() for p in several] if self._composition else []
        self._outward = [(scope.relation(p.source), p.right == root) for p in links if p.positive]
        self._sole_absent = self._is_absence()

    def solve(self, env: dict[int, int], target: int, narrow: tuple[int, int] | None = None) -> int:
        """The values of the root within `target` (1 or 0 where there is none), the bound being in `env`.

        `narrow` restricts one intermediate variable to a set.
        """
        if self._composition:
            (middle, _, literals), *_ = self._steps
            far = self._far(env)
            if narrow is not None and narrow[0] == middle:
                far &= narrow[1]
            return _reach(literals, far, target) if far else 0
        for one in self._bound_ones:
            if (self._scope.subset(one.source) >> env[one.variable] & 1 == 1) is not one.positive:
                return 0
        for holds, left, right, positive in self._checks:
            if holds(env[left], env[right]) is not positive:
                return 0
        domain = self._scope.domain
        candidates = dict.fromkeys(self._free, domain)
        if self.root is not None:
            candidates[self.root] = target
        if narrow is not None and narrow[0] in candidates:
            candidates[narrow[0]] &= narrow[1]
        for variable, source, positive in self._ones:
            subset = self._scope.subset(source)
            candidates[variable] &= subset if positive else ~subset
        for variable, bound, rows, positive in self._from_bound:
            if candidates[variable]:
                row = rows(env[bound])
                candidates[variable] &= row if positive else ~row
        if self._cut is not None:
            return self._solve_by_cases(env, candidates[self._cut], candidates, narrow)
        for variable, parent, literals in self._steps:
            far = candidates[variable]
            if not far:
                return 0
            if parent is not None:
                candidates[parent] = _reach(literals, far, candidates[parent])
        if self.root is None:
            return 0 if any(join.solve(env, 0) for join in self._absent) else 1
        left = candidates[self.root]
        for join in self._absent:
            if not left:
                break
            if join.root is None:
                left = 0 if join.solve(env, 0) else left
            else:
                left &= ~join.solve(env, left)
        return left

    def solve_all(self, targets: list[int]) -> list[int]:
        """The values of the root within the target of each value of the one bound variable.

        Cost: as `solve` of each; in a composition of two relations all of their rows are at hand.
        """
        plain = self._composition and len(self._from_bound) == len(self._steps[0][2]) == len(self._outward)
        if not plain or len(self._outward) != 1:
            return [target and self.solve({LEFT: a}, target) for a, target in enumerate(targets)]
        (_, _, rows, _), *_ = self._from_bound
        (outward,) = (all_rows(relation, len(targets), straight) for relation, straight in self._outward)
        far = self._scope.domain
        for _, source, _ in self._ones:
            far &= self._scope.subset(source)
        return [
            target and target ^ without(target, outward, rows(a) & far) for a, target in enumerate(targets)
        ]

    def some(self, env: dict[int, int], target: int) -> bool:
        """Whether any value of the root within `target` solves the body.

        Where all that is asked of it is that something must be missing, the search ends with the first one.
        """
        absent = self._sole_absent
        if absent is None:
            return bool(self.solve(env, target))
        (_, _, literals), *_ = absent._steps
        outward, meets, _ = literals[0]
        assert meets is not None
        return _unmet(target, absent._far(env), outward, meets)

    def _far(self, env: dict[int, int]) -> int:
        """The values of the intermediate variable of a composition."""
        far = self._scope.domain
        for _, source, _ in self._ones:
            far &= self._scope.subset(source)
        for _, bound, rows, _ in self._from_bound:
            far &= rows(env[bound])
        return far

    def _solve_by_cases(
        self, env: dict[int, int], cases: int, candidates: dict[int, int], narrow: tuple[int, int] | None
    ) -> int:
        assert self._cut is not None
        got, left = 0, candidates[self.root] if self.root is not None else 0
        inner = dict(env)
        for case in bits(cases):
            inner[self._cut] = case
            got |= self._rest.solve(inner, left & ~got, narrow)
            if (self.root is None and got) or (self.root is not None and got == left):
                break
        return got

    def _is_composition(self) -> bool:
        """Whether this is `bound P middle, middle Q root`, all positive: the common case, taken first."""
        if self._cut is not None or self.root is None or len(self._steps) != 1 or self._absent:
            return False
        middle = self._steps[0][0]
        return (
            self._steps[0][1] == self.root
            and not self._bound_ones
            and not self._checks
            and all(v == middle and positive for v, _, positive in self._ones)
            and all(v == middle and positive for v, _, _, positive in self._from_bound)
        )

    def _is_absence(self) -> Join | None:
        """The pattern that must have no solution, where that is all, and a composition of one relation."""
        plain = not (self._bound_ones or self._checks or self._ones or self._from_bound or self._steps)
        if self._cut is not None or self.root is None or not plain or len(self._absent) != 1:
            return None
        absent, *_ = self._absent
        if absent.root is None or not absent._composition:
            return None
        _, _, literals = absent._steps[0]
        return absent if len(literals) == 1 and literals[0][2] and literals[0][1] is not None else None

    def _plan(self, between: dict[tuple[int, int], list[PairLiteral]]) -> int | None:
        """Order the unbound variables from leaves to root; in a cycle, a variable to bind first."""
        left = set(self._free)
        edges = dict(between)
        while left - {self.root}:
            degree = {v: [e for e in edges if v in e] for v in left}
            leaf = next((v for v in sorted(left) if v != self.root and len(degree[v]) <= 1), None)
            if leaf is None:
                return max((v for v in left if v != self.root), key=lambda v: len(degree[v]))
            left.remove(leaf)
            if not degree[leaf]:
                self._steps.append((leaf, None, []))
                continue
            edge = degree[leaf][0]
            parent = edge[0] if edge[1] == leaf else edge[1]
            literals: Literals = []
            for p in edges.pop(edge):
                relation = self._scope.relation(p.source)
                both: tuple[Rows, Rows] = (relation.row, relation.col)
                outward, backward = both if p.left == leaf else both[::-1]
                settling = getattr(relation, "settling", False)
                literals.append((outward, None if settling else _meets(relation, backward), p.positive))
            self._steps.append((leaf, parent, literals))
        return None


def _meets(relation: RowRelation, rows: Rows) -> Meets:
    """How a relation tells whether a row has one of some events: by the row, if in no better way."""
    if isinstance(relation, Union) and relation.symmetric:
        return relation.meets
    return lambda at, others: rows(at) & others


def _reach(literals: Literals, far: int, targets: int) -> int:
    """The targets that some far candidate is related to by every literal."""
    if not targets:
        return 0
    got = 0
    if len(literals) == 1 and literals[0][2]:
        outward, meets, _ = literals[0]
        if meets is None or far.bit_count() <= targets.bit_count():
            got = outward(lowest(far)) & targets if far else 0  # often all, and to list the others takes long
            for v in bits(far) if got != targets else ():
                got |= outward(v) & targets
                if got == targets:
                    break
        else:
            got = _met(targets, far, outward, meets)
        return got
    for v in bits(far):
        reached = targets & ~got
        for outward, _, positive in literals:
            row = outward(v)
            reached &= row if positive else ~row
        got |= reached
        if got == targets:
            break
    return got


def _met(targets: int, far: int, outward: Rows, meets: Meets) -> int:
    """The targets that are related to some far candidate: that of one of them often serves many."""
    got, left, wasted = 0, targets, 0
    while left:
        at = left & -left
        found = meets(at.bit_length() - 1, far)
        if not found:
            left ^= at
            continue
        if wasted < ROWS_WASTED:
            at |= outward(lowest(found)) & left
            wasted = wasted + 1 if at.bit_count() < TARGETS_SERVED else 0
        got |= at
        left &= ~at
    return got


def _unmet(targets: int, far: int, outward: Rows, meets: Meets) -> bool:
    """Whether some target is related to no far candidate. The row of a candidate often serves many."""
    if not far:
        return bool(targets)
    wasted = 0
    while targets:
        at = targets.bit_length() - 1
        found = meets(at, far)
        if not found:
            return True
        targets ^= 1 << at
        if targets and wasted < ROWS_WASTED:
            served = targets & outward(lowest(found))
            targets ^= served
            wasted = 0 if served else wasted + 1
    return False
