"""What the form of the rules tells of their conclusions, whatever the rules are called.

Some questions have quick answers because of what the seed's rules say of happens-before. Whether the rules
in force say it too is asked here, and nowhere else; where they do not, a question is answered by its
definition, or refused.
"""

from __future__ import annotations

from functools import lru_cache

from microcosm.engine.body import LEFT, RIGHT, Pair, Pred, Source
from microcosm.engine.lowering import compile_rules, initial
from microcosm.engine.plan import Shape, is_symmetry, is_transitivity
from microcosm.givens.correspondence import GIVEN_RELATIONS
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Given, Judgement
from microcosm.logic.rulebook import RuleBook


@lru_cache(maxsize=64)
def closes_givens(rules: RuleBook) -> bool:
    """Whether |-0 is what is given, `<` closed under transitivity, the others perhaps symmetric, and no more.

    >>> from microcosm.logic.rulebook import read_rules
    >>> shipped = read_rules()
    >>> closes_givens(shipped), closes_givens(RuleBook(shipped.rules[:1]))  # Init alone
    (True, False)
    """
    program = compile_rules(rules)
    concluded = {pred for pred in program.concluding if pred[0] is Judgement.INITIAL}
    if concluded != {initial(relation) for relation in GIVEN_RELATIONS}:
        return False
    for pred in concluded:
        given = {Pair(Source("given", None, pred[1]), *ends) for ends in ((LEFT, RIGHT), (RIGHT, LEFT))}
        plan = program.of[pred]
        if pred[1] is Relation.BEFORE:
            if plan.shape is not Shape.CLOSURE or not plan.plain or not plan.bodies[pred]:
                return False
            continue
        stated = [rule for rule in program.concluding[pred] if not is_symmetry(rule)]
        if not stated or any(rule.ones or rule.nones or len(rule.pairs) != 1 for rule in stated):
            return False
        if any(rule.pairs[0] not in given for rule in stated):
            return False
    return True


@lru_cache(maxsize=64)
def tells_given_order(rules: RuleBook) -> bool:
    """Whether an order that is given and one that only follows may lead to different conclusions.

    So it is where a rule reads `given a < b` and concludes more than an initial judgement. Cost: that of
    reading the rules, once.

    >>> from microcosm.logic.rulebook import read_rules
    >>> tells_given_order(read_rules())
    False
    """
    return any(
        isinstance(premise, Given)
        and premise.relation is Relation.BEFORE
        and instance.conclusion.judgement is not Judgement.INITIAL
        for instance in rules.instances
        for premise in instance.premises
    )
