"""Relations that are computed when asked: unions of pointwise rules, any-relation, and closures.

A view remembers the rows it was asked for until the ground changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_, xor

from microcosm.engine.body import LEFT, RIGHT, Body, EventLiteral, PairLiteral
from microcosm.engine.join import RelationScope
from microcosm.engine.relations import RowOf, RowRelation, all_rows
from microcosm.order.bits import Remembered, bits


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

    def all_rows(self, width: int) -> list[int]:
        """As `row` of each event below `width`, of the whole domain but the event itself."""
        left, right = self.ends(self._scope.domain)
        rows = [0] * width
        for a in bits(left):
            rows[a] = right ^ (right & 1 << a)
        for relation, straight, positive in self._tests:
            met = map(and_, rows, all_rows(relation, width, straight))
            rows = [*met] if positive else [*map(xor, rows, met)]
        return rows

    @staticmethod
    def _met(at: int, target: int, pairs: list[tuple[RowOf, bool]]) -> int:
        for rows, positive in pairs:
            if not target:
                break
            met = target & rows(at)
            target = met if positive else target ^ met
        return target


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
        self._united: list[tuple[RowRelation, bool]] | None = None  # where the row is but a union of these
        if all(not body.ones and len(body.pairs) == 1 and body.pairs[0].positive for body in bodies):
            pairs = [body.pairs[0] for body in bodies]
            self._united = [(scope.relation(pair.source), pair.left == LEFT) for pair in pairs]
        self._rows = Remembered(self._row)
        self._cols = self._rows if symmetric else Remembered(self._col)
        self.row, self.col = self._rows.__getitem__, self._cols.__getitem__

    def all_rows(self, width: int, forwards: bool = True) -> list[int]:
        kept = self._rows if forwards else self._cols
        if len(kept) >= width or kept is not self._rows:
            return [*map(kept.__getitem__, range(width))]
        if self._united is None:
            return kept.filled(_joined(width, [part.all_rows(width) for part in self._parts]))
        rows = _joined(width, [all_rows(relation, width, straight) for relation, straight in self._united])
        rows = [*map(self._scope.domain.__and__, rows)]
        for a, row in enumerate(rows):
            if row >> a & 1:
                rows[a] ^= 1 << a
        return kept.filled(rows)

    def _row(self, a: int) -> int:
        row, domain = 0, self._scope.domain & ~(1 << a)
        if self._united is not None:
            for relation, straight in self._united:
                row |= relation.row(a) if straight else relation.col(a)
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

    def all_rows(self, width: int, forwards: bool = True) -> list[int]:
        if self.settling or len(self._rows) >= width:
            return [*map(self.row, range(width))]
        live = [r for r, _ in self.relations if _some(r)]
        turned = [r for r, symmetric in self.relations if not symmetric and _some(r)]
        rows = [all_rows(r, width) for r in live] + [all_rows(r, width, forwards=False) for r in turned]
        return self._rows.filled(_joined(width, rows))

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


def _joined(width: int, rows: list[list[int]]) -> list[int]:
    """Of each position the union of its rows."""
    return reduce(lambda one, other: [*map(or_, one, other)], rows) if rows else [0] * width


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
