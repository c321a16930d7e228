"""Deciding one pair of a recursive predicate by a search from the goal, nothing saturated.

For a symmetric predicate whose recursive rules have one recursive premise each, that premise sharing one
event with the conclusion. Such is `?`: nearly always one step decides, an event related to neither or
two concurrences.
"""

from __future__ import annotations

from collections.abc import Collection

from microcosm.engine.body import LEFT, RIGHT, Body, Pred
from microcosm.engine.join import Join, Scope
from microcosm.engine.outlook import Outlook
from microcosm.engine.views import Pointwise
from microcosm.relations.bits import bits


class Goals:
    """A goal is a pair; the goals (x, y) for many x and one y are searched together, as a set of x."""

    def __init__(self, pred: Pred, bodies: tuple[Body, ...], scope: Scope) -> None:
        self._scope = scope
        self._base: list[tuple[Pointwise, Join | None]] = []
        self._steps: list[tuple[Pointwise, Join, int]] = []
        self._outlook = Outlook(pred, bodies, scope)
        for body in bodies:
            here, rest = body.split((pred,))
            bound = Pointwise(here.ones, here.pairs, scope)
            reads = body.reads((pred,))
            if not reads:
                self._base.append((bound, Join(rest, (LEFT,), RIGHT, scope) if rest else None))
                continue
            assert rest is not None
            ends = (reads[0].left, reads[0].right)
            kept, middle = ends if ends[0] in (LEFT, RIGHT) else ends[::-1]
            self._steps.append((bound, Join(rest.without(reads[0]), (LEFT, RIGHT), middle, scope), kept))

    def decide(self, a: int, b: int, limit: float) -> bool | None:
        """Whether the pair holds; None when more than `limit` events were met on the way."""
        met: dict[int, int] = {}
        first = True
        agenda = [(b, 1 << a)]
        while agenda:
            y, goals = agenda.pop()
            goals &= ~met.get(y, 0) & ~(1 << y)
            if not goals:
                continue
            met[y] = met.get(y, 0) | goals
            for bound, join in self._base:
                reached = bound.row(y, goals)
                if reached and (join is None or join.solve({LEFT: y}, reached)):
                    return True
            if first and self._outlook.hopeless(a, b):
                return False
            first = False
            for bound, step, kept in self._steps:
                for x in bits(bound.col(y, goals)):
                    limit -= 1
                    if limit < 0:
                        return None
                    found = step.solve({LEFT: x, RIGHT: y}, self._scope.domain)
                    agenda.append((y if kept == RIGHT else x, found))
        return False


def goals(
    pred: Pred, bodies: tuple[Body, ...], stratum: tuple[Pred, ...], symmetric: Collection[Pred], scope: Scope
) -> Goals | None:
    """The goal search of a predicate, where the shape of its rules allows one."""
    if stratum != (pred,) or pred not in symmetric:
        return None
    for body in bodies:
        reads = body.reads((pred,))
        if len(reads) > 1:
            return None
        for read in reads:
            ends = (read.left, read.right)
            if read.source.kind == "any" or (LEFT in ends) + (RIGHT in ends) != 1:
                return None
    return Goals(pred, bodies, scope)
