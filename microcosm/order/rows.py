"""Happens-before as bit rows: for each position the row of its past and, on demand, of its future.

Rows are integers; a past row of a position numbered in causal order has no bit above it, so rows stay
short. Nothing is closed before it is asked for: a single question costs one search over the edges, and once
searches have cost as much as that would, every row is computed in one pass, each edge once. From then
on a question is a bit test, and a change touches the rows that change. An event that comes last changes
one row of the past and every row of the future before it: until many such events are put right in one
pass, rows of the future are not believed about them (`LateEvents`). A link in the middle changes few rows, or
thousands of them: where it is thousands, links are kept beside the rows until there are many (`Pending`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import count
from operator import le

from microcosm import tuning
from microcosm.givens.relation import Relation
from microcosm.order.bits import marks, row_of, singles, transposed
from microcosm.order.edits import LateEvents, Pending, propagate, recompute
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets

BEFORE, AFTER = Relation.BEFORE, Relation.AFTER


class Rows:
    """`HappensBefore` over positions below `size`, from an acyclic set of edges.

    Raises `Cycle`. Memory: O(edges) at first; n²/8 bytes a direction once saturated.

    >>> rows = Rows(4, [(0, 1), (1, 2)])
    >>> rows.before(0, 2), rows.before(2, 0), rows.chain(0, 2)
    (True, False, [0, 1, 2])
    >>> rows.add(2, 3); rows.remove(1, 2); rows.before(0, 3), rows.before(2, 3)
    (False, True)
    """

    FEW, FUTURES = tuning.ROWS_FEW, tuning.ROWS_OF_FUTURE
    MANY = tuning.ROWS_MANY
    WAIT, LINKS = tuning.LINKS_WAIT_FROM, tuning.LINKS_WAITING
    SATURATE = tuning.ROWS_SATURATED

    def __init__(self, size: int, edges: Iterable[tuple[int, int]]) -> None:
        self.size = size
        self.updates = 0
        """How many rows a change has touched so far."""
        self._successors, self._predecessors = edge_sets(size, edges)
        self._order = cycle_or_order(size, self._successors, self._predecessors)
        self._past: list[int] | None = None
        self._rising = False  # whether each position is known to come after its past: then one test will do
        self._future: list[int] | None = None
        self._late: LateEvents | None = None
        self._pending: Pending | None = None
        self._futures_with_pending: dict[int, int] = {}  # rows of the future with the links that wait
        self._new_links: list[tuple[int, int]] = []  # links that came since the order was found
        self._edges = sum(map(len, self._successors))
        self._searched = self._searches = 0  # positions that searches have met, and how many searches
        self._known_rows: tuple[dict[int, int], dict[int, int]] = ({}, {})  # rows of the past, of the future
        self._expected: Sequence[int] = ()
        self._expected_rows: tuple[dict[int, int], dict[int, int]] = ({}, {})  # rows of these

    def before(self, a: int, b: int) -> bool:
        past = self._past
        row = past[b] if past is not None else self.past(b)
        if row >> a & 1:
            return True
        return self._pending is not None and self._pending.before(a, b)

    def ordered(self, a: int, b: int) -> Relation | None:
        past, rising = self._past, self._rising
        if past is None or self._pending is not None:  # rows of both are likely to be asked for soon
            return BEFORE if self.past(b) >> a & 1 else AFTER if self.past(a) >> b & 1 else None
        if b < a and rising:
            return AFTER if past[a] >> b & 1 else None
        if past[b] >> a & 1:
            return BEFORE
        return None if rising else AFTER if past[a] >> b & 1 else None

    def past(self, b: int) -> int:
        if self._past is None:
            row = self._search(0, b, self._predecessors)
            if row is not None:
                return row
            self._past = self._closed_past()
            self._known_rows[0].clear()
        if self._pending is None:
            return self._past[b]
        row = self._known_rows[0].get(b)
        if row is None:
            row = self._known_rows[0][b] = self._pending.past(b, self._past[b])
        return row

    def future(self, a: int) -> int:
        if self._pending is None:
            return self._closed_future(a)
        row = self._futures_with_pending.get(a)
        if row is None:
            row = self._futures_with_pending[a] = self._pending.future(a, self._closed_future(a))
        return row

    def all_rows(self, forwards: bool) -> list[int] | None:
        if self._pending is not None or (forwards and self._late is not None):
            return None
        return self._future if forwards else self._past

    def _closed_future(self, a: int) -> int:
        """The future of a without the links that wait."""
        if self._future is None:
            row = self._search(1, a, self._successors) if self._past is None else None
            if row is not None:
                return row
            self._settle()
            assert self._future is not None
        late = self._late
        if late is None:
            return self._future[a]
        row = self._known_rows[1].get(a)
        if row is None:
            if late.looked_up > (self.size + self._edges) * (16 + self.size // 64):
                self._settle()  # costs about as much
                return self._future[a]
            row = self._known_rows[1][a] = late.future(self._future[a], a, self.size)
        return row

    def expect(self, positions: Sequence[int]) -> None:
        """Rows of these are asked for next, and few others: they may be computed together, and no more.

        Cost: where they are many, a pass over the edges and n/64 operations on rows of so many positions, of
        each direction; memory: two rows each.
        """
        self._expected = positions
        for held in self._expected_rows:
            held.clear()

    def saturate(self) -> None:
        """Compute every row of both directions now. Cost: O((n + edges) · n / 64)."""
        self._merge_pending()
        if self._past is None:
            self._past = self._closed_past()
        if self._future is None or self._late is not None:
            self._settle()

    def _closed_past(self) -> list[int]:
        """All rows of the past."""
        rows = self._close(self._causal_order(), self._predecessors)
        self._rising = all(map(le, map(int.bit_length, rows), count()))
        return rows

    def _settle(self) -> None:
        """Compute all rows of the future."""
        self._future = self._close(reversed(self._causal_order()), self._successors)
        self._late = None
        self._known_rows[1].clear()

    def grow(self, size: int) -> None:
        if size <= self.size:
            return
        if self._pending is not None and not self._pending.fits(size):
            self._merge_pending()
        for _ in range(self.size, size):
            self._successors.append(set())
            self._predecessors.append(set())
            for rows in (self._past, self._future):
                if rows is not None:
                    rows.append(0)
        self._order += range(self.size, size)
        self.size = size

    def add(self, a: int, b: int) -> None:
        if a == b:
            raise Cycle([a])
        if self._successors[b] and self._predecessors[a] and (back := self.chain(b, a)) is not None:
            raise Cycle(back)
        if b in self._successors[a]:
            return
        if self._past is None and self.size <= self.SATURATE:
            self._past = self._closed_past()
        if self._past is not None and not self._past[b] >> a & 1:
            if self._should_wait(a, b):
                self._add_pending(a, b)
            else:
                self._link(a, b)
        self._rising = self._rising and a < b
        self._successors[a].add(b)
        self._predecessors[b].add(a)
        self._new_links.append((a, b))
        self._changed(1)
        if self._pending is not None and len(self._pending) > self._most_pending():
            self._merge_pending()

    def _link(self, a: int, b: int) -> None:
        """Put a new link into all rows."""
        assert self._past is not None
        old, gained = self._past[b], self._past[a] | 1 << a
        changed = self._counted(propagate(self._past, b, gained, self._successors))
        few = len(changed) <= self.FEW and (
            self._late is not None or _gained(old, gained) * self.FUTURES > self.size
        )
        if self._future is not None and not self._futures_stay(changed, few):
            gained = self._closed_future(b) | 1 << b
            if self._late is not None:
                gained &= ~self._late.row
            self._counted(propagate(self._future, a, gained, self._predecessors))

    def _should_wait(self, a: int, b: int) -> bool:
        """Whether a new link is better kept apart: others that are lead to it, or it may change many rows."""
        if self.size < self.WAIT:
            return False
        if self._pending is not None and not self._pending.independent(a, b):
            return True
        assert self._past is not None
        if self._future is None or not self._successors[b]:
            return self._too_many(self._reached(b, self._successors))
        later = _gained(self._closed_future(a), self._closed_future(b) | 1 << b)
        if later <= self.FEW:
            return False
        return self._too_many(later + _gained(self._past[b], self._past[a] | 1 << a))

    def _too_many(self, rows: int) -> bool:
        """Whether so many rows are more than a single link should change."""
        return rows * self.size > self.MANY

    def _most_pending(self) -> int:
        """So many links wait before they are taken in."""
        return self.LINKS + self.size // 128

    def _reached(self, start: int, neighbours: list[set[int]]) -> int:
        """How many positions edges lead to; when they are many, no more are looked for."""
        seen, stack = {start}, [start]
        while stack and not self._too_many(len(seen)):
            fresh = neighbours[stack.pop()] - seen
            seen |= fresh
            stack += fresh
        return len(seen)

    def _add_pending(self, a: int, b: int) -> None:
        """Keep a new link apart."""
        assert self._past is not None
        if self._pending is None:
            self._pending = Pending(self.size + self.size // 4, self._most_pending())
        self._pending.put(a, b, self._past[a], self._closed_future(b))
        self.updates += 1

    def _merge_pending(self) -> None:
        """Compute the rows that the links that were kept apart change."""
        if self._pending is None:
            return
        assert self._past is not None
        order, links = self._causal_order(), self._pending.links
        earlier, later = self._pending.earlier, self._pending.later
        self._pending = None
        self._changed(0)
        self._apply_links(self._past, later, order, self._predecessors, [(v, u) for u, v in links])
        if self._late is not None:
            self._future = self._late = None
        elif self._future is not None:
            self._apply_links(self._future, earlier, reversed(order), self._successors, links)

    def _apply_links(
        self,
        rows: list[int],
        which: int,
        order: Iterable[int],
        neighbours: list[set[int]],
        links: list[tuple[int, int]],
    ) -> None:
        """Put links into some rows, in an order in which each position comes after its neighbours.

        What a row had it keeps: only neighbours whose rows change as well can bring it more.
        """
        self.updates += which.bit_count()
        changes = marks(which, self.size)
        for v, w in links:
            rows[v] |= rows[w] | 1 << w
        for v in order:
            if changes[v]:
                row = rows[v]
                for w in neighbours[v]:
                    if changes[w]:
                        row |= rows[w]
                rows[v] = row

    def remove(self, a: int, b: int) -> None:
        self._merge_pending()
        self._successors[a].remove(b)
        self._predecessors[b].remove(a)
        if self._past is not None:
            changed = self._counted(recompute(self._past, b, self._predecessors, self._successors))
            if self._future is not None and not self._futures_stay(changed, len(changed) <= self.FEW):
                believed = -1 if self._late is None else ~self._late.row
                self._counted(recompute(self._future, a, self._successors, self._predecessors, believed))
        self._changed(-1)

    def _futures_stay(self, changed: list[int], few: bool) -> bool:
        """Whether rows of the future can stay as they are after these rows of the past changed."""
        past, late = self._past, self._late
        assert past is not None
        if few and changed and late is None:
            late = self._late = LateEvents()
        if late is not None:
            for y in changed if few else filter(late.__contains__, changed):
                late.put(y, past[y])
            if len(late) > 64 + self.size // 4:
                self._future = self._late = None  # one pass for all of them, when next asked
        return few or self._future is None

    def _counted(self, changed: list[int]) -> list[int]:
        self.updates += len(changed)
        return changed

    def _changed(self, edges: int) -> None:
        self._edges += edges
        self._searched = self._searches = 0
        if self._past is None:
            self._future = None  # rows of the future are put right by way of those of the past only
        for found in (*self._known_rows, *self._expected_rows, self._futures_with_pending):
            found.clear()

    def edges(self) -> Iterable[tuple[int, int]]:
        """Every edge, in order of its ends."""
        for a, successors in enumerate(self._successors):
            for b in sorted(successors):
                yield a, b

    def links(self) -> tuple[list[int], list[set[int]], list[set[int]]]:
        """The positions in causal order, what each leads to, and what leads to each; not to be changed."""
        return self._causal_order(), self._successors, self._predecessors

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
        if self._new_links:
            place = dict(zip(self._order, range(self.size), strict=True))
            if any(place[a] > place[b] for a, b in self._new_links):
                self._order = cycle_or_order(self.size, self._successors, self._predecessors)
            self._new_links.clear()
        return self._order

    def _close(self, order: Iterable[int], neighbours: list[set[int]]) -> list[int]:
        """All rows, given an order in which each position comes after its neighbours."""
        rows = [0] * self.size
        one = singles(self.size) if self.size <= tuning.ONES_UP_TO else None
        for v in order:
            row = 0
            for w in neighbours[v]:
                row |= rows[w] | (one[w] if one else 1 << w)
            rows[v] = row
        return rows

    def _search(self, direction: int, start: int, neighbours: list[set[int]]) -> int | None:
        """One row by a search over the edges; None when it is time to compute all of them."""
        found = self._known_rows[direction]
        row = found.get(start, self._expected_rows[direction].get(start))
        if row is not None:
            return row
        if self._searched > self._edges * (1 + self.size / 16384) * tuning.POSITIONS_AN_EDGE:
            if not self._sparse():  # searches have cost about as much as computing all rows will
                if start in self._expected:
                    return self._rows_of_expected(direction)[start]
                if self.size <= self.SATURATE and not self._expected:
                    return None
            self._searched = self._searches = 0
        if self.size > tuning.TABLE_AT_ONCE and len(found) >= tuning.ROWS_HELD:
            found.clear()
        seen = set(neighbours[start])
        stack = list(seen)
        while stack:
            for w in neighbours[stack.pop()]:
                if w not in seen:
                    seen.add(w)
                    stack.append(w)
        self._searched += len(seen)
        self._searches += 1
        least = min(seen, default=0)
        row = found[start] = row_of([v - least for v in seen]) << least  # made as wide as they are apart
        return row

    def _rows_of_expected(self, direction: int) -> dict[int, int]:
        """The rows of what is expected: the columns of a matrix that has a row for each position."""
        order = self._causal_order()
        way, neighbours = (order, self._predecessors) if direction else (order[::-1], self._successors)
        reached = [0] * self.size
        for at, v in enumerate(self._expected):
            reached[v] |= 1 << at
        for v in way:
            row = reached[v]
            for w in neighbours[v]:
                row |= reached[w]
            reached[v] = row
        rows = zip(self._expected, transposed(reached, len(self._expected)), strict=True)
        held = self._expected_rows[direction]
        held.update({v: row ^ 1 << v for v, row in rows})
        return held

    def _sparse(self) -> bool:
        """Whether rows are so small, by those that were searched for, that to search again is no slower."""
        worth = self._searches * self.size // tuning.POSITIONS_A_MEMBER
        return self.size > tuning.TABLE_AT_ONCE and self._searched < worth

    def _check(self) -> None:
        """Assert every invariant: rows, where present, are what a fresh closure gives."""
        fresh = Rows(self.size, self.edges())
        fresh.saturate()
        assert self._past is None or [self.past(v) for v in range(self.size)] == fresh._past
        assert fresh._rising or not self._rising
        assert self._future is None or [self.future(v) for v in range(self.size)] == fresh._future
        found = self._known_rows[1] if self._pending is None else self._futures_with_pending
        for remembered, theirs in ((self._known_rows[0], fresh._past), (found, fresh._future)):
            assert theirs is not None
            assert all(theirs[v] == row for v, row in remembered.items())


def _gained(row: int, gained: int) -> int:
    """How many members a row gains."""
    return (gained ^ gained & row).bit_count()
