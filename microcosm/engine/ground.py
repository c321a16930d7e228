"""The ground that rules stand on: events as positions, and what is given and predicated of them.

Positions are near to causal order, in which rows are short. Nothing is expanded, and what is seldom asked for
(stamps, base predicates, who names an event) is made when it is. So is whose event each position is, which
chain-cover labels ask for: a hint and never a judgement, for events of one process are put on one chain only
where a given links them.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain as joined
from itertools import compress, count, islice, repeat
from operator import attrgetter, lt
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.relations import GivenRelation, KeysOf, PairRelation, RowRelation, Sharing
from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.facts import COMPLETE, STAMPED_OUT
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.bits import row_of
from microcosm.order.clock_order import ClockColumnRows, ClockRows
from microcosm.order.happens_before import causal_order
from microcosm.order.order import BaseTables, base_facts
from microcosm.worlds.constraints import StampOrder

Columns = tuple[Sequence[int], Sequence[int]]
"""The left ends and the right ends of some pairs."""

Placed = tuple[list[str], Sequence[int]]
"""Names, and the position of each."""


class NumberedEvents(NamedTuple):
    """The named events in the order of their positions, and what is stated of them by their positions.

    `placed` are the names as the givens list them, where that is another order.
    """

    names: list[str]
    stated: dict[Relation, Columns]
    placed: Placed = ([], [])


def numbered(givens: Givens, first: int = 0) -> NumberedEvents:
    """The named events in an order near to causal order, the first at position `first`.

    Any order is right; this one costs linear time: as stated where that is causal already, but for events
    that nothing is stated to come before, which then come first; by the sum of the vector time for a log of
    clocks; else some order that the stated `<` allow.

    >>> from microcosm.givens.relation import Correspondence
    >>> givens = Givens()
    >>> givens.add(Correspondence("b", Relation.BEFORE, "c"))
    >>> givens.add(Correspondence("a", Relation.BEFORE, "b"))
    >>> found = numbered(givens); found.names, [*map(list, found.stated[Relation.BEFORE])]
    (['a', 'b', 'c'], [[1, 0], [2, 1]])
    """
    order: Sequence[int]
    stated: dict[Relation, Columns]
    links = givens.order_columns
    if links is not None and not (givens.internal or givens.refuted or givens.clocks):
        # The names of the links come first, as they are numbered already.
        names = givens.listed()
        order = _causal(len(names), links.lefts, links.rights)
        return _in_order(names, order, {Relation.BEFORE: (links.lefts, links.rights)}, first)
    if isinstance(givens.clocks, ClockColumns) and givens.rightly_clocked:
        return _in_order([*givens.clocks.names], givens.clocks.along(), {}, first)
    position = givens.numbers()
    stated = {}
    if links is not None:
        place = [*map(position.__getitem__, links.names)].__getitem__
        stated[Relation.BEFORE] = [*map(place, links.lefts)], [*map(place, links.rights)]
    for relation, (lefts, rights) in givens.by_relation().items():
        stated[relation] = [*map(position.__getitem__, lefts)], [*map(position.__getitem__, rights)]
    if givens.clocks:
        times = {position[event]: sum(clock.entries.values()) for event, clock in givens.clocks.items()}
        order = sorted(position.values(), key=lambda at: times.get(at, 0))
    else:
        chained = [*map(position.__getitem__, givens.internal)]
        before = stated.get(Relation.BEFORE, ((), ()))
        pairs = [*before[0], *chained[:-1]], [*before[1], *chained[1:]]
        order = _causal(len(position), *pairs)
    return _in_order([*position], order, stated, first)


def _in_order(
    names: list[str], order: Sequence[int], stated: dict[Relation, Columns], first: int
) -> NumberedEvents:
    """The events `names` and what is `stated` of them by their places there, numbered from `first` along an
    order of these places.
    """
    # Very many numbers are kept close together.
    column: Callable[[Iterable[int]], list[int] | array[int]]
    column = list if len(order) <= tuning.COLUMNS_FROM else partial(array, "q")
    placed: Placed = [], []
    if order == range(len(names)):
        place = first.__add__
    else:
        places = column([0]) * len(order)  # looked up here and there
        deque(map(places.__setitem__, order, count(first)), maxlen=0)
        place, placed = places.__getitem__, (names, places)
        names = [*map(names.__getitem__, order)]
    moved: dict[Relation, Columns] = {
        relation: (column(map(place, lefts)), column(map(place, rights)))
        for relation, (lefts, rights) in stated.items()
    }
    return NumberedEvents(names, moved, placed)


def _causal(size: int, lefts: Sequence[int], rights: Sequence[int]) -> Sequence[int]:
    """An order of so many places in which few pairs lead downwards; none where that can be."""
    as_stated = range(size)
    if all(map(lt, lefts, rights)):
        return as_stated
    first_link = array("q", [-1]) * size  # the first link to lead to each place
    deque(map(first_link.__setitem__, reversed(rights), range(len(rights) - 1, -1, -1)), maxlen=0)
    if all(map(lt, map(first_link.__getitem__, lefts), map(first_link.__getitem__, rights))):
        return [*(at for at in as_stated if first_link[at] < 0), *dict.fromkeys(rights)]
    return causal_order(size, lefts, rights) or as_stated


class Universe:
    """Positions for event names, from `OUTSIDERS` on in the order given; a new name takes the next position.

    `placed` are names that are asked for in this order, and the positions that they have.

    `named` is the set of all positions in use, `members` those of the events in M. The first two positions
    are for `OUTSIDERS`: events that a question names and no given does. `vacant` are the positions that were
    named once and are not now. Cost: a look-up a name; of very many names the first ones that are asked for
    are looked for in a pass each, a tenth of the price of a dictionary of all.

    >>> universe = Universe(["a", "b"]); universe.find("b"), universe.find("c"), universe.position
    (3, -1, {'a': 2, 'b': 3})
    """

    OUTSIDERS = 2

    def __init__(self, names: Sequence[str], placed: Placed = ([], [])) -> None:
        self.names = ["", "", *names]
        few = len(names) <= tuning.COLUMNS_FROM
        self.found: dict[str, int] = dict(zip(names, count(self.OUTSIDERS), strict=False)) if few else {}
        """The positions of the names that were asked for so far, or of all."""
        self._in_order = few  # whether they are all, and in the order of their positions
        self._passes = tuning.PASSES
        self._placed = placed
        self.named = (1 << len(self.names)) - (1 << self.OUTSIDERS)
        self.members = 0
        self.vacant: set[int] = set()

    @classmethod
    def of(cls, givens: Givens) -> Universe:
        """The positions of the named events, as `numbered`."""
        found = numbered(givens, cls.OUTSIDERS)
        return cls(found.names, found.placed)

    @property
    def position(self) -> dict[str, int]:
        """The position of every name, in their order. Cost: linear, the first time."""
        if not self._in_order:
            names = islice(self.names, self.OUTSIDERS, None)
            self.found = dict(zip(names, count(self.OUTSIDERS), strict=False))
            self._in_order = True
        return self.found

    def find(self, name: str) -> int:
        """The position of a name, -1 where it has none. Cost: a look-up, or a pass."""
        at = self.found.get(name)
        if at is None and self._passes and not self._in_order:
            self._passes -= 1
            with suppress(ValueError):
                at = self.found[name] = self.names.index(name, self.OUTSIDERS)
        elif at is None:
            at = self.position.get(name)
        return -1 if at is None else at

    def at(self, name: str) -> int:
        """The position of a name, a new one if need be."""
        at = self.found.get(name)
        if at is None:
            position = self.position
            at = position.get(name)
            if at is None:
                at = position[name] = len(self.names)
                self.names.append(name)
                self.named |= 1 << at
        return at

    def places(self, names: Iterable[str]) -> Iterable[int]:
        """The positions of names that are in use."""
        listed, places = self._placed
        if isinstance(names, list):
            many = len(names)
            if self.names[self.OUTSIDERS : self.OUTSIDERS + many] == names:
                return range(self.OUTSIDERS, self.OUTSIDERS + many)
            if listed[:many] == names:
                return places[:many]
        return map(self.position.__getitem__, names)

    def __len__(self) -> int:
        return len(self.names)


NO_CLOCKS = ClockRows({}, {})


class Ground:
    """The universe and the given relations of one `Givens`, kept up to date under small changes.

    Of the givens nothing but external and refuted correspondences and the internal chain may change, each
    told by `put`, `drop` or `append`. Cost: linear to build; a change, constant.
    """

    RELATIONS = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE)

    def __init__(self, givens: Givens) -> None:
        found = numbered(givens, Universe.OUTSIDERS)
        self._givens = givens
        self.universe = universe = Universe(found.names, found.placed)
        clocks: ClockRows | None = None
        if isinstance(givens.clocks, ClockColumns):
            clocks = ClockColumnRows(givens.clocks, universe.places(givens.clocks.names))
        elif givens.clocks:
            clocks = ClockRows(givens.clocks, universe.position)
        self.clocks = clocks or NO_CLOCKS
        chain = [*universe.places(givens.internal)]
        groups = [[*universe.places(group)] for group in givens.tokens.values()]
        self._stated: dict[Relation, Columns] = dict.fromkeys(self.RELATIONS, ((), ())) | found.stated
        self.given = {
            r: GivenRelation(r, clocks, list(chain), groups, self._stated[r]) for r in self.RELATIONS
        }
        # Compressed givens hold their events in M, stamps and messages among the named, until the ground is
        # built anew.
        self._in_m = row_of([*chain, *joined.from_iterable(groups)]) | (clocks.support() if clocks else 0)
        others = {Relation.CONCURRENT: givens.clocks, Relation.RELATED: givens.tokens}
        self.unstated = frozenset([r for r, more in others.items() if not (self._stated[r][0] or more)])
        """Those of `||` and `<>` that nothing was given of at first: most logs state `<` only."""
        links = givens.order_columns  # in which each of its names is
        all_linked = links is not None and len(links.names) == len(found.names)
        if all_linked or not (
            givens.stamps or givens.refuted or any(True for _ in givens.events_with_process())
        ):
            universe.members = universe.named
        else:
            universe.members = self._in_m | self._row_of_stated()
        self._subsets: dict[str, int] = {}
        self._pairs: dict[str, RowRelation] = {}

    @cached_property
    def stamps(self) -> StampOrder:
        """What the stamps rule out."""
        stamps = self._givens.stamps
        return StampOrder(
            dict(zip(self.universe.places(stamps), stamps.values(), strict=True)) if stamps else {}
        )

    @cached_property
    def _base(self) -> BaseTables:
        return base_facts(self._givens)

    @cached_property
    def _complete(self) -> Sharing:
        """`complete(a, b)`: the log is stated to tell all of two events, for they share a key."""
        position = self.universe.position

        def keys() -> tuple[KeysOf, KeysOf]:
            one, other = self._base.shared(COMPLETE)
            placed = [{position[event]: own for event, own in side.items()} for side in (one, other)]
            return placed[0], placed[1]

        return Sharing(keys)

    def subset(self, name: str) -> int:
        """The events of a base predicate of one event. Raises `RuleError` for an unknown name."""
        if name not in self._subsets:
            self._subsets[name] = row_of(self.universe.position[event] for (event,) in self._base[name])
        return self._subsets[name]

    def pairs(self, name: str) -> RowRelation:
        """A base predicate of two events. Raises `RuleError` for an unknown name."""
        if name == STAMPED_OUT:
            return self.stamps
        if name == COMPLETE:
            return self._complete
        if name not in self._pairs:
            position = self.universe.position
            facts = [*self._base[name]]
            self._pairs[name] = PairRelation([position[a] for a, _ in facts], [position[b] for _, b in facts])
        return self._pairs[name]

    def put(self, fact: Correspondence) -> tuple[int, int]:
        """Add an external or refuted correspondence that was not given; the positions of its ends."""
        a, b = self.universe.at(fact.left), self.universe.at(fact.right)
        self._change()
        self.given[fact.relation].put(a, b)
        self._use(fact, a, b, 1)
        return a, b

    def drop(self, fact: Correspondence) -> tuple[int, int]:
        """Take away an external or refuted correspondence, as it was put; events may leave M. Its ends."""
        a, b = self.universe.position[fact.left], self.universe.position[fact.right]
        self._change()
        self.given[fact.relation].drop(a, b)
        self._use(fact, a, b, -1)
        return a, b

    def _change(self) -> None:
        """Forget what a complete log tells: that rests on what is ordered, and on which events there are."""
        if self._givens.complete:
            self._complete.forget()
            self.__dict__.pop("_base", None)

    def append(self, event: str) -> None:
        """Make an event the last of the internal chain."""
        at = self.universe.at(event)
        self._change()
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
        others = joined(self._givens.stamps, self._givens.events_with_process())
        return row_of(map(self.universe.position.__getitem__, others))

    def _row_of_stated(self) -> int:
        """The events that external correspondences name."""
        external = [pair for relation, pair in self._stated.items() if relation is not Relation.NOT_BEFORE]
        named = bytearray(len(self.universe.names))
        deque(
            map(named.__setitem__, joined.from_iterable(joined.from_iterable(external)), repeat(1)), maxlen=0
        )
        return row_of(compress(count(), named))

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


_whose = attrgetter("process")

INTERNAL = object()
"""The process of the internal chain."""


class Processes:
    """The process of a position: of the internal chain, of a clock, of a message, of an id `process:seq`.

    Cost: linear to make; a look-up a position.

    >>> from microcosm.givens.columns import Message
    >>> universe = Universe(["phone:12", "shop/phone:7", "upload", "a:b", "sent"])
    >>> processes = Processes(Givens(messages=[Message("send", "sent", "m1", "phone")]), universe)
    >>> [processes(at) for at in universe.position.values()]
    ['phone', 'shop/phone', None, None, 'phone']
    >>> processes.of_all(4)
    [None, None, 'phone', 'shop/phone']
    """

    def __init__(self, givens: Givens, universe: Universe) -> None:
        self._universe = universe
        self._stated: list[Hashable] = [None] * len(universe)
        for events, processes in givens.process_columns():
            self._state(events, processes)
        clocks = givens.clocks
        if isinstance(clocks, ClockColumns):
            self._state(clocks.names, map(clocks.processes.__getitem__, clocks.owners))
        elif clocks:
            self._state(clocks, map(_whose, clocks.values()))
        self.add(givens.internal)

    def add(self, events: Iterable[str]) -> None:
        """These are events of the internal chain."""
        self._stated += [None] * (len(self._universe) - len(self._stated))
        self._state(events, repeat(INTERNAL))

    def of_all(self, size: int) -> list[Hashable]:
        """The processes of all positions below `size`."""
        found = self._stated[:size]
        found += [None] * (size - len(found))
        names = self._universe.names
        for at in [at for at, process in enumerate(found) if process is None and ":" in names[at]]:
            found[at] = self._by_name(at)
        return found

    def __call__(self, position: int) -> Hashable:
        """The process, None where nothing says."""
        stated = self._stated[position] if position < len(self._stated) else None
        return self._by_name(position) if stated is None else stated

    def _state(self, events: Iterable[str], processes: Iterable[Hashable]) -> None:
        deque(map(self._stated.__setitem__, self._universe.places(events), processes), maxlen=0)

    def _by_name(self, position: int) -> str | None:
        process, _, seq = self._universe.names[position].rpartition(":")
        return process if process and seq.isdecimal() else None
