"""What is set aside under rules for which an order is not simply what is given, closed: by asking the rules.

As in `quarantine`, the correspondences are taken in the order of their keys, and one that contradicts what
stands is set aside with a minimal set of those that it contradicts. Which of several sets is taken, the order
of keys decides; where the rules ask for absence, so that fewer givens may contradict more, it is set aside
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.queries.conflict import minimal
from microcosm.state.microcosm import Microcosm

Known = Callable[[list[Correspondence]], Givens]
"""The givens of a replica with some correspondences: its chains come with them."""

Found = tuple[list[Correspondence], list[Correspondence]]
"""What is set aside together, and the orders of chains that it contradicts with."""


def set_aside(facts: Iterable[Correspondence], known: Known, rules: RuleBook) -> list[Found]:
    """The minimal contradictory sets, each in the order of keys. None where the chains alone contradict.

    Cost: where anything contradicts, some log n microcosms for each member of each set.
    """

    def contradict(some: Sequence[Correspondence]) -> bool:
        return sides(known(list(some)), rules) is not None

    rest = [fact for _, fact in sorted({fact.key(): fact.normal() for fact in facts}.items())]
    chosen: list[Correspondence] = []
    found: list[Found] = []
    if not contradict(rest) or contradict([]):
        return []
    while rest and contradict([*chosen, *rest]):
        low, high = 0, len(rest) - 1  # what stands before rest[low] is consistent, with rest[high] it is not
        while low < high:
            middle = (low + high) // 2
            if contradict([*chosen, *rest[: middle + 1]]):
                high = middle
            else:
                low = middle + 1
        standing, fact = [*chosen, *rest[:low]], rest[low]
        members = minimal([*standing, fact], contradict)
        left = [other for other in standing if other not in members]
        if fact not in members or not contradict(members) or contradict(left):
            members, left = [fact], standing
        found.append((sorted(members, key=Correspondence.key), _orders(members, known, rules)))
        chosen, rest = left, rest[low + 1 :]
    return found


def sides(givens: Givens, rules: RuleBook) -> tuple[Derivation, ...] | None:
    """The derivations of what contradicts in some givens; None where nothing does."""
    try:
        known = Microcosm(givens, rules=rules)
    except Contradiction as problem:
        return problem.derivations
    for fact in givens.refuted.values():
        order = known.derive(Judgement.INITIAL, fact.left, Relation.BEFORE, fact.right)
        if order is not None:
            alone = Microcosm(_together([fact]), rules=rules)
            refutation = alone.offline(fact.left, fact.right, depth=0).derivations.get("!<")
            return (order,) if refutation is None else (refutation, order)
    return None


def _orders(members: list[Correspondence], known: Known, rules: RuleBook) -> list[Correspondence]:
    """As few orders of chains as contradict with the members; all of them where fewer say nothing."""
    orders = list(_chained(known([])))

    def contradict(some: Sequence[Correspondence]) -> bool:
        return sides(_together([*some, *members]), rules) is not None

    if not orders or not contradict(orders) or contradict([]):
        return []
    return minimal(orders, contradict)


def _chained(givens: Givens) -> Iterator[Correspondence]:
    for a, b in combinations(givens.internal, 2):
        yield Correspondence(a, Relation.BEFORE, b, "order of a process")
    yield from givens.external.values()


def _together(facts: Iterable[Correspondence]) -> Givens:
    givens = Givens()
    for fact in facts:
        givens.add(fact)
    return givens
