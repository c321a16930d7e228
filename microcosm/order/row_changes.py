"""Rows changed in place: what one of them gains or loses, carried on to those that rest on it."""

from __future__ import annotations

from heapq import heappop, heappush


def gain(rows: list[int], start: int, gained: int, onwards: list[set[int]]) -> list[int]:
    """Put what `start` gains into its row and those beyond it, stopping at rows that hold all of it.

    Returns whose rows changed. Cost: a row operation for each of these and each of their neighbours.

    >>> rows = [0, 0b1, 0]
    >>> gain(rows, 2, 0b11, [{1}, set(), set()]), rows
    ([2], [0, 1, 3])
    """
    changed = []
    stack = [start]
    while stack:
        y = stack.pop()
        row = rows[y]
        new = row | gained
        if new != row:
            rows[y] = new
            changed.append(y)
            stack.extend(onwards[y])
    return changed


def recompute(
    rows: list[int], start: int, inwards: list[set[int]], onwards: list[set[int]], believed: int = -1
) -> list[int]:
    """Recompute the row of `start` and whatever rests on it, stopping where a row comes out unchanged.

    Returns whose rows changed, as far as they are `believed`. The size of the old row orders the work:
    whatever a row rests on has no larger one, and seldom one as large (then a row may be met twice).
    """
    heap = [((rows[start] & believed).bit_count(), start)]
    queued = {start}
    changed = []
    while heap:
        _, v = heappop(heap)
        queued.discard(v)
        row = 0
        for w in inwards[v]:
            row |= rows[w] | 1 << w
        if not (row ^ rows[v]) & believed:
            continue
        rows[v] = row
        changed.append(v)
        for w in onwards[v]:
            if w not in queued:
                queued.add(w)
                heappush(heap, ((rows[w] & believed).bit_count(), w))
    return changed
