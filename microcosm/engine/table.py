"""Predicates that need a fixpoint: recursive ones, and those with intermediate events.

Saturation (`microcosm.engine.saturate`) goes row by row. A row is only ever asked for what it lacks within
its *bound* (what the rules could at most give it, judging by the two events alone). What is kept is what
stayed lacking: of the `?` of online decision making, the silent pairs, which are few.

One pair is decided without saturating, by a search from the goal (`microcosm.engine.backward_search`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from math import inf
from typing import Protocol

from microcosm import tuning
from microcosm.engine.backward_search import BackwardSearch, Trail
from microcosm.engine.body import Pred
from microcosm.engine.join import Scope
from microcosm.engine.plan import Plan
from microcosm.engine.propagation import TableRule
from microcosm.engine.saturate import Fixpoint
from microcosm.engine.views import Pointwise
from microcosm.order.bits import bits


class Remembering(Scope, Protocol):
    """A scope that can have all rows at hand for a while."""

    def laid_out(self) -> AbstractContextManager[None]:
        """All rows of every order at hand."""


class Tables:
    """The predicates of one recursive stratum, saturated together and on demand.

    Cost of saturation: at most one row operation per row, rule and
    related event, much less where rows fill early. Memory: n²/8 bytes while it runs, then the
    exceptions only.
    """

    def __init__(self, plan: Plan, scope: Remembering) -> None:
        self.scope = scope
        self.bodies = plan.bodies
        self.symmetric = plan.symmetric
        self.preds = tuple(plan.bodies)
        shared: dict[object, Pointwise] = {}
        self.rules: list[TableRule] = []
        self.searchable = plan.searchable
        for rule, here, rest, reads in plan.parts:
            key = (frozenset(here.ones), frozenset(here.pairs))
            if key not in shared:
                shared[key] = Pointwise(here.ones, here.pairs, scope)
            self.rules.append(TableRule(rule.head, rule, shared[key], rest, reads))
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
        """Compute every row, to the fixpoint; with `log`, remember when each pair was found.

        Cost: that of the class, once; again where a log is asked for that was not kept.
        """
        if self._lacking is not None and (self._log is not None or not log):
            return
        with self.scope.laid_out():
            run = Fixpoint(self.preds, self.symmetric, self.rules, self.scope, log)
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


class Table:
    """One predicate of a recursive stratum as a relation."""

    SEARCH, WORTH, MOST = tuning.SEARCHED, tuning.PAIRS_A_STEP, tuning.TABLE_UP_TO

    def __init__(self, pred: Pred, tables: Tables) -> None:
        self.pred = pred
        self.tables = tables

    @cached_property
    def _search(self) -> BackwardSearch | None:
        """The search for one pair, made when one is first asked for; None: the rules allow of none."""
        return BackwardSearch(self.tables.rules, self.tables.scope) if self.tables.searchable else None

    def row(self, a: int) -> int:
        return self.tables.row(self.pred, a)

    def col(self, b: int) -> int:
        return self.tables.col(self.pred, b)

    def holds(self, a: int, b: int) -> bool:
        if a == b:
            return False
        if not self.tables.saturated and self._search is not None:
            events = self.tables.scope.domain.bit_length()
            pairs = min(events, self.WORTH) ** 2
            limit = inf if events > self.MOST else self.SEARCH + pairs // self.WORTH
            answer = self._search.decide(a, b, limit - self._search.steps)
            if answer is not None:
                return answer
        return bool(self.tables.row(self.pred, a) >> b & 1)

    def trail(self, a: int, b: int) -> Trail | None:
        """How a search found the pair, where that is known: pairs, the last of which needs no recursion."""
        return None if self._search is None else self._search.trail(a, b)

    def support(self) -> tuple[int, int]:
        domain = self.tables.scope.domain
        return domain, domain

    def forget(self) -> None:
        """Drop what was remembered."""
        self.tables.forget()
        if (search := self.__dict__.get("_search")) is not None:
            search.forget()
