"""Irredundant microcosms: nothing given follows from the rest (seed 003, Theorems 6.3 to 6.6).

On irredundant microcosms with the same internal events, analogy and backward bisimilarity coincide: the
transitive reduction of a strict order is unique, and `||` and `<>` follow from nothing else.
"""

from __future__ import annotations

from microcosm.logic.judgement import Judgement
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.relation import MORE_ACCURATE
from microcosm.state.microcosm import Microcosm


def redundant(known: Microcosm) -> list[Correspondence]:
    """External correspondences that can all be removed without a change of any verdict, by name.

    These are what the rest judges as accurately, a superseded `<>` included. Under the shipped rules
    there is one such set that is greatest. Cost: a removal, and an addition where it is not one of them,
    for each external correspondence.

    >>> [str(fact) for fact in redundant(Microcosm.parse("a < b < c \\n a < c \\n a <> c"))]
    ['a < c', 'a <> c']
    """
    left = Microcosm(known.givens, rules=known.rules)
    found = []
    for _, fact in sorted(known.givens.external.items()):
        left.remove(fact)
        if _follows(left, fact):
            found.append(fact)
        else:
            left.add(fact)
    return found


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


def _follows(known: Microcosm, fact: Correspondence) -> bool:
    """Whether a verdict at least as accurate is reached without the fact."""
    a, b = fact.left, fact.right
    wanted = (fact.relation, *MORE_ACCURATE.get(fact.relation, ()))
    return any(known.holds(Judgement.ONLINE, a, relation, b) for relation in wanted)
