"""What may be: the relations that some world of a microcosm gives a pair, each with such a world.

Exact, unlike a verdict: a relation that is missing here holds in no world that fits all that is given
(Worlds of Events, Definition 2.3; refutations, stamps and clocks count as well).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial, reduce
from itertools import chain, pairwise, repeat, starmap
from operator import and_, lt, or_
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from microcosm.engine.engine import Engine
from microcosm.engine.lowering import closes_givens
from microcosm.errors import Undefined, UnknownEvent
from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import expect_text, read_relation
from microcosm.order.bits import bits, from_positions, overlaid, transposed
from microcosm.order.order import lacking
from microcosm.text.names import quote
from microcosm.text.statement import readable
from microcosm.tuning import gc_paused
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.possible import Possibilities, PossibleRelations
from microcosm.worlds.propagation import MEMBERS, PossibleTable
from microcosm.worlds.search import Stop
from microcosm.worlds.world import Candidate

if TYPE_CHECKING:
    from microcosm.worlds.sat import Certificate
    from microcosm.worlds.world import World

PairLeft = tuple[str, str, tuple[Relation, ...]]
"""A pair and what is left of `<`, `>` and `||` for it."""

_SETS = {f"{code:x}": tuple(r for bit, r in enumerate(MEMBERS) if code >> bit & 1) for code in range(8)}
_OPEN = "7"
"""The digit of `_SETS` that says that all three are left."""


class PairsLeft:
    """What is left of `<`, `>` and `||` for every pair of some events, sorted, the first before the second.

    To be iterated over, as `(a, b, left)`, as often as one likes. Bit y of `before[x]` says that `<` is left
    of the events at x and y, of `concurrent[x]` that `||` is. Cost: one transposition, then some row
    operations an event and 50 nanoseconds a pair.

    >>> left = PairsLeft({"a": 0, "b": 1}, [0b10, 0b00], [0b10, 0b01])
    >>> list(left)
    [('a', 'b', (Relation.BEFORE, Relation.CONCURRENT))]
    """

    def __init__(self, position: dict[str, int], before: list[int], concurrent: list[int]) -> None:
        self.names = sorted(position)
        self._position = position
        self._rows = before, transposed(before), concurrent
        """Of `MEMBERS`."""

    def __iter__(self) -> Iterator[PairLeft]:
        return chain.from_iterable(zip(repeat(a), others, row) for a, others, row in self.rows())

    def rows(self) -> Iterator[tuple[str, list[str], Iterator[tuple[Relation, ...]]]]:
        """Each event, those after it in the order of the table, and what is left of it and each of them."""
        places = [self._position[name] for name in self.names]
        for number, a in enumerate(self.names, 1):
            digits = map(self._digits(a).__getitem__, places[number:])
            yield a, self.names[number:], map(_SETS.__getitem__, digits)

    def counts(self) -> Counter[tuple[Relation, ...]]:
        """How many pairs each set of relations is left of. Cost: some row operations an event."""
        found = Counter[tuple[Relation, ...]]()
        for x, later in self._later():
            parts: dict[tuple[Relation, ...], int] = {(): later}
            for relation, rows in zip(MEMBERS, self._rows, strict=True):
                fewer = {left: pairs & ~rows[x] for left, pairs in parts.items()}
                parts = fewer | {(*left, relation): pairs & rows[x] for left, pairs in parts.items()}
            found.update({left: pairs.bit_count() for left, pairs in parts.items() if pairs})
        return found

    def fitting(self) -> PairsLeft | None:
        """The table, None where it leaves nothing of some pair: no world fits. Cost: as `counts`."""
        return None if self.counts()[()] else self

    def unlike(self, other: PairsLeft) -> Iterator[PairLeft]:
        """The pairs of which another table has something else left; of what it does not name, all three are.

        Cost: some row operations an event; more where the two do not name the same events.
        """
        rank = {self._position[name]: number for number, name in enumerate(self.names)}
        pairs = list(zip(self._rows, other.over(self._position)._rows, strict=True))
        for a, (x, later) in zip(self.names, self._later(), strict=True):
            changed = reduce(or_, (mine[x] ^ theirs[x] for mine, theirs in pairs)) & later
            digits = self._digits(a) if changed else ""
            for number in sorted(map(rank.__getitem__, bits(changed))):
                b = self.names[number]
                yield a, b, _SETS[digits[self._position[b]]]

    def common(self, other: PairsLeft) -> PairsLeft:
        """What is left by both tables. Cost: as `unlike`."""
        pairs = zip(self._rows, other.over(self._position)._rows, strict=True)
        before, _, concurrent = (list(map(and_, mine, theirs)) for mine, theirs in pairs)
        return PairsLeft(self._position, before, concurrent)

    def over(self, position: dict[str, int]) -> PairsLeft:
        """The same of events at other positions, all three being left of what is not named here.

        Cost: none where the positions are the same, else that of going through the table.
        """
        if position == self._position:
            return self
        size, beyond = max(position.values(), default=-1) + 1, len(self._rows[0])
        names = {at: name for name, at in position.items()}
        places = [self._position.get(names.get(at, ""), beyond) for at in reversed(range(size))]
        before, concurrent = [0] * size, [0] * size
        for at, name in names.items():
            digits = self._digits(name) + _OPEN if name in self._position else _OPEN * (beyond + 1)
            moved = "".join(map(digits.__getitem__, places))
            before[at], concurrent[at] = int(moved.translate(_FIRST), 2), int(moved.translate(_THIRD), 2)
        return PairsLeft(position, before, concurrent)

    def _later(self) -> Iterator[tuple[int, int]]:
        """The position of each event, in order, and the set of those after it in that order."""
        rest = from_positions(self._position.values(), len(self._rows[0]))
        for name in self.names:
            at = self._position[name]
            rest &= ~(1 << at)
            yield at, rest

    def _digits(self, event: str) -> str:
        """For each position the relations left of an event and the one there, as a digit of `_SETS`."""
        x = self._position[event]
        return overlaid([rows[x] for rows in self._rows], len(self._rows[0]))


_FIRST, _THIRD = (str.maketrans("01234567", bits_of) for bits_of in ("01010101", "00001111"))

OUTSIDERS = 2
"""Events that a question names and no given does: anything is possible of them."""


class Shown(NamedTuple):
    """A world, and the names of its events; further positions are nobody's."""

    world: Candidate
    names: Sequence[str]


class WitnessWorld:
    """A world of some `size` that shows that something is possible: all events in an order that extends `<`.

    Cost: that of the world, where none had to be found, and that of the order and of the reduction of its `<`
    are paid when they are first asked for.
    """

    def __init__(self, size: int, shown: Callable[[], Shown]) -> None:
        self._size, self._make = size, shown

    @classmethod
    def of(cls, world: Candidate, names: Sequence[str]) -> WitnessWorld:
        """A world that was found. Cost: constant."""
        return cls(len(names), partial(Shown, world, names))

    def __len__(self) -> int:
        """How many events it has."""
        return self._size

    def __reduce__(self) -> tuple[object, ...]:
        return WitnessWorld, (self._size, partial(Shown, *self._shown))

    @cached_property
    def _shown(self) -> Shown:
        return self._make()

    @cached_property
    def order(self) -> list[str]:
        """All events, causes first."""
        world, names = self._shown
        return [names[at] for at in world.order if at < len(names)]

    @cached_property
    def before(self) -> list[tuple[str, str]]:
        """The transitive reduction of its `<`, sorted."""
        world, names = self._shown
        with gc_paused():
            return sorted((names[a], names[b]) for a, b in world.reduction())

    def __str__(self) -> str:
        return ", ".join(map(quote, self.order))

    def world(self) -> World:
        """The world, with every ordered pair. Cost: quadratic."""
        from microcosm.worlds.world import World

        return World.of(self.order, self.before)


@dataclass(frozen=True, slots=True)
class Possibility:
    """What a pair may be: a subset of `<`, `>`, `||`; empty where the microcosm fits no world.

    `worlds` has a witness for each relation that was shown to be possible. Unless `exact`, `relations` also
    has those that could not be decided before the search was stopped, or that may be impossible for what is
    `ignored`: the statements that worlds do not, or not in full, take into account.
    """

    relations: tuple[Relation, ...]
    worlds: dict[Relation, WitnessWorld] = field(default_factory=dict)
    exact: bool = True
    ignored: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether the search came to its end: each relation has a world."""
        return all(relation in self.worlds for relation in self.relations)

    def __str__(self) -> str:
        return "\n".join(": ".join(row) for row in self._rows()) or "nothing: no world fits"

    def _repr_html_(self) -> str:
        """A row for each relation that is left, with the witness of it."""
        rows = "".join(
            f"<tr><th>{readable(r)}</th><td>{readable(shown)}</td></tr>" for r, shown in self._rows()
        )
        return f"<table>{rows}</table>" if rows else f"<p>{self}</p>"

    def _rows(self) -> Iterator[tuple[str, str]]:
        for relation in self.relations:
            world = self.worlds.get(relation)
            yield str(relation), "undecided" if world is None else str(world)


def ignored(givens: Givens) -> tuple[str, ...]:
    """The statements of which worlds tell too little: orderings of messages, and a complete log with gaps.

    Cost: that of the order, where the log is stated to be complete.

    >>> from microcosm.givens.columns import Message
    >>> ignored(Givens(messages=[Message("send", "s", "m", "p")], orderings=["causal"]))
    ('ordering causal',)
    """
    orderings = givens.orderings if givens.orderings and givens.messages else []
    found = [f"ordering {ordering}" for ordering in orderings]
    if givens.complete and lacking(givens) is not None:
        found.append("complete")
    return tuple(found)


def shown_by(givens: Givens, places: Callable[[Iterable[str]], Iterable[int]]) -> bool:
    """Whether a line of all events, by their places on it, is plainly a world: every given is a `<` along it.

    So it is where nothing is given but right clocks, and each has seen only what is before it. That it is not
    says nothing. Cost: linear where correspondences, or clocks, are kept in columns; of others none, for they
    are not looked at.

    >>> shown_by(Givens(internal=["a", "b"]), lambda names: map("ab".index, names))
    False
    """
    if isinstance(givens.clocks, ClockColumns) and givens.rightly_clocked:
        return givens.clocks.hold_along(places(givens.clocks.names))
    links = givens.order_columns
    if links is None or not _only_order(givens):
        return False
    linked = links.placed(places(links.names))
    return all(map(lt, *linked)) and all(starmap(lt, pairwise(places(givens.internal))))


def _only_order(givens: Givens) -> bool:
    """Whether nothing is given of pairs of events but `<`, of which every closure is a world."""
    others = givens.refuted or givens.clocks or givens.stamps or givens.tokens or givens.complete
    return not others and givens.orders_alone


class Worlds:
    """The worlds that fit some givens, which must not change meanwhile.

    With an `engine` on the same givens, where nothing but `<` is given, or nothing but right clocks, what is
    possible of a pair is read off the order of the engine, and a world is made (and checked) when somebody
    looks at it.

    >>> from microcosm.givens.relation import Correspondence
    >>> givens = Givens(internal=["a", "b"])
    >>> givens.add(Correspondence("a", Relation.CONCURRENT, "c"))
    >>> found = Worlds(givens).possible("b", "c")
    >>> found.relations, found.worlds[Relation.AFTER].before
    ((Relation.AFTER, Relation.CONCURRENT), [('a', 'b'), ('c', 'b')])
    """

    def __init__(self, givens: Givens, engine: Engine | None = None) -> None:
        self.ignored = ignored(givens)
        """What is stated that no constraint on pairs of events says: an answer is then not exact."""
        one_world = _only_order(givens) or givens.rightly_clocked
        known = engine is not None and closes_givens(engine.rules) and one_world
        self._engine = engine if known else None
        self._givens = givens.copy()  # a world may be looked at after a change
        self._alone = RLock()

    def __reduce__(self) -> tuple[object, ...]:
        return Worlds, (self._givens,)

    @cached_property
    def events(self) -> list[str]:
        """Every named event, in the order of their positions."""
        return [*self._position]

    @cached_property
    def _position(self) -> dict[str, int]:
        return self._givens.numbers()

    @cached_property
    def _possibilities(self) -> Possibilities:
        with gc_paused():
            size = len(self._position) + OUTSIDERS
            return Possibilities(constraints_of(self._givens, self._position, size))

    @contextmanager
    def _asking(self, stop: Stop | None = None) -> Iterator[Possibilities]:
        """The search, for one thread at a time: what one assumes is no other one's, nor when it gives up."""
        with self._alone:
            self._possibilities.stop = stop
            yield self._possibilities

    def possible(self, a: str, b: str, stop: Stop | None = None) -> Possibility:
        """The relations of two distinct events, named in the givens or not. See `Possibility`.

        Raises `Undefined` where the two are one. Cost: a question of the engine where its order decides; else
        without `<>` linear in the past and future of the two; with `<>` a bit test and the price of three
        worlds where earlier answers decide, else a search, exponential at worst. `stop` is asked now and then
        whether to give up.
        """
        expect_text(a, b)
        if a == b:
            raise Undefined(f"an event stands in no relation to itself: {a}")
        engine = self._engine
        if engine is None:
            found, names = self._searched(a, b, stop)
            worlds = {r: WitnessWorld.of(world, names) for r, world in found.worlds.items()}
            left = tuple(r for r in MEMBERS if r in worlds or r in found.undecided)
            return Possibility(left, worlds, not found.undecided and not self.ignored, self.ignored)
        search = cache(lambda: self._searched(a, b))

        def shown(relation: Relation) -> Shown:
            found, names = search()
            return Shown(found.worlds[relation], names)

        _, x, y = engine.locate(a, b)
        known = engine.order.ordered(x, y)
        if known is None and a in self._givens.clocks and b in self._givens.clocks:
            known = Relation.CONCURRENT  # clocks that are right tell all there is
        left = MEMBERS if known is None else (known,)
        size = engine.universe.named.bit_count() + sum(not engine.mentions(event) for event in (a, b))
        worlds = {relation: WitnessWorld(size, partial(shown, relation)) for relation in left}
        return Possibility(left, worlds, not self.ignored, self.ignored)

    def _searched(self, a: str, b: str, stop: Stop | None = None) -> tuple[PossibleRelations, list[str]]:
        """What the constraints leave of a pair, and the names of the positions."""
        names = [*self.events]
        places = []
        for event in (a, b):
            if event not in self._position:
                places.append(len(names))
                names.append(event)
            else:
                places.append(self._position[event])
        with self._asking(stop) as search:
            return search.possible(*places), names

    def certificate(self, a: str, relation: Relation | str, b: str) -> Certificate | None:
        """A refutation by a SAT solver that no world gives two named events the relation; None if one does.

        Its positions are those of `events`; its clauses follow by propagation once the relation is assumed.
        Raises `Undefined` for another relation than `<`, `>` and `||`, `UnknownEvent`, and `MissingLibrary`
        without python-sat. Cost: that of the solver, exponential at worst.
        """
        expect_text(a, b)
        sought = read_relation(relation)
        if a == b or sought not in MEMBERS:
            raise Undefined(
                f"a world gives two distinct events <, > or ||: {a} {sought} {b} is none of these"
            )
        for event in (a, b):
            if event not in self._position:
                raise UnknownEvent((event,))
        with self._asking() as search:
            return search.certificate(self._position[a], sought, self._position[b])

    def fits(self, stop: Stop | None = None) -> bool:
        """Whether some world fits, which is looked for and checked. Raises `worlds.possible.Undecided`.

        Cost: linear without `<>`, with `<>` exponential at worst.
        """
        return self.one(stop) is not None

    def one(self, stop: Stop | None = None) -> WitnessWorld | None:
        """Some world that fits; None where there is none. Raises `worlds.possible.Undecided`.

        Cost: linear without `<>`, with `<>` exponential at worst.
        """
        with self._asking(stop) as search:
            world = search.world()
        return None if world is None else WitnessWorld.of(world, self.events)

    def table(self, stop: Stop | None = None) -> tuple[PairsLeft, bool] | None:
        """The possible relations of every pair, sorted, first before second; and whether all were decided.

        They are exact unless something is `ignored`.
        None where no world fits. Cost: without `<>` about two closures; with `<>` the same for every
        choice of directions that shows something new, and a search for every member that is left.
        """
        with self._asking(stop) as search:
            rows = search.table()
        left = None if rows is None else self._left(rows).fitting()
        return None if rows is None or left is None else (left, not rows.undecided)

    def propagated(self) -> PairsLeft | None:
        """What propagation alone leaves of every pair (offline at depth 0); None where it contradicts.

        Cost: about two closures.
        """
        with self._asking() as search:
            rows = search.propagated()
        return None if rows is None else self._left(rows)

    def _left(self, rows: PossibleTable) -> PairsLeft:
        return PairsLeft(self._position, rows.before, rows.concurrent)
