"""Saturation of a predicate whose rules pass it on from event to event, as `?` is.

Every recursive rule says `P(a, b) <- bound(a, b), Q(b, e), P(a, e)`, so that the row of a gains along Q what
it holds itself (*within* the row), or `P(a, b) <- bound(a, b), Q(a, e), P(e, b)`, so that it gains what the
rows of other events hold (*between* rows). Where Q is an order, neither asks all the thousands of later
events: within a row the last of them stand for those before them, and between rows what all later events
hold is gathered link by link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.join import Pointwise, RelationScope
from microcosm.engine.relations import RowRelation, Union, all_rows, joined
from microcosm.logic.rule import Pred
from microcosm.order.bits import bits, lister, lowest, transposed
from microcosm.order.order import Closure


class TableRule(NamedTuple):
    """One rule of a table: what it allows at most (`bound`), and the join that it takes beyond that."""

    pred: Pred
    body: Body
    bound: Pointwise
    rest: Body | None
    reads: tuple[PairLiteral, ...]


class PassingStep:
    """What the Q of a rule leads over: an order, read as it is (`forwards`) or turned, or other relations.

    Cost: none before its rows are asked for, then those of what it leads over.
    """

    def __init__(self, relations: list[tuple[RowRelation, bool]], width: int) -> None:
        (relation, self.forwards), *_ = relations
        self.closure = relation if isinstance(relation, Closure) else None
        self._relations, self._width = relations, width

    @cached_property
    def over(self) -> list[int]:
        """For each b every e with Q(b, e)."""
        return self._rows(along=True)

    @cached_property
    def _onto(self) -> list[int]:
        """For each e every b with Q(b, e)."""
        return self._rows(along=False)

    def _rows(self, along: bool) -> list[int]:
        width = self._width
        return joined(width, [all_rows(r, width, along is forwards) for r, forwards in self._relations])

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """Sets that contain every b, and every e, with Q(b, e)."""
        ends = [r.support()[:: 1 if forwards else -1] for r, forwards in self._relations]
        sources, targets = (reduce(or_, sets) for sets in zip(*ends, strict=True))
        return sources, targets

    def reached(self, fresh: int, lacking: int) -> int:
        """Some of what of `lacking` the rule concludes from `fresh`: what the last ones of it lead to.

        Cost: a row operation for every `LOOKS_FOR_A_ROW` events of `lacking`.
        """
        sources, targets = self._ends
        fresh &= targets
        lacking &= sources
        onto, found = self._onto, 0
        for _ in range(lacking.bit_count() // tuning.LOOKS_FOR_A_ROW):
            if not fresh or not lacking:
                break
            e = fresh.bit_length() - 1 if self.forwards else lowest(fresh)
            fresh ^= 1 << e
            led = onto[e]
            if self.closure is not None:
                fresh &= ~led
            found |= led & lacking
            lacking &= ~led
        return found


class PassingRules(NamedTuple):
    """The recursive rules of a predicate, all with one bound, by what they read: P(a, e), or P(e, b)."""

    within: list[PassingStep]
    between: list[PassingStep]
    bound: Pointwise


def rules_of(recursive: Iterable[TableRule], scope: RelationScope) -> PassingRules | None:
    """The recursive rules of a symmetric predicate, mirror images included, if all are of the two forms.

    Cost: linear in the rules.
    """
    within, between = list[tuple[RowRelation, bool]](), list[tuple[RowRelation, bool]]()
    bounds = set[Pointwise]()
    for rule in recursive:
        if rule.rest is None or len(rule.reads) != 1 or rule.reads[0].source.kind == "any":
            return None
        (read,) = rule.reads
        rest = rule.rest.without(read)
        kept = read.ends & {LEFT, RIGHT}
        if len(kept) != 1 or rest.ones or rest.nones or len(rest.pairs) != 1:
            return None
        (link,) = rest.pairs
        if not link.positive or link.ends != read.ends ^ {LEFT, RIGHT}:
            return None
        bounds.add(rule.bound)
        links = within if kept == {LEFT} else between
        links += parts(scope.relation(link.source), link.left in (LEFT, RIGHT))
    if len(bounds) != 1:
        return None
    width = scope.domain.bit_length()
    steps = _steps(between, width)
    # Of a rule and its mirror image the steps are the same.
    return PassingRules(steps if within == between else _steps(within, width), steps, *bounds)


def _steps(links: list[tuple[RowRelation, bool]], width: int) -> list[PassingStep]:
    """A step for each order among some relations, and one for all others."""
    loose = [link for link in links if not isinstance(link[0], Closure)]
    orders = [[link] for link in links if isinstance(link[0], Closure)]
    return [PassingStep(relations, width) for relations in (*orders, loose) if relations]


class Sweep:
    """All recursive rules of one predicate, at work on its rows.

    `rows` hold what rests on no recursion, `lacking` what the bound allows beyond that; both are changed in
    place. `gained(a, row)`, if anybody is to know, is told of what row a gains, premises before conclusions.
    """

    def __init__(
        self,
        rules: PassingRules,
        rows: list[int],
        lacking: dict[int, int],
        gained: Callable[[int, int], object] | None,
    ) -> None:
        self._rows = rows
        self._lacking = lacking
        self._gained = gained
        self._within = rules.within
        self._each = lister(len(rows))
        # Of each event all that any rule leads it to within a row.
        self._following = joined(len(rows), [step.over for step in rules.within])
        self._between = [step for step in rules.between if step.closure is None]
        self._tours = []
        for step in rules.between:
            if step.closure is not None:
                rows.extend([0] * (step.closure.order.size - len(rows)))
                self._tours.append(step.closure.tour(len(rows)).along(step.forwards))
        self._met: set[int] = set()  # whose rows were gone through once

    def run(self) -> None:
        """To the least fixpoint.

        Cost of a sweep: a row operation a link, and for each row that lacks something one for each last
        event that it holds, or for each event that it lacks, whichever are fewer. Few sweeps are common.
        """
        while self._lacking and self._sweep():
            pass

    def _sweep(self) -> bool:
        rows, lacking, changed = self._rows, self._lacking, False
        if self._gained is None and self._tours:
            size = len(rows)
            if sum(map(int.bit_count, lacking.values())) > tuning.ROWS_HEAVY * size * size.bit_length():
                return self._mirrored()
        for a, gathered in self._gathered():
            if a in lacking and self._add(a, gathered):
                changed = True
        if not self._tours:
            for a in tuple(lacking):
                changed = self._add(a, 0) or changed
        return changed

    def _mirrored(self) -> bool:
        """A sweep in which rows gain from each other alone, then each what others gained of it.

        The predicate is symmetric, and its rules come with their mirror images: what a row gains within
        itself is what, in the mirror, others gain between them.
        """
        rows, lacking = self._rows, self._lacking
        gains = [0] * len(rows)
        for a, gathered in self._gathered():
            if a in lacking and (gained := gathered & lacking[a]):
                gains[a] |= gained
                self._put(a, gained)
        for step in self._between:
            for a in tuple(lacking):
                gained = 0
                for e in bits(step.over[a]):
                    gained |= rows[e] & lacking[a]
                    if gained == lacking[a]:
                        break
                if gained:
                    gains[a] |= gained
                    self._put(a, gained)
        if not any(gains):
            return False
        for a, mirror in enumerate(transposed(gains)):
            if a in lacking and (gained := mirror & lacking[a]):
                self._put(a, gained)
        return True

    def _gathered(self) -> Iterator[tuple[int, int]]:
        """Along each order every event, with what the rows of the events beyond it hold by then."""
        rows = self._rows
        for order, neighbours in self._tours:
            held = [0] * len(rows)  # by an event and those beyond it
            for a in order:
                gathered = 0
                for e in neighbours[a]:
                    gathered |= held[e]
                yield a, gathered
                held[a] = gathered | rows[a]

    def _add(self, a: int, gathered: int) -> bool:
        """Whether row a gains anything, `gathered` being what the events beyond it hold, in one order."""
        row, lacking, gained = self._rows[a], self._lacking[a], self._gained
        fresh = row if a not in self._met else 0
        self._met.add(a)
        left = lacking ^ (lacking & gathered)
        rows, each = self._rows, self._each
        for step in self._between:
            for e in each(step.over[a]) if left else ():
                left ^= left & rows[e]
                if not left:
                    break
        found = lacking ^ left
        fresh |= found
        while found or (fresh and left):
            row |= found
            if found and gained is not None:
                gained(a, found)
            found = self._reached(fresh, left, row) if left else 0
            left ^= found
            fresh = found
        if left == lacking:
            return False
        rows[a] = row
        if left:
            self._lacking[a] = left
        else:
            del self._lacking[a]
        return True

    def _reached(self, fresh: int, left: int, row: int) -> int:
        """What of `left` the rules within a row conclude from it, where only `fresh` of it is new."""
        found = 0
        if left.bit_count() >= tuning.LOOKS_FOR_A_ROW:
            for step in self._within:
                found |= step.reached(fresh, left ^ found)
            left ^= found
        following = self._following
        for b in self._each(left):
            if following[b] & row:
                found |= 1 << b
        return found

    def _put(self, a: int, row: int) -> None:
        self._rows[a] |= row
        if self._gained is not None:
            self._gained(a, row)
        self._lacking[a] ^= row
        if not self._lacking[a]:
            del self._lacking[a]


def gathered(body: Body, scope: RelationScope) -> Callable[[list[int]], list[int]] | None:
    """What solves a body that denies one pattern, P(a, e), Q(e, b), e in M: of each target what it leaves.

    Whatever is reached through an order is gathered along its links: what the successors of a reach, and they
    themselves. So a row costs one operation a link, not one for each event that comes later.

    None where the body asks for more than the absence of one pattern P(a, e), Q(e, b), e in M, or where
    P reads no order. Cost: a row operation for each link and other pair of P.
    """
    if body.ones or body.pairs or len(body.nones) != 1:
        return None
    none = body.nones[0]
    own = {v for v in none.mentioned() if v not in (LEFT, RIGHT)}
    if len(own) != 1 or none.nones or len(none.pairs) != 2:
        return None
    (middle,) = own
    ends = {(p.left if p.right == middle else p.right): p for p in none.pairs if p.positive}
    if ends.keys() != {LEFT, RIGHT} or any(one.variable != middle for one in none.ones):
        return None
    inside = scope.domain
    for one in none.ones:
        inside &= scope.subset(one.source) if one.positive else ~scope.subset(one.source)
    near = list(parts(scope.relation(ends[LEFT].source), ends[LEFT].left == LEFT))
    if not any(isinstance(relation, Closure) for relation, _ in near):
        return None
    orders = [(relation, forwards) for relation, forwards in near if isinstance(relation, Closure)]
    width = scope.domain.bit_length()
    beyond = all_rows(scope.relation(ends[RIGHT].source), width, ends[RIGHT].left == middle)
    if inside != scope.domain:
        beyond = [row if inside >> e & 1 else 0 for e, row in enumerate(beyond)]
    beyond = beyond + [0] * (max(order.order.size for order, _ in orders) - width)
    found = joined(len(beyond), [_along(order, beyond, forwards) for order, forwards in orders])
    loose = [link for link in near if not isinstance(link[0], Closure)]
    beside = joined(width, [all_rows(r, width, forwards) for r, forwards in loose])

    def solved(targets: list[int]) -> list[int]:
        gains, each = [], lister(width)
        for target, row, seen in zip(targets, found, beside, strict=False):
            left = target ^ (target & row)
            for e in each(seen) if left else ():
                left ^= left & beyond[e]
                if not left:
                    break
            gains.append(left)
        return gains

    return solved


def parts(relation: RowRelation, forwards: bool) -> list[tuple[RowRelation, bool]]:
    """A union as its members, each with the direction in which it is read. Cost: linear in the members."""
    if isinstance(relation, Union):
        return [part for member, way in relation.parts for part in parts(member, way is forwards)]
    return [(relation, forwards)]


def _along(closure: Closure, values: list[int], forwards: bool) -> list[int]:
    """For each position, the union of `values`, one a position, over its future (or its past)."""
    found, held = [0] * len(values), [0] * len(values)
    positions, neighbours = closure.tour(len(values)).along(forwards)
    for v in positions:
        row = 0
        for w in neighbours[v]:
            row |= held[w]
        found[v] = row
        held[v] = row | values[v]
    return found
