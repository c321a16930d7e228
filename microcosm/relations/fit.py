"""Worlds over positions as they are shown: a linear order and the pairs that generate `<`; their checker.

The checker is a second opinion: it closes the pairs by itself and looks at every constraint as it was
given. Whatever a search finds goes through it before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from microcosm.relations.bits import bits
from microcosm.relations.happens_before import cycle_or_order, edge_sets
from microcosm.relations.knowledge import Knowledge

BLOCK = 4096
"""So many columns of the closure are computed at a time: memory stays linear in the events."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A world: its `<` is what follows from `edges` by transitivity, and `order` extends it.

    >>> world = Fit.of(4, [(2, 0), (0, 1), (2, 1)])
    >>> world.order, world.reduction()
    ([2, 3, 0, 1], [(0, 1), (2, 0)])
    """

    order: list[int]
    edges: list[tuple[int, int]]

    @classmethod
    def of(cls, size: int, edges: Iterable[tuple[int, int]]) -> Fit:
        """The world that some pairs generate. Raises `Cycle`."""
        once = list(dict.fromkeys(edges))
        return cls(cycle_or_order(size, *edge_sets(size, once)), once)

    def reduction(self) -> list[tuple[int, int]]:
        """The pairs that do not follow from others, sorted (the transitive reduction)."""
        successors = _successors(len(self.order), self.edges)
        kept = []
        for first, rows in _blocks(self.order, successors):
            inside = range(first, first + BLOCK)
            for a, later in enumerate(successors):
                further = 0
                for b in later:
                    further |= rows[b]
                kept += [(a, b) for b in later if b in inside and not further >> (b - first) & 1]
        return sorted(kept)


def fault(known: Knowledge, world: Fit) -> str | None:
    """What of a knowledge is not so in a world; None where it fits. Cost: O(E · n/64), memory O(n)."""
    place = {at: rank for rank, at in enumerate(world.order)}
    if sorted(place) != list(range(known.size)):
        return "the order is not one of all events"
    for a, b in chain(world.edges, known.before):
        if place[a] >= place[b]:
            return f"{a} < {b} goes against the order"
    successors = _successors(known.size, world.edges)
    predecessors = _successors(known.size, ((b, a) for a, b in world.edges)) if known.related else []
    mask = (1 << BLOCK) - 1
    for first, rows in _blocks(world.order, successors):
        for a, b in known.before:
            if first <= b < first + BLOCK and not rows[a] >> (b - first) & 1:
                return f"{a} < {b} does not hold"
        for a, row in known.refuted.items():
            if wrong := rows[a] & (row >> first & mask):
                return f"{a} < {first + next(bits(wrong))} is refuted"
        if known.related:
            _, earlier = next(_blocks(world.order[::-1], predecessors, first))
            for a, row in known.related.items():
                if wrong := (row >> first & mask) & ~(rows[a] | earlier[a]):
                    return f"{a} and {first + next(bits(wrong))} are not ordered"
    return _stamp_fault(known, world, successors)


def _stamp_fault(known: Knowledge, world: Fit, successors: list[list[int]]) -> str | None:
    """Stamps only have to rise along `<`: the latest of the past is carried forward."""
    latest: dict[int, int] = {}
    begun: dict[int, float] = {}
    for v in world.order if known.stamps else ():
        stamp = known.stamps.of.get(v)
        if isinstance(stamp, tuple):
            if v in begun and begun[v] > stamp[1]:
                return f"the interval of {v} ends before one of its past begins"
            begun[v] = max(stamp[0], begun.get(v, stamp[0]))
        elif stamp is not None:
            if v in latest and latest[v] >= stamp:
                return f"the stamp of {v} is not above one of its past"
            latest[v] = stamp
        for carried in (latest, begun):
            if v in carried:
                for w in successors[v]:
                    carried[w] = max(carried[v], carried.get(w, carried[v]))  # type: ignore[assignment]
    return None


def _successors(size: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges:
        found[a].append(b)
    return found


def _blocks(order: list[int], successors: list[list[int]], begin: int = 0) -> Iterator[tuple[int, list[int]]]:
    """Some columns of the closure at a time: the first of them, and each position's row within the block."""
    for first in range(begin, len(order), BLOCK):
        rows = [0] * len(order)
        for v in reversed(order):
            row = 0
            for w in successors[v]:
                row |= rows[w]
                if first <= w < first + BLOCK:
                    row |= 1 << (w - first)
            rows[v] = row
        yield first, rows
