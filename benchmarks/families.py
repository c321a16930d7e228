"""The inputs: families of microcosms drawn from fixed seeds, events numbered from 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Family:
    """`size` events and what is given about them; no pair is given twice, and condition (4) holds."""

    name: str
    size: int
    before: Pairs
    concurrent: Pairs
    related: Pairs

    def givens(self) -> Givens:
        """The same as the package reads it; every event is named `e0`, `e1`, …"""
        givens = Givens()
        stated = (
            (Relation.BEFORE, self.before),
            (Relation.CONCURRENT, self.concurrent),
            (Relation.RELATED, self.related),
        )
        for relation, pairs in stated:
            for a, b in pairs:
                givens.add(Correspondence(f"e{a}", relation, f"e{b}"))
        return givens


def rand(size: int, facts: int, seed: int = 1) -> Family:
    """A random acyclic relation: `facts` pairs an event, events numbered in no particular order."""
    rng = Random(seed)
    order = rng.sample(range(size), size)
    pairs = set()
    while len(pairs) < facts * size:
        i, j = sorted(rng.sample(range(size), 2))
        pairs.add((order[i], order[j]))
    return Family(f"rand {size:,}", size, sorted(pairs), [], [])


def trace(size: int, processes: int, seed: int = 1) -> Family:
    """A log: each event extends the chain of some process, every third receives from another one."""
    rng = Random(seed)
    last: list[int | None] = [None] * processes
    pairs = []
    for event in range(size):
        process = rng.randrange(processes)
        here = last[process]
        if here is not None:
            pairs.append((here, event))
        sender = last[rng.randrange(processes)]
        if event % 3 == 0 and sender is not None and sender != here:
            pairs.append((sender, event))
        last[process] = event
    return Family(f"trace{processes} {size:,}", size, pairs, [], [])


def mixed(size: int, *, dense: bool = False, seed: int = 1) -> Family:
    """2n `<`, 2n `||`, n/2 `<>` (dense: ten times as many `||` and `<>`); `<>` is on unordered pairs."""
    rng = Random(seed)
    order = rand(size, 2, seed).before
    future = closure(size, order)
    fold = 10 if dense else 1
    wanted = [2 * size * fold, size // 2 * fold]
    drawn: tuple[Pairs, Pairs] = ([], [])
    taken: set[tuple[int, int]] = set()
    for pairs, count in zip(drawn, wanted, strict=True):
        while len(pairs) < count:
            a, b = rng.sample(range(size), 2)
            pair = (min(a, b), max(a, b))
            if pair not in taken and not future[a] >> b & 1 and not future[b] >> a & 1:
                taken.add(pair)
                pairs.append(pair)
    return Family(f"{'dense' if dense else 'mixed'} {size:,}", size, order, *drawn)


def closure(size: int, before: Iterable[tuple[int, int]]) -> list[int]:
    """The row of all later events for each event, the slow and obvious way: a search from each."""
    successors: list[list[int]] = [[] for _ in range(size)]
    for a, b in before:
        successors[a].append(b)
    rows = []
    for start in range(size):
        seen = set(successors[start])
        stack = list(seen)
        while stack:
            fresh = [w for w in successors[stack.pop()] if w not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        row = bytearray(size // 8 + 1)
        for v in seen:
            row[v >> 3] |= 1 << (v & 7)
        rows.append(int.from_bytes(row, "little"))
    return rows
