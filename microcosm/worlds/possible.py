"""Which relations some world gives a pair, exactly: `<`, `>`, `||`, each with a world that shows it.

Without `<>` there is nothing to search: what propagation does not refute, some world has. With `<>`, one
choice of all directions leaves constraints without `<>`, of which the same is true; so one choice decides
most members of most pairs, and only what is left is assumed and searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from microcosm import tuning
from microcosm.errors import Stopped
from microcosm.givens.relation import Relation
from microcosm.order.bits import lowest
from microcosm.order.happens_before import Cycle
from microcosm.worlds.constraints import Constraints
from microcosm.worlds.propagation import (
    MEMBERS,
    Closed,
    LazyPairs,
    Orientation,
    PossibleTable,
    of_order,
    propagated,
)
from microcosm.worlds.search import STOPPED, GreedyChoice, NoWorld, Stop, complete, guess
from microcosm.worlds.world import Candidate, fault

if TYPE_CHECKING:
    from microcosm.worlds.sat import Certificate


@dataclass(slots=True)
class PossibleRelations:
    """What a pair may be: each possible relation with a world, and what could not be decided in time."""

    worlds: dict[Relation, Candidate] = field(default_factory=dict)
    undecided: list[Relation] = field(default_factory=list)


class Undecided(Stopped):
    """Told to stop before it was known whether any world fits."""


Shown = Callable[[], Candidate]
"""A world that has something, made when it is asked for."""


class Possibilities:
    """Answers about constraints, which must not change.

    `cap` is the number of backtracks before python-sat (if `solver` and installed) takes over; None
    lets the search go on for ever. `stop` (settable) is asked now and then whether to give up.

    >>> known = Possibilities(Constraints(3, before=[(0, 1)], related=[(1, 2)], concurrent=[(0, 2)]))
    >>> list(known.possible(1, 2).worlds), known.possible(0, 2).worlds[Relation.CONCURRENT].reduction()
    ([Relation.AFTER], [(0, 1), (2, 1)])
    """

    def __init__(
        self,
        known: Constraints,
        *,
        stop: Stop | None = None,
        cap: int = tuning.BACKTRACKS,
        solver: bool = True,
    ) -> None:
        self.known = known
        self.stop = stop
        self._solver = solver
        self._most = cap
        self._choices: list[GreedyChoice] = []
        self._widely = False
        """Whether the line of all events failed widely, before anything was propagated."""
        self._impossible = False
        self._plain: LazyPairs | None = None
        self._closed: Closed | None = None
        """What the guess has left to propagation."""
        self._part = Narrowed.of(known)
        self._parts: list[tuple[Narrowed, Possibilities]] = []
        if self._part is None:
            self._start()

    @cached_property
    def _cap(self) -> int | None:
        """The backtracks after which the solver takes over; None where there is none to."""
        from microcosm.worlds import sat

        return self._most if self._solver and sat.available() else None

    def _start(self) -> None:
        if not self.known.decides:
            self._plain = LazyPairs(self.known)

    @cached_property
    def _state(self) -> Orientation:
        """What propagation makes of constraints with `<>`, when it is first asked for."""
        state, self._closed = Orientation(self.known, self._closed), None
        self._impossible = not state.consistent
        return state

    def _within(self, part: Narrowed) -> Possibilities:
        """The possibilities of some of the events alone; the last few such parts are remembered."""
        answered = next((found for known, found in self._parts if known.kept == part.kept), None)
        if answered is None:
            answered = Possibilities(part.known, cap=self._most, solver=self._solver)
            self._parts = [*self._parts[:1], (part, answered)]
        answered.stop = self.stop
        return answered

    def realisable(self) -> bool:
        """Whether some world fits. Raises `Undecided`.

        Cost: three closures mostly, exponential in the worst case.
        """
        if self._part is not None:
            return self._within(self._part).realisable()
        if self._impossible or self._choices:
            return not self._impossible
        if self._plain is not None:
            self._impossible = self._plain.contradicts
        elif not self._guessed() and self._state.consistent:
            match self._search():
                case NoWorld.NONE:
                    self._impossible = True
                case NoWorld.STOPPED:
                    raise Undecided(STOPPED)
        return not self._impossible

    def world(self) -> Candidate | None:
        """A world that fits, None where there is none. Raises `Undecided`. Cost: as `realisable`."""
        if self._part is not None:
            found = self._within(self._part).world()
            return None if found is None else self._checked(self._part.widened(found))
        if not self.realisable():
            return None
        if self._choices:
            return self._checked(self._choices[-1].world())
        return self._checked(Candidate.of(self.known.size, self.known.before))

    def possible(self, a: int, b: int) -> PossibleRelations:
        """The relations of two distinct positions; none where no world fits.

        Where `stop` comes before any world is found, whatever propagation leaves is undecided. Cost: as
        `realisable` at first, then a look at what one world leaves; a search for what it does not decide.
        """
        found = PossibleRelations()
        if self._part is not None:
            part = self._part.holding(a, b)
            found = self._within(part).possible(part.place[a], part.place[b])
            found.worlds = {r: self._checked(part.widened(world)) for r, world in found.worlds.items()}
            return found
        if self._may_fit():
            for relation in MEMBERS:
                shown = self._member(a, relation, b)
                if shown is NoWorld.STOPPED:
                    found.undecided.append(relation)
                elif not isinstance(shown, NoWorld):
                    found.worlds[relation] = self._checked(shown())
        return found

    def table(self) -> PossibleTable | None:
        """All pairs at once; None where no world fits. Cost: n rows, a search for each pair left."""
        self._all()
        if not self.known.decides:
            return self.propagated()
        return self._searched_table(self._state) if self._may_fit() else None

    def propagated(self) -> PossibleTable | None:
        """What propagation leaves of all pairs, nothing being assumed; None where it contradicts itself.

        Cost: some closures.
        """
        self._all()
        if self._impossible:
            return None
        if self.known.decides:
            return propagated(self._state) if self._state.consistent else None
        try:
            found = of_order(self.known, self.known.before)
        except Cycle:
            found = None
        self._impossible = found is None
        return found

    def certificate(self, a: int, relation: Relation, b: int) -> Certificate | None:
        """Why no world has the relation, as a solver's refutation; None if some world has it.

        Raises `MissingLibrary` without python-sat. Cost: that of the solver.
        """
        if self._part is not None:
            part = self._part.holding(a, b)
            made = self._within(part).certificate(part.place[a], relation, part.place[b])
            pairs = [(part.kept[a], part.kept[b]) for a, b in made.pairs] if made is not None else []
            return None if made is None else replace(made, pairs=pairs)
        from microcosm.worlds import sat

        found = sat.Certificate([], [[]], ["0"])
        if self._plain is not None:
            fits = self.realisable() and not isinstance(self._member(a, relation, b), NoWorld)
            return None if fits else found
        if self._impossible or not self._state.consistent:
            return found
        state = self._state
        mark = state.mark()
        try:
            fits = state.assume(a, relation, b)
            none = not fits or sat.solve(state, certificate=found) is NoWorld.NONE
        finally:
            state.undo(mark)
        return found if none else None

    def _all(self) -> None:
        """All pairs are asked for: no event is left out any more."""
        if self._part is not None:
            self._part = None
            self._start()

    def _may_fit(self) -> bool:
        try:
            return self.realisable()
        except Undecided:
            return True

    def _member(self, a: int, relation: Relation, b: int) -> Shown | NoWorld:
        """A world with the relation; NONE, or STOPPED before that was decided."""
        if relation is Relation.AFTER:
            a, relation, b = b, Relation.BEFORE, a
        ordered = relation is Relation.BEFORE
        if self._plain is not None:
            if self._plain.refuted(a, b) if ordered else self._plain.ordered(a, b):
                return NoWorld.NONE
            edges = [*self.known.before, (a, b)] if ordered else self.known.before
            return lambda: Candidate.of(self.known.size, edges)
        state = self._state
        if state.refuted(a, b) if ordered else state.is_related(a, b):
            return NoWorld.NONE
        for choice in reversed(self._choices):
            if choice.allows(a, b) if ordered else choice.apart(a, b):
                return lambda: choice.world([(a, b)] if ordered else ())
        found = self._search((a, relation, b))
        return found if isinstance(found, NoWorld) else found.world

    def _guessed(self) -> bool:
        """Whether a world is found before anything is propagated."""
        if self.stop is not None and self.stop():
            return False
        try:
            closed = Closed.of(self.known)
        except Cycle:
            return False
        found = guess(self.known, closed)
        if isinstance(found, GreedyChoice):
            self._choices.append(found)
            return True
        if found is NoWorld.CAPPED:
            self._widely, self._closed = True, closed
        return False

    def _search(self, assumed: tuple[int, Relation, int] | None = None) -> GreedyChoice | NoWorld:
        """Look for directions, under an assumption about a pair."""
        state = self._state
        mark = state.mark()
        found: GreedyChoice | NoWorld = NoWorld.NONE
        try:
            if assumed is None or state.assume(*assumed):
                capped = assumed is None and self._cap is not None and self._widely and not state.forcing
                found = NoWorld.CAPPED if capped else complete(state, stop=self.stop, cap=self._cap)
                if found is NoWorld.CAPPED:
                    from microcosm.worlds import sat

                    found = sat.solve(state, stop=self.stop)
        finally:  # whoever interrupts a search may ask again
            state.undo(mark)
        if not isinstance(found, NoWorld):
            self._choices.append(found)
            del self._choices[: -tuning.CHOICES_KEPT]
        return found

    def _searched_table(self, state: Orientation) -> PossibleTable:
        """Start from what the choices so far show; assume the rest, each search showing more."""
        size = self.known.size
        maybe = propagated(state)
        shown = PossibleTable([0] * size, [0] * size)
        for choice in self._choices:
            shown.widen(self._of(choice))
        for rows, seen, relation in (
            (maybe.before, shown.before, Relation.BEFORE),
            (maybe.concurrent, shown.concurrent, Relation.CONCURRENT),
        ):
            for a in range(size):
                while left := rows[a] & ~seen[a]:
                    b = lowest(left)
                    match self._search((a, relation, b)):
                        case NoWorld.NONE:
                            rows[a] &= ~(1 << b)
                            if relation is Relation.CONCURRENT:
                                rows[b] &= ~(1 << a)
                        case NoWorld():
                            maybe.undecided += left.bit_count()
                            break
                        case choice:
                            shown.widen(self._of(choice))
        return maybe

    def _of(self, choice: GreedyChoice) -> PossibleTable:
        found = of_order(self.known, choice.edges)
        assert found is not None, "a choice was made of what is not refuted"
        return found

    def _checked(self, world: Candidate) -> Candidate:
        wrong = fault(self.known, world)
        if wrong is not None:
            raise AssertionError(f"a world was found that does not fit: {wrong}")
        return world


@dataclass
class Narrowed:
    """Constraints with `<>` of which most events have nothing but a stamp: the few others are asked about.

    An event of which only a stamp is stated stands on no way from one event to another, but where a question
    puts it there. So rows, which cost n²/8 bytes, are made of the other events and of those asked about.

    Some positions of constraints, ascending; all of which more than a stamp is stated are among them.

    Cost of its methods: linear in the positions and the pairs.
    """

    whole: Constraints
    kept: Sequence[int]

    @classmethod
    def of(cls, known: Constraints) -> Narrowed | None:
        """The positions with more than a stamp, if that leaves out most of many."""
        if known.size < tuning.STAMPED_FROM or not known.decides:
            return None
        found = known.named()
        return cls(known, sorted(found)) if 2 * len(found) < known.size else None

    @cached_property
    def known(self) -> Constraints:
        """What is known of these positions, numbered anew."""
        return self.whole.among(self.kept)

    @cached_property
    def place(self) -> dict[int, int]:
        """The new number of each position."""
        return {v: at for at, v in enumerate(self.kept)}

    def holding(self, *positions: int) -> Narrowed:
        """This part, with some positions more where need be."""
        if all(v in self.place for v in positions):
            return self
        return Narrowed(self.whole, sorted({*self.kept, *positions}))

    def widened(self, world: Candidate) -> Candidate:
        """A world of the part as one of all positions; the others are concurrent with everything."""
        kept = self.kept
        others = (v for v in range(self.whole.size) if v not in self.place)
        return Candidate(
            [*(kept[v] for v in world.order), *others], [(kept[a], kept[b]) for a, b in world.edges]
        )
