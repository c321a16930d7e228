"""The givens of a microcosm as constraints on the relation of every pair.

What a world has to satisfy is what is given and nothing more: the rules of the calculus only draw
conclusions from it. So possibilities do not depend on rule files, and are an opinion of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from microcosm.givens.clock import Clock
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.stamp import Stamp
from microcosm.order.bits import from_positions
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import Cycle
from microcosm.order.stamps import StampOrder
from microcosm.order.whole import lacking_order
from microcosm.worlds.constraints import Knowledge


def knowledge_of(givens: Givens, position: Mapping[str, int], size: int) -> Knowledge:
    """The constraints of some givens, given the position of each named event (below `size`).

    Clocks become a cover and rows of what they refute (seed 003 with clocks: a !< b where b's clock has
    not seen a), tokens rows of `<>`, stamps stay numbers; what a log that is stated to be complete leaves
    unordered is refuted both ways. Cost: linear, and n·n/64 for clocks, tokens and complete logs.
    """
    known = constrained(
        position,
        size,
        chain=givens.internal,
        facts=[*givens.external.values(), *givens.refuted.values()],
        groups=givens.tokens.values(),
        clocks=givens.clocks,
        stamps=givens.stamps,
    )
    if givens.complete and givens.messages:
        _complete(givens, position, known)
    return known


def _complete(givens: Givens, position: Mapping[str, int], known: Knowledge) -> None:
    """Refute, both ways, what a complete log says nothing of, unless it leaves out what it must say."""
    try:
        graph = known.graph()
    except Cycle:
        return
    past, future, related = graph.pasts(), graph.futures(), known.related_rows()
    if lacking_order(givens, position, lambda at: past[at].bit_count(), lambda a, b: bool(past[b] >> a & 1)):
        return
    events = {position[event] for event in givens.tellers()}
    everything = from_positions(events, known.size)
    for at in events:
        if row := everything & ~(past[at] | future[at] | related[at]):
            known.unseen[at] = known.unseen.get(at, 0) | row


def constrained(
    position: Mapping[str, int],
    size: int,
    *,
    chain: Sequence[str] = (),
    facts: Iterable[Correspondence] = (),
    groups: Iterable[Sequence[str]] = (),
    clocks: Mapping[str, Clock] | None = None,
    stamps: Mapping[str, Stamp] | None = None,
) -> Knowledge:
    """As `knowledge_of`, from the parts of a `Givens`."""
    known = Knowledge(size, [(position[a], position[b]) for a, b in pairwise(chain)])
    stated = _stated(known)
    for fact in facts:
        stated[fact.relation].append((position[fact.left], position[fact.right]))
    known.groups = [[position[event] for event in group] for group in groups]
    if clocks:
        rows = ClockRows(clocks, position)
        known.before += rows.cover()
        for event in clocks:
            if row := rows.missed(position[event]):
                known.unseen[position[event]] = row
    known.stamps = StampOrder({position[event]: stamp for event, stamp in (stamps or {}).items()})
    return known


def _stated(known: Knowledge) -> dict[Relation, list[tuple[int, int]]]:
    """Where each relation that can be given is listed."""
    return {
        Relation.BEFORE: known.before,
        Relation.NOT_BEFORE: known.refuted,
        Relation.CONCURRENT: known.concurrent,
        Relation.RELATED: known.related,
    }
