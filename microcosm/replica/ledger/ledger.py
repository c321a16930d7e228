"""The evolutions that a replica has seen, and what they come to: a function of their set, not of their order.

A correspondence is given as long as one of the dots that added it is neither removed nor forgotten: an
observed-remove set. The chain of a replica is its appended events by number. What has been seen is never
taken twice, so that whatever was removed or forgotten stays so.

How much is kept, `forgetting` says.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.ledger.dots import FARTHEST, Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import (
    RESERVED,
    Add,
    Append,
    Evolution,
    Forget,
    NewerEvolution,
    Remove,
    encode,
    named,
    speaks_for_another,
)

FactKey = tuple[str, str, str]
"""A correspondence whoever states it (`Correspondence.key()`)."""


MOST_NEWER = 1 << 24
"""So many bytes of evolutions of a newer version are kept; what is more is taken when it can be read."""

NEWER_BESIDE = 256
"""What one of them is reckoned to take besides its content."""


@dataclass(slots=True)
class Delta:
    """What has changed since somebody looked: appended events, correspondences that came or went."""

    appended: list[Dot] = field(default_factory=list)
    given: list[FactKey] = field(default_factory=list)
    withdrawn: list[FactKey] = field(default_factory=list)
    forgotten: bool = False

    def __len__(self) -> int:
        return len(self.appended) + len(self.given) + len(self.withdrawn) + self.forgotten


class Ledger:
    """What is seen, what is held of it, and the chains and correspondences that follow.

    Delta are made by `take` and `forget` alone. Cost of `take`: constant but for what it removes.
    """

    def __init__(self) -> None:
        self.seen = Dots()
        """Every dot that need not come again: held, removed, superseded or forgotten."""
        self.held: dict[Dot, Evolution] = {}
        self.facts: dict[FactKey, dict[Dot, Correspondence]] = {}
        """What is given, by the dots that give it."""
        self.chains: dict[Stream, dict[int, str]] = {}
        """The events of each stream by number, as they arrived."""
        self.numbers: dict[Stream, list[int]] = {}
        """The numbers of the events of each stream, sorted."""
        self.places: dict[str, set[Dot]] = {}
        """Where each event was appended; more than one place is a contradiction."""
        self.naming: dict[str, set[FactKey]] = {}
        """What is given of each event, in the order in which events were named first."""
        self.struck = Dots()
        """Every dot whose correspondence was removed or superseded: who still holds one is told so."""
        self.marks: dict[Stream, int] = {}
        """Up to which number the events of each stream are forgotten here."""
        self.settled: set[Dot] = set()
        """Updates of which everybody knows what they took away."""
        self.closed: dict[Stream, int] = {}
        """From which number on nothing is taken of a stream, for its author has said two things."""
        self.theirs: dict[str, Forget] = {}
        """What each replica, this one included, has last said it has forgotten."""
        self.signed = False
        """Whether evolutions are signed: then nobody but its author says that there is a dot."""
        self.newer: dict[Dot, int] = {}
        """What is held of a newer version, and its bytes; it gives and takes nothing until it can be read."""
        self.newer_bytes = 0
        self.early: set[Dot] = set()
        """Dots that were struck before they came; they give nothing."""
        self.changes = Delta()

    # -- evolutions ----------------------------------------------------------------------------------

    def take(self, evolution: Evolution) -> bool:
        """Take an evolution; whether it was new."""
        if (self.closed and self.is_closed(evolution.dot)) or not self.seen.add(evolution.dot):
            return False
        match evolution:
            case Append():
                self._append(evolution)
            case Add(dot, _, replaces, places):
                if dot in self.early:
                    self.early.discard(dot)
                    if replaces:
                        self.held[dot] = evolution
                elif not (self.is_forgotten(places[0]) or self.is_forgotten(places[1])):
                    self._give(evolution)
                if replaces:
                    self._strike(replaces)
            case Remove(dot, targets):
                self.held[dot] = evolution
                self._strike(targets)
            case Forget(dot):
                older = self.theirs.get(dot.replica)
                if older is None or older.dot < dot:
                    if older is not None:
                        del self.held[older.dot]
                    self.theirs[dot.replica] = self.held[dot] = evolution
            case NewerEvolution(dot, content):
                self.held[dot] = evolution
                self.newer[dot] = len(content) + NEWER_BESIDE
                self.newer_bytes += self.newer[dot]
        return True

    def fault_in(self, evolution: Evolution) -> str | None:
        """Why an evolution of another replica is not taken, though it can be read; None if nothing is wrong.

        Cost: the dots that it names.
        """
        if type(evolution) is Append:
            if evolution.event.startswith(RESERVED) and speaks_for_another(evolution):
                return (
                    f"{evolution.dot} is an event {evolution.event}, which only a message of another can be"
                )
            if evolution.dot.number <= FARTHEST:  # nearly always
                return None
        for dot in named(evolution):
            ahead = dot.number - self.seen.last(dot.stream)
            if ahead > FARTHEST:
                return f"{dot} is {ahead:,} beyond what was seen of its replica"
        return None

    def unlike(self, other: Ledger) -> Iterator[Dot]:
        """The dots under which another ledger holds something else, or held it. Cost: what is held.

        Of two correspondences under one dot it cannot be told where one of them was removed.
        """
        for dot, mine in self.held.items():
            theirs = other.held.get(dot)
            if theirs is None:
                if dot in other.struck and not isinstance(mine, Add):
                    yield dot
            elif mine != theirs and encode(mine) != encode(theirs):
                yield dot

    def hold(self, evolution: Evolution) -> None:
        """Take an evolution that was held before, in whatever order: what it took away is gone already."""
        match evolution:
            case Add(dot):
                self.seen.add(dot)
                if dot in self.struck:
                    self.held[dot] = evolution
                else:
                    self._give(evolution)
            case Remove(dot):
                self.seen.add(dot)
                self.held[dot] = evolution
            case _:
                self.take(evolution)

    def is_closed(self, dot: Dot) -> bool:
        """Whether it is not taken, for its author has said two things."""
        return dot.number >= self.closed.get(dot.stream, dot.number + 1)

    def is_forgotten(self, place: Dot | None) -> bool:
        """Whether an event that was appended there is one of those that are forgotten here."""
        return place is not None and place.number <= self.marks.get(place.stream, 0)

    def below(self, marks: Iterable[DotRun]) -> set[str]:
        """The events of each run's stream up to its end."""
        chains = ((self.chains.get(run.stream, {}), run.end) for run in marks)
        return {event for chain, end in chains for number, event in chain.items() if number < end}

    def forget(self, marks: Iterable[DotRun], names: Iterable[str]) -> set[str]:
        """Drop the events of each run's stream up to its end, and those of `names`, with all that names them.

        Returns the events that went. What followed through them is to be given before.
        """
        runs = list(marks)
        gone = {*names} | self.below(runs)
        for run in runs:
            self.marks[run.stream] = max(self.marks.get(run.stream, 0), run.end - 1)
        self.changes.forgotten = True
        shorter = set()
        for event in gone:
            for dot in self.places.pop(event, ()):
                del self.held[dot]
                del self.chains[dot.stream][dot.number]
                shorter.add(dot.stream)
            for key in list(self.naming.get(event, ())):
                for dot in list(self.facts[key]):
                    self._withdraw(dot, key)
                    del self.held[dot]
        for stream in shorter:
            self.numbers[stream] = sorted(self.chains[stream])
            if not self.numbers[stream]:
                del self.numbers[stream], self.chains[stream]
        return gone

    def strike(self, runs: Iterable[DotRun]) -> Dots:
        """Somebody saw the correspondences of some dots removed; the dots for which that is news.

        What was not even seen here yet stays out: it is asked about again. Cost: what is held.
        """
        struck = Dots(runs)
        news = self.seen - (self.seen - struck) - self.struck
        if news:
            self._strike([dot for dot, each in self.held.items() if isinstance(each, Add) and dot in news])
            self.struck.update(news)
        return news

    def disown(self, run: DotRun) -> None:
        """Take evolutions out as if they had never been; what they took away stays away."""
        self.seen, self.struck = self.seen - Dots([run]), self.struck - Dots([run])
        self.changes.forgotten = True
        stream = run.stream
        for dot in [dot for dot in self.held if dot.stream == stream and run.first <= dot.number < run.end]:
            evolution = self.held[dot]
            del self.held[dot]
            self.newer_bytes -= self.newer.pop(dot, 0)
            if isinstance(evolution, Add):
                if dot in self.facts.get(evolution.fact.key(), ()):
                    self._withdraw(dot, evolution.fact.key())
            elif isinstance(evolution, Forget):
                del self.theirs[dot.replica]
            elif isinstance(evolution, Append):
                del self.chains[stream][dot.number]
                self.numbers[stream].remove(dot.number)
                self.places[evolution.event].discard(dot)
                if not self.places[evolution.event]:
                    del self.places[evolution.event]
        if stream in self.chains and not self.chains[stream]:
            del self.chains[stream], self.numbers[stream]

    def close(self, stream: Stream, first: int) -> None:
        """Take nothing of a stream from a number on, and take out what there is: it may be two things."""
        self.closed[stream] = min(first, self.closed.get(stream, first))
        last = self.seen.last(stream)
        if last >= first:
            self.disown(DotRun(*stream, first, last + 1))

    def settle(self, dot: Dot) -> None:
        """Drop a removal that everybody has: what it took away comes from nowhere any more."""
        if isinstance(self.held[dot], Add) and dot not in self.struck:  # an update: what it gives stays
            self.settled.add(dot)
        else:
            del self.held[dot]

    def _append(self, append: Append) -> None:
        dot, event = append.dot, append.event
        number, stream = dot.number, dot.stream
        if number <= self.marks.get(stream, 0):
            return
        self.held[dot] = append
        chain = self.chains.get(stream)
        if chain is None:
            chain = self.chains[stream] = {}
            self.numbers[stream] = []
        chain[number] = event
        numbers = self.numbers[stream]
        if not numbers or number > numbers[-1]:
            numbers.append(number)
        else:
            insort(numbers, number)
        self.changes.appended.append(dot)
        places = self.places.get(event)
        if places is None:
            self.places[event] = {dot}
        else:
            places.add(dot)

    def _give(self, add: Add) -> None:
        fact = add.fact.normal()
        key = fact.key()
        self.held[add.dot] = add
        given = self.facts.get(key)
        if given is None:
            self.facts[key] = {add.dot: fact}
        else:
            given[add.dot] = fact
        self.changes.given.append(key)
        for event in (fact.left, fact.right):
            naming = self.naming.get(event)
            if naming is None:
                self.naming[event] = {key}
            else:
                naming.add(key)

    def _strike(self, targets: Iterable[Dot]) -> None:
        for dot in targets:
            if not self.signed:
                self.seen.add(dot)  # should it still come, it comes too late
            elif dot not in self.seen:
                self.early.add(dot)
            if not self.struck.add(dot):
                continue
            struck = self.held.get(dot)
            if isinstance(struck, Add):
                self._withdraw(dot, struck.fact.key())
                if not struck.replaces or dot in self.settled:
                    del self.held[dot]  # else what an update took away is still to be taken away elsewhere
                    self.settled.discard(dot)

    def _withdraw(self, dot: Dot, key: FactKey) -> None:
        """A dot no longer gives a correspondence."""
        given = self.facts[key]
        del given[dot]
        if not given:
            del self.facts[key]
            self.changes.withdrawn.append(key)
            for event in (key[0], key[2]):
                self.naming[event].discard(key)
                if not self.naming[event]:
                    del self.naming[event]

    # -- what they come to ---------------------------------------------------------------------------

    def chain(self, stream: Stream) -> list[str]:
        """The events of a stream, in order, without those that stand elsewhere too."""
        events = self.chains.get(stream, {})
        numbers = self.numbers.get(stream, ())
        return [events[number] for number in numbers if len(self.places[events[number]]) == 1]

    def neighbours(self, dot: Dot) -> tuple[str | None, str | None]:
        """The events that stand before and after an appended one in its chain."""
        events, numbers = self.chains[dot.stream], self.numbers[dot.stream]
        at = bisect_left(numbers, dot.number)
        before = events[numbers[at - 1]] if at else None
        return before, events[numbers[at + 1]] if at + 1 < len(numbers) else None

    def is_link(self, left: str, right: str) -> bool:
        """Whether one event is the next after another in a chain."""
        return any(self.neighbours(dot)[1] == right for dot in self.places.get(left, ()))

    def links(self, stream: Stream) -> Iterator[Correspondence]:
        """The chain of a stream as correspondences, each event before the next."""
        source = f"events of {stream[0]}"
        for left, right in pairwise(self.chain(stream)):
            yield Correspondence(left, Relation.BEFORE, right, source)

    def given(self) -> list[Correspondence]:
        """What is given, once each, in the order of keys; the source is that of the least dot."""
        return [self.stated(key) for key in sorted(self.facts)]

    def stated(self, key: FactKey) -> Correspondence:
        """A correspondence that is given, as its least dot states it."""
        dots = self.facts[key]
        return dots[min(dots)]

    def removals(self) -> list[Dot]:
        """What is held only, or also, to take something away."""
        return [
            dot
            for dot, e in self.held.items()
            if isinstance(e, Remove) or (isinstance(e, Add) and e.replaces and dot not in self.settled)
        ]
