"""Saturation of a predicate whose rules pass it on from event to event, as `?` is.

Every recursive rule says `P(a, b) <- bound(a, b), Q(b, e), P(a, e)`, so that the row of a gains along Q what
it holds itself (*within* the row), or `P(a, b) <- bound(a, b), Q(a, e), P(e, b)`, so that it gains what the
rows of other events hold (*between* rows). Where Q is an order, the latter do not ask all the thousands of
later events: what these hold is gathered link by link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.join import Pointwise, RelationScope
from microcosm.engine.relations import RowRelation, Union, all_rows, joined
from microcosm.logic.rule import Pred
from microcosm.order.bits import meeting, transposed, without
from microcosm.order.order import Closure


class TableRule(NamedTuple):
    """One rule of a table: what it allows at most (`bound`), and the join that it takes beyond that."""

    pred: Pred
    body: Body
    bound: Pointwise
    rest: Body | None
    reads: tuple[PairLiteral, ...]


Link = tuple[RowRelation, bool]
"""What the Q of a rule leads over: a relation, read as it is (True) or turned round."""


class PassingRules(NamedTuple):
    """The recursive rules of a predicate, all with one bound, by what they read: P(a, e), or P(e, b)."""

    within: list[Link]
    between: list[Link]
    bound: Pointwise


def rules_of(recursive: Iterable[TableRule], scope: RelationScope) -> PassingRules | None:
    """The recursive rules of a symmetric predicate, mirror images included, if all are of the two forms.

    Cost: linear in the rules.
    """
    within, between = list[Link](), list[Link]()
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
    return PassingRules(within, between, *bounds)


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
        orders, loose = _orders_and_others(rules.between)
        vacant = [0] * (max([closure.order.size for closure, _ in orders], default=0) - len(rows))
        self._beside = _rows_over(loose, len(rows)) + vacant
        # Of each event all that any rule leads it to within a row.
        self._following = _rows_over(rules.within, len(rows)) + vacant
        self._within, self._width = rules.within, len(rows)
        rows.extend(vacant)
        self._tours = [closure.tour(len(rows)).along(forwards) for closure, forwards in orders]
        self._looked = 0  # at so many events, by the rules within a row
        self._met: set[int] = set()  # whose rows were gone through once

    @cached_property
    def _preceding(self) -> list[int]:
        """Of each event all those that any rule leads to it within a row."""
        return _rows_over([(relation, not way) for relation, way in self._within], self._width)

    def run(self) -> None:
        """To the least fixpoint.

        Cost of a sweep: a row operation a link, and for each row that lacks something one for each event
        that it lacks. Few sweeps are common.
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
        for a in tuple(lacking):
            if gained := lacking[a] ^ without(lacking[a], rows, self._beside[a]):
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
        left = lacking ^ (lacking & gathered)
        if left:
            left = without(left, self._rows, self._beside[a])
        found = lacking ^ left
        fresh = found if a in self._met else row | found
        self._met.add(a)
        while fresh:
            row |= found
            if found and gained is not None:
                gained(a, found)
            found = self._led_to(row, fresh, left) if left else 0
            left ^= found
            fresh = found
        if left == lacking:
            return False
        self._rows[a] = row
        if left:
            self._lacking[a] = left
        else:
            del self._lacking[a]
        return True

    def _led_to(self, row: int, fresh: int, left: int) -> int:
        """What of `left` the rules within a row conclude from it, where only `fresh` of it is new.

        Cost: a row operation for each event of `left`, or of `fresh` once the rows that this takes have paid.
        """
        size = left.bit_count()
        self._looked += size
        if self._looked < tuning.TURNED_AFTER * len(self._rows) or fresh.bit_count() > size:
            return meeting(row, self._following, left)
        return left ^ without(left, self._preceding, fresh)

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
    orders, loose = _orders_and_others(parts(scope.relation(ends[LEFT].source), ends[LEFT].left == LEFT))
    if not orders:
        return None
    width = scope.domain.bit_length()
    beyond = all_rows(scope.relation(ends[RIGHT].source), width, ends[RIGHT].left == middle)
    if inside != scope.domain:
        beyond = [row if inside >> e & 1 else 0 for e, row in enumerate(beyond)]
    beyond = beyond + [0] * (max(order.order.size for order, _ in orders) - width)
    found = joined(len(beyond), [_along(order, beyond, forwards) for order, forwards in orders])
    beside = _rows_over(loose, width)

    def solved(targets: list[int]) -> list[int]:
        return [
            target and without(target ^ (target & row), beyond, seen)
            for target, row, seen in zip(targets, found, beside, strict=False)
        ]

    return solved


def parts(relation: RowRelation, forwards: bool) -> list[Link]:
    """A union as its members, each with the direction in which it is read. Cost: linear in the members."""
    if isinstance(relation, Union):
        return [part for member, way in relation.parts for part in parts(member, way is forwards)]
    return [(relation, forwards)]


def _orders_and_others(links: list[Link]) -> tuple[list[tuple[Closure, bool]], list[Link]]:
    """The orders among some links, and the others."""
    orders = [(closure, forwards) for closure, forwards in links if isinstance(closure, Closure)]
    return orders, [link for link in links if not isinstance(link[0], Closure)]


def _rows_over(links: list[Link], width: int) -> list[int]:
    """For each position all that some links lead it to. Cost: a row operation a position and link."""
    return joined(width, [all_rows(relation, width, forwards) for relation, forwards in links])


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
