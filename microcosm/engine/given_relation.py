"""Given pairs as relations over positions: stated one by one, or in compressed form.

The internal chain, clocks and tokens stand for up to n² pairs; they are asked, never expanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from microcosm.relations.bits import from_positions
from microcosm.relations.clock_rows import ClockRows
from microcosm.relations.relation import Relation


class Pairs:
    """A relation kept as sets of pairs, both ways."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self.after: dict[int, set[int]] = {}
        self.before: dict[int, dict[int, None]] = {}  # in the order in which they were put
        self._support: tuple[int, int] | None = None
        self.put_all(pairs)

    def put(self, a: int, b: int) -> None:
        """Add a pair."""
        support = self._support
        self.put_all([(a, b)])
        if support is not None:
            self._support = support[0] | 1 << a, support[1] | 1 << b

    def put_all(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add many pairs."""
        after, before = self.after, self.before
        for a, b in pairs:
            later, earlier = after.get(a), before.get(b)
            if later is None:
                after[a] = {b}
            else:
                later.add(b)
            if earlier is None:
                before[b] = {a: None}
            else:
                earlier[a] = None
        self._support = None

    def drop(self, a: int, b: int) -> None:
        """Take a pair away; it must be there."""
        self.after[a].remove(b)
        del self.before[b][a]
        for table, key in ((self.after, a), (self.before, b)):
            if not table[key]:
                del table[key]
        self._support = None

    def row(self, a: int) -> int:
        return row_of(self.after.get(a))

    def col(self, b: int) -> int:
        return row_of(self.before.get(b))

    def holds(self, a: int, b: int) -> bool:
        return b in self.after.get(a, ())

    def support(self) -> tuple[int, int]:
        if self._support is None:
            self._support = row_of(self.after.keys()), row_of(self.before.keys())
        return self._support


class GivenRelation(Pairs):
    """`given a R b` for one R: external correspondences as stated, and the compressed givens.

    `chain` (for `<`) lists the internal events in order; all its pairs are given. Token groups (for
    `<>`) and clocks are symmetric where the relation is.
    """

    def __init__(
        self, relation: Relation, clocks: ClockRows, chain: list[int], groups: list[list[int]]
    ) -> None:
        super().__init__()
        self.relation = relation
        self._clocks = clocks if relation is not Relation.RELATED else None
        self._by_clocks = {
            Relation.BEFORE: (clocks.future, clocks.past),
            Relation.NOT_BEFORE: (clocks.missed, clocks.unseen),
        }.get(relation, (clocks.concurrent, clocks.concurrent))
        self._chain = chain if relation is Relation.BEFORE else []
        self._rank = {at: rank for rank, at in enumerate(self._chain)}
        self._groups: dict[int, list[int]] = {}
        for group in groups if relation is Relation.RELATED else ():
            row = row_of(group)
            for at in group:
                self._groups.setdefault(at, []).append(row & ~(1 << at))

    def append(self, at: int) -> None:
        """Lengthen the chain."""
        self._rank[at] = len(self._chain)
        self._chain.append(at)

    @property
    def compressed(self) -> bool:
        """Whether pairs are given beyond those of the cover."""
        return len(self._chain) > 2 or bool(self._clocks) or bool(self._groups)

    def last(self) -> int | None:
        """The last event of the chain."""
        return self._chain[-1] if self._chain else None

    def cover(self) -> Iterator[tuple[int, int]]:
        """Pairs of a `<` relation whose transitive closure is that of all its pairs.

        Those that lead to the same event come in the order in which they were stated.
        """
        for b, earlier in self.before.items():
            for a in earlier:
                yield a, b
        yield from zip(self._chain, self._chain[1:], strict=False)
        if self._clocks:
            yield from self._clocks.cover()

    def covers(self, a: int, b: int) -> bool:
        """Whether the compressed givens alone have the pair in their cover (or give it at all)."""
        rank = self._rank
        if a in rank and b in rank and rank[a] < rank[b]:
            return True
        if self._clocks is None:
            return False
        if self.relation is Relation.NOT_BEFORE:
            return self._clocks.misses(a, b)
        return self._clocks.relation(a, b) is self.relation

    def row(self, a: int) -> int:
        row = super().row(a)
        if a in self._rank:
            row |= row_of(self._chain[self._rank[a] + 1 :])
        if self._clocks:
            row |= self._by_clocks[0](a)
        for group in self._groups.get(a, ()):
            row |= group
        return row

    def col(self, b: int) -> int:
        row = super().col(b)
        if b in self._rank:
            row |= row_of(self._chain[: self._rank[b]])
        if self._clocks:
            row |= self._by_clocks[1](b)
        for group in self._groups.get(b, ()):
            row |= group
        return row

    def holds(self, a: int, b: int) -> bool:
        if super().holds(a, b) or self.covers(a, b):
            return True
        return any(group >> b & 1 for group in self._groups.get(a, ()))

    def support(self) -> tuple[int, int]:
        rows, cols = super().support()
        compressed = row_of(self._chain) | row_of(self._groups)
        if self._clocks:
            compressed |= self._clocks.support()
        return rows | compressed, cols | compressed


def row_of(positions: Iterable[int] | None) -> int:
    """The set of some positions; a few are set one by one."""
    if not positions:
        return 0
    listed = list(positions)
    if len(listed) <= 8:
        row = 0
        for at in listed:
            row |= 1 << at
        return row
    return from_positions(listed, max(listed) + 1)
