"""Who is told what this replica learns, and when: gossip, and beside it exchanges with a few members in turn.

What is new here is pushed, soon, to a few members drawn at random, who do the same with it; nobody is told
what he told himself. So an event reaches n members in about log n steps, for a few packets each (Demers and
others, *Epidemic algorithms for replicated database maintenance*, 1987). Whom chance passes over, or a loss,
learns it by comparing: every interval some members are asked what they know, each in its turn.

Between two pushes is a pause that grows with the members, and what is learnt meanwhile goes together. So the
packets that a member sends in a second are bounded, however many events there are.

And whom it heeds: who says what no replica of this program says is not listened to for a while (`Suspects`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from microcosm.replica.ledger.dots import Dot, Dots
from microcosm.replica.network.peer import NEVER
from microcosm.replica.replica import Replica

SOON = 0.02
"""Seconds from something new to the push that tells of it."""

PAUSE = 0.004
"""Seconds between two pushes, for each member."""

FANOUT = 4
"""So many members are pushed to."""

ASKED = 2
"""So many members are asked in each interval."""

MUCH = 8
"""So many evolutions are pushed at most."""


class Gossip:
    """When members are told and asked something, and which. It does no I/O; times are passed in.

    `reaches` says whether a member can be told something now. `interval`: seconds between rounds of asking.
    """

    def __init__(
        self, replica: Replica, reaches: Callable[[str], bool], random: Random | None = None
    ) -> None:
        self.interval = 1.0
        self.fanout = FANOUT
        """How many members are pushed to; 0: nobody is told or asked anything."""
        self._replica = replica
        self._reaches = reaches
        self._random = random or Random()
        self._before = replica.seen().copy()
        """What was seen when it was pushed last."""
        self._learned_from: dict[str, Dots] = {}
        """What each member has told of what is new since."""
        self._push_at = NEVER
        self._rests_until = -NEVER
        self._round_at = -NEVER
        self._hurry = False
        """Whether somebody is to be asked at once."""
        self._left = ASKED
        """So many may still be asked in this interval."""
        self._turn: list[str] = []
        """Those who are still to be asked, the next one last, before it begins anew."""
        replica.exchange.heard = self._heard

    def next_time(self) -> float:
        """When `poll` will have something to do."""
        return min(self._push_at, self._round_at) if self.fanout else NEVER

    def met(self, name: str) -> None:
        """A member has started, or this replica has: it is the next one to be asked."""
        self._turn = [*(each for each in self._turn if each != name), name]
        self._hurry = self._left > 0

    def poll(self, members: list[str], now: float) -> Iterator[tuple[str, bytes]]:
        """What to tell whom now. Cost: the streams, where there is nothing to do."""
        if not self.fanout:
            return
        if self._push_at == NEVER and self._replica.seen() != self._before:
            self._push_at = max(now + SOON, self._rests_until)
        if now >= self._push_at:
            self._push_at = NEVER
            fresh = self._replica.seen() - self._before
            much = fresh.count > MUCH
            self._rests_until = now + PAUSE * len(members) * (1 + much)
            yield from self._push(members, fresh, much)
        if now >= self._round_at:
            self._round_at = now + self.interval * self._random.uniform(0.75, 1.25)
            self._left = ASKED
            self._turn = self._turn or self._random.sample(members, len(members))
            self._hurry = True
        if self._hurry:
            self._hurry = False
            for name in self._next(members):
                yield from ((name, message) for message in self._replica.exchange.begin(name))

    def _heard(self, name: str, dots: Iterable[Dot]) -> None:
        """A member has told some evolutions."""
        for dot in dots:
            if dot not in self._before:
                self._learned_from.setdefault(name, Dots()).add(dot)

    def _push(self, members: list[str], fresh: Dots, much: bool) -> Iterator[tuple[str, bytes]]:
        """Tell some members what is new, as far as they have not told it themselves.

        Where much is new, everybody has heard of some of it: so fewer are asked, who tell what they lack.
        """
        exchange, pushed = self._replica.exchange, self._learned_from
        self._before, self._learned_from = self._replica.seen().copy(), {}
        left = self.fanout // 2 if much else self.fanout
        for name in self._random.sample(members, len(members)):
            new = fresh - pushed[name] if name in pushed else fresh
            if left and new and self._reaches(name):
                left -= 1
                for message in exchange.begin(name, plainly=True) if much else exchange.offer(name, new):
                    yield name, message

    def _next(self, members: list[str]) -> list[str]:
        """Those whose turn it is to be asked, if they can be."""
        found: list[str] = []
        while self._turn and self._left:
            name = self._turn.pop()
            if name in members and name not in found and self._reaches(name):
                found.append(name)
                self._left -= 1
        return found


class Suspect(NamedTuple):
    """A member that said what no replica of this program says: what, how often, and until when it is not
    heeded."""

    why: str
    times: int
    until: float


class Suspects:
    """Members whose exchanges are not heeded for a while, twice as long each time; their messages are."""

    LONGEST = 3600.0

    def __init__(self) -> None:
        self.found: dict[str, Suspect] = {}

    def blame(self, name: str, why: str, now: float, *, heed: bool = False) -> None:
        """A member has said something wrong; with `heed` it is named, and heeded all the same."""
        times = self.found[name].times + 1 if name in self.found else 1
        wait = 0.0 if heed else min(self.LONGEST, 2.0 ** min(times, 16))
        self.found[name] = Suspect(why, times, now + wait)

    def heeds(self, name: str, now: float) -> bool:
        """Whether what a member says of its knowledge is looked at."""
        return name not in self.found or now >= self.found[name].until
