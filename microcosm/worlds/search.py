"""Putting a direction on every `<>` that propagation left open: all at once, then where that fails.

What a choice of all directions does wrong tells which `<>` to decide: it is ordered as it was chosen, which
propagates, and the rest is chosen anew. On all but crafted inputs a few decisions are enough and none is
taken back; deciding in general is NP-complete (the comparability-graph sandwich problem), so the search
counts its backtracks and can be stopped.

One choice of all directions is that of one line of events, closed in one pass. Put into a line by how much is
before and how little is after them, events seldom order a `<>` wrongly that propagation has left open. Where
nothing that is refuted comes out, a world is found; where something does, the choice says by way of which
`<>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Literal

from microcosm import tuning
from microcosm.order.bits import lowest
from microcosm.order.happens_before import AcyclicGraph, Cycle
from microcosm.worlds.constraints import Constraints, Pair
from microcosm.worlds.propagation import Closed, Orientation
from microcosm.worlds.world import Candidate

Stop = Callable[[], bool]
"""Asked now and then: whether to give up. The caller has the clock."""

STOPPED = "the search was stopped before this was decided"
"""What is said then."""


class NoWorld(Enum):
    """How a search ended that found no world."""

    NONE = "none"
    """There is none."""
    CAPPED = "capped"
    """Something else may do better: all choices fail widely, or backtracks are more than allowed."""
    STOPPED = "stopped"


def guess(known: Constraints, closed: Closed) -> GreedyChoice | Literal[NoWorld.CAPPED] | None:
    """A direction for every `<>` without any propagation, as a line has them, once mended; or None.

    Most of what fits a world at all is shown to do so for the price of three closures. `CAPPED` where the
    line fails widely: it does so again where propagation decides nothing; else what is `closed` may have been
    changed. So it is at once where no event is known to be before another and there are many `||` and `<>`:
    no line is likelier to fit than any other then. Cost: a closure, four where the line fails.

    >>> known = Constraints(3, before=[(0, 1)], concurrent=[(0, 2)], related=[(1, 2)])
    >>> guess(known, Closed.of(known)).edges
    [(0, 1), (2, 1)]
    """
    if not known.before and min(len(known.concurrent), len(known.related)) >= known.size:
        return NoWorld.CAPPED
    graph, refuted, future, past = closed
    choice = GreedyChoice.along(known, future, past, refuted, most=_few(known.size))
    if not choice.failing:
        return choice
    if choice.widely:
        return NoWorld.CAPPED
    culprits = dict.fromkeys(choice.culprit(v, w, future) for v, w in choice.failing)
    turned = [pair[::-1] for pair in culprits if pair is not None]
    try:
        graph.add(turned)
    except Cycle:
        return None
    choice = GreedyChoice.along(known, graph.futures(), graph.pasts(), refuted, turned, most=0)
    return None if choice.failing else choice


def _few(size: int) -> int:
    """For so many of some events a choice may fail, and be a near miss."""
    return max(tuning.MISSES_FEW, size // tuning.MISSES_MANY)


def complete(
    state: Orientation, *, stop: Stop | None = None, cap: int | None = None
) -> GreedyChoice | NoWorld:
    """A direction for every open pair of a state, which is left as it was.

    `cap` limits the backtracks; where it is given, a first choice that fails widely is the end, too.
    `stop` is asked before each choice. Cost: exponential in the worst case.

    >>> from microcosm.worlds.constraints import Constraints
    >>> five, chords = [(k, (k + 1) % 5) for k in range(5)], [(k, (k + 2) % 5) for k in range(5)]
    >>> complete(Orientation(Constraints(5, related=five, concurrent=chords)))
    <NoWorld.NONE: 'none'>
    >>> complete(Orientation(Constraints(5, related=five, concurrent=chords[1:]))).order
    [0, 3, 1, 4, 2]
    """
    begin = state.mark()
    try:
        return _complete(state, stop, cap) if state.consistent else NoWorld.NONE
    finally:
        state.undo(begin)


def _complete(state: Orientation, stop: Stop | None, cap: int | None) -> GreedyChoice | NoWorld:
    decisions: list[tuple[tuple[int, int], Pair]] = []  # each with the mark before it
    backtracks = 0
    while True:
        if stop is not None and stop():
            return NoWorld.STOPPED
        most = _few(state.size) if cap is not None and not decisions else None
        choice = GreedyChoice.along(
            state.known, state.future, state.past, state.beyond, state.chosen, most=most
        )
        if not choice.failing:
            return choice
        if choice.widely:
            return NoWorld.CAPPED
        for v, w in choice.failing:
            pair = choice.culprit(v, w, state.future)
            if pair is None:
                continue  # what was decided since has put it right, or refutes it
            decisions.append((state.mark(), pair))
            holds = state.order(*pair)
            while not holds:
                backtracks += 1
                if not decisions:
                    return NoWorld.NONE
                if cap is not None and backtracks > cap:
                    return NoWorld.CAPPED
                mark, (a, b) = decisions.pop()
                state.undo(mark)
                holds = state.order(b, a)


class GreedyChoice:
    """The world that some pairs generate, which order every `<>` of some constraints; it may not fit.

    `order` extends the pairs, `successors` list them all, `future` holds the row of each event and of what is
    after it. `failing` are events v before w with v !< w by what is `refuted`, one w for each v: where there
    are none, the world fits. It fails `widely` where there are more than `most`, and is left unfinished then.

    Cost: O(E · n/64) to make, a look at rows for a pair.
    """

    def __init__(
        self,
        known: Constraints,
        order: list[int],
        edges: list[Pair],
        refuted: list[int],
        most: int | None = None,
    ) -> None:
        self._known = known
        self.order, self.edges = order, edges
        self.successors: list[list[int]] = [[] for _ in order]
        for a, b in edges:
            self.successors[a].append(b)
        self.future = future = [0] * len(order)
        failing: list[Pair] = []
        self.widely = False
        for v in reversed(order):
            row = 1 << v
            for w in self.successors[v]:
                row |= future[w]
            future[v] = row
            if both := refuted[v] & row:
                failing.append((v, lowest(both)))
                if most is not None and len(failing) > most:
                    self.widely = True
                    break
        self.failing = sorted(failing)

    @classmethod
    def of(cls, known: Constraints, edges: list[Pair], refuted: list[int]) -> GreedyChoice | None:
        """The world that all of `edges` generate; None where it does not fit. Raises `Cycle`."""
        choice = cls(known, AcyclicGraph(known.size, edges).order, edges, refuted, most=0)
        return None if choice.failing else choice

    @classmethod
    def along(
        cls,
        known: Constraints,
        future: list[int],
        past: list[int],
        refuted: list[int],
        chosen: Iterable[Pair] = (),
        most: int | None = None,
    ) -> GreedyChoice:
        """Each `<>` as its events stand in a line that extends an order, given by its rows.

        Of two events that nothing orders the one comes first that orders fewer pairs by coming first.
        `chosen` are pairs of that order which did not follow from what is known. Cost: O(E · n/64).
        """
        early = [p.bit_count() / f.bit_count() for p, f in zip(past, future, strict=True)]
        order = sorted(range(known.size), key=early.__getitem__)
        place = [0] * known.size
        for rank, v in enumerate(order):
            place[v] = rank
        edges = [*known.before, *chosen]
        edges += [(a, b) if place[a] < place[b] else (b, a) for a, b in known.related]
        for group in known.groups:
            edges += pairwise(sorted(group, key=place.__getitem__))
        return cls(known, order, edges, refuted, most)

    def culprit(self, v: int, w: int, future: list[int]) -> Pair | None:
        """The first pair of a way from v to w that is chosen, `future` not having it; None without one."""
        while v != w:
            v, before = next(x for x in self.successors[v] if self.future[x] >> w & 1), v
            if not future[before] >> v & 1:
                return before, v
        return None

    def world(self, further: Iterable[Pair] = ()) -> Candidate:
        """The world as it is shown, with one pair more where asked, which must not close a cycle."""
        order, edges = self.order, self.edges
        for a, b in further:
            if not self.future[a] >> b & 1:
                late = self.future[b]
                order = [v for v in order if not late >> v & 1] + [v for v in order if late >> v & 1]
                edges = [*edges, (a, b)]
        return Candidate(order, edges)

    def allows(self, a: int, b: int) -> bool:
        """Whether the world fits with a < b put in as well."""
        later = self.future[b]
        return not (self._beyond[a] & later or later >> a & 1)

    def apart(self, a: int, b: int) -> bool:
        """Whether a || b in the world."""
        return not (self.future[a] >> b | self.future[b] >> a) & 1

    @cached_property
    def _beyond(self) -> list[int]:
        """For each event what is refuted of something at or before it."""
        rows = self._known.refuted_rows()
        for v in self.order:
            if row := rows[v]:
                for w in self.successors[v]:
                    rows[w] |= row
        return rows
