"""Happens-before as chain-cover labels: vector times over chains that the data names.

Every event stands on a chain, at an index, and knows of each chain how long a prefix of it is in its past.
Events between two receptions of a chain share one vector, so that labels take a vector for each reception and
three numbers an event, and `a < b` is a comparison of two numbers. Nothing quadratic exists: a row of bits is
made when somebody asks for that row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise

from microcosm import tuning
from microcosm.givens.clock_columns import COMPONENT, FIELD, guards, merged, total
from microcosm.givens.relation import Relation
from microcosm.order.bits import from_positions
from microcosm.order.chain_cover import UNPLACED, ChainCover, ProcessOf, cover, learnt, staircase
from microcosm.order.happens_before import Cycle
from microcosm.tuning import gc_paused

BEFORE, AFTER = Relation.BEFORE, Relation.AFTER


class Labels:
    """`HappensBefore` over positions below `size`, from an acyclic set of edges, or from labels made of one.

    `process` names the chain that a position belongs to, or None; `most` is how many chains are allowed.
    Raises `Cycle`, and `Wide` where there would be more chains. Memory: O(n + edges + P · receptions).

    >>> labels = Labels(4, [(0, 1), (1, 2)])
    >>> labels.before(0, 2), labels.before(2, 0), labels.chain(0, 2)
    (True, False, [0, 1, 2])
    >>> labels.add(2, 3); labels.remove(1, 2); labels.before(0, 3), labels.before(2, 3)
    (False, True)
    """

    updates = 0
    """How many vectors changes have touched so far."""

    def __init__(
        self,
        size: int,
        edges: Iterable[tuple[int, int]] | ChainCover,
        process: ProcessOf | None = None,
        most: int | None = None,
    ) -> None:
        self.size = size
        self._process = process
        self._cover(edges, most)

    def _cover(self, edges: Iterable[tuple[int, int]] | ChainCover, most: int | None = None) -> None:
        with gc_paused():
            self.cover: ChainCover = (
                edges if isinstance(edges, ChainCover) else cover(self.size, edges, self._process, most)
            )
        """The labels themselves."""
        self._chain, self._index, self._vector = self.cover.chain, self.cover.index, self.cover.vector
        self._fresh = len(self.cover.chains)
        self._guard = guards(max(1, self._fresh))
        self._outgoing: dict[int, list[int]] | None = None  # edges that are no links, by their first end
        self._every: int | None = None  # the row of all positions on chains

    def before(self, a: int, b: int) -> bool:
        chain, index = self._chain, self._index
        number = chain[a]
        if number == chain[b]:
            return index[a] < index[b]
        return index[a] < self._vector[b] >> number * FIELD & COMPONENT

    def ordered(self, a: int, b: int) -> Relation | None:
        chain, index = self._chain, self._index
        number, other, one, two = chain[a], chain[b], index[a], index[b]
        if number == other:
            return BEFORE if one < two else AFTER if two < one else None
        ascending = self.cover.ascending  # then the lower position alone may be before the other
        if not (ascending and b < a) and one < self._vector[b] >> number * FIELD & COMPONENT:
            return BEFORE
        if ascending and a < b:
            return None
        return AFTER if two < self._vector[a] >> other * FIELD & COMPONENT else None

    def past(self, b: int) -> int:
        return 0 if self.cover.chain[b] == UNPLACED else self._row(partial(self.known_of, b))

    def future(self, a: int) -> int:
        own = self.cover.chain[a]
        if own == UNPLACED:
            return 0
        return self._placed() ^ self._row(partial(self.first_after, a))

    def pasts(self, positions: Sequence[int]) -> list[int]:
        """The rows of the past of many positions, each made of that of the one before it on its chain.

        Cost: a copy of a row each, and a step for each position that is new in it.
        """
        labels, found = self.cover, dict.fromkeys(positions, 0)
        number, row, known, counts = -1, 0, -1, list[int]()
        for v in sorted(found, key=lambda v: (labels.chain[v], labels.index[v])):
            if labels.chain[v] == UNPLACED:
                break
            if labels.chain[v] != number:
                number, row, known, counts = labels.chain[v], 0, -1, [0] * len(labels.chains)
            new = list[int]()
            for other in (number,) if labels.vector[v] == known else range(len(counts)):
                count = self.known_of(v, other)
                new += labels.chains[other][counts[other] : count]
                counts[other] = max(count, counts[other])
            known = labels.vector[v]
            row = found[v] = row | from_positions(new, self.size)
        return [found[v] for v in positions]

    def all_rows(self, forwards: bool) -> list[int] | None:
        """None: they would be too many."""
        return None

    def known_of(self, b: int, number: int) -> int:
        """How many events of a chain, from the first, are before b."""
        labels = self.cover
        own = labels.chain[b]
        return labels.index[b] if number == own else labels.vector[b] >> number * FIELD & COMPONENT

    def first_after(self, a: int, number: int) -> int:
        """The index, on a chain, of the first event after a; the length where there is none. Cost: log n."""
        labels = self.cover
        own, index = labels.chain[a], labels.index[a]
        if number == own:
            return index + 1
        members, vector, at = labels.chains[number], labels.vector, own * FIELD
        low, high = 0, len(members)
        while low < high:
            middle = low + high >> 1
            if index < vector[members[middle]] >> at & COMPONENT:
                high = middle
            else:
                low = middle + 1
        return low

    def chain(self, a: int, b: int) -> list[int] | None:
        """A shortest chain of edges. Cost: a breadth-first search, from b back, in future(a) ∩ past(b)."""
        if a == b or not self.before(a, b):
            return None
        labels = self.cover
        chains, chain, index = labels.chains, labels.chain, labels.index
        first = {chain[a]: index[a]}  # of each chain that was met: where what is after a begins, and a
        following = {b: b}
        level = [b]
        while a not in following:
            earlier = []
            for v in level:
                at = index[v]
                several = labels.crossing.get(v, ())
                for w in (chains[chain[v]][at - 1], *several) if at else several:
                    if w in following:
                        continue
                    number = chain[w]
                    if number not in first:
                        first[number] = self.first_after(a, number)
                    if index[w] >= first[number]:
                        following[w] = v
                        earlier.append(w)
            level = earlier
        path = [a]
        while path[-1] != b:
            path.append(following[path[-1]])
        return path

    def edges(self) -> Iterator[tuple[int, int]]:
        """Every edge, in no particular order."""
        for members in self.cover.chains:
            yield from pairwise(members)
        for b, several in self.cover.crossing.items():
            for a in several:
                yield a, b

    def _after(self, v: int) -> Iterator[int]:
        """The positions that edges lead to from v."""
        labels = self.cover
        number = labels.chain[v]
        if number == UNPLACED:
            return
        members, at = labels.chains[number], labels.index[v] + 1
        if at < len(members):
            yield members[at]
        yield from self._crossings().get(v, ())

    def _crossings(self) -> dict[int, list[int]]:
        if self._outgoing is None:
            self._outgoing = {}
            with gc_paused():
                for b, several in self.cover.crossing.items():
                    for a in several:
                        self._outgoing.setdefault(a, []).append(b)
        return self._outgoing

    def _placed(self) -> int:
        if self._every is None:
            chain = self.cover.chain
            unplaced = [v for v in range(self.size) if chain[v] == UNPLACED]
            self._every = (1 << self.size) - 1 ^ from_positions(unplaced, self.size)
        return self._every

    def _row(self, reach: Callable[[int], int]) -> int:
        return staircase(self.cover.chains, self._placed(), self.size, reach, self.cover.rising)

    def _height(self, v: int) -> int:
        """A number that grows along every edge."""
        if self.cover.ascending:
            return v
        own = self.cover.chain[v] * FIELD
        return total(self.cover.vector[v] & ~(COMPONENT << own)) + self.cover.index[v]

    # -- changes -----------------------------------------------------------------------------------

    def grow(self, size: int) -> None:
        more = size - self.size
        if more > 0:
            self.cover.chain.extend([UNPLACED] * more)
            self.cover.index.extend([0] * more)
            self.cover.vector.extend([0] * more)
            self.size = size

    def add(self, a: int, b: int) -> None:
        if a == b:
            raise Cycle([a])
        labels = self.cover
        if self.before(b, a):
            back = self.chain(b, a)
            assert back is not None
            raise Cycle(back)
        if self._has(a, b):
            return
        if len(labels.chains) > 2 * self._fresh + tuning.LABELS_SPARE:
            self._cover([*self.edges()])
            labels = self.cover
        labels.ascending = labels.ascending and a < b
        if labels.chain[a] == UNPLACED:
            self._begin(a)
        if labels.chain[b] == UNPLACED:
            if self._extends(a, b):
                self._extend(a, b)
                return
            self._begin(b)
        labels.crossing.setdefault(b, []).append(a)
        if self._outgoing is not None:
            self._outgoing.setdefault(a, []).append(b)
        self._spread(a, b)

    def remove(self, a: int, b: int) -> None:
        labels = self.cover
        several = labels.crossing.get(b, [])
        if a in several:
            if self._outgoing is not None:
                self._outgoing[a].remove(b)
            several.remove(a)
            if not several:
                del labels.crossing[b]
            self._relabel(b)
            return
        assert self._has(a, b), "only an edge can be removed"
        self._split(b)

    # -- inside ------------------------------------------------------------------------------------

    def _has(self, a: int, b: int) -> bool:
        labels = self.cover
        if a in labels.crossing.get(b, ()):
            return True
        linked = labels.chain[a] == labels.chain[b] != UNPLACED
        return linked and labels.index[a] + 1 == labels.index[b]

    def _begin(self, v: int) -> None:
        """Put a position without edges on a chain of its own."""
        labels = self.cover
        labels.chain[v] = len(labels.chains)
        labels.chains.append([v])
        self._guard = self._guard << FIELD | guards(1)
        self._place(v)

    def _place(self, v: int) -> None:
        if self._every is not None:
            self._every |= 1 << v

    def _extends(self, a: int, b: int) -> bool:
        """Whether b may follow a on its chain."""
        same = self._process is None or self._process(a) == self._process(b)
        return same and self.cover.chains[self.cover.chain[a]][-1] == a

    def _extend(self, a: int, b: int) -> None:
        labels = self.cover
        labels.rising = labels.rising and a < b
        labels.chain[b] = labels.chain[a]
        labels.index[b] = labels.index[a] + 1
        labels.vector[b] = labels.vector[a]
        labels.chains[labels.chain[a]].append(b)
        self._place(b)
        self.updates += 1

    def _spread(self, a: int, b: int) -> None:
        """Tell b, and whoever comes after it and does not know a yet, of a and its past."""
        labels = self.cover
        chain, index, vector = labels.chain, labels.index, labels.vector
        own, count = chain[a] * FIELD, index[a] + 1
        news = vector[a]
        news += count - (news >> own & COMPONENT) << own
        stack = [b]
        while stack:
            v = stack.pop()
            members, at = labels.chains[chain[v]], index[v]
            old = new = -1
            while not self.before(a, v):
                if vector[v] != old:
                    old = vector[v]
                    new = merged(old, news, self._guard)
                vector[v] = new
                self.updates += 1
                stack.extend(self._crossings().get(v, ()))
                at += 1
                if at == len(members):
                    break
                v = members[at]

    def _split(self, b: int) -> None:
        """Let b begin a chain of its own, for nothing links it to its predecessor any more."""
        affected, stack = {b}, [b]
        while stack:
            for w in self._after(stack.pop()):
                if w not in affected:
                    affected.add(w)
                    stack.append(w)
        order = sorted(affected, key=self._height)
        labels = self.cover
        old, number = labels.chains[labels.chain[b]], len(labels.chains)
        self._guard = self._guard << FIELD | guards(1)
        moved = old[labels.index[b] :]
        del old[labels.index[b] :]
        labels.chains.append(moved)
        for index, v in enumerate(moved):
            labels.chain[v], labels.index[v] = number, index
        for v in order:
            labels.vector[v] = self._learnt(v)
        self.updates += len(order)

    def _relabel(self, b: int) -> None:
        """Compute the vector of b anew, and those of whoever rests on one that came out different."""
        labels = self.cover
        heap, queued = [(self._height(b), b)], {b}
        while heap:
            _, v = heappop(heap)
            queued.discard(v)
            known = self._learnt(v)
            if not (known ^ labels.vector[v]) & ~(COMPONENT << labels.chain[v] * FIELD):
                continue
            labels.vector[v] = known
            self.updates += 1
            for w in self._after(v):
                if w not in queued:
                    queued.add(w)
                    heappush(heap, (self._height(w), w))

    def _learnt(self, v: int) -> int:
        """The vector of v by those of its predecessors."""
        labels = self.cover
        number, index = labels.chain[v], labels.index[v]
        known = labels.vector[labels.chains[number][index - 1]] if index else 0
        senders = labels.crossing.get(v)
        return learnt(known, senders, number, labels, self._guard) if senders else known

    def _check(self) -> None:
        """Assert every invariant: chains are chains of edges, and labels say what a fresh cover says."""
        fresh = Labels(self.size, [*self.edges()])
        for number, members in enumerate(self.cover.chains):
            assert all(self.cover.chain[v] == number for v in members)
            assert [self.cover.index[v] for v in members] == list(range(len(members)))
        for b in range(self.size):
            assert self.past(b) == fresh.past(b)
            assert self.future(b) == fresh.future(b)
