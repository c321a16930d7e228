"""Rules that assume: what may be assumed, what refutes it, and which judgements contradict each other.

Such a rule says: assume `a R b`; if two judgements of some pair then exclude each other, conclude
something about a and b. All else that it asks is a guard, decided without the assumption. Rules of another
form are refused: the search would not find what they conclude.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, NoReturn

from microcosm.engine.body import Body, body
from microcosm.givens.relation import Relation
from microcosm.logic.rule import ANY, Assume, Incompatible, Instance, Judged, Judgement, Premise, Rule
from microcosm.logic.rulebook import RuleBook, refused


class Assumption(NamedTuple):
    """An instance of a rule that assumes, without its two contradicting premises.

    `turned` says that what is assumed relates the right event of the conclusion to the left one.
    """

    instance: Instance
    assumed: Relation
    turned: bool
    guard: Body


class Assumptions(NamedTuple):
    """All that the rules may assume.

    `clashes` holds, for each relation, those that exclude it: of the pair as it is, or (False) turned.
    """

    rules: tuple[Assumption, ...]
    clashes: dict[Relation, tuple[tuple[Relation, bool], ...]]


@lru_cache(maxsize=16)
def assumptions(rules: RuleBook) -> Assumptions:
    """The rules of a book that assume something. Raises `RuleError`. Cost: linear in the instances.

    >>> from microcosm.logic.rulebook import read_rules
    >>> found = assumptions(read_rules())
    >>> sorted({rule.instance.rule.name for rule in found.rules}), len(found.rules)
    (['Cntrd', 'Up-Cntrd'], 8)
    """
    found: dict[_Guarded, Assumption] = {}
    clashes: dict[str, dict[Relation, dict[tuple[Relation, bool], None]]] = {}
    for instance in rules.instances:
        if not any(isinstance(p, Assume) for p in instance.premises):
            continue
        one, other = _read(instance, found)
        name = instance.rule.name
        excluding = clashes.setdefault(name, {})
        straight = (one.left, one.right) == (other.left, other.right)
        for mine, theirs in ((one.relation, other.relation), (other.relation, one.relation)):
            assert isinstance(mine, Relation) and isinstance(theirs, Relation)  # noqa: PT018
            excluding.setdefault(mine, {})[theirs, straight] = None
            if mine.symmetric or theirs.symmetric:
                excluding[mine][theirs, not straight] = None
    first = next(iter(clashes), None)
    known = {} if first is None else clashes[first]
    for name, excluding in clashes.items():
        if first is not None and excluding != known:
            (rule,) = rules.named(name)
            _refuse(rule, f"{name} takes other judgements for a contradiction than {first} does")
    return Assumptions(tuple(found.values()), {r: tuple(others) for r, others in known.items()})


_Guarded = tuple[str, Assume, Judged, tuple[Premise, ...]]
"""A rule, what it assumes, what it concludes, and under which further premises: many instances are alike."""


def _read(instance: Instance, found: dict[_Guarded, Assumption]) -> tuple[Judged, Judged]:
    """The two contradicting premises of an instance, the assumption that it makes put among those `found`.

    Raises `RuleError`.
    """
    head, rule = instance.conclusion, instance.rule
    at, assumed = next((at, p) for at, p in enumerate(instance.premises) if isinstance(p, Assume))
    if head.judgement is not Judgement.OFFLINE:
        _refuse(rule, f"{rule.name} assumes something, and does not conclude ||-")
    if _ends(assumed) != _ends(head) or assumed.relation not in _ASSUMED:
        _refuse(
            rule, f"{rule.name} assumes something else than a given relation of the pair of its conclusion"
        )
    judged = [p for p in instance.premises if isinstance(p, Judged) and p.judgement is head.judgement]
    incompatible = any(isinstance(p, Incompatible) for p in instance.premises)
    rest = tuple(p for p in instance.premises if not isinstance(p, Assume | Incompatible) and p not in judged)
    several = any(isinstance(p, Assume) for p in rest)
    key = rule.name, assumed, head, rest
    if key not in found and not several:
        guarded = replace(instance, premises=rest)
        found[key] = Assumption(guarded, assumed.relation, assumed.left != head.left, body(guarded))
    if (
        several
        or len(judged) != 2
        or any(p in judged for p in instance.premises[:at])
        or _ends(judged[0]) != _ends(judged[1])
        or not incompatible
        or any(p.relation == ANY for p in judged)
        or _ends(judged[0]) & {*_ends(head), *found[key].guard.variables}
    ):
        _refuse(
            rule, f"{rule.name} does not assume one thing, and ask then for two judgements of some other pair"
        )
    return judged[0], judged[1]


_ASSUMED = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)


def _refuse(rule: Rule, message: str) -> NoReturn:
    raise refused(rule, message, _FORM)


_FORM = (
    "Write `assume a R b`, then `||- c S d` and `||- c T d  where S incompatible T`, and conclude "
    "something of a and b."
)


def _ends(premise: Judged | Assume) -> set[str]:
    return {premise.left, premise.right}
