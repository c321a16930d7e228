"""Whether some givens surely do not contradict each other at once, told without an engine.

Where this is sure, a derivation can be checked with nothing loaded but what is trusted. Where it is not, an
engine has to be asked, which knows why. No proof rests on it.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import chain, combinations
from typing import TYPE_CHECKING

from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Relation, between
from microcosm.kernel.plan import PlanStep, RowGoal, RulePlans, kernel_rules
from microcosm.kernel.search import GivenRows
from microcosm.logic.rule import Given, Judged, Judgement

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook


def surely_consistent(givens: Givens, rules: RuleBook) -> bool:
    """Whether no two initial judgements of one pair exclude each other; False where that is not plain to see.

    It is plain where `<` is what follows from the given `<` by transitivity, and the other relations are
    judged as they are given. Cost: linear in what is given, for clocks times their processes; quadratic in
    the events under one token where clocks are. Raises `RuleError` where the rules say nothing that could be
    checked.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> several = [read_givens(text) for text in ("a < b < c", "a < b < a", "a < b || a")]
    >>> [surely_consistent(givens, read_rules()) for givens in several]
    [True, False, False]
    """
    if not _plain(kernel_rules(rules).program):
        return False
    facts = GivenFacts(givens)
    rows = GivenRows(facts)
    before = {event: rows.cover(1, event) for event in givens.named()}
    try:
        along = list(TopologicalSorter(before).static_order())
    except CycleError:
        return False
    return _clocks_agree(givens, along, before) and not _apart_and_related(facts, along, before)


def _clocks_agree(givens: Givens, along: list[str], before: dict[str, list[str]]) -> bool:
    """Whether no event is concurrent, by the clocks, with one that is before it or related to it.

    It is not where its clock has seen every component that an event before it has reached.
    """
    clocks = givens.clocks
    reached: dict[str, dict[tuple[str | None, str], int]] = {}
    for event in along if clocks else ():
        highest: dict[tuple[str | None, str], int] = {}
        for earlier in before[event]:
            for whose, count in reached[earlier].items():
                highest[whose] = max(count, highest.get(whose, count))
        clock = clocks.get(event)
        if clock is not None:
            for (execution, process), count in highest.items():
                if execution == clock.execution and clock.entries.get(process, 0) < count:
                    return False
            whose = clock.execution, clock.process
            highest[whose] = max(clock.own, highest.get(whose, clock.own))
        reached[event] = highest
    if not clocks:
        return True
    related = [(f.left, f.right) for f in givens.external.values() if f.relation is Relation.RELATED]
    pairs = chain(related, *(combinations(group, 2) for group in givens.tokens.values()))
    return not any(
        between(clocks[a], clocks[b]) is Relation.CONCURRENT
        for a, b in pairs
        if a in clocks and b in clocks and not clocks[a].beside(clocks[b])
    )


def _apart_and_related(facts: GivenFacts, along: list[str], before: dict[str, list[str]]) -> bool:
    """Whether a pair that is stated to be concurrent is ordered or related, too."""
    concurrent = [f for f in facts.givens.external.values() if f.relation is Relation.CONCURRENT]
    if not concurrent:
        return False
    from microcosm.order.order import happens_before

    at = {event: number for number, event in enumerate(along)}
    order = happens_before(len(along), [(at[a], at[b]) for b, earlier in before.items() for a in earlier])
    for fact in concurrent:
        for a, b in ((fact.left, fact.right), (fact.right, fact.left)):
            if order.before(at[a], at[b]) or any(True for _ in facts.evidence(a, Relation.RELATED, b)):
                return True
    return False


def _plain(program: RulePlans) -> bool:
    """Whether the rules judge `<` initially as the closure of what is given, all else as it is given."""
    for pred in program.concluded(Judgement.INITIAL):
        goal, relation = RowGoal(pred, 0, ""), pred[1]
        if relation is Relation.BEFORE:
            if not program.is_reachability(goal):
                return False
            continue
        steps = [plan.steps for plan in program.plans(goal)]
        plain = all(len(step) == 1 and _as_given(step[0], relation) for step in steps)
        if not plain or relation not in (Relation.CONCURRENT, Relation.RELATED):
            return False
    return True


def _as_given(step: PlanStep, relation: Relation) -> bool:
    """Whether a step asks for what is given in a relation, or judged so from the other end."""
    match step:
        case Given(_, named, _) | Judged(Judgement.INITIAL, _, named, _):
            return named is relation
    return False
