"""Events that surely take no part in an initial clash, found without their rows."""

from __future__ import annotations

from microcosm.engine.body import Source
from microcosm.engine.ground import Ground
from microcosm.engine.plan import Plan
from microcosm.givens.relation import Relation
from microcosm.order.clock_order import agreeing
from microcosm.order.happens_before import HappensBefore
from microcosm.order.labels import Labels

GIVEN = Source("given", None, Relation.CONCURRENT)


def surely_clean(ground: Ground, order: HappensBefore, concurrent: Plan | None) -> int:
    """The events that are concurrent with others by their clocks alone, and not with any before them.

    None unless happens-before is kept as labels and `||` is what is given: else rows are cheap, or needed.
    """
    if concurrent is None or not isinstance(order, Labels):
        return 0
    if not all(p.source == GIVEN for found in concurrent.bodies.values() for b in found for p in b.pairs):
        return 0
    stated, related = ground.given[Relation.CONCURRENT], ground.given[Relation.RELATED]
    rows, cols = related.support()
    for relation_ends in (stated.after, stated.before):
        for at in relation_ends:
            rows |= 1 << at
    return agreeing(ground.clocks, order) & ~(rows | cols)
