"""Irredundant microcosms: nothing given follows from the rest (seed 003, Theorems 6.3 to 6.6).

On irredundant microcosms with the same internal events, analogy and backward bisimilarity coincide: the
transitive reduction of a strict order is unique, and `||` and `<>` follow from nothing else.
"""

from __future__ import annotations

from microcosm.compare.removals import GivenOrder
from microcosm.compare.verdict_rows import analogous, related_names, seeds_own, transposed, verdict_rows
from microcosm.errors import Contradiction
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm


def redundant(known: Microcosm) -> list[Correspondence]:
    """External correspondences that can all be removed without a change of any verdict, by name.

    These are what the rest judges as accurately, a superseded `<>` included. Under the shipped rules
    there is one such set that is greatest. Cost: all orders, and a row operation for each external
    correspondence; under other rules a microcosm, and a comparison of all verdicts, for each.

    >>> [str(fact) for fact in redundant(Microcosm.parse("a < b < c \\n a < c \\n a <> c"))]
    ['a < c', 'a <> c']
    """
    facts = [fact for _, fact in sorted(known.givens.external.items())]
    return _by_intervals(known, facts) if seeds_own(known.rules) else _by_trial(known, facts)


def is_irredundant(known: Microcosm) -> bool:
    """Whether no external correspondence follows from the rest. Cost: as `redundant`."""
    return not redundant(known)


def irredundant(known: Microcosm) -> Microcosm:
    """An analogous microcosm without redundant correspondences; unique under the shipped rules.

    Cost: as `redundant`.

    >>> print(irredundant(Microcosm.parse("a < b < c \\n a < c \\n a <> c")).to_text(), end="")
    a < b
    b < c
    """
    givens = known.givens.copy()
    for fact in redundant(known):
        del givens.external[fact.key()]
    return Microcosm(givens, strict=known.strict, rules=known.rules)


def _by_intervals(known: Microcosm, facts: list[Correspondence]) -> list[Correspondence]:
    """Where `<` is transitive: `a < b` is redundant if it is fixed, or an event lies between the two."""
    names = related_names(known._engine)
    past = verdict_rows(known._engine, names).rows[Relation.BEFORE]
    future, position = transposed(past, len(names)), {name: at for at, name in enumerate(names)}
    order = GivenOrder(known)

    def follows(fact: Correspondence) -> bool:
        if order.fixed(fact.left, fact.relation, fact.right):
            return True
        a, b = position[fact.left], position[fact.right]
        if fact.relation is Relation.BEFORE:
            return bool(future[a] & past[b])
        return fact.relation is Relation.RELATED and bool((past[a] | future[a]) >> b & 1)

    return [fact for fact in facts if follows(fact)]


def _by_trial(known: Microcosm, facts: list[Correspondence]) -> list[Correspondence]:
    """Under any rules: leave out one after the other, as long as no verdict changes."""
    givens, found = known.givens.copy(), []
    for fact in facts:
        del givens.external[fact.key()]
        try:
            same = analogous(known, Microcosm(givens, rules=known.rules))
        except Contradiction:  # less may contradict more, by rules that ask for absence
            same = False
        if same:
            found.append(fact)
        else:
            givens.add(fact)
    return found
