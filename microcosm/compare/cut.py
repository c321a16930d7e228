"""Minimum cuts in the given order: what must at least be removed so that `a < b` no longer follows.

Each external `<` is a link of strength one. The internal chain and clocks cannot be removed; their links
are as strong as it takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from microcosm.engine.engine import Engine
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.judgement import Judgement
from microcosm.state.microcosm import Microcosm

Pair = tuple[str, str]


class GivenOrder:
    """The links of the given order of a microcosm, which must not change meanwhile."""

    def __init__(self, known: Microcosm) -> None:
        self.givens = known.givens
        self._engine = known._engine
        given = known.givens
        self._fixed = Engine(
            known.rules, Givens(internal=given.internal, clocks=given.clocks, tokens=given.tokens)
        )
        names = self._fixed.universe.names
        cover = self._fixed.ground.given[Relation.BEFORE].cover()
        self.fixed_links = [(names[a], names[b]) for a, b in cover]
        self._links: dict[str, dict[str, bool]] = {}  # to the events after one, and whether it can be removed
        for a, b in self.fixed_links:
            self._links.setdefault(a, {})[b] = False
        for fact in given.external.values():
            if fact.relation is Relation.BEFORE:
                removable = not self.fixed(fact.left, Relation.BEFORE, fact.right)
                self._links.setdefault(fact.left, {})[fact.right] = removable

    def fixed(self, a: str, relation: Relation, b: str) -> bool:
        """Whether `a R b` follows from what cannot be removed."""
        return self._fixed.holds(Judgement.INITIAL, a, relation, b)

    def before(self, a: str, b: str) -> bool:
        """Whether `a < b` follows."""
        return self._engine.holds(Judgement.INITIAL, a, Relation.BEFORE, b)

    def cut(self, a: str, b: str, below: int) -> list[Pair] | None:
        """The fewest links, and of these the nearest to a, without which `a < b` does not follow.

        None where there are not fewer than `below`, or no removal does it. Cost: `below` searches among
        the events between a and b (Ford and Fulkerson: there are as many ways from a to b without a
        common link as links in the least cut).
        """
        if not self.before(a, b):
            return []
        if self.fixed(a, Relation.BEFORE, b):
            return None
        ways: Counter[Pair] = Counter()
        for _ in range(below):
            parent = self._reach(a, b, ways)
            if b not in parent:
                return sorted(
                    (v, w)
                    for v in parent
                    for w in self._links.get(v, ())
                    if w not in parent and self._leads_to(w, b)
                )
            at = b
            while at != a:
                link = (parent[at], at)
                if at in self._links.get(parent[at], ()):
                    ways[link] += 1
                else:
                    ways[link[::-1]] -= 1
                at = parent[at]
        return None

    def _reach(self, a: str, b: str, ways: Counter[Pair]) -> dict[str, str]:
        """The events that one more way from a may come to, depth first, and from where; it ends at b."""
        back: dict[str, list[str]] = {}
        for (v, w), used in ways.items():
            if used:
                back.setdefault(w, []).append(v)
        parent = {a: a}
        trail = [(a, self._onward(a, b, ways, back))]
        while trail and b not in parent:
            v, onward = trail[-1]
            following = next((w for w in onward if w not in parent), None)
            if following is None:
                trail.pop()
            else:
                parent[following] = v
                trail.append((following, self._onward(following, b, ways, back)))
        return parent

    def _onward(self, v: str, b: str, ways: Counter[Pair], back: dict[str, list[str]]) -> Iterator[str]:
        """The next events: along links not used up, or back along one that another way could do without."""
        for w, removable in self._links.get(v, {}).items():
            if not (removable and ways[v, w]) and self._leads_to(w, b):
                yield w
        yield from back.get(v, ())

    def _leads_to(self, w: str, b: str) -> bool:
        return w == b or self.before(w, b)
