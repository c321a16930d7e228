"""Transitive closures by what one would pick instead: graph libraries, sparse matrices, logic engines.

Each takes the pairs of a family and gives the number of pairs in the closure, in the way that its own
manual suggests. A peer that is not installed is left out, and named.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.families import Family

Closure = Callable[[Family], int]

LIMITS = {
    "igraph": 5_000,
    "rustworkx": 5_000,
    "GraphBLAS": 2_000,
    "scipy": 2_000,
    "clingo": 2_000,
    "SWI-Prolog": 5_000,
    "Soufflé": 5_000,
}
"""Each peer takes more than some ten seconds for a log of more events than this."""

PACKAGES = {
    "igraph": "igraph",
    "rustworkx": "rustworkx",
    "GraphBLAS": "graphblas",
    "scipy": "scipy",
    "clingo": "clingo",
}
PROGRAMS = {"SWI-Prolog": "swipl", "Soufflé": "souffle"}


def installed() -> dict[str, Closure]:
    """The peers that are there."""
    found = {name for name, package in PACKAGES.items() if find_spec(package)}
    found |= {name for name, program in PROGRAMS.items() if which(program)}
    return {name: by for name, by in BY.items() if name in found}


def missing() -> list[str]:
    """The peers that are not."""
    return [name for name in BY if name not in installed()]


def igraph(family: Family) -> int:
    """The out-neighbourhood of every vertex, of any order."""
    import igraph as library

    graph = library.Graph(n=family.size, edges=family.before, directed=True)
    return sum(map(len, graph.neighborhood(order=family.size, mode="out"))) - family.size


def rustworkx(family: Family) -> int:
    """The descendants of every node."""
    import rustworkx as library

    graph: Any = library.PyDiGraph()
    graph.add_nodes_from(range(family.size))
    graph.add_edges_from_no_data(family.before)
    return sum(len(library.descendants(graph, v)) for v in range(family.size))


def scipy(family: Family) -> int:
    """A sparse Boolean matrix, squared until it is closed."""
    from scipy.sparse import csr_matrix

    rows, columns = zip(*family.before, strict=True)
    matrix = csr_matrix(([True] * len(rows), (rows, columns)), shape=(family.size, family.size), dtype=bool)
    while True:
        further = matrix + matrix @ matrix
        if further.nnz == matrix.nnz:
            return int(matrix.nnz)
        matrix = further


def graphblas(family: Family) -> int:
    """The same over the semiring any.pair."""
    import graphblas as gb

    rows, columns = zip(*family.before, strict=True)
    shape = {"nrows": family.size, "ncols": family.size}
    matrix = gb.Matrix.from_coo(list(rows), list(columns), True, dtype=bool, **shape)
    while True:
        before = matrix.nvals
        matrix(gb.binary.lor) << gb.semiring.any_pair(matrix @ matrix)
        if matrix.nvals == before:
            return int(before)


def clingo(family: Family) -> int:
    """Two rules, grounded."""
    import clingo as library

    control = library.Control(["--warn=none"])
    facts = "".join(f"e({a},{b})." for a, b in family.before)
    control.add("base", [], facts + "p(X,Y) :- e(X,Y). p(X,Z) :- p(X,Y), e(Y,Z).")
    control.ground([("base", [])])
    return sum(1 for _ in control.symbolic_atoms.by_signature("p", 2))


def swi_prolog(family: Family) -> int:
    """Two tabled clauses."""
    facts = "".join(f"e({a},{b}).\n" for a, b in family.before)
    rules = ":- table p/2.\np(X,Y) :- e(X,Y).\np(X,Z) :- p(X,Y), e(Y,Z).\n"
    goal = "aggregate_all(count, p(_,_), N), print(N), nl, halt"
    return _run("swipl", facts + rules, ["-q", "-g", goal])


def souffle(family: Family) -> int:
    """Two rules, interpreted."""
    facts = "".join(f"e({a},{b}).\n" for a, b in family.before)
    rules = ".decl e(a:number,b:number)\n.decl p(a:number,b:number)\n.printsize p\n"
    return _run("souffle", rules + "p(x,y) :- e(x,y).\np(x,z) :- p(x,y), e(y,z).\n" + facts, [])


def _run(program: str, text: str, options: list[str]) -> int:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "closure.dl"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, *options, str(file)], capture_output=True, text=True, check=True, timeout=600
        )
    return int(done.stdout.split()[-1])


BY: dict[str, Closure] = {
    "igraph": igraph,
    "rustworkx": rustworkx,
    "GraphBLAS": graphblas,
    "scipy": scipy,
    "clingo": clingo,
    "SWI-Prolog": swi_prolog,
    "Soufflé": souffle,
}
