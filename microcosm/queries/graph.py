"""Happens-before as a graph (its transitive reduction), longest chains, and the givens as a networkx graph.

The reduction and the chains go over the edges that are given, or what covers them, and never over pairs: cost
O(n + edges), and no rows where happens-before is kept as labels. Both need an order: under rules that do not
make happens-before transitive they raise `Undefined`. Under other rules that do, each pair is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from microcosm.engine.engine import Engine
from microcosm.engine.lowering import initial
from microcosm.errors import Undefined
from microcosm.givens.clock import Clock
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.order.bits import bits
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.order import Closure
from microcosm.order.rows import Rows

if TYPE_CHECKING:
    import networkx

INTERNAL = "internal"
"""The mark of an edge of the internal chain, and its source where nothing else states it."""

Edges = list[tuple[int, int]]


def covering_pairs(engine: Engine) -> Iterator[tuple[str, str]]:
    """The pairs `a < b` with no event between them: the Hasse diagram of happens-before.

    Cost: a question for each two edges that lead to one event.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> sorted(covering_pairs(Engine(read_rules(), read_givens("a < b < c \\n a < c"))))
    [('a', 'b'), ('b', 'c')]
    """
    order, names = _order(engine), engine.universe.names
    for b, earlier in _grouped(order.edges()).items():
        for a in earlier:
            if not any(order.before(a, other) for other in earlier):
                yield names[a], names[b]


def longest_chain(engine: Engine, first: str | None = None, last: str | None = None) -> list[str]:
    """A longest chain of events, each before the next; from `first` and to `last`, where these are given.

    Empty where `first` is not before `last`, or nothing is before anything. Cost: linear in the edges, and a
    question for each that `first` and `last` leave open.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> longest_chain(Engine(read_rules(), read_givens("a < b < d \\n a < c < x < d")))
    ['a', 'c', 'x', 'd']
    """
    order, universe = _order(engine), engine.universe
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


def _order(engine: Engine) -> HappensBefore:
    """The order of the initial judgements. Raises `Undefined` where the rules do not make it one."""
    pred = initial(Relation.BEFORE)
    relation = engine.memo.judged(pred)
    if isinstance(relation, Closure):
        return relation.order
    if not engine.memo.is_transitive(pred):
        raise Undefined(
            "under these rules happens-before is not transitive (none says `a < c` of all `a < b`, `b < c`), "
            "and has neither a Hasse diagram nor longest chains"
        )
    named = engine.universe.named
    return Rows(len(engine.universe), ((a, b) for a in bits(named) for b in bits(relation.row(a))))


def to_networkx(givens: Givens) -> networkx.MultiDiGraph[str]:
    """The givens as a multigraph, see `Microcosm.to_networkx`. Cost: linear."""
    import networkx

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=givens.name or "")
    graph.add_nodes_from(givens.clocks)  # their order is that of events with equal components
    graph.add_nodes_from(givens.named())
    for fact in (*givens.external.values(), *givens.refuted.values()):
        graph.add_edge(fact.left, fact.right, key=str(fact.relation), source=fact.source)
    for a, b in pairwise(givens.internal):
        if not graph.has_edge(a, b, key="<"):
            graph.add_edge(a, b, key="<", source=INTERNAL)
        graph.edges[a, b, "<"][INTERNAL] = True
    for event, clock in givens.clocks.items():
        graph.nodes[event]["clock"] = clock
    for token, group in givens.tokens.items():
        for event in group:
            graph.nodes[event].setdefault("tokens", []).append(token)
    return graph


def hasse(engine: Engine, givens: Givens) -> networkx.DiGraph[str]:
    """The covering pairs as a graph over all events that are named. Cost: as `covering_pairs`."""
    import networkx

    graph: networkx.DiGraph[str] = networkx.DiGraph(name=givens.name or "")
    graph.add_nodes_from(givens.named())
    graph.add_edges_from(covering_pairs(engine))
    return graph


def from_networkx(graph: networkx.Graph[str]) -> Givens:
    """What a directed graph says, see `Microcosm.from_networkx`. Raises `Undefined`. Cost: linear."""
    givens = Givens(name=graph.name or None)
    following: dict[str, str] = {}
    for a, b, key, attributes in _edges(graph):
        source = attributes.get("source")
        if not isinstance(a, str) or not isinstance(b, str):
            raise Undefined(f"events are named by text, and a node is {a if not isinstance(a, str) else b!r}")
        relation = SPELLINGS.get(str(key), Relation.BEFORE)
        if relation is Relation.BEFORE and attributes.get(INTERNAL):
            if a in following or a == b:
                raise Undefined(f"the internal chain branches at {a}")
            following[a] = b
            if source == INTERNAL:
                continue
        fact = Correspondence(a, relation, b, source if isinstance(source, str) else None).normal()
        if fact.relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE) or a == b:
            raise Undefined(f"`{fact}` cannot be given")
        givens.add(fact)
    givens.internal = _chain(following)
    tokens: dict[str, list[str]] = {}
    for event, attributes in graph.nodes(data=True):
        clock = attributes.get("clock")
        if isinstance(clock, Clock):
            givens.time(event, clock)
        for token in attributes.get("tokens", ()):
            tokens.setdefault(token, []).append(event)
    givens.tokens = {token: tuple(group) for token, group in tokens.items()}
    return givens


def _edges(graph: networkx.Graph[str]) -> Iterator[tuple[object, object, object, dict[str, object]]]:
    """Ends, sign and attributes of each edge; an edge without sign says `<`, one without direction cannot."""
    if not graph.is_directed():
        raise Undefined("a graph without directions does not say which event is before which")
    if graph.is_multigraph():
        yield from graph.edges(keys=True, data=True)
    else:
        yield from ((a, b, "<", attributes) for a, b, attributes in graph.edges(data=True))


def _chain(following: dict[str, str]) -> list[str]:
    """The chain of all its links."""
    if not following:
        return []
    ends = set(following.values())
    first = [a for a in following if a not in ends]
    chain = first[:1]
    while chain and chain[-1] in following:
        chain.append(following[chain[-1]])
    if len(first) != 1 or len(chain) != len(following) + 1:
        raise Undefined("the internal events make no one chain")
    return chain
