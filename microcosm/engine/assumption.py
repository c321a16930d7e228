"""Rules that assume: what may be assumed, what refutes it, and which judgements contradict each other.

Such a rule says: assume `a R b`; if two judgements of one pair then exclude each other, conclude
something about a and b. All else that it asks of the pair is a guard, decided without the assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from microcosm.engine.body import Body, body
from microcosm.logic.judgement import Judgement
from microcosm.logic.rule import Assume, Incompatible, Instance, Judged
from microcosm.logic.rulebook import RuleBook
from microcosm.relations.relation import Relation


@dataclass(frozen=True)
class Assumption:
    """An instance of a rule that assumes, without its two contradicting premises.

    `turned` says that what is assumed relates the right event of the conclusion to the left one.
    """

    instance: Instance
    assumed: Relation
    turned: bool
    guard: Body


@dataclass(frozen=True)
class Assumptions:
    """All that the rules may assume under one judgement.

    `clashes` holds, for each relation, those that exclude it: of the pair as it is, or (False) turned.
    """

    rules: tuple[Assumption, ...]
    clashes: dict[Relation, tuple[tuple[Relation, bool], ...]]


@lru_cache(maxsize=16)
def assumptions(rules: RuleBook, judgement: Judgement) -> Assumptions:
    """The rules of a book that assume and conclude under `judgement`. Cost: linear in the instances.

    >>> from microcosm.logic.rulebook import read_rules
    >>> found = assumptions(read_rules(), Judgement.OFFLINE)
    >>> sorted({rule.instance.name for rule in found.rules}), len(found.rules)
    (['Cntrd', 'Up-Cntrd'], 8)
    """
    found: dict[object, Assumption] = {}
    clashes: dict[Relation, dict[tuple[Relation, bool], None]] = {}
    for instance in rules.instances:
        if instance.conclusion.judgement is not judgement:
            continue
        for assumption, one, other in _read(instance):
            found.setdefault((assumption.instance.rule, *_key(assumption)), assumption)
            straight = (one.left, one.right) == (other.left, other.right)
            for mine, theirs in ((one.relation, other.relation), (other.relation, one.relation)):
                assert isinstance(mine, Relation) and isinstance(theirs, Relation)  # noqa: PT018
                clashes.setdefault(mine, {})[theirs, straight] = None
                if mine.symmetric or theirs.symmetric:
                    clashes[mine][theirs, not straight] = None
    return Assumptions(tuple(found.values()), {r: tuple(others) for r, others in clashes.items()})


def _key(assumption: Assumption) -> tuple[object, ...]:
    return (assumption.assumed, assumption.turned, assumption.instance.conclusion, assumption.guard.instance)


def _read(instance: Instance) -> Iterator[tuple[Assumption, Judged, Judged]]:
    """The assumption that an instance makes, and its two contradicting premises, if it is of that form."""
    assumed = [p for p in instance.premises if isinstance(p, Assume)]
    judged = [
        p for p in instance.premises
        if isinstance(p, Judged) and p.judgement is instance.conclusion.judgement
    ]  # fmt: skip
    head = instance.conclusion
    if len(assumed) != 1 or len(judged) != 2 or _ends(judged[0]) != _ends(judged[1]):
        return
    if instance.premises.index(assumed[0]) > instance.premises.index(judged[0]):
        return  # what stands before the assumption may not use it
    (premise,), (one, other) = assumed, judged
    if _ends(premise) != _ends(head) or not isinstance(premise.relation, Relation):
        return
    rest = tuple(p for p in instance.premises if not isinstance(p, Assume | Incompatible) and p not in judged)
    guarded = replace(instance, premises=rest)
    turned = premise.left != head.left
    yield Assumption(guarded, premise.relation, turned, body(guarded)), one, other


def _ends(premise: Judged | Assume) -> set[str]:
    return {premise.left, premise.right}
