"""Rows of bits from prefixes of chains: one prefix a chain, made without a row for each prefix.

Where chains are numbered along causal order, the ends of all prefixes lie near one position: below it every
chain is in and above it none, but for few events. Only these are touched one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from microcosm.order.bits import from_positions


def staircase(
    chains: list[list[int]], every: int, size: int, reach: Callable[[int], int], rising: bool
) -> int:
    """The first `reach(c)` positions of each chain c; `every` is the row of all chains together.

    `rising` says that positions rise along each chain. Cost: P · log n, n / 64, and the positions that
    lie on the other side of the middle end than their chain's.

    >>> chains = [[0, 2, 5], [1, 3, 4]]
    >>> bin(staircase(chains, 0b111111, 6, [1, 2].__getitem__, True))
    '0b1011'
    """
    counts = [reach(number) for number in range(len(chains))]
    if not rising:
        return from_positions([v for chain, k in zip(chains, counts, strict=True) for v in chain[:k]], size)
    ends = [chain[k] if k < len(chain) else size for chain, k in zip(chains, counts, strict=True)]
    pivot = _middle(ends, chains)
    row = every & (1 << pivot) - 1
    other: list[int] = []
    for chain, k, end in zip(chains, counts, ends, strict=True):
        if end > pivot:
            other += chain[bisect_left(chain, pivot) : k]
        elif end < pivot:
            other += chain[k : bisect_left(chain, pivot)]
    if not other:
        return row
    least = min(other)
    return row ^ from_positions([v - least for v in other], max(other) - least + 1) << least


def _middle(ends: list[int], chains: list[list[int]]) -> int:
    """The end with as many positions on chains that end below as on those that end above.

    Not simply the middle one: many short chains, of events that nothing else is known of, say nothing of
    where the long ones end.
    """
    left = sum(map(len, chains)) / 2
    for end, weight in sorted(zip(ends, map(len, chains), strict=True)):
        left -= weight
        if left <= 0:
            return end
    return 0
