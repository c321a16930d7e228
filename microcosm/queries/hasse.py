"""Happens-before as a graph: its transitive reduction, and longest chains.

Both go over the edges that are given, or what covers them, and never over pairs: cost O(n + edges), and no
rows where happens-before is kept as labels. Both need an order: under rules that do not make happens-before
transitive they raise `Undefined`. (Under other rules that do, all its pairs are gone over.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from microcosm.engine.form import is_transitive
from microcosm.engine.lowering import initial
from microcosm.engine.views import Closure
from microcosm.errors import Undefined
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.rows import Rows
from microcosm.state.microcosm import Microcosm

Edges = list[tuple[int, int]]


def covering_pairs(known: Microcosm) -> Iterator[tuple[str, str]]:
    """The pairs `a < b` with no event between them: the Hasse diagram of happens-before.

    Cost: a question for each two edges that lead to one event.

    >>> sorted(covering_pairs(Microcosm.parse("a < b < c \\n a < c")))
    [('a', 'b'), ('b', 'c')]
    """
    order, names = _order(known), known._engine.universe.names
    for b, earlier in _grouped(order.edges()).items():
        for a in earlier:
            if not any(order.before(a, other) for other in earlier):
                yield names[a], names[b]


def longest_chain(known: Microcosm, first: str | None = None, last: str | None = None) -> list[str]:
    """A longest chain of events, each before the next; from `first` and to `last`, where these are given.

    Empty where `first` is not before `last`, or nothing is before anything. Raises `UnknownEvent`.

    >>> longest_chain(Microcosm.parse("a < b < d \\n a < c < x < d"))
    ['a', 'c', 'x', 'd']
    """
    known.require(*(name for name in (first, last) if name is not None))
    order, universe = _order(known), known._engine.universe
    a, b = (None if name is None else universe.position.get(name, 0) for name in (first, last))

    def inside(v: int) -> bool:
        return (a is None or v == a or order.before(a, v)) and (b is None or v == b or order.before(v, b))

    edges = [(v, w) for v, w in order.edges() if (a is b is None) or (inside(v) and inside(w))]
    return [universe.names[v] for v in _longest(order.size, edges)]


def _longest(size: int, edges: Edges) -> list[int]:
    """A longest path, by how many edges at most lead to each position."""
    earlier = _grouped(edges)
    ascending = all(v < w for v, w in edges)
    length, came = dict[int, int](), dict[int, int]()
    for w in sorted(earlier) if ascending else cycle_or_order(size, *edge_sets(size, edges)):
        for v in earlier.get(w, ()):
            if length.get(v, 0) >= length.get(w, 0):
                length[w] = length.get(v, 0) + 1
                came[w] = v
    if not length:
        return []
    path = [max(length, key=length.__getitem__)]
    while path[-1] in came:
        path.append(came[path[-1]])
    return path[::-1]


def _grouped(edges: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    grouped: dict[int, list[int]] = {}
    for a, b in edges:
        grouped.setdefault(b, []).append(a)
    return grouped


def _order(known: Microcosm) -> HappensBefore:
    """The order of the initial judgements. Raises `Undefined` where the rules do not make it one."""
    engine, pred = known._engine, initial(Relation.BEFORE)
    relation = engine.memo.judged(pred)
    if isinstance(relation, Closure):
        return relation.order
    if not is_transitive(engine.memo, pred):
        raise Undefined(
            "under these rules happens-before is not transitive (none says `a < c` of all `a < b`, `b < c`), "
            "and has neither a Hasse diagram nor longest chains"
        )
    named = engine.universe.named
    return Rows(len(engine.universe), ((a, b) for a in bits(named) for b in bits(relation.row(a))))
