"""Two microcosms in one page: who names which event, who is given which pair, and what is news to whom.

The picture is that of all that both are given. Where that contradicts itself it is that of the first, beside
which the events of the second stand; what the two disagree about is told either way. What each of the two
knows by itself is in a table of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from microcosm.compare.difference import Comparison, difference
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.event_table import EventRow, EventTableBuilder
from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import proof_object
from microcosm.page.columns import PageModel
from microcosm.page.knowledge import TABLED, TooLarge, verdict_table
from microcosm.page.packing import Column, small
from microcosm.state.merge import union
from microcosm.state.microcosm import Microcosm

CONFLICTS_PROVED = 20
"""Of so many conflicts both proofs are in the page."""


@dataclass(frozen=True)
class Replicas:
    """Two microcosms, and the one that has what both are `given`, or what the first is."""

    one: Microcosm
    other: Microcosm
    given: Microcosm
    joined: bool
    """Whether that has what both are given."""

    def told(self, names: tuple[str, str]) -> dict[str, Any]:
        """The member `other` of a head: what is news to whom, the best first, and conflicts with proofs.

        Cost: as `difference`, and of some conflicts two proofs.
        """
        found = difference(self.one, self.other)
        said = {"names": [*names], "joined": self.joined}
        return {**said, **found.to_json(), "conflicts": [*self._conflicts(found)]}

    def columns(self, model: PageModel) -> Iterator[Column]:
        """Of each event and of each pair who has it, 1 for the first, 2 for the second; and both tables.

        `who` is of events, `by` of edges, `link` of each event and the one before it on its chain.
        """
        facts = GivenFacts(self.one.givens), GivenFacts(self.other.givens)

        def by(a: int, b: int) -> int:
            pair = model.names[a], Relation.BEFORE, model.names[b]
            return sum(bit for bit, known in zip((1, 2), facts, strict=True) if any(known.evidence(*pair)))

        yield small(
            "who", bytes(_names(self.one, name) + 2 * _names(self.other, name) for name in model.names)
        )
        yield small("by", bytes(by(a, b) for b, a, _ in model.edges))
        first = set(model.offset)
        yield small("link", bytes(0 if b in first else by(b - 1, b) for b in range(len(model))))
        yield verdict_table(self.one._engine, model.names, "table.1")
        yield verdict_table(self.other._engine, model.names, "table.2")

    def _conflicts(self, found: Comparison) -> Iterator[dict[str, Any]]:
        for number, each in enumerate(found.conflicts):
            told = each.to_json()
            if number < CONFLICTS_PROVED:
                proofs = (known.why(each.left, each.right) for known in (self.one, self.other))
                told["derivations"] = [proof and proof_object(proof) for proof in proofs]
            yield told


def replicas(one: Microcosm, other: Microcosm) -> Replicas:
    """Two microcosms beside each other. Raises `TooLarge`. Cost: linear, and the order of what is given."""
    named = {*one, *other, *_of_log(one), *_of_log(other)}
    if len(named) > TABLED:
        raise TooLarge(f"two microcosms of {len(named):,} events are more than a page shows ({TABLED:,})")
    try:
        return Replicas(one, other, Microcosm(union(one.givens, other.givens), rules=one.rules), True)
    except (Contradiction, Undefined):
        beside = EventTableBuilder()
        for event in other:  # which the first need not know: then nothing relates them
            beside.add((other.events_table and other.events_table.row(event)) or EventRow(event))
        givens = one.givens.copy()
        givens.events = beside.table() if givens.events is None else givens.events.joined(beside.table())
        return Replicas(one, other, Microcosm(givens, rules=one.rules), False)


def _of_log(known: Microcosm) -> tuple[str, ...]:
    return () if known.events_table is None else (*known.events_table.names,)


def _names(known: Microcosm, event: str) -> bool:
    table = known.events_table
    return event in known or (table is not None and event in table)
