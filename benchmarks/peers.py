"""The same calculus by other means: numpy packed rows, and networkx with Python sets.

Both are written as one would who knew these rules and nothing else: no rule files, no memo, no proofs.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from benchmarks.families import Family, Pairs

Packed = Any
"""An array of unsigned bytes: row a, packed little bit first."""

Table = dict[str, Packed]
"""For each relation the packed rows of its verdicts."""


def neighbours(size: int, pairs: Pairs) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(size)]
    for a, b in pairs:
        found[a].append(b)
    return found


def topological(successors: list[list[int]]) -> list[int]:
    waiting = [0] * len(successors)
    for later in successors:
        for v in later:
            waiting[v] += 1
    order = [v for v, count in enumerate(waiting) if not count]
    for v in order:
        for w in successors[v]:
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    return order


def numpy_closure(size: int, pairs: Pairs) -> tuple[Packed, Packed]:
    """Packed rows of all later and of all earlier events: each pair once, in topological order."""
    successors, predecessors = neighbours(size, pairs), neighbours(size, [(b, a) for a, b in pairs])
    order = topological(successors)
    return _closed(reversed(order), successors), _closed(order, predecessors)


def _closed(order: Any, beside: list[list[int]]) -> Packed:
    size = len(beside)
    rows = np.zeros((size, (size + 63) // 64), dtype=np.uint64)
    word = [v >> 6 for v in range(size)]
    bit = [np.uint64(1 << (v & 63)) for v in range(size)]
    for v in order:
        row = rows[v]
        for w in beside[v]:
            np.bitwise_or(row, rows[w], out=row)
            row[word[w]] |= bit[w]
    return rows.view(np.uint8)


def networkx_closure(size: int, pairs: Pairs) -> nx.DiGraph:
    """The closure as a graph, which knows successors and predecessors."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(pairs)
    return nx.transitive_closure_dag(graph)


def numpy_table(family: Family) -> Table:
    """All verdicts of online decision making, as packed rows."""
    size = family.size
    width = (size + 63) // 64 * 8
    before, after = numpy_closure(size, family.before)
    concurrent, related = (_symmetric(size, width, pairs) for pairs in (family.concurrent, family.related))
    order = before | after
    known = order | concurrent | related
    related &= ~order  # superseded
    others = np.zeros((size, width), dtype=np.uint8)
    others[:, : (size + 7) // 8] = np.packbits(1 - np.eye(size, dtype=np.uint8), axis=1, bitorder="little")
    undecided = others & ~known
    unknown = _through(concurrent, concurrent) | _through(related, related)  # Un-1
    unknown |= ~_through(known, known)  # Un-3
    unknown &= undecided
    steps = before | concurrent | related
    while True:  # Un-2, Un-Sym
        grown = unknown | (_through(steps, unknown) & undecided)
        grown |= _transposed(size, grown)
        if np.array_equal(grown, unknown):
            break
        unknown = grown
    return {"<": before, "||": concurrent, "<>": related, "?": unknown}


def _symmetric(size: int, width: int, pairs: Pairs) -> Packed:
    rows = np.zeros((size, width), dtype=np.uint8)
    for a, b in pairs:
        rows[a, b >> 3] |= 1 << (b & 7)
        rows[b, a >> 3] |= 1 << (a & 7)
    return rows


def _through(first: Packed, then: Packed) -> Packed:
    """The composition: row a is the union of the rows of `then` over the bits of row a of `first`."""
    words = then.view(np.uint64)
    found = np.zeros_like(words)
    for a, row in enumerate(np.unpackbits(first, axis=1, bitorder="little")[:, : len(first)]):
        at = np.flatnonzero(row)
        if len(at):
            np.bitwise_or.reduce(words[at], axis=0, out=found[a])
    return found.view(np.uint8)


def _transposed(size: int, rows: Packed) -> Packed:
    square = np.unpackbits(rows, axis=1, bitorder="little")[:, :size].T
    packed = np.zeros_like(rows)
    packed[:, : (size + 7) // 8] = np.packbits(square, axis=1, bitorder="little")
    return packed


def networkx_table(family: Family) -> dict[str, list[set[int]]]:
    """All verdicts of online decision making, as sets of events for each event."""
    graph = networkx_closure(family.size, family.before)
    events = set(graph)
    before = [set(graph.succ[a]) for a in events]
    order = [before[a] | set(graph.pred[a]) for a in events]
    others = [nx.Graph(pairs) for pairs in (family.concurrent, family.related)]
    for other in others:
        other.add_nodes_from(events)
    concurrent, given = ([set(other.adj[a]) for a in events] for other in others)
    related = [given[a] - order[a] for a in events]
    known = [order[a] | concurrent[a] | given[a] for a in events]
    undecided = [events - known[a] - {a} for a in events]
    unknown: list[set[int]] = []
    for a in events:
        seeds = {b for rows in (concurrent, related) for e in rows[a] for b in rows[e]} & undecided[a]
        apart, far = set(undecided[a]), iter(known[a])
        while apart and (e := next(far, None)) is not None:
            apart -= known[e]
        unknown.append(seeds | apart)
    waiting = [(e, b) for e in events for b in unknown[e]]
    earlier = [set(graph.pred[e]) | concurrent[e] | related[e] for e in events]
    for e, b in waiting:  # grows as it goes
        unknown[b].add(e)
        for x, y in ((e, b), (b, e)):
            for a in (earlier[x] & undecided[y]) - unknown[y]:
                unknown[y].add(a)
                unknown[a].add(y)
                waiting.append((a, y))
    return {"<": before, "||": concurrent, "<>": related, "?": unknown}


def scipy_table(family: Family) -> int:
    """How many ordered pairs are `?`, by products of sparse matrices."""
    from scipy.sparse import csr_matrix, eye

    size = family.size

    def matrix(pairs: Pairs) -> Any:
        ones = np.ones(len(pairs), dtype=bool)
        lefts, rights = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return csr_matrix((ones, (lefts, rights)), shape=(size, size), dtype=bool)

    before, count = matrix(family.before), -1
    while before.nnz != count:
        count = before.nnz
        before = before + before @ before
    concurrent, related = (
        matrix([*pairs, *((b, a) for a, b in pairs)]) for pairs in (family.concurrent, family.related)
    )
    order = before + before.T
    known = order + concurrent + related
    related = related > related.multiply(order)
    decided = known + eye(size, dtype=bool, format="csr")
    everything = csr_matrix(np.ones((size, size), dtype=bool))
    unknown = concurrent @ concurrent + related @ related  # Un-1
    unknown = unknown + (everything > known @ known)  # Un-3
    unknown = unknown > unknown.multiply(decided)
    steps, count = before + concurrent + related, -1
    while unknown.nnz != count:  # Un-2, Un-Sym
        count = unknown.nnz
        grown = steps @ unknown
        grown = grown > grown.multiply(decided)
        unknown = unknown + grown + grown.T
    return int(unknown.nnz)


UNKNOWN_RULES = """
lt(X,Y) :- b(X,Y).  lt(X,Z) :- lt(X,Y), b(Y,Z).
c(Y,X) :- c(X,Y).  g(Y,X) :- g(X,Y).
o(X,Y) :- lt(X,Y).  o(Y,X) :- lt(X,Y).
r(X,Y) :- g(X,Y), not o(X,Y).
k(X,Y) :- o(X,Y).  k(X,Y) :- c(X,Y).  k(X,Y) :- g(X,Y).
m(X,Y) :- k(X,E), k(E,Y).
d(X,Y) :- n(X), n(Y), X != Y, not k(X,Y).
s(X,E) :- lt(X,E).  s(X,E) :- c(X,E).  s(X,E) :- r(X,E).
u(X,Y) :- d(X,Y), c(X,E), c(E,Y).
u(X,Y) :- d(X,Y), r(X,E), r(E,Y).
u(X,Y) :- d(X,Y), not m(X,Y).
u(Y,X) :- u(X,Y).
u(X,Y) :- u(E,Y), s(X,E), d(X,Y).
"""


def clingo_table(family: Family) -> int:
    """How many ordered pairs are `?`, the rules being grounded."""
    import clingo

    control = clingo.Control(["--warn=none"])
    facts = [f"n(0..{family.size - 1})."]
    for name, pairs in (("b", family.before), ("c", family.concurrent), ("g", family.related)):
        facts += [f"{name}({a},{b})." for a, b in pairs]
    control.add("base", [], "".join(facts) + UNKNOWN_RULES)
    control.ground([("base", [])])
    return sum(1 for _ in control.symbolic_atoms.by_signature("u", 2))
