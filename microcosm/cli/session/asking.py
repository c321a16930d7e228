"""Questions about all events, in a session: `find`, `never` and the like, with patterns defined before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microcosm.cli import exits
from microcosm.cli.session.session import Answer

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.questions.language import Questions
    from microcosm.text.sentences import Sentence

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
    from microcosm.cli.commands.questions import fields, report
    from microcosm.questions.answers import PROVED
    from microcosm.questions.reader import read_questions

    asked = read_questions(_line(sentence), None, _patterns(session))
    answered = session.known.assert_(asked, stop=session.work.stopping(None), settle=True)  # noqa: PT009
    worst = {answer.verdict for answer in answered}
    code = exits.REFUTED if "violated" in worst else exits.UNDECIDED if "open" in worst else exits.HOLDS
    warnings = [f"note: {warning}" for warning in answered.warnings]
    return Answer(
        [*report(session.known, [answered]), *warnings], lambda: fields([asked], [answered], PROVED), code
    )


def find(session: Session, sentence: Sentence) -> Answer:
    """`find SOUGHT`: the events that match, or the tuples for which it is true; apart, those open."""
    from microcosm.cli.commands.questions import found_lines, row

    known = session.known
    found = known.find(
        _said(sentence), known=_patterns(session), limit=FOUND, stop=session.work.stopping(None)
    )
    code = exits.HOLDS if found.counts["true"] else exits.UNDECIDED if found.counts["open"] else exits.REFUTED

    def told() -> dict[str, Any]:
        return {"counts": found.counts, "found": [row(known, one) for one in (*found.true, *found.open)]}

    return Answer([*found_lines(known, found)] or ["nothing"], told, code)


def settle(session: Session, sentence: Sentence) -> Answer:
    """`settle A B`, `settle QUESTION`: the observations that would decide what is open, best first."""
    from microcosm.cli import reading
    from microcosm.cli.commands.questions import settled
    from microcosm.questions.reader import read_questions

    words = _said(sentence).split()
    if len(words) == 2 and words[0] not in QUESTIONS:
        asked: Questions | tuple[str, str] = reading.pair_of(session.known, words[0], words[1])
    else:
        asked = read_questions(_said(sentence), None, _patterns(session))
    lines, told, code = list[str](), list[dict[str, Any]](), exits.HOLDS
    for answer, observations in settled(session.known, asked, session.work.stopping(None)):
        lines += [str(answer), *(f"  {seen}" for seen in (*answer.notes, *observations))]
        told.append({"text": answer.question.text, "settle": [seen.to_json() for seen in observations]})
        if answer.verdict == "open" or answer.counts["open"]:
            code = exits.UNDECIDED
    return Answer(lines, lambda: {"questions": told}, code)


def _patterns(session: Session) -> Questions:
    if session.patterns is None:
        from microcosm.questions.language import Questions

        session.patterns = Questions()
    return session.patterns


def _said(sentence: Sentence) -> str:
    """What follows the command's word, at the column where it stands."""
    return "".join(part.text for part in sentence.parts)


def _line(sentence: Sentence) -> str:
    said = _said(sentence)
    return sentence.command + said[len(sentence.command) :]
