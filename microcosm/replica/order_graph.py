"""The orders that chains and correspondences state, as a graph: does it contradict itself, and where?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.happens_before import components

AT_ONCE = 1024
"""So many pairs are followed through the graph at a time, a bit each."""


class Edge(NamedTuple):
    """`left < right`, by a correspondence, or by a chain (None)."""

    left: str
    right: str
    fact: Correspondence | None


class OrderGraph:
    """Chains, and correspondences in normal form (`<`, `||`, `<>`, `!<`), whose orders may be cyclic."""

    def __init__(self, chains: Iterable[Sequence[str]], facts: Sequence[Correspondence]) -> None:
        self._chains = list(chains)
        self.facts = facts
        edges = [Edge(left, right, None) for chain in self._chains for left, right in pairwise(chain)]
        edges += [Edge(f.left, f.right, f) for f in facts if f.relation is Relation.BEFORE]
        self.after: dict[str, list[Edge]] = {}
        self.before: dict[str, list[Edge]] = {}
        for edge in edges:
            self.after.setdefault(edge.left, []).append(edge)
            self.before.setdefault(edge.right, []).append(edge)
            self.after.setdefault(edge.right, [])

    def with_facts(self, facts: Sequence[Correspondence]) -> OrderGraph:
        """A graph of these chains with other correspondences."""
        return OrderGraph(self._chains, facts)

    def unordered(self) -> Iterator[tuple[Correspondence, str, str]]:
        """Each (fact, a, b) such that the fact excludes a < b, for `||` and `!<`."""
        for fact in self.facts:
            if fact.relation in (Relation.CONCURRENT, Relation.NOT_BEFORE):
                yield fact, fact.left, fact.right
            if fact.relation is Relation.CONCURRENT:
                yield fact, fact.right, fact.left

    def consistent(self) -> bool:
        """Whether nothing contradicts. Cost: linear, and a pass for each `AT_ONCE` excluded orders."""
        component = self._components()
        if len(set(component.values())) < len(component):
            return False
        return not self._both() and not any(True for _ in self._violated(component))

    def groups(self) -> list[list[Correspondence]]:
        """The correspondences that may be in a minimal contradictory set, those that may be in one together.

        Each such set is within one group, so that what is set aside of a group depends on nothing else. In a
        group they are in the order in which they stand. A `<` is in one where it lies on a cycle of chains
        and correspondences, or on a path that some `||` or `!<` excludes. Cost: as `consistent`, and the
        excluded paths that each `<` lies on.
        """
        component = self._components()
        same: dict[object, object] = {}

        def root(each: object) -> object:
            while (up := same.setdefault(each, each)) != each:
                same[each] = each = same.setdefault(up, up)
            return each

        for fact in self.facts:
            if fact.relation is Relation.BEFORE and component[fact.left] == component[fact.right]:
                same[root(fact.key())] = root(component[fact.left])
        for key in self._both():
            same[root(key)] = root((key[0], key[2]))
        for batch, (some, bad, ahead, behind) in enumerate(self._violated(component)):
            for bit, (fact, _, _) in enumerate(some):
                if bad >> bit & 1:
                    same[root(fact.key())] = root((batch, bit))
            for edges in self.after.values():
                for edge in edges:
                    lies = ahead[component[edge.left]] & behind[component[edge.right]] & bad
                    if lies:
                        on = edge.fact.key() if edge.fact is not None else (edge.left, edge.right)
                        while lies:
                            bit = (lies & -lies).bit_length() - 1
                            same[root((batch, bit))] = root(on)
                            lies &= lies - 1
        found: dict[object, list[Correspondence]] = {}
        for fact in self.facts:
            if fact.key() in same:
                found.setdefault(root(fact.key()), []).append(fact)
        return list(found.values())

    def _both(self) -> set[tuple[str, str, str]]:
        """The `||` and `<>` of the same pairs."""
        pairs: dict[frozenset[str], set[str]] = {}
        for fact in self.facts:
            if fact.relation in (Relation.CONCURRENT, Relation.RELATED):
                pairs.setdefault(frozenset((fact.left, fact.right)), set()).add(str(fact.relation))
        return {
            (min(pair), sign, max(pair)) for pair, signs in pairs.items() if len(signs) > 1 for sign in signs
        }

    def _violated(
        self, component: dict[str, int]
    ) -> Iterator[tuple[list[tuple[Correspondence, str, str]], int, list[int], list[int]]]:
        """Excluded orders, the bits of those that there are, and those that components can lie on."""
        asked = [each for each in self.unordered() if each[1] in component and each[2] in component]
        count = max(component.values(), default=-1) + 1
        nexts: list[set[int]] = [set() for _ in range(count)]
        for edges in self.after.values():
            for edge in edges:
                nexts[component[edge.left]].add(component[edge.right])
        for begin in range(0, len(asked), AT_ONCE):
            some = asked[begin : begin + AT_ONCE]
            ahead, behind = [0] * count, [0] * count
            for bit, (_, left, right) in enumerate(some):
                ahead[component[left]] |= 1 << bit
                behind[component[right]] |= 1 << bit
            for at in reversed(range(count)):  # components are numbered from the last in the order
                for there in nexts[at]:
                    ahead[there] |= ahead[at]
            for at in range(count):
                for there in nexts[at]:
                    behind[at] |= behind[there]
            bad = 0
            for bit, (_, _, right) in enumerate(some):
                bad |= (ahead[component[right]] >> bit & 1) << bit
            if bad:
                yield some, bad, ahead, behind

    def _components(self) -> dict[str, int]:
        """The strongly connected component of each event; along an edge numbers fall or stay."""
        found = components(self.after, lambda event: (edge.right for edge in self.after[event]))
        return {event: at for at, component in enumerate(found) for event in component}
