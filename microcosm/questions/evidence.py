"""Why a formula has its value: the atoms on which the value of a tuple rests, each with its derivation; and
where no atoms tell, a search of the worlds that fit: is there one in which it is true, or false?

A world is found and the formula is evaluated in it; then the search splits what is known by what may be of a
pair on which an open atom rests, and looks into each part, until two values are seen or no part is left. A
part in which the formula has one value by what follows from it need not be split.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.prove import Prover
from microcosm.engine.refutation import Refutation
from microcosm.errors import MicrocosmError, Stopped, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Derivation
from microcosm.order.bits import bits
from microcosm.queries.offline import REFUTED, Decisions
from microcosm.queries.possible import Worlds
from microcosm.questions.evaluate import Evaluation, at_once, begins_before_end, ends_before
from microcosm.questions.judged import Judgements
from microcosm.questions.language import And, Formula, Is, Not, Or, Quantified, Related, within
from microcosm.questions.patterns import Interval
from microcosm.questions.questioned_log import FALSE, OPEN, TRUE, QuestionedLog, Scope
from microcosm.worlds.propagation import MEMBERS
from microcosm.worlds.search import Stop

ATOMS = 64
"""So many atoms of one tuple are shown at most."""


class Atom(NamedTuple):
    """`left R right` for two events, by their numbers, and its value."""

    left: int
    relation: Relation
    right: int
    value: int

    @property
    def judged(self) -> Relation:
        """The relation that is derived: itself, or that it is refuted."""
        return REFUTED[self.relation] if self.value == FALSE else self.relation


def because(evaluation: Evaluation, formula: Formula, scope: Scope, value: int) -> Iterator[Atom]:
    """Atoms from whose values that of a formula follows; of an open one those that are open, too."""
    match formula:
        case Not(part):
            yield from because(evaluation, part, scope, -value)
        case And(parts) | Or(parts):
            values = [evaluation.value(part, scope) for part in parts]
            alone = FALSE if isinstance(formula, And) else TRUE
            if value == alone:
                at = values.index(alone)
                yield from because(evaluation, parts[at], scope, alone)
                return
            for part, found in zip(parts, values, strict=True):
                if found == value or value != OPEN:
                    yield from because(evaluation, part, scope, found)
        case Related():
            one, other = scope.variables[formula.left], scope.variables[formula.right]
            if formula.surely:
                yield from in_each_run(evaluation.log, one.interval, other.interval, value)
            elif formula.relation is None and not formula.same:
                yield from overlap(evaluation.log, one.interval, other.interval, value)
            elif formula.relation is not None and one.event != other.event:
                yield Atom(one.event, formula.relation, other.event, value)
        case Quantified():
            yield from _of_quantified(evaluation, formula, scope, value)
        case Is():
            return


def overlap(log: QuestionedLog, one: Interval, other: Interval, value: int) -> Iterator[Atom]:
    """Why two intervals can be seen at once, or cannot, or why that is open."""
    for first, second in ((one, other), (other, one)):
        ended = ends_before(log, first, second)
        wanted = (value == FALSE and ended == TRUE) or (value == TRUE) or (value == OPEN and ended == OPEN)
        if wanted and first.until != second.begin:
            if value == TRUE and first.end is None and log.complete:
                continue  # it has no end at all
            yield Atom(first.until, Relation.BEFORE, second.begin, ended)
            if value == FALSE:
                return
        elif wanted and value == FALSE:
            return  # one event ends the one and begins the other


def in_each_run(log: QuestionedLog, one: Interval, other: Interval, value: int) -> Iterator[Atom]:
    """Why two intervals are seen at once in each run, or in some run are not, or why that is open."""
    for first, second in ((one, other), (other, one)):
        begun = begins_before_end(log, first, second)
        if first.begin == second.until or (second.end is None and log.complete):
            continue  # the end is after its own event; or there is none at all
        if value in (TRUE, begun):
            yield Atom(first.begin, Relation.BEFORE, second.until, begun)
            if value == FALSE:
                return


def _of_quantified(evaluation: Evaluation, formula: Quantified, scope: Scope, value: int) -> Iterator[Atom]:
    found = at_once(evaluation.log, formula, scope) if formula.some and value == TRUE else None
    if found is not None:
        why = in_each_run if any(isinstance(p, Related) and p.surely for p in within(formula)) else overlap
        for one, other in combinations(found[1], 2):
            yield from why(evaluation.log, one, other, TRUE)
        return
    alone = TRUE if formula.some else FALSE
    for part in evaluation.tuples(formula, scope):
        rows = part.rows()
        for found_value in (alone,) if value == alone else (OPEN,) if value == OPEN else (-alone,):
            for chosen in part.scopes(rows[found_value]):
                yield from because(evaluation, formula.body, chosen, found_value)
                if value == alone:
                    return


class Deriver:
    """Derivations of offline judgements about pairs, from as few events as do. Valid for these givens."""

    def __init__(self, judged: Judgements, stop: Stop | None = None) -> None:
        self._judged, self._stop = judged, stop
        self._engine = judged.engine
        self._prover = Prover(self._engine, judged.givens)

    def derive(self, atom: Atom) -> Derivation | None:
        """The derivation of an atom's value; None where it is open, or only a search found it.

        Cost: that of an order's proof, else of an offline verdict.
        """
        if atom.value == OPEN:
            return None
        names, relation = self._judged.names, atom.judged
        a, b = names[atom.left], names[atom.right]
        if relation in (Relation.AFTER, Relation.NOT_AFTER):
            a, b, relation = b, a, relation.converse
        memo, x, y = self._engine.locate(a, b)
        with memo.named(((a, x), (b, y))):
            search = Refutation(self._engine.rules, self._prover.steps, memo, sorted({x, y}), self._stop)
            if search.clash is None and search.hypothesis.holds(relation, x, y):
                return search.hypothesis.derivation(relation, x, y)
        decisions = Decisions(self._engine, self._judged.givens, self._prover)
        try:
            return decisions.verdict(a, b, None, self._stop).derivations.get(str(relation))
        except MicrocosmError:
            return None


def decide(log: QuestionedLog, formula: Formula, scope: Scope, stop: Stop | None = None) -> tuple[int, bool]:
    """The value that a formula has in all worlds, open where they differ; and whether the search was through.

    Cost: an engine and a table of possible relations a part; exponential in the open atoms at worst.
    """
    rules = log.judged.engine.rules
    values: set[int] = set()
    parts: list[Givens] = [_spelled_out(log)]
    heeded = not Worlds(log.givens).ignored
    while parts:
        if stop is not None and stop():
            return OPEN, False
        givens = parts.pop()
        try:
            now = QuestionedLog(givens, Engine(rules, givens), log.questions, stop, log)
            shown = Worlds(givens).one(stop)
        except (CyclicGivens, Undefined):
            continue
        except Stopped:
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
                cases = [_with(givens, a, relation, b) for relation in MEMBERS]
                if givens in cases:  # of what is given here the rules tell nothing
                    return OPEN, False
                parts += cases
                continue
        values.add(value)
        if len(values) > 1 or value == OPEN:  # what the log lacks leaves it open in a world: so it is
            return OPEN, heeded
    return (values.pop() if len(values) == 1 else OPEN), heeded


def _undecided(log: QuestionedLog, atom: Atom) -> bool:
    """Whether more than one relation is possible of the two events of an atom."""
    possible = log.judged.frame((atom.right,)).possible(atom.left)
    return possible.before + possible.after + possible.concurrent > 1


def _spelled_out(log: QuestionedLog) -> Givens:
    """The givens, with all that a complete log says: what it does not order stays concurrent in each part."""
    givens, judged = log.givens, log.judged
    if not givens.complete or not judged.told.events:
        return givens
    found = givens.copy()
    found.complete = False
    covered = [event for event, place in enumerate(judged.places) if place in judged.told.events]
    frame = judged.frame(covered)
    for at, event in enumerate(covered):
        possible = frame.possible(event)
        concurrent = possible.concurrent & ~(possible.before | possible.after)
        for other in bits(concurrent >> at + 1):
            names = judged.names[event], judged.names[covered[at + 1 + other]]
            found.add(Correspondence(names[0], Relation.CONCURRENT, names[1]))
    return found


def _with(givens: Givens, a: str, relation: Relation, b: str) -> Givens:
    if relation is Relation.AFTER:
        a, relation, b = b, Relation.BEFORE, a
    known = givens.copy()
    known.add(Correspondence(a, relation, b))
    return known
