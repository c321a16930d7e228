"""Lanes, and chains along them: where the events of a page stand, before anything is drawn.

A lane is a process of the log, and may hold several chains; what belongs to no known process has lanes of its
own, which chains share that are not there at the same time. Chains are found in one pass over the events in
causal order, as those of `order.chain_cover` are, but without vectors: the page works these out by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import lt

from microcosm.order.happens_before import cycle_or_order, edge_sets

LANES_ORDERED = 150
"""More lanes than this stand as they appear: to order them would take longer than to read the log."""

ROUNDS = 20
"""So often at most all pairs of lanes are tried in each other's place."""


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


def laid_out(lefts: Sequence[int], rights: Sequence[int], whose: Sequence[str | None]) -> Layout:
    """The layout of the events 0, 1, … of which `lefts[i]` comes before `rights[i]`.

    `whose` says the process of each, None where nobody knows. Raises `Cycle`. Cost: linear in events and
    pairs; and where some pair leads downwards, a topological sort.

    >>> found = laid_out([0, 2, 0], [1, 3, 3], ["p", "p", "q", "q"])
    >>> found.chains, [lane.name for lane in found.lanes], found.order
    ([[0, 1], [2, 3]], ['p', 'q'], [0, 1])
    """
    size = len(whose)
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
    chains, chain = _chains(causal, before, whose)
    lanes, lane = _lanes(chains, causal, before, whose)
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
    causal: Sequence[int], before: Sequence[Sequence[int] | None], whose: Sequence[str | None]
) -> tuple[list[list[int]], list[int]]:
    """An event continues the chain of a predecessor of its process that is still the last of its chain."""
    chain = [0] * len(whose)
    chains: list[list[int]] = []
    for v in causal:
        for u in before[v] or ():
            members = chains[chain[u]]
            if members[-1] == u and whose[u] == whose[v]:
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
    whose: Sequence[str | None],
) -> tuple[list[Lane], list[int]]:
    """A lane for each process, in the order in which they appear, then as few as do for the other chains."""
    named: dict[str, int] = {}
    for process in dict.fromkeys(whose):
        if process is not None:
            named[process] = len(named)
    lanes = [Lane(name, True) for name in named]
    lane = [0] * len(chains)
    others = []
    for number, members in enumerate(chains):
        process = whose[members[0]]
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


def lane_order(count: int, weight: Mapping[tuple[int, int], int]) -> list[int]:
    """The lanes from above, so that what they send to one another has short ways.

    `weight` has for each two lanes, the lesser first, how much they send. Each lane is put where it costs
    least, the busiest first, then pairs change places as long as that helps. Of an order and its reverse that
    one is taken in which lanes that appear early are above. Cost: cubic, up to `LANES_ORDERED` lanes.

    >>> lane_order(3, {(0, 2): 5, (1, 2): 5})
    [0, 2, 1]
    """
    if not weight or count > LANES_ORDERED:
        return list(range(count))
    beside: list[dict[int, int]] = [{} for _ in range(count)]
    for (one, other), many in weight.items():
        beside[one][other] = beside[other][one] = many
    order: list[int] = []
    for lane in sorted(range(count), key=lambda lane: (-sum(beside[lane].values()), lane)):
        order.insert(_best_place(order, beside[lane], beside), lane)
    for _ in range(ROUNDS):
        place = {lane: at for at, lane in enumerate(order)}
        improved = False
        for at in range(count - 1):
            upper, lower = order[at], order[at + 1]
            if _pull(upper, lower, place, beside) < _pull(lower, upper, place, beside):
                order[at], order[at + 1] = lower, upper
                place[lower], place[upper] = at, at + 1
                improved = True
        if not improved:
            break
    falls = sum(1 if a < b else -1 for a, b in pairwise(order))
    return order if falls > 0 or (falls == 0 and order[0] < order[-1]) else order[::-1]


def _pull(lane: int, but: int, place: Mapping[int, int], beside: Sequence[Mapping[int, int]]) -> int:
    """How much more a lane sends to lanes above it than to lanes below, leaving one lane out."""
    own, at = beside[lane], place[lane]
    return sum(many if place[other] < at else -many for other, many in own.items() if other != but)


def _best_place(order: Sequence[int], own: Mapping[int, int], beside: Sequence[Mapping[int, int]]) -> int:
    """Where in an order one more lane, which sends to its `own`, adds least to the ways of messages."""
    place = {lane: at for at, lane in enumerate(order)}
    below = sum(own.get(lane, 0) * (at + 1) for at, lane in enumerate(order))
    left = right = 0
    for lane in order:
        right += own.get(lane, 0)
    best, least, above, over = 0, below, 0, 0
    for at, lane in enumerate(order):  # the new lane moves below this one
        many = own.get(lane, 0)
        below -= right
        right -= many
        left += many
        above += left
        over += sum(w if place[other] > at else -w for other, w in beside[lane].items() if other in place)
        if above + below + over < least:
            best, least = at + 1, above + below + over
    return best
