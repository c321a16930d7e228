"""Binary relations over positions, asked by rows of bits: given ones, and unions of others.

The internal chain, clocks and tokens stand for up to n² pairs; they are asked, never expanded. Cost of a
question about a stated pair: a look-up; of a row: linear in what is stated of the event, besides that of
`ClockRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain, pairwise
from operator import lt, or_
from typing import Protocol

from microcosm import tuning
from microcosm.givens.relation import Relation
from microcosm.order.bits import Remembered, row_of, singles
from microcosm.order.chain_cover import ChainCover
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import shortest_way

RowOf = Callable[[int], int]


class RowRelation(Protocol):
    """A binary relation over positions.

    Cost of a row, where a class says nothing else: that of the rows that it is made of.
    """

    def row(self, a: int) -> int:
        """The set of all b with `a R b`."""

    def col(self, b: int) -> int:
        """The set of all a with `a R b`."""

    def holds(self, a: int, b: int) -> bool:
        """Whether `a R b`."""

    def support(self) -> tuple[int, int]:
        """Sets that contain every a with a non-empty row, and every b with a non-empty column."""


def all_rows(relation: RowRelation, width: int, forwards: bool = True) -> list[int]:
    """Every row of a relation below `width`, or every column: what a saturation begins with.

    Cost: some row operations an event, at a fraction of what they cost one by one.
    """
    at_once: Callable[[int, bool], list[int]] | None = getattr(relation, "all_rows", None)
    if at_once is not None:
        return at_once(width, forwards)
    return [*map(relation.row if forwards else relation.col, range(width))]


class Empty:
    """The relation that holds nowhere. Cost: constant."""

    def row(self, a: int) -> int:
        return 0

    def col(self, b: int) -> int:
        return 0

    def holds(self, a: int, b: int) -> bool:
        return False

    def support(self) -> tuple[int, int]:
        return 0, 0


class Union:
    """One of several relations holds, each read as it is (True) or turned round.

    `symmetric` says that it is its own converse. Unless it is to `remember` them, its rows are made whenever
    they are asked for, and `settling` tells joins to read it by whole rows only. Cost: of a row one row of
    each relation, once; of a pair a test each.
    """

    def __init__(
        self, parts: list[tuple[RowRelation, bool]], *, symmetric: bool = False, remember: bool = True
    ) -> None:
        self.parts, self.symmetric, self.settling = parts, symmetric, not remember
        self._rows_of: list[RowOf] = [r.row if way else r.col for r, way in parts]
        self._cols_of: list[RowOf] = [r.col if way else r.row for r, way in parts]
        self._rows = Remembered(self._row)
        self._cols = self._rows if symmetric else Remembered(self._col)
        self.row: RowOf = self._rows.__getitem__ if remember else self._row
        self.col: RowOf = self._cols.__getitem__ if remember else self._row if symmetric else self._col

    def _row(self, a: int) -> int:
        return self.united(a, forwards=True)

    def _col(self, b: int) -> int:
        return self.united(b, forwards=False)

    def united(self, at: int, *, forwards: bool) -> int:
        """The row of an event, or its column with `forwards` false, which is not remembered."""
        found = 0
        for rows in self._rows_of if forwards else self._cols_of:
            found |= rows(at)
        return found

    def all_rows(self, width: int, forwards: bool = True) -> list[int]:
        kept = self._rows if forwards else self._cols
        if self.settling:
            return [*map(self.row if forwards else self.col, range(width))]
        if len(kept) >= width:
            return kept.first(width)
        return kept.filled(self.all_united(width, forwards=forwards))

    def all_united(self, width: int, *, forwards: bool) -> list[int]:
        """The rows of all events, or the columns, which are not remembered."""
        return joined(width, [all_rows(relation, width, way is forwards) for relation, way in self.parts])

    def meets(self, a: int, others: int) -> int:
        """Of some events some that a symmetric one relates a to; 0: none. Cost: a row or two, if any."""
        row = self._rows.get(a)
        if row is not None:
            return row & others
        for rows in self._rows_of:
            if found := rows(a) & others:
                return found
        return 0

    def holds(self, a: int, b: int) -> bool:
        row = self._rows.get(a)
        if row is not None:
            return bool(row >> b & 1)
        return any(relation.holds(a, b) if way else relation.holds(b, a) for relation, way in self.parts)

    def support(self) -> tuple[int, int]:
        rows = cols = 0
        for relation, way in self.parts:
            left, right = relation.support()[:: 1 if way else -1]
            rows |= left
            cols |= right
        return (rows | cols, rows | cols) if self.symmetric else (rows, cols)

    def forget(self) -> None:
        """Drop the remembered rows."""
        self._rows.clear()
        self._cols.clear()


def either_way(relations: list[tuple[RowRelation, bool]], *, remember: bool = True) -> Union:
    """`_`: some relation of a judgement holds, in one direction or the other.

    A mark says of each whether it is symmetric, and so read once. Cost: as `Union`.
    """
    turned = [(relation, False) for relation, symmetric in relations if not symmetric]
    # Columns first: a past is cheaper than a future.
    return Union([*turned, *((r, True) for r, _ in relations)], symmetric=True, remember=remember)


def joined(width: int, rows: list[list[int]]) -> list[int]:
    """Of each position the union of its rows. Cost: a row operation each."""
    return reduce(lambda one, other: [*map(or_, one, other)], rows) if rows else [0] * width


KeysOf = Mapping[int, Iterable[Hashable]]


class Sharing:
    """Different positions of which the one has a key, on the left, that the other has on the right.

    `keys` are those of the left and of the right; asked for when needed, and again after `forget`. Cost:
    linear in the keys; a row is that of each key, the pairs are never listed.
    """

    def __init__(self, keys: Callable[[], tuple[KeysOf, KeysOf]]) -> None:
        self._keys_of = keys

    def forget(self) -> None:
        """The keys may be others now."""
        self.__dict__.pop("_keys", None)
        self.__dict__.pop("_rows", None)

    @cached_property
    def _keys(self) -> tuple[KeysOf, KeysOf]:
        return self._keys_of()

    @cached_property
    def _rows(self) -> list[dict[Hashable, int]]:
        """On each side the positions that have a key."""
        found = []
        for side in self._keys:
            having: dict[Hashable, list[int]] = {}
            for at, own in side.items():
                for key in own:
                    having.setdefault(key, []).append(at)
            found.append({key: row_of(positions) for key, positions in having.items()})
        return found

    def row(self, a: int) -> int:
        return self._met(0, a)

    def col(self, b: int) -> int:
        return self._met(1, b)

    def holds(self, a: int, b: int) -> bool:
        return bool(self.row(a) >> b & 1)

    def support(self) -> tuple[int, int]:
        return row_of(self._keys[0]), row_of(self._keys[1])

    def _met(self, end: int, at: int) -> int:
        row = 0
        for key in self._keys[end].get(at, ()):
            row |= self._rows[1 - end].get(key, 0)
        return row & ~(1 << at)


class PairRelation:
    """A relation kept as sets of pairs, both ways; as two columns until one of these is asked for.

    Cost: of a change and a pair a look-up, of a row linear in the pairs of the event, of `support` linear in
    all after a change.
    """

    def __init__(self, lefts: Sequence[int] = (), rights: Sequence[int] = ()) -> None:
        self._columns: tuple[Sequence[int], Sequence[int]] | None = (lefts, rights)
        self._support: tuple[int, int] | None = None

    @cached_property
    def after(self) -> dict[int, set[int]]:
        """From each first end to the second ones."""
        after: dict[int, set[int]] = {}
        for a, b in zip(*self._columns or ((), ()), strict=True):
            later = after.get(a)
            if later is None:
                after[a] = {b}
            else:
                later.add(b)
        return after

    @cached_property
    def before(self) -> dict[int, dict[int, None]]:
        """From each second end to the first ones, in the order in which they were put."""
        before: dict[int, dict[int, None]] = {}
        for a, b in zip(*self._columns or ((), ()), strict=True):
            earlier = before.get(b)
            if earlier is None:
                before[b] = {a: None}
            else:
                earlier[a] = None
        return before

    def put(self, a: int, b: int) -> None:
        """Add a pair."""
        self._to_change()
        if self._support is not None and not (a in self.after and b in self.before):
            self._support = self._support[0] | 1 << a, self._support[1] | 1 << b
        self.after.setdefault(a, set()).add(b)
        self.before.setdefault(b, {})[a] = None

    def drop(self, a: int, b: int) -> None:
        """Take a pair away; it must be there."""
        self._to_change()
        self.after[a].remove(b)
        del self.before[b][a]
        for table, key in ((self.after, a), (self.before, b)):
            if not table[key]:
                del table[key]
        self._support = None

    def _to_change(self) -> None:
        """Keep sets from now on, both of them."""
        if self._columns is not None:
            _ = self.after, self.before
            self._columns = None

    def stated(self) -> Iterable[tuple[int, int]]:
        """Every pair; those with one second end in the order in which they were put."""
        if self._columns is not None:
            return zip(*self._columns, strict=True)
        return ((a, b) for b, earlier in self.before.items() for a in earlier)

    def row(self, a: int) -> int:
        return row_of(self.after.get(a))

    def col(self, b: int) -> int:
        return row_of(self.before.get(b))

    def all_rows(self, width: int, forwards: bool) -> list[int]:
        rows = [0] * width
        lefts, rights = self._columns or [*zip(*self.stated(), strict=True)] or ((), ())
        one = singles(width) if width <= tuning.ONES_UP_TO else None
        for a, b in zip(lefts, rights, strict=True) if forwards else zip(rights, lefts, strict=True):
            rows[a] |= one[b] if one else 1 << b
        return rows

    def holds(self, a: int, b: int) -> bool:
        return b in self.after.get(a, ())

    def support(self) -> tuple[int, int]:
        if self._support is None:
            lefts, rights = self._columns or (self.after, self.before)
            self._support = row_of(set(lefts)), row_of(set(rights))
        return self._support


class GivenRelation(PairRelation):
    """`given a R b` for one R: external correspondences as stated, and the compressed givens.

    `chain` (for `<`) lists the internal events in order; all its pairs are given. Token groups (for `<>`) and
    clocks are symmetric where the relation is. Cost: as `PairRelation`, and for clocks as `ClockRows`; a row
    of the chain or of a token is linear in it.
    """

    def __init__(
        self,
        relation: Relation,
        clocks: ClockRows | None,
        chain: list[int],
        groups: list[list[int]],
        stated: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> None:
        super().__init__(*stated)
        self.relation = relation
        self._clocks = clocks = clocks if relation is not Relation.RELATED else None
        if clocks is not None:
            self._by_clocks = {
                Relation.BEFORE: (clocks.future, clocks.past),
                Relation.NOT_BEFORE: (clocks.missed, clocks.unseen),
            }.get(relation, (clocks.concurrent, clocks.concurrent))
        self._chain = chain if relation is Relation.BEFORE else []
        self._rank = {at: rank for rank, at in enumerate(self._chain)}
        self._groups: dict[int, list[int]] = {}
        self._more = relation is Relation.BEFORE or self._clocks is not None or bool(groups)
        for group in groups if relation is Relation.RELATED else ():
            row = row_of(group)
            for at in group:
                self._groups.setdefault(at, []).append(row & ~(1 << at))
        self.compressed = len(self._chain) > 2 or clocks is not None or bool(self._groups)
        """Whether pairs are given beyond those of the cover."""

    def append(self, at: int) -> None:
        """Lengthen the chain."""
        self._rank[at] = len(self._chain)
        self._chain.append(at)
        self.compressed = self.compressed or len(self._chain) > 2

    def last(self) -> int | None:
        """The last event of the chain."""
        return self._chain[-1] if self._chain else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The cover of a `<` relation: pairs whose transitive closure is that of all its pairs.

        Those that lead to the same event come in the order in which they were stated.
        """
        by_clocks = () if self._clocks is None else self._clocks.cover()
        stated = self.stated() if self._columns is None else zip(*self._columns, strict=True)
        return chain(stated, pairwise(self._chain), by_clocks)

    @cached_property
    def ascends(self) -> bool:
        """Whether nothing is given but pairs that lead upwards, stated or by right clocks: no cycle is."""
        if self.rightly_clocked:
            return True
        stated = None if self.compressed or self._chain else self._columns
        return stated is not None and all(map(lt, *stated))

    def way(self, a: int, b: int) -> list[int] | None:
        """A shortest chain of pairs, which ascend, between two positions, both included; None where none is.

        Cost: that of `shortest_way`; of right clocks, which give all pairs, a comparison.
        """
        if self.rightly_clocked:
            return [a, b] if self.covers(a, b) else None
        lefts, rights = self._columns or ((), ())
        return shortest_way(lefts, rights, a, b)

    def labels(self, size: int) -> ChainCover | None:
        """The labels of the cover, where nothing but right clocks is given; None where they are not known."""
        return self._clocks.labels(size) if self._clocks is not None and self.rightly_clocked else None

    @property
    def rightly_clocked(self) -> bool:
        """Whether this is `<`, and nothing is given but clocks that are right."""
        right = self._clocks is not None and self._clocks.are_right and self.relation is Relation.BEFORE
        return right and not self._chain and next(iter(self.stated()), None) is None

    def all_rows(self, width: int, forwards: bool) -> list[int]:
        if self._more:
            return [*map(self.row if forwards else self.col, range(width))]
        return super().all_rows(width, forwards)

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
        row = row_of(self.after.get(a))
        return row | self._compressed_row(a, 0) if self._more else row

    def col(self, b: int) -> int:
        row = row_of(self.before.get(b))
        return row | self._compressed_row(b, 1) if self._more else row

    def _compressed_row(self, at: int, end: int) -> int:
        """What the compressed givens alone have in the row (end 0) or the column of an event."""
        row = 0 if self._clocks is None else self._by_clocks[end](at)
        if (rank := self._rank.get(at)) is not None:
            row |= row_of(self._chain[:rank] if end else self._chain[rank + 1 :])
        for group in self._groups.get(at, ()):
            row |= group
        return row

    def holds(self, a: int, b: int) -> bool:
        if super().holds(a, b) or self.covers(a, b):
            return True
        return any(group >> b & 1 for group in self._groups.get(a, ()))

    def support(self) -> tuple[int, int]:
        rows, cols = super().support()
        if not (self._chain or self._groups or self._clocks is not None):
            return rows, cols
        compressed = row_of(self._chain) | row_of(self._groups)
        if self._clocks is not None:
            compressed |= self._clocks.support()
        return rows | compressed, cols | compressed
