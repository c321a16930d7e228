"""The labels of a log by a loop of its own, compiled by numba: as fast as they can be made from such pairs.

It is what one would write in a low-level language for nothing but this: arrays of numbers, a vector for each
reception, events in causal order. Nothing can be added or removed, and no question but `before` is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.families import Pairs

Arrays = tuple[Any, Any]
"""The left ends and the right ends of pairs."""

Compiled = tuple[Any, Any, Any, Any]
"""The chain and the index of each event, its row among the vectors, and these."""


def missing() -> bool:
    """Whether numba is not installed."""
    return find_spec("numba") is None


def arrays(pairs: Pairs) -> Arrays:
    """Pairs of Python's numbers as arrays."""
    flat = np.fromiter(chain.from_iterable(pairs), np.int32, 2 * len(pairs))
    return flat[0::2].copy(), flat[1::2].copy()


def compiled() -> Callable[[int, Any, Any], Compiled]:
    """The loop; its first run compiles it."""
    from numba import njit

    return njit(cache=True)(_labels)  # beside the file: each subject has a process of its own


def before(labels: Compiled, a: int, b: int) -> bool:
    chains, index, row, vectors = labels
    if chains[a] < 0 or chains[b] < 0:
        return False
    if chains[a] == chains[b]:
        return bool(index[a] < index[b])
    return bool(index[a] < vectors[row[b]][chains[a]])


def _labels(size: int, lefts: Any, rights: Any) -> Compiled:
    # The predecessors of v are earlier[start[v]:start[v + 1]].
    start = np.zeros(size + 1, np.int32)
    for b in rights:
        start[b + 1] += 1
    for v in range(size):
        start[v + 1] += start[v]
    free, earlier = start.copy(), np.empty(len(lefts), np.int32)
    for e in range(len(lefts)):
        b = rights[e]
        earlier[free[b]] = lefts[e]
        free[b] += 1
    chains, index = np.full(size, -1, np.int32), np.zeros(size, np.int32)
    continued, last = np.full(size, -1, np.int32), np.empty(size, np.int32)
    count = receptions = 0
    for v in range(size):
        if start[v] == start[v + 1]:
            continue
        for e in range(start[v], start[v + 1]):
            u = earlier[e]
            if chains[u] < 0:
                chains[u], last[count] = count, u
                count += 1
            if continued[v] < 0 and last[chains[u]] == u:
                continued[v] = u
        u = continued[v]
        if u < 0:
            chains[v] = count
            count += 1
        else:
            chains[v], index[v] = chains[u], index[u] + 1
        last[chains[v]] = v
        receptions += u < 0 or start[v + 1] - start[v] > 1
    row, vectors = np.zeros(size, np.int32), np.zeros((receptions + 1, count), np.int32)
    filled = 0
    for v in range(size):
        u = continued[v]
        if u >= 0:
            row[v] = row[u]
        if start[v + 1] - start[v] <= (u >= 0):
            continue
        filled += 1
        known = vectors[filled]
        if u >= 0:
            known[:] = vectors[row[u]]
        row[v] = filled
        for e in range(start[v], start[v + 1]):
            sender = earlier[e]
            if sender != u:
                other = vectors[row[sender]]
                for c in range(count):
                    known[c] = max(known[c], other[c])
                known[chains[sender]] = max(known[chains[sender]], index[sender] + 1)
    return chains, index, row, vectors
