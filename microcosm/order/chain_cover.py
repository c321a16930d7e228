"""Covering an acyclic relation by chains of its edges, and labelling each position with what it knows.

One pass over the positions in causal order. A position continues the chain of a predecessor that is still
the last of its own and belongs to the same process; where no process is known, of the first such predecessor
as stated. So chains that the data names are taken as they are and never searched for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain as joined
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from microcosm.errors import MicrocosmError
from microcosm.givens.clock_columns import COMPONENT, FIELD, guards, merged
from microcosm.order.bits import from_positions
from microcosm.order.happens_before import NONE, SEVERAL, Cycle, cycle_or_order, edge_sets

ProcessOf = Callable[[int], Hashable]
"""The process of a position; None where it is not known."""


@runtime_checkable
class ProcessesOf(Protocol):
    """A `ProcessOf` that can also tell many at once."""

    def __call__(self, position: int) -> Hashable: ...

    def of_all(self, size: int) -> list[Hashable]:
        """The processes of all positions below `size`."""


UNPLACED = 1 << 35
"""The chain of a position without edges: its component of any vector is 0."""


class Wide(MicrocosmError):
    """A relation that needs more chains than its labels would be worth."""


@dataclass(slots=True)
class ChainCover:
    """Labels of each position, and the edges that no chain contains.

    `chain[v]` is the number of the chain of v, `index[v]` counts along it. `vector[v]` is what v knows of
    other chains: how many of each, from the first, are before it; of its own chain it may know less.
    `crossing[v]` are the predecessors of v by edges that are no links of a chain.
    """

    chains: list[list[int]]
    chain: list[int]
    index: list[int]
    vector: list[int]
    known_crossing: dict[int, list[int]] | Callable[[], dict[int, list[int]]]
    ascending: bool
    """Whether every edge leads from a smaller position to a larger one."""
    rising: bool
    """Whether every link of a chain does."""

    @property
    def crossing(self) -> dict[int, list[int]]:
        """The edges that no chain contains; made when first asked for, where that was put off."""
        if callable(self.known_crossing):
            self.known_crossing = self.known_crossing()
        return self.known_crossing


def cover(
    size: int, edges: Iterable[tuple[int, int]], process: ProcessOf | None = None, most: int | None = None
) -> ChainCover:
    """The labels of positions below `size`. Raises `Cycle`, `Wide`.

    Cost: linear in positions and edges, and some operations on a vector for each reception that brings
    news; positions are sorted only where some edge leads downwards.

    >>> labels = cover(4, [(0, 1), (2, 3), (0, 3)], "aabb".__getitem__)
    >>> labels.chains, labels.crossing
    ([[0, 1], [2, 3]], {3: [0]})
    """
    first = [NONE] * size
    more: dict[int, list[int]] = {}
    ascending = True
    for a, b in edges:
        if a >= b:
            ascending = False
            if a == b:
                raise Cycle([a])
        known = first[b]
        if known == NONE:
            first[b] = a
        elif known == SEVERAL:
            more[b].append(a)
        else:
            more[b] = [known, a]
            first[b] = SEVERAL
    most = size if most is None else most
    if ascending and most < size and _fewest_chains(first[: 4 * most], more) > most:
        raise Wide
    owner = _owners(process, size) if process is not None else None
    order: Sequence[int] = range(size)
    if not ascending:
        pairs = [(a, b) for b, a in enumerate(first) if a >= 0]
        pairs += [(a, b) for b, several in more.items() for a in several]
        order = cycle_or_order(size, *edge_sets(size, pairs))
    return _label(order, first, more, owner, most, ascending)


def _fewest_chains(first: list[int], more: dict[int, list[int]]) -> int:
    """No cover has fewer chains: each link leads from a position of its own to one that has a predecessor.

    Of the first positions of an ascending relation: they lie on no more chains than all do.
    """
    several = [more[v] for v, u in enumerate(first) if u == SEVERAL]
    senders = {*first, *joined.from_iterable(several)} - {NONE, SEVERAL}
    return len(first) - first.count(NONE) - len(senders)


def _owners(process: ProcessOf, size: int) -> list[Hashable] | None:
    """The process of each position; None where none is known, which makes the same chains."""
    owner = process.of_all(size) if isinstance(process, ProcessesOf) else [process(v) for v in range(size)]
    return None if owner.count(None) == size else owner


def _label(
    order: Iterable[int],
    first: list[int],
    more: dict[int, list[int]],
    owner: list[Hashable] | None,
    most: int,
    ascending: bool,
) -> ChainCover:
    size = len(first)
    chain, index, vector = [UNPLACED] * size, [0] * size, [0] * size
    chains: list[list[int]] = []
    last: list[int] = []  # of each chain
    crossing: dict[int, list[int]] = {}
    guard = 0

    def begin(v: int) -> int:
        nonlocal guard
        number = len(chains)
        if number >= most:
            raise Wide
        chain[v] = number
        chains.append([v])
        last.append(v)
        if number.bit_count() <= 1:
            guard = guards(2 * number + 1)
        return number

    for v in order:
        u = first[v]
        if u >= 0:
            number = chain[u]
            if number == UNPLACED:
                number = begin(u)
            if last[number] == u and (owner is None or owner[u] == owner[v]):
                last[number] = v
                chain[v] = number
                index[v] = index[u] + 1
                vector[v] = vector[u]
                continue
            senders = [u]
            before = NONE
        elif u == NONE:
            continue
        else:
            before = NONE
            senders = more[v]
            for u in senders:
                number = chain[u]
                if number == UNPLACED:
                    number = begin(u)
                if before < 0 and last[number] == u and (owner is None or owner[u] == owner[v]):
                    before = u
            if len(senders) > 2 or senders[0] == senders[1]:
                senders = list(dict.fromkeys(senders))
        if before < 0:
            number = begin(v)
            known = 0
        else:
            number = chain[v] = chain[before]
            index[v] = index[before] + 1
            known = vector[before]
            last[number] = v
            senders.remove(before)
        if senders:
            crossing[v] = senders
            for u in senders:
                # As `learnt`, written out: this is where the time goes.
                sender = chain[u]
                if sender != number:
                    at, count = sender * FIELD, index[u] + 1
                    if known >> at & COMPONENT < count:
                        other = vector[u]
                        if other != known:
                            larger = ((known | guard) - other) & guard
                            known = other ^ ((known ^ other) & (larger - (larger >> 31)))
                        known += count - (known >> at & COMPONENT) << at
        vector[v] = known
    for v in order:
        if index[v]:
            chains[chain[v]].append(v)
    rising = ascending or all(a < b for members in chains for a, b in pairwise(members))
    return ChainCover(chains, chain, index, vector, crossing, ascending, rising)


def learnt(known: int, senders: Iterable[int], own: int, labels: ChainCover, guard: int) -> int:
    """The vector of a position of chain `own` that knows `known` and all that `senders` know, and these."""
    for u in senders:
        number = labels.chain[u]
        at, count = number * FIELD, labels.index[u] + 1
        if number != own and known >> at & COMPONENT < count:
            known = merged(known, labels.vector[u], guard)
            known += count - (known >> at & COMPONENT) << at
    return known


Array = Any
"""A numpy array of integers, or of truth values."""


class LabelArrays:
    """A copy of labels as they stand, as numpy arrays: many questions at once, answered as by `Labels`.

    Cost: linear in them; a question is some memory accesses.

    Raises `ImportError` without numpy. Memory: 4 bytes for each chain and distinct vector, 12 an event.

    >>> LabelArrays(cover(3, [(0, 1), (1, 2)])).before([0, 2], [2, 0]).tolist()
    [True, False]
    """

    def __init__(self, cover: ChainCover) -> None:
        import numpy as np

        width = len(cover.chains) + 1  # the last component is that of no chain, and 0
        self._chain = np.array([width - 1 if c == UNPLACED else c for c in cover.chain], dtype=np.int32)
        self._index = np.array(cover.index, dtype=np.uint32)
        number: dict[int, int] = {}
        rows = [number.setdefault(id(vector), len(number)) for vector in cover.vector]
        distinct = {id(vector): vector for vector in cover.vector}
        size = width * FIELD // 8
        packed = b"".join([distinct[key].to_bytes(size, "little") for key in number])
        self._known = np.frombuffer(packed, dtype="<u4").reshape(len(number), width)
        self._row = np.array(rows, dtype=np.int32)
        self._np = np

    def before(self, a: Array, b: Array) -> Array:
        """Whether a[i] < b[i], for two sequences of positions of one length."""
        np = self._np
        a, b = np.asarray(a), np.asarray(b)
        chain = self._chain[a]
        known = np.where(chain == self._chain[b], self._index[b], self._known[self._row[b], chain])
        return self._index[a] < known

    @property
    def chains(self) -> int:
        """How many chains there are; the number of the chain of a position that is on none."""
        return int(self._known.shape[1]) - 1

    def prefixes(self, events: Array) -> Array:
        """For each position a row: how many events of each chain are before it. Cost: its size.

        A copy with a column for each chain; the last one is that of no chain, and 0.
        """
        np = self._np
        found = self._known[self._row[events]].astype(np.int64)
        found[np.arange(len(found)), self._chain[events]] = self._index[events]
        found[:, -1] = 0
        return found

    def known_of(self, events: Array, chain: int) -> Array:
        """For each position how many events of one chain are before it, as `Labels.known_of`."""
        np = self._np
        events = np.asarray(events)
        return np.where(
            self._chain[events] == chain, self._index[events], self._known[self._row[events], chain]
        )

    def at(self, events: Array) -> tuple[Array, Array]:
        """The chain and the index of each position."""
        return self._chain[events], self._index[events].astype(self._np.int64)


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
