"""Relations that are computed when asked: unions of pointwise rules, any-relation, and closures.

A view remembers the rows it was asked for until the ground changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, EventLiteral, PairLiteral
from microcosm.engine.join import RelationScope
from microcosm.engine.relations import RowRelation
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows

RowOf = Callable[[int], int]


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
        self._forward: list[tuple[RowOf, bool]] = []
        self._backward: list[tuple[RowOf, bool]] = []
        self._tests: list[tuple[RowRelation, bool, bool]] = []
        for p in pairs:
            relation = scope.relation(p.source)
            straight = p.left == LEFT
            self._forward.append((relation.row if straight else relation.col, p.positive))
            self._backward.append((relation.col if straight else relation.row, p.positive))
            self._tests.append((relation, straight, p.positive))

    def row(self, a: int, target: int) -> int:
        """The right events within `target` that fit the left event a."""
        return self._mask(a, target, LEFT, RIGHT, self._forward)

    def col(self, b: int, target: int) -> int:
        """The left events within `target` that fit the right event b."""
        return self._mask(b, target, RIGHT, LEFT, self._backward)

    def ends(self, domain: int) -> tuple[int, int]:
        """The events of a domain that the premises about one event alone allow, on either side."""
        found = {LEFT: domain, RIGHT: domain}
        for variable, ones in self._ones.items():
            for source, positive in ones:
                subset = self._scope.subset(source)
                found[variable] &= subset if positive else ~subset
        return found[LEFT], found[RIGHT]

    def holds(self, a: int, b: int) -> bool:
        """Whether the premises hold of a pair."""
        for variable, at in ((LEFT, a), (RIGHT, b)):
            for source, positive in self._ones[variable]:
                if (self._scope.subset(source) >> at & 1 == 1) is not positive:
                    return False
        for relation, straight, positive in self._tests:
            if (relation.holds(a, b) if straight else relation.holds(b, a)) is not positive:
                return False
        return True

    def _mask(self, at: int, target: int, near: int, far: int, pairs: list[tuple[RowOf, bool]]) -> int:
        for source, positive in self._ones[near]:
            if (self._scope.subset(source) >> at & 1 == 1) is not positive:
                return 0
        for source, positive in self._ones[far]:
            subset = self._scope.subset(source)
            target &= subset if positive else ~subset
        return self._met(at, target, pairs)

    def related(self, a: int, target: int) -> int:
        """The right events within `target` that fit a, what is asked of one event alone being known."""
        return self._met(a, target, self._forward)

    @staticmethod
    def _met(at: int, target: int, pairs: list[tuple[RowOf, bool]]) -> int:
        for rows, positive in pairs:
            if not target:
                break
            target &= rows(at) if positive else ~rows(at)
        return target


class Remembered(dict[int, int]):
    """Rows that are computed when first asked for; asking again is a look-up.

    Where all rows together would take more than `BUDGET` bits, they are dropped when they have.
    """

    BUDGET = tuning.BITS_KEPT

    def __init__(self, compute: RowOf) -> None:
        super().__init__()
        self._compute = compute
        self._bits = 0

    def __missing__(self, at: int) -> int:
        row = self._compute(at)
        self._bits += row.bit_length()
        if self._bits > self.BUDGET:
            self.clear()
            self._bits = row.bit_length()
        self[at] = row
        return row


class View:
    """A predicate whose rules speak of its two events only: row a is a few row operations.

    `symmetric` says that it is its own converse: a column is a row then. Cost: of a row as many row
    operations as its rules have premises, once; of a pair a test each.
    """

    def __init__(self, bodies: tuple[Body, ...], scope: RelationScope, symmetric: bool = False) -> None:
        self.bodies = bodies
        self._scope = scope
        self._support: tuple[int, int] | None = None
        self._ends = [
            [(scope.relation(p.source), (p.left == LEFT, p.right == LEFT)) for p in body.pairs if p.positive]
            for body in bodies
        ]
        self._parts = [Pointwise(body.ones, body.pairs, scope) for body in bodies]
        self._united: list[RowOf] | None = None  # where the row is but a union of these
        if all(not body.ones and len(body.pairs) == 1 and body.pairs[0].positive for body in bodies):
            pairs = [(scope.relation(body.pairs[0].source), body.pairs[0].left == LEFT) for body in bodies]
            self._united = [relation.row if straight else relation.col for relation, straight in pairs]
        self._rows = Remembered(self._row)
        self._cols = self._rows if symmetric else Remembered(self._col)
        self.row, self.col = self._rows.__getitem__, self._cols.__getitem__

    def _row(self, a: int) -> int:
        row, domain = 0, self._scope.domain & ~(1 << a)
        if self._united is not None:
            for rows in self._united:
                row |= rows(a)
            return row & domain
        for part in self._parts:
            row |= part.row(a, domain)
        return row

    def _col(self, b: int) -> int:
        col, domain = 0, self._scope.domain & ~(1 << b)
        for part in self._parts:
            col |= part.col(b, domain)
        return col

    def holds(self, a: int, b: int) -> bool:
        row = self._rows.get(a)
        if row is not None:
            return bool(row >> b & 1)
        return a != b and any(part.holds(a, b) for part in self._parts)

    def support(self) -> tuple[int, int]:
        if self._support is None:
            self._support = self._supported()
        return self._support

    def _supported(self) -> tuple[int, int]:
        rows = cols = 0
        for pairs in self._ends:
            left = right = self._scope.domain
            for relation, on_the_left in pairs:
                for end, is_left in zip(relation.support(), on_the_left, strict=True):
                    if is_left:
                        left &= end
                    else:
                        right &= end
            rows |= left
            cols |= right
        return rows, cols

    def forget(self) -> None:
        """Drop the remembered rows."""
        self._support = None
        self._rows.clear()
        self._cols.clear()


class AnyOf:
    """`_`: some relation of a judgement holds, in one direction or the other. Its own converse.

    `relations` come with a mark that says whether each is symmetric, and so read once. Cost: of a row one row
    of each relation, once; of a pair a test each.
    """

    def __init__(self, relations: list[tuple[RowRelation, bool]], remember: bool = True) -> None:
        self.relations = relations
        self.settling = not remember
        self._live: list[RowOf] | None = None
        self._rows = Remembered(self._row)
        self.row = self.col = self._rows.__getitem__ if remember else self._row

    def _row(self, a: int) -> int:
        found = 0
        for rows in self._all_live() if self._live is None else self._live:
            found |= rows(a)
        return found

    def meets(self, a: int, others: int) -> int:
        """Some of the events, of some others, that a is related to; 0: none. Cost: a row or two, if any."""
        row = self._rows.get(a)
        if row is not None:
            return row & others
        for rows in self._all_live() if self._live is None else self._live:
            if found := rows(a) & others:
                return found
        return 0

    def _all_live(self) -> list[RowOf]:
        """The rows of what holds of anything at all, columns first: a past is cheaper than a future."""
        some = [(r, symmetric) for r, symmetric in self.relations if _some(r)]
        self._live = [r.col for r, symmetric in some if not symmetric] + [r.row for r, _ in some]
        return self._live

    def holds(self, a: int, b: int) -> bool:
        row = self._rows.get(a)
        if row is not None:
            return bool(row >> b & 1)
        return any(r.holds(a, b) or (not symmetric and r.holds(b, a)) for r, symmetric in self.relations)

    def support(self) -> tuple[int, int]:
        both = 0
        for relation, _ in self.relations:
            rows, cols = relation.support()
            both |= rows | cols
        return both, both

    def forget(self) -> None:
        """Drop the remembered rows."""
        self._live = None
        self._rows.clear()


def _some(relation: RowRelation) -> bool:
    """Whether a relation may hold of anything."""
    rows, cols = relation.support()
    return bool(rows and cols)


class Union:
    """One of several relations holds. Cost: as `AnyOf`."""

    def __init__(self, relations: list[RowRelation]) -> None:
        self.relations = relations
        self._rows, self._cols = Remembered(self._row), Remembered(self._col)
        self.row, self.col = self._rows.__getitem__, self._cols.__getitem__

    def _row(self, a: int) -> int:
        row = 0
        for relation in self.relations:
            row |= relation.row(a)
        return row

    def _col(self, b: int) -> int:
        col = 0
        for relation in self.relations:
            col |= relation.col(b)
        return col

    def holds(self, a: int, b: int) -> bool:
        return any(relation.holds(a, b) for relation in self.relations)

    def support(self) -> tuple[int, int]:
        rows = cols = 0
        for relation in self.relations:
            left, right = relation.support()
            rows |= left
            cols |= right
        return rows, cols

    def forget(self) -> None:
        """Drop the remembered rows."""
        self._rows.clear()
        self._cols.clear()


class Tour(NamedTuple):
    """The positions of an order, each after those it leads to, and what it leads to directly; and back.

    Cost: linear in the positions.
    """

    latest_first: list[int]
    successors: list[set[int]]
    predecessors: list[set[int]]

    def along(self, forwards: bool) -> tuple[list[int], list[set[int]]]:
        """All positions, each after its neighbours in one direction, and these neighbours."""
        if forwards:
            return self.latest_first, self.successors
        return self.latest_first[::-1], self.predecessors


class Closure:
    """A transitive predicate: its rows are those of happens-before.

    Labels make a row whenever they are asked for it, and searches ask for the same ones again and again: here
    they are remembered. Cost: that of the rows of happens-before, a look-up once all are known.
    """

    def __init__(self, order: HappensBefore) -> None:
        self.renew(order)

    def renew(self, order: HappensBefore) -> None:
        """The order changed, or is another one."""
        self.order = order
        self._futures: list[int] | None = None  # all rows, once they are known
        self._pasts: list[int] | None = None
        self._tour: Tour | None = None
        self._made: tuple[Remembered, Remembered] | None = None
        if isinstance(order, Labels):
            self._made = Remembered(order.future), Remembered(order.past)

    def lay_out(self) -> None:
        """Have all rows at hand, until `fold`. Cost: a row operation a link; n²/4 bytes."""
        if isinstance(self.order, Rows) and self.order.size <= Rows.SATURATE:
            self.order.saturate()  # they stay at hand
            return
        rows = Rows(self.order.size, self.order.edges())
        rows.saturate()
        self._futures, self._pasts = rows.all_rows(forwards=True), rows.all_rows(forwards=False)

    def fold(self) -> None:
        """Let go of all rows, where they would not fit in for long."""
        self._tour = None
        if self.order.size > Rows.SATURATE or self._made is not None:
            self._futures = self._pasts = None

    def tour(self, width: int) -> Tour:
        """The way along the order, of so many positions. Cost: linear in its links, once until `fold`."""
        if self._tour is None or len(self._tour.latest_first) != width:
            successors, predecessors = edge_sets(width, self.order.edges())
            causal = cycle_or_order(width, successors, predecessors)
            self._tour = Tour(causal[::-1], successors, predecessors)
        return self._tour

    def row(self, a: int) -> int:
        futures = self._futures  # another thread may let go of them
        if futures is not None:
            return futures[a]
        if self._made is not None:
            return self._made[0][a]
        found = self.order.future(a)
        self._futures = self.order.all_rows(forwards=True)
        return found

    def col(self, b: int) -> int:
        pasts = self._pasts
        if pasts is not None:
            return pasts[b]
        if self._made is not None:
            return self._made[1][b]
        found = self.order.past(b)
        self._pasts = self.order.all_rows(forwards=False)
        return found

    def holds(self, a: int, b: int) -> bool:
        return self.order.before(a, b)

    def support(self) -> tuple[int, int]:
        everything = (1 << self.order.size) - 1
        return everything, everything
