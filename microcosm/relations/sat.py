"""The directions of `<>` by a SAT solver (CaDiCaL through python-sat, the extra `sat`).

One variable an open pair. A set of directions fails iff it has a path p1 < q1 ≤ p2 < q2 ≤ … ≤ pk < qk,
≤ being known and p1 !< qk refuted by propagation (a cycle ends in an irreflexive pair, so it is one of
these). Paths of two directions are stated at once, longer ones when the solver runs into them: there
is no cubic list of transitivity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from microcosm.relations.bits import bits
from microcosm.relations.orientation import Orientation
from microcosm.relations.search import Outcome, Stop

NAME = "cadical153"

Clause = list[int]


@dataclass(slots=True)
class Certificate:
    """Why no directions fit: clauses that each follow from the knowledge, and a DRAT refutation of them.

    Variable k, from 1, says that the k-th of `pairs` is ordered as written.
    """

    pairs: list[tuple[int, int]]
    clauses: list[Clause] = field(default_factory=list)
    drat: list[str] = field(default_factory=list)

    def dimacs(self) -> str:
        """The clauses in DIMACS form, for any checker of DRAT proofs."""
        lines = [f"p cnf {len(self.pairs)} {len(self.clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in self.clauses]
        return "\n".join(lines) + "\n"


def available() -> bool:
    """Whether python-sat is installed."""
    from importlib.util import find_spec

    return find_spec("pysat") is not None


def solve(state: Orientation, *, stop: Stop | None = None, certificate: Certificate | None = None) -> Outcome:
    """Order every open pair of a consistent state, as `search.complete` does, by the solver.

    `stop` is asked between two runs of the solver. `certificate`, where given, is filled in when
    nothing fits. Raises ImportError without python-sat.
    """
    from pysat.solvers import Solver

    directions = Directions(state)
    clauses: list[Clause] = []
    with Solver(name=NAME, with_proof=certificate is not None) as solver:

        def state_clauses(found: Iterator[Clause]) -> bool:
            fresh = list(found)
            if certificate is not None:
                clauses.extend(fresh)
            solver.append_formula(fresh)
            return bool(fresh)

        state_clauses(directions.short_paths())
        while True:
            if stop is not None and stop():
                return Outcome.STOPPED
            if not solver.solve():
                if certificate is not None:
                    certificate.pairs = [directions.ends(k) for k in range(1, directions.count + 1)]
                    certificate.clauses = clauses
                    certificate.drat = list(solver.get_proof())
                return Outcome.NONE
            chosen = solver.get_model() or []
            model = [*chosen, *range(len(chosen) + 1, directions.count + 1)]
            if not state_clauses(directions.failing_paths(model)):
                break
    mark = state.mark()
    for literal in model:
        if not state.order(*directions.ends(literal)):
            state.undo(mark)
            raise AssertionError("a model without a failing path does not fit")
    return Outcome.FOUND


class Directions:
    """The open pairs of a state as variables: literal k is the k-th pair as listed, -k the other way."""

    def __init__(self, state: Orientation) -> None:
        self.future = state.future
        self._refuted = [beyond | past for beyond, past in zip(state.beyond, state.past, strict=True)]
        self._ends: list[tuple[int, int]] = [(-1, -1)]
        self._starting: dict[int, list[int]] = {}  # the literals p < q of each p
        self._starts = 0
        for a, row in enumerate(state.open):
            for b in bits(row >> a):
                self._ends.append((a, a + b))
        self.count = len(self._ends) - 1
        for k in range(1, self.count + 1):
            for literal in (k, -k):
                p, _ = self.ends(literal)
                self._starting.setdefault(p, []).append(literal)
                self._starts |= 1 << p

    def ends(self, literal: int) -> tuple[int, int]:
        """p and q of the literal p < q."""
        a, b = self._ends[abs(literal)]
        return (a, b) if literal > 0 else (b, a)

    def short_paths(self) -> Iterator[Clause]:
        """The clauses of all paths of two directions that fail."""
        future = self.future
        for k in range(1, self.count + 1):
            for first in (k, -k):
                p, q = self.ends(first)
                low = self._refuted[p]
                for start in bits(future[q] & self._starts):
                    for second in self._starting[start]:
                        # A path and its mirror image are one clause of these two.
                        if second != -first and low & future[self.ends(second)[1]]:
                            yield [-first, -second]

    def failing_paths(self, model: list[int]) -> Iterator[Clause]:
        """For each direction of a model that begins a failing path, the clause of a shortest one."""
        follow: dict[int, list[int]] = {}
        starts = 0
        for literal in model:
            p, _ = self.ends(literal)
            follow.setdefault(p, []).append(literal)
            starts |= 1 << p
        for literal in model:
            path = self._shortest(literal, follow, starts)
            if path:
                yield [-each for each in path]

    def _shortest(self, first: int, follow: dict[int, list[int]], starts: int) -> Clause | None:
        """Breadth-first over directions, from `first` to one that what `first` starts from cannot precede."""
        future = self.future
        p, _ = self.ends(first)
        low = self._refuted[p]
        parent: dict[int, int] = {first: 0}
        seen = 0
        frontier = [first]
        while frontier:
            following = []
            for literal in frontier:
                _, q = self.ends(literal)
                reached = future[q]
                if low & reached:
                    path = []
                    while literal:
                        path.append(literal)
                        literal = parent[literal]  # noqa: PLW2901
                    return path
                fresh = reached & starts & ~seen
                seen |= fresh
                for start in bits(fresh):
                    for following_literal in follow[start]:
                        if following_literal not in parent:
                            parent[following_literal] = literal
                            following.append(following_literal)
            frontier = following
        return None
