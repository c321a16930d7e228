"""The ground that rules stand on: events as positions, givens and base predicates as bit relations.

Every relation in the engine answers the same four questions (`RowRelation`); the relations of this file
answer them from the givens, compressed givens (the internal chain, clocks, tokens) included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain as joined
from typing import Protocol

from microcosm.relations.base import STAMPED_OUT
from microcosm.relations.bits import from_positions
from microcosm.relations.clock_rows import ClockRows
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation
from microcosm.relations.stamps import StampOrder


class RowRelation(Protocol):
    """A binary relation over positions."""

    def row(self, a: int) -> int:
        """The set of all b with `a R b`."""

    def col(self, b: int) -> int:
        """The set of all a with `a R b`."""

    def holds(self, a: int, b: int) -> bool:
        """Whether `a R b`."""

    def support(self) -> tuple[int, int]:
        """Sets that contain every a with a non-empty row, and every b with a non-empty column."""


class Empty:
    """The relation that holds nowhere."""

    def row(self, a: int) -> int:
        return 0

    def col(self, b: int) -> int:
        return 0

    def holds(self, a: int, b: int) -> bool:
        return False

    def support(self) -> tuple[int, int]:
        return 0, 0


class Universe:
    """Positions for event names, in the order given; a new name takes the next position.

    `named` is the set of all positions in use, `members` those of the events in M. The first two
    positions are for `OUTSIDERS`: events that a question names and no given does. `vacant` are the
    positions that were named once and are not now.
    """

    OUTSIDERS = 2

    def __init__(self, names: Iterable[str]) -> None:
        self.names = ["", "", *names]
        self.position = {name: at for at, name in enumerate(self.names) if at >= self.OUTSIDERS}
        self.named = (1 << len(self.names)) - (1 << self.OUTSIDERS)
        self.members = 0
        self.vacant: set[int] = set()

    def at(self, name: str) -> int:
        """The position of a name, a new one if need be."""
        position = self.position.get(name)
        if position is None:
            position = self.position[name] = len(self.names)
            self.names.append(name)
            self.named |= 1 << position
        return position

    def __len__(self) -> int:
        return len(self.names)


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
        return _row(self.after.get(a))

    def col(self, b: int) -> int:
        return _row(self.before.get(b))

    def holds(self, a: int, b: int) -> bool:
        return b in self.after.get(a, ())

    def support(self) -> tuple[int, int]:
        if self._support is None:
            self._support = _row(self.after.keys()), _row(self.before.keys())
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
            row = _row(group)
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
            row |= _row(self._chain[self._rank[a] + 1 :])
        if self._clocks:
            row |= self._by_clocks[0](a)
        for group in self._groups.get(a, ()):
            row |= group
        return row

    def col(self, b: int) -> int:
        row = super().col(b)
        if b in self._rank:
            row |= _row(self._chain[: self._rank[b]])
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
        compressed = _row(self._chain) | _row(self._groups)
        if self._clocks:
            compressed |= self._clocks.support()
        return rows | compressed, cols | compressed


class Ground:
    """The universe and the given relations of one `Givens`, kept up to date under small changes.

    `names` are all named events in the order of their positions; `base` the base predicates' facts.
    """

    RELATIONS = (
        Relation.BEFORE,
        Relation.CONCURRENT,
        Relation.RELATED,
        Relation.NOT_BEFORE,
    )

    def __init__(
        self, givens: Givens, base: Mapping[str, Set[tuple[str, ...]]], names: Iterable[str]
    ) -> None:
        self.universe = universe = Universe(names)
        position = universe.position
        self.clocks = clocks = ClockRows(givens.clocks, position)
        chain = [position[event] for event in givens.internal]
        groups = [[position[event] for event in group] for group in givens.tokens.values()]
        self.given = {r: GivenRelation(r, clocks, list(chain), groups) for r in self.RELATIONS}
        # How many external (refuted) correspondences name an event. Compressed givens hold theirs in M,
        # stamps and messages among the named, until the ground is built anew.
        self._members, self._mentions = Counter[int](), Counter[int]()
        for facts, uses in ((givens.external, self._members), (givens.refuted, self._mentions)):
            stated: dict[Relation, list[tuple[int, int]]] = {relation: [] for relation in self.RELATIONS}
            for fact in facts.values():
                stated[fact.relation].append((position[fact.left], position[fact.right]))
            for relation, pairs in stated.items():
                self.given[relation].put_all(pairs)
                uses.update(joined.from_iterable(pairs))
        self._in_m = _row(chain) | clocks.support() | _row(at for group in groups for at in group)
        self._in_name = _row(position[event] for event in givens.stamps)
        self._in_name |= _row(position[message.event] for message in givens.messages)
        universe.members = self._in_m | _row(self._members)
        self._base = base
        self.stamps = StampOrder({position[event]: stamp for event, stamp in givens.stamps.items()})
        self._subsets: dict[str, int] = {}
        self._pairs: dict[str, RowRelation] = {}

    def subset(self, name: str) -> int:
        """The events of a base predicate of one event. Raises `RuleError` for an unknown name."""
        if name not in self._subsets:
            self._subsets[name] = _row(self.universe.position[event] for (event,) in self._base[name])
        return self._subsets[name]

    def pairs(self, name: str) -> RowRelation:
        """A base predicate of two events. Raises `RuleError` for an unknown name."""
        if name == STAMPED_OUT:
            return self.stamps
        if name not in self._pairs:
            position = self.universe.position
            self._pairs[name] = Pairs((position[a], position[b]) for a, b in self._base[name])
        return self._pairs[name]

    def put(self, fact: Correspondence) -> None:
        """Add an external or refuted correspondence that was not given."""
        a, b = self.universe.at(fact.left), self.universe.at(fact.right)
        self._relation(fact.relation).put(a, b)
        self._use(fact, a, b, 1)

    def drop(self, fact: Correspondence) -> None:
        """Take away an external or refuted correspondence, as it was put; events may leave M."""
        a, b = self.universe.position[fact.left], self.universe.position[fact.right]
        self._relation(fact.relation).drop(a, b)
        self._use(fact, a, b, -1)

    def append(self, event: str) -> None:
        """Make an event the last of the internal chain."""
        at = self.universe.at(event)
        self.given[Relation.BEFORE].append(at)
        self._in_m |= 1 << at
        self._enroll(at)

    def _uses(self, fact: Correspondence) -> Counter[int]:
        return self._mentions if fact.relation is Relation.NOT_BEFORE else self._members

    def _use(self, fact: Correspondence, a: int, b: int, change: int) -> None:
        for at in (a, b):
            self._uses(fact)[at] += change
            self._enroll(at)

    def _enroll(self, at: int) -> None:
        universe, bit = self.universe, 1 << at
        member = self._in_m & bit or self._members[at]
        universe.members = universe.members | bit if member else universe.members & ~bit
        named = member or self._in_name & bit or self._mentions[at]
        universe.named = universe.named | bit if named else universe.named & ~bit
        (universe.vacant.discard if named else universe.vacant.add)(at)

    def _relation(self, relation: Relation) -> GivenRelation:
        return self.given[relation]


def _row(positions: Iterable[int] | None) -> int:
    if not positions:
        return 0
    listed = list(positions)
    if len(listed) <= 8:
        row = 0
        for at in listed:
            row |= 1 << at
        return row
    return from_positions(listed, max(listed) + 1)
