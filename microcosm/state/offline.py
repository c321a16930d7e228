"""Offline decision making: what cannot be and what must be of a pair (seed 003, Definition 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from microcosm.engine.engine import Engine
from microcosm.engine.memo import Memo
from microcosm.engine.refutation import Budget, OutOfBudget, Refutation
from microcosm.engine.witness import Witness
from microcosm.logic.derivation import Derivation
from microcosm.logic.judgement import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.relations.bits import bits
from microcosm.relations.relation import Relation

PROVED = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)
"""What can be proved of a pair, the most accurate first."""

REFUTED = {
    Relation.BEFORE: Relation.NOT_BEFORE,
    Relation.AFTER: Relation.NOT_AFTER,
    Relation.CONCURRENT: Relation.NOT_CONCURRENT,
    Relation.RELATED: Relation.NOT_RELATED,
}
"""What can be refuted of a pair, and as what."""

ALL = 48
"""Among no more events than this, all take part in a proof; else those that carry more than `<`."""


@dataclass(frozen=True)
class Offline:
    """The offline verdict on a pair.

    `possible` is what is left of `<`, `>` and `||`; `exact` says whether it is known that a world has
    each. `derivations` goes from `!<` and so on, and from the relation proved, to their proofs.
    """

    relation: Relation | None
    refuted: tuple[Relation, ...]
    possible: tuple[Relation, ...]
    exact: bool
    derivations: dict[str, Derivation] = field(repr=False)


class Inconsistent(Exception):
    """No world has all that is given; `derivation` concludes the contradiction."""

    def __init__(self, derivation: Derivation) -> None:
        super().__init__("the microcosm is inconsistent: no world fits all that it is given")
        self.derivation = derivation


def offline(
    engine: Engine,
    witness: Witness,
    rules: RuleBook,
    pair: tuple[str, str],
    depth: int | None = None,
    assumptions: int | None = None,
) -> Offline:
    """The offline verdict on two events; `depth` None: exactly. Raises `Inconsistent`.

    At most so many `assumptions` are made; where they do not suffice, `exact` is false.
    """
    memo, a, b = engine.locate(*pair)
    budget = None if assumptions is None else Budget(assumptions)
    search = Refutation(rules, witness.steps, memo, _relevant(engine, memo, a, b), budget)
    exact = False
    try:
        if depth is None:
            _refuse(search, search.inconsistency())
            search.settle(a, b)
            exact = True
        else:
            search.deepen(depth)
    except OutOfBudget:
        pass
    _refuse(search, search.clash)
    return _verdict(search, a, b, exact)


def inconsistency(
    engine: Engine, witness: Witness, rules: RuleBook, assumptions: int | None = None
) -> Derivation | None:
    """A derivation of a contradiction, None where some world fits. Raises `OutOfBudget`."""
    memo = engine.memo
    budget = None if assumptions is None else Budget(assumptions)
    return Refutation(rules, witness.steps, memo, _relevant(engine, memo, None, None), budget).inconsistency()


def _refuse(search: Refutation, contradiction: Derivation | None) -> None:
    if contradiction is not None:
        raise Inconsistent(contradiction)


def _verdict(search: Refutation, a: int, b: int, exact: bool) -> Offline:
    def holds(relation: Relation) -> tuple[Relation, int, int] | None:
        if relation in (Relation.AFTER, Relation.NOT_AFTER):
            fact = (relation.converse, b, a)
        else:
            fact = (relation, a, b)
        return fact if search.hypothesis.holds(*fact) else None

    derivations = {}
    proved = next((relation for relation in PROVED if holds(relation)), None)
    refuted = tuple(relation for relation, as_ in REFUTED.items() if holds(as_))
    for relation in (*([proved] if proved is not None else []), *(REFUTED[relation] for relation in refuted)):
        fact = holds(relation)
        assert fact is not None
        derivations[str(relation)] = search.hypothesis.derivation(*fact)
    possible = tuple(r for r in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT) if r not in refuted)
    return Offline(proved, refuted, possible, exact, derivations)


def _relevant(engine: Engine, memo: Memo, a: int | None, b: int | None) -> list[int]:
    """The events that a refutation can need: those of facts other than `<`, which is closed already."""
    asked = [at for at in (a, b) if at is not None]
    every = memo.domain
    if every.bit_count() > ALL:
        every = 0
        for relation in (Relation.CONCURRENT, Relation.RELATED):
            rows, cols = memo.judged((Judgement.ONLINE, relation)).support()
            every |= rows | cols
        for refuting in (engine.ground.given[Relation.NOT_BEFORE], engine.ground.stamps):
            rows, cols = refuting.support()
            every |= rows | cols
    return sorted({*bits(every & memo.domain), *asked})
