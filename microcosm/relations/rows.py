"""Happens-before as bit rows: for each position the row of its past and, on demand, of its future.

Rows are integers; a past row of a position numbered in causal order has no bit above it, so rows stay
short. Nothing is closed before it is asked for: a single question costs one search over the edges, and once
searches have cost as much as that would, every row is computed in one pass, each edge once. From then
on a question is a bit test. A change touches the rows of the past that change and no others; rows of the
future are then derived from these when next asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from microcosm.relations.bits import bits, from_positions
from microcosm.relations.happens_before import Cycle, cycle_or_order, edge_sets


class Rows:
    """`HappensBefore` over positions below `size`, from an acyclic set of edges.

    Raises `Cycle`. Memory: O(edges) at first; n²/8 bytes a direction once saturated.

    >>> rows = Rows(4, [(0, 1), (1, 2)])
    >>> rows.before(0, 2), rows.before(2, 0), rows.chain(0, 2)
    (True, False, [0, 1, 2])
    >>> rows.add(2, 3)
    [(3, 7)]
    >>> rows.remove(1, 2); rows.before(0, 3), rows.before(2, 3)
    (False, True)
    """

    COLUMNS = 16
    """So many rows of the future are read off those of the past before all are computed in one pass."""

    SATURATE = 1 << 15
    """Beyond so many positions, rows are never all computed unasked (they would take n²/8 bytes)."""

    def __init__(self, size: int, edges: Iterable[tuple[int, int]]) -> None:
        self.size = size
        self.updates = 0
        """How many rows a change has touched so far."""
        self._successors, self._predecessors = edge_sets(size, edges)
        self._order: list[int] | None = cycle_or_order(size, self._successors, self._predecessors)
        self._past: list[int] | None = None
        self._future: list[int] | None = None
        self._edges = sum(map(len, self._successors))
        self._searched = 0  # positions that searches have met
        self._found: tuple[dict[int, int], dict[int, int]] = ({}, {})  # rows of the past, of the future

    def before(self, a: int, b: int) -> bool:
        past = self._past
        row = past[b] if past is not None else self.past(b)
        return bool(row >> a & 1)

    def past(self, b: int) -> int:
        if self._past is None:
            row = self._search(0, b, self._predecessors)
            if row is not None:
                return row
            self._past = self._close(self._causal_order(), self._predecessors)
            self._found[0].clear()
        return self._past[b]

    def future(self, a: int) -> int:
        if self._future is None:
            row = self._column(a) if self._past is not None else self._search(1, a, self._successors)
            if row is not None:
                return row
            self._future = self._close(reversed(self._causal_order()), self._successors)
            self._found[1].clear()
        return self._future[a]

    def saturate(self) -> None:
        """Compute every row of both directions now. Cost: O((n + edges) · n / 64)."""
        if self._past is None:
            self._past = self._close(self._causal_order(), self._predecessors)
        if self._future is None:
            self._future = self._close(reversed(self._causal_order()), self._successors)

    def grow(self, size: int) -> None:
        for _ in range(self.size, size):
            self._successors.append(set())
            self._predecessors.append(set())
            for rows in (self._past, self._future):
                if rows is not None:
                    rows.append(0)
        self.size = max(size, self.size)
        self._order = None

    def add(self, a: int, b: int) -> list[tuple[int, int]]:
        if a == b:
            raise Cycle([a])
        if self._successors[b] and self._predecessors[a] and (back := self.chain(b, a)) is not None:
            raise Cycle(back)
        if b in self._successors[a]:
            return []
        if self._past is None and self.size <= self.SATURATE:
            self._past = self._close(self._causal_order(), self._predecessors)
        gained = self.past(a) | 1 << a
        changes = (
            self._gain(self._past, a, b, gained) if self._past is not None else self._reached(a, b, gained)
        )
        self._successors[a].add(b)
        self._predecessors[b].add(a)
        self._changed(1)
        return changes

    def remove(self, a: int, b: int) -> None:
        self._successors[a].remove(b)
        self._predecessors[b].remove(a)
        if self._past is not None:
            self._recompute(self._past, b)
        self._changed(-1)

    def _changed(self, edges: int) -> None:
        """Rows of the past are kept up to date; those of the future would change for every ancestor."""
        self._edges += edges
        self._searched = 0
        self._future = self._order = None
        for found in self._found:
            found.clear()

    def edges(self) -> Iterable[tuple[int, int]]:
        """Every edge, in order of its ends."""
        for a, successors in enumerate(self._successors):
            for b in sorted(successors):
                yield a, b

    def chain(self, a: int, b: int) -> list[int] | None:
        """A shortest chain of edges. Cost: a breadth-first search within future(a) ∩ past(b)."""
        if a == b or not self.before(a, b):
            return None
        inside = self.past(b)
        parent = {a: a}
        queue = deque([a])
        while queue:
            v = queue.popleft()
            if b in self._successors[v]:
                path = [b, v]
                while v != a:
                    v = parent[v]
                    path.append(v)
                return path[::-1]
            for w in self._successors[v]:
                if w not in parent and inside >> w & 1:
                    parent[w] = v
                    queue.append(w)
        raise AssertionError("a row says a < b, and no edges lead there")

    def _causal_order(self) -> list[int]:
        if self._order is None:
            self._order = cycle_or_order(self.size, self._successors, self._predecessors)
        return self._order

    def _close(self, order: Iterable[int], neighbours: list[set[int]]) -> list[int]:
        """All rows, given an order in which each position comes after its neighbours."""
        rows = [0] * self.size
        one = [1 << v for v in range(self.size)] if self.size < 4096 else None
        for v in order:
            row = 0
            for w in neighbours[v]:
                row |= rows[w] | (one[w] if one else 1 << w)
            rows[v] = row
        return rows

    def _search(self, direction: int, start: int, neighbours: list[set[int]]) -> int | None:
        """One row by a search over the edges; None when it is time to compute all of them."""
        found = self._found[direction]
        row = found.get(start)
        if row is not None:
            return row
        if self._searched > self._edges * (1 + self.size / 16384):
            if self.size <= self.SATURATE:
                return None  # searches have cost about as much as computing all rows will
            found.clear()
            self._searched = 0
        seen = set(neighbours[start])
        stack = list(seen)
        while stack:
            for w in neighbours[stack.pop()]:
                if w not in seen:
                    seen.add(w)
                    stack.append(w)
        self._searched += len(seen)
        row = found[start] = from_positions(seen, self.size)
        return row

    def _column(self, a: int) -> int | None:
        """One row of the future read off the rows of the past; None when it is time to compute all."""
        found, past = self._found[1], self._past
        assert past is not None
        row = found.get(a)
        if row is None and len(found) < self.COLUMNS:
            row = found[a] = from_positions(
                [y for y, earlier in enumerate(past) if earlier >> a & 1], self.size
            )
        return row

    def _gain(self, past: list[int], a: int, b: int, gained: int) -> list[tuple[int, int]]:
        """Put what b gains into its row and those of its future; a row that holds a holds all of it."""
        changes = []
        stack = [b]
        while stack:
            y = stack.pop()
            row = past[y]
            if not row >> a & 1:
                past[y] = row | gained
                changes.append((y, gained & ~row))
                stack.extend(self._successors[y])
        self.updates += len(changes)
        return changes

    def _reached(self, a: int, b: int, gained: int) -> list[tuple[int, int]]:
        known = self.future(a)
        return [(y, gained) for y in (b, *bits(self.future(b))) if not known >> y & 1]

    def _recompute(self, past: list[int], start: int) -> None:
        """Recompute the row of `start` and whatever rests on it, stopping where a row comes out unchanged.

        The size of the old row orders the work: whatever a row rests on has a smaller one.
        """
        heap = [(past[start].bit_count(), start)]
        queued = {start}
        while heap:
            _, v = heappop(heap)
            row = 0
            for w in self._predecessors[v]:
                row |= past[w] | 1 << w
            if row == past[v]:
                continue
            past[v] = row
            self.updates += 1
            for w in self._successors[v]:
                if w not in queued:
                    queued.add(w)
                    heappush(heap, (past[w].bit_count(), w))

    def _check(self) -> None:
        """Assert every invariant: rows, where present, are what a fresh closure gives."""
        fresh = Rows(self.size, self.edges())
        fresh.saturate()
        for mine, theirs in ((self._past, fresh._past), (self._future, fresh._future)):
            assert mine is None or mine == theirs
        for direction, theirs in ((0, fresh._past), (1, fresh._future)):
            assert theirs is not None
            assert all(theirs[v] == row for v, row in self._found[direction].items())
