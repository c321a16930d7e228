"""In which order events become positions: near to causal order, in which rows are short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    >>> givens.add(Correspondence("b", Relation.BEFORE, "c")); givens.add(Correspondence("a", Relation.BEFORE, "b"))
    >>> numbered(givens)
    Numbered(names=['a', 'b', 'c'], stated={Relation.BEFORE: ([1, 0], [2, 1])})
    """
    names = list(givens.named())
    position = dict(zip(names, count(), strict=False))
    stated: dict[Relation, Columns] = {}
    if givens.links is not None:
        stated[Relation.BEFORE] = _renumbered(
            map(position.__getitem__, givens.links.names), (givens.links.lefts, givens.links.rights)
        )
    for relation, (lefts, rights) in givens.by_relation().items():
        stated[relation] = [*map(position.__getitem__, lefts)], [*map(position.__getitem__, rights)]
    if givens.clocks:
        times = {position[event]: sum(clock.entries.values()) for event, clock in givens.clocks.items()}
        order = sorted(range(len(names)), key=lambda at: times.get(at, 0))
    else:
        chained = [*map(position.__getitem__, givens.internal)]
        lefts, rights = stated.get(Relation.BEFORE, ((), ()))
        order = _causal(len(names), [*lefts, *chained[:-1]], [*rights, *chained[1:]])
    places = [0] * len(names)
    for place, at in enumerate(order, first):
        places[at] = place
    renumbered = {relation: _renumbered(places, columns) for relation, columns in stated.items()}
    return Numbered([*map(names.__getitem__, order)], renumbered)


def _renumbered(places: Iterable[int], columns: Columns) -> Columns:
    place = [*places].__getitem__
    return [*map(place, columns[0])], [*map(place, columns[1])]


def _causal(size: int, lefts: list[int], rights: list[int]) -> Sequence[int]:
    """An order of the positions below `size` in which few pairs lead downwards; none where that can be."""
    as_stated = range(size)
    if all(map(lt, lefts, rights)):
        return as_stated
    later = bytearray(size)
    for b in rights:
        later[b] = 1
    # Those that something is before, in the order in which that is said.
    sources_first = [*compress(as_stated, map(not_, later)), *dict.fromkeys(rights)]
    places = [0] * size
    for place, at in enumerate(sources_first):
        places[at] = place
    if all(map(lt, map(places.__getitem__, lefts), map(places.__getitem__, rights))):
        return sources_first
    try:
        return cycle_or_order(size, *edge_sets(size, zip(lefts, rights, strict=True)))
    except Cycle:
        return as_stated
