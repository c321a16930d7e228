"""What changes the microcosm of a session, and where it is kept: `add`, `update`, `undo`, `save`, `load`.

Events are named in full here: what is cut short could be a new name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.cli.session.session import Answer, digest_now, opened, reply
from microcosm.errors import TextError
from microcosm.files import STDIN, aside
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
        return reply(f"given already: {text.strip()}")
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
        return reply(f"given already: {text}")
    return reply(f"supposed: {text} (`undo` takes it back)", supposed=text)


def changing(answer: Callable[[Session, Sentence], Answer]) -> Callable[[Session, Sentence], Answer]:
    """The answer of a command that changes what is given; refused where a log was opened."""

    def refused(session: Session, sentence: Sentence) -> Answer:
        if not session.read_only:
            return answer(session, sentence)
        about = sentence.parts[0].text.strip() if sentence.command == "add" else ""
        ask = f"ask `{about}?`, " if about and session.asks(about) else ""
        supposing = f"`suppose {about or 'A < B'}` until `undo`"
        message = f"read-only, for a log was opened: {ask}{supposing}, or open it with --edit"
        return reply(f"not changed: {message}", outcome=exits.REFUTED, error=message)

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
    session.story.forget(part.text)
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
        return reply(f"nothing to be {word}", changes=[])
    return reply(*(f"{word}: {step}" for step in made), changes=made)


def _changed(word: str, text: str) -> Answer:
    return Answer([output.printable(f"{word}: {text.strip()}")], lambda: {word: text.strip()})


UNSAVED = "there are unsaved changes (`diff` shows them)"


def save(session: Session, sentence: Sentence) -> Answer:
    """`save`, `save FILE`: write what is given. What is not ours is replaced by `save!` only."""
    path = _target(session, sentence)
    refused = None if sentence.has("FORCE") else _supposed(session, path) or _in_the_way(session, path)
    if refused is not None:
        return reply(f"not saved: {refused}", outcome=exits.REFUTED, error=refused)
    output.write_givens(session.story.givens, path, json=False)
    session.kept(path, digest_now(path))
    return reply(f"saved: {path}", saved=path)


def load(session: Session, sentence: Sentence) -> Answer:
    """`load FILE`: go on with another file or log; with unsaved changes, by `load!` only."""
    path = sentence.of("FILE")[0].text
    if not session.is_saved and not sentence.has("FORCE"):
        refused = f"{UNSAVED}: `save`, or `load! {path}` to lose them"
        return reply(f"not loaded: {refused}", outcome=exits.REFUTED, error=refused)
    aside.clear()
    found = opened([path], session.how)
    session.begin(found)
    return reply(found.summary, loaded=path)


def leave(session: Session, sentence: Sentence) -> Answer:
    """`quit`; with unsaved changes, by `quit!` only."""
    if session.is_saved or sentence.has("FORCE"):
        return reply(ends=True)
    refused = f"{UNSAVED}: `save`, or `quit!` to lose them"
    return reply(refused, outcome=exits.REFUTED, error=refused)


def _target(session: Session, sentence: Sentence) -> str:
    """Where to save; never over a log. Raises `TextError`."""
    named = sentence.of("FILE")
    if not named and session.digest is None:
        why = "a log" if session.logs else "no file"
        raise TextError(f"expected `save FILE`: {why} was opened", column=len("save") + 2)
    path = named[0].text if named else str(session.path)
    if "\0" in path:
        raise TextError("a path has no null character", column=named[0].column)
    if path == STDIN or any(_same(path, log) for log in session.logs):
        what = "standard output" if path == STDIN else "the log that was opened"
        raise TextError(f"expected the name of another file, not {what}", column=named[0].column)
    return path


def _supposed(session: Session, path: str) -> str | None:
    """Why a file must not be written of what was only supposed."""
    if not any(step.startswith(SUPPOSED) for step in session.story.since_saved()):
        return None
    return f"something is supposed (`diff` shows it): `undo` it, or `save! {path}` gives it as known"


def _in_the_way(session: Session, path: str) -> str | None:
    """Why `path` is not to be replaced without being asked for."""
    now = digest_now(path)
    if session.path is not None and session.digest is not None and _same(path, session.path):
        if now in (None, session.digest):
            return None
        return f"{path} has changed since it was read; `save!` replaces it, `save OTHER` keeps both"
    if not os.path.lexists(path):
        return None
    return f"{path} exists; `save! {path}` replaces it"


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
