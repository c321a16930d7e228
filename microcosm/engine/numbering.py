"""In which order events become positions: near to causal order, in which rows are short."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from operator import lt

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets

Columns = tuple[Sequence[int], Sequence[int]]
"""The left ends and the right ends of some pairs."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """The position of each named event, in their order, and what is stated of them by their positions."""

    position: dict[str, int]
    stated: dict[Relation, Columns]


def numbered(givens: Givens, first: int = 0) -> Numbered:
    """The named events in an order near to causal order, the first at position `first`.

    Any order is right; this one costs linear time: as stated where that is causal already, but for events
    that nothing is stated to come before, which then come first; by the sum of the vector time for a log of
    clocks; else some order that the stated `<` allow.

    >>> from microcosm.givens.correspondence import Correspondence
    >>> givens = Givens()
    >>> givens.add(Correspondence("b", Relation.BEFORE, "c"))
    >>> givens.add(Correspondence("a", Relation.BEFORE, "b"))
    >>> numbered(givens)
    Numbered(position={'a': 0, 'b': 1, 'c': 2}, stated={Relation.BEFORE: ([1, 0], [2, 1])})
    """
    position = givens.numbers(first)
    links = givens.links
    if links is not None and not (givens.internal or givens.refuted or givens.clocks):
        # The names of the links come first, as they are numbered already.
        columns = array("q", map(first.__add__, links.lefts)), array("q", map(first.__add__, links.rights))
        return _in_order(position, _causal(len(position), *columns, first), {Relation.BEFORE: columns}, first)
    stated: dict[Relation, Columns] = {}
    if links is not None:
        place = [*map(position.__getitem__, links.names)].__getitem__
        stated[Relation.BEFORE] = [*map(place, links.lefts)], [*map(place, links.rights)]
    for relation, (lefts, rights) in givens.by_relation().items():
        stated[relation] = [*map(position.__getitem__, lefts)], [*map(position.__getitem__, rights)]
    order: Sequence[int]
    if givens.clocks:
        times = {position[event]: sum(clock.entries.values()) for event, clock in givens.clocks.items()}
        order = sorted(position.values(), key=lambda at: times.get(at, 0))
    else:
        chained = [*map(position.__getitem__, givens.internal)]
        before = stated.get(Relation.BEFORE, ((), ()))
        pairs = [*before[0], *chained[:-1]], [*before[1], *chained[1:]]
        order = _causal(len(position), *pairs, first)
    return _in_order(position, order, stated, first)


def _in_order(
    position: dict[str, int], order: Sequence[int], stated: dict[Relation, Columns], first: int
) -> Numbered:
    """The same with other positions, those of `order` one after the other."""
    if order == range(first, first + len(position)):
        return Numbered(position, stated)
    place = _places(order, first).__getitem__
    moved: dict[Relation, Columns] = {
        relation: ([*map(place, columns[0])], [*map(place, columns[1])])
        for relation, columns in stated.items()
    }
    names = [*position]
    ordered = [names[at - first] for at in order]
    return Numbered(dict(zip(ordered, count(first), strict=False)), moved)


def _places(order: Sequence[int], first: int) -> list[int]:
    """Where each position stands in an order."""
    places = [0] * (first + len(order))
    for place, at in enumerate(order, first):
        places[at] = place
    return places


def _causal(size: int, lefts: Sequence[int], rights: Sequence[int], first: int) -> Sequence[int]:
    """An order of `size` positions from `first` in which few pairs lead downwards; none where that can be."""
    end = first + size
    as_stated = range(first, end)
    if all(map(lt, lefts, rights)):
        return as_stated
    later = bytearray(end)
    for b in rights:
        later[b] = 1
    # Those that something is before, in the order in which that is said.
    sources_first = [at for at in as_stated if not later[at]]
    sources_first += dict.fromkeys(rights)
    place = _places(sources_first, first).__getitem__
    if all(map(lt, map(place, lefts), map(place, rights))):
        return sources_first
    try:
        return cycle_or_order(end, *edge_sets(end, zip(lefts, rights, strict=True)))[first:]
    except Cycle:
        return as_stated
