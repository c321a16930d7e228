"""The loop that somebody would write by hand for the online rules, over rows of big integers.

The rules of `rules/` are written into it; it reads numbered events and knows no names. What the engine
costs beyond it is the price of generality.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.families import Family
from benchmarks.peers import neighbours, topological


def unknown_table(family: Family) -> tuple[list[int], list[int]]:
    """The rows of `?`, and the events in the order of their bits."""
    size = family.size
    order = topological(neighbours(size, family.before))
    at = [0] * size
    for place, event in enumerate(order):
        at[event] = place
    later: list[list[int]] = [[] for _ in range(size)]
    earlier: list[list[int]] = [[] for _ in range(size)]
    for a, b in family.before:
        later[at[a]].append(at[b])
        earlier[at[b]].append(at[a])
    past, future = [0] * size, [0] * size
    for v in range(size):
        for u in earlier[v]:
            past[v] |= past[u] | 1 << u
    for v in reversed(range(size)):
        for u in later[v]:
            future[v] |= future[u] | 1 << u
    concurrent, related = [0] * size, [0] * size
    for rows, pairs in ((concurrent, family.concurrent), (related, family.related)):
        for a, b in pairs:
            rows[at[a]] |= 1 << at[b]
            rows[at[b]] |= 1 << at[a]
    known = [past[v] | future[v] | concurrent[v] | related[v] for v in range(size)]
    related = [related[v] & ~(past[v] | future[v]) for v in range(size)]
    following = [future[v] | concurrent[v] | related[v] for v in range(size)]
    return _unknown(size, known, concurrent, related, following), order


def _unknown(
    size: int, known: list[int], concurrent: list[int], related: list[int], following: list[int]
) -> list[int]:
    full = (1 << size) - 1
    unknown = [0] * size
    pending, changed = [], 0
    for a in range(size):
        undecided = full & ~known[a] & ~(1 << a)
        if not undecided:
            continue
        found = 0
        for rows in (concurrent, related):
            for e in _bits(rows[a]):
                found |= rows[e]
        found &= undecided
        left = undecided & ~found
        if left:
            met = 0
            for e in _bits(known[a]):
                met |= known[e]
                if not left & ~met:
                    break
            found |= left & ~met
        unknown[a] = found
        if found:
            changed |= 1 << a
        if undecided & ~found:
            pending.append((a, undecided))
    while pending and changed:
        waiting, fresh = [], 0
        for a, undecided in reversed(pending):
            left = undecided & ~unknown[a]
            found = 0
            for e in _bits(following[a] & (changed | fresh)):
                found |= unknown[e] & left
                if found == left:
                    break
            for b in _bits(left & ~found):
                if following[b] & unknown[a]:
                    found |= 1 << b
            if found:
                unknown[a] |= found
                fresh |= 1 << a
            if undecided & ~unknown[a]:
                waiting.append((a, undecided))
        pending, changed = waiting[::-1], fresh
    return unknown


def _bits(row: int) -> Iterator[int]:
    digits = bin(row)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)
