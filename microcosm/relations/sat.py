"""The directions of `<>` by a SAT solver (CaDiCaL through python-sat, the extra `sat`).

One variable an open pair. A set of directions fails iff it has a path p1 < q1 ≤ p2 < q2 ≤ … ≤ pk < qk,
≤ being known and p1 !< qk refuted by propagation (a cycle ends in an irreflexive pair, so it is one of
these). Paths of two directions are stated at once, longer ones when the solver runs into them: there
is no cubic list of transitivity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from microcosm.relations.bits import bits, from_positions
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
                    last = directions.count + 1
                    certificate.pairs = list(
                        zip(directions.starts[1:last], directions.ends[1:last], strict=True)
                    )
                    certificate.clauses = clauses
                    certificate.drat = list(solver.get_proof())
                return Outcome.NONE
            chosen = solver.get_model() or []
            model = [*chosen, *range(len(chosen) + 1, directions.count + 1)]
            if not state_clauses(directions.failing_paths(model)):
                break
    mark = state.mark()
    for literal in model:
        if not state.order(directions.starts[literal], directions.ends[literal]):
            state.undo(mark)
            raise AssertionError("a model without a failing path does not fit")
    return Outcome.FOUND


class Directions:
    """The open pairs of a state as variables: literal k is the k-th pair as listed, -k the other way."""

    def __init__(self, state: Orientation) -> None:
        self.future = state.future
        self._refuted = [beyond | past for beyond, past in zip(state.beyond, state.past, strict=True)]
        pairs = [(a, a + b) for a, row in enumerate(state.open) for b in bits(row >> a)]
        self.count = len(pairs)
        # Literal k is the k-th pair as listed, -k the other way: an index from the end of these lists.
        self.starts = [-1, *(a for a, _ in pairs), *(b for _, b in reversed(pairs))]
        self.ends = [-1, *(b for _, b in pairs), *(a for a, _ in reversed(pairs))]
        self._starting: dict[int, list[int]] = {}
        for k in range(1, self.count + 1):
            for literal in (k, -k):
                self._starting.setdefault(self.starts[literal], []).append(literal)
        self._all_starts = from_positions(self._starting, state.size)

    def short_paths(self) -> Iterator[Clause]:
        """The clauses of all paths of two directions that fail."""
        future, ends = self.future, self.ends
        for k in range(1, self.count + 1):
            for first in (k, -k):
                low = self._refuted[self.starts[first]]
                for start in bits(future[ends[first]] & self._all_starts):
                    for second in self._starting[start]:
                        if second != -first and low & future[ends[second]]:
                            yield [-first, -second]

    def failing_paths(self, model: list[int]) -> Iterator[Clause]:
        """For each direction of a model that begins a failing path, the clause of a shortest one."""
        follow: dict[int, list[int]] = {}
        for literal in model:
            follow.setdefault(self.starts[literal], []).append(literal)
        starts = from_positions(follow, len(self.future))
        for literal in model:
            path = self._shortest(literal, follow, starts)
            if path:
                yield [-each for each in path]

    def _shortest(self, first: int, follow: dict[int, list[int]], starts: int) -> Clause | None:
        """Breadth-first over directions, from `first` to one that what `first` starts from cannot precede."""
        future, ends = self.future, self.ends
        low = self._refuted[self.starts[first]]
        parent: dict[int, int] = {first: 0}
        seen = 0
        frontier = [first]
        while frontier:
            following = []
            for literal in frontier:
                reached = future[ends[literal]]
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
