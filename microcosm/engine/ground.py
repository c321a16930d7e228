"""The ground that rules stand on: events as positions, givens and base predicates as bit relations.

Every relation in the engine answers the same four questions (`RowRelation`); the given ones
(`microcosm.engine.relations`) from pairs and from compressed givens.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from itertools import chain as joined
from itertools import compress, count, repeat
from typing import Protocol

from microcosm.engine.numbering import Columns, Numbered
from microcosm.engine.relations import GivenRelation, Pairs, row_of
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.predicates import STAMPED_OUT
from microcosm.givens.relation import Relation
from microcosm.order.clock_order import ClockRows
from microcosm.order.stamps import StampOrder


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
    """Positions for event names, from `OUTSIDERS` on in the order given; a new name takes the next position.

    `named` is the set of all positions in use, `members` those of the events in M. The first two
    positions are for `OUTSIDERS`: events that a question names and no given does. `vacant` are the
    positions that were named once and are not now.
    """

    OUTSIDERS = 2

    def __init__(self, position: dict[str, int]) -> None:
        self.names = ["", "", *position]
        self.position = position
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

    def places(self, names: Iterable[str]) -> Iterable[int]:
        """The positions of names that are in use."""
        if isinstance(names, list) and self.names[self.OUTSIDERS : self.OUTSIDERS + len(names)] == names:
            return range(self.OUTSIDERS, self.OUTSIDERS + len(names))
        return map(self.position.__getitem__, names)

    def __len__(self) -> int:
        return len(self.names)


class Ground:
    """The universe and the given relations of one `Givens`, kept up to date under small changes.

    `numbered` are all named events in the order of their positions; `base` the base predicates' facts.
    """

    RELATIONS = (
        Relation.BEFORE,
        Relation.CONCURRENT,
        Relation.RELATED,
        Relation.NOT_BEFORE,
    )

    def __init__(self, givens: Givens, base: Mapping[str, Set[tuple[str, ...]]], numbered: Numbered) -> None:
        self.universe = universe = Universe(numbered.position)
        position = universe.position
        self.clocks = clocks = ClockRows(givens.clocks, position)
        chain = [position[event] for event in givens.internal]
        groups = [[position[event] for event in group] for group in givens.tokens.values()]
        self._stated: dict[Relation, Columns] = dict.fromkeys(self.RELATIONS, ((), ())) | numbered.stated
        self.given = {
            r: GivenRelation(r, clocks, list(chain), groups, self._stated[r]) for r in self.RELATIONS
        }
        # Compressed givens hold their events in M, stamps and messages among the named, until the ground is
        # built anew.
        self._in_m = row_of(chain) | clocks.support() | row_of(at for group in groups for at in group)
        self._other = joined((*givens.stamps,), givens.tellers())
        links = givens.links  # in which each of its names is
        all_linked = links is not None and len(links.names) == len(position)
        universe.members = universe.named if all_linked else self._in_m | self._row_of_stated()
        self._base = base
        self.stamps = StampOrder({position[event]: stamp for event, stamp in givens.stamps.items()})
        self._subsets: dict[str, int] = {}
        self._pairs: dict[str, RowRelation] = {}

    def subset(self, name: str) -> int:
        """The events of a base predicate of one event. Raises `RuleError` for an unknown name."""
        if name not in self._subsets:
            self._subsets[name] = row_of(self.universe.position[event] for (event,) in self._base[name])
        return self._subsets[name]

    def pairs(self, name: str) -> RowRelation:
        """A base predicate of two events. Raises `RuleError` for an unknown name."""
        if name == STAMPED_OUT:
            return self.stamps
        if name not in self._pairs:
            position = self.universe.position
            facts = [*self._base[name]]
            self._pairs[name] = Pairs([position[a] for a, _ in facts], [position[b] for _, b in facts])
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

    @cached_property
    def _uses(self) -> tuple[Counter[int], Counter[int]]:
        """How many external, and how many refuted, correspondences name an event."""
        members, mentions = Counter[int](), Counter[int]()
        for relation, columns in self._stated.items():
            for column in columns:
                (mentions if relation is Relation.NOT_BEFORE else members).update(column)
        self._stated.clear()
        return members, mentions

    @cached_property
    def _in_name(self) -> int:
        """The events of stamps and messages."""
        return row_of(map(self.universe.position.__getitem__, self._other))

    def _row_of_stated(self) -> int:
        """The events that external correspondences name."""
        external = [pair for relation, pair in self._stated.items() if relation is not Relation.NOT_BEFORE]
        named = bytearray(len(self.universe))
        deque(
            map(named.__setitem__, joined.from_iterable(joined.from_iterable(external)), repeat(1)), maxlen=0
        )
        everything = named.count(1) == len(self.universe.position)
        return self.universe.named if everything else row_of(compress(count(), named))

    def _use(self, fact: Correspondence, a: int, b: int, change: int) -> None:
        uses = self._uses[fact.relation is Relation.NOT_BEFORE]
        for at in (a, b):
            count = uses[at] = uses.get(at, 0) + change
            if count <= 1:  # else it was named before, and still is
                self._enroll(at)

    def _enroll(self, at: int) -> None:
        universe, bit = self.universe, 1 << at
        members, mentions = self._uses
        member = self._in_m & bit or members[at]
        universe.members = universe.members | bit if member else universe.members & ~bit
        named = member or self._in_name & bit or mentions[at]
        universe.named = universe.named | bit if named else universe.named & ~bit
        (universe.vacant.discard if named else universe.vacant.add)(at)

    def _relation(self, relation: Relation) -> GivenRelation:
        return self.given[relation]
