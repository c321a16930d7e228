"""A direction for every `<>`, all at once: that of one line of events, closed in one pass, and looked at.

Put into a line by how much is before and how little is after them, events seldom order a `<>` wrongly that
propagation has left open. Where nothing that is refuted comes out, a world is found; where something does,
the choice says by way of which `<>`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from operator import and_

from microcosm.order.bits import lowest
from microcosm.order.happens_before import Graph
from microcosm.worlds.candidate import Fit
from microcosm.worlds.constraints import Knowledge, Pair

Rows = list[int]
"""For each position a row of others."""


class Choice:
    """The world that some pairs generate, which order every `<>` of a knowledge; it may not fit.

    `order` extends the pairs, `successors` list them all, `future` holds the row of each event and of what is
    after it.

    Cost: O(E · n/64) to make, n rows to find what fails in it, a look at rows for a pair.
    """

    def __init__(self, known: Knowledge, order: list[int], edges: list[Pair]) -> None:
        self._known = known
        self.order, self.edges = order, edges
        self.successors: list[list[int]] = [[] for _ in order]
        for a, b in edges:
            self.successors[a].append(b)
        self.future = future = [0] * len(order)
        for v in reversed(order):
            row = 1 << v
            for w in self.successors[v]:
                row |= future[w]
            future[v] = row

    @classmethod
    def of(cls, known: Knowledge, edges: list[Pair]) -> Choice:
        """The world that all of `edges` generate. Raises `Cycle`."""
        return cls(known, Graph(known.size, edges).order, edges)

    @classmethod
    def along(cls, known: Knowledge, future: Rows, past: Rows, chosen: Iterable[Pair] = ()) -> Choice:
        """Each `<>` as its events stand in a line that extends an order, given by its rows.

        Of two events that nothing orders the one comes first that orders fewer pairs by coming first.
        `chosen` are pairs of that order which did not follow from what is known. Cost: O(E · n/64).
        """
        early = [p.bit_count() / f.bit_count() for p, f in zip(past, future, strict=True)]
        order = sorted(range(known.size), key=early.__getitem__)
        place = [0] * known.size
        for rank, v in enumerate(order):
            place[v] = rank
        edges = [*known.before, *chosen]
        edges += [(a, b) if place[a] < place[b] else (b, a) for a, b in known.related]
        for group in known.groups:
            edges += pairwise(sorted(group, key=place.__getitem__))
        return cls(known, order, edges)

    def failing(self, refuted: Rows) -> list[Pair]:
        """Events v before w with v !< w, one w for each v. Where there are none the choice fits."""
        meets = enumerate(map(and_, refuted, self.future))
        return [(v, lowest(both)) for v, both in meets if both]

    def culprit(self, v: int, w: int, future: Rows) -> Pair | None:
        """The first pair of a way from v to w that is chosen, `future` not having it; None without one."""
        while v != w:
            v, before = next(x for x in self.successors[v] if self.future[x] >> w & 1), v
            if not future[before] >> v & 1:
                return before, v
        return None

    def world(self, further: Iterable[Pair] = ()) -> Fit:
        """The world as it is shown, with one pair more where asked, which must not close a cycle."""
        order, edges = self.order, self.edges
        for a, b in further:
            if not self.future[a] >> b & 1:
                late = self.future[b]
                order = [v for v in order if not late >> v & 1] + [v for v in order if late >> v & 1]
                edges = [*edges, (a, b)]
        return Fit(order, edges)

    def allows(self, a: int, b: int) -> bool:
        """Whether the world fits with a < b put in as well."""
        later = self.future[b]
        return not (self._beyond[a] & later or later >> a & 1)

    def apart(self, a: int, b: int) -> bool:
        """Whether a || b in the world."""
        return not (self.future[a] >> b | self.future[b] >> a) & 1

    @cached_property
    def _beyond(self) -> list[int]:
        """For each event what is refuted of something at or before it."""
        rows = self._known.refuted_rows()
        for v in self.order:
            if row := rows[v]:
                for w in self.successors[v]:
                    rows[w] |= row
        return rows
