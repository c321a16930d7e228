"""A knowledge with `<>` of which most events have nothing but a stamp: the few others are asked about.

An event of which only a stamp is stated stands on no way from one event to another, but where a question puts
it there. So rows, which cost n²/8 bytes, are made of the other events and of those asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from microcosm import tuning
from microcosm.worlds.candidate import Fit
from microcosm.worlds.constraints import Knowledge
from microcosm.worlds.sat import Certificate


@dataclass
class Part:
    """Some positions of a knowledge, ascending; all of which more than a stamp is stated are among them.

    Cost of its methods: linear in the positions and the pairs.
    """

    whole: Knowledge
    kept: Sequence[int]

    @classmethod
    def of(cls, known: Knowledge) -> Part | None:
        """The positions with more than a stamp, if that leaves out most of many."""
        if known.size < tuning.STAMPED_FROM or not known.decides:
            return None
        found = known.named()
        return cls(known, sorted(found)) if 2 * len(found) < known.size else None

    @cached_property
    def known(self) -> Knowledge:
        """What is known of these positions, numbered anew."""
        return self.whole.among(self.kept)

    @cached_property
    def place(self) -> dict[int, int]:
        """The new number of each position."""
        return {v: at for at, v in enumerate(self.kept)}

    def holding(self, *positions: int) -> Part:
        """This part, with some positions more where need be."""
        if all(v in self.place for v in positions):
            return self
        return Part(self.whole, sorted({*self.kept, *positions}))

    def widened(self, world: Fit) -> Fit:
        """A world of the part as one of all positions; the others are concurrent with everything."""
        kept = self.kept
        others = (v for v in range(self.whole.size) if v not in self.place)
        return Fit([*(kept[v] for v in world.order), *others], [(kept[a], kept[b]) for a, b in world.edges])

    def certified(self, found: Certificate) -> Certificate:
        """A certificate about the part in the positions of the whole."""
        pairs = [(self.kept[a], self.kept[b]) for a, b in found.pairs]
        return Certificate(pairs, found.clauses, found.drat)
