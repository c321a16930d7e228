"""What changes the microcosm of a session: statements, `update`, `remove`, `forget`; `undo` and `diff`.

Events are named in full here: what is cut short could be a new name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from microcosm.cli import exits
from microcosm.cli.session.session import Answer, said
from microcosm.errors import TextError, Undefined
from microcosm.text.mc_reader import parse_statement
from microcosm.text.names import quote
from microcosm.text.statement import Correspondences

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.text.sentences import Sentence


def add(session: Session, sentence: Sentence) -> Answer:
    """A statement of a file, with or without `add`: it is given from now on."""
    text = sentence.parts[0].text
    if not session.story.add(text):
        return said(f"given already: {text.strip()}")
    return _changed("added", text)


SUPPOSED = "suppose "
"""How the steps of a timeline begin that were only supposed."""


def suppose(session: Session, sentence: Sentence) -> Answer:
    """`suppose STATEMENT`: it is taken as given until `undo`, and proofs that rest on it say so."""
    text = sentence.parts[0].text.strip()
    marked = f'{text} from "supposed"'
    try:
        facts = parse_statement(marked)
    except TextError:
        facts = None
    if not session.story.add(marked if isinstance(facts, Correspondences) else text, SUPPOSED + text):
        return said(f"given already: {text}")
    return Answer([f"supposed: {text} (`undo` takes it back)"], lambda: {"supposed": text})


def changing(answer: Callable[[Session, Sentence], Answer]) -> Callable[[Session, Sentence], Answer]:
    """The answer of a command that changes what is given; refused where a log was opened."""

    def refused(session: Session, sentence: Sentence) -> Answer:
        if not session.read_only:
            return answer(session, sentence)
        about = sentence.parts[0].text.strip() if sentence.command == "add" else ""
        ask = f"ask `{about}?`, " if about and session.asks(about) else ""
        supposing = f"`suppose {about or 'A < B'}` until `undo`"
        message = f"read-only, for a log was opened: {ask}{supposing}, or open it with --edit"
        return Answer([f"not changed: {message}"], lambda: {"error": message}, exits.REFUTED)

    return refused


def update(session: Session, sentence: Sentence) -> Answer:
    """`update A < B`: a direction in the place of a given `A <> B`."""
    text = sentence.parts[0].text
    session.story.update(text)
    return _changed("updated", text)


def remove(session: Session, sentence: Sentence) -> Answer:
    """`remove A < B`: take back what is given."""
    text = sentence.parts[0].text
    session.story.remove(text)
    return _changed("removed", text)


def forget(session: Session, sentence: Sentence) -> Answer:
    """`forget A`: drop all that names an event; what follows of the others stays."""
    [part] = sentence.of("EVENT")
    near = session.near(part.text)
    try:
        session.story.forget(part.text)
    except Undefined as error:
        raise Undefined(f"{error}{near}") from None
    return _changed("forgot", quote(part.text))


def internal(session: Session, sentence: Sentence) -> Answer:
    """`internal A < B`: the next internal events."""
    chain = [part.text for part in sentence.of("EVENT")]
    session.story.append(chain)
    return _changed("internal", " < ".join(map(quote, chain)))


def undo(session: Session, sentence: Sentence) -> Answer:
    """`undo`: go back before the last change; `undo 3`: the last three."""
    return _travelled(session.story.undo, sentence, "undone")


def redo(session: Session, sentence: Sentence) -> Answer:
    """`redo`: make again what was undone last."""
    return _travelled(session.story.redo, sentence, "redone")


def diff(session: Session, sentence: Sentence) -> Answer:
    """`diff`: what was taken away and added since the file was opened or saved."""
    found = session.story.diff()

    def lines() -> Iterator[str]:
        none = True
        for sign, statement in found:
            none = False
            yield f"{sign} {statement}"
        if none:
            yield "no difference"

    return Answer(lines(), lambda: {"diff": [list(line) for line in found]})


def _travelled(travel: Callable[[], str | None], sentence: Sentence, word: str) -> Answer:
    times = int(sentence.parts[0].text) if sentence.parts else 1
    made: list[str] = []
    while len(made) < times and (step := travel()) is not None:
        made.append(step)
    if not made:
        return said(f"nothing to be {word}", changes=[])
    return said(*(f"{word}: {step}" for step in made), changes=made)


def _changed(word: str, text: str) -> Answer:
    return Answer([f"{word}: {text.strip()}"], lambda: {word: text.strip()})
