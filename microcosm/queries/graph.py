"""The givens as a networkx graph, and back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx

from microcosm.errors import Undefined
from microcosm.givens.clock import Clock
from microcosm.givens.correspondence import GIVEN_RELATIONS, Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import SPELLINGS, Relation
from microcosm.queries.hasse import covering_pairs
from microcosm.state.microcosm import Microcosm

INTERNAL = "internal"
"""The mark of an edge of the internal chain, and its source where nothing else states it."""


def to_networkx(givens: Givens) -> networkx.MultiDiGraph[str]:
    """See `Microcosm.to_networkx`. Cost: linear."""
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


def hasse(known: Microcosm) -> networkx.DiGraph[str]:
    """See `Microcosm.hasse`. Cost: as `covering_pairs`."""
    graph: networkx.DiGraph[str] = networkx.DiGraph(name=known.name or "")
    graph.add_nodes_from(known.givens.named())
    graph.add_edges_from(covering_pairs(known))
    return graph


def from_networkx(graph: networkx.Graph[str]) -> Givens:
    """See `Microcosm.from_networkx`. Cost: linear."""
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
            givens.clocks[event] = clock
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
