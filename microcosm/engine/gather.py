"""`no e … with P(a, e), Q(e, b)` for all pairs at once, where P reads happens-before.

Whatever is reached through an order is gathered along its links: what the successors of a reach, and they
themselves. So a row costs one operation a link, not one for each event that comes later.
"""

from __future__ import annotations

from collections.abc import Callable

from microcosm.engine.body import LEFT, RIGHT, Body
from microcosm.engine.ground import RowRelation
from microcosm.engine.join import Scope
from microcosm.engine.views import AnyOf, Closure, Union
from microcosm.order.bits import bits
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets


def gathered(body: Body, scope: Scope) -> Callable[[int], int] | None:
    """For each a the set of all b for which the one pattern of `body` has a solution.

    None where the body asks for more than the absence of one pattern P(a, e), Q(e, b), e in M, or where
    P reads no order. Cost: a row operation for each link and other pair of P.
    """
    if body.ones or body.pairs or len(body.nones) != 1:
        return None
    none = body.nones[0]
    own = {v for v in none.mentioned() if v not in (LEFT, RIGHT)}
    if len(own) != 1 or none.nones or len(none.pairs) != 2:
        return None
    (middle,) = own
    ends = {(p.left if p.right == middle else p.right): p for p in none.pairs if p.positive}
    if ends.keys() != {LEFT, RIGHT} or any(one.variable != middle for one in none.ones):
        return None
    inside = scope.domain
    for one in none.ones:
        inside &= scope.subset(one.source) if one.positive else ~scope.subset(one.source)
    near = list(parts(scope.relation(ends[LEFT].source), ends[LEFT].left == LEFT))
    if not any(isinstance(relation, Closure) for relation, _ in near):
        return None
    relation = scope.relation(ends[RIGHT].source)
    rows = relation.row if ends[RIGHT].left == middle else relation.col
    return _gather(near, rows, inside, scope.domain).__getitem__


def _gather(
    near: list[tuple[RowRelation, bool]], rows: Callable[[int], int], inside: int, domain: int
) -> list[int]:
    width = max([domain.bit_length(), *(r.order.size for r, _ in near if isinstance(r, Closure))])
    beyond = [0] * width
    for e in bits(inside):
        beyond[e] = rows(e)
    found = [0] * width
    for relation, forwards in near:
        if isinstance(relation, Closure):
            for a, row in enumerate(_along(relation.order, beyond, forwards)):
                found[a] |= row
            continue
        seen = relation.row if forwards else relation.col
        for a in bits(relation.support()[0 if forwards else 1] & domain):
            row = found[a]
            for e in bits(seen(a)):
                row |= beyond[e]
            found[a] = row
    return found


def parts(relation: RowRelation, forwards: bool) -> list[tuple[RowRelation, bool]]:
    """A union as its members, each with the direction in which it is read."""
    if isinstance(relation, Union):
        return [part for member in relation.relations for part in parts(member, forwards)]
    if isinstance(relation, AnyOf):
        both = [(member, not forwards) for member, symmetric in relation.relations if not symmetric]
        return [*((member, forwards) for member, _ in relation.relations), *both]
    return [(relation, forwards)]


def tour(order: HappensBefore, forwards: bool, width: int) -> tuple[list[int], list[set[int]]]:
    """All positions, each after its neighbours in one direction, and these neighbours."""
    successors, predecessors = edge_sets(width, order.edges())
    causal = cycle_or_order(width, successors, predecessors)
    return (causal[::-1], successors) if forwards else (causal, predecessors)


def _along(order: HappensBefore, values: list[int], forwards: bool) -> list[int]:
    """For each position, the union of `values`, one a position, over its future (or its past)."""
    found = [0] * len(values)
    positions, neighbours = tour(order, forwards, len(values))
    for v in positions:
        row = 0
        for w in neighbours[v]:
            row |= found[w] | values[w]
        found[v] = row
    return found
