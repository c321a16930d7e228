"""Whether a search from a goal can succeed at all: a few row operations that say no early.

The goals that a search for (a, b) can come to are pairs (x, y) with x reached from a and y from b, each
on its own. Where no pair of these two sets is concluded without recursion, the search would be in vain.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from microcosm import tuning
from microcosm.engine.body import LEFT, RIGHT, Body, PairLiteral
from microcosm.engine.join import Join, RelationScope
from microcosm.engine.propagation import TableRule
from microcosm.engine.relations import RowOf, RowRelation, Union
from microcosm.order.bits import bits, lowest
from microcosm.order.labels import Labels
from microcosm.order.order import Closure


class Reachability:
    """Over one symmetric predicate: recursive rules have one recursive premise each, mirrors are put in.

    Cost of a question: a row operation for each event that is followed, so many at most (`tuning.FOLLOWED`);
    what was found is remembered.
    """

    def __init__(self, rules: Sequence[TableRule], scope: RelationScope) -> None:
        self._base = [_Base(rule.body, scope) for rule in rules if not rule.reads]
        self._moves: list[tuple[RowRelation, bool]] = []
        self._bounded = True
        self._linked: dict[tuple[int, bool, int], int | None] = {}
        self._scope = scope
        self._vain: deque[tuple[int, int]] = deque(maxlen=tuning.VAIN_KEPT)
        """Left and right ends, no pair of which holds."""
        self._barring = 0
        """Events that were before both ends of a goal (or after both), and bar every rule there."""
        self._doubted = False  # whether the ground changed since they did
        for rule in rules:
            for read in rule.reads:
                moves = list(_moves(rule.body, read, scope))
                self._moves.extend(move for move in moves if move not in self._moves)
                self._bounded = self._bounded and bool(moves)
        relation, self._forwards = self._moves[0] if len(self._moves) == 1 else (None, True)
        self._along = relation if self._bounded and isinstance(relation, Closure) else None
        """The order along which alone recursive rules lead, if it is so."""
        rows: list[RowOf] = [int, int] if relation is None else [relation.row, relation.col]
        self._ahead, self._behind = rows if self._forwards else rows[::-1]
        """Along it: where an event leads to, and what leads to it."""

    def forget(self) -> None:
        """The ground changed: what was remembered may not hold any more."""
        self._linked.clear()
        self._vain.clear()
        self._doubted = bool(self._barring)
        for base in self._base:
            base.forget()

    def hopeless(self, a: int, b: int) -> int:
        """A set with a in it, none of it holding with b; 0 says nothing. Cost: some row operations a rule."""
        if not self._bounded:
            return 0
        left, right = (self.linked(event, most=tuning.FOLLOWED) for event in (a, b))
        if left is None or right is None or not all(r.barred(left, right, (a, b)) for r in self._base):
            return 0
        self._vain.append((left, right))
        return left

    def nothing(self) -> bool:
        """Whether surely no pair at all holds. Cost: as `hopeless`, of all events."""
        domain = self._scope.domain
        return all(rule.barred(domain, domain) for rule in self._base)

    def surely_vain(self, a: int, b: int) -> bool:
        """Whether an event that barred other goals says that no goal that these ends lead to holds.

        Where rules lead along one order alone, an event before both is before all that they lead to. (Where
        they lead backwards, it is one that is after both.) Cost: two rows of the order, mostly of its first
        events.
        """
        order, barring = self._along, self._barring
        if order is None or not barring:
            return False
        if isinstance(order.order, Labels):
            holds, forwards = order.holds, self._forwards
            met = any(
                holds(event, a) and holds(event, b) if forwards else holds(a, event) and holds(b, event)
                for event in bits(barring)
            )
        else:
            met = bool(barring & self._behind(a) & self._behind(b))
        if met and self._doubted:
            self._doubted = False
            self._barring = self._barred_by(barring, order)
            return self.surely_vain(a, b)
        return met

    def found_vain(self, a: int, b: int) -> bool:
        """Whether any event before both ends says that no goal that they lead to holds; it is remembered.

        Cost: two rows of the order.
        """
        common = self._common(a, b)
        if common and self._barring.bit_count() < tuning.BARRING_KEPT:
            self._barring |= 1 << self._first(common)
        return bool(common)

    def surely_vain_with(self, a: int, others: int) -> int:
        """Those of some events with which a does not hold, by what is before both: `surely_vain` of each.

        Cost: a row of the order for each event before a that bars every rule, and is after no other such.
        """
        found, barring = 0, self._common(a, a)
        while barring and (left := others ^ found):
            event = self._first(barring)
            row = self._ahead(event)
            found |= left & row
            barring &= ~(row | 1 << event)
        return found

    def surely_with(self, a: int, b: int) -> int:
        """A set with a in it, none of it holding with b, by what is before both; else 0. Cost: a row more."""
        common = self._common(a, b)
        return self._ahead(self._first(common)) if common else 0

    def _first(self, events: int) -> int:
        """Of some events one that none of them leads to, where positions are near to causal order."""
        return lowest(events) if self._forwards else events.bit_length() - 1

    def _common(self, a: int, b: int) -> int:
        """The events before both ends by which no rule concludes anything."""
        return 0 if self._along is None else self._barred_by(self._behind(a) & self._behind(b), self._along)

    def _barred_by(self, events: int, order: Closure) -> int:
        """Those of some events, all before both ends of a goal, that bar every rule there."""
        for base in self._base:
            if events:
                events = base.surely_barred(events, order, self._forwards)
        return events

    def ahead(self, a: int, b: int) -> tuple[int, int, list[int]]:
        """Where a and b lead to, or more, and which rules without recursion may conclude something there."""
        linked = (self.linked(a), self.linked(b)) if self._bounded else (None, None)
        left, right = (self._scope.domain if found is None else found for found in linked)
        return left, right, [at for at, rule in enumerate(self._base) if not rule.barred(left, right, (a, b))]

    def before(self, event: int) -> int:
        """Every event that leads to one along orders alone, and itself."""
        found = 1 << event
        for relation, forwards in self._moves:
            if isinstance(relation, Closure):
                found |= relation.col(event) if forwards else relation.row(event)
        return found

    def linked(self, event: int, forwards: bool = True, most: int = tuning.FOLLOWED_FAR) -> int | None:
        """Every event that one leads to (or that leads to it), and itself; None: that takes very long."""
        if len(self._linked) > tuning.LEADS_KEPT:
            self.forget()
        key = event, forwards, most
        found = self._linked.get(key, 0)
        if found == 0:  # every event leads to itself
            found = self._linked[key] = self._reached(event, forwards, most)
        return found

    def lefts(self, rule: int) -> int:
        """The events of which, as left ends, a rule without recursion may conclude something."""
        return self._base[rule].lefts()

    def vain(self, b: int) -> int:
        """Events that were found not to hold with b when others were asked about. Cost: a bit test a set."""
        found = 0
        for left, right in tuple(self._vain):  # another thread may add to it
            if right >> b & 1:
                found |= left
        return found

    def _reached(self, start: int, forwards: bool, most: int) -> int | None:
        """Every event that recursive rules lead to (or from), or None where that takes long."""
        reached, done = 1 << start, [0] * len(self._moves)
        while True:
            before = reached
            for at, (relation, onwards) in enumerate(self._moves):
                found = image(relation, onwards is forwards, reached & ~done[at], most)
                if found is None:
                    return None
                done[at] |= reached | (found if isinstance(relation, Closure) else 0)
                reached |= found
            if reached == before:
                return reached


class _Base:
    """A rule without recursive premise."""

    def __init__(self, body: Body, scope: RelationScope) -> None:
        self._scope = scope
        self._body = body
        self._middles = {v for p in body.pairs for v in p.ends} - {LEFT, RIGHT}
        self._nones = [(none, own, Join(none, (LEFT, RIGHT), own, scope)) for none, own in _bars(body)]
        self._served: dict[int, list[int]] = {}
        self._proven: deque[int] = deque(maxlen=tuning.VAIN_KEPT)
        """Events that have made a pattern true of all ends."""

    def lefts(self) -> int:
        """The events that the premises about the left end allow for it."""
        found = self._scope.domain
        for p in self._body.pairs:
            if p.positive and LEFT in p.ends:
                found &= self._scope.relation(p.source).support()[0 if p.left == LEFT else 1]
        return found

    def forget(self) -> None:
        """The ground may have changed."""
        self._served.clear()

    def surely_barred(self, common: int, order: Closure, before: bool) -> int:
        """Those of `common`, all before (or after) both ends, that bar the rule wherever these lead."""
        domain, subset = self._scope.domain, self._scope.subset
        for one in self._body.ones:
            if one.variable in (LEFT, RIGHT) and not _masked(domain, subset(one.source), one.positive):
                return common
        for none, own, _ in self._nones:
            relations = [(self._scope.relation(p.source), before is (p.left == own)) for p in none.pairs]
            has = all(_has(relation, order, straight) for relation, straight in relations)
            if has and (met := self._allowed(none, common & domain)):
                return met
        return 0

    def _allowed(self, none: Body, events: int) -> int:
        """Those of some events that may make a pattern true, by its premises about one event."""
        for one in none.ones:
            events = _masked(events, self._scope.subset(one.source), one.positive)
        return events

    def barred(self, left: int, right: int, goal: tuple[int, int] | None = None) -> bool:
        """Whether the rule surely concludes no pair of `left` and `right`.

        To these the ends of a goal belong, and what bars it is tried first; `right` is always the same for
        one right end. Without a goal any events are tried.
        """
        served = self._served.setdefault(goal[1], []) if goal else []
        if any(not left & ~one for one in served):
            return True
        if any(0 in self._scope.relation(p.source).support() for p in self._body.pairs if p.positive):
            return True
        ends = {LEFT: left, RIGHT: right}
        for one in self._body.ones:
            if one.variable in ends:
                subset = self._scope.subset(one.source)
                ends[one.variable] &= subset if one.positive else ~subset
        if not ends[LEFT] or not ends[RIGHT]:
            return True
        if any(not self._between(middle, ends) for middle in self._middles):
            return True
        domain = self._scope.domain
        for none, own, join in self._nones:
            if goal is None:
                found = self._allowed(none, domain)
            else:
                found = join.solve(dict(zip((LEFT, RIGHT), goal, strict=True)), domain)
            if self._met_by_all(none, own, found, ends, served):
                return True
        return False

    def _met_by_all(
        self, none: Body, own: int, found: int, ends: dict[int, int], remembered: list[int]
    ) -> bool:
        """Whether of every pair of the ends some event of `found` makes the pattern true, which must not be.

        A few events of `found` are tried, far from each other. Each leaves over the left ends that it does
        not serve, with all right ones, and the right ends that it does not serve, with the other left ones.
        What an event serves on the left that serves all on the right is remembered for the next left end.
        """
        left_over = [(ends[LEFT], ends[RIGHT])]
        proven = [event for event in self._proven if event < found.bit_length() and found >> event & 1]
        for event in dict.fromkeys([*proven, *spread(found)]):
            served = dict.fromkeys((LEFT, RIGHT), -1)
            for p in none.pairs:
                served[p.left if p.right == own else p.right] &= self._towards(p, own, event)
            if not ends[RIGHT] & ~served[RIGHT] and served[LEFT] != -1:
                remembered.append(served[LEFT])
            halves = [
                half
                for left, right in left_over
                for half in ((left & ~served[LEFT], right), (left & served[LEFT], right & ~served[RIGHT]))
            ]
            left_over = [(left, right) for left, right in halves if left and right]
            if not left_over:
                if event not in self._proven:
                    self._proven.appendleft(event)
                return True
            if len(left_over) > tuning.PAIRS_LOOKED_AFTER:
                return False
        return False

    def _between(self, middle: int, ends: dict[int, int]) -> int:
        """The events that may stand for an intermediate one."""
        found = self._scope.domain
        for p in self._body.pairs:
            other = p.left if p.right == middle else p.right
            if p.positive and middle in p.ends and other in ends:
                seen = image(self._scope.relation(p.source), p.left == other, ends[other])
                found &= seen if seen is not None else -1
        return found

    def _towards(self, p: PairLiteral, own: int, event: int) -> int:
        relation = self._scope.relation(p.source)
        return relation.col(event) if p.right == own else relation.row(event)


def _masked(events: int, subset: int, positive: bool) -> int:
    return events & subset if positive else events ^ (events & subset)


def _has(relation: RowRelation, order: Closure, straight: bool) -> bool:
    """Whether a relation holds, read straight or turned, wherever an order does."""
    if isinstance(relation, Union):
        return any(_has(part, order, straight is way) for part, way in relation.parts)
    return relation is order and straight


def spread(events: int) -> list[int]:
    """The first and the last of some events, and some between them. Cost: linear in the row."""
    if not events:
        return []
    first, last = lowest(events), events.bit_length() - 1
    found = [first, last]
    for part in (2, 1, 3):
        start = first + (last - first) * part // 4
        found.append(start + lowest(events >> start))
    return list(dict.fromkeys(found))


def image(relation: RowRelation, forwards: bool, events: int, most: int = tuning.FOLLOWED) -> int | None:
    """Every event that one of `events` is related to (`forwards`) or that is related to it.

    None: there are more than `most` of them.

    In a transitive relation those of an event that is in the image already are skipped. Cost: a row operation
    for each of the events, `most` of them.
    """
    if isinstance(relation, Union) and not relation.symmetric:
        found = 0
        for part, way in relation.parts:
            seen = image(part, way is forwards, events, most)
            if seen is None:
                return None
            found |= seen
        return found
    rows = relation.row if forwards else relation.col
    found, count = 0, 0
    events &= relation.support()[0 if forwards else 1]
    transitive = isinstance(relation, Closure)
    while events:
        count += 1
        if count > most:
            return None
        at = lowest(events) if forwards else events.bit_length() - 1
        found |= rows(at)
        events &= ~(found if transitive else 0) & ~(1 << at)
    return found


def _moves(body: Body, read: PairLiteral, scope: RelationScope) -> Iterator[tuple[RowRelation, bool]]:
    """How a recursive rule leads from an event of its conclusion to one of its recursive premise."""
    middle = next(v for v in (read.left, read.right) if v not in (LEFT, RIGHT))
    kept = read.left if read.right == middle else read.right
    left_out = LEFT if kept == RIGHT else RIGHT
    for p in body.pairs:
        if p.positive and p.ends == {left_out, middle}:
            relation, forwards = scope.relation(p.source), p.left == left_out
            if isinstance(relation, Union) and not relation.symmetric:
                yield from ((part, way is forwards) for part, way in relation.parts)
            else:
                yield relation, forwards
            return


def _bars(body: Body) -> Iterator[tuple[Body, int]]:
    """The patterns that must have no solution, each with its own variable, where they are plain."""
    for none in body.nones:
        own = {v for v in none.mentioned() if v not in (LEFT, RIGHT)}
        plain = not none.nones and all(one.variable in own for one in none.ones)
        if plain and len(own) == 1 and all(p.positive and p.ends != {LEFT, RIGHT} for p in none.pairs):
            yield none, own.pop()
