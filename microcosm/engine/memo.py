"""The memo of one domain: every predicate of the program as a relation, made when first asked for.

Where rules speak of the two events of a conclusion only, that is a view: a row is a few row operations, and
what was asked for is remembered until the ground changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_

from microcosm.engine.body import LEFT, Body, LiteralSource
from microcosm.engine.ground import Ground, Processes, Universe
from microcosm.engine.join import Pointwise, RelationScope
from microcosm.engine.lowering import HAPPENS_BEFORE, ONLINE, PlanShape, Program, is_transitivity
from microcosm.engine.relations import Empty, RowRelation, Union, either_way, joined
from microcosm.engine.table import Table, Tables
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Judgement, Pred
from microcosm.order.bits import Remembered, bits, diagonal
from microcosm.order.happens_before import HappensBefore
from microcosm.order.order import Closure, happens_before

BEFORE, AFTER = Relation.BEFORE, Relation.AFTER
Holds = Callable[[int, int], bool]


class View:
    """A predicate whose rules speak of its two events only: row a is a few row operations.

    `symmetric` says that it is its own converse: a column is a row then. Cost: of a row as many row
    operations as its rules have premises, once; of a pair a test each.
    """

    def __init__(self, bodies: tuple[Body, ...], scope: RelationScope, symmetric: bool = False) -> None:
        self._scope = scope
        self._support: tuple[int, int] | None = None
        self._parts = [Pointwise(body.ones, body.pairs, scope) for body in bodies]
        self._united: Union | None = None  # where the row is but a union
        if all(not body.ones and len(body.pairs) == 1 and body.pairs[0].positive for body in bodies):
            pairs = [body.pairs[0] for body in bodies]
            self._united = Union([(scope.relation(pair.source), pair.left == LEFT) for pair in pairs])
        self._rows = Remembered(self._row)
        self._cols = self._rows if symmetric else Remembered(self._col)
        self.row, self.col = self._rows.__getitem__, self._cols.__getitem__

    def all_rows(self, width: int, forwards: bool = True) -> list[int]:
        kept = self._rows if forwards else self._cols
        if len(kept) >= width or kept is not self._rows:
            return kept.first(width)
        if self._united is None:
            return kept.filled(joined(width, [part.all_rows(width) for part in self._parts]))
        rows = [*map(self._scope.domain.__and__, self._united.all_united(width, forwards=True))]
        if any(map(and_, rows, diagonal(width))):
            rows = [row ^ row & one for row, one in zip(rows, diagonal(width), strict=True)]
        return kept.filled(rows)

    def _row(self, a: int) -> int:
        row, domain = 0, self._scope.domain & ~(1 << a)
        if self._united is not None:
            return self._united.united(a, forwards=True) & domain
        for part in self._parts:
            row |= part.row(a, domain)
        return row

    def _col(self, b: int) -> int:
        col, domain = 0, self._scope.domain & ~(1 << b)
        for part in self._parts:
            col |= part.col(b, domain)
        return col

    def holds(self, a: int, b: int) -> bool:
        row = self._rows.get(a)
        if row is not None:
            return bool(row >> b & 1)
        return a != b and any(part.holds(a, b) for part in self._parts)

    def support(self) -> tuple[int, int]:
        if self._support is None:
            ends = [part.support() for part in self._parts]
            self._support = (
                reduce(or_, (left for left, _ in ends), 0),
                reduce(or_, (right for _, right in ends), 0),
            )
        return self._support

    def forget(self) -> None:
        """Drop the remembered rows."""
        self._support = None
        self._rows.clear()
        self._cols.clear()
        if self._united is not None:
            self._united.forget()


@dataclass(eq=False)
class SharedOrder:
    """The order of `HAPPENS_BEFORE`, where the rules keep one: all memos of a microcosm share it."""

    program: Program
    ground: Ground
    processes: Processes | None
    waits: bool = False
    """Whether the order is still to be made, and one pair can do without."""
    _first: tuple[int, int, list[int] | None] | None = None

    @cached_property
    def order(self) -> HappensBefore:
        """The order, made when first asked for. Raises `Cycle`. Cost: linear in what is given, once."""
        self.waits = False
        plan, universe, given = self.program.of[HAPPENS_BEFORE], self.ground.universe, self.ground.given
        size = len(universe.names)
        if plan.plain:
            links = given[Relation.BEFORE]
            return happens_before(size, links, self.processes, links.labels)
        view = View(plan.bodies[HAPPENS_BEFORE], Memo(self, self.program, universe.named))
        edges = ((a, b) for a in bits(view.support()[0]) for b in bits(view.row(a)))
        return happens_before(size, edges, self.processes)

    def wait(self) -> None:
        """Make the order only when more than one pair is asked for, where all given links lead upwards.

        There is no cycle then. Cost: a comparison a link.
        """
        plan = self.program.of.get(HAPPENS_BEFORE)
        self.waits = plan is not None and plan.plain and self.ground.given[Relation.BEFORE].ascends

    def first(self, a: int, b: int) -> tuple[int, int, list[int] | None] | None:
        """The first pair that is asked for, lower position first, and a shortest chain of links between them.

        None where another pair was the first, or the order is made. Cost: the first time that of a search; of
        10^6 events a fifth of making the order where the two are near, less than it where they are far.
        """
        if self._first is None and self.waits:
            a, b = min(a, b), max(a, b)
            links = self.ground.given[Relation.BEFORE]
            self._first = a, b, None if a < Universe.OUTSIDERS else links.way(a, b)
        found = self._first
        return found if self.waits and found is not None and {a, b} == {*found[:2]} else None

    def renew(self) -> HappensBefore:
        """The order of a ground that changed, of which it was told if it is one of given links.

        Raises `Cycle`. Cost: constant for one of given links, else that of making it anew.
        """
        if self.program.closes_links:
            self.order.grow(len(self.ground.universe))
        else:
            self.__dict__.pop("order", None)
        return self.order


class Memo:
    """A `Scope` for joins: all relations over one domain, each made when first asked for.

    They are remembered until `refresh`. `program` may leave out what nothing is given of, as long as that is
    so. Cost of its methods: a look-up once a relation was made, which derives nothing yet; of `refresh`
    linear in those that were made, of `laid_out` all rows of the order.
    """

    def __init__(self, shared: SharedOrder, program: Program, domain: int) -> None:
        self.domain = domain
        self._shared = shared
        self._ground = shared.ground
        self.program = program
        self.named: Callable[[Iterable[tuple[str, int]]], AbstractContextManager[object]] = nullcontext
        self._relations: dict[LiteralSource, RowRelation] = {}
        self._judged: dict[Pred, RowRelation] = {}
        self._forgetting: list[View | Union | Table] = []
        self._closure: Closure | None = None
        self._tables: dict[int, Tables] = {}

    def relation(self, source: LiteralSource) -> RowRelation:
        """The relation of a pair literal's source. Raises `RuleError` for an unknown base predicate."""
        found = self._relations.get(source)
        if found is None:
            found = self._relations[source] = self._make(source)
        return found

    def judged(self, pred: Pred) -> RowRelation:
        """The relation of a predicate; nothing is derived before its rows are asked for."""
        found = self._judged.get(pred)
        if found is None:
            found = self._judged[pred] = self._predicate(pred)
        return found

    @cached_property
    def ordered(self) -> Callable[[int, int], Relation | None]:
        """What says whether `<` is judged online of two, or `>`: where it is an order, that itself.

        The first pair of very many events is looked for without it.
        """
        if self._shared.waits and self._is_order(ONLINE[Relation.BEFORE]):
            return self._ordered_first
        relation = self.judged(ONLINE[Relation.BEFORE])
        if isinstance(relation, Closure):
            return relation.order.ordered
        holds = relation.holds
        return lambda a, b: BEFORE if holds(a, b) else AFTER if holds(b, a) else None

    def _ordered_first(self, a: int, b: int) -> Relation | None:
        found = self._shared.first(a, b)
        if found is None:
            _ = self._shared.order
            self.__dict__.pop("ordered", None)
            return self.ordered(a, b)
        low, _, way = found
        return None if way is None else BEFORE if a == low else AFTER

    def _is_order(self, pred: Pred) -> bool:
        """Whether a predicate is the order, by whatever name."""
        plan = self.program.of.get(pred)
        if plan is not None and isinstance(plan.alias, tuple) and not isinstance(plan.alias, LiteralSource):
            return self._is_order(plan.alias)
        return plan is not None and pred == HAPPENS_BEFORE and plan.shape is PlanShape.CLOSURE

    @cached_property
    def others(self) -> list[tuple[Relation, Holds]]:
        """What says whether another verdict is judged online, the most accurate first."""
        judged = [(r, self.judged(pred)) for r, pred in ONLINE.items() if r is not Relation.BEFORE]
        return [(r, found.holds) for r, found in judged if not isinstance(found, Empty)]

    def any_of(
        self, judgement: Judgement, instead: Mapping[LiteralSource, RowRelation] | None = None
    ) -> RowRelation:
        """`_` under a judgement, some predicates being read from `instead`."""
        preds = [pred for pred in self.program.of if pred[0] is judgement]
        sources: list[LiteralSource] = [LiteralSource("judged", *pred) for pred in preds]
        if not instead or not any(source in instead for source in sources):
            return self.relation(LiteralSource("any", judgement))
        relations = [instead.get(source) or self.relation(source) for source in sources]
        return either_way(
            [(r, self.program.symmetric(p)) for r, p in zip(relations, preds, strict=True)], remember=False
        )

    def subset(self, source: LiteralSource) -> int:
        """The set of a literal over one variable."""
        if source.kind == "in":
            return self._ground.universe.members
        return self._ground.subset(source.name)

    def refresh(self, domain: int) -> None:
        """The ground changed: drop what was derived from it, keep what is kept up to date."""
        self.domain = domain
        for relation in self._forgetting:
            relation.forget()
        if self._closure is not None:
            if self._shared.order is not self._closure.order:
                self.__dict__.pop("ordered", None)
            self._closure.renew(self._shared.order)

    @contextmanager
    def laid_out(self) -> Iterator[None]:
        """All rows of the order at hand, for whoever is about to ask for most of them."""
        closure = self.judged(HAPPENS_BEFORE)
        if not isinstance(closure, Closure):
            yield
            return
        closure.lay_out()
        try:
            yield
        finally:
            closure.fold()

    def is_transitive(self, pred: Pred) -> bool:
        """Whether a predicate is transitive whatever is given: a rule says so, or nothing concludes it.

        So is one that only renames another that is. Cost: linear in the rules.
        """
        relation, concluding = self.judged(pred), self.program.concluding
        if isinstance(relation, Closure) or pred not in concluding:
            return True
        same = [other for other in self.program.of if self.judged(other) is relation]
        return any(is_transitivity(rule) for other in same for rule in concluding[other])

    def tables(self, pred: Pred) -> Tables | None:
        """The tables that hold a predicate, where it is one that needs a fixpoint."""
        relation = self.judged(pred)
        return relation.tables if isinstance(relation, Table) else None

    def _make(self, source: LiteralSource) -> RowRelation:
        if source.pred is not None:
            return self.judged(source.pred)
        if source.kind == "given" and source.relation in self._ground.given:
            return self._ground.given[source.relation]
        if source.kind == "base":
            return self._ground.pairs(source.name)
        if source.kind == "any":
            preds = [pred for pred in self.program.of if pred[0] is source.judgement]
            return self._kept(
                either_way([(self.judged(pred), self.program.symmetric(pred)) for pred in preds])
            )
        if source.kind == "union":
            return self._kept(Union([(self.relation(part), True) for part in source.parts]))
        return Empty()

    def _predicate(self, pred: Pred) -> RowRelation:
        plan = self.program.of.get(pred)
        if plan is None:
            return Empty()
        if plan.alias is not None:
            alias = plan.alias
            return self.relation(alias) if isinstance(alias, LiteralSource) else self.judged(alias)
        if plan.shape is PlanShape.CLOSURE:
            self._closure = Closure(self._shared.order)
            return self._closure
        if plan.shape is PlanShape.VIEW:
            return self._kept(View(plan.bodies[pred], self, symmetric=pred in plan.symmetric))
        tables = self._tables.get(id(plan))
        if tables is None:
            tables = self._tables[id(plan)] = Tables(plan, self)
        return self._kept(Table(pred, tables))

    def _kept(self, relation: View | Union | Table) -> RowRelation:
        """A relation that is told when the ground changes."""
        self._forgetting.append(relation)
        return relation
