"""In which order events become positions: near to causal order, in which rows are short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, count
from operator import lt, not_

from microcosm.relations.givens import Givens
from microcosm.relations.happens_before import Cycle, cycle_or_order, edge_sets
from microcosm.relations.relation import Relation

Columns = tuple[Sequence[int], Sequence[int]]
"""The left ends and the right ends of some pairs."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """The named events in some order, and what is stated of them by their positions, the first `first`."""

    names: list[str]
    stated: dict[Relation, Columns]


def numbered(givens: Givens, first: int = 0) -> Numbered:
    """The named events in an order near to causal order.

    Any order is right; this one costs linear time: as stated where that is causal already, but for events
    that nothing is stated to come before, which then come first; by the sum of the vector time for a log of
    clocks; else some order that the stated `<` allow.

    >>> from microcosm.relations.correspondence import Correspondence
    >>> givens = Givens()
    >>> givens.add(Correspondence("b", Relation.BEFORE, "c"))
    >>> givens.add(Correspondence("a", Relation.BEFORE, "b"))
    >>> numbered(givens)
    Numbered(names=['a', 'b', 'c'], stated={Relation.BEFORE: ([1, 0], [2, 1])})
    """
    names, links = list(givens.named()), givens.links
    if links is not None and not (givens.internal or givens.refuted or givens.clocks):
        # The names of the links come first, as they are numbered already.
        columns = links.lefts, links.rights
        return _in_order(names, _causal(len(names), *columns), {Relation.BEFORE: columns}, first)
    position = dict(zip(names, count(), strict=False))
    stated: dict[Relation, Columns] = {}
    if links is not None:
        place = [*map(position.__getitem__, links.names)].__getitem__
        stated[Relation.BEFORE] = [*map(place, links.lefts)], [*map(place, links.rights)]
    for relation, (lefts, rights) in givens.by_relation().items():
        stated[relation] = [*map(position.__getitem__, lefts)], [*map(position.__getitem__, rights)]
    order: Sequence[int]
    if givens.clocks:
        times = {position[event]: sum(clock.entries.values()) for event, clock in givens.clocks.items()}
        order = sorted(range(len(names)), key=lambda at: times.get(at, 0))
    else:
        chained = [*map(position.__getitem__, givens.internal)]
        before = stated.get(Relation.BEFORE, ((), ()))
        order = _causal(len(names), [*before[0], *chained[:-1]], [*before[1], *chained[1:]])
    return _in_order(names, order, stated, first)


def _in_order(
    names: list[str], order: Sequence[int], stated: dict[Relation, Columns], first: int
) -> Numbered:
    as_stated = order == range(len(names))
    places = first.__add__ if as_stated else _places(order, first).__getitem__
    renumbered: dict[Relation, Columns] = {
        relation: ([*map(places, lefts)], [*map(places, rights)])
        for relation, (lefts, rights) in stated.items()
    }
    return Numbered(names if as_stated else [*map(names.__getitem__, order)], renumbered)


def _places(order: Sequence[int], first: int = 0) -> list[int]:
    """Where each position stands in an order."""
    places = [0] * len(order)
    for place, at in enumerate(order, first):
        places[at] = place
    return places


def _causal(size: int, lefts: Sequence[int], rights: Sequence[int]) -> Sequence[int]:
    """An order of the positions below `size` in which few pairs lead downwards; none where that can be."""
    as_stated = range(size)
    if all(map(lt, lefts, rights)):
        return as_stated
    later = bytearray(size)
    for b in rights:
        later[b] = 1
    # Those that something is before, in the order in which that is said.
    sources_first = [*compress(as_stated, map(not_, later)), *dict.fromkeys(rights)]
    if _leads_onwards(sources_first, lefts, rights):
        return sources_first
    try:
        return cycle_or_order(size, *edge_sets(size, zip(lefts, rights, strict=True)))
    except Cycle:
        return as_stated


def _leads_onwards(order: Sequence[int], lefts: Sequence[int], rights: Sequence[int]) -> bool:
    place = _places(order).__getitem__
    return all(map(lt, map(place, lefts), map(place, rights)))
