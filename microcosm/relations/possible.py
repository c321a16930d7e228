"""Which relations some world gives a pair, exactly: `<`, `>`, `||`, each with a world that shows it.

Without `<>` there is nothing to search: what propagation does not refute, some world has. With `<>`, one
choice of all directions leaves a knowledge without `<>`, of which the same is true; so one choice decides
most members of most pairs, and only what is left is assumed and searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from microcosm.relations import sat
from microcosm.relations.bits import bits, from_positions, lowest
from microcosm.relations.fit import Fit, fault
from microcosm.relations.happens_before import Cycle
from microcosm.relations.knowledge import Graph, Knowledge, refutations
from microcosm.relations.orientation import Orientation
from microcosm.relations.relation import Relation
from microcosm.relations.rows import Rows
from microcosm.relations.search import Outcome, Stop, complete
from microcosm.relations.stamps import StampBounds

MEMBERS = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)

CAP = 2
"""Backtracks after which a SAT solver takes over, where there is one."""

KEPT = 64
"""So many choices of directions are remembered for later questions."""


@dataclass(slots=True)
class Possible:
    """What a pair may be: each possible relation with a world, and what could not be decided in time."""

    worlds: dict[Relation, Fit] = field(default_factory=dict)
    undecided: list[Relation] = field(default_factory=list)


class Undecided(Exception):
    """Told to stop before it was known whether any world fits."""


@dataclass(slots=True)
class Table:
    """Rows of what is possible: bit b of `before[a]` says that a < b is, of `concurrent[a]` that a || b is.

    `undecided` says how many members were not decided in time; they are among the possible ones.
    """

    before: list[int]
    concurrent: list[int]
    undecided: int = 0

    def of(self, a: int, b: int) -> list[Relation]:
        """The possible relations of a pair."""
        holds = (self.before[a] >> b & 1, self.before[b] >> a & 1, self.concurrent[a] >> b & 1)
        return [relation for relation, bit in zip(MEMBERS, holds, strict=True) if bit]


class Possibilities:
    """Answers about one `Knowledge`, which must not change.

    `cap` is the number of backtracks before python-sat (if `solver` and installed) takes over; None
    lets the search go on for ever. `stop` (settable) is asked now and then whether to give up.

    >>> known = Possibilities(Knowledge.of(3, before=[(0, 1)], related=[(1, 2)], concurrent=[(0, 2)]))
    >>> list(known.possible(1, 2).worlds), known.possible(0, 2).worlds[Relation.CONCURRENT].reduction()
    ([Relation.AFTER], [(0, 1), (2, 1)])
    """

    def __init__(
        self, known: Knowledge, *, stop: Stop | None = None, cap: int = CAP, solver: bool = True
    ) -> None:
        self.known = known
        self.stop = stop
        self._cap = cap if solver and sat.available() else None
        self._choices: list[_Choice] = []
        self._impossible = False
        self._plain: _Plain | None = None
        self._state: Orientation | None = None
        try:
            if known.related:
                self._state = Orientation(known)
                self._impossible = not self._state.consistent
            else:
                self._plain = _Plain(known)
        except Cycle:
            self._impossible = True

    def realisable(self) -> bool:
        """Whether some world fits. Raises `Undecided`."""
        if self._plain is not None and not self._impossible:
            self._impossible = self._plain.contradicts
        if self._impossible:
            return False
        if self._plain is None and not self._choices:
            match self._search(()):
                case Outcome.NONE:
                    self._impossible = True
                case Outcome.STOPPED:
                    raise Undecided
        return not self._impossible

    def world(self) -> Fit | None:
        """A world that fits, None where there is none. Raises `Undecided`."""
        if not self.realisable():
            return None
        return self._checked(self._choices[-1].edges if self._choices else self.known.before)

    def possible(self, a: int, b: int) -> Possible:
        """The relations of two distinct positions; none where no world fits.

        Where `stop` comes before any world is found, whatever propagation leaves is undecided.
        """
        found = Possible()
        if self._may_fit():
            for relation in MEMBERS:
                edges = self._member(a, relation, b)
                if edges is None:
                    found.undecided.append(relation)
                elif edges:
                    found.worlds[relation] = self._checked(edges[0])
        return found

    def table(self) -> Table | None:
        """All pairs at once; None where no world fits."""
        if self._state is None:
            return self.propagated()
        return self._searched_table(self._state) if self._may_fit() else None

    def propagated(self) -> Table | None:
        """What propagation leaves of all pairs, nothing being assumed; None where it contradicts itself."""
        if self._impossible:
            return None
        if self._state is not None:
            return self._left(self._state)
        try:
            found = self._rows(self.known.before)
        except Cycle:
            found = None
        self._impossible = found is None
        return found

    def certificate(self, a: int, relation: Relation, b: int) -> sat.Certificate | None:
        """Why no world has the relation, as a solver's refutation; None if some world has it.

        Empty where propagation alone refutes it. Raises ImportError without python-sat.
        """
        found = sat.Certificate([])
        state = self._state
        if state is None or self._impossible:
            return None if self._member(a, relation, b) else found
        if relation is Relation.AFTER:
            a, b = b, a
        mark = state.mark()
        fits = state.separate(a, b) if relation is Relation.CONCURRENT else state.order(a, b)
        if fits and sat.solve(state, certificate=found) is not Outcome.NONE:
            state.undo(mark)
            return None
        state.undo(mark)
        return found

    def _left(self, state: Orientation) -> Table:
        known = self.known
        maybe = self._rows([*known.before, *_directions(known, state.future)])
        assert maybe is not None, "propagation does not contradict itself"
        for a, row in known.related.items():
            maybe.concurrent[a] &= ~row
        return maybe

    def _may_fit(self) -> bool:
        try:
            return self.realisable()
        except Undecided:
            return True

    def _member(self, a: int, relation: Relation, b: int) -> list[list[tuple[int, int]]] | None:
        """Pairs that generate a world with the relation: a list of one, of none, or None if undecided."""
        if relation is Relation.AFTER:
            a, b = b, a
        ordered = relation is not Relation.CONCURRENT
        if self._plain is not None:
            if self._plain.refuted(a, b) if ordered else self._plain.ordered(a, b):
                return []
            return [[*self.known.before, (a, b)] if ordered else self.known.before]
        state = self._state
        assert state is not None
        if ordered and state.refuted(a, b):
            return []
        if not ordered and (state.is_before(a, b) or state.is_before(b, a) or self._related(a, b)):
            return []
        for choice in reversed(self._choices):
            if ordered and not (choice.beyond[a] & choice.future[b] or choice.future[b] >> a & 1):
                return [[*choice.edges, (a, b)]]
            if not ordered and not (choice.future[a] >> b | choice.future[b] >> a) & 1:
                return [choice.edges]
        match self._search(((a, b),), ordered):
            case Outcome.FOUND:
                return [self._choices[-1].edges]
            case Outcome.NONE:
                return []
        return None

    def _related(self, a: int, b: int) -> bool:
        return bool(self.known.related.get(a, 0) >> b & 1)

    def _search(self, assumed: Iterable[tuple[int, int]], ordered: bool = True) -> Outcome:
        """Look for directions under an assumption about pairs: ordered so, or concurrent."""
        state = self._state
        assert state is not None
        mark = state.mark()
        outcome = Outcome.NONE
        if all(state.order(a, b) if ordered else state.separate(a, b) for a, b in assumed):
            rank = self._choices[-1].rank if self._choices else None
            outcome = complete(state, rank=rank, stop=self.stop, cap=self._cap)
            if outcome is Outcome.CAPPED:
                outcome = sat.solve(state, stop=self.stop)
            if outcome is Outcome.FOUND:
                self._choices.append(_Choice(self.known, state, assumed if ordered else ()))
                del self._choices[:-KEPT]
        state.undo(mark)
        return outcome

    def _searched_table(self, state: Orientation) -> Table:
        """Start from what the choices so far show; assume the rest, each search showing more."""
        size = self.known.size
        maybe = self._left(state)
        shown = Table([0] * size, [0] * size)
        for choice in self._choices:
            _widen(shown, self._of(choice))
        for relation, rows, seen in (
            (Relation.BEFORE, maybe.before, shown.before),
            (Relation.CONCURRENT, maybe.concurrent, shown.concurrent),
        ):
            ordered = relation is Relation.BEFORE
            for a in range(size):
                while left := rows[a] & ~seen[a]:
                    b = lowest(left)
                    match self._search(((a, b),), ordered):
                        case Outcome.FOUND:
                            _widen(shown, self._of(self._choices[-1]))
                        case Outcome.NONE:
                            rows[a] &= ~(1 << b)
                            if not ordered:
                                rows[b] &= ~(1 << a)
                        case _:
                            maybe.undecided += left.bit_count()
                            break
        return maybe

    def _of(self, choice: _Choice) -> Table:
        found = self._rows(choice.edges)
        assert found is not None, "a choice was made of what is not refuted"
        return found

    def _rows(self, edges: list[tuple[int, int]]) -> Table | None:
        """What is possible if these pairs are the order and nothing is related; None where refuted."""
        size = self.known.size
        graph = Graph(size, edges)
        past, future = graph.pasts(), graph.futures()
        everything = (1 << size) - 1
        refuted = refutations(self.known, graph, past)
        if any(row & later & ~(1 << v) for v, (row, later) in enumerate(zip(refuted, future, strict=True))):
            return None
        return Table(
            [everything & ~row for row in refuted],
            [everything & ~(past[v] | future[v]) for v in range(size)],
        )

    def _checked(self, edges: Iterable[tuple[int, int]]) -> Fit:
        world = Fit.of(self.known.size, edges)
        wrong = fault(self.known, world)
        if wrong is not None:
            raise AssertionError(f"a world was found that does not fit: {wrong}")
        return world


class _Choice:
    """A direction for each `<>`, with the rows it leads to."""

    def __init__(self, known: Knowledge, state: Orientation, assumed: Iterable[tuple[int, int]]) -> None:
        self.future, self.beyond = list(state.future), list(state.beyond)
        self.rank = [row.bit_count() for row in state.past]
        self.edges = [*known.before, *_directions(known, self.future), *assumed]


class _Plain:
    """A knowledge without `<>`: closed by questions, not in advance."""

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self._known.size, self._known.before)

    @cached_property
    def _bounds(self) -> StampBounds | None:
        graph = self._known.graph() if self._known.stamps else None
        return self._known.stamps.bounds(graph.order, graph.successors) if graph else None

    @cached_property
    def _apart(self) -> int:
        return from_positions(self._known.refuted, self._known.size)

    @cached_property
    def contradicts(self) -> bool:
        """Whether an order is refuted, or runs in a cycle."""
        try:
            rows = self._rows
        except Cycle:
            return True
        if any(row & rows.future(a) for a, row in self._known.refuted.items()):
            return True
        return self._bounds is not None and self._bounds.contradiction() is not None

    def ordered(self, a: int, b: int) -> bool:
        return self._rows.before(a, b) or self._rows.before(b, a)

    def refuted(self, a: int, b: int) -> bool:
        """Whether some u at or before a and some v at or after b are refuted, or equal."""
        if self._rows.before(b, a) or (self._bounds is not None and self._bounds.rules_out(a, b)):
            return True
        later, refuted = self._rows.future(b) | 1 << b, self._known.refuted
        return any(refuted[u] & later for u in bits((self._rows.past(a) | 1 << a) & self._apart))


def _directions(known: Knowledge, future: list[int]) -> Iterator[tuple[int, int]]:
    """The related pairs that are ordered, as they are."""
    for a, row in known.related.items():
        for b in bits(row & future[a]):
            yield a, b


def _widen(table: Table, other: Table) -> None:
    for mine, theirs in ((table.before, other.before), (table.concurrent, other.concurrent)):
        for a, row in enumerate(theirs):
            mine[a] |= row
