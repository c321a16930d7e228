"""The memoised rule engine: what follows from some givens under some rules, kept up to date.

Names go in and come out; inside, events are positions and relations are rows of bits. Nothing is
derived before it is asked for. After a change, happens-before is updated in place (rule Weak: what was
known stays known) and everything above it is derived again when next asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, reduce
from operator import or_
from threading import RLock
from typing import Any, NamedTuple

from microcosm import tuning
from microcosm.engine.body import LiteralSource
from microcosm.engine.ground import Ground, Processes, Universe
from microcosm.engine.lowering import (
    HAPPENS_BEFORE,
    ONLINE,
    ONLINE_ORDER,
    PlanShape,
    Program,
    compile_rules,
    initial,
)
from microcosm.engine.memo import Memo, SharedOrder
from microcosm.engine.relations import RowRelation, all_rows
from microcosm.engine.table import Table
from microcosm.errors import MicrocosmError
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import expect_text
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.order.bits import bits, from_positions, lowest, overlaid, row_of
from microcosm.order.clock_order import agreeing
from microcosm.order.happens_before import Cycle, HappensBefore
from microcosm.order.order import labelled
from microcosm.order.rows import Rows
from microcosm.text.names import quote
from microcosm.tuning import gc_paused

_CONCURRENT, _RELATED = initial(Relation.CONCURRENT), initial(Relation.RELATED)

VERDICTS = (Relation.BEFORE, Relation.AFTER, *ONLINE_ORDER[1:], Relation.SILENT)
"""All that an online question may be answered with, the most accurate first."""

_SILENT = Relation.SILENT
_GIVEN = LiteralSource("given", None, Relation.CONCURRENT)


class Clash(NamedTuple):
    """Two relations judged initially of one pair that exclude each other; `>` does not occur."""

    left: str
    one: Relation
    other: Relation
    right: str
    """`left one right`, and `left other right` or (for `<`) `right other left`."""


class CyclicGivens(MicrocosmError):
    """The givens close a cycle: each event of `path` is before the next, the last before the first."""

    def __init__(self, path: list[str]) -> None:
        super().__init__(" < ".join(map(quote, path)))
        self.path = path


class Engine:
    """Judgements about the givens of one microcosm. Raises `CyclicGivens`.

    `givens` is read once; afterwards tell the engine of each change (`add`, `remove`, `append`). A copy, or
    what is pickled, is made of the givens anew.
    """

    def __init__(self, rules: RuleBook, givens: Givens) -> None:
        self.rules, self._givens = rules, givens
        self.program: Program = compile_rules(rules)
        large = givens.external_count + len(givens.clocks) > tuning.COLUMNS_FROM
        with gc_paused() if large else nullcontext():
            self.ground = ground = Ground(givens)
            self.universe = universe = ground.universe
            self._position, self._vacant = universe.found, universe.vacant
            # Only labels ask whose an event is.
            many = len(universe.names) > tuning.ROWS_UP_TO
            self._processes = Processes(givens, universe) if many else None
            self._shared = SharedOrder(self.program, ground, self._processes)
            self._unstated = ground.unstated
            self.memo = Memo(self._shared, compile_rules(rules, ground.unstated), universe.named)
            self._outside: dict[int, Memo] = {}
            self._alone = RLock()
            try:
                if many:
                    self._shared.wait()
                if self.program.order is not None and not self._shared.waits:
                    _ = self._shared.order
            except Cycle as cycle:
                raise self._named(cycle) from None

    def __reduce__(self) -> tuple[object, ...]:
        return Engine, (self.rules, self._givens)

    # -- questions ---------------------------------------------------------------------------------

    def locate(self, a: str, b: str) -> tuple[Memo, int, int]:
        """The positions of two distinct events and the memo to ask; unnamed events are outsiders.

        Names are read within the memo's `named`. Raises `Undefined` for what is no text. Cost: a look-up
        each; of the first outsider a memo of its own.
        """
        universe, vacant, position = self.universe, self._vacant, self._position
        try:
            x, y = position.get(a, -1), position.get(b, -1)
        except TypeError:  # one of them cannot be hashed
            x = y = -1
        if x < 0 or y < 0:
            expect_text(a, b)
            x, y = universe.find(a), universe.find(b)
            self._position = universe.found  # it may be another one now
        if x >= 0 and y >= 0 and not (vacant and (x in vacant or y in vacant)):
            return self.memo, x, y
        slots, outsiders = iter(range(universe.OUTSIDERS)), 0
        places = []
        for at in (x, y):
            if at < 0 or at in vacant:
                at = next(slots)  # noqa: PLW2901
                outsiders |= 1 << at
            places.append(at)
        memo = self._outside.get(outsiders)
        if memo is None:
            memo = Memo(self._shared, self.memo.program, universe.named | outsiders)
            memo.named = self._naming
            self._outside[outsiders] = memo
        return memo, places[0], places[1]

    @contextmanager
    def _naming(self, places: Iterable[tuple[str, int]]) -> Iterator[None]:
        """Outsiders have their names meanwhile, those of one thread at a time."""
        with self._alone:
            for name, at in places:
                if at < self.universe.OUTSIDERS:
                    self.universe.names[at] = name
            yield

    def mentions(self, event: str) -> bool:
        """Whether any given names an event. Cost: constant."""
        at = self.universe.find(event)
        return at >= 0 and bool(self.universe.named >> at & 1)

    def holds(self, judgement: Judgement, a: str, relation: Relation | None, b: str) -> bool:
        """Whether `a R b` is judged; None: any R. Cost: a bit test once the predicate's rows are known."""
        if relation in (Relation.AFTER, Relation.NOT_AFTER):
            a, b, relation = b, a, relation.converse
        memo, x, y = self.locate(a, b)
        judged = memo.any_of(judgement) if relation is None else memo.judged((judgement, relation))
        return a != b and judged.holds(x, y)

    def verdict(self, a: str, b: str) -> Relation:
        """The online verdict on two distinct events (Definition 3.1), the most accurate of several.

        Cost: for `<` a search over the edges or a bit test; for another verdict its rows, once.
        """
        if self._vacant:
            memo, x, y = self.locate(a, b)
        else:
            try:  # the fast path: `locate` written out, for a call takes longer than this
                memo, x, y = self.memo, self._position[a], self._position[b]
            except (KeyError, TypeError):
                memo, x, y = self.locate(a, b)
        ordered = memo.ordered(x, y)
        if ordered is not None:
            return ordered
        for relation, holds in memo.others:
            if holds(x, y):
                return relation
        return _SILENT

    @property
    def order(self) -> HappensBefore:
        """`|-0 <` of rules that keep it as an order (`Program.order`). Cost: a look-up."""
        return self._shared.order

    def chain(self, x: int, y: int) -> list[int] | None:
        """A shortest chain of links of the order between two positions, both included; None where none is.

        Cost: a search between the two; none where the first verdict on very many events has come upon it.
        """
        first = self._shared.first(x, y)
        return self.order.chain(x, y) if first is None else first[2]

    def rows(self, names: Sequence[str]) -> Iterator[dict[Relation, int]]:
        """For each of some named events the later ones of them, by the verdict on the two: sets of positions.

        Each of the six sets has what none before it has; `SILENT` is what is left. Raises KeyError for an
        event that was never named. Cost: one saturation, then a few row operations an event; among more than
        `TABLE_AT_ONCE` events that of `Table.among`, an event, and memory for a few rows.
        """
        at = [*map(self.universe.position.__getitem__, names)]
        size = len(self.universe)
        rest = from_positions(at, size)
        judged = {relation: self.memo.judged(pred) for relation, pred in ONLINE.items()}
        order = self.order if self.program.order is not None and size > tuning.ROWS_KEPT else None
        try:
            for number, x in enumerate(at):
                if isinstance(order, Rows) and not number % tuning.ROWS_HELD:
                    order.expect(at[number : number + tuning.ROWS_HELD])
                left = rest = rest & ~(1 << x)
                found = dict.fromkeys(VERDICTS, 0)
                for relation, rows in judged.items():
                    if isinstance(rows, Table) and size > tuning.TABLE_AT_ONCE:
                        row = rows.among(x, left)
                    else:
                        row = rows.row(x)
                    found[relation] = row & left
                    left &= ~row
                    if relation is Relation.BEFORE:
                        found[Relation.AFTER] = row = rows.col(x) & left
                        left &= ~row
                found[Relation.SILENT] = left
                yield found
        finally:
            if isinstance(order, Rows):
                order.expect(())

    def verdict_rows(
        self, names: Sequence[str], rows: Iterable[Mapping[Any, int]] | None = None
    ) -> Iterator[Iterator[Any]]:
        """For each of some named events the verdicts on it and each later one, in the order of `names`.

        Of the verdicts in `rows`, where these are others. Raises, costs as `rows`, and besides some 30
        nanoseconds a verdict.
        """
        at, size = [*map(self.universe.position.__getitem__, names)], len(self.universe)
        for number, row in enumerate(self.rows(names) if rows is None else rows, 1):
            told = dict(zip("0123456", row, strict=False))
            _, *sets = row.values()
            digits = ([later for code, later in enumerate(sets, 1) if code >> bit & 1] for bit in range(3))
            codes = overlaid([reduce(or_, digit) for digit in digits], size)
            yield map(told.__getitem__, map(codes.__getitem__, at[number:]))

    def saturate(self) -> None:
        """Derive every online judgement now, so that each later question is a bit test.

        Cost: a few row operations for each given and event; n²/8 bytes a relation.
        """
        for pred in ONLINE.values():
            if (tables := self.memo.tables(pred)) is not None:
                tables.saturate()
            elif len(self.universe) <= tuning.TABLE_UP_TO:
                all_rows(self.memo.judged(pred), self.universe.named.bit_length())

    # -- evolution ---------------------------------------------------------------------------------

    def add(self, fact: Correspondence) -> Clash | None:
        """Add a given that was not there. A clash it causes is returned, or `CyclicGivens` raised.

        Whoever asked must then `remove` it, except after `CyclicGivens`, which leaves no trace. Cost: the
        rows that change; what stands on them is derived again when next asked for.
        """
        self._settle()
        a, b = self.ground.put(fact)
        if fact.relation in self._unstated:
            self._unstated -= {fact.relation}
            self.memo = Memo(self._shared, compile_rules(self.rules, self._unstated), self.universe.named)
            self._outside.clear()
        try:
            changed = self._link(a, b) if fact.relation is Relation.BEFORE else 1 << b
            self._refresh()
        except CyclicGivens:
            self.ground.drop(fact)
            self._refresh()
            raise
        return self._first_clash(a, changed, fact.relation is Relation.BEFORE)

    def remove(self, fact: Correspondence) -> None:
        """Take a given away; it must be there, as it was added.

        Raises KeyError where it is not. Cost: what loses something is recomputed.
        """
        self._settle()
        a, b = self.ground.drop(fact)
        linked = fact.relation is Relation.BEFORE and not self.ground.given[Relation.BEFORE].covers(a, b)
        if linked and self.program.closes_links:
            self.order.remove(a, b)
        self._refresh()

    def append(self, event: str) -> Clash | None:
        """Make an event the last of the internal chain. A clash that it causes is returned.

        Raises `CyclicGivens`. Only a fresh engine undoes it, whether it clashed or raised. Cost: as `add`.
        """
        self._settle()
        before = self.ground.given[Relation.BEFORE]
        last = before.last()
        self.ground.append(event)
        if self._processes is not None:
            self._processes.add([event])
        at, changed = self.universe.position[event], 0
        if last is not None:
            changed = self._link(last, at)
        self._refresh()
        return self._first_clash(at if last is None else last, changed, linked=True)

    def clash(self) -> Clash | None:
        """A pair of events with initial judgements that exclude each other, if there is one.

        Cost: none where `<` is an order and nothing is judged concurrent.
        """
        closed = self.program.order is not None or HAPPENS_BEFORE not in self.program.of
        if closed and _CONCURRENT not in self.memo.program.of:
            return None
        concurrent = self.memo.judged(_CONCURRENT)
        rows, cols = concurrent.support()
        doubtful = (rows | cols) & ~self._surely_clean()
        if closed and not doubtful:
            return None
        before, related = map(self.memo.judged, (HAPPENS_BEFORE, _RELATED))
        if not closed:
            for x in bits(before.support()[0]):
                if both := before.row(x) & before.col(x):
                    return self._clash(x, Relation.BEFORE, Relation.BEFORE, lowest(both))
        for x in bits(doubtful):
            row = concurrent.row(x) | concurrent.col(x)
            if found := _excluded(x, row, before, related):
                return self._clash(x, Relation.CONCURRENT, *found)
        return None

    def superseded(self) -> tuple[str, str] | None:
        """A pair that is both `<>` and ordered initially: what condition (4) forbids (Definition 2.3).

        Cost: two rows for each event with a `<>`.
        """
        before, related = map(self.memo.judged, (HAPPENS_BEFORE, _RELATED))
        rows, cols = related.support()
        for x in bits(rows | cols):
            row = related.row(x) | related.col(x)
            if row and (both := row & (before.row(x) | before.col(x))):
                return self.universe.names[x], self.universe.names[lowest(both)]
        return None

    def _check(self, givens: Givens) -> None:
        """Assert that universe, given relations and orders are those of a fresh engine on `givens`."""
        fresh = Ground(givens)
        mine, theirs = self.universe, fresh.universe

        def names(universe: Universe, row: int) -> set[str]:
            return {universe.names[at] for at in bits(row)}

        assert names(mine, mine.members) == names(theirs, theirs.members)
        assert names(mine, mine.named) == names(theirs, theirs.named)
        for relation, given in self.ground.given.items():
            for event in theirs.position:
                row = given.row(mine.position[event])
                assert names(mine, row) == names(theirs, fresh.given[relation].row(theirs.position[event]))
        if self.program.order is not None:
            self.order._check()

    @cached_property
    def _plain(self) -> bool:
        """Whether changes reach the initial judgements in ways that are known without deriving them all."""
        others = (self.program.of.get(pred) for pred in (_CONCURRENT, _RELATED))
        views = all(other is None or other.shape is PlanShape.VIEW for other in others)
        return self.program.closes_links and views

    def _surely_clean(self) -> int:
        """Events that surely take no part in a clash, found without their rows.

        Those concurrent with others by their clocks alone, and not with any before them: all, where nothing
        orders events but right clocks. None unless `||` is what is given, and `<`, where it is more than such
        clocks, can be labelled: else rows are cheap, or needed.
        """
        if not self.ground.clocks or not self._plain:
            return 0
        ground, plan = self.ground, self.program.of.get(_CONCURRENT)
        if plan is None or any(
            pair.source != _GIVEN for found in plan.bodies.values() for b in found for pair in b.pairs
        ):
            return 0
        stated, (rows, cols) = ground.given[Relation.CONCURRENT], ground.given[Relation.RELATED].support()
        if ground.given[Relation.BEFORE].rightly_clocked:
            agreed = ground.clocks.support()
        else:
            universe = self.universe
            labels = labelled(self.order, len(universe), lambda: Processes(self._givens, universe))
            agreed = 0 if labels is None else agreeing(ground.clocks, labels)
        return agreed & ~(rows | cols | row_of(stated.after) | row_of(stated.before))

    def _link(self, a: int, b: int) -> int:
        """Put a pair into the order; returns whose past gained, where that may bring a clash."""
        if not self.program.closes_links:
            return 0
        order = self.order
        order.grow(len(self.universe))
        watched = self._plain and _CONCURRENT in self.memo.program.of
        known = order.future(a) if watched else 0
        try:
            order.add(a, b)
        except Cycle as cycle:
            raise self._named(cycle) from None
        return (order.future(b) | 1 << b) & ~known if watched and not known >> b & 1 else 0

    def _first_clash(self, a: int, changed: int, linked: bool) -> Clash | None:
        """The first clash after the events in `changed` were told of `a` and, if `linked`, of its past."""
        if not self._plain:
            return self.clash()
        if not changed:
            return None
        before, concurrent, related = map(self.memo.judged, (HAPPENS_BEFORE, _CONCURRENT, _RELATED))
        rows, cols = concurrent.support()
        changed &= rows | cols
        gained = 1 << a | (before.col(a) if linked and changed else 0)
        for y in bits(changed):
            unordered = gained & (concurrent.row(y) | concurrent.col(y))
            if found := _excluded(y, unordered, before, related):
                return self._clash(found[1], Relation.CONCURRENT, found[0], y)
        return None

    def _settle(self) -> None:
        """Make the order of what is given so far, which no change is to be in twice."""
        if self.program.order is not None:
            _ = self._shared.order

    def _refresh(self) -> None:
        try:
            if self.program.order is not None:
                self._shared.renew()
        except Cycle as cycle:
            raise self._named(cycle) from None
        self.memo.refresh(self.universe.named)
        for outsiders, memo in self._outside.items():
            memo.refresh(self.universe.named | outsiders)

    def _clash(self, x: int, one: Relation, other: Relation, y: int) -> Clash:
        names = self.universe.names
        return Clash(names[x], one, other, names[y])

    def _named(self, cycle: Cycle) -> CyclicGivens:
        return CyclicGivens([self.universe.names[at] for at in cycle.path])


def _excluded(x: int, others: int, before: RowRelation, related: RowRelation) -> tuple[Relation, int] | None:
    """What excludes that an event is concurrent with some others, and the first of these; None if nothing."""
    for relation, rows in ((Relation.BEFORE, before), (Relation.RELATED, related)) if others else ():
        if both := others & (rows.row(x) | rows.col(x)):
            return relation, lowest(both)
    return None
