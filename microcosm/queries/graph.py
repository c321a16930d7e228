"""Happens-before as a graph: the events around one or between two, its transitive reduction, longest chains,
and the givens as a networkx graph.

The reduction and the chains go over the edges that are given, or what covers them, and never over pairs: cost
O(n + edges), and no rows where happens-before is kept as labels. Both need an order: under rules that do not
make happens-before transitive they raise `Undefined`. Under other rules that do, each pair is looked at.
Neighbours are told under any rules, by rows of bits, each of n/64 words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from microcosm.engine.engine import Engine
from microcosm.engine.lowering import HAPPENS_BEFORE, online
from microcosm.engine.memo import Memo
from microcosm.errors import Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Clock, Correspondence, Relation
from microcosm.givens.spelling import SPELLINGS, expect, read_relation
from microcosm.order.bits import bits, from_positions, lowest
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.order import Closure
from microcosm.order.rows import Rows
from microcosm.text.statement import expect_named

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
    relation = engine.memo.judged(HAPPENS_BEFORE)
    if isinstance(relation, Closure):
        return relation.order
    if not engine.memo.is_transitive(HAPPENS_BEFORE):
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
    import networkx

    expect(networkx.Graph, "graph", graph)
    givens = Givens(name=graph.name or None)
    if givens.name is not None:
        expect_named(givens.name)
    following: dict[str, str] = {}
    for a, b, key, attributes in _edges(graph):
        source = attributes.get("source")
        expect_named(a, b, *([source] if isinstance(source, str) and source else []))
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
        clock, held = attributes.get("clock"), [*attributes.get("tokens", ())]
        if isinstance(clock, Clock) or held:
            expect_named(event, *held)
        if isinstance(clock, Clock):
            givens.set_clock(event, clock)
        for token in held:
            tokens.setdefault(token, []).append(event)
    givens.tokens = {token: tuple(group) for token, group in tokens.items()}
    return givens


def _edges(graph: networkx.Graph[str]) -> Iterator[tuple[Any, Any, object, dict[str, object]]]:
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


CERTAIN = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)
"""The verdicts that say something of a pair."""


class Neighbours:
    """The events around those of an engine; made when first asked, valid until the givens change.

    Every event that is asked about must be named. Cost, where nothing else is said: some rows of bits, and
    the size of the answer; for `?` and silence a question for each event of which nothing is known.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> album = read_givens('unshare < upload < view \\n upload || "log in"')
    >>> around = Neighbours(Engine(read_rules(), album), album)
    >>> list(around.with_verdict(Relation.BEFORE, "view"))
    ['unshare', 'upload']
    >>> list(around.with_verdict("silent", "log in"))
    ['unshare', 'view']
    >>> list(around.between("unshare", "view")), around.frontier("unshare", "log in")
    (['upload'], ([], []))
    """

    def __init__(self, engine: Engine, givens: Givens) -> None:
        self._engine, self._givens = engine, givens
        self._rank: dict[str, int] | None = None

    def with_verdict(self, relation: Relation | str | None, event: str, concurrent: int = 0) -> Iterator[str]:
        """The events b with the verdict `b R event`. Raises `Undefined` for what is no relation.

        Those of the row `concurrent`, undecided online, count as concurrent. For `?` and silence the other
        events of which nothing is known are asked about one by one.
        """
        relation = read_relation(relation)
        engine = self._engine
        memo, _, at = engine.locate(event, event)
        if relation not in (Relation.UNKNOWN, Relation.SILENT):
            more = concurrent if relation is Relation.CONCURRENT else 0
            return self.named(_column(memo, relation, at) | more)
        undecided = self.undecided(event) & ~concurrent
        unknown = memo.judged(online(Relation.UNKNOWN))
        wanted = relation is Relation.UNKNOWN
        position = engine.universe.position
        return (b for b in self.named(undecided) if unknown.holds(position[b], at) is wanted)

    def undecided(self, event: str) -> int:
        """The row of the events of which nothing certain is known beside one: `?` or silence."""
        memo, _, at = self._engine.locate(event, event)
        row = self._engine.universe.named & ~(1 << at)
        for certain in CERTAIN:
            row &= ~_column(memo, certain, at)
        return row

    def between(self, first: str, last: str) -> Iterator[str]:
        """The events after `first` and before `last`; there are none where `first` is not before `last`."""
        memo, x, y = self._engine.locate(first, last)
        before = memo.judged(online(Relation.BEFORE))
        if x == y or not before.holds(x, y):
            return iter(())
        return self.named(before.row(x) & before.col(y))

    def frontier(self, a: str, b: str) -> tuple[list[str], list[str]]:
        """What encloses two events: the last events before both, and the first events after both.

        Last are those that no other event before both comes after; first those that none comes before. Cost:
        two rows for each event of the answer; under rules that make no order of `<`, a row for each event
        before both or after both.
        """
        engine = self._engine
        memo, x, y = engine.locate(a, b)
        before = memo.judged(online(Relation.BEFORE))
        earlier, later = before.col(x) & before.col(y), before.row(x) & before.row(y)
        if isinstance(before, Closure):
            last = _ends(before.row, before.col, earlier, lambda row: row.bit_length() - 1)
            first = _ends(before.col, before.row, later, lowest)
        else:
            size = len(engine.universe)
            last = from_positions([at for at in bits(earlier) if not before.row(at) & earlier], size)
            first = from_positions([at for at in bits(later) if not before.col(at) & later], size)
        return list(self.named(last)), list(self.named(first))

    def named(self, row: int) -> Iterator[str]:
        """The events of a row of bits, in the order in which the givens name them."""
        if self._rank is None:
            self._rank = {name: rank for rank, name in enumerate(self._givens.named())}
        names = self._engine.universe.names
        return iter(sorted([names[at] for at in bits(row)], key=self._rank.__getitem__))


def _column(memo: Memo, relation: Relation, at: int) -> int:
    """The row of all b with the verdict `b R at`, the more accurate ones taken out."""
    before = memo.judged(online(Relation.BEFORE))
    if relation is Relation.BEFORE:
        return before.col(at)
    if relation is Relation.AFTER:
        return before.row(at) & ~before.col(at)
    column = memo.judged(online(relation)).col(at)
    if column:
        column &= ~(before.col(at) | before.row(at))
    if relation is Relation.RELATED and column:
        column &= ~memo.judged(online(Relation.CONCURRENT)).col(at)
    return column


def _ends(
    beyond: Callable[[int], int], behind: Callable[[int], int], rest: int, pick: Callable[[int], int]
) -> int:
    """The events of a row beyond which none of the others is: of an order the last, or the first.

    `pick` takes one of a row, that which is likely to be farthest.
    """
    found = 0
    while rest:
        at = pick(rest)
        while farther := beyond(at) & rest:
            at = pick(farther)
        found |= 1 << at
        rest &= ~(behind(at) | 1 << at)
    return found
