"""Deciding one pair of a recursive predicate by a search from the goal, nothing saturated.

For a symmetric predicate whose recursive rules have one recursive premise each, that premise sharing one
event with the conclusion. Such is `?`: nearly always one step decides, an event related to neither or
two concurrences.
"""

from __future__ import annotations

from collections.abc import Collection

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, Pred
from microcosm.engine.guided_search import Ascent, Trail
from microcosm.engine.join import Join, Scope
from microcosm.engine.reachability import Outlook
from microcosm.engine.views import Pointwise
from microcosm.order.bits import bits


class Goals:
    """A goal is a pair; the goals (x, y) for many x and one y are searched together, as a set of x."""

    def __init__(self, pred: Pred, bodies: tuple[Body, ...], scope: Scope) -> None:
        self._scope = scope
        self._base: list[tuple[Pointwise, Join | None]] = []
        self._steps: list[tuple[Pointwise, Join, int]] = []
        self._outlook = Outlook(pred, bodies, scope)
        self.steps = 0
        """How many events all searches have met since the ground changed."""
        self._decided: dict[tuple[int, int], bool] = {}
        self._trails: dict[tuple[int, int], Trail] = {}
        bounds: dict[object, Pointwise] = {}
        for body in bodies:
            here, rest = body.split((pred,))
            both = here.ones, here.pairs
            bound = bounds.setdefault(both, Pointwise(*both, scope))
            reads = body.reads((pred,))
            if not reads:
                self._base.append((bound, Join(rest, (LEFT,), RIGHT, scope) if rest else None))
                continue
            assert rest is not None
            ends = (reads[0].left, reads[0].right)
            kept, middle = ends if ends[0] in (LEFT, RIGHT) else ends[::-1]
            self._steps.append((bound, Join(rest.without(reads[0]), (LEFT, RIGHT), middle, scope), kept))
        moves = [(bound, step) for bound, step, kept in self._steps if kept == RIGHT]
        self._ascent = Ascent(self._base, moves, self._outlook, scope)

    def forget(self) -> None:
        """The ground changed."""
        self.steps = 0
        self._decided.clear()
        self._trails.clear()
        self._outlook.forget()
        self._ascent.forget()

    def trail(self, a: int, b: int) -> Trail | None:
        """From a pair that was found to hold to one that needs no recursion, where it was climbed to.

        Each pair moves one end of the one before.
        """
        trail = self._trails.get((a, b))
        return [pair[::-1] for pair in self._trails.get((b, a), ())] if trail is None else trail

    def decide(self, a: int, b: int, limit: float) -> bool | None:
        """Whether the pair holds, which is remembered; None when over `limit` events were met on the way."""
        pair = (a, b) if a < b else (b, a)
        answer = self._decided.get(pair)
        if answer is None:
            answer = self._search(a, b, limit)
            if answer is not None and len(self._decided) < tuning.ANSWERS_KEPT:
                self._decided[pair] = answer
        return answer

    def _search(self, a: int, b: int, limit: float) -> bool | None:
        """The same, where it is not known.

        Where the goals next to the first do not succeed, it is asked whether any can; and again after many.
        """
        met: dict[int, int] = {}
        agenda, steps = [(b, 1 << a)], 0
        look, vain, helped = tuning.LOOKS_AHEAD_AFTER, 0, 0
        while agenda:
            y, goals = agenda.pop()
            goals &= ~met.get(y, 0) & ~(1 << y) & ~self._outlook.vain(y)
            if not goals:
                continue
            met[y] = met.get(y, 0) | goals
            for bound, join in self._base:
                within = bound.row(y, goals)
                if within and (join is None or join.some({LEFT: y}, within)):
                    return True
            barred = 0
            for bound, step, kept in self._steps:
                for x in bits(bound.col(y, goals) & ~barred):
                    if barred >> x & 1:
                        continue
                    if steps >= limit:
                        return None
                    if steps == len(self._steps):
                        if self._outlook.hopeless(a, b):
                            return False
                        if self._scope.domain.bit_length() > tuning.CLIMBED_FROM:
                            climbed = self._ascent.steps
                            trail = self._ascent.trail((a, b))
                            self.steps += self._ascent.steps - climbed
                            if trail is not None:
                                if trail and len(self._trails) < tuning.ANSWERS_KEPT:
                                    self._trails[a, b] = trail
                                return bool(trail)
                    steps += 1
                    self.steps += 1
                    if steps > look:
                        if vainly := self._outlook.hopeless(x, y):
                            barred |= vainly
                            helped += 1
                            continue
                        vain += 1
                        look = steps + max(0, vain - 2 * helped)  # seldomer where it rarely helps
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
