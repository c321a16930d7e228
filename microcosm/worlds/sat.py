"""The directions of `<>` by a SAT solver (CaDiCaL through python-sat, the extra `sat`).

One variable an open pair. A set of directions fails iff it has a path p1 < q1 ≤ p2 < q2 ≤ … ≤ pk < qk,
≤ being known and p1 !< qk refuted by propagation (a cycle ends in an irreflexive pair, so it is one of
these). Short paths are stated at once, longer ones when the solver runs into them: there is no cubic
list of transitivity.

Why no directions fit is told in a form that any checker of DRAT proofs reads. Two things are to be checked,
and both can be by others: that the clauses cannot all hold, of which the solver's proof is the evidence; and
that each clause follows from what is given, for which comments tell how: it forbids a path of directions,
between which `<=` is known and whose ends are refuted, by propagation alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import or_
from typing import Any

from microcosm import tuning
from microcosm.errors import MissingLibrary
from microcosm.order.bits import bits, from_positions
from microcosm.order.happens_before import Cycle
from microcosm.tuning import gc_paused
from microcosm.worlds.constraints import Pair
from microcosm.worlds.propagation import Orientation
from microcosm.worlds.search import GreedyChoice, NoWorld, Stop

NAME, LIMITED = "cadical153", "glucose4"
"""The solver that writes a refutation, and the one that pauses, so that whatever asks can be stopped."""


@cache
def available() -> bool:
    """Whether python-sat is installed. Cost: a look at the file system, once."""
    from importlib.util import find_spec

    return find_spec("pysat") is not None


def solve(
    state: Orientation, *, stop: Stop | None = None, certificate: Certificate | None = None
) -> GreedyChoice | NoWorld:
    """A direction for every open pair of a consistent state, as `search.complete` finds it, by the solver.

    `stop` is asked now and then, and an alarm or an interrupt ends the search as soon, but where a
    `certificate` is wanted: that is filled in when nothing fits, and ends when it does. Raises
    `MissingLibrary` without python-sat. Cost: exponential in the worst case.
    """
    if not available():
        raise MissingLibrary("Certificates", ("python-sat",), "sat")
    from pysat.solvers import Solver

    directions = Directions(state)
    clauses: list[Clause] = []
    proved = certificate is not None
    with Solver(name=NAME if proved else LIMITED, with_proof=proved) as solver:

        def state_clauses(found: Iterator[Clause]) -> None:
            with gc_paused():
                fresh = list(found)
                solver.append_formula(fresh)
            if certificate is not None:
                clauses.extend(fresh)

        state_clauses(directions.short_paths())
        while True:
            if stop is not None and stop():
                return NoWorld.STOPPED
            fits = _run(solver, stop, pauses=not proved)
            if fits is None:
                return NoWorld.STOPPED
            if not fits:
                if certificate is not None:
                    last = directions.count + 1
                    certificate.pairs = list(
                        zip(directions.starts[1:last], directions.ends[1:last], strict=True)
                    )
                    certificate.clauses = clauses
                    certificate.drat = list(solver.get_proof() or ())
                return NoWorld.NONE
            chosen = solver.get_model() or []
            model = [*chosen, *range(len(chosen) + 1, directions.count + 1)]
            choice = directions.choice(state, model)
            if choice is not None:
                return choice
            state_clauses(directions.failing_paths(model))


def _run(solver: Any, stop: Stop | None, *, pauses: bool = True) -> bool | None:
    """Whether the clauses can hold; None where `stop` came first. An interrupt is one, as anywhere."""
    from pysat.solvers import pysolvers

    try:
        if not pauses:
            return bool(solver.solve())
        while True:
            solver.conf_budget(tuning.CONFLICTS)
            fits = solver.solve_limited()
            if fits is not None or (stop is not None and stop()):
                return fits  # type: ignore[no-any-return]
    except pysolvers.error as problem:
        if "keyboard interrupt" in str(problem):
            raise KeyboardInterrupt from None
        raise


class Directions:
    """The open pairs of a state as variables: literal k is the k-th pair as listed, -k the other way."""

    def __init__(self, state: Orientation) -> None:
        self.future = state.future
        self._refuted = list(map(or_, state.beyond, state.past))
        pairs = [(a, a + b) for a, row in enumerate(state.open) if row >> a for b in bits(row >> a)]
        self.count = len(pairs)
        # Literal k is the k-th pair as listed, -k the other way: an index from the end of these lists.
        forth, back = [a for a, _ in pairs], [b for _, b in pairs]
        self.starts = [-1, *forth, *back[::-1]]
        self.ends = [-1, *back, *forth[::-1]]
        self._starting: list[list[int]] = [[] for _ in self.future]
        for k, (a, b) in enumerate(pairs, 1):
            self._starting[a].append(k)
            self._starting[b].append(-k)
        self._following: dict[int, list[int]] = {}
        """By event the directions that may follow on a path one that ends there, once they are asked for."""
        self._all_starts = from_positions([*forth, *back], state.size)

    def choice(self, state: Orientation, model: list[int]) -> GreedyChoice | None:
        """The world in which related pairs are ordered, the open ones by a model; None where it fails.

        Cost: a closure.
        """
        edges = [*state.known.before, *state.chosen, *((self.starts[k], self.ends[k]) for k in model)]
        for a, b in state.known.related_pairs():
            if self.future[a] >> b & 1:
                edges.append((a, b))
            elif self.future[b] >> a & 1:
                edges.append((b, a))
        try:
            return GreedyChoice.of(state.known, edges, state.beyond)
        except Cycle:
            return None

    def short_paths(self) -> Iterator[Clause]:
        """Clauses of failing paths of two and three directions. Cost: `tuning.PATHS_EAGER` looks."""
        starts, ends, refuted, following = self.starts, self.ends, self._refuted, self._following
        reached = [self.future[end] for end in ends]
        looks = 0
        longer: list[tuple[int, int, int]] = []
        for k in range(1, self.count + 1):
            for first in (k, -k):
                low, end = refuted[starts[first]], ends[first]
                seconds = following[end] if end in following else self._after(end)
                for second in seconds:
                    if low & reached[second]:
                        if second != -first:
                            yield [-first, -second]
                    elif second > k or second < -k:
                        longer.append((low, first, second))
                looks += len(seconds)
                if looks > tuning.PATHS_EAGER:
                    return
        for low, first, second in longer:
            least, end = abs(first), ends[second]
            thirds = following[end] if end in following else self._after(end)
            for third in thirds:
                if low & reached[third] and (third > least or third < -least) and third != -second:
                    yield [-first, -second, -third]
            looks += len(thirds)
            if looks > tuning.PATHS_EAGER:
                return

    def _after(self, end: int) -> list[int]:
        starting, starts = self._starting, self.future[end] & self._all_starts
        alone = starts == 1 << end  # of what is after it nothing begins a direction
        found = starting[end] if alone else [each for at in bits(starts) for each in starting[at]]
        self._following[end] = found
        return found

    def failing_paths(self, model: list[int]) -> Iterator[Clause]:
        """The clauses of shortest failing paths among the directions of a model, from each event.

        Cost: a search over the directions for each event.
        """
        follow: dict[int, list[int]] = {}
        for literal in model:
            follow.setdefault(self.starts[literal], []).append(literal)
        starts = from_positions(follow, len(self.future))
        for start in follow:
            yield from self._failing_from(start, follow, starts)

    def _failing_from(self, start: int, follow: dict[int, list[int]], starts: int) -> Iterator[Clause]:
        """Breadth-first over directions, to each first one that leads to what `start` cannot precede."""
        future, ends, low = self.future, self.ends, self._refuted[start]
        parent = dict.fromkeys(follow[start], 0)
        seen = 1 << start
        frontier = follow[start]
        while frontier:
            following: list[int] = []
            for literal in frontier:
                reached = future[ends[literal]]
                if low & reached:
                    clause, at = [], literal
                    while at:
                        clause.append(-at)
                        at = parent[at]
                    yield clause[::-1]
                    continue
                fresh = reached & starts & ~seen
                if fresh:
                    seen |= fresh
                    for v in bits(fresh):
                        for each in follow[v]:
                            parent[each] = literal
                        following += follow[v]
            frontier = following


Clause = list[int]


@dataclass(slots=True)
class Certificate:
    """Clauses that each follow by propagation alone, and a DRAT refutation of them, line by line.

    Variable k, from 1, says that the k-th of `pairs` is ordered as written, -k that it is the other way
    round. A clause names a path in its order. Where propagation alone refutes, one clause is empty.

    Cost of its methods: linear in the clauses.
    """

    pairs: list[Pair]
    clauses: list[Clause] = field(default_factory=list)
    drat: list[str] = field(default_factory=list)

    def dimacs(self, names: Sequence[str]) -> str:
        """The clauses in DIMACS form, and as comments what they mean; `names` are those of the positions.

        >>> print(Certificate([(0, 1), (2, 1)], [[-1, 2]]).dimacs("abc"), end="")
        c variable 1: a < b
        c variable 2: c < b
        c clause 1: not a < b <= b < c, for a !< c
        p cnf 2 1
        -1 2 0
        """
        return "\n".join([*self._lines(names), ""])

    def proof(self) -> str:
        """The refutation as a file has it."""
        return "\n".join([*self.drat, ""])

    def directions(self, clause: Clause) -> list[Pair]:
        """What a clause says not to hold all together, in the order of the path."""
        return [self.pairs[-k - 1] if k < 0 else self.pairs[k - 1][::-1] for k in clause]

    def _lines(self, names: Sequence[str]) -> Iterator[str]:
        for k, (a, b) in enumerate(self.pairs, 1):
            yield f"c variable {k}: {names[a]} < {names[b]}"
        for k, clause in enumerate(self.clauses, 1):
            if way := self.directions(clause):
                path = " <= ".join(f"{names[a]} < {names[b]}" for a, b in way)
                yield f"c clause {k}: not {path}, for {names[way[0][0]]} !< {names[way[-1][1]]}"
        yield f"p cnf {len(self.pairs)} {len(self.clauses)}"
        for clause in self.clauses:
            yield " ".join(map(str, [*clause, 0]))
