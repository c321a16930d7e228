"""Worlds of events: every pair of distinct events is before, after or concurrent (Definition 2.1).

A world is what a microcosm knows only a part of. `World` is one over names, all of whose pairs are listed: it
serves as the source of material that is consistent by construction, for whatever is drawn from a world can be
true together. `Candidate` is one over positions as a search shows it: a linear order and the pairs that
generate `<`.

The checker of candidates is a second opinion: it closes the pairs by itself and looks at every constraint as
it was given. Whatever a search finds goes through it before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, pairwise, permutations
from operator import or_
from typing import TYPE_CHECKING

from microcosm import tuning
from microcosm.errors import Undefined, UnknownEvent
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation, too_late
from microcosm.givens.spelling import pair_of, read_relation
from microcosm.order.bits import bits, from_positions
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import AcyclicGraph
from microcosm.order.labels import Labels
from microcosm.order.order import happens_before
from microcosm.tuning import gc_paused
from microcosm.worlds.constraints import Constraints, Pair

if TYPE_CHECKING:
    from random import Random

    from microcosm.givens.exact import Number


@dataclass(frozen=True, slots=True)
class World:
    """Events under a strict partial order: `before` holds every ordered pair, not only the covering ones.

    `World.of` builds one from any acyclic set of pairs.

    >>> world = World.of("abc", [("a", "b")])
    >>> world.relation("b", "a"), world.relation("a", "c")
    (Relation.AFTER, Relation.CONCURRENT)
    """

    events: tuple[str, ...]
    before: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, events: Iterable[str], before: Iterable[tuple[str, str]]) -> World:
        """The world in which exactly `before` and what follows by transitivity is ordered.

        Raises `UnknownEvent`, and `Undefined` for pairs in a cycle. Cost: n² operations on rows of n bits.
        """
        names = tuple(dict.fromkeys(events))
        at = {event: i for i, event in enumerate(names)}
        future = [0] * len(names)
        for left, right in map(pair_of, before):
            _expect(at, left, right)
            future[at[left]] |= 1 << at[right]
        for via in range(len(names)):
            for i in range(len(names)):
                if future[i] >> via & 1:
                    future[i] |= future[via]
        if any(future[i] >> i & 1 for i in range(len(names))):
            raise Undefined("the pairs run in a cycle, which no world has")
        every = [*enumerate(names)]
        return cls(names, frozenset((a, b) for i, a in every for j, b in every if future[i] >> j & 1))

    @classmethod
    def random(cls, events: Iterable[str], rng: Random, density: float) -> World:
        """A world in which `density` (0 to 1) is a pair's chance to be ordered outright. Cost: as `of`."""
        names = list(dict.fromkeys(events))
        order = rng.sample(names, len(names))
        return cls.of(names, [pair for pair in combinations(order, 2) if rng.random() < density])

    def relation(self, a: str, b: str) -> Relation:
        """`BEFORE`, `AFTER` or `CONCURRENT`: exactly one holds of two distinct events.

        Raises `Undefined` where they are one, `UnknownEvent`. Cost: constant, linear in the events of what
        is not ordered.
        """
        if (a, b) in self.before:
            return Relation.BEFORE
        if (b, a) in self.before:
            return Relation.AFTER
        _expect(self.events, a, b)
        if a == b:
            raise Undefined(f"no relation holds between {a!r} and itself")
        return Relation.CONCURRENT

    def holds(self, a: str, relation: Relation | str, b: str) -> bool:
        """Whether `a relation b` is true here; `<>` and the refuted relations included. Cost: as `relation`.

        Raises as that does, and `Undefined` for what is no relation of a world.
        """
        meaning = MEANING.get(read_relation(relation))
        if meaning is None:
            raise Undefined("of a world nothing is silent: one of `<`, `>` and `||` holds of each pair")
        return self.relation(a, b) in meaning

    def order(self, rng: Random) -> list[str]:
        """All events in some order that extends `<`, drawn from `rng`. Cost: linear in `before`, sorted."""
        behind = dict.fromkeys(self.events, 0)
        after: dict[str, list[str]] = {event: [] for event in self.events}
        for a, b in sorted(self.before):
            behind[b] += 1
            after[a].append(b)
        ready = [event for event in self.events if not behind[event]]
        drawn = []
        while ready:
            at = rng.randrange(len(ready))
            ready[at], ready[-1] = ready[-1], ready[at]
            event = ready.pop()
            drawn.append(event)
            for later in after[event]:
                behind[later] -= 1
                if not behind[later]:
                    ready.append(later)
        return drawn

    def chain(self, rng: Random, share: float) -> list[str]:
        """Some events of which each is before the next; `share` is the chance of one that could join.

        Cost: as `order`.
        """
        links: list[str] = []
        for event in self.order(rng):
            if (not links or (links[-1], event) in self.before) and rng.random() < share:
                links.append(event)
        return links

    def microcosm(
        self,
        rng: Random,
        share: float,
        *,
        vague: float = 0.3,
        internal: float = 0.3,
        superseding: bool = True,
    ) -> Givens:
        """A microcosm of this world (Definition 2.3): an internal chain and a share of what is true.

        `share` is the chance of a pair to be disclosed, `vague` that of an ordered pair to be disclosed
        as `<>`, `internal` that of an event to join the chain. Without `superseding`, a `<>` on a
        pair that the microcosm itself orders is left out, as condition (4) asks. Cost: as `of`.
        """
        givens = Givens(internal=self.chain(rng, internal))
        related = []
        for pair in combinations(rng.sample(self.events, len(self.events)), 2):
            if rng.random() >= share:
                continue
            relation = self.relation(*pair)
            if relation is not Relation.CONCURRENT and rng.random() < vague:
                related.append(Correspondence(pair[0], Relation.RELATED, pair[1]))
            else:
                givens.add(Correspondence(pair[0], relation, pair[1]))
        known = World.of(self.events, _orders(givens)).before
        for fact in related:
            if superseding or not {(fact.left, fact.right), (fact.right, fact.left)} & known:
                givens.add(fact)
        return givens

    def fits(self, givens: Givens) -> bool:
        """Whether all givens are true here: chain, correspondences, refutations, clocks, tokens, stamps.

        Messages, orderings, and that a log is complete, are not looked at. Cost:
        quadratic in the number of members, since clocks and tokens are read pair by pair.
        """
        if not set(givens.named()) <= set(self.events):
            return False
        facts = GivenFacts(givens)
        for a, b in permutations(facts.members, 2):
            for relation in GIVEN_RELATIONS:
                if any(True for _ in facts.evidence(a, relation, b)) and not self.holds(a, relation, b):
                    return False
        if not all(self.holds(f.left, f.relation, f.right) for f in givens.refuted.values()):
            return False
        return not any(pair in self.before for pair in _ruled_out(givens))


def _expect(events: Container[str], *named: str) -> None:
    """Raise `UnknownEvent` for what is not among the events: nothing is concurrent with it."""
    if missing := tuple(event for event in named if event not in events):
        raise UnknownEvent(missing)


def _orders(givens: Givens) -> Iterator[tuple[str, str]]:
    yield from pairwise(givens.internal)
    for fact in givens.external.values():
        if fact.relation is Relation.BEFORE:
            yield fact.left, fact.right


def _ruled_out(givens: Givens) -> Iterator[tuple[str, str]]:
    """The pairs (a, b) of which clocks or stamps say `a !< b`."""
    for (a, one), (b, other) in permutations(givens.clocks.items(), 2):
        if not one.beside(other) and one.missed_by(other):
            yield a, b
    for (a, first), (b, second) in permutations(givens.stamps.items(), 2):
        if too_late(first, second):
            yield a, b


MEANING = {
    Relation.BEFORE: (Relation.BEFORE,),
    Relation.AFTER: (Relation.AFTER,),
    Relation.CONCURRENT: (Relation.CONCURRENT,),
    Relation.RELATED: (Relation.BEFORE, Relation.AFTER),
    Relation.UNKNOWN: (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT),
    Relation.NOT_BEFORE: (Relation.AFTER, Relation.CONCURRENT),
    Relation.NOT_AFTER: (Relation.BEFORE, Relation.CONCURRENT),
    Relation.NOT_CONCURRENT: (Relation.BEFORE, Relation.AFTER),
    Relation.NOT_RELATED: (Relation.CONCURRENT,),
}
"""Which of `<`, `>` and `||` each relation leaves of a pair."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A world: its `<` is what follows from `edges` by transitivity, and `order` extends it.

    >>> world = Candidate.of(4, [(2, 0), (0, 1), (2, 1)])
    >>> world.order, world.reduction()
    ([2, 3, 0, 1], [(0, 1), (2, 0)])
    """

    order: list[int]
    edges: list[tuple[int, int]]

    @classmethod
    def of(cls, size: int, edges: Iterable[tuple[int, int]]) -> Candidate:
        """The world that some pairs generate. Raises `Cycle`. Cost: linear."""
        with gc_paused():
            once = list(dict.fromkeys(edges))
            return cls(AcyclicGraph(size, once).order, once)

    def reduction(self) -> list[tuple[int, int]]:
        """The pairs that do not follow from others, sorted (the transitive reduction).

        Cost: where the order is kept as labels a question for each two pairs with one first event, else a
        row operation of n bits for each pair.
        """
        successors = _successors(len(self.order), dict.fromkeys(self.edges))
        many = len(self.order) > tuning.ROWS_UP_TO
        pairs = sum(len(later) ** 2 for later in successors) if many else 0
        order = happens_before(len(self.order), self.edges) if many else None
        if isinstance(order, Labels) and pairs <= _FEW * len(self.edges):
            with gc_paused():
                return sorted(
                    (a, b)
                    for a, later in enumerate(successors)
                    for b in later
                    if len(later) == 1 or not any(order.before(other, b) for other in later)
                )
        place = {v: rank for rank, v in enumerate(self.order)}
        for later in successors:
            later.sort(key=place.__getitem__)
        kept = []
        blocks = range(0, len(self.order), tuning.CLOSURE_COLUMNS)
        for first, rows in _blocks(self.order, successors, blocks):
            inside = range(first, first + tuning.CLOSURE_COLUMNS)
            for a, later in enumerate(successors):
                further = 0
                for b in later:
                    if b in inside and not further >> (b - first) & 1:
                        kept.append((a, b))
                    further |= rows[b]
        return sorted(kept)


_FEW = 16
"""Where an event is before no more than about so many directly, each two of these are compared."""


def fault(known: Constraints, world: Candidate) -> str | None:
    """What of some constraints is not so in a world; None where it fits.

    Cost: linear in the pairs; O(E · n/64) for events of which something but `<` is stated. Memory: O(n).
    """
    if sorted(world.order) != list(range(known.size)):
        return "the order is not one of all events"
    place = [0] * known.size
    for rank, v in enumerate(world.order):
        place[v] = rank
    for a, b in world.edges:
        if place[a] >= place[b]:
            return f"{a} < {b} goes against the order"
    successors = _successors(known.size, world.edges)
    generating = world.edges[: len(known.before)] == known.before  # then they hold, being of the edges
    ordered = [] if generating else known.before
    related = _along(place, known.related)
    for group in known.groups:
        related += pairwise(sorted(group, key=place.__getitem__))
    not_before = _along(place, known.concurrent) + [(a, b) for a, b in known.refuted if place[a] < place[b]]
    mask = (1 << tuning.CLOSURE_COLUMNS) - 1
    blocks: Iterable[int] = range(0, known.size, tuning.CLOSURE_COLUMNS)
    if known.size > tuning.CLOSURE_COLUMNS:  # of several blocks those that are asked about
        compared = from_positions((b for _, b in chain(ordered, related, not_before)), known.size)
        compared = reduce(or_, known.unseen.values(), compared)
        blocks = [at for at in blocks if compared >> at & mask]
    for first, rows in _blocks(world.order, successors, blocks):
        for a, b in _unlike(ordered, rows, first, 1):
            return f"{a} < {b} does not hold"
        for a, b in _unlike(related, rows, first, 1):
            return f"{a} and {b} are not ordered"
        for a, b in _unlike(not_before, rows, first, 0):
            return f"{a} < {b} is refuted"
        for a, row in known.unseen.items():
            if wrong := rows[a] & (row >> first & mask):
                return f"{a} < {first + next(bits(wrong))} is refuted"
    further = world.edges[len(known.before) :] if generating and known.clocks_cover else world.edges
    return _stamp_fault(known, world, successors) or _clock_fault(known.clocks, world, successors, further)


def _along(place: list[int], pairs: list[Pair]) -> list[Pair]:
    """Pairs as they stand in a line: the only way in which they can be ordered."""
    return [(a, b) if place[a] < place[b] else (b, a) for a, b in pairs]


def _unlike(pairs: list[Pair], rows: list[int], first: int, expected: int) -> list[Pair]:
    """The pairs with the second event in a block that are ordered, or not, against expectation."""
    if len(rows) <= tuning.CLOSURE_COLUMNS:
        return [(a, b) for a, b in pairs if rows[a] >> b & 1 != expected]
    block = range(first, first + tuning.CLOSURE_COLUMNS)
    return [(a, b) for a, b in pairs if b in block and rows[a] >> (b - first) & 1 != expected]


def _stamp_fault(known: Constraints, world: Candidate, successors: list[list[int]]) -> str | None:
    """Stamps only have to rise along `<`: the latest of the past is carried forward."""
    latest: dict[int, int] = {}
    begun: dict[int, Number] = {}
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


def _clock_fault(
    clocks: ClockRows | None, world: Candidate, successors: list[list[int]], further: list[Pair]
) -> str | None:
    """Of clocks without rows: each has to have seen the latest event of each process before its own.

    So they have where each pair leads to a clock that covers the earlier one; only the `further` ones are
    still to be looked at. Else what was seen is carried forward. Cost: linear in the pairs, times the
    processes.
    """
    if clocks is None or all(clocks.covered(v, w) for v, w in further):
        return None
    carried: dict[int, dict[tuple[str | None, str], int]] = {}
    for v in world.order:
        latest = carried.pop(v, {})
        clock = clocks.of(v)
        if clock is not None:
            for (execution, process), own in latest.items():
                other = execution == clock.execution and process != clock.process
                if other and clock.entries.get(process, 0) < own:
                    return f"the clock of {v} has not seen event {own} of {process}, which is before it"
            key = clock.execution, clock.process
            latest[key] = max(clock.own, latest.get(key, clock.own))
        for w in successors[v]:
            known = carried.get(w)
            if known is None:
                carried[w] = dict(latest)
            else:
                for key, own in latest.items():
                    known[key] = max(own, known.get(key, own))
    return None


def _successors(size: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    with gc_paused():
        found: list[list[int]] = [[] for _ in range(size)]
        for a, b in edges:
            found[a].append(b)
    return found


def _blocks(
    order: list[int], successors: list[list[int]], blocks: Iterable[int]
) -> Iterator[tuple[int, list[int]]]:
    """Some columns of the closure at a time: the first of them, and each position's row, itself included.

    `blocks` are the first columns of those that are wanted.
    """
    size, backwards = len(order), order[::-1]
    for first in blocks:
        rows = [0] * size
        for v in range(first, min(first + tuning.CLOSURE_COLUMNS, size)):
            rows[v] = 1 << (v - first)
        for v in backwards:
            row = rows[v]
            for w in successors[v]:
                row |= rows[w]
            rows[v] = row
        yield first, rows
