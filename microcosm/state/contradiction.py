"""Contradictions in words, with a derivation of each side. Cost: that of the derivations."""

from __future__ import annotations

from microcosm.engine.engine import Clash, CyclicGivens
from microcosm.engine.lowering import compile_rules, initial
from microcosm.engine.plan import Shape
from microcosm.engine.prove import Witness, balanced
from microcosm.errors import Contradiction
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.text.names import quote
from microcosm.text.sources import leaf_shows


def refused(message: str, other: Derivation) -> Contradiction:
    """What was asked for is refused because of `other`."""
    return Contradiction(f"{message}: {other.conclusion} already", (other,))


def of_clash(clash: Clash, witness: Witness) -> Contradiction:
    """Two initial judgements of one pair that exclude each other."""
    sides = [witness.derive(Judgement.INITIAL, clash.left, clash.one, clash.right)]
    sides.append(
        None
        if clash.one is clash.other
        else witness.derive(Judgement.INITIAL, clash.left, clash.other, clash.right)
    )
    for at, relation in enumerate((clash.one, clash.other)):
        if sides[at] is None:
            sides[at] = witness.derive(Judgement.INITIAL, clash.right, relation, clash.left)
    found = tuple(side for side in sides if side is not None)
    said = " and ".join(_plain(side) for side in found)
    return Contradiction(f"contradiction: {said} cannot both hold", found)


def of_condition_four(left: str, right: str, witness: Witness) -> Contradiction:
    """A `<>` on a pair that `<` orders, which the strict profile refuses (Definition 2.3, condition 4)."""
    found = []
    for relation in (Relation.RELATED, Relation.BEFORE):
        for a, b in ((left, right), (right, left)):
            derivation = witness.derive(Judgement.INITIAL, a, relation, b)
            if derivation is not None:
                found.append(derivation)
                break
    said = " while ".join(_plain(side) for side in found)
    return Contradiction(f"condition (4) is violated (strict): {said}", tuple(found))


def of_addition(fact: Correspondence, other: Derivation | None, cycle: CyclicGivens) -> Contradiction:
    """An order that would close a cycle."""
    if other is None:
        return Contradiction(f"`{fact}` would close a cycle: {' < '.join([*cycle.path, cycle.path[0]])}")
    return refused(f"`{fact}` would close a cycle", other)


def of_cycle(cycle: CyclicGivens, givens: Givens, rules: RuleBook) -> Contradiction:
    """Givens that close a cycle: all of it but its last link against that link."""
    path = cycle.path
    shown = " < ".join([*path[:6], *(["…"] if len(path) > 6 else []), path[0]])
    program = compile_rules(rules)
    plan = program.of[initial(Relation.BEFORE)]
    if plan.shape is not Shape.CLOSURE or not plan.plain or len(path) < 2:
        return Contradiction(f"contradiction: the order closes a cycle: {shown}")
    facts = GivenFacts(givens)
    rule = plan.bodies[initial(Relation.BEFORE)][0].instance.name
    links = [_link(rule, a, b, facts) for a, b in zip(path, [*path[1:], path[0]], strict=True)]
    sides = (balanced(plan.transitive[0].instance.name, links[:-1]), links[-1])
    return Contradiction(f"contradiction: the order closes a cycle: {shown}", sides)


def _link(rule: str, a: str, b: str, facts: GivenFacts) -> Derivation:
    conclusion = Conclusion(Judgement.INITIAL, a, "<", b)
    return Derivation(rule, conclusion, (), leaf_shows(facts, a, Relation.BEFORE, b))


def clash_node(problem: Contradiction) -> Derivation | None:
    """The contradiction as one derivation: a `Clash` of its two sides."""
    if len(problem.derivations) != 2:
        return None
    one, other = problem.derivations
    left, right = one.conclusion.left, one.conclusion.right
    return Derivation("Clash", Conclusion(Judgement.INITIAL, left, "contradiction", right), (one, other))


def _plain(side: Derivation) -> str:
    left, right = quote(side.conclusion.left), quote(str(side.conclusion.right))
    return f"{left} {side.conclusion.relation} {right}"
