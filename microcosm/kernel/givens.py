"""Rows of the givens, for the search of the kernel: who is given beside an event?  (trusted)

`GivenFacts` decides single facts. Here they are listed, without expanding what is given in compressed
form: the internal chain, clocks and tokens stand for up to n² facts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from microcosm.givens.clock import Clock
from microcosm.givens.facts import GivenFacts, covered, owned, senders
from microcosm.givens.relation import Relation

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens

Links = tuple[dict[str, list[str]], dict[str, list[str]]]
"""The successors of each event, and its predecessors."""


class GivenRows:
    """The givens behind `facts`, row by row. End 0 asks for x in `event R x`, end 1 in `x R event`."""

    def __init__(self, facts: GivenFacts) -> None:
        self._facts = facts
        self._givens = facts.givens
        self._internal = sorted(facts.chain, key=facts.chain.__getitem__)

    def partners(self, relation: Relation, end: int, event: str) -> Iterator[str]:
        """Every x given in `relation` to the event; one may come twice. Cost: linear in the events."""
        others = [*self._stated[end].get(event, [])]
        if relation is Relation.RELATED:
            others += chain(*(self._givens.tokens[token] for token in self._facts.tokens.get(event, ())))
        elif event in self._givens.clocks:
            others += self._givens.clocks
        if relation is Relation.BEFORE and event in self._facts.chain:
            others += self._internal
        for other in others:
            left, right = (event, other) if end == 0 else (other, event)
            if any(True for _ in self._facts.evidence(left, relation, right)):
                yield other

    def cover(self, end: int, event: str) -> list[str]:
        """Some x given in `<` to the event: all others are reached from it through these, step by step.

        Cost: a look-up, after one pass over what is given.
        """
        return self._cover[end].get(event, [])

    def reached(self, events: Collection[str], end: int) -> set[str]:
        """Some events and all given to be after them (end 0), or before them (end 1). Cost: linear."""
        found, waiting = set(events), [*events]
        while waiting:
            further = [other for other in self.cover(end, waiting.pop()) if other not in found]
            found.update(further)
            waiting += further
        return found

    def whole(self) -> bool:
        """Whether the events of a complete log are ordered as they must be, or the order closes a cycle.

        Each two events said to be of a process, and a reception with one of its sendings; of a log of which
        only some processes are complete those of theirs, and a reception from one of these. Cost: linear
        where the givens say so step by step; at worst what stands between the two, for each of these pairs.
        """
        try:
            rank = {event: at for at, event in enumerate(TopologicalSorter(self._cover[1]).static_order())}
        except CycleError:
            return True
        direct = {(a, b) for b, before in self._cover[1].items() for a in before}

        def leads(a: str, b: str) -> bool:
            """Whether a is before b: some way along the cover, which never passes the rank of b."""
            waiting, met = [a], {b} if (a, b) in direct else set[str]()
            while waiting and b not in met:
                nearer = {e for e in self.cover(0, waiting.pop()) if rank[e] <= rank.get(b, -1)} - met
                met |= nearer
                waiting.extend(nearer)
            return b in met

        partly = covered(self._givens) if isinstance(self._givens.complete, tuple) else None
        messages = [m for m in self._givens.messages if partly is None or m.event in partly]
        processes: dict[str, set[str]] = {}
        for event, process in owned(self._givens):
            if partly is None or event in partly:
                processes.setdefault(process, set()).add(event)
        in_turn = (pairwise(sorted(events, key=lambda e: rank.get(e, -1))) for events in processes.values())
        sent = senders(messages)
        expected = (m for m in messages if m.kind == "receive" and (sent(m) or partly is None))
        return all(leads(a, b) for pairs in in_turn for a, b in pairs) and all(
            any(leads(sending.event, message.event) for sending in sent(message)) for message in expected
        )

    @cached_property
    def _stated(self) -> Links:
        stated = chain(self._givens.external.values(), self._givens.refuted.values())
        return _links((fact.left, fact.right) for fact in stated)

    @cached_property
    def _cover(self) -> Links:
        return _links(_cover(self._givens, self._internal))


def _links(pairs: Iterable[tuple[str, str]]) -> Links:
    links: Links = {}, {}
    for a, b in pairs:
        links[0].setdefault(a, []).append(b)
        links[1].setdefault(b, []).append(a)
    return links


def _cover(givens: Givens, internal: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs given in `<` whose transitive closure holds every pair given in `<`."""
    yield from ((f.left, f.right) for f in givens.external.values() if f.relation is Relation.BEFORE)
    yield from pairwise(internal)
    executions: dict[str | None, dict[str, Clock]] = {}
    for event, clock in givens.clocks.items():
        executions.setdefault(clock.execution, {})[event] = clock
    for clocks in executions.values():
        yield from _clock_cover(clocks)


def _clock_cover(clocks: dict[str, Clock]) -> Iterator[tuple[str, str]]:
    """The pairs of `_cover` that the clocks of one execution give.

    Consecutive events of a process; and into each process, wherever the highest component met so far
    for another process p rises, a link from the last event of p that this component has seen. Let a of
    p be seen by b. The last such rise at or before b has seen a too, so its link leaves from a or from
    a later event of p, and arrives at b or at an earlier event of b's process.
    """
    processes: dict[str, list[str]] = {}
    for event, clock in clocks.items():
        processes.setdefault(clock.process, []).append(event)
    needed: dict[str, list[int]] = {}  # by place in the process: what shows this event or a later one
    for process, events in processes.items():
        events.sort(key=lambda event: clocks[event].own)  # stable: equal ones stay in program order
        yield from pairwise(events)
        needed[process] = list(accumulate((_shown_by(clocks[e]) for e in reversed(events)), min))[::-1]
    unseen_at_0 = {p: 0 for p, least in needed.items() if least[0] <= 0}  # only by negative components
    for process, events in processes.items():
        highest: dict[str, int] = {}
        for event in events:
            for other, seen in {**unseen_at_0, **clocks[event].entries}.items():
                if other != process and other in needed and seen > highest.get(other, seen - 1):
                    highest[other] = seen
                    count = bisect_right(needed[other], seen)
                    if count:
                        yield processes[other][count - 1], event


def _shown_by(clock: Clock) -> int:
    """The least component that has seen the event (`Clock.reached_by`)."""
    return clock.own if clock.ticked and clock.own > 0 else clock.own + 1
