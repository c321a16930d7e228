"""Saturation of a predicate whose rules pass it on from event to event, as `?` is.

Every recursive rule says `P(a, b) <- bound(a, b), Q(b, e), P(a, e)`, so that the row of a gains along Q what
it holds itself (*within* the row), or `P(a, b) <- bound(a, b), Q(a, e), P(e, b)`, so that it gains what the
rows of other events hold (*between* rows). Where Q is an order, neither asks all the thousands of later
events: within a row the last of them stand for those before them, and between rows what all later events
hold is gathered link by link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, Pair
from microcosm.engine.gather import parts, tour
from microcosm.engine.ground import RowRelation
from microcosm.engine.join import Scope
from microcosm.engine.views import Closure, Pointwise
from microcosm.order.bits import bits, lowest, transposed
from microcosm.order.happens_before import HappensBefore


class Recursive(Protocol):
    """A recursive rule: its premises about the two events of the conclusion, the rest, what it reads."""

    bound: Pointwise
    rest: Body | None
    reads: tuple[Pair, ...]


class Step(NamedTuple):
    """One relation of the Q of a rule, as given (`forwards`) or its converse."""

    relation: RowRelation
    forwards: bool

    @property
    def order(self) -> HappensBefore | None:
        """The order that the relation is, if it is one."""
        return self.relation.order if isinstance(self.relation, Closure) else None

    def sides(self) -> tuple[Callable[[int], int], Callable[[int], int]]:
        """Two functions: every e with Q(b, e) for a b, every b with Q(b, e) for an e."""
        both = self.relation.row, self.relation.col
        return both if self.forwards else both[::-1]

    def reached(self, fresh: int, lacking: int, row: int) -> int:
        """What of `lacking` the rule concludes from `fresh`, and perhaps from others of `row`."""
        sources, targets = self.relation.support() if self.forwards else self.relation.support()[::-1]
        fresh &= targets
        lacking &= sources
        over, onto = self.sides()
        found, ordered = 0, self.order is not None
        for _ in range(lacking.bit_count() // tuning.LOOKS_FOR_A_ROW + 1):
            if not fresh or not lacking:
                return found
            e = fresh.bit_length() - 1 if self.forwards else lowest(fresh)
            fresh ^= 1 << e
            led = onto(e)
            if ordered:
                fresh &= ~led
            found |= led & lacking
            lacking &= ~led
        for b in bits(lacking):
            if over(b) & row:
                found |= 1 << b
        return found


class Rules(NamedTuple):
    """The recursive rules of a predicate, all with one bound, by what they read: P(a, e), or P(e, b)."""

    within: list[Step]
    between: list[Step]


def rules_of(recursive: Iterable[Recursive], scope: Scope) -> Rules | None:
    """The recursive rules of a symmetric predicate, mirror images included, if all are of the two forms."""
    found, bounds = Rules([], []), set()
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
        steps = found.within if kept == {LEFT} else found.between
        for relation, forwards in parts(scope.relation(link.source), link.left in (LEFT, RIGHT)):
            steps.append(Step(relation, forwards))
    return found if len(bounds) == 1 else None


class Sweep:
    """All recursive rules of one predicate, at work on its rows.

    `rows` hold what rests on no recursion, `lacking` what the bound allows beyond that; both are changed in
    place. `gained(a, row)`, if anybody is to know, is told of what row a gains, premises before conclusions.
    """

    def __init__(
        self,
        rules: Rules,
        rows: list[int],
        lacking: dict[int, int],
        gained: Callable[[int, int], object] | None,
    ) -> None:
        self._rows = rows
        self._lacking = lacking
        self._gained = gained
        self._within = rules.within
        self._between = [step for step in rules.between if step.order is None]
        self._tours = []
        for step in rules.between:
            if step.order is not None:
                rows.extend([0] * (step.order.size - len(rows)))
                self._tours.append(tour(step.order, step.forwards, len(rows)))
        self._met: set[int] = set()  # whose rows were gone through once

    def run(self) -> None:
        """To the least fixpoint.

        Cost of a sweep: a row operation a link, and for each row that lacks something one for each last
        event that it holds, or for each event that it lacks, whichever are fewer. Few sweeps are common.
        """
        while self._sweep():
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
            over, _ = step.sides()
            for a in tuple(lacking):
                gained = 0
                for e in bits(over(a)):
                    gained |= rows[e] & lacking[a]
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
            beyond = [0] * len(rows)
            for a in order:
                gathered = 0
                for e in neighbours[a]:
                    gathered |= beyond[e] | rows[e]
                beyond[a] = gathered
                yield a, gathered

    def _add(self, a: int, gathered: int) -> bool:
        """Whether row a gains anything, `gathered` being what the events beyond it hold, in one order."""
        rows, lacking = self._rows, self._lacking[a]
        fresh = rows[a] if a not in self._met else 0
        self._met.add(a)
        gained = gathered & lacking
        for step in self._between:
            if gained == lacking:
                break
            over, _ = step.sides()
            for e in bits(over(a)):
                gained |= rows[e] & lacking
        if gained:
            self._put(a, gained)
        fresh |= gained
        while fresh and a in self._lacking:
            held = rows[a]
            for step in self._within:
                if found := step.reached(fresh, self._lacking.get(a, 0), rows[a]):
                    self._put(a, found)
            fresh = rows[a] & ~held
        return self._lacking.get(a) != lacking

    def _put(self, a: int, row: int) -> None:
        self._rows[a] |= row
        if self._gained is not None:
            self._gained(a, row)
        self._lacking[a] ^= row
        if not self._lacking[a]:
            del self._lacking[a]
