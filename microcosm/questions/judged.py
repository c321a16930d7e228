"""What is possible of the pairs of some events, as rows of bits: the offline judgements that atoms are
decided by.

A *frame* is a list of events; of one more event it says whether it may be before, after or beside each of
these. Where only one of the three is left it is derived, and what is not left is refuted. There are three
ways to know: a table of what propagation leaves (any givens, up to `tuning.ROWS_UP_TO` events); the rules
themselves, where they are edited or tell of message orderings; and happens-before alone, where nothing but
`<` is given: there a log that is stated to be complete orders all that is ordered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from microcosm import tuning
from microcosm.engine.engine import Engine
from microcosm.engine.ground import Processes
from microcosm.engine.lowering import online
from microcosm.engine.prove import Prover
from microcosm.errors import Undefined
from microcosm.givens.facts import covered, ports
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits, from_positions, transposed
from microcosm.order.chain_cover import UNPLACED, LabelArrays
from microcosm.order.labels import Labels
from microcosm.order.order import Closure, labelled, lacking, reached
from microcosm.queries.offline import Decisions, Inconsistent, are_shipped
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.possible import Possibilities
from microcosm.worlds.search import Stop

MANY = 512
"""In a frame of so many events columns of labels come from arrays, where numpy is there."""


class Possible(NamedTuple):
    """Of one event, rows over a frame: where it may be before the other, after it, beside it, or is it."""

    before: int
    after: int
    concurrent: int
    same: int

    def decided(self, relation: Relation | None, every: int) -> tuple[int, int]:
        """Where `it R other` is derived, and where it is refuted; None: that they are one event."""
        before, after, concurrent, same = self
        match relation:
            case Relation.BEFORE:
                return before & ~(after | concurrent), every & ~before
            case Relation.AFTER:
                return after & ~(before | concurrent), every & ~after
            case Relation.CONCURRENT:
                return concurrent & ~(before | after), every & ~concurrent
            case Relation.RELATED:
                return (before | after) & ~concurrent, every & ~(before | after)
        return same, every & ~same


class Told(NamedTuple):
    """The positions of events that a log tells all of: two that nothing orders are concurrent, unless
    something that it does not tell may lead away from the one and to the other.
    """

    events: frozenset[int]
    leaving: frozenset[int] = frozenset()
    entered: frozenset[int] = frozenset()

    def beside(self, place: int, rows: Sequence[int]) -> int:
        """Those that are concurrent with one if nothing orders the two; `rows` are the three as rows."""
        if place not in self.events:
            return 0
        told, leaving, entered = rows
        return told & ~(entered if place in self.leaving else 0) & ~(leaving if place in self.entered else 0)


class Judgements:
    """What is known of the pairs of events of one log; an event is its place in `names`.

    Raises `Undefined` where no world fits. Cost: that of the table, once; of a frame one pass over it; of a
    question some operations on rows of its length.
    """

    def __init__(
        self, engine: Engine, givens: Givens, names: Sequence[str], stop: Stop | None = None
    ) -> None:
        self.engine, self.givens, self.names = engine, givens, names
        at = engine.universe.position
        self.places = [at.get(name, -1) for name in names]
        """The engine's position of each event; -1: nothing is given of it."""
        self.partial = False
        """Whether more may be derivable than is looked at, because the log is long."""
        self._closed = engine.memo.judged(online(Relation.BEFORE))
        self._rows = self._made(stop)

    def frame(self, events: Sequence[int]) -> Frame:
        """A frame of some events, which may repeat."""
        labels = self.labels
        if labels is not None:
            return _LabelFrame(self, labels, events)
        return _TableFrame(self._rows or self._ordered, events)

    def before(self, a: int, b: int) -> bool:
        """Whether `a < b` is derived. Cost: some bit tests, mostly."""
        if self._rows is not None:
            return bool(self.frame((b,)).possible(a).decided(Relation.BEFORE, 1)[0])
        x, y = self.places[a], self.places[b]
        return x >= 0 and y >= 0 and x != y and self._closed.holds(x, y)

    @cached_property
    def labels(self) -> Labels | None:
        """Happens-before as labels, where it is all that is known, of many events on few chains."""
        closed = self._closed
        if self._rows is not None or not isinstance(closed, Closure):
            return None
        universe = self.engine.universe
        return labelled(closed.order, len(universe), lambda: Processes(self.givens, universe))

    @cached_property
    def arrays(self) -> LabelArrays | None:
        """The labels as arrays; None without numpy."""
        try:
            return None if self.labels is None else LabelArrays(self.labels.cover)
        except ImportError:
            return None

    @cached_property
    def told(self) -> Told:
        """Of which events the order is told: in a complete log, or by right clocks alone."""
        at, givens = self.engine.universe.position, self.givens
        if givens.rightly_clocked:
            return Told(frozenset(at[event] for event in givens.clocks))
        if not givens.complete or lacking(givens) is not None:
            return Told(frozenset())
        events = covered(givens)
        exits, entries = ports(givens, events)
        open_ends = reached(givens, exits, 1) & events, reached(givens, entries, 0) & events
        return Told(*(frozenset(map(at.__getitem__, some)) for some in (events, *open_ends)))

    # -- inside --------------------------------------------------------------------------------------------

    def _made(self, stop: Stop | None) -> _Rows | None:
        """The table of what is possible; None where the order says it all, or is all there is time for."""
        givens, shipped = self.givens, are_shipped(self.engine.rules)
        some = isinstance(givens.complete, tuple)  # what is concurrent then rules out orders of others
        if shipped and not some and _orders_alone(givens) and isinstance(self._closed, Closure):
            return None
        if len(self.names) > tuning.ROWS_UP_TO:
            self.partial = True
            return None
        if not shipped or givens.orderings:
            try:
                return self._by_rules(stop)
            except Inconsistent:
                raise Undefined(_NO_WORLD) from None
        place = givens.numbers()
        possibilities = Possibilities(constraints_of(givens, place, len(place)), stop=stop)
        few = possibilities.known.decides and len(place) <= tuning.ALL_TAKE_PART
        table = possibilities.table() if few else possibilities.propagated()
        if table is None:
            raise Undefined(_NO_WORLD)
        return _Rows([place.get(name, -1) for name in self.names], table.before, table.concurrent)

    def _by_rules(self, stop: Stop | None) -> _Rows:
        at = {name: place for place, name in enumerate(self.names)}
        decisions = Decisions(self.engine, self.givens, Prover(self.engine, self.givens))
        full = (1 << len(at)) - 1
        before, concurrent = [full] * len(at), [full] * len(at)
        for a, b, left in decisions.table(0, stop):
            if a in at and b in at and len(left) < 3:
                x, y = at[a], at[b]
                if Relation.BEFORE not in left:
                    before[x] &= ~(1 << y)
                if Relation.AFTER not in left:
                    before[y] &= ~(1 << x)
                if Relation.CONCURRENT not in left:
                    concurrent[x] &= ~(1 << y)
                    concurrent[y] &= ~(1 << x)
        return _Rows(list(range(len(at))), before, concurrent)

    @cached_property
    def _ordered(self) -> _Rows:
        """The table, where happens-before in rows says it all."""
        size = len(self.engine.universe)
        every, told = (1 << size) - 1, self.told
        rows = [from_positions(some, size) for some in told]
        before, concurrent = [0] * size, [0] * size
        for at in range(size):
            past, future = self._closed.col(at), self._closed.row(at)
            rest = every & ~(past | future | 1 << at)
            before[at] = future | (rest & ~told.beside(at, rows))
            concurrent[at] = rest
        return _Rows(self.places, before, concurrent)


_NO_WORLD = "no world fits all that is given: `check` tells why"


class _Rows:
    """The place of each event, below 0 where anything is possible; for each place rows of what may be."""

    def __init__(self, place: list[int], before: list[int], concurrent: list[int]) -> None:
        self.place, self.before, self.concurrent = place, before, concurrent

    @cached_property
    def after(self) -> list[int]:
        return transposed(self.before)


class Frame(ABC):
    """Some events, numbered as they were listed."""

    def __init__(self, events: Sequence[int]) -> None:
        self.events = events
        self._every = (1 << len(events)) - 1

    @abstractmethod
    def possible(self, event: int) -> Possible:
        """What is possible of an event and of each event of the frame."""

    def _same(self, event: int) -> int:
        """Where an event stands in the frame."""
        return sum(1 << at for at in self._standing.get(event, ()))

    @cached_property
    def _standing(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for at, event in enumerate(self.events):
            found.setdefault(event, []).append(at)
        return found


class _TableFrame(Frame):
    def __init__(self, rows: _Rows, events: Sequence[int]) -> None:
        super().__init__(events)
        self._rows, self._width = rows, len(rows.before)
        places = [rows.place[event] for event in events]
        self._strange = from_positions([at for at, p in enumerate(places) if p < 0], len(places))
        self._straight = len(places) == self._width and places == list(range(self._width))
        self._few = places if len(places) <= tuning.PICKED_ONE_BY_ONE else None
        turned = [self._width - 1 - max(place, 0) for place in reversed(places)]
        self._picked = itemgetter(*turned, *turned[:1]) if turned and self._width else None

    def possible(self, event: int) -> Possible:
        """As `Frame.possible`. Cost: some look-ups an event of the frame."""
        place, same = self._rows.place[event], self._same(event)
        others = self._every & ~same
        if place < 0:
            return Possible(others, others, others, same)
        strange, rows = self._strange & others, self._rows
        before, after, concurrent = (
            self._gathered(row[place]) & others | strange
            for row in (rows.before, rows.after, rows.concurrent)
        )
        return Possible(before, after, concurrent, same)

    def _gathered(self, row: int) -> int:
        """The bits of a row at the places of the frame, in its order."""
        if self._straight or not row or self._picked is None:
            return row if self._straight else 0
        if self._few is not None:
            return sum((row >> max(place, 0) & 1) << at for at, place in enumerate(self._few))
        bit = self._picked(format(row & (1 << self._width) - 1, f"0{self._width}b"))
        return int("".join(bit[:-1]), 2)


class _LabelFrame(Frame):
    """A frame over labels: its events chain by chain, so that a past is a prefix of each chain.

    Rows come out as they are where the events are listed chain by chain, as `arranged` lists them.
    """

    def __init__(self, judged: Judgements, labels: Labels, events: Sequence[int]) -> None:
        super().__init__(events)
        self._judged, self._labels = judged, labels
        chain, index = labels.cover.chain, labels.cover.index
        places = [judged.places[event] for event in events]
        keys = [(chain[place], index[place]) if place >= 0 else (UNPLACED, 0) for place in places]
        self._order = [at for at in range(len(events)) if keys[at][0] != UNPLACED]
        self._order.sort(key=keys.__getitem__)
        self._straight = self._order == list(range(len(events)))
        self._told = [
            from_positions([at for at, p in enumerate(places) if p in some], len(places)) if some else 0
            for some in judged.told
        ]
        self._segments: list[tuple[int, int, list[int]]] = []  # a chain, where it begins here, its positions
        for offset, at in enumerate(self._order):
            if not self._segments or self._segments[-1][0] != keys[at][0]:
                self._segments.append((keys[at][0], offset, []))
            self._segments[-1][2].append(places[at])
        self._indices = [[index[place] for place in segment[2]] for segment in self._segments]
        self._columns: dict[int, list[list[int]]] = {}

    def possible(self, event: int) -> Possible:
        """As `Frame.possible`. Cost: two searches a chain."""
        place, same = self._judged.places[event], self._same(event)
        others = self._every & ~same
        past = future = 0
        if place >= 0 and self._labels.cover.chain[place] != UNPLACED:
            past, future = self._past(place) & others, self._future(place) & others
        rest = others & ~(past | future)
        unknown = rest & ~self._judged.told.beside(place, self._told)
        return Possible(future | unknown, past | unknown, rest, same)

    def _past(self, place: int) -> int:
        row, known = 0, self._labels.known_of
        for (chain, offset, _), indices in zip(self._segments, self._indices, strict=True):
            row |= ((1 << bisect_left(indices, known(place, chain))) - 1) << offset
        return self._numbered(row)

    def _future(self, place: int) -> int:
        own, index = self._labels.cover.chain[place], self._labels.cover.index[place]
        columns = self._columns.get(own)
        if columns is None:
            known, arrays = self._labels.known_of, self._judged.arrays
            if arrays is not None and len(self.events) >= MANY:
                columns = [arrays.known_of(segment[2], own).tolist() for segment in self._segments]
            else:
                columns = [[known(other, own) for other in segment[2]] for segment in self._segments]
            self._columns[own] = columns
        row = 0
        for (chain, offset, _), indices, column in zip(self._segments, self._indices, columns, strict=True):
            first = bisect_right(indices if chain == own else column, index)
            row |= ((1 << len(indices) - first) - 1) << offset + first
        return self._numbered(row)

    def _numbered(self, row: int) -> int:
        if self._straight:
            return row
        return from_positions([self._order[at] for at in bits(row)], len(self.events))


def arranged(judged: Judgements, events: Sequence[int]) -> list[int]:
    """The numbers from 0 of some events in the order in which frames are fastest: chain by chain."""
    labels = judged.labels
    if labels is None:
        return list(range(len(events)))
    chain, index, places = labels.cover.chain, labels.cover.index, judged.places
    keys = [(chain[p], index[p]) if (p := places[event]) >= 0 else (-1, 0) for event in events]
    return sorted(range(len(events)), key=keys.__getitem__)


def _orders_alone(givens: Givens) -> bool:
    """Whether nothing but `<` is given, and perhaps that the log is complete; or nothing but right clocks."""
    others = givens.refuted or givens.stamps or givens.clocks or givens.tokens or givens.orderings
    return givens.rightly_clocked or (not others and givens.orders_alone)
