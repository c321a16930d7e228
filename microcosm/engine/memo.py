"""The memo of one domain: every predicate of the program as a relation, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from microcosm.engine.body import Pred, Source
from microcosm.engine.ground import Empty, Ground, RowRelation
from microcosm.engine.lowering import ONLINE_ORDER, Program, Shape, online
from microcosm.engine.processes import Processes
from microcosm.engine.table import Table, Tables
from microcosm.engine.views import AnyOf, Closure, Union, View
from microcosm.givens.relation import Relation
from microcosm.logic.judgement import Judgement
from microcosm.order import representation as shape
from microcosm.order.bits import bits
from microcosm.order.happens_before import HappensBefore

Holds = Callable[[int, int], bool]


class Orders:
    """The happens-before of each transitive predicate, shared by all memos of a microcosm."""

    def __init__(self, program: Program, ground: Ground, processes: Processes) -> None:
        self.program = program
        self.ground = ground
        self.processes = processes
        self._orders: dict[Pred, HappensBefore] = {}

    def order(self, pred: Pred) -> HappensBefore:
        """The order of a predicate. Raises `Cycle`."""
        found = self._orders.get(pred)
        if found is None:
            plan = self.program.of[pred]
            size = len(self.ground.universe)
            edges: Iterable[tuple[int, int]]
            if plan.plain:
                edges = self.ground.given[pred[1]].cover() if plan.bodies[pred] else ()
            else:
                view = View(plan.bodies[pred], Memo(self, self.program, self.ground.universe.named))
                edges = ((a, b) for a in bits(view.support()[0]) for b in bits(view.row(a)))
            found = self._orders[pred] = shape.happens_before(size, edges, self.processes)
        return found

    def built(self) -> dict[Pred, HappensBefore]:
        """The orders that exist by now."""
        return self._orders

    def drop(self, pred: Pred) -> None:
        """Forget an order that cannot be kept up to date."""
        self._orders.pop(pred, None)


class Memo:
    """A `Scope` for joins: all relations over one domain, remembered until `refresh`.

    `program` may leave out what nothing is given of, as long as that is so.
    """

    def __init__(self, orders: Orders, program: Program, domain: int) -> None:
        self.domain = domain
        self._orders = orders
        self._ground = orders.ground
        self.program = program
        self._relations: dict[Source, RowRelation] = {}
        self._judged: dict[Pred, RowRelation] = {}
        self._forgetting: list[View | AnyOf | Union | Table] = []
        self._closures: dict[Closure, Pred] = {}
        self._tables: dict[int, Tables] = {}

    def relation(self, source: Source) -> RowRelation:
        """The relation of a pair literal's source."""
        found = self._relations.get(source)
        if found is None:
            found = self._relations[source] = self._make(source)
            if isinstance(found, View | AnyOf | Union | Table):
                self._forgetting.append(found)
            elif isinstance(found, Closure) and found not in self._closures:  # else it goes by two names
                assert source.pred is not None
                self._closures[found] = source.pred
        return found

    def judged(self, pred: Pred) -> RowRelation:
        """The relation of a predicate."""
        found = self._judged.get(pred)
        if found is None:
            found = self._judged[pred] = self.relation(Source("judged", *pred))
        return found

    @cached_property
    def verdicts(self) -> tuple[Holds, list[tuple[Relation, Holds]]]:
        """What says whether `<` is judged online, and the same for other verdicts, most accurate first."""
        before, *others = ((relation, self.judged(online(relation))) for relation in ONLINE_ORDER)
        return before[1].holds, [(r, judged.holds) for r, judged in others if not isinstance(judged, Empty)]

    def any_of(
        self, judgement: Judgement, instead: Mapping[Source, RowRelation] | None = None
    ) -> RowRelation:
        """`_` under a judgement, some predicates being read from `instead`."""
        preds = [pred for pred in self.program.of if pred[0] is judgement]
        sources: list[Source] = [Source("judged", *pred) for pred in preds]
        if not instead or not any(source in instead for source in sources):
            return self.relation(Source("any", judgement))
        relations = [instead.get(source) or self.relation(source) for source in sources]
        return AnyOf(
            [(r, self.program.symmetric(p)) for r, p in zip(relations, preds, strict=True)], remember=False
        )

    def subset(self, source: Source) -> int:
        """The set of a literal over one variable."""
        if source.kind == "in":
            return self._ground.universe.members
        return self._ground.subset(source.name)

    def refresh(self, domain: int) -> None:
        """The ground changed: drop what was derived from it, keep what is kept up to date."""
        self.domain = domain
        for relation in self._forgetting:
            relation.forget()
        for closure, pred in self._closures.items():
            closure.renew(self._orders.order(pred))

    @contextmanager
    def laid_out(self) -> Iterator[None]:
        """All rows of every order at hand, for whoever is about to ask for most of them."""
        closures = [r for pred in self.program.of if isinstance(r := self.judged(pred), Closure)]
        for closure in closures:
            closure.lay_out()
        try:
            yield
        finally:
            for closure in closures:
                closure.fold()

    def tables(self, pred: Pred) -> Tables | None:
        """The tables that hold a predicate, where it is one that needs a fixpoint."""
        relation = self.judged(pred)
        return relation.tables if isinstance(relation, Table) else None

    def _make(self, source: Source) -> RowRelation:
        if source.pred is not None:
            return self._predicate(source.pred)
        if source.kind == "any":
            preds = [pred for pred in self.program.of if pred[0] is source.judgement]
            return AnyOf([(self.judged(pred), self.program.symmetric(pred)) for pred in preds])
        if source.kind == "union":
            return Union([self.relation(part) for part in source.parts])
        if source.kind == "given" and source.relation in self._ground.given:
            return self._ground.given[source.relation]
        return self._ground.pairs(source.name) if source.kind == "base" else Empty()

    def _predicate(self, pred: Pred) -> RowRelation:
        plan = self.program.of.get(pred)
        if plan is None:
            return Empty()
        if plan.shape is Shape.CLOSURE:
            return Closure(self._orders.order(pred))
        if plan.shape is Shape.VIEW:
            view = View(plan.bodies[pred], self)
            return view.alias or view
        tables = self._tables.get(id(plan))
        if tables is None:
            tables = self._tables[id(plan)] = Tables(plan.bodies, plan.symmetric, self)
        return Table(pred, tables)
