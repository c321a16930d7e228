"""Many `a < b` at once, in columns: names once each, and numbers in their place.

A log of a million events is some million such correspondences. What reads them, numbers them and orders
them needs no object for each; whoever asks for one gets all of them made (`Givens.external`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat
from operator import add, mul

from microcosm.givens.correspondence import Correspondence
from microcosm.givens.name_columns import objects
from microcosm.givens.relation import Relation

Facts = dict[tuple[str, str, str], Correspondence]
"""Correspondences by their keys."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """`names[lefts[i]] < names[rights[i]]` for each i, no two of them equal; each of `names` is in one.

    `sources` are pieces of the column of their sources; `processes` says whose event each of `names` is,
    where all is known.

    >>> Links(["a", "b", "c"], [0, 1], [1, 2], [["m1", None]]).facts()[("a", "<", "b")].source
    'm1'
    """

    names: Sequence[str]
    lefts: Sequence[int]
    rights: Sequence[int]
    sources: Sequence[Iterable[str | None]]
    processes: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.lefts)

    def facts(self) -> Facts:
        """One by one, in their order. Cost: linear, in one pass over each column."""
        name = self.names.__getitem__
        lefts, rights = [*map(name, self.lefts)], [*map(name, self.rights)]
        facts = many(lefts, Relation.BEFORE, rights, chain.from_iterable(self.sources))
        return dict(zip(zip(lefts, repeat("<"), rights, strict=False), facts, strict=True))


def many(
    lefts: Sequence[str], relation: Relation, rights: Iterable[str], sources: Iterable[str | None]
) -> list[Correspondence]:
    """The correspondences of three columns, all of one relation; a quarter of the price of one by one.

    >>> many(["a", "b"], Relation.BEFORE, ["b", "c"], repeat("m1"))[1]
    Correspondence(left='b', relation=Relation.BEFORE, right='c', source='m1')
    """
    return objects(
        Correspondence, len(lefts), left=lefts, relation=repeat(relation), right=rights, source=sources
    )


class Linking:
    """Links as they come.

    >>> links = Linking()
    >>> links.extend(["a", "b", "b", "c"], ["line 1", "line 2"]); links.links().lefts
    [0, 1]
    """

    def __init__(self) -> None:
        self._number: defaultdict[str, int] = defaultdict(count().__next__)
        self._ends: list[int] = []
        self._sources: list[Iterable[str | None]] = []

    def __len__(self) -> int:
        return len(self._ends) // 2

    def extend(self, ends: Sequence[str], sources: Iterable[str | None]) -> None:
        """Add links by their ends, left and right by turns, with the sources of each."""
        self._ends += map(self._number.__getitem__, ends)
        self._sources.append(sources)

    @property
    def repeated(self) -> bool:
        """Whether some link came twice."""
        ends = self._ends
        apart = map(add, map(mul, ends[0::2], repeat(len(self._number))), ends[1::2])
        return len(set(apart)) < len(self)

    def links(self) -> Links:
        """All of them; none may have come twice."""
        return Links([*self._number], self._ends[0::2], self._ends[1::2], self._sources)

    def facts(self) -> Facts:
        """All of them; of those that came twice the first."""
        links = self.links()
        if not self.repeated:
            return links.facts()
        name = links.names.__getitem__
        found: Facts = {}
        columns = (map(name, links.lefts), map(name, links.rights), chain.from_iterable(self._sources))
        for left, right, source in zip(*columns, strict=True):
            found.setdefault((left, "<", right), Correspondence(left, Relation.BEFORE, right, source))
        return found
