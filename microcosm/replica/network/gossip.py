"""Who is told what this replica learns, and when: gossip, and beside it exchanges with a few members in turn.

What is new here is pushed, soon, to a few members drawn at random, who do the same with it; nobody is told
what he told himself. So an event reaches n members in about log n steps, for a few packets each (Demers and
others, *Epidemic algorithms for replicated database maintenance*, 1987). Whom chance passes over, or a loss,
learns it by comparing: every interval some members are asked what they know, each in its turn.

Between two pushes is a pause that grows with the members, and what is learnt meanwhile goes together. So the
packets that a member sends in a second are bounded, however many events there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

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

MOST_PUSHED = 16_000
"""Bytes of a push to one member; where there is more, members are asked what they know instead."""


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
        self._count = len(self._before)
        self._told: dict[str, Dots] = {}
        """What each member has told of what is new since."""
        self._push_at = NEVER
        self._pushed_at = -NEVER
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

    @property
    def pushes(self) -> bool:
        """Whether something new waits to be pushed."""
        return self._push_at < NEVER

    def met(self, name: str) -> None:
        """A member has started, or this replica has: it is the next one to be asked."""
        self._turn = [*(each for each in self._turn if each != name), name]
        self._hurry = self._left > 0

    def poll(self, members: list[str], now: float) -> Iterator[tuple[str, bytes]]:
        """What to tell whom now. Cost: a count of what is seen, where there is nothing to do."""
        if not self.fanout:
            return
        count = len(self._replica.seen())
        if count != self._count:
            self._count = count
            if self._push_at == NEVER:
                self._push_at = max(now + SOON, self._pushed_at + PAUSE * len(members))
        if now >= self._push_at:
            self._push_at, self._pushed_at = NEVER, now
            yield from self._push(members)
        if now >= self._round_at:
            self._round_at = now + self.interval * self._random.uniform(0.75, 1.25)
            self._left = ASKED
            self._turn = self._turn or self._random.sample(members, len(members))
            self._hurry = True
        if self._hurry:
            self._hurry = False
            for name in self._next(members):
                yield from self._ask(name)

    def _heard(self, name: str, dot: Dot) -> None:
        """A member has told an evolution."""
        if dot not in self._before:
            self._told.setdefault(name, Dots()).add(dot)

    def _push(self, members: list[str]) -> Iterator[tuple[str, bytes]]:
        """Tell some members what is new, as far as they have not told it themselves."""
        replica, told = self._replica, self._told
        fresh = replica.seen() - self._before
        self._before, self._told = replica.seen().copy(), {}
        left = self.fanout
        asking = False
        for name in self._random.sample(members, len(members)):
            new = fresh - told[name] if name in told else fresh
            if not left:
                break
            if not new or not self._reaches(name):
                continue
            left -= 1
            messages = [] if asking else replica.exchange.tell(new)
            asking = asking or sum(map(len, messages)) > MOST_PUSHED
            if asking:
                yield from self._ask(name)
            else:
                yield from ((name, message) for message in messages)
        if asking and told:  # who told most has more of it
            yield from self._ask(max(told, key=lambda name: len(told[name])))

    def _next(self, members: list[str]) -> list[str]:
        """Those whose turn it is to be asked, if they can be."""
        found: list[str] = []
        while self._turn and self._left:
            name = self._turn.pop()
            if name in members and name not in found and self._reaches(name):
                found.append(name)
                self._left -= 1
        return found

    def _ask(self, name: str) -> Iterator[tuple[str, bytes]]:
        return ((name, message) for message in self._replica.exchange.begin(name))
