"""Lanes, and chains along them: where the events of a page stand, before anything is drawn.

A lane is a process of the log, and may hold several chains; what belongs to no known process has lanes of its
own, which chains share that are not there at the same time. Chains are found in one pass over the events in
causal order, as those of `order.chain_cover` are, but without vectors: the page works these out by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import lt

from microcosm.order.happens_before import cycle_or_order, edge_sets
from microcosm.queries.drawing import lane_order


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the picture; `known` says whether it is a process, called `name`, and not just some room."""

    name: str
    known: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The chains, each a list of events in order, and the lane of each; `order` lists lanes from above."""

    chains: list[list[int]]
    lane: list[int]
    lanes: list[Lane]
    order: list[int]
    causal: Sequence[int]
    """All events in an order that extends the given one."""


def laid_out(lefts: Sequence[int], rights: Sequence[int], owners: Sequence[str | None]) -> Layout:
    """The layout of the events 0, 1, … of which `lefts[i]` comes before `rights[i]`.

    `owners` says the process of each, None where nobody knows. Raises `Cycle`. Cost: linear in events and
    pairs; and where some pair leads downwards, a topological sort.

    >>> found = laid_out([0, 2, 0], [1, 3, 3], ["p", "p", "q", "q"])
    >>> found.chains, [lane.name for lane in found.lanes], found.order
    ([[0, 1], [2, 3]], ['p', 'q'], [0, 1])
    """
    size = len(owners)
    causal: Sequence[int] = range(size)
    if not all(map(lt, lefts, rights)):
        causal = cycle_or_order(size, *edge_sets(size, zip(lefts, rights, strict=True)))
    before: list[list[int] | None] = [None] * size
    for a, b in zip(lefts, rights, strict=True):
        known = before[b]
        if known is None:
            before[b] = [a]
        else:
            known.append(a)
    chains, chain = _chains(causal, before, owners)
    lanes, lane = _lanes(chains, causal, before, owners)
    by_lane = sorted(range(len(chains)), key=lambda number: (lane[number], chains[number][0]))
    weight: Counter[tuple[int, int]] = Counter()
    for b, several in enumerate(before):
        for a in several or ():
            if chain[a] != chain[b]:
                one, other = lane[chain[a]], lane[chain[b]]
                if one != other:
                    weight[(one, other) if one < other else (other, one)] += 1
    return Layout(
        [chains[number] for number in by_lane],
        [lane[number] for number in by_lane],
        lanes,
        lane_order(len(lanes), weight),
        causal,
    )


def _chains(
    causal: Sequence[int], before: Sequence[Sequence[int] | None], owners: Sequence[str | None]
) -> tuple[list[list[int]], list[int]]:
    """An event continues the chain of a predecessor of its process that is still the last of its chain."""
    chain = [0] * len(owners)
    chains: list[list[int]] = []
    for v in causal:
        for u in before[v] or ():
            members = chains[chain[u]]
            if members[-1] == u and owners[u] == owners[v]:
                chain[v] = chain[u]
                members.append(v)
                break
        else:
            chain[v] = len(chains)
            chains.append([v])
    return chains, chain


def _lanes(
    chains: Sequence[Sequence[int]],
    causal: Sequence[int],
    before: Sequence[Sequence[int] | None],
    owners: Sequence[str | None],
) -> tuple[list[Lane], list[int]]:
    """A lane for each process, in the order in which they appear, then as few as do for the other chains."""
    named: dict[str, int] = {}
    for process in dict.fromkeys(owners):
        if process is not None:
            named[process] = len(named)
    lanes = [Lane(name, True) for name in named]
    lane = [0] * len(chains)
    others = []
    for number, members in enumerate(chains):
        process = owners[members[0]]
        if process is None:
            others.append(number)
        else:
            lane[number] = named[process]
    if others:
        depth = depths(causal, before)
        others.sort(key=lambda number: (depth[chains[number][0]], number))
        ends: list[int] = []  # of the last chain on each lane
        for number in others:
            begin, end = depth[chains[number][0]], depth[chains[number][-1]]
            room = next((at for at, last in enumerate(ends) if last + 1 < begin), len(ends))
            if room == len(ends):
                ends.append(end)
                lanes.append(Lane("", False))
            ends[room] = end
            lane[number] = len(named) + room
    return lanes, lane


def depths(causal: Sequence[int], before: Sequence[Sequence[int] | None]) -> list[int]:
    """The length of the longest chain of given pairs that leads to each event. Cost: linear.

    >>> depths([0, 1, 2], [None, [0], [0, 1]])
    [0, 1, 2]
    """
    depth = [0] * len(before)
    for v in causal:
        several = before[v]
        if several is not None:
            depth[v] = 1 + max(map(depth.__getitem__, several))
    return depth
