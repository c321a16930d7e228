"""Whether some givens surely do not contradict each other at once, told without an engine.

Where this is sure, a derivation can be checked with nothing loaded but what is trusted. Where it is not, an
engine has to be asked, which knows why. No proof rests on it.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Relation
from microcosm.kernel.absence import Search
from microcosm.kernel.givens import GivenRows
from microcosm.kernel.pattern import kernel_rules
from microcosm.kernel.plan import Goal, Program, Step
from microcosm.logic.rule import Given, Judged, Judgement

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook

MOST_APART = 1_000
"""Of givens that state more `||` than this, an engine is asked: here each costs a search of the order."""


def surely_consistent(givens: Givens, rules: RuleBook) -> bool:
    """Whether no two initial judgements of one pair exclude each other; False where that is not plain to see.

    It is plain where `<` is what follows from the given `<` by transitivity, the other relations are judged
    as they are given, and no clocks are. Cost: linear in what is given, for each `||` once more. Raises
    `RuleError` where the rules say nothing that could be checked.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> said = [read_givens(text) for text in ("a < b < c", "a < b < a", "a < b || a")]
    >>> [surely_consistent(givens, read_rules()) for givens in said]
    [True, False, False]
    """
    apart = [fact for fact in givens.external.values() if fact.relation is Relation.CONCURRENT]
    program = kernel_rules(rules).program
    if givens.clocks or len(apart) > MOST_APART or not _plain(program):
        return False
    facts = GivenFacts(givens)
    rows = GivenRows(facts)
    try:
        TopologicalSorter({event: rows.cover(1, event) for event in givens.named()}).prepare()
    except CycleError:
        return False
    search = Search(program, facts, frozenset(givens.named()))
    for fact in apart:
        goals = (Goal(Judgement.INITIAL, Relation.BEFORE, end, fact.left) for end in (0, 1))
        before, after = map(search.row, goals)
        if fact.right in before or fact.right in after:
            return False
        pairs = ((fact.left, fact.right), (fact.right, fact.left))
        if any(True for a, b in pairs for _ in facts.evidence(a, Relation.RELATED, b)):
            return False
    return True


def _plain(program: Program) -> bool:
    """Whether the rules judge `<` initially as the closure of what is given, all else as it is given."""
    for relation in program.relations(Judgement.INITIAL):
        goal = Goal(Judgement.INITIAL, relation, 0, "")
        if relation is Relation.BEFORE:
            if not program.is_reachability(goal):
                return False
            continue
        steps = [plan.steps for plan in program.plans(goal)]
        plain = all(len(step) == 1 and _as_given(step[0], relation) for step in steps)
        if not plain or relation not in (Relation.CONCURRENT, Relation.RELATED):
            return False
    return True


def _as_given(step: Step, relation: Relation) -> bool:
    """Whether a step asks for what is given in a relation, or judged so from the other end."""
    match step:
        case Given(_, said, _) | Judged(Judgement.INITIAL, _, said, _):
            return said is relation
    return False
