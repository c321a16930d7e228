"""Forgetting an event: what is known about the others stays (beyond seed 003, section 6)."""

from __future__ import annotations

from microcosm.engine.engine import Engine
from microcosm.engine.program import initial
from microcosm.logic.judgement import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation


def without_event(givens: Givens, event: str, rules: RuleBook) -> Givens:
    """The givens without an event, plus the orders among the others that ran through it.

    For these, the event's neighbours in the given order suffice: each one before it is put before each
    one after it, unless that still follows. Cost: building the engine twice.
    """
    engine = Engine(rules, givens)
    left = _dropped(givens, event)
    position = engine.universe.position.get(event)
    if position is None or not engine.program.of.get(initial(Relation.BEFORE)):
        return left
    before, after = engine.neighbours(event)
    rest = Engine(rules, left)
    for a in before:
        for b in after:
            if not rest.holds(Judgement.INITIAL, a, Relation.BEFORE, b):
                fact = Correspondence(a, Relation.BEFORE, b, f"{a} < {event} < {b}, {event} forgotten")
                left.add(fact)
                rest.add(fact)
    return left


def _dropped(givens: Givens, event: str) -> Givens:
    left = givens.copy()
    left.internal = [e for e in givens.internal if e != event]
    for facts in (left.external, left.refuted):
        for key in [key for key, fact in facts.items() if event in (fact.left, fact.right)]:
            del facts[key]
    left.stamps.pop(event, None)
    left.clocks.pop(event, None)
    left.messages = [m for m in givens.messages if m.event != event]
    left.tokens = {
        token: kept
        for token, group in givens.tokens.items()
        if len(kept := tuple(e for e in group if e != event)) > 1
    }
    return left
