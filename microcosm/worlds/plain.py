"""A knowledge without `<>`, asked about single pairs: nothing is closed before it is needed.

What propagation does not refute, some world has, so there is nothing to search for.
"""

from __future__ import annotations

from functools import cached_property

from microcosm.order.bits import bits, from_positions
from microcosm.order.happens_before import Cycle
from microcosm.order.rows import Rows
from microcosm.order.stamps import StampBounds
from microcosm.worlds.constraints import Knowledge


class Plain:
    """Which pairs are ordered, and which refuted.

    Cost: nothing to make; a question that of the rows of its two events, found by a search and then kept.

    >>> known = Plain(Knowledge.of(3, before=[(0, 1)], concurrent=[(0, 2)]))
    >>> known.refuted(1, 2), known.refuted(2, 1)
    (True, False)
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self._known.size, self._known.before)

    @cached_property
    def _bounds(self) -> StampBounds | None:
        graph = self._known.graph() if self._known.stamps else None
        return self._known.stamps.bounds(graph.order, graph.successors) if graph else None

    @cached_property
    def _lists(self) -> list[list[int]]:
        return self._known.refuted_lists()

    @cached_property
    def _apart(self) -> int:
        """The events of which something is refuted, stamps left out."""
        listed = [a for a, others in enumerate(self._lists) if others]
        return from_positions([*listed, *self._known.unseen], self._known.size)

    @cached_property
    def contradicts(self) -> bool:
        """Whether an order is refuted, or runs in a cycle."""
        try:
            rows = self._rows
        except Cycle:
            return True
        if any(rows.before(a, b) for a, b in self._known.refuted_pairs()):
            return True
        if any(row & rows.future(a) for a, row in self._known.unseen.items()):
            return True
        return self._bounds is not None and self._bounds.contradiction() is not None

    def ordered(self, a: int, b: int) -> bool:
        """Whether the two are ordered, either way."""
        return self._rows.before(a, b) or self._rows.before(b, a)

    def refuted(self, a: int, b: int) -> bool:
        """Whether some u at or before a and some v at or after b are refuted, or equal."""
        rows, lists, unseen = self._rows, self._lists, self._known.unseen
        if rows.before(b, a) or (self._bounds is not None and self._bounds.rules_out(a, b)):
            return True
        later = rows.future(b) | 1 << b
        for u in bits((rows.past(a) | 1 << a) & self._apart):
            if unseen.get(u, 0) & later or any(later >> v & 1 for v in lists[u]):
                return True
        return False
