"""To ask questions of a microcosm: find what they are about, assert that they hold, settle what is open; and
to check such an answer.

What `know` lines say becomes givens with their line as source; `complete` is looked into.

An answer that comes from elsewhere is not believed: patterns are matched again, tuples counted again and
witnesses looked up among those that there are, so that a verdict, a count or a witness that was changed is
found; a derivation has to conclude its atom, and the kernel checks it. Of each kind so many witnesses have to
be proved as the answer says, and the first in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from microcosm.engine.engine import Engine
from microcosm.errors import Contradiction, MicrocosmError, Stopped, TextError, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.givens.spelling import expect
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import concludes
from microcosm.logic.rulebook import RuleBook
from microcosm.questions.answers import PROVED, SHOWN, UNDECIDED, VALUES, Answer, Answers, Witness, up_to
from microcosm.questions.evaluate import Evaluation
from microcosm.questions.language import And, Known, Place, Quantified, Questions
from microcosm.questions.questioned_log import FALSE, OPEN, TRUE, QuestionedLog, Scope, stated_complete
from microcosm.questions.reader import known_together, read_questions, read_sought
from microcosm.questions.settle import Build, Observation, observations
from microcosm.text.statement import readable
from microcosm.worlds.search import Stop


@dataclass(frozen=True)
class Found:
    """What a pattern or a formula is true of; apart from it what that is open of; and how many there are."""

    true: tuple[Witness, ...]
    open: tuple[Witness, ...]
    counts: dict[str, int]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [one.described() for one in self.true] + [f"open: {one.described()}" for one in self.open]
        return "\n".join(lines) or "nothing"

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(map(readable, str(self).splitlines()))}</pre>"


class Answered(list[Answer]):
    """The answers to some questions, in their order, about some `givens`; `warnings` is what was noticed."""

    def __init__(self, answers: list[Answer], givens: Givens, warnings: list[str]) -> None:
        super().__init__(answers)
        self.givens = givens
        self.warnings = warnings

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def _read(questions: str | Questions) -> Questions:
    """Questions, read if they are a text. Raises `TextError`, and `Undefined` for what is neither."""
    if isinstance(questions, str):
        return read_questions(questions)
    expect(Questions, "text of questions", questions)
    return questions


def answers(
    givens: Givens,
    engine: Engine,
    questions: str | Questions,
    build: Build,
    *,
    exact: bool = False,
    stop: Stop | None = None,
    shown: int = SHOWN,
    proved: int = PROVED,
    settle: bool = False,
) -> Answered:
    """The answer to each question of a text. Raises `TextError`, `Contradiction`. Cost: see `Answers`."""
    read = _read(questions)
    if not read.questions:
        hint = "A question is, for example, never write(key) || write(key)."
        raise TextError("there is no question here", file=read.file, hint=hint)
    log = asked_of(givens, engine, read, build, stop)
    found = [*Answers(log, exact=exact, stop=stop, shown=shown, proved=proved)]

    def settled(answer: Answer) -> Answer:
        best = observations(log, answer.question.formula, build, stop)
        return replace(answer, settle=tuple(islice(best, SHOWN)))

    if settle:
        try:
            found = [settled(one) if one.verdict == UNDECIDED else one for one in found]
        except Stopped:  # of some alone `verify` could not tell that the others were left out
            log.warnings.append("the search was stopped before it was known what would settle what is open")
    return Answered(found, log.givens, log.warnings)


def find(
    givens: Givens,
    engine: Engine,
    sought: str,
    build: Build,
    *,
    known: Questions | None = None,
    limit: int | None = None,
    stop: Stop | None = None,
) -> Found:
    """The events of a pattern or condition, or the tuples for which a formula is true, and those open.

    Of `never` these are what it forbids. At most `limit` of each are kept, all are counted.
    Raises `TextError`, `Contradiction`. Cost: as `Answers`.
    """
    expect(str, "text of what is sought", sought)
    read = read_sought(sought, None if known is None else _read(known))
    log = asked_of(givens, engine, read, build, stop)
    answering = Answers(log, stop=stop)
    formula = read.questions[-1].formula
    if not isinstance(formula, Quantified):
        raise Undefined("a formula without `for all` or `exists` before it is of no tuples to be found")
    rows: dict[int, list[Witness]] = {TRUE: [], OPEN: []}
    counts = {"true": 0, "false": 0, "open": 0}
    for part in answering.evaluation.tuples(formula, Scope()):
        for value, row in part.rows().items():
            counts[VALUES[value]] += row.bit_count()
            if value == FALSE:
                continue
            room = None if limit is None else max(0, up_to(limit) - len(rows[value]))
            for scope in islice(part.scopes(row), room):
                rows[value].append(answering.witness(formula, scope, value, prove=False, explained=False))
    return Found(tuple(rows[TRUE]), tuple(rows[OPEN]), counts, tuple(log.warnings))


def settle(
    givens: Givens, engine: Engine, questions: str | Questions, build: Build, *, stop: Stop | None = None
) -> Iterator[tuple[Answer, list[Observation]]]:
    """For each question its answer and what would settle what is open of it. Raises as `answers`."""
    read = _read(questions)
    log = asked_of(givens, engine, read, build, stop)
    for answer in Answers(log, stop=stop):
        yield answer, observations(log, answer.question.formula, build, stop)


def pair_questions(a: str, b: str) -> str:
    """The questions of how two events are related, for `settle`: whether they are, and in which direction."""
    one, other = (f"[name = {quoted(event)}]" for event in (a, b))
    return f"never {one} || {other}\nnever {one} < {other}"


def quoted(text: str) -> str:
    """A text in quotes, as questions read it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\\n")
    return f'"{escaped}"'


class Contradicted(Contradiction):
    """What is said to be known contradicts the log; `givens` are both together, with their sources."""

    def __init__(self, message: str, derivations: tuple[object, ...], givens: Givens) -> None:
        super().__init__(message, derivations)
        self.givens = givens


def asked_of(
    givens: Givens, engine: Engine, questions: Questions, build: Build, stop: Stop | None = None
) -> QuestionedLog:
    """A log with all that the questions say of it besides.

    Raises `TextError` where `complete` is said of a log that lacks something, `Contradicted` where what is
    known contradicts the log. Cost: an engine more where anything is known.
    """
    log = QuestionedLog(givens, engine, questions, stop)
    if not questions.known and (questions.complete is None or givens.complete is True):
        return log
    known = givens.copy()
    for one in questions.known:
        _add_known(log, one, known)
    if questions.complete is not None and (lack := stated_complete(log, known)) is not None:
        raise log.questions.fault(f"the log is not complete: {lack}", questions.complete)
    try:
        built = build(known)
    except Contradiction as error:
        place = questions.known[0].place if questions.known else Place(1, 1)
        fault = str(log.questions.fault("what is known contradicts the log", place))
        raise Contradicted(f"{fault}\n{error}", error.derivations, known) from None
    found = QuestionedLog(known, built, questions, stop)
    found.warnings[:0] = [warning for warning in log.warnings if warning not in found.warnings]
    return found


def _add_known(log: QuestionedLog, one: Known, known: Givens) -> None:
    """Add what a `know` line says of each matching pair, the line being its source."""
    names = log.table.names
    source = f"{log.questions.file or 'questions'}:{one.place.line}: {one.text}"
    relation, turned = one.relation, False
    if relation in (Relation.AFTER, Relation.NOT_AFTER):
        relation, turned = relation.converse, True
    if relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE):
        hint = "A relation is known by < > || or <>, and that something is not before by !< or !>."
        raise log.questions.fault(f"`{relation}` cannot be known", one.place, hint)
    count = 0
    for a, b in pairs(log, one):
        left, right = (b, a) if turned else (a, b)
        known.add(Correspondence(names[left], relation, names[right], source))
        count += 1
    if not count:
        log.warnings.append(f"{log.at(one.place)}`{one.text}` matches nothing: nothing is known by it")


def pairs(log: QuestionedLog, known: Known) -> Iterator[tuple[int, int]]:
    """The pairs of different events that a `know` line speaks of."""
    binders = (known.left, known.right)
    formula = Quantified(False, binders, known.where, And(()), known.place, distinct=True)
    for part in Evaluation(log).tuples(formula, Scope()):
        for scope in part.scopes(part.among):
            yield scope.variables[known.left[0]].event, scope.variables[known.right[0]].event


FIELDS = {"questions", "asked", "proved"}
"""What an answer of `assert` has,"""
MORE = {"schema", "warnings"}
"""and what it may have."""

_PLAIN = ("text", "line", "verdict", "exact", "vacuous", "counts", "notes")


def answer_fault(
    stated: dict[str, Any], givens: Givens, book: RuleBook, build: Build, searched: bool = False
) -> str | None:
    """What is wrong with an answer of `assert`; None where all of it is so. Cost: that of the answer.

    An answer for which worlds were `searched` does not say so where worlds are not exact (as under a known
    ordering of messages): one that is not so without is looked at so.
    """
    if not FIELDS <= stated.keys() <= FIELDS | MORE:
        return "the answer's fields are not those of an answer to questions"
    texts, claims, proved = stated["asked"], stated["questions"], stated["proved"]
    if type(proved) is not int or proved < 0:
        return "`proved` is not the number of witnesses that are proved"
    if (
        not isinstance(texts, list)
        or not isinstance(claims, list)
        or not all(isinstance(q, dict) for q in claims)
    ):
        return "the answer does not list its questions and their texts"
    exact = searched or any(q.get("exact") is not False for q in claims)
    shown = max((len(q["witnesses"]) for q in claims if isinstance(q.get("witnesses"), list)), default=0)
    needed = max(1, proved)
    settle = any(q.get("settle") for q in claims)
    how: dict[str, Any] = {"exact": exact, "settle": settle, "shown": max(shown, needed), "proved": needed}
    found: list[tuple[Answer, Givens]] = []
    texts_read: list[Questions] = []  # what is asked on the command line may use their patterns
    for one in texts:
        match one:
            case {"file": str() | None as file, "text": str(text)}:
                pass
            case _:
                return "the answer does not have the text of its questions"
        try:
            read = read_questions(text, file, known_together(texts_read) if file is None else None)
            texts_read.append(read)
            answered = answers(givens, build(givens), read, build, **how)
            found += [(answer, answered.givens) for answer in answered]
        except MicrocosmError as error:
            return f"the questions cannot be answered: {error}"
    if len(found) != len(claims):
        return f"the answer has {len(claims)} questions, and {len(found)} are asked"
    for claim, (answer, known) in zip(claims, found, strict=True):
        wrong = _unlike(claim, answer, needed) or _unproved(claim, answer, partial(kernel.check, known, book))
        if wrong is not None:
            if not exact and answer_fault(stated, givens, book, build, searched=True) is None:
                return None
            return f"line {answer.question.place.line}: {wrong}"
    return None


def _unlike(claim: dict[str, Any], answer: Answer, needed: int) -> str | None:
    """Where an answer differs from what is found now; of each kind of witness it has `needed`, or all."""
    now = answer.to_json()
    if claim.keys() != now.keys():
        return "the fields are not those of an answer to a question"
    for name in _PLAIN:
        if claim[name] != now[name]:
            return f"`{name}` is {now[name]!r}, not {claim[name]!r}"
    if claim["settle"] != now["settle"]:
        return "what is said to settle it does not"
    if not isinstance(claim["witnesses"], list) or len(claim["witnesses"]) > len(now["witnesses"]):
        return "there are not so many witnesses"
    verdicts = [one.get("verdict") for one in claim["witnesses"] if isinstance(one, dict)]
    for verdict, many in Counter(one.verdict for one in answer.witnesses).items():
        if verdicts.count(verdict) < min(many, needed):
            return f"of the witnesses that are {verdict} some are left out: {min(many, needed)} are needed"
    return None


def _unproved(claim: dict[str, Any], answer: Answer, check: Callable[[object], str | None]) -> str | None:
    """Which witness is none, or which of its derivations the kernel does not accept."""
    by_words = {repr(_without_proofs(one.to_json())): one for one in answer.witnesses}
    for number, stated in enumerate(claim["witnesses"], 1):
        if not isinstance(stated, dict) or not isinstance(stated.get("derivations"), list):
            return f"witness {number} is no witness"
        witness = by_words.pop(repr(_without_proofs(stated)), None)
        if witness is None:
            return f"witness {number} is not one of this question, or is there twice"
        derivations = list(stated["derivations"])
        for atom in witness.atoms:
            if atom.derivation is None:
                continue
            sign = f"!{atom.relation}" if atom.value == VALUES[FALSE] else atom.relation
            if not derivations or not concludes(derivations[0], "offline", atom.left, sign, atom.right):
                return f"witness {number}: no derivation concludes {atom}"
            wrong = check(derivations.pop(0))
            if wrong is not None:
                return f"witness {number}: {atom}: {wrong}"
        if derivations:
            return f"witness {number} has a derivation of something else"
    return None


def _without_proofs(stated: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, value) for name, value in stated.items() if name != "derivations")
