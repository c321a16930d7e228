"""What can be asked in a session: of a pair, of the events around one, what is given, what may be, of all."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from re import escape
from typing import TYPE_CHECKING, Any

from microcosm.cli import exits, output
from microcosm.cli.session.session import Answer, Fields, packed
from microcosm.cli.show import offline as may
from microcosm.cli.show import verdict as show
from microcosm.cli.show.proofs import events_field
from microcosm.errors import TextError
from microcosm.files import natural
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.logic.derivation import proof_object
from microcosm.queries.events import found_by, has, rows_of
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_writer import iter_mc
from microcosm.text.names import quote
from microcosm.text.sentences import read_sentence
from microcosm.worlds.propagation import MEMBERS

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.queries.batch import Shown
    from microcosm.queries.possible import PairLeft
    from microcosm.questions.language import Questions
    from microcosm.text.sentences import Sentence, SentencePart


AROUND = {
    "past": (Relation.BEFORE, "before {}"),
    "future": (Relation.AFTER, "after {}"),
    "concurrent": (Relation.CONCURRENT, "concurrent with {}"),
    "related": (Relation.RELATED, "related to {}, in a direction that is not known"),
    "unknown": (Relation.UNKNOWN, "unknown to {}"),
    "silent": (Relation.SILENT, "of which nothing is said beside {}"),
}
"""The commands that list the events in some relation to one, and how they count them."""


def pair(session: Session, sentence: Sentence) -> Answer:
    """`A < B?`: yes, no, or not known; `A ? B`: how the two stand."""
    left, relation, right = triple(session, sentence)
    known = session.known
    verdict, offline = show.stands(known, left, right)
    word, fields = "", {"pair": [left, right], "verdict": verdict.value, **show.concluded_field(offline)}
    if sentence.has("MARK") or relation is not Relation.UNKNOWN:
        holds = answers(relation, verdict)
        word = {True: "yes: ", False: "no: ", None: "not known: "}[holds]
        fields |= {"asked": relation.value, "holds": holds}
    notes = [f"note: {show.by_complete(known)}"] if offline else []
    notes += [f"note: {note}" for note in show.strangers(known, left, right)]
    if advice := show.hint(known, left, verdict, right):
        notes.append(f"note: {advice}")
    answered = Answer(
        [word + show.verdict_line(left, verdict, right, show.words_of(known)), *notes], lambda: fields
    )
    return with_unknown(answered, known, left, right)


def decide(session: Session, sentence: Sentence) -> Answer:
    """`online A B`: how the two stand, as `A ? B`."""
    left, right = sentence.of("EVENT")
    sign = replace(left, kind="SIGN", text="?", quoted=False)
    return pair(session, replace(sentence, parts=(left, sign, right)))


def table(session: Session, sentence: Sentence) -> Answer:
    """`table`: how all events stand to each other, or of many how many pairs stand how."""
    from microcosm.cli.commands.table import online_table, overview

    pairs = online_table(session.known)

    def fields() -> Fields:
        return {"events": pairs.names, "pairs": [[a, b, verdict.value] for a, b, verdict in pairs]}

    more = "`concurrent`, `related`, `unknown` and `silent` list pairs"
    return Answer(overview(session.known, pairs, more), fields)


def answers(relation: Relation, verdict: Relation) -> bool | None:
    """Whether a verdict says that the relation asked for holds; None where it leaves that open.

    >>> answers(Relation.RELATED, Relation.AFTER), answers(Relation.CONCURRENT, Relation.RELATED)
    (True, False)
    >>> answers(Relation.BEFORE, Relation.RELATED), answers(Relation.BEFORE, Relation.UNKNOWN)
    (None, None)
    """
    if relation is verdict:
        return True
    if relation is Relation.UNKNOWN:
        return False
    if verdict in MEMBERS:
        return relation.at_most_as_accurate_as(verdict)
    if verdict is Relation.RELATED and relation is Relation.CONCURRENT:
        return False
    return None


def why(session: Session, sentence: Sentence) -> Answer:
    """`why A < B`: the derivation in words and as a tree; `why not A < B`: what each rule lacks.

    Without a relation it is that of the verdict, and after `not` it is `<`.
    """
    left, relation, right = triple(session, sentence)
    known = session.known
    notes = [f"note: {note}" for note in show.strangers(known, left, right)]
    if sentence.has("NOT"):
        _, fields, lacking = show.why_not(known, left, relation, right)
        return Answer(chain(lacking, notes), fields)
    verdict, offline = show.stands(known, left, right)
    if not sentence.of("SIGN") and verdict is not Relation.SILENT:
        relation = verdict
    if offline:
        notes.append(f"note: {show.statement(left, str(verdict), right)} is {show.by_complete(known)}")
    if verdict is not relation:
        stated = show.statement(left, str(relation), right)
        other = [] if verdict is Relation.SILENT else [show.statement(left, str(verdict), right)]
        instead = " or ".join(f"`why {one}`" for one in [f"not {stated}", *other])
        lines = [
            show.verdict_line(left, verdict, right, show.words_of(known)),
            f"{stated} is not the verdict: ask {instead}",
        ]
        note = Answer(
            [*lines, *notes], lambda: show.verdict_fields(left, right, verdict, None), exits.UNDECIDED
        )
        return with_unknown(note, known, left, right)
    proof = show.proof_of(known, left, right, offline=offline)
    if proof is None:
        raise TextError(f"no rule concludes {show.statement(left, str(relation), right)}")
    shown = chain(show.explained(known, left, relation, right, proof), notes)
    note = Answer(shown, lambda: show.verdict_fields(left, right, verdict, proof, offline))
    return with_unknown(note, known, left, right)


def around(session: Session, sentence: Sentence) -> Answer:
    """`past of A`, `concurrent with A`, …: the events in a relation to A; without A, all such pairs."""
    relation, counted = AROUND[sentence.command]
    known = session.known
    parts = sentence.of("EVENT")
    if not parts:
        return _pairs(session, relation)
    event = session.known_event(parts[0])
    concluded = known.concluded if known.givens.complete else None
    answer = _listed(
        known, (concluded or known).with_verdict(relation, event), counted.format(show.words_of(known)(event))
    )
    apart = concluded.apart(event) if concluded and relation is Relation.CONCURRENT else []
    if not apart:
        return answer
    lines = chain(answer.lines, [f"note: {len(apart):,} of them {show.by_complete(known)}"])
    return answer._replace(lines=lines, fields=lambda: {**answer.fields(), "concluded_offline": apart})


def between(session: Session, sentence: Sentence) -> Answer:
    """`between A and B`: the events after A and before B."""
    first, last = (session.known_event(part) for part in sentence.of("EVENT"))
    distinct(first, last, sentence.of("EVENT")[1])
    known = session.known
    verdict = known.online(first, last)
    if verdict is Relation.AFTER:
        first, last = last, first
    elif verdict is not Relation.BEFORE:
        line = show.verdict_line(first, verdict, last, show.words_of(known))
        return Answer([f"no event is known to lie between them: {line}"], lambda: {"events": []})
    words = show.words_of(known)
    return _listed(known, known.between(first, last), f"between {words(first)} and {words(last)}")


def events(session: Session, sentence: Sentence) -> Answer:
    """`events`: every event in natural order; `events /write/ kind=send`: those in which that is found.

    Text that is no `/regex/` is looked for as it is.
    """
    from microcosm.cli.commands.logs import fields, lines

    known, words = session.known, sentence.of("EVENT")
    wanted = [part.text.partition("=")[::2] for part in sentence.of("FIELD")]
    sought = [found_by(_expression(part)) for part in words]
    rows = rows_of(known, lambda row: has(wanted, row) and all(found(row) for found in sought))
    if known.givens.events is None and not words and not wanted:
        return _listed(known, (row.name for row in rows), "in all")
    shown = [*lines(rows), output.counted(len(rows), "event")]
    return Answer(
        shown, lambda: {"events": [row.name for row in rows], "rows": [fields(row) for row in rows]}
    )


def _expression(part: SentencePart) -> str:
    one = len(part.text) > 2 and part.text[0] == part.text[-1] == "/" and not part.quoted
    return part.text[1:-1] if one else escape(part.text)


def givens(session: Session, sentence: Sentence) -> Answer:
    """`givens`: what is given, as a file would say it."""
    from microcosm.text.json_form import givens_to_json

    given = session.story.givens
    lines = (line.rstrip("\n") for line in iter_mc(given, events=False))
    shown = chain([next(lines, "nothing is given")], lines)
    return Answer(shown, lambda: {"microcosm": givens_to_json(given)})


def with_unknown(answer: Answer, known: Microcosm, *events: str) -> Answer:
    """An answer with the words of the events asked about, and whether nothing names them."""
    more = {**show.unknown_events(known, *events), **events_field(known, *events)}
    return answer._replace(fields=lambda: {**answer.fields(), **more}) if more else answer


def triple(session: Session, sentence: Sentence) -> tuple[str, Relation, str]:
    """The two events and the relation of a sentence, `<` where none is said. Raises `TextError`."""
    left, right = _two(session, sentence)
    return left, next((SPELLINGS[sign.text] for sign in sentence.of("SIGN")), Relation.BEFORE), right


def distinct(left: str, right: str, part: SentencePart) -> None:
    """Raise `TextError` at `part` where both events are one."""
    if left == right:
        message = f"expected another event than {quote(left)}: none stands in a relation to itself"
        raise TextError(message, column=part.column)


def _listed(known: Microcosm, found: Iterator[str], where: str) -> Answer:
    """Events, and their number: a line each where they have words, in natural order, else side by side."""
    words = show.words_of(known)
    if (table := known.givens.events) is not None and any(table.labels):
        from microcosm.cli.commands.logs import fields

        def rows(names: Iterable[str]) -> list[dict[str, object]]:
            return [fields(row) for row in map(table.row, names) if row is not None]

        names = sorted(found, key=natural)
        headline = f"{output.counted(len(names), 'event')} {where}"
        return Answer(chain(map(words, names), [headline]), lambda: {"events": names, "rows": rows(names)})

    def lines() -> Iterator[str]:
        count = 0

        def counted() -> Iterator[str]:
            nonlocal count
            for event in found:
                count += 1
                yield quote(event)

        yield from packed(counted(), output.width(sys.stdout))
        yield f"{output.counted(count, 'event')} {where}"

    return Answer(lines(), lambda: {"events": list(found)})


def _pairs(session: Session, relation: Relation) -> Answer:
    """Every pair with a verdict, a line each, and their number; those concluded offline have a mark."""
    from microcosm.queries.batch import ConcludedOffline

    known = session.known
    found: Iterable[tuple[str, str, Shown]]
    if known.givens.complete:
        wanted = (relation, ConcludedOffline.APART) if relation is Relation.CONCURRENT else (relation,)
        found = known.concluded.table(known.events).of_any(*wanted)
    else:
        found = ((a, b, relation) for a, b in known.pairs(relation))
    words = cache(show.words_of(known))

    def lines() -> Iterator[str]:
        count, concluded = 0, 0
        for a, b, shown in found:
            count += 1
            session.work.did(1)
            concluded += isinstance(shown, ConcludedOffline)
            yield f"{words(a)}{', ' if shown is Relation.SILENT else f' {shown} '}{words(b)}"
        yield f"{output.counted(count, 'pair')}: {show.IN_WORDS[relation]}"
        if concluded:
            yield f"note: {concluded:,} of them (marked *) {show.by_complete(known)}"

    def fields() -> Fields:
        pairs = [*found]
        marked = [[a, b] for a, b, shown in pairs if isinstance(shown, ConcludedOffline)]
        more = {"concluded_offline": marked} if marked else {}
        named = events_field(known, *dict.fromkeys(chain.from_iterable((a, b) for a, b, _ in pairs)))
        return {"pairs": [[a, b] for a, b, _ in pairs], **more, **named}

    return Answer(lines(), fields)


def possible(session: Session, sentence: Sentence) -> Answer:
    """`possible A B`: which of `<`, `>`, `||` may be, and a world for each."""
    left, right = _two(session, sentence)
    found = session.known.possible(left, right, session.work.stopping(None))
    if not found.relations:
        return check(session, sentence)
    answer = Answer(
        may.possible_lines(left, right, found, show.words_of(session.known)),
        lambda: may.possible_fields(left, right, found),
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
    shown = may.shown_offline(known, left, right, found, wrap=False)
    answer = Answer(shown, lambda: may.offline_fields(left, right, found))
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

    text = f"{show.statement(left, str(relation), right, show.words_of(known))} cannot be"

    def fields() -> Fields:
        derivation = None if proof is None else proof_object(proof)
        return {"assumed": [left, relation.value, right], "possible": False, "derivation": derivation}

    answer = Answer(chain([text], show.proof_below(known, proof)), fields)
    return with_unknown(answer, known, left, right)


def check(session: Session, sentence: Sentence) -> Answer:
    """`check`: whether some world fits all that is given, and if not, which givens contradict each other."""
    from microcosm.queries.offline import are_shipped

    known, stop = session.known, session.work.stopping(None)
    conflict = known.conflict(stop)
    by_worlds_alone = not known.givens.beyond_worlds and are_shipped(known.rules)
    proof = None if conflict is None and by_worlds_alone else known.contradiction(stop=stop)
    fits = conflict is None and proof is None
    said = may.FITS if fits else may.NO_WORLD if conflict else may.beyond(known.givens)
    lines = chain([said], may.conflict_lines(conflict or ()), show.proof_below(known, proof))
    return Answer(lines, partial(may.check_fields, known.givens, fits, conflict, proof), exits.holding(fits))


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
    words = show.words_of(session.known)
    for a, b, left in narrowed:
        session.work.did(1)
        turned = Relation.AFTER in left and Relation.BEFORE not in left
        sign = may.joined(tuple(r for r in MEMBERS if r.converse in left)) if turned else may.joined(left)
        yield show.statement(*((b, sign, a) if turned else (a, sign, b)), words)
    pairs = output.counted(len(narrowed), "pair")
    assumed = show.statement(fact.left, str(fact.relation), fact.right, words)
    yield f"{pairs} decided further, were {assumed} so"


QUESTIONS = ("never", "every", "possibly", "definitely", "assert")
"""The words that questions begin with."""

FOUND = 20
"""So many matches are listed."""


def define(session: Session, sentence: Sentence) -> Answer:
    """`event …`, `state …`: a pattern that questions of this session may use."""
    known = session.patterns
    session.patterns = read = _questions(session, _line(sentence))
    new = [name for name in read.patterns if known is None or name not in known.patterns]
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

    questions = _questions(session, _line(sentence))
    answered = session.known.assert_(questions, stop=session.work.stopping(None), settle=True)  # noqa: PT009
    warnings = [f"note: {warning}" for warning in answered.warnings]
    lines = [*report(session.known, [answered]), *warnings]
    return Answer(lines, lambda: fields([questions], [answered], PROVED), verdict_exit(answered))


def find(session: Session, sentence: Sentence) -> Answer:
    """`find SOUGHT`: the events that match, or the tuples for which it is true; apart, those open."""
    from microcosm.cli.commands.questions import found_exit, found_lines, row

    known = session.known
    stop = session.work.stopping(None)
    found = known.find(_content(sentence), known=session.patterns, limit=FOUND, stop=stop)

    def fields() -> dict[str, Any]:
        return {"counts": found.counts, "found": [row(known, one) for one in (*found.true, *found.open)]}

    return Answer([*found_lines(known, found)] or ["nothing"], fields, found_exit(found))


def settle(session: Session, sentence: Sentence) -> Answer:
    """`settle A B`, `settle QUESTION`: the observations that would decide what is open, best first."""
    from microcosm.cli.commands.questions import settled, settlement

    text, events = _content(sentence), None
    with suppress(TextError):  # it is no two events, then
        events = read_sentence(f"online {text.lstrip()}", tuple(session.commands))
    sought: Questions | tuple[str, str]
    if events is None or text.split()[0] in QUESTIONS:
        sought = _questions(session, text)
    else:
        sought = _two(session, events)
    fields, lines, code = settlement(settled(session.known, sought, session.work.stopping(None)))
    return Answer(lines, lambda: fields, code)


def _questions(session: Session, text: str) -> Questions:
    """The questions of a text, which may use the patterns of the session. Raises `TextError`."""
    from microcosm.questions.reader import read_questions

    return read_questions(text, None, session.patterns)


def _content(sentence: Sentence) -> str:
    """What follows the command's word, at the column where it stands."""
    return "".join(part.text for part in sentence.parts)


def _line(sentence: Sentence) -> str:
    content = _content(sentence)
    return sentence.command + content[len(sentence.command) :]
