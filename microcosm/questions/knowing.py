"""What questions say is known: `know` lines become givens with their line as source, `complete` is looked
into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from microcosm.engine.engine import Engine
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.order.order import lacking
from microcosm.questions.asked import Asked
from microcosm.questions.evaluate import Evaluation
from microcosm.questions.language import And, Known, Place, Quantified, Questions
from microcosm.questions.scope import Scope
from microcosm.worlds.search import Stop

Build = Callable[[Givens], Engine]
"""An engine on some givens; raises `Contradiction` where they contradict each other."""


class Contradicted(Contradiction):
    """What is said to be known contradicts the log; `givens` are both together, with their sources."""

    def __init__(self, message: str, derivations: tuple[object, ...], givens: Givens) -> None:
        super().__init__(message, derivations)
        self.givens = givens


def asked_of(
    givens: Givens, engine: Engine, questions: Questions, build: Build, stop: Stop | None = None
) -> Asked:
    """A log with all that the questions say of it besides.

    Raises `TextError` where `complete` is said of a log that lacks something, `Contradicted` where what is
    known contradicts the log. Cost: an engine more where anything is known.
    """
    asked = Asked(givens, engine, questions, stop)
    if not questions.known and (questions.complete is None or givens.complete is True):
        return asked
    known = givens.copy()
    for one in questions.known:
        _tell(asked, one, known)
    if questions.complete is not None:
        known.complete = True
        _expect_complete(asked, known, questions.complete)
    try:
        built = build(known)
    except Contradiction as error:
        place = questions.known[0].place if questions.known else Place(1, 1)
        told = str(asked.fail("what is known contradicts the log", place))
        raise Contradicted(f"{told}\n{error}", error.derivations, known) from None
    found = Asked(known, built, questions, stop)
    found.warnings[:0] = [warning for warning in asked.warnings if warning not in found.warnings]
    return found


def _tell(asked: Asked, one: Known, known: Givens) -> None:
    """Add what a `know` line says of each matching pair, the line being its source."""
    names = asked.table.names
    source = f"{asked.questions.file or 'questions'}:{one.place.line}: {one.text}"
    relation, turned = one.relation, False
    if relation in (Relation.AFTER, Relation.NOT_AFTER):
        relation, turned = relation.converse, True
    if relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE):
        hint = "A relation is known by < > || or <>, and that something is not before by !< or !>."
        raise asked.fail(f"`{relation}` cannot be known", one.place, hint)
    count = 0
    for a, b in pairs(asked, one):
        left, right = (b, a) if turned else (a, b)
        known.add(Correspondence(names[left], relation, names[right], source))
        count += 1
    if not count:
        asked.warnings.append(f"{asked.at(one.place)}`{one.text}` matches nothing: nothing is known by it")


def pairs(asked: Asked, known: Known) -> Iterator[tuple[int, int]]:
    """The pairs of different events that a `know` line speaks of."""
    binders = (known.left, known.right)
    formula = Quantified(False, binders, known.where, And(()), known.place, distinct=True)
    for part in Evaluation(asked).tuples(formula, Scope()):
        for scope in part.scopes(part.among):
            yield scope.variables[known.left[0]].event, scope.variables[known.right[0]].event


def _expect_complete(asked: Asked, known: Givens, place: Place) -> None:
    """Refuse `complete` where something speaks against it."""
    if asked.missing:
        lost = ", ".join(f"{count} of {process}" for process, count in sorted(asked.missing.items())[:5])
        raise asked.fail(f"the log is not complete: events are missing ({lost})", place)
    if (lack := lacking(known)) is not None:
        raise asked.fail(f"the log is not complete: {lack}", place)
