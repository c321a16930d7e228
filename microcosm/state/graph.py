"""The givens as a networkx graph."""

from __future__ import annotations

from itertools import pairwise

import networkx

from microcosm.relations.givens import Givens


def to_networkx(givens: Givens) -> networkx.MultiDiGraph[str]:
    """See `Microcosm.to_networkx`. Cost: linear."""
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=givens.name or "")
    graph.add_nodes_from(givens.named())
    for a, b in pairwise(givens.internal):
        graph.add_edge(a, b, key="<", source="internal")
    for fact in (*givens.external.values(), *givens.refuted.values()):
        graph.add_edge(fact.left, fact.right, key=str(fact.relation), source=fact.source)
    for event, clock in givens.clocks.items():
        graph.nodes[event]["clock"] = clock
    for token, group in givens.tokens.items():
        for event in group:
            graph.nodes[event].setdefault("tokens", []).append(token)
    return graph
