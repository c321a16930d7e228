"""Deciding one pair of a recursive predicate by a search from the goal, nothing saturated.

For a symmetric predicate whose recursive rules have one recursive premise each, that premise sharing one
event with the conclusion. Such is `?`: nearly always one step decides, an event related to neither or
two concurrences.

Where events are so many that rows of all would not fit, a search that goes wherever the rules lead does not
end: from a pair of a log of a million events they lead to all later ones. What needs no recursion there are
few pairs, which can be listed, such as two events concurrent with the same one. So the search climbs towards
one of them: from event to event by the longest steps, none of which leads past it.
"""

from __future__ import annotations

from collections.abc import Sequence

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT
from microcosm.engine.join import Join, Pointwise, RelationScope
from microcosm.engine.propagation import TableRule
from microcosm.engine.reachability import Reachability
from microcosm.order.bits import bits, lowest

Ends = tuple[int, int]
"""A pair of positions of which something is to be decided."""

Climb = list[Ends]
"""Goals, each with one end of the one before; the last needs no recursion."""


class BackwardSearch:
    """A goal is a pair; the goals (x, y) for many x and one y are searched together, as a set of x.

    Cost of a question: some row operations for each event that is met.
    """

    def __init__(self, rules: Sequence[TableRule], scope: RelationScope) -> None:
        self._scope = scope
        self._base: list[tuple[Pointwise, Join | None]] = []
        self._steps: list[tuple[Pointwise, Join, int]] = []
        self.reach = Reachability(rules, scope)
        self.steps = 0
        """How many events all searches have met since the ground changed."""
        self.searches = 0
        """How many of them there were."""
        self._trails: dict[Ends, Climb] = {}
        self._listed: dict[int, dict[int, list[int]]] = {}
        for rule in rules:
            rest = rule.rest
            if not rule.reads:
                self._base.append((rule.bound, Join(rest, (LEFT,), RIGHT, scope) if rest else None))
                continue
            assert rest is not None
            (read,) = rule.reads
            ends = (read.left, read.right)
            kept, middle = ends if ends[0] in (LEFT, RIGHT) else ends[::-1]
            self._steps.append((rule.bound, Join(rest.without(read), (LEFT, RIGHT), middle, scope), kept))
        self._moves = [(bound, step) for bound, step, kept in self._steps if kept == RIGHT]

    def forget(self) -> None:
        """The ground changed."""
        self.steps = self.searches = 0
        self._trails.clear()
        self._listed.clear()
        self.reach.forget()

    def trail(self, a: int, b: int) -> Climb | None:
        """From a pair that was found to hold to one that needs no recursion, where it was climbed to."""
        trail = self._trails.get((a, b))
        return [pair[::-1] for pair in self._trails.get((b, a), ())] if trail is None else trail

    def at_once(self, a: int, others: int) -> tuple[int, int]:
        """Of some events b those for which (a, b) holds without recursion, and others for which it may hold.

        Cost: some row operations for each event that a rule without recursion leads to from a.
        """
        found = maybe = 0
        for bound, join in self._base:
            within = bound.row(a, others & ~found)
            found |= within if join is None or not within else join.solve({LEFT: a}, within)
        for bound in dict.fromkeys(bound for bound, _, _ in self._steps):
            maybe |= bound.row(a, others & ~found & ~maybe)
        return found, maybe ^ self.reach.surely_vain_with(a, maybe)

    def decide(self, a: int, b: int, limit: float) -> bool | None:
        """Whether the pair holds; None when over `limit` events were met on the way.

        Where the goals next to the first do not succeed, it is asked whether any can; and again after many.
        """
        self.searches += 1
        met: dict[int, int] = {}
        agenda, steps = [(b, 1 << a)], 0
        look, vain, helped = tuning.LOOKS_AHEAD_AFTER, 0, 0
        while agenda:
            y, goals = agenda.pop()
            before = met.get(y, 0)
            goals ^= goals & (before | 1 << y | self.reach.vain(y))
            if not goals:
                continue
            met[y] = before | goals
            for bound, join in self._base:
                within = bound.row(y, goals)
                if within and (join is None or join.some({LEFT: y}, within)):
                    return True
            barred = 0
            for bound, step, kept in self._steps:
                left = bound.col(y, goals)
                if left and not steps and self.reach.found_vain(a, b):
                    return False
                for x in bits(left ^ left & barred):
                    if barred >> x & 1:
                        continue
                    if steps and (vainly := self.reach.surely_with(x, y)):
                        barred |= vainly
                        continue
                    if steps >= limit:
                        return None
                    if steps == len(self._steps):
                        if self.reach.hopeless(a, b):
                            return False
                        if self._scope.domain.bit_length() > tuning.CLIMBED_FROM:
                            trail = self.climb((a, b))
                            if trail is not None:
                                if trail and len(self._trails) < tuning.ANSWERS_KEPT:
                                    self._trails[a, b] = trail
                                return bool(trail)
                    steps += 1
                    self.steps += 1
                    if steps > look:
                        if vainly := self.reach.hopeless(x, y):
                            barred |= vainly
                            helped += 1
                            continue
                        vain += 1
                        look = steps + max(0, vain - 2 * helped)  # seldomer where it rarely helps
                    found = step.solve({LEFT: x, RIGHT: y}, self._scope.domain)
                    agenda.append((y if kept == RIGHT else x, found))
        return False

    # -- towards what needs no recursion -------------------------------------------------------------------

    def climb(self, goal: Ends) -> Climb | None:
        """The way from a pair to one that needs no recursion, each moving one end of the one before.

        Empty where the pair does not hold; None where that stays open.
        """
        left, right, rules = self.reach.ahead(*goal)
        targets, certain = set[Ends](), True
        for rule in rules:
            pairs = self._pairs(rule)
            if pairs is None:
                certain = False
                continue
            within = ((x, y) for x, ends in pairs.items() if left >> x & 1 for y in ends)
            targets.update((x, y) for x, y in within if right >> y & 1)
        nearest = sorted(targets, key=lambda pair: abs(pair[0] - goal[0]) + abs(pair[1] - goal[1]))
        for target in nearest[: tuning.CLIMBED_ALONG]:
            tails = [self.reach.before(end) for end in target]  # along orders alone, in a few steps
            if trail := self._way(goal, target, tails, tuning.STEPS_ALONG):
                return trail
        for target in nearest[: tuning.CLIMBED_ANYHOW]:
            tails = [tail for end in target if (tail := self.reach.linked(end, forwards=False)) is not None]
            many = len(tails) < len(target)
            trail = None if many else self._way(goal, target, tails, tuning.STEPS_ANYHOW)
            if trail:
                return trail
            certain = certain and trail is not None
        return [] if certain and len(nearest) <= tuning.CLIMBED_ANYHOW else None

    def _pairs(self, rule: int) -> dict[int, list[int]] | None:
        """What a rule without recursion concludes, where that can be listed."""
        if rule in self._listed:
            return self._listed[rule]
        (bound, join), lefts = self._base[rule], self.reach.lefts(rule)
        if join is None or lefts.bit_count() > tuning.RULES_LISTED:
            return None
        found: dict[int, list[int]] = {}
        for x in bits(lefts):
            row = bits(join.solve({LEFT: x}, self._scope.domain))
            if ends := [y for y in row if y != x and bound.holds(x, y)]:
                found[x] = ends
        return self._listed.setdefault(rule, found)

    def _way(self, goal: Ends, target: Ends, tails: list[int], patience: int) -> Climb | None:
        """How the rules lead from one pair to the other, each end by way of the events of its tail alone.

        Empty: they do not; None: not in so many steps.
        """
        if not (tails[0] >> goal[0] & 1 and tails[1] >> goal[1] & 1):
            return []
        met: dict[Ends, Ends] = {}  # and by way of what
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


def _back(met: dict[Ends, Ends], goal: Ends, start: Ends) -> Climb:
    """The way from `start` to a goal."""
    trail = [goal]
    while trail[-1] != start:
        trail.append(met[trail[-1]])
    return trail[::-1]
