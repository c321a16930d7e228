"""Claim: all refutations without `<>`, of all pairs, cost about one more closure.

Each subject starts from the pairs and ends with all pairs of which `<` is refuted. "The closure alone" is the
rows of both directions of happens-before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import solvers
from benchmarks.families import Family, mixed
from benchmarks.knowledge import knowledge
from benchmarks.measure import Line, paired
from microcosm.order.rows import Rows
from microcosm.worlds.constraints import refutations

NAME = "refutation"

CLINGO_LIMIT = 1_000
"""clingo takes more than ten seconds for more events than this."""


def run(quick: bool = False) -> list[Line]:
    """Sparse and dense microcosms, their `<>` left out."""
    if find_spec("graphblas") is None:
        print(f"{NAME}: GraphBLAS is not installed, and left out", file=sys.stderr)
    if quick:
        cases = [mixed(100), mixed(200, dense=True)]
    else:
        cases = [mixed(1_000), mixed(3_000), mixed(3_000, dense=True), mixed(10_000)]
    return [line for family in cases for line in measure(family, rounds=1 if quick else 5)]


def measure(family: Family, rounds: int) -> list[Line]:
    plain = Family(family.name, family.size, family.before, family.concurrent, [])

    def ours() -> list[int]:
        known = knowledge(plain)
        graph = known.graph()
        return refutations(known, graph, graph.pasts())

    def alone() -> Rows:
        rows = Rows(plain.size, plain.before)
        rows.saturate()
        return rows

    subjects: dict[str, Callable[[], object]] = {"microcosm": ours, "the closure alone": alone}
    if find_spec("graphblas") is not None:
        subjects["GraphBLAS"] = lambda: graphblas(plain)
    if plain.size <= CLINGO_LIMIT and "clingo" not in solvers.missing():
        subjects["clingo"] = lambda: clingo(plain)
    lines, answers = paired(NAME, plain.name, subjects, rounds=rounds, patience=10)
    mine = answers["microcosm"]
    assert isinstance(mine, list)
    total = sum(row.bit_count() for row in mine)
    if "GraphBLAS" in answers:
        assert answers["GraphBLAS"].nvals == total  # type: ignore[attr-defined]
    if "clingo" in answers:
        assert answers["clingo"] == total
    return lines


def graphblas(family: Family) -> Any:
    """Boolean matrices on one processor: the closure by squaring, then past of what is refuted of the past.

    Of the semirings and of the orders of the two last products the fastest.
    """
    import graphblas as gb

    gb.ss.config["nthreads"] = 1
    size, join = family.size, gb.semiring.any_pair
    itself = [(v, v) for v in range(size)]

    def matrix(pairs: list[tuple[int, int]]) -> Any:
        ends = np.array(pairs, dtype=np.uint64)
        return gb.Matrix.from_coo(ends[:, 0], ends[:, 1], True, nrows=size, ncols=size, dtype=bool)

    reach = matrix([*family.before, *itself])
    while True:
        further = reach.mxm(reach, join).new()
        if further.nvals == reach.nvals:
            break
        reach = further
    apart = matrix([*family.concurrent, *((b, a) for a, b in family.concurrent), *itself])
    # a !< b iff u ≤ a, u apart from v or equal to it, b ≤ v
    half = apart.mxm(reach.T, join).new()
    return reach.T.mxm(half, join).new()


def clingo(family: Family) -> int:
    """How many atoms clingo derives."""
    program = """
    event(0..n-1).
    lt(X,Y) :- before(X,Y).
    lt(X,Z) :- before(X,Y), lt(Y,Z).
    nlt(X,X) :- event(X).
    nlt(X,Y) :- concurrent(X,Y).
    nlt(Y,X) :- concurrent(X,Y).
    nlt(Y,Z) :- before(X,Y), nlt(X,Z).
    nlt(X,Y) :- before(Y,Z), nlt(X,Z).
    #show nlt/2.
    """
    control = solvers.clingo_run(family, program.replace("n-1", str(family.size - 1)))
    return sum(1 for atom in control.symbolic_atoms.by_signature("nlt", 2))
