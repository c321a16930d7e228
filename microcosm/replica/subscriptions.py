"""Who wants to be told when two events are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm

Decided = Callable[[str, str, Relation], None]

DECIDED = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)


class Subscription(NamedTuple):
    """One who waits for a verdict on a pair; `accurate`: for one of `<`, `>`, `||`."""

    left: str
    right: str
    tell: Decided
    accurate: bool


class Subscriptions:
    """Those who wait; each is told once."""

    def __init__(self) -> None:
        self.waiting: list[Subscription] = []

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, left: str, right: str, tell: Decided, accurate: bool = False) -> None:
        """Somebody waits."""
        self.waiting.append(Subscription(left, right, tell, accurate))

    def settle(self, known: Microcosm) -> None:
        """Tell those whose pair is decided. Who is told may add others, and change the replica."""
        told = []
        for each in self.waiting:
            verdict = known.online(each.left, each.right)
            if verdict in DECIDED and not (each.accurate and verdict is Relation.RELATED):
                told.append((each, verdict))
        done = {id(each) for each, _ in told}
        self.waiting = [each for each in self.waiting if id(each) not in done]
        for each, verdict in told:
            each.tell(each.left, each.right, verdict)
