"""What is known of some events as constraints on every pair, as it was stated.

A world fits `Constraints` if it orders all of `before`, orders nothing that is refuted, and leaves no
`related` pair unordered. Concurrent pairs are refuted both ways. (Partially ordered time: each pair has
one of `<`, `>`, `||`; Worlds of Events, section 4.)

What stamps rule out is a comparison, never a list of pairs: a Lamport time rules `a < b` out where
L(a) >= L(b), a physical interval where a begins after b has ended (the calculus, extended by negative
givens). A stamp proves no order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate, chain, combinations, pairwise
from math import inf
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from microcosm import tuning
from microcosm.givens.facts import covered, ports
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation, Stamp, too_late
from microcosm.order.bits import bits, from_positions
from microcosm.order.clock_order import ClockRows, clock_rows
from microcosm.order.happens_before import AcyclicGraph, Cycle
from microcosm.order.order import lacking_order

if TYPE_CHECKING:
    from microcosm.givens.exact import Number


class StampOrder:
    """The stamps of some positions, in order. Cost: n log n to build.

    >>> order = StampOrder({0: 5, 1: 5, 2: 9, 3: (1.0, 2.0), 4: (2.5, 3.0)})
    >>> order.holds(0, 1), order.holds(0, 2), order.holds(4, 3), order.holds(0, 3)
    (True, False, True, False)
    >>> bin(order.row(2)), bin(order.row(4)), order.row(7)
    ('0b11', '0b1000', 0)
    """

    def __init__(self, stamps: Mapping[int, Stamp] | None = None) -> None:
        self.of = dict(stamps or {})
        times = [(stamp, at) for at, stamp in self.of.items() if isinstance(stamp, int)]
        ends = [(stamp[1], at) for at, stamp in self.of.items() if isinstance(stamp, tuple)]
        begins = [(stamp[0], at) for at, stamp in self.of.items() if isinstance(stamp, tuple)]
        self._times, self._ends, self._begins = _Prefixes(times), _Prefixes(ends), _Prefixes(begins)

    def __bool__(self) -> bool:
        return bool(self.of)

    def row(self, a: int) -> int:
        """Every b ≠ a whose stamp rules a < b out. Cost: a bisection, after n·n/64 for all prefixes."""
        stamp = self.of.get(a)
        if stamp is None:
            return 0
        row = self._times.up_to(stamp) if isinstance(stamp, int) else self._ends.below(stamp[0])
        return row & ~(1 << a)

    def col(self, b: int) -> int:
        """Every a ≠ b whose stamp rules a < b out. Cost: as `row`."""
        stamp = self.of.get(b)
        if stamp is None:
            return 0
        if isinstance(stamp, int):
            row = self._times.everything & ~self._times.below(stamp)
        else:
            row = self._begins.everything & ~self._begins.up_to(stamp[1])
        return row & ~(1 << b)

    def holds(self, a: int, b: int) -> bool:
        """Whether the stamps of two different events rule a < b out."""
        return a != b and too_late(self.of.get(a), self.of.get(b))

    def support(self) -> tuple[int, int]:
        """The stamped events, twice: every event that can stand on either side."""
        return self._stamped, self._stamped

    @cached_property
    def _stamped(self) -> int:
        return from_positions(self.of, max(self.of, default=0) + 1)

    def bounds(self, order: Sequence[int], successors: Sequence[Iterable[int]]) -> StampBounds:
        """What the stamps rule out once `<` is counted in; `order` extends it. Cost: O(V + E)."""
        return StampBounds(self, order, successors)


class StampBounds:
    """`a !< b` by stamps and `<`: some u at or before a, and some v at or after b, whose stamps say so.

    Four numbers an event: the latest Lamport time and the latest beginning of what is at or before it,
    the earliest time and the earliest end of what is at or after it.

    >>> bounds = StampOrder({0: 7, 2: 4}).bounds([0, 1, 2], [[1], [], []])
    >>> bounds.rules_out(1, 2), bounds.rules_out(2, 1), bounds.contradiction()
    (True, False, None)
    """

    def __init__(self, stamps: StampOrder, order: Sequence[int], successors: Sequence[Iterable[int]]) -> None:
        size = len(successors)
        self._order, self._successors = order, successors
        self._own: list[tuple[_Bound, _Bound, _Bound, _Bound]] = [_NONE] * size
        for at, stamp in stamps.of.items():
            self._own[at] = (
                (stamp, stamp, -inf, inf) if isinstance(stamp, int) else (-inf, inf, stamp[0], stamp[1])
            )
        self._time, self._begin = [own[0] for own in self._own], [own[2] for own in self._own]
        self._until, self._end = [own[1] for own in self._own], [own[3] for own in self._own]
        for v in order:
            time, begin = self._time[v], self._begin[v]
            for w in successors[v]:
                self._time[w] = max(self._time[w], time)
                self._begin[w] = max(self._begin[w], begin)
        for v in reversed(order):
            for w in successors[v]:
                self._until[v] = min(self._until[v], self._until[w])
                self._end[v] = min(self._end[v], self._end[w])

    def rules_out(self, a: int, b: int) -> bool:
        """Whether a < b is ruled out. Cost: constant."""
        return self._time[a] >= self._until[b] or self._begin[a] > self._end[b]

    def contradiction(self) -> tuple[int, int] | None:
        """A link u < v of the order that the stamps rule out, if there is one. Cost: linear in the links."""
        for u in self._order:
            for v in self._successors[u]:
                if self.rules_out(u, v):
                    return u, v
        return None


_Bound: TypeAlias = "Number | float"
"""A number, or nothing known: an infinity."""

_NONE: tuple[_Bound, _Bound, _Bound, _Bound] = (-inf, inf, -inf, inf)


class _Prefixes:
    """Positions sorted by a number, and the row of each prefix, made when first asked for."""

    def __init__(self, numbers: Iterable[tuple[Number, int]]) -> None:
        listed = sorted(numbers)
        self._keys = [key for key, _ in listed]
        self._at = [at for _, at in listed]
        self._rows: list[int] | None = None

    def up_to(self, number: Number) -> int:
        return self._prefix(bisect_right(self._keys, number))

    def below(self, number: Number) -> int:
        return self._prefix(bisect_left(self._keys, number))

    @property
    def everything(self) -> int:
        return self._prefix(len(self._keys))

    def _prefix(self, length: int) -> int:
        if len(self._at) > tuning.STAMP_ROWS_UP_TO:
            return from_positions(self._at[:length], max(self._at) + 1)
        if self._rows is None:
            self._rows = list(accumulate((1 << at for at in self._at), or_, initial=0))
        return self._rows[length]


Pair = tuple[int, int]


@dataclass
class Constraints:
    """Constraints on the positions below `size`. Nothing is closed under anything, or need be consistent.

    Pairs are listed as they were stated. What is given in compressed form stays so: `unseen[a]` is a row
    of further b with a !< b (clocks), each pair of a list in `groups` is related (tokens), and `stamps`
    refute by numbers.

    Cost of its methods: linear in what is stated, and n·n/64 where they make rows.

    >>> known = Constraints(3, before=[(0, 1)], concurrent=[(0, 2)], related=[(1, 2)])
    >>> known.refuted_after(), known.related_rows()
    ({0: [2], 2: [0]}, [0, 4, 2])
    """

    size: int
    before: list[Pair] = field(default_factory=list)
    concurrent: list[Pair] = field(default_factory=list)
    related: list[Pair] = field(default_factory=list)
    refuted: list[Pair] = field(default_factory=list)
    unseen: dict[int, int] = field(default_factory=dict)
    groups: list[Sequence[int]] = field(default_factory=list)
    stamps: StampOrder = field(default_factory=StampOrder)
    clocks: ClockRows | None = None
    """Clocks of very many events, of which no rows are made: a !< b where the clock of b has not seen a."""

    @property
    def decides(self) -> bool:
        """Whether there is anything to choose: a `<>`, whose direction worlds differ about."""
        return bool(self.related or self.groups)

    @cached_property
    def clocks_cover(self) -> bool:
        """Whether each pair of `before` leads to a clock that has seen all that the earlier one has.

        Cost: linear in the pairs, times the processes; once, for they must not change any more.
        """
        return self.clocks is not None and all(self.clocks.covered(a, b) for a, b in self.before)

    def lay_out(self) -> None:
        """Make rows of what the clocks refute, where that was put off. Cost: n·n/64."""
        if self.clocks is not None:
            clocks, self.clocks = self.clocks, None
            rows = {event: clocks.missed(event) for event in bits(clocks.support())}
            self.unseen.update((event, row) for event, row in rows.items() if row)

    def related_pairs(self) -> Iterator[Pair]:
        """Each `<>`, groups included."""
        yield from self.related
        for group in self.groups:
            yield from combinations(group, 2)

    def related_rows(self) -> list[int]:
        """For each position the row of what is related to it."""
        rows = [0] * self.size
        for a, b in self.related:
            rows[a] |= 1 << b
            rows[b] |= 1 << a
        for group in self.groups:
            row = from_positions(group, self.size)
            for a in group:
                rows[a] |= row & ~(1 << a)
        return rows

    def refuted_rows(self) -> list[int]:
        """For each position a the row of each b with a !< b."""
        self.lay_out()
        rows = list(map(self.stamps.row, range(self.size))) if self.stamps else [0] * self.size
        for a, row in self.unseen.items():
            rows[a] |= row
        for a, b in self.refuted:
            rows[a] |= 1 << b
        for a, b in self.concurrent:
            rows[a] |= 1 << b
            rows[b] |= 1 << a
        return rows

    def refuted_after(self) -> dict[int, list[int]]:
        """For each position a of such a pair, each b with a !< b that was stated as a pair."""
        found: dict[int, list[int]] = {}
        for a, b in self.refuted_pairs():
            found.setdefault(a, []).append(b)
        return found

    def refuted_pairs(self) -> Iterator[Pair]:
        """Each (a, b) with a !< b that was stated as a pair."""
        yield from self.refuted
        for a, b in self.concurrent:
            yield a, b
            yield b, a

    def named(self) -> set[int]:
        """The positions of which anything is stated but a stamp."""
        self.lay_out()
        found = {*self.unseen}
        for row in self.unseen.values():
            found.update(bits(row))
        for pairs in (self.before, self.concurrent, self.related, self.refuted):
            found.update(chain.from_iterable(pairs))
        return found.union(*self.groups)

    def among(self, kept: Sequence[int]) -> Constraints:
        """What is known about some positions, `named` ones and others, numbered anew in their order."""
        place = {v: at for at, v in enumerate(kept)}

        def moved(pairs: list[Pair]) -> list[Pair]:
            return [(place[a], place[b]) for a, b in pairs]

        return Constraints(
            len(kept),
            moved(self.before),
            moved(self.concurrent),
            moved(self.related),
            moved(self.refuted),
            {
                place[a]: from_positions([place[b] for b in bits(r)], len(kept))
                for a, r in self.unseen.items()
            },
            [[place[v] for v in group] for group in self.groups],
            StampOrder({place[v]: stamp for v, stamp in self.stamps.of.items() if v in place}),
        )

    def graph(self) -> AcyclicGraph:
        """The order as a graph. Raises `Cycle`."""
        return AcyclicGraph(self.size, self.before)


def refutations(known: Constraints, graph: AcyclicGraph, past: list[int]) -> list[int]:
    """All that is refuted without a look at `<>`: row a is the set of all b with a !< b, a included.

    Exact where nothing is related: whatever is not refuted holds in some world. What is refuted of an
    event is refuted of all that is after it (No-Tr-L), and with an event all that is before it is
    refuted (No-Tr-R): one pass along the pairs as given. Cost: O((|before| + |refuted|) · n/64).

    >>> known = Constraints(3, before=[(0, 1)], concurrent=[(0, 2)])
    >>> graph = known.graph()
    >>> [bin(row) for row in refutations(known, graph, graph.pasts())]
    ['0b101', '0b111', '0b101']
    """
    known.lay_out()
    rows = [0] * known.size
    for a, b in known.refuted:
        rows[a] |= past[b]
    for a, b in known.concurrent:
        rows[a] |= past[b]
        rows[b] |= past[a]
    predecessors, unseen, stamps = graph.predecessors, known.unseen, known.stamps
    for v in graph.order:
        row = past[v] | rows[v]
        for u in predecessors[v]:
            row |= rows[u]
        if unseen or stamps:  # long rows: the last event left of them rules out many others
            left = (unseen.get(v, 0) | stamps.row(v)) & ~row
            while left:
                row |= past[left.bit_length() - 1]
                left &= ~row
        rows[v] = row
    return rows


def constraints_of(givens: Givens, position: Mapping[str, int], size: int) -> Constraints:
    """The constraints of some givens, given the position of each named event (below `size`).

    Clocks become a cover and rows of what they refute (Worlds of Events with clocks: a !< b where
    b's clock has not seen a), tokens rows of `<>`, stamps stay numbers; what a log that is stated to be
    complete leaves unordered is refuted both ways. Cost: linear, and n·n/64 for tokens, complete logs, and
    clocks of some thousand events (of more they are asked one by one).
    """
    known = Constraints(size, [(position[a], position[b]) for a, b in pairwise(givens.internal)])
    stated = {
        Relation.BEFORE: known.before,
        Relation.NOT_BEFORE: known.refuted,
        Relation.CONCURRENT: known.concurrent,
        Relation.RELATED: known.related,
    }
    links = givens.order_columns
    for fact in chain(givens.external.values() if links is None else (), givens.refuted.values()):
        stated[fact.relation].append((position[fact.left], position[fact.right]))
    if links is not None:
        known.before += zip(*links.placed(map(position.__getitem__, links.names)), strict=True)
    known.groups = [[position[event] for event in group] for group in givens.tokens.values()]
    if givens.clocks:
        known.clocks = clock_rows(givens.clocks, position)
        known.before += known.clocks.cover()
        if known.decides or len(givens.clocks) <= tuning.CLOCK_ROWS_UP_TO:
            known.lay_out()
    known.stamps = StampOrder({position[event]: stamp for event, stamp in givens.stamps.items()})
    if givens.complete:
        _complete(givens, position, known)
    return known


def _complete(givens: Givens, position: Mapping[str, int], known: Constraints) -> None:
    """Refute, both ways, what a complete log says nothing of, unless it leaves out what it must say."""
    known.lay_out()
    try:
        graph = known.graph()
    except Cycle:
        return
    past, future = graph.pasts(), graph.futures()

    def before(a: int, b: int) -> bool:
        return a != b and bool(past[b] >> a & 1)

    if lacking_order(givens, position, lambda at: past[at].bit_count(), before):
        return
    events = covered(givens)
    exits, entries = ports(givens, events)
    leaving = reduce(or_, (past[position[event]] | 1 << position[event] for event in exits), 0)
    entered = reduce(or_, (future[position[event]] | 1 << position[event] for event in entries), 0)
    everything = from_positions({position[event] for event in events}, known.size)
    for at in bits(everything):
        open_to = (entered if leaving >> at & 1 else 0) | (leaving if entered >> at & 1 else 0)
        if row := everything & ~(past[at] | future[at] | open_to | 1 << at):
            known.unseen[at] = known.unseen.get(at, 0) | row
