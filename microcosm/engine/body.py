"""Lowering, first step: a rule instance becomes a pattern over numbered event variables.

Variable 0 is the left event of the conclusion, 1 the right one, the rest are intermediate. A pattern
names its relations symbolically (`LiteralSource`); nothing here knows a microcosm.

A rule `P(b, a) <- P(a, b)` makes P symmetric. It is not evaluated: every other rule for P gets a
mirror image instead, and P is its own converse (the two systems have the same least fixpoint, by
induction on derivations).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    InProfile,
    Instance,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Positive,
    Pred,
    Premise,
    Term,
    finer,
)

LEFT, RIGHT = 0, 1


class LiteralSource(NamedTuple):
    """Where a literal's facts are: what is judged or given, `_` under a judgement, a base predicate, M."""

    kind: Literal["judged", "any", "given", "base", "in", "union"]
    judgement: Judgement | None = None
    relation: Relation | None = None
    name: str = ""
    parts: tuple[LiteralSource, ...] = ()

    @property
    def pred(self) -> Pred | None:
        """The judged predicate, if it is exactly one."""
        if self.kind == "judged" and self.judgement is not None and self.relation is not None:
            return (self.judgement, self.relation)
        return None


class PairLiteral(NamedTuple):
    """A literal over two variables."""

    source: LiteralSource
    left: int
    right: int
    positive: bool = True

    @property
    def ends(self) -> set[int]:
        """Both variables."""
        return {self.left, self.right}

    @property
    def pred(self) -> Pred | None:
        """The judged predicate that the literal reads, if it reads exactly one."""
        return self.source.pred


class EventLiteral(NamedTuple):
    """A literal over one variable."""

    source: LiteralSource
    variable: int
    positive: bool = True


class Body(NamedTuple):
    """The premises of an instance; `nones` are patterns that must have no solution (`no e in M with …`).

    `mirrored` says that the roles of left and right were swapped. Cost of each method: linear in the
    literals, and in the predicates that it is asked about.
    """

    instance: Instance
    head: Pred
    ones: tuple[EventLiteral, ...]
    pairs: tuple[PairLiteral, ...]
    nones: tuple[Body, ...]
    variables: tuple[str, ...]
    mirrored: bool = False

    @property
    def pointwise(self) -> bool:
        """Whether the premises speak of the two events of the conclusion only."""
        return not self.nones and all(v in (LEFT, RIGHT) for v in self.mentioned())

    def split(self, recursive: Iterable[Pred]) -> tuple[Body, Body | None]:
        """The premises about the two events alone that rest on lower strata, and the rest if any."""
        reads = set(self.reads(recursive))
        ones = [o.variable in (LEFT, RIGHT) for o in self.ones]
        pairs = [p.ends == {LEFT, RIGHT} and p not in reads for p in self.pairs]
        here = self._replace(
            ones=tuple(o for o, kept in zip(self.ones, ones, strict=True) if kept),
            pairs=tuple(p for p, kept in zip(self.pairs, pairs, strict=True) if kept),
            nones=(),
        )
        if all(ones) and all(pairs) and not self.nones:
            return here, None
        rest = self._replace(
            ones=tuple(o for o, kept in zip(self.ones, ones, strict=True) if not kept),
            pairs=tuple(p for p, kept in zip(self.pairs, pairs, strict=True) if not kept),
        )
        return here, rest

    def without(self, read: PairLiteral) -> Body:
        """A body of all premises but one."""
        return self._replace(pairs=tuple(p for p in self.pairs if p is not read))

    def mentioned(self) -> Iterator[int]:
        """Every variable of a literal, repeats included."""
        for one in self.ones:
            yield one.variable
        for pair in self.pairs:
            yield from (pair.left, pair.right)
        for none in self.nones:
            yield from none.mentioned()

    def reads(self, preds: Iterable[Pred]) -> tuple[PairLiteral, ...]:
        """The positive literals that read one of `preds` (directly or through `_`)."""
        wanted = set(preds)
        return tuple(
            p
            for p in self.pairs
            if p.positive
            and (
                p.pred in wanted
                or (p.source.kind == "any" and any(j is p.source.judgement for j, _ in wanted))
            )
        )

    def mirror(self) -> Body:
        """A body for the converse of the conclusion: the premises with both ends in each other's place."""
        swap = {LEFT: RIGHT, RIGHT: LEFT}

        def turn(p: PairLiteral) -> PairLiteral:
            return p._replace(left=swap.get(p.left, p.left), right=swap.get(p.right, p.right))

        def turned(body: Body) -> Body:
            return body._replace(
                ones=tuple(o._replace(variable=swap.get(o.variable, o.variable)) for o in body.ones),
                pairs=tuple(
                    p if p.source.kind == "any" and p.ends == {LEFT, RIGHT} else turn(p) for p in body.pairs
                ),
                nones=tuple(turned(n) for n in body.nones),
            )

        return turned(self)._replace(mirrored=not self.mirrored)

    def shape(self, symmetric: Iterable[Pred]) -> frozenset[object]:
        """The premises as a set, the ends of symmetric literals unordered: equal shapes, equal meaning."""
        unordered = {LiteralSource("judged", *pred) for pred in symmetric}

        def key(pair: PairLiteral) -> object:
            ends = (pair.left, pair.right)
            if pair.source.kind == "any" or pair.source in unordered:
                ends = (min(ends), max(ends))
            return (pair.source, ends, pair.positive)

        return frozenset(
            [
                *((o.source, o.variable, o.positive) for o in self.ones),
                *(key(p) for p in self.pairs),
                *(none.shape(symmetric) for none in self.nones),
            ]
        )


def merged(bodies: Iterable[Body]) -> list[Body]:
    """Bodies that differ in the source of one positive literal, as one body over the union of sources.

    `P ∘ U ∪ Q ∘ U = (P ∪ Q) ∘ U`: what a relation variable took apart is evaluated in one pass. Cost: the
    square of the bodies.
    """
    found = list(bodies)
    at = 0
    while at < len(found):
        for other in found[at + 1 :]:
            both = _union(found[at], other)
            if both is not None:
                found[at] = both
                found.remove(other)
        at += 1
    return found


def _union(one: Body, other: Body) -> Body | None:
    if one.ones != other.ones or one.nones != other.nones or len(one.pairs) != len(other.pairs):
        return None
    differ = [n for n, (p, q) in enumerate(zip(one.pairs, other.pairs, strict=True)) if p != q]
    if len(differ) != 1:
        return None
    p, q = one.pairs[differ[0]], other.pairs[differ[0]]
    if not p.positive or p._replace(source=q.source) != q:
        return None
    parts = tuple(dict.fromkeys((*(p.source.parts or (p.source,)), *(q.source.parts or (q.source,)))))
    union = p._replace(source=LiteralSource("union", parts=parts))
    return one._replace(pairs=tuple(union if n == differ[0] else pair for n, pair in enumerate(one.pairs)))


def body(instance: Instance) -> Body:
    """The pattern of an instance. Cost: its size.

    >>> from microcosm.logic.rulebook import read_rules
    >>> trans = next(i for i in read_rules().instances if i.rule.name == "In-Tr")
    >>> [(p.left, p.right) for p in body(trans).pairs]
    [(0, 2), (2, 1)]
    """
    numbers: dict[str, int] = {instance.conclusion.left: LEFT}
    numbers.setdefault(instance.conclusion.right, RIGHT)
    assert isinstance(instance.conclusion.relation, Relation)
    head = (instance.conclusion.judgement, instance.conclusion.relation)
    return _body(instance, head, instance.premises, numbers)


def judged(judgement: Judgement, relation: Term) -> LiteralSource:
    """The source of a judged premise; `_` reads every relation of the judgement. Cost: constant."""
    return (
        LiteralSource("judged", judgement, relation)
        if isinstance(relation, Relation)
        else LiteralSource("any", judgement)
    )


def literal(premise: Positive) -> tuple[LiteralSource, tuple[str, ...]]:
    """What a premise reads, and the events of which it says so. Cost: constant."""
    match premise:
        case Judged(judgement, left, relation, right):
            return judged(judgement, relation), (left, right)
        case Given(left, relation, right):
            assert isinstance(relation, Relation)
            return LiteralSource("given", None, relation), (left, right)
        case In(event):
            return LiteralSource("in"), (event,)
        case BasePredicate(name, events):
            return LiteralSource("base", name=name), events


def _body(instance: Instance, head: Pred, premises: Iterable[Premise], numbers: dict[str, int]) -> Body:
    ones: list[EventLiteral] = []
    pairs: list[PairLiteral] = []
    nones: list[Body] = []

    def number(name: str) -> int:
        return numbers.setdefault(name, max(RIGHT, *numbers.values()) + 1)

    def add(premise: Positive, sign: bool) -> None:
        source, events = literal(premise)
        match [number(event) for event in events]:
            case [event]:
                ones.append(EventLiteral(source, event, sign))
            case [left, right]:
                pairs.append(PairLiteral(source, left, right, sign))
            case _:
                raise AssertionError(f"no literal: {premise}")

    for premise in premises:
        match premise:
            case Not(inner):
                add(inner, False)
            case MostAccurate(of):
                for more in finer(of):
                    add(more, False)
            case NoneWith() | Incompatible():
                pass
            case Assume() | InProfile():
                raise AssertionError(f"no literal: {premise}")
            case _:
                add(premise, True)
    for premise in premises:
        if isinstance(premise, NoneWith):  # last, so that its own variables take numbers of their own
            inside = {name: at for name, at in numbers.items() if name != premise.event}
            nones.append(_body(instance, head, (In(premise.event), *premise.body), inside))
    names = tuple(sorted(numbers, key=lambda name: numbers[name]))
    return Body(instance, head, tuple(ones), tuple(pairs), tuple(nones), names)
