"""Worlds of events: every pair of distinct events is before, after or concurrent (Definition 2.1).

A world is what a microcosm knows only a part of. Here it is finite, and serves as the source of
material that is consistent by construction: whatever is drawn from a world can be true together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

from microcosm.errors import Undefined
from microcosm.givens.clock import too_late
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.givens.spelling import read_relation

if TYPE_CHECKING:
    from random import Random


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

        Raises ValueError when the pairs run in a cycle. Cost: n² operations on rows of n bits.
        """
        names = tuple(dict.fromkeys(events))
        at = {event: i for i, event in enumerate(names)}
        future = [0] * len(names)
        for left, right in before:
            future[at[left]] |= 1 << at[right]
        for via in range(len(names)):
            for i in range(len(names)):
                if future[i] >> via & 1:
                    future[i] |= future[via]
        if any(future[i] >> i & 1 for i in range(len(names))):
            raise ValueError("the pairs run in a cycle, which no world has")
        return cls(names, _pairs(names, future))

    @classmethod
    def random(cls, events: Iterable[str], rng: Random, density: float) -> World:
        """A world in which `density` (0 to 1) is a pair's chance to be ordered outright. Cost: as `of`."""
        names = list(dict.fromkeys(events))
        order = rng.sample(names, len(names))
        return cls.of(names, [pair for pair in combinations(order, 2) if rng.random() < density])

    def relation(self, a: str, b: str) -> Relation:
        """`BEFORE`, `AFTER` or `CONCURRENT`: exactly one holds of two distinct events. Cost: constant."""
        if a == b:
            raise ValueError(f"no relation holds between {a!r} and itself")
        if (a, b) in self.before:
            return Relation.BEFORE
        return Relation.AFTER if (b, a) in self.before else Relation.CONCURRENT

    def holds(self, a: str, relation: Relation | str, b: str) -> bool:
        """Whether `a relation b` is true here; `<>` and the refuted relations included. Cost: constant.

        Raises `Undefined` for what is no relation of a world.
        """
        meaning = _MEANING.get(read_relation(relation))
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

        Messages and orderings say nothing about a single world's `<` and are not looked at. Cost:
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


def _pairs(names: Sequence[str], future: Sequence[int]) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for i, a in enumerate(names) for j, b in enumerate(names) if future[i] >> j & 1)


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


_MEANING = {
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
