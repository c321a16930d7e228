"""What follows by propagation alone: of constraints whose `<>` are ordered one by one, of those without `<>`.

Three rows an event are enough for every rule of offline propagation (Worlds of Events, section 4 and Figure
5): what is at or after it (`future`), at or before it (`past`), and what is refuted of something at or before
it (`beyond`; `||` refutes both ways). Then a !< b iff b ≤ a, or `beyond[a]` meets `future[b]`: all of
No-Tr-L, No-Tr-R, Ref-< and Ref-|| in one operation, and nothing else need be propagated.

What propagation does not refute in constraints without `<>`, some world has: `LazyPairs` answers single pairs
and closes nothing before it is needed, `PossibleTable` holds what is possible of all pairs at once, as rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import and_
from typing import NamedTuple

from microcosm import tuning
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits, from_positions
from microcosm.order.chain_cover import Wide
from microcosm.order.clock_order import ClockRows, agreeing
from microcosm.order.happens_before import AcyclicGraph, Cycle
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows
from microcosm.worlds.constraints import Constraints, Pair, StampBounds, refutations

RowTrail = list[tuple[list[int], int, int]]
"""Rows, a position and the row that stood there: what has to be put back, last one first."""


class Closed(NamedTuple):
    """What is given, closed: its order, each event in its own rows, and what is refuted, as it is stated.

    Cost: two closures.
    """

    graph: AcyclicGraph
    refuted: list[int]
    future: list[int]
    past: list[int]

    @classmethod
    def of(cls, known: Constraints) -> Closed:
        """That of some constraints. Raises `Cycle`."""
        graph = known.graph()
        return cls(graph, known.refuted_rows(), graph.futures(), graph.pasts())


class Orientation:
    """What follows from constraints by propagation; `open` are the `<>` whose direction does not.

    `consistent` is False where propagation contradicts itself; the state is then of no use until undone.
    `chosen` are the pairs that were ordered from outside. What is `closed` already is taken, and changed.

    Cost: O(E · n/64) to make; constant to ask; a change, and to undo it, that of the rows that it changes.

    >>> known = Constraints(4, before=[(2, 1)], concurrent=[(0, 2)], related=[(0, 1)])
    >>> state = Orientation(known)
    >>> state.refuted(1, 0), state.refuted(0, 1)
    (True, False)
    """

    def __init__(self, known: Constraints, closed: Closed | None = None) -> None:
        self.known = known
        self.size = known.size
        self.future: list[int]
        self.past: list[int]
        self.beyond: list[int]
        self.limited = 0
        """The events with a row in `beyond`, and perhaps some that had one."""
        self.open = [0] * self.size
        self.chosen: list[Pair] = []
        self.trail: RowTrail = []
        self.forcing = False
        """Whether what is given forces the direction of a `<>` that it does not order."""
        try:
            self.consistent = self._start(known, closed or Closed.of(known))
        except Cycle:
            self.consistent = False

    def _start(self, known: Constraints, closed: Closed) -> bool:
        """Close the rows; what they force at once is put into the order at once, as long as it is much."""
        graph, own, self.future, self.past = closed
        unordered = known.related
        while True:
            self.beyond = graph.inherited(own)
            unordered, forced = self._survey(unordered)
            if len(forced) * tuning.WAVE < self.size:
                break
            self.forcing = True
            graph.add(forced)
            self.future, self.past = graph.futures(), []
        if any(map(and_, own, self.future)):
            return False
        self.past = self.past or graph.pasts()
        for a, b in unordered:
            self.open[a] |= 1 << b
            self.open[b] |= 1 << a
        for group in known.groups:
            forced += self._surveyed(from_positions(group, self.size))
        self.limited = from_positions((v for v, row in enumerate(self.beyond) if row), self.size)
        self.forcing = self.forcing or bool(forced)
        return self._propagate(forced)

    def _survey(self, related: list[Pair]) -> tuple[list[Pair], list[Pair]]:
        """The related pairs that are not ordered, and each of them the way that is forced, if one is."""
        future, beyond = self.future, self.beyond
        unordered: list[Pair] = []
        forced: list[Pair] = []
        for pair in related:
            a, b = pair
            later, other = future[a], future[b]
            if not (later >> b & 1 or other >> a & 1):
                unordered.append(pair)
                if beyond[a] & other:
                    forced.append((b, a))
                if beyond[b] & later:
                    forced.append(pair)
        return unordered, forced

    def _surveyed(self, group: int) -> list[Pair]:
        """The pairs that are forced among events that are all related; the others become open."""
        forced: list[Pair] = []
        for a in bits(group):
            near = group & ~(self.future[a] | self.past[a])
            self.open[a] |= near
            if refuted := self.beyond[a]:
                forced += [(b, a) for b in bits(near) if refuted & self.future[b]]
        return forced

    def refuted(self, a: int, b: int) -> bool:
        """Whether a < b is refuted."""
        return bool(self.beyond[a] & self.future[b] or self.future[b] >> a & 1)

    def is_related(self, a: int, b: int) -> bool:
        """Whether a || b is refuted: the pair is ordered, or a `<>`."""
        return bool((self.future[a] >> b | self.future[b] >> a | self.open[a] >> b) & 1)

    def order(self, a: int, b: int) -> bool:
        """Let a < b and propagate; whether that stays consistent (if not: `undo`)."""
        self.chosen.append((a, b))
        return self._propagate([(a, b)])

    def assume(self, a: int, relation: Relation, b: int) -> bool:
        """Let two events be related so, one of `MEMBERS`, and propagate; as `order`."""
        if relation is Relation.CONCURRENT:
            return self.separate(a, b)
        return self.order(a, b) if relation is Relation.BEFORE else self.order(b, a)

    def separate(self, a: int, b: int) -> bool:
        """Let a || b and propagate; as `order`."""
        return self.refute(a, b) and self.refute(b, a)

    def refute(self, a: int, b: int) -> bool:
        """Let a !< b and propagate; as `order`."""
        future, past, beyond, trail = self.future, self.past, self.beyond, self.trail
        if future[a] >> b & 1:
            return False
        bit, earlier = 1 << b, past[b]
        forced = []
        self.limited |= future[a]
        for y in bits(future[a]):
            row = beyond[y]
            if not row & bit:
                trail.append((beyond, y, row))
                beyond[y] = row | bit
                forced += [(c, y) for c in bits(self.open[y] & earlier)]
        return self._propagate(forced)

    def mark(self) -> tuple[int, int]:
        """A place to `undo` to."""
        return len(self.trail), len(self.chosen)

    def undo(self, mark: tuple[int, int]) -> None:
        """Take back everything since `mark`."""
        trail, length = self.trail, mark[0]
        while len(trail) > length:
            rows, at, row = trail.pop()
            rows[at] = row
        del self.chosen[mark[1] :]

    def _propagate(self, waiting: list[tuple[int, int]]) -> bool:
        """Order each waiting pair and all that this forces; False at the first contradiction."""
        future, past, beyond, opened, trail = self.future, self.past, self.beyond, self.open, self.trail
        while waiting:
            a, b = waiting.pop()
            if future[a] >> b & 1:
                continue
            up, down, low = future[b], past[a], beyond[a]
            if low & up or up >> a & 1:
                return False
            later = up & ~future[a]
            if low:
                self.limited |= later
            limited = self.limited
            touched = []
            for x in bits(down & ~past[b]):
                row = future[x]
                trail.append((future, x, row))
                future[x] = row | up
                if near := opened[x]:
                    if near & up:
                        trail.append((opened, x, near))
                        opened[x] = near = near & ~up
                    if near & limited:
                        touched.append((up & ~row, x, near & limited))
            fresh = []
            for y in bits(later):
                row = past[y]
                trail.append((past, y, row))
                past[y] = row | down
                row = beyond[y]
                gained = low & ~row
                if gained:
                    trail.append((beyond, y, row))
                    beyond[y] = row | gained
                if near := opened[y]:
                    if near & down:
                        trail.append((opened, y, near))
                        opened[y] = near = near & ~down
                    if near and gained:
                        fresh.append((gained, y, near))
            for gained, x, near in touched:  # x precedes more: is some c !< x now?
                for c in bits(near):
                    if beyond[c] & gained:
                        waiting.append((x, c))
            for gained, y, near in fresh:  # more is refuted of y: is some y !< c now?
                for c in bits(near):
                    if gained & future[c]:
                        waiting.append((c, y))
        return True


MEMBERS = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
"""How two events stand to each other in a world; each of these and no other."""


@dataclass(slots=True)
class PossibleTable:
    """Rows of what is possible: bit b of `before[a]` says that a < b is, of `concurrent[a]` that a || b is.

    `undecided` says how many members were not decided in time; they are among the possible ones.

    Cost of its method: n row operations.
    """

    before: list[int]
    concurrent: list[int]
    undecided: int = 0

    def widen(self, other: PossibleTable) -> None:
        """Take in all that is possible by another table."""
        for mine, theirs in ((self.before, other.before), (self.concurrent, other.concurrent)):
            for a, row in enumerate(theirs):
                mine[a] |= row


def of_order(known: Constraints, edges: list[Pair]) -> PossibleTable | None:
    """What is possible if `edges` are the order and nothing is related; None where that is refuted.

    Raises `Cycle`. Cost: two closures.
    """
    graph = AcyclicGraph(known.size, edges)
    past, future = graph.pasts(), graph.futures()
    everything = (1 << known.size) - 1
    refuted = refutations(known, graph, past)
    if any(row & later & ~(1 << v) for v, (row, later) in enumerate(zip(refuted, future, strict=True))):
        return None
    return PossibleTable(
        [everything & ~row for row in refuted],
        [everything & ~(row | past[v]) for v, row in enumerate(future)],
    )


def propagated(state: Orientation) -> PossibleTable:
    """What the propagation of a consistent state leaves. Cost: two closures."""
    known = state.known
    ordered = [
        (a, b) if state.future[a] >> b & 1 else (b, a)
        for a, b in known.related_pairs()
        if (state.future[a] >> b | state.future[b] >> a) & 1
    ]
    left = of_order(known, [*known.before, *ordered])
    assert left is not None, "propagation does not contradict itself"
    for a, row in enumerate(known.related_rows()):
        left.concurrent[a] &= ~row
    return left


class LazyPairs:
    """Which pairs are ordered, and which refuted.

    Cost: nothing to make; a question that of the rows of its two events, found by a search and then kept.

    >>> known = LazyPairs(Constraints(3, before=[(0, 1)], concurrent=[(0, 2)]))
    >>> known.refuted(1, 2), known.refuted(2, 1)
    (True, False)
    """

    def __init__(self, known: Constraints) -> None:
        self._known = known

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self._known.size, self._known.before)

    @cached_property
    def _bounds(self) -> StampBounds | None:
        graph = self._known.graph() if self._known.stamps else None
        return self._known.stamps.bounds(graph.order, graph.successors) if graph else None

    @cached_property
    def _lists(self) -> dict[int, list[int]]:
        return self._known.refuted_after()

    @cached_property
    def _apart(self) -> int:
        """The events of which something is refuted, stamps left out."""
        return from_positions([*self._lists, *self._known.unseen], self._known.size)

    @cached_property
    def contradicts(self) -> bool:
        """Whether an order is refuted, or runs in a cycle."""
        try:
            rows = self._rows
        except Cycle:
            return True
        if any(rows.before(a, b) for a, b in self._known.refuted_pairs()):
            return True
        if self._known.clocks is not None and not self._clocks_agree(self._known.clocks):
            self._known.lay_out()
        if any(row & rows.future(a) for a, row in self._known.unseen.items()):
            return True
        return self._bounds is not None and self._bounds.contradiction() is not None

    def _clocks_agree(self, clocks: ClockRows) -> bool:
        """Whether it is plain that no order is against the clocks: each has seen what is before its event."""

        def process(at: int) -> str | None:
            clock = clocks.of(at)
            return None if clock is None else clock.process

        size = self._known.size
        try:
            labels = Labels(size, self._known.before, process, most=size // tuning.EVENTS_A_CHAIN)
        except Wide:
            return False
        return agreeing(clocks, labels) == clocks.support()

    def ordered(self, a: int, b: int) -> bool:
        """Whether the two are ordered, either way."""
        return self._rows.before(a, b) or self._rows.before(b, a)

    def refuted(self, a: int, b: int) -> bool:
        """Whether some u at or before a and some v at or after b are refuted, or equal."""
        rows, lists, unseen = self._rows, self._lists, self._known.unseen
        if rows.before(b, a) or (self._bounds is not None and self._bounds.rules_out(a, b)):
            return True
        later = rows.future(b) | 1 << b
        if self._known.clocks is not None and _not_seen(self._known.clocks, rows.past(a) | 1 << a, later):
            return True
        for u in bits((rows.past(a) | 1 << a) & self._apart):
            if unseen.get(u, 0) & later or any(later >> v & 1 for v in lists.get(u, ())):
                return True
        return False


def _not_seen(clocks: ClockRows, earlier: int, later: int) -> bool:
    """Whether, by the clocks, some event of one row cannot have come before some event of another one.

    Of a process nobody can have seen less than its last event. Cost: a row for each process.
    """
    for _, chain in clocks.chains():
        last = next((at for at in reversed(chain) if earlier >> at & 1), None)
        if last is not None and clocks.missed(last) & later:
            return True
    return False
