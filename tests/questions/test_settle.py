"""What would settle a question: each observation is made in every world, and decides what it says."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from microcosm.engine.engine import Engine
from microcosm.givens.columns import Message
from microcosm.givens.event_table import EventRow, EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import read_rules
from microcosm.questions.evaluate import Evaluation
from microcosm.questions.questioned_log import OPEN, QuestionedLog, Scope
from microcosm.questions.reader import read_questions
from microcosm.questions.settle import _needed, _open_tuples, clocks, observations, peers
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.world import World
from tests.enumeration import all_worlds
from tests.thorough import draws

QUESTIONS = [f"event any; never any {sign} any" for sign in ("<", "||", "<>")]


def asked_of(givens: Givens, text: str, events: str = "abcd", together: int = 1) -> QuestionedLog:
    builder = EventTableBuilder()
    for number, event in enumerate(events):
        builder.add(EventRow(event, f"p{number // together}" if together > 1 else event))
    givens.events = builder.table()
    return QuestionedLog(givens, Engine(read_rules(), givens), read_questions(text))


def observed(givens: Givens, world: World, clocks_at: set[str]) -> Givens:
    """What is known once the clocks of some events have been seen, in a world."""
    known = givens.copy()
    for a, b in permutations(world.events, 2):
        if b in clocks_at:
            known.add(
                Correspondence(a, Relation.BEFORE if (a, b) in world.before else Relation.NOT_BEFORE, b)
            )
    return known


@pytest.mark.parametrize("seed", range(draws(8, 60)))
def test_clocks_decide_what_they_say_and_no_fewer_do(seed: int) -> None:
    rng = Random(seed)
    source = World.random("abcd", rng, 0.4)
    givens = Givens()
    for a, b in permutations("abcd", 2):
        if rng.random() < 0.2:
            relation = source.relation(a, b)
            if relation is Relation.BEFORE:
                givens.add(Correspondence(a, relation, b))
            else:
                givens.add(Correspondence(a, Relation.NOT_BEFORE, b))
    text = QUESTIONS[seed % 3]
    asked = asked_of(givens, text)
    (question,) = asked.questions.questions
    evaluation = Evaluation(asked)
    formula = question.formula
    body = formula.body  # type: ignore[union-attr]
    tuples = [*_open_tuples(evaluation, formula)]
    if not tuples:
        return
    chosen = clocks(asked, _needed(evaluation, body, tuples), len(tuples))
    fitting = [world for world in all_worlds("abcd") if world.fits(givens)]
    told = 0
    at: set[str] = set()
    left = set(range(len(tuples)))
    for one in chosen:
        assert one.event is not None
        at.add(one.event)
        decided = {
            number
            for number in left
            if all(value_after(asked, observed(givens, world, at), body, tuples[number]) for world in fitting)
        }
        assert len(decided) == one.decides, (seed, one)
        told += len(decided)
        left -= decided
    assert told == len(tuples)


@pytest.mark.parametrize("seed", range(draws(8, 60)))
def test_whom_to_ask_knows_what_it_says_and_no_more(seed: int) -> None:
    """Two processes of two events each: what each knew at both of them."""
    rng = Random(seed)
    source = World.random("abcd", rng, 0.4)
    givens = Givens()
    for a, b in permutations("abcd", 2):
        if rng.random() < 0.15:
            before = source.relation(a, b) is Relation.BEFORE
            givens.add(Correspondence(a, Relation.BEFORE if before else Relation.NOT_BEFORE, b))
    asked = asked_of(givens, QUESTIONS[seed % 3], together=2)
    (question,) = asked.questions.questions
    evaluation, body = Evaluation(asked), question.formula.body  # type: ignore[union-attr]
    tuples = [*_open_tuples(evaluation, question.formula)]
    named = peers(asked, _needed(evaluation, body, tuples), len(tuples))
    fitting = [world for world in all_worlds("abcd") if world.fits(givens)]
    events, left = set[str](), [*tuples]
    for one in named:
        events |= {"p0": {"a", "b"}, "p1": {"c", "d"}}[one.peer or ""]
        still = [
            scope
            for scope in left
            if not all(value_after(asked, observed(givens, world, events), body, scope) for world in fitting)
        ]
        assert len(left) - len(still) == one.decides, (seed, one)
        left = still
    assert not left
    if len(named) == 1 or named[0].decides:  # whoever is asked first decides most
        other = {"c", "d"} if named[0].peer == "p0" else {"a", "b"}
        decided = [
            scope
            for scope in tuples
            if all(value_after(asked, observed(givens, world, other), body, scope) for world in fitting)
        ]
        assert len(decided) <= named[0].decides


def value_after(asked: QuestionedLog, known: Givens, body: object, scope: Scope) -> bool:
    then = QuestionedLog(known, Engine(read_rules(), known), asked.questions, None, asked)
    return Evaluation(then).value(body, scope) != OPEN  # type: ignore[arg-type]


def test_complete_and_the_lost_end_of_a_message() -> None:
    """Two processes, a gap in one, a message whose reception is lost, and one whose sending is."""
    givens = Givens()
    builder = EventTableBuilder()
    for name, process, seq in (("a1", "a", 1), ("a2", "a", 4), ("b1", "b", 1), ("b2", "b", 2)):
        builder.add(EventRow(name, process, seq))
    givens.events = builder.table()
    givens.add(Correspondence("a1", Relation.BEFORE, "a2"))
    givens.add(Correspondence("b1", Relation.BEFORE, "b2"))
    givens.messages = [Message("send", "b1", "m", "b", ("a",)), Message("receive", "b2", "n", "b")]
    questions = read_questions("event any; never any || any")
    engine = Engine(read_rules(), givens)
    asked = QuestionedLog(givens, engine, questions)
    formula = questions.questions[0].formula
    found = observations(asked, formula, lambda known: Engine(read_rules(), known))
    by_kind = {one.given: one for one in found if one.kind == "message"}
    assert by_kind.keys() == {"b1 < a2", "a1 < b2"}
    assert by_kind["b1 < a2"].text == "the reception of m, if it is in the gap of a, between a1 and a2"
    assert by_kind["b1 < a2"].peer == by_kind["a1 < b2"].peer == "a"
    asks = [(one.peer, one.text, one.decides) for one in found if one.kind == "peer"]
    assert asks == [
        ("a", "ask a what it knew at its events (2 of its events are not in this log)", 0),
        ("b", "and ask b what it knew at its events", found[0].open),
    ]
    for given, one in by_kind.items():
        assert given is not None
        left, right = given.split(" < ")
        known = givens.copy()
        known.add(Correspondence(left, Relation.BEFORE, right))
        then = QuestionedLog(known, Engine(read_rules(), known), questions, None, asked)
        still = len([*_open_tuples(Evaluation(then), formula)])
        assert one.open - still == one.decides > 0
    assert not any(one.kind == "complete" for one in found)  # the log has gaps


def test_a_reception_may_have_been_before_the_first_event_that_is_there() -> None:
    log = "event a2 process a seq 2 \n event b1 process b seq 1 \n send b1 = m b -> a \n process a = a2"
    [(_, found)] = Microcosm.parse(log).settle('never [name = "b1"] || [name = "a2"]')
    [said] = [one for one in found if one.kind == "message"]
    assert (said.given, said.decides) == ("b1 < a2", 1)
    assert said.text == "the reception of m, if it is in the gap of a, before a2"


def test_complete_is_offered_where_nothing_speaks_against_it() -> None:
    givens = Givens()
    builder = EventTableBuilder()
    for name, process, seq in (("a1", "a", 1), ("b1", "b", 1), ("c1", "c", 1), ("d1", "d", 1)):
        builder.add(EventRow(name, process, seq))
    givens.events = builder.table()
    givens.add(Correspondence("a1", Relation.BEFORE, "b1"))
    givens.add(Correspondence("c1", Relation.BEFORE, "d1"))
    givens.messages = [
        Message("send", "a1", "m", "a"), Message("receive", "b1", "m", "b"),
        Message("send", "c1", "n", "c"), Message("receive", "d1", "n", "d"),
    ]  # fmt: skip
    questions = read_questions("event any; never any || any")
    asked = QuestionedLog(givens, Engine(read_rules(), givens), questions)
    first, *_ = observations(asked, questions.questions[0].formula, lambda known: Engine(read_rules(), known))
    assert (first.kind, first.decides, first.open) == ("complete", 4, 4)


ON = """state on(P) on P from label = "on" until label = "off"
event start where label = "on"
event stop where label = "off"
"""


@pytest.mark.parametrize(
    "b2", ['seq 2 "off"', 'seq 2 "-"', 'seq 3 "off"'], ids=["ended", "endless", "interrupted"]
)
@pytest.mark.parametrize(
    "question",
    [
        "every stop after some start",
        "assert exists x: start, y: stop: x < y and y < x",
        "assert exists x: start, y: start: x || y",
        "never on(p) while on(q)",
        "possibly on(p) and on(q)",
        "definitely on(p) and on(q)",
        "possibly on(p) and on(q) and on(r)",
    ],
)
def test_no_clock_is_said_to_decide_what_may_be_missing_or_interrupted(question: str, b2: str) -> None:
    """Whatever the clocks show, the question has no more open tuples than is said."""
    known = Microcosm.parse(f"""a1 < a2
    b1 < b2
    event a1 process a seq 1 "on"
    event a2 process a seq 2 "off"
    event b1 process b seq 1 "on"
    event b2 process b {b2}""")
    text = ON + question
    for kind in ("clock", "peer"):
        ((answer, found),) = known.settle(text)
        counted = [one for one in found if one.kind == kind]
        assert not counted or counted[0].open == max(answer.counts["open"], 1)
        at, decided = set[str](), 0
        for one in counted:
            at |= {one.event} if one.event else {event for event in known.events if event[0] == one.peer}
            decided += one.decides
            for world in all_worlds(tuple(known.events)):
                if world.fits(known.givens):
                    ((then, _),) = Microcosm(observed(known.givens, world, at)).settle(text)
                    assert then.counts["open"] <= one.open - decided, (world.order(), one)
