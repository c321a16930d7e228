"""Contradictions that one chain of `<` shows: a cycle, or an order that a single given or two stamps refute.

They are the usual ones, and found directly: a shortest chain and what it runs into are minimal as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.stamp import too_late
from microcosm.order.bits import bits
from microcosm.order.happens_before import Cycle
from microcosm.order.rows import Rows

INTERNAL = "internal events"
"""The source of a correspondence that the internal chain gives."""


def refuted_chain(givens: Givens) -> tuple[list[Correspondence], list[str]] | None:
    """Correspondences, and events with their stamps, that contradict one another; None if none are found.

    Clocks, tokens and `<>` are not looked at. Cost: a search for each refuting given.

    >>> givens = Givens(internal=["a", "b", "c"], stamps={"a": 7, "c": 3})
    >>> found, stamped = refuted_chain(givens)
    >>> [str(fact) for fact in found], stamped
    (['a < c'], ['a', 'c'])
    """
    names = list(givens.named())
    at = {name: position for position, name in enumerate(names)}
    stated = {(at[f.left], at[f.right]): f for f in givens.external.values() if f.relation is Relation.BEFORE}
    rank = {at[event]: place for place, event in enumerate(givens.internal)}
    edges = [*stated, *((at[a], at[b]) for a, b in pairwise(givens.internal))]

    def links(path: list[int]) -> list[Correspondence]:
        """The givens along a path; a run along the internal chain is one."""
        found: list[Correspondence] = []
        for a, b in pairwise(path):
            internal = a in rank and b in rank and rank[b] == rank[a] + 1
            if internal and found and found[-1].source == INTERNAL and found[-1].right == names[a]:
                found[-1] = Correspondence(found[-1].left, Relation.BEFORE, names[b], INTERNAL)
            elif internal:
                found.append(Correspondence(names[a], Relation.BEFORE, names[b], INTERNAL))
            else:
                found.append(stated[a, b])
        return found

    try:
        rows = Rows(len(names), edges)
    except Cycle as cycle:
        return links([*cycle.path, cycle.path[0]]), []
    for fact in (*givens.external.values(), *givens.refuted.values()):
        if fact.relation in (Relation.CONCURRENT, Relation.NOT_BEFORE):
            for a, b in ((fact.left, fact.right), (fact.right, fact.left)):
                if fact.relation is Relation.NOT_BEFORE and a != fact.left:
                    continue
                path = rows.chain(at[a], at[b])
                if path:
                    return [*links(path), fact], []
    for a, b in _late(givens, rows, at, names):
        path = rows.chain(at[a], at[b])
        if path:
            return links(path), [a, b]
    return None


def _late(givens: Givens, rows: Rows, at: dict[str, int], names: list[str]) -> Iterator[tuple[str, str]]:
    """A pair of stamped events in an order that their stamps rule out, if there is one."""
    ordered = {event for f in givens.external.values() for event in (f.left, f.right)} | set(givens.internal)
    for event, stamp in givens.stamps.items():
        if event not in ordered:
            continue
        for x in bits(rows.past(at[event])):
            if too_late(givens.stamps.get(names[x]), stamp):
                yield names[x], event
                return
