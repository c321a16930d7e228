"""Predicates that need a fixpoint: recursive ones, and those with intermediate events.

Saturation goes row by row. A row is only ever asked for what it lacks within its *bound* (what the rules
could at most give it, judging by the two events alone), and is left as soon as nothing is lacking. What
is kept is what stayed lacking: of the `?` of online decision making, the silent pairs, which are few.

One pair is decided without saturating, by a search from the goal (`microcosm.engine.goals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from math import inf
from operator import or_

from microcosm.engine.body import LEFT, RIGHT, Body, Pair, Pred, Source
from microcosm.engine.gather import gathered
from microcosm.engine.goals import Goals, goals
from microcosm.engine.ground import RowRelation
from microcosm.engine.join import Join, Scope
from microcosm.engine.sweep import Sweep, rules_of
from microcosm.engine.views import Pointwise
from microcosm.logic.judgement import Judgement
from microcosm.relations.bits import bits
from microcosm.relations.rows import Rows


class Tables:
    """The predicates of one recursive stratum, saturated together and on demand.

    `bodies` holds the rules of each predicate, mirror images included; `symmetric` the predicates
    that are their own converse. Cost of saturation: at most one row operation per row, rule and
    related event, much less where rows fill early. Memory: n²/8 bytes while it runs, then the
    exceptions only.
    """

    def __init__(
        self, bodies: dict[Pred, tuple[Body, ...]], symmetric: frozenset[Pred], scope: Scope
    ) -> None:
        self.scope = scope
        self.bodies = bodies
        self.symmetric = symmetric
        self.preds = tuple(bodies)
        shared: dict[object, Pointwise] = {}
        self.rules: list[TableRule] = []
        for pred, found in bodies.items():
            for body in sorted(found, key=_weight):
                here, rest = body.split(self.preds)
                key = (frozenset(here.ones), frozenset(here.pairs))
                if key not in shared:
                    shared[key] = Pointwise(here.ones, here.pairs, scope)
                self.rules.append(TableRule(pred, shared[key], rest, body.reads(self.preds)))
        self.bounds = {
            pred: list(dict.fromkeys(rule.bound for rule in self.rules if rule.pred == pred))
            for pred in self.preds
        }
        self._lacking: dict[Pred, dict[int, int]] | None = None
        self._columns: dict[Pred, list[int]] = {}
        self._log: dict[Pred, dict[int, list[tuple[int, int]]]] | None = None
        self._bound_rows: dict[Pred, dict[int, int]] = {p: {} for p in self.preds}

    @property
    def saturated(self) -> bool:
        """Whether every row is known."""
        return self._lacking is not None

    def forget(self) -> None:
        """Drop all that was remembered; the ground has changed."""
        self._lacking = self._log = None
        self._columns.clear()
        for rows in self._bound_rows.values():
            rows.clear()

    def row(self, pred: Pred, a: int) -> int:
        """Every b with `a pred b`."""
        self.saturate()
        assert self._lacking is not None
        return self._bound(pred, a) & ~self._lacking[pred].get(a, 0)

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
        """Compute every row, to the fixpoint; with `log`, remember when each pair was found."""
        if self._lacking is not None and (self._log is not None or not log):
            return
        run = Fixpoint(self, log)
        run.run()
        lacking: dict[Pred, dict[int, int]] = {pred: {} for pred in self.preds}
        self._bound_rows = run.bounds
        for pred, rows in run.rows.items():
            missing_of = lacking[pred]
            for a in bits(self.scope.domain):
                if missing := self._bound(pred, a) & ~rows[a]:
                    missing_of[a] = missing
        self._lacking, self._log = lacking, run.log

    def found_at(self, pred: Pred, a: int, b: int) -> int | None:
        """When saturation found the pair, as a number that grows; None where it does not hold."""
        assert self._log is not None
        return next((time for time, row in self._log[pred].get(a, ()) if row >> b & 1), None)

    def _bound(self, pred: Pred, a: int) -> int:
        row = self._bound_rows[pred].get(a)
        if row is None:
            row, domain = 0, self.scope.domain & ~(1 << a)
            for bound in self.bounds[pred]:
                row |= bound.row(a, domain)
            self._bound_rows[pred][a] = row
        return row


class TableRule:
    """One rule of a table: what it allows at most (`bound`), and the join that it takes beyond that."""

    def __init__(self, pred: Pred, bound: Pointwise, rest: Body | None, reads: tuple[Pair, ...]) -> None:
        self.pred = pred
        self.bound = bound
        self.rest = rest
        self.reads = reads


class Table:
    """One predicate of a recursive stratum as a relation."""

    SEARCH = 48
    """When searches have met so many events since the last change, and as many more as saturation is worth,
    they give way to it, where rows of all events would not be too many.
    """

    WORTH = 16384
    """Saturation is worth a step of search for so many pairs of events."""

    def __init__(self, pred: Pred, tables: Tables) -> None:
        self.pred = pred
        self.tables = tables
        self._goals: Goals | None = goals(
            pred, tables.bodies[pred], tables.preds, tables.symmetric, tables.scope
        )

    def row(self, a: int) -> int:
        return self.tables.row(self.pred, a)

    def col(self, b: int) -> int:
        return self.tables.col(self.pred, b)

    def holds(self, a: int, b: int) -> bool:
        if a == b:
            return False
        if self._goals is not None and not self.tables.saturated:
            events = self.tables.scope.domain.bit_length()
            limit = inf if events > Rows.SATURATE else self.SEARCH + events * events // self.WORTH
            answer = self._goals.decide(a, b, limit - self._goals.steps)
            if answer is not None:
                return answer
        return bool(self.tables.row(self.pred, a) >> b & 1)

    def support(self) -> tuple[int, int]:
        domain = self.tables.scope.domain
        return domain, domain

    def forget(self) -> None:
        """Drop what was remembered."""
        self.tables.forget()
        if self._goals is not None:
            self._goals.steps = 0


class Settling:
    """A predicate while it is being saturated, and the scope in which its own rules see it so.

    Without columns, `settling` tells joins to read it by whole rows only: a row may already hold a pair
    whose converse stands in no row yet, and the rows that changed are what is tracked.
    """

    def __init__(self, rows: list[int], columns: list[int] | None) -> None:
        self.settling = columns is None
        self.row = rows.__getitem__
        self.col = (rows if columns is None else columns).__getitem__

    def holds(self, a: int, b: int) -> bool:
        return bool(self.row(a) >> b & 1)

    def support(self) -> tuple[int, int]:
        return -1, -1


class Fixpoint:
    """One run of saturation: in place, row by row, semi-naive in the rows that changed."""

    def __init__(self, tables: Tables, log: bool) -> None:
        self.scope = tables.scope
        self.domain = tables.scope.domain
        width = self.domain.bit_length()
        self.symmetric = tables.symmetric.issuperset(tables.preds)
        self.rows = {pred: [0] * width for pred in tables.preds}
        self.columns = {} if self.symmetric else {pred: [0] * width for pred in tables.preds}
        self.log: dict[Pred, dict[int, list[tuple[int, int]]]] | None = (
            {p: {} for p in tables.preds} if log else None
        )
        self.bounds: dict[Pred, dict[int, int]] = {pred: {} for pred in tables.preds}
        self._time = 0
        self._settling: dict[Source, RowRelation] = {
            Source("judged", *pred): Settling(self.rows[pred], self.columns.get(pred))
            for pred in tables.preds
        }
        joins = [
            (
                rule.pred,
                self.rows[rule.pred],
                rule.bound,
                Join(rule.rest, (LEFT,), RIGHT, self) if rule.rest else None,
                self._reader(rule.reads),
            )
            for rule in tables.rules
        ]
        self._barred = {
            number: barred
            for number, rule in enumerate(r for r in tables.rules if not r.reads)
            if rule.rest and (barred := gathered(rule.rest, self))
        }
        recursive = [rule for rule in tables.rules if rule.reads]
        self._passed_on = rules_of(recursive, self.scope) if self.symmetric and len(self.rows) == 1 else None
        self._bounds = list(tables.bounds.items())
        self._base = [join for join, rule in zip(joins, tables.rules, strict=True) if not rule.reads]
        self._steps = [join for join, rule in zip(joins, tables.rules, strict=True) if rule.reads]

    def relation(self, source: Source) -> RowRelation:
        """As any scope, but the stratum's own predicates are read as they stand."""
        if source.kind == "any" and source.judgement is not None:
            return self.any_of(source.judgement, self._settling)
        return self._settling.get(source) or self.scope.relation(source)

    def any_of(self, judgement: Judgement, instead: Mapping[Source, RowRelation]) -> RowRelation:
        """As any scope."""
        return self.scope.any_of(judgement, instead)

    def subset(self, source: Source) -> int:
        """As any scope."""
        return self.scope.subset(source)

    def run(self) -> None:
        """To the least fixpoint."""
        changed = 0
        barred = self._barred
        pending: list[tuple[int, list[tuple[int, int]]]] = []
        for a in bits(self.domain):
            masks: dict[Pointwise, int] = {}
            others = self.domain & ~(1 << a)
            for number, (pred, rows, bound, join, _) in enumerate(self._base):
                mask = masks.get(bound)
                if mask is None:
                    mask = masks[bound] = bound.row(a, others)
                lacking = mask & ~rows[a]
                if lacking:
                    if number in barred:
                        gained = lacking & ~barred[number](a)
                    else:
                        gained = lacking if join is None else join.solve({LEFT: a}, lacking)
                    if gained:
                        self._gain(pred, a, gained)
                        changed |= 1 << a
            steps = []
            for number, (_, rows, bound, _, _) in enumerate(self._steps):
                mask = masks.get(bound)
                if mask is None:
                    mask = masks[bound] = bound.row(a, others)
                if mask & ~rows[a]:
                    steps.append((number, mask))
            if steps:
                pending.append((a, steps))
            for pred, bounds in self._bounds:
                self.bounds[pred][a] = reduce(or_, (masks[bound] for bound in bounds), 0)
        if changed and self._passed_on is not None:
            (pred,) = self.rows
            rows = self.rows[pred]
            wanting = {a: left for a, steps in pending if (left := steps[0][1] & ~rows[a])}
            Sweep(self._passed_on, rows, wanting, partial(self._tell, pred)).run()
            return
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

    def _reader(self, reads: tuple[Pair, ...]) -> int | None:
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
        self._tell(pred, a, gained)

    def _tell(self, pred: Pred, a: int, gained: int) -> None:
        if self.log is not None:
            self._time += 1
            self.log[pred].setdefault(a, []).append((self._time, gained))


def _weight(body: Body) -> int:
    return len(body.ones) + 2 * len(body.pairs) + 4 * len(body.nones)
