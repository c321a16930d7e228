"""A transitive predicate as a relation: happens-before, whose rows are at hand while they are wanted."""

from __future__ import annotations

from typing import NamedTuple

from microcosm.engine.relations import Remembered
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows


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

    def all_rows(self, width: int, forwards: bool) -> list[int]:
        if isinstance(self.order, Rows) and width == self.order.size <= Rows.SATURATE:
            self.order.saturate()
        rows = self.order.all_rows(forwards)
        if rows is None or len(rows) != width:
            return [*map(self.row if forwards else self.col, range(width))]
        return rows

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
            if isinstance(self.order, Rows) and self.order.size == width:
                causal, successors, predecessors = self.order.links()
            else:
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
