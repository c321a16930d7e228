"""Solvers as peers: does some world fit? Each as one would use it who knows it and this problem.

z3 has partial orders built in and clingo closes relations by itself. For CaDiCaL and CP-SAT a variable is
the direction of a `<>`, and transitivity is stated lazily: where a model leads to a refuted pair or a cycle,
shortest such paths become clauses, and the solver goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import permutations
from typing import Any

from benchmarks.families import Family, Pairs

Model = Sequence[int]
"""A literal for each `<>`, numbered from 1: positive where it is ordered as written."""

Solve = Callable[[list[list[int]]], Model | None]
"""Takes further clauses, gives the next model."""

PACKAGES = {"CaDiCaL": "pysat", "z3": "z3", "clingo": "clingo", "CP-SAT": "ortools"}


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name, package in PACKAGES.items() if find_spec(package) is None]


def cadical(family: Family) -> bool:
    """CaDiCaL through python-sat."""
    from pysat.solvers import Solver

    with Solver(name="cadical153") as solver:

        def solve(clauses: list[list[int]]) -> Model | None:
            solver.append_formula(clauses)
            return solver.get_model() if solver.solve() else None

        return lazily(family, solve)


def cadical_at_once(family: Family) -> bool:
    """CaDiCaL with a variable for each ordered pair and transitivity for all triples, the textbook way."""
    from pysat.solvers import Solver

    size = family.size

    def lt(a: int, b: int) -> int:
        return a * size + b + 1

    with Solver(name="cadical153") as solver:
        for a, b in permutations(range(size), 2):
            if a < b:
                solver.add_clause([-lt(a, b), -lt(b, a)])
            for c in range(size):
                if c not in (a, b):
                    solver.add_clause([-lt(a, b), -lt(b, c), lt(a, c)])
        for a, b in family.before:
            solver.add_clause([lt(a, b)])
        for a, b in family.concurrent:
            solver.add_clause([-lt(a, b)])
            solver.add_clause([-lt(b, a)])
        for a, b in family.related:
            solver.add_clause([lt(a, b), lt(b, a)])
        return bool(solver.solve())


def cp_sat(family: Family) -> bool:
    """CP-SAT of OR-tools, one worker."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_bool_var("") for _ in family.related]

    def literal(k: int) -> Any:
        return variables[k - 1] if k > 0 else variables[-k - 1].negated()

    def solve(clauses: list[list[int]]) -> Model | None:
        for clause in clauses:
            model.add_bool_or([literal(k) for k in clause])
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        return [k if solver.value(v) else -k for k, v in enumerate(variables, 1)]

    return lazily(family, solve)


def lazily(family: Family, solve: Solve) -> bool:
    """Solve, close, state what went wrong, again."""
    refuted: list[set[int]] = [{v} for v in range(family.size)]
    for a, b in family.concurrent:
        refuted[a].add(b)
        refuted[b].add(a)
    clauses: list[list[int]] = []
    while True:
        model = solve(clauses)
        if model is None:
            return False
        signs = [k if k <= len(model) and model[k - 1] > 0 else -k for k in range(1, len(family.related) + 1)]
        successors: list[list[tuple[int, int]]] = [[] for _ in range(family.size)]
        for a, b in family.before:
            successors[a].append((b, 0))
        for k, (a, b) in zip(signs, family.related, strict=True):
            if k > 0:
                successors[a].append((b, k))
            else:
                successors[b].append((a, k))
        clauses = [clause for v in range(family.size) for clause in failing(v, successors, refuted[v])]
        if not clauses:
            return True


def failing(start: int, successors: list[list[tuple[int, int]]], refuted: set[int]) -> list[list[int]]:
    """Clauses for the shortest paths from an event to what it cannot precede."""
    parent: dict[int, tuple[int, int]] = {}
    queue, found = deque([start]), []
    while queue:
        v = queue.popleft()
        for w, literal in successors[v]:
            if w in parent:
                continue
            parent[w] = v, literal
            if w in refuted:
                clause, at = [], w
                while True:
                    at, taken = parent[at]
                    if taken:
                        clause.append(-taken)
                    if at == start:
                        break
                found.append(clause)
            if w != start:
                queue.append(w)
    return found


def z3_order(family: Family) -> tuple[Any, Any, Any]:
    """z3 with the facts told: the solver, the order, the events."""
    import z3

    events = [z3.IntVal(v) for v in range(family.size)]
    order = z3.PartialOrder(z3.IntSort(), 0)
    solver = z3.Solver()
    for a, b in family.before:
        solver.add(order(events[a], events[b]))
    for a, b in family.concurrent:
        solver.add(z3.Not(order(events[a], events[b])), z3.Not(order(events[b], events[a])))
    for a, b in family.related:
        solver.add(z3.Or(order(events[a], events[b]), order(events[b], events[a])))
    return solver, order, events


def z3_fits(family: Family) -> bool:
    """z3 with its built-in partial orders."""
    import z3

    return bool(z3_order(family)[0].check() == z3.sat)


def z3_pairs(family: Family) -> Callable[[Pairs], list[str]]:
    """z3 with the facts told and one world found: what is possible of some pairs, by push and pop."""
    import z3

    solver, order, events = z3_order(family)
    assert solver.check() == z3.sat

    def ask(pairs: Pairs) -> list[str]:
        answers = []
        for a, b in pairs:
            forth, back = order(events[a], events[b]), order(events[b], events[a])
            answer = ""
            for sign, told in (("<", [forth]), (">", [back]), ("||", [z3.Not(forth), z3.Not(back)])):
                solver.push()
                solver.add(*told)
                answer += sign if solver.check() == z3.sat else ""
                solver.pop()
            answers.append(answer)
        return answers

    return ask


PROGRAM = """
1 { lt(X,Y); lt(Y,X) } 1 :- related(X,Y).
lt(X,Y) :- before(X,Y).
lt(X,Z) :- lt(X,Y), lt(Y,Z).
:- lt(X,X).
:- concurrent(X,Y), lt(X,Y).
:- concurrent(X,Y), lt(Y,X).
"""


def clingo_fits(family: Family) -> bool:
    """clingo: choose directions, close, forbid."""
    return bool(clingo_run(family, PROGRAM).solve().satisfiable)


def clingo_run(family: Family, program: str) -> Any:
    """A clingo control with the facts of a family and a program, grounded."""
    import clingo

    control = clingo.Control(["--warn=none"])
    told = (("before", family.before), ("concurrent", family.concurrent), ("related", family.related))
    facts = "".join(f"{name}({a},{b})." for name, pairs in told for a, b in pairs)
    control.add("base", [], f"{facts}{program}")
    control.ground([("base", [])])
    return control
