"""What a small drawing of a microcosm shows: some events, their order and their processes, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from microcosm.engine.form import is_transitive
from microcosm.engine.lowering import online
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook
from microcosm.state.microcosm import Microcosm

MOST = 40
"""A drawing has at most so many events, the first that are stated."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Sketch:
    """Some events, their order and their processes.

    `links` are the cover of happens-before (its transitive reduction), or all its pairs under rules that do
    not make it transitive; `more` counts what is left out.
    `process` says where an event happened, where that is known; `unordered` and `related` are given pairs.
    """

    events: tuple[str, ...]
    more: int
    links: tuple[Pair, ...]
    unordered: tuple[Pair, ...]
    related: tuple[Pair, ...]
    process: dict[str, str]

    def layers(self) -> list[list[str]]:
        """The events by the length of the longest chain below them.

        >>> from microcosm.givens.relation import Relation
        >>> known = Microcosm.parse("a < b < c \\n a < c \\n d || c")
        >>> sketch(known.givens, known.rules).layers()
        [['a', 'd'], ['b'], ['c']]
        """
        height: dict[str, int] = {}
        for event in self.in_order():
            below = [height[a] for a, b in self.links if b == event and a in height]
            height[event] = max(below, default=-1) + 1
        layers: list[list[str]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
        for event in self.events:
            layers[height[event]].append(event)
        return layers

    def in_order(self) -> list[str]:
        """The events, each after those before it, as far as no rule lets an order run in a cycle."""
        waiting = {event: sum(b == event for _, b in self.links) for event in self.events}
        order: list[str] = []
        while waiting:
            event = min(waiting, key=waiting.__getitem__)
            del waiting[event]
            order.append(event)
            for a, b in self.links:
                if a == event and b in waiting:
                    waiting[b] -= 1
        return order


def sketch(givens: Givens, rules: RuleBook, most: int = MOST) -> Sketch:
    """The sketch of some givens: what is given of the first `most` events, and what follows from that alone.

    Cost: linear in the givens, and cubic in `most`.
    """
    named = list(givens.named())
    shown = dict.fromkeys(islice(named, most))
    part = _restricted(givens, shown)
    try:
        known = Microcosm(part, rules=rules)
    except Contradiction:  # which only the rest of the givens keeps away, by rules that ask for absence
        after = {a: [y for x, y in _stated(part, Relation.BEFORE) if x == a] for a in shown}
        reduced = False
    else:
        after = {a: [b for b in shown if a != b and known.online(a, b) is Relation.BEFORE] for a in shown}
        reduced = is_transitive(known._engine.memo, online(Relation.BEFORE))
    covered = {a: {c for b in after[a] for c in after[b]} if reduced else set() for a in shown}
    links = tuple((a, b) for a in shown for b in after[a] if b not in covered[a])
    return Sketch(
        tuple(shown),
        len(named) - len(shown),
        links,
        tuple(_stated(part, Relation.CONCURRENT)),
        tuple(_stated(part, Relation.RELATED)),
        _processes(part),
    )


def _restricted(givens: Givens, shown: dict[str, None]) -> Givens:
    """The givens that are about these events only."""
    return replace(
        givens,
        internal=[event for event in givens.internal if event in shown],
        external={
            key: fact for key, fact in givens.external.items() if fact.left in shown and fact.right in shown
        },
        refuted={},
        stamps={},
        clocks={event: clock for event, clock in givens.clocks.items() if event in shown},
        messages=[message for message in givens.messages if message.event in shown],
        tokens={},
    )


def _stated(givens: Givens, relation: Relation) -> Iterable[Pair]:
    return ((fact.left, fact.right) for fact in givens.external.values() if fact.relation is relation)


def _processes(givens: Givens) -> dict[str, str]:
    """Where each event happened, as clocks and messages tell; internal events happened here."""
    here = dict.fromkeys(givens.internal, givens.name or "internal")
    clocked = {event: clock.process for event, clock in givens.clocks.items()}
    return here | {message.event: message.process for message in givens.messages} | clocked
