"""Climbing from a goal to one of the few pairs that rules conclude without recursion.

Where events are so many that rows of all would not fit, a search that goes wherever the rules lead does not
end: from a pair of a log of a million events they lead to all later ones. What needs no recursion there are
few pairs, which can be listed, such as two events concurrent with the same one. So the search goes towards
one of them: from event to event by the longest steps, none of which leads past it.
"""

from __future__ import annotations

from collections.abc import Sequence

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT
from microcosm.engine.join import Join, Scope
from microcosm.engine.reachability import Outlook
from microcosm.engine.views import Pointwise
from microcosm.order.bits import bits, lowest

Goal = tuple[int, int]

Trail = list[Goal]


class Ascent:
    """Over one symmetric predicate; `bases` are its rules without recursion, `moves` those that move LEFT."""

    def __init__(
        self,
        bases: Sequence[tuple[Pointwise, Join | None]],
        moves: Sequence[tuple[Pointwise, Join]],
        outlook: Outlook,
        scope: Scope,
    ) -> None:
        self._bases, self._moves = bases, moves
        self._outlook, self._scope = outlook, scope
        self._listed: dict[int, dict[int, list[int]] | None] = {}
        self.steps = 0
        """How many steps all climbs have taken."""

    def forget(self) -> None:
        """The ground changed."""
        self._listed.clear()

    def trail(self, goal: Goal) -> Trail | None:
        """From a pair that holds to one that needs no recursion, each moving one end of the one before.

        Empty where the pair does not hold; None where that stays open.
        """
        left, right, rules = self._outlook.ahead(*goal)
        targets, certain = set[Goal](), True
        for rule in rules:
            pairs = self._pairs(rule)
            if pairs is None:
                certain = False
                continue
            within = ((x, y) for x, ends in pairs.items() if left >> x & 1 for y in ends)
            targets.update((x, y) for x, y in within if right >> y & 1)
        nearest = sorted(targets, key=lambda pair: abs(pair[0] - goal[0]) + abs(pair[1] - goal[1]))
        for target in nearest[: tuning.CLIMBED_ALONG]:
            if trail := self._straight(goal, target):
                return trail
        for target in nearest[: tuning.CLIMBED_ANYHOW]:
            trail = self._winding(goal, target)
            if trail:
                return trail
            certain = certain and trail is not None
        return [] if certain and len(nearest) <= tuning.CLIMBED_ANYHOW else None

    def _pairs(self, rule: int) -> dict[int, list[int]] | None:
        """What a rule without recursion concludes, where that can be listed."""
        if rule not in self._listed:
            self._listed[rule] = self._list(rule)
        return self._listed[rule]

    def _list(self, rule: int) -> dict[int, list[int]] | None:
        bound, join = self._bases[rule]
        lefts = self._outlook.lefts(rule)
        if join is None or lefts.bit_count() > tuning.RULES_LISTED:
            return None
        found: dict[int, list[int]] = {}
        for x in bits(lefts):
            row = bits(join.solve({LEFT: x}, self._scope.domain))
            if ends := [y for y in row if y != x and bound.holds(x, y)]:
                found[x] = ends
        return found

    def _straight(self, goal: Goal, target: Goal) -> Trail | None:
        """How the rules soon lead from one pair to the other, along orders alone."""
        tails = [self._outlook.before(end) for end in target]
        return self._climb(goal, target, tails, tuning.STEPS_ALONG)

    def _winding(self, goal: Goal, target: Goal) -> Trail | None:
        """How the rules lead from one pair to the other; empty: they do not; None: not in so many steps."""
        tails = [tail for end in target if (tail := self._outlook.linked(end, forwards=False)) is not None]
        return self._climb(goal, target, tails, tuning.STEPS_ANYHOW) if len(tails) == len(target) else None

    def _climb(self, goal: Goal, target: Goal, tails: list[int], patience: int) -> Trail | None:
        """The same, each end going by way of some events only."""
        if not (tails[0] >> goal[0] & 1 and tails[1] >> goal[1] & 1):
            return []
        met: dict[Goal, Goal] = {}  # and by way of what
        # Which end stays, and where; a place, and the other ends from there on; by way of what.
        agenda = [(1, goal[1], goal[0], 1, goal)]
        while agenda:
            end, fixed, place, others, way = agenda.pop()
            highest = others.bit_length() - 1
            if rest := others ^ 1 << highest:
                agenda.append((end, fixed, place, rest, way))
            pair = (place + highest, fixed) if end == 1 else (fixed, place + highest)
            if pair in met:
                continue
            if len(met) >= patience:
                return None
            met[pair] = way
            self.steps += 1
            for stays in (end, 1 - end):  # the last one is gone on with
                moved = self._moved(pair[1 - stays], pair[stays]) & tails[1 - stays]
                if pair[stays] == target[stays] and moved >> target[1 - stays] & 1:
                    return [*_back(met, pair, goal), target]
                if moved := self._movable(moved, pair[stays]):
                    place = lowest(moved)
                    agenda.append((stays, pair[stays], place, moved >> place, pair))
        return []

    def _moved(self, left: int, right: int) -> int:
        """Where the rules lead from a pair, the right end staying."""
        found = 0
        for bound, step in self._moves:
            if bound.holds(left, right):
                found |= step.solve({LEFT: left, RIGHT: right}, self._scope.domain)
        return found & ~(1 << right)

    def _movable(self, lefts: int, right: int) -> int:
        """The left ends from which some rule may lead on."""
        found = 0
        for bound in dict.fromkeys(bound for bound, _ in self._moves):
            found |= bound.col(right, lefts)
        return found


def _back(met: dict[Goal, Goal], goal: Goal, start: Goal) -> Trail:
    """The way from `start` to a goal."""
    trail = [goal]
    while trail[-1] != start:
        trail.append(met[trail[-1]])
    return trail[::-1]
