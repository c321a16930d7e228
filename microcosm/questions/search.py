"""The exact value of a formula, by a search of the worlds that fit: is there one in which it is true, or
false?

A world is found and the formula is evaluated in it; then the search splits what is known by what may be of a
pair on which an open atom rests, and looks into each part, until two values are seen or no part is left. A
part in which the formula has one value by what follows from it need not be split.
"""

from __future__ import annotations

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.errors import Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.bits import bits
from microcosm.queries.possible import Worlds
from microcosm.questions.asked import Asked
from microcosm.questions.evaluate import Evaluation
from microcosm.questions.evidence import Atom, because
from microcosm.questions.language import Formula
from microcosm.questions.scope import OPEN, Scope
from microcosm.worlds.possible import Undecided
from microcosm.worlds.search import Stop

_BRANCHES = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)


def decide(asked: Asked, formula: Formula, scope: Scope, stop: Stop | None = None) -> tuple[int, bool]:
    """The value that a formula has in all worlds, open where they differ; and whether the search was through.

    Cost: an engine and a table of possible relations a part; exponential in the open atoms at worst.
    """
    rules = asked.judged.engine.rules
    values: set[int] = set()
    parts: list[Givens] = [_spelled_out(asked)]
    heeded = not Worlds(asked.givens).ignored
    while parts:
        if stop is not None and stop():
            return OPEN, False
        givens = parts.pop()
        try:
            now = Asked(givens, Engine(rules, givens), asked.questions, stop, asked)
            shown = Worlds(givens).one(stop)
        except (CyclicGivens, Undefined):
            continue
        except Undecided:
            return OPEN, False
        if shown is None:
            continue
        evaluation = Evaluation(now)
        value = evaluation.value(formula, scope)
        if value == OPEN:
            atoms = because(evaluation, formula, scope, OPEN)
            atom = next((one for one in atoms if _undecided(now, one)), None)
            if atom is not None:
                a, b = now.table.names[atom.left], now.table.names[atom.right]
                parts += (_with(givens, a, relation, b) for relation in _BRANCHES)
                continue
        values.add(value)
        if len(values) > 1:
            return OPEN, heeded
    return (values.pop() if len(values) == 1 else OPEN), heeded


def _undecided(asked: Asked, atom: Atom) -> bool:
    """Whether more than one relation is possible of the two events of an atom."""
    possible = asked.judged.frame((atom.right,)).possible(atom.left)
    return possible.before + possible.after + possible.beside > 1


def _spelled_out(asked: Asked) -> Givens:
    """The givens, with all that a complete log says: what it does not order must stay concurrent in each
    part.
    """
    givens, judged = asked.givens, asked.judged
    if not judged.told:
        return givens
    found = givens.copy()
    found.complete = False
    told = [event for event, place in enumerate(judged.places) if place in judged.told]
    frame = judged.frame(told)
    for at, event in enumerate(told):
        possible = frame.possible(event)
        beside = possible.beside & ~(possible.before | possible.after)
        for other in bits(beside >> at + 1):
            names = judged.names[event], judged.names[told[at + 1 + other]]
            found.add(Correspondence(names[0], Relation.CONCURRENT, names[1]))
    return found


def _with(givens: Givens, a: str, relation: Relation, b: str) -> Givens:
    if relation is Relation.AFTER:
        a, relation, b = b, Relation.BEFORE, a
    known = givens.copy()
    known.add(Correspondence(a, relation, b))
    return known
