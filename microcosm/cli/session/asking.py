"""What can be asked in a session of what may be (`possible`, `offline`, `what if`), and about all events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from microcosm.cli import exits, output
from microcosm.cli.session.questions import distinct, triple, with_unknown
from microcosm.cli.session.session import Answer, Fields
from microcosm.cli.show import offline as show
from microcosm.cli.show.verdict import proof_below, statement, words_of
from microcosm.errors import TextError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import proof_object
from microcosm.state.microcosm import Microcosm
from microcosm.text.sentences import read_sentence
from microcosm.worlds.propagation import MEMBERS

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.queries.possible import PairLeft
    from microcosm.questions.language import Questions
    from microcosm.text.sentences import Sentence


def possible(session: Session, sentence: Sentence) -> Answer:
    """`possible A B`: which of `<`, `>`, `||` may be, and a world for each."""
    left, right = _two(session, sentence)
    found = session.known.possible(left, right, session.work.stopping(None))
    if not found.relations:
        return check(session, sentence)
    answer = Answer(
        show.possible_lines(left, right, found, words_of(session.known)),
        lambda: show.possible_fields(left, right, found),
    )
    return with_unknown(answer, session.known, left, right)


def offline(session: Session, sentence: Sentence) -> Answer:
    """`offline A B`: what cannot be and what must be, with proofs."""
    from microcosm.queries.offline import Inconsistent

    left, right = _two(session, sentence)
    known = session.known
    try:
        found = known.offline(left, right, stop=session.work.stopping(None))
    except Inconsistent:
        return check(session, sentence)
    shown = show.shown_offline(known, left, right, found, wrap=False)
    answer = Answer(shown, lambda: show.offline_fields(left, right, found))
    return with_unknown(answer, known, left, right)


def assume(session: Session, sentence: Sentence) -> Answer:
    """`what if A < B`: what could then not be, or that it cannot hold, and why; the state stays as it is."""
    from microcosm.queries.offline import REFUTED, Inconsistent

    left, relation, right = triple(session, sentence)
    if relation not in REFUTED:
        raise TextError("expected <, >, || or <>, which can be assumed", column=sentence.of("SIGN")[0].column)
    known = session.known
    try:
        found = known.offline(left, right, stop=session.work.stopping(None))
    except Inconsistent:
        return check(session, sentence)
    proof = found.derivations.get(str(REFUTED[relation]))
    if relation not in found.refuted:
        fact = Correspondence(left, relation, right)
        try:
            narrowed = [*_narrowed(session, fact)]
        except Inconsistent as problem:  # `complete` speaks of an event that only the assumption names
            proof = problem.derivation
        else:
            follows = [[a, b, [relation.value for relation in left]] for a, b, left in narrowed]
            fields_then = {"assumed": [left, str(relation), right], "possible": True, "follows": follows}
            answer = Answer(_consequences(session, fact, narrowed), lambda: fields_then)
            return with_unknown(answer, known, left, right)

    text = f"{statement(left, str(relation), right, words_of(known))} cannot be"

    def fields() -> Fields:
        derivation = None if proof is None else proof_object(proof)
        return {"assumed": [left, relation.value, right], "possible": False, "derivation": derivation}

    answer = Answer(chain([text], proof_below(known, proof)), fields)
    return with_unknown(answer, known, left, right)


def check(session: Session, sentence: Sentence) -> Answer:
    """`check`: whether some world fits all that is given, and if not, which givens contradict each other."""
    from microcosm.queries.offline import are_shipped

    known, stop = session.known, session.work.stopping(None)
    conflict = known.conflict(stop)
    by_worlds_alone = not known.givens.beyond_worlds and are_shipped(known.rules)
    proof = None if conflict is None and by_worlds_alone else known.contradiction(stop=stop)
    fits = conflict is None and proof is None
    said = show.FITS if fits else show.NO_WORLD if conflict else show.beyond(known.givens)
    lines = chain([said], show.conflict_lines(conflict or ()), proof_below(known, proof))
    return Answer(lines, partial(show.check_fields, known.givens, fits, conflict, proof), exits.holding(fits))


def _two(session: Session, sentence: Sentence) -> tuple[str, str]:
    one, other = sentence.of("EVENT")
    left, right = session.event(one), session.event(other)
    distinct(left, right, other)
    return left, right


def _narrowed(session: Session, fact: Correspondence) -> Iterator[PairLeft]:
    """Each pair of which less is left under an assumption, with what is left of `<`, `>` and `||`."""
    known = session.known
    supposed = Microcosm(known.givens, rules=known.rules)
    supposed.add(fact)
    stop = session.work.stopping(None)
    return supposed.offline_table(stop=stop).unlike(known.offline_table(stop=stop))


def _consequences(session: Session, fact: Correspondence, narrowed: Sequence[PairLeft]) -> Iterator[str]:
    words = words_of(session.known)
    for a, b, left in narrowed:
        session.work.did(1)
        turned = Relation.AFTER in left and Relation.BEFORE not in left
        sign = show.joined(tuple(r for r in MEMBERS if r.converse in left)) if turned else show.joined(left)
        yield statement(*((b, sign, a) if turned else (a, sign, b)), words)
    pairs = output.counted(len(narrowed), "pair")
    yield f"{pairs} decided further, were {statement(fact.left, str(fact.relation), fact.right, words)} so"


QUESTIONS = ("never", "every", "possibly", "definitely", "assert")
"""The words that questions begin with."""

FOUND = 20
"""So many matches are listed."""


def define(session: Session, sentence: Sentence) -> Answer:
    """`event …`, `state …`: a pattern that questions of this session may use."""
    from microcosm.questions.reader import read_questions

    known = _patterns(session)
    read = read_questions(_line(sentence), None, known)
    new = [name for name in read.patterns if name not in known.patterns]
    session.patterns = read
    lines = []
    for name in new:
        found = session.known.find(name, known=read, limit=0)
        lines.append(f"{name} matches {sum(found.counts.values()):,}")
    return Answer(lines, lambda: {"defined": new})


def ask(session: Session, sentence: Sentence) -> Answer:
    """`never …`, `every …`, `possibly …`, `definitely …`, `assert …`: whether it holds, with witnesses and
    what would settle it.
    """
    from microcosm.cli.commands.questions import fields, report, verdict_exit
    from microcosm.questions.answers import PROVED
    from microcosm.questions.reader import read_questions

    questions = read_questions(_line(sentence), None, _patterns(session))
    answered = session.known.assert_(questions, stop=session.work.stopping(None), settle=True)  # noqa: PT009
    warnings = [f"note: {warning}" for warning in answered.warnings]
    lines = [*report(session.known, [answered]), *warnings]
    return Answer(lines, lambda: fields([questions], [answered], PROVED), verdict_exit(answered))


def find(session: Session, sentence: Sentence) -> Answer:
    """`find SOUGHT`: the events that match, or the tuples for which it is true; apart, those open."""
    from microcosm.cli.commands.questions import found_exit, found_lines, row

    known = session.known
    found = known.find(
        _content(sentence), known=_patterns(session), limit=FOUND, stop=session.work.stopping(None)
    )

    def fields() -> dict[str, Any]:
        return {"counts": found.counts, "found": [row(known, one) for one in (*found.true, *found.open)]}

    return Answer([*found_lines(known, found)] or ["nothing"], fields, found_exit(found))


def settle(session: Session, sentence: Sentence) -> Answer:
    """`settle A B`, `settle QUESTION`: the observations that would decide what is open, best first."""
    from microcosm.cli.commands.questions import settled, settlement
    from microcosm.questions.reader import read_questions

    text, events = _content(sentence), None
    with suppress(TextError):  # it is no two events, then
        events = read_sentence(f"online {text.lstrip()}", tuple(session.commands))
    sought: Questions | tuple[str, str]
    if events is None or text.split()[0] in QUESTIONS:
        sought = read_questions(text, None, _patterns(session))
    else:
        sought = _two(session, events)
    fields, lines, code = settlement(settled(session.known, sought, session.work.stopping(None)))
    return Answer(lines, lambda: fields, code)


def _patterns(session: Session) -> Questions:
    if session.patterns is None:
        from microcosm.questions.language import Questions

        session.patterns = Questions()
    return session.patterns


def _content(sentence: Sentence) -> str:
    """What follows the command's word, at the column where it stands."""
    return "".join(part.text for part in sentence.parts)


def _line(sentence: Sentence) -> str:
    content = _content(sentence)
    return sentence.command + content[len(sentence.command) :]
