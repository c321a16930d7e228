"""Predicates that need a fixpoint: recursive ones, and those with intermediate events.

Saturation goes row by row and in place. A row is only ever asked for what it lacks within its *bound* (what
the rules could at most give it, judging by the two events alone), and tried again only for what changed since
(semi-naive).

One pair is decided without saturating, by a search from the goal (`microcosm.engine.backward_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from math import inf
from operator import or_
from typing import Protocol

from microcosm import tuning
from microcosm.engine.backward_search import BackwardSearch, Climb, Ends
from microcosm.engine.body import LEFT, RIGHT, LiteralSource, PairLiteral
from microcosm.engine.join import Join, Pointwise, RelationScope
from microcosm.engine.lowering import Plan
from microcosm.engine.propagation import Sweep, TableRule, gathered, rules_of
from microcosm.engine.relations import RowRelation
from microcosm.logic.rule import Judgement, Pred
from microcosm.order.bits import bits, lowest, row_of


class Remembering(RelationScope, Protocol):
    """A scope that can have all rows at hand for a while. Cost: all rows of every order."""

    def laid_out(self) -> AbstractContextManager[None]:
        """All rows of every order at hand."""


class Tables:
    """The predicates of one recursive stratum, saturated together and on demand.

    Cost of saturation: at most one row operation per row, rule and
    related event, much less where rows fill early. Memory: n²/8 bytes a predicate.
    """

    def __init__(self, plan: Plan, scope: Remembering) -> None:
        self.scope = scope
        self.bodies = plan.bodies
        self.symmetric = plan.symmetric
        self.preds = tuple(plan.bodies)
        self.searchable = plan.searchable
        self._parts = plan.parts
        self.settled: list[list[int]] = []
        """Of each predicate every row, once they are known."""
        self._columns: dict[Pred, list[int]] = {}
        self._log: dict[Pred, dict[int, list[tuple[int, int]]]] | None = None

    @cached_property
    def rules(self) -> list[TableRule]:
        """The rules with what bounds them, made when a pair is first asked for: they read the order."""
        shared: dict[object, Pointwise] = {}
        rules = []
        for rule, here, rest, reads in self._parts:
            key = (frozenset(here.ones), frozenset(here.pairs))
            if key not in shared:
                shared[key] = Pointwise(here.ones, here.pairs, self.scope)
            rules.append(TableRule(rule.head, rule, shared[key], rest, reads))
        return rules

    def forget(self) -> None:
        """Drop all that was remembered; the ground has changed."""
        self._log = None
        self.settled.clear()
        self._columns.clear()

    def row(self, pred: Pred, a: int) -> int:
        """Every b with `a pred b`."""
        self.saturate()
        return self.settled[self.preds.index(pred)][a]

    def col(self, pred: Pred, b: int) -> int:
        """Every a with `a pred b`."""
        if pred in self.symmetric:
            return self.row(pred, b)
        if pred not in self._columns:
            self.saturate()
            columns = [0] * self.scope.domain.bit_length()
            for a in bits(self.scope.domain):
                for c in bits(self.row(pred, a)):
                    columns[c] |= 1 << a
            self._columns[pred] = columns
        return self._columns[pred][b]

    def saturate(self, log: bool = False) -> None:
        """Compute every row, to the fixpoint; with `log`, remember when each pair was found.

        Cost: that of the class, once; again where a log is asked for that was not kept.
        """
        if self.settled and (self._log is not None or not log):
            return
        with self.scope.laid_out():
            run = Fixpoint(self.preds, self.symmetric, self.rules, self.scope, log)
            run.run()
        self._log = run.log
        self.settled[:] = run.rows.values()

    def found_at(self, pred: Pred, a: int, b: int) -> int | None:
        """When saturation found the pair, as a number that grows; None where it does not hold."""
        assert self._log is not None
        return next((time for time, row in self._log[pred].get(a, ()) if row >> b & 1), None)


class Table:
    """One predicate of a recursive stratum as a relation.

    Cost: a bit test once saturated; before that a search for each pair, until searching has cost as much
    as saturation would: a search is some row operations, and saturation some for each event.
    """

    SEARCH, WORTH, MOST = tuning.SEARCHED, tuning.PAIRS_A_STEP, tuning.TABLE_UP_TO

    def __init__(self, pred: Pred, tables: Tables) -> None:
        self.pred = pred
        self.tables = tables
        self._settled, self._number = tables.settled, tables.preds.index(pred)
        self._decided: dict[Ends, bool] = {}
        """What searches said of pairs, the lesser position first: only symmetric predicates are searched."""
        self._patience = 0
        """How many events searches for rows may meet beyond what saturation is worth: `SEARCHED` a row."""

    @cached_property
    def _search(self) -> BackwardSearch | None:
        """The search for one pair, made when one is first asked for; None: the rules allow of none."""
        return BackwardSearch(self.tables.rules, self.tables.scope) if self.tables.searchable else None

    def row(self, a: int) -> int:
        return self.tables.row(self.pred, a)

    def col(self, b: int) -> int:
        return self.tables.col(self.pred, b)

    def holds(self, a: int, b: int) -> bool:
        if self._settled:  # the fast path
            return self._settled[self._number][a] >> b & 1 == 1
        pair = (a, b) if a < b else (b, a)
        answer = self._decided.get(pair)
        if answer is not None:
            return answer
        if a == b:
            return False
        search = self._search
        if search is not None:
            if search.reach.surely_vain(a, b):
                return False
            events = self.tables.scope.domain.bit_length()
            if search.searches == 1 and search.reach.nothing():  # looked at when a second search is due
                self._settled.append([0] * events)
                return False
            limit = self._worth(events)
            if search.searches <= events or limit is inf:
                answer = search.decide(a, b, limit - search.steps)
                if answer is not None:
                    if len(self._decided) < tuning.ANSWERS_KEPT:
                        self._decided[pair] = answer
                    return answer
        return bool(self.tables.row(self.pred, a) >> b & 1)

    def among(self, a: int, others: int) -> int:
        """What row a has of some other events, for whoever goes through rows and keeps none.

        Cost: some row operations for all that rests on no recursion, and a search for what may rest on it,
        which mostly settles many pairs; saturation, among not too many events, once that is worth more.
        """
        search = self._search
        if self._settled or search is None:
            return self.row(a) & others
        found, left = search.at_once(a, others)
        before, worth = (search.steps, search.searches), self._worth(self.tables.scope.domain.bit_length())
        self._patience += self.SEARCH
        while left:
            b = lowest(left)
            answer = search.decide(b, a, worth + self._patience - (search.steps - before[0]))
            if answer is None:
                return self.row(a) & others
            left &= ~(search.reach.vain(a) | 1 << b)
            found |= answer << b
        self._patience -= search.steps - before[0]
        search.steps, search.searches = before  # single questions have a patience of their own
        return found

    def _worth(self, events: int) -> float:
        """How many events searches may meet before saturation is worth more."""
        return inf if events > self.MOST else self.SEARCH + min(events, self.WORTH) ** 2 // self.WORTH

    def trail(self, a: int, b: int) -> Climb | None:
        """How a search found the pair, where that is known: pairs, the last of which needs no recursion."""
        return None if self._search is None else self._search.trail(a, b)

    def support(self) -> tuple[int, int]:
        domain = self.tables.scope.domain
        return domain, domain

    def forget(self) -> None:
        """Drop what was remembered."""
        self.tables.forget()
        self._decided.clear()
        self._patience = 0
        if (search := self.__dict__.get("_search")) is not None:
            search.forget()


class Settling:
    """A predicate while it is being saturated, and the scope in which its own rules see it so.

    Without columns, `settling` tells joins to read it by whole rows only: a row may already hold a pair whose
    converse stands in no row yet, and the rows that changed are what is tracked. Cost: a look-up.
    """

    def __init__(self, rows: list[int], columns: list[int] | None) -> None:
        self.settling = columns is None
        self.row = rows.__getitem__
        self.col = (rows if columns is None else columns).__getitem__

    def holds(self, a: int, b: int) -> bool:
        return bool(self.row(a) >> b & 1)

    def support(self) -> tuple[int, int]:
        return -1, -1


_Base = tuple[Pred, list[int], Callable[[list[int]], list[int]] | None]
"""A rule without recursion: its predicate, the rows of its bound, and what of them solves it if not all."""


class Fixpoint:
    """One run of saturation: in place, row by row, semi-naive in the rows that changed.

    Cost of a run: as `Tables`.
    """

    def __init__(
        self,
        preds: Sequence[Pred],
        symmetric: frozenset[Pred],
        rules: Sequence[TableRule],
        scope: RelationScope,
        log: bool,
    ) -> None:
        self.scope = scope
        self.domain = scope.domain
        width = self.domain.bit_length()
        self.symmetric = symmetric.issuperset(preds)
        self.rows = {pred: [0] * width for pred in preds}
        self.columns = {} if self.symmetric else {pred: [0] * width for pred in preds}
        self.log: dict[Pred, dict[int, list[tuple[int, int]]]] | None = (
            {p: {} for p in preds} if log else None
        )
        self._time = 0
        self._settling: dict[LiteralSource, RowRelation] = {
            LiteralSource("judged", *pred): Settling(self.rows[pred], self.columns.get(pred))
            for pred in preds
        }
        recursive = [rule for rule in rules if rule.reads]
        self._passed_on = rules_of(recursive, self.scope) if self.symmetric and len(self.rows) == 1 else None
        bounds = dict.fromkeys(rule.bound for rule in rules)
        self._masks = {bound: bound.all_rows(width) for bound in bounds}
        self._base: list[_Base] = []
        for rule in rules:
            if not rule.reads and any(self._masks[rule.bound]):
                solve = gathered(rule.rest, self) if rule.rest else None
                cheap = solve is not None or rule.rest is None  # often they leave nothing to the others
                if rule.rest and solve is None:
                    solve = Join(rule.rest, (LEFT,), RIGHT, self).solve_all
                base = (rule.pred, self._masks[rule.bound], solve)
                self._base.insert(0 if cheap else len(self._base), base)
        self._steps = [
            (
                rule.pred,
                self.rows[rule.pred],
                rule.bound,
                Join(rule.rest, (LEFT,), RIGHT, self) if rule.rest else None,
                self._reader(rule.reads),
            )
            for rule in rules
            if rule.reads and self._passed_on is None
        ]

    def relation(self, source: LiteralSource) -> RowRelation:
        """The relation that a literal names; of the stratum's own predicates what is derived so far."""
        if source.kind == "any" and source.judgement is not None:
            return self.any_of(source.judgement, self._settling)
        return self._settling.get(source) or self.scope.relation(source)

    def any_of(self, judgement: Judgement, instead: Mapping[LiteralSource, RowRelation]) -> RowRelation:
        """Whatever relation is judged, each of some predicates being read as another one."""
        return self.scope.any_of(judgement, instead)

    def subset(self, source: LiteralSource) -> int:
        """The events of a literal of one event."""
        return self.scope.subset(source)

    def run(self) -> None:
        """To the least fixpoint."""
        for pred, masks, solve in self._base:
            rows = self.rows[pred]
            gains = _lacking(masks, rows)
            if solve is not None and any(gains):
                gains = solve(gains)
            if self.columns or self.log is not None:
                for a, gained in enumerate(gains):
                    if gained:
                        self._gain(pred, a, gained)
            else:
                rows[:] = map(or_, rows, gains)
        if self._passed_on is not None:
            ((pred, rows),) = self.rows.items()
            if any(rows):
                left = _lacking(self._masks[self._passed_on.bound], rows)
                wanting = {a: row for a, row in enumerate(left) if row}
                log_gain = None if self.log is None else partial(self._log_gain, pred)
                Sweep(self._passed_on, rows, wanting, log_gain).run()
            return
        pending: list[tuple[int, list[tuple[int, int]]]] = []
        for a in bits(self.domain):
            found = [(number, self._masks[step[2]][a]) for number, step in enumerate(self._steps)]
            if steps := [(number, mask) for number, mask in found if mask & ~self._steps[number][1][a]]:
                pending.append((a, steps))
        changed = row_of([a for rows in self.rows.values() for a, row in enumerate(rows) if row])
        while pending and changed:
            pending.reverse()  # later events first: most premises lead from an event to later ones
            pending, changed = self._sweep(pending, changed)

    def _sweep(
        self, pending: list[tuple[int, list[tuple[int, int]]]], recent: int
    ) -> tuple[list[tuple[int, list[tuple[int, int]]]], int]:
        """Try each row that lacks something against what changed since; returns what still lacks."""
        changed, left = 0, []
        for a, steps in pending:
            lacking_steps = []
            for number, mask in steps:
                pred, rows, _, join, reader = self._steps[number]
                lacking = mask & ~rows[a]
                if not lacking:
                    continue
                news = recent | changed
                if join is None:
                    gained = lacking
                elif reader is None:
                    gained = join.solve({LEFT: a}, lacking)
                elif reader != LEFT:
                    gained = join.solve({LEFT: a}, lacking, (reader, news))
                else:
                    gained = join.solve({LEFT: a}, lacking) if news >> a & 1 else 0
                if gained:
                    self._gain(pred, a, gained)
                    changed |= 1 << a
                if lacking & ~gained:
                    lacking_steps.append((number, mask))
            if lacking_steps:
                left.append((a, lacking_steps))
        return left, changed

    def _reader(self, reads: tuple[PairLiteral, ...]) -> int | None:
        """The variable whose whole rows the one recursive premise reads: only changed ones bring news."""
        if len(reads) != 1 or reads[0].source.kind == "any" or not self.symmetric:
            return None
        ends = (reads[0].left, reads[0].right)
        if RIGHT in ends:
            return ends[0] if ends[1] == RIGHT else ends[1]
        return LEFT if LEFT in ends else None

    def _gain(self, pred: Pred, a: int, gained: int) -> None:
        self.rows[pred][a] |= gained
        if self.columns:
            columns = self.columns[pred]
            for b in bits(gained):
                columns[b] |= 1 << a
        self._log_gain(pred, a, gained)

    def _log_gain(self, pred: Pred, a: int, gained: int) -> None:
        if self.log is not None:
            self._time += 1
            self.log[pred].setdefault(a, []).append((self._time, gained))


def _lacking(masks: list[int], rows: list[int]) -> list[int]:
    """What rows lack of what they may have at most."""
    return [mask ^ (mask & row) for mask, row in zip(masks, rows, strict=True)]
