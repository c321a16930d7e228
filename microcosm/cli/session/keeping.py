"""Where a session's microcosm is kept: `save` and `load`; and `help` and `quit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.cli.session.answer import Answer, said
from microcosm.cli.session.changes import SUPPOSED
from microcosm.cli.session.opening import digest_now, opened
from microcosm.errors import TextError
from microcosm.files import STDIN

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.text.questions import Sentence

UNSAVED = "there are unsaved changes (`diff` shows them)"


def save(session: Session, sentence: Sentence) -> Answer:
    """`save`, `save FILE`: write what is given. What is not ours is replaced by `save!` only."""
    path = _target(session, sentence)
    refused = None if sentence.has("FORCE") else _supposed(session, path) or _in_the_way(session, path)
    if refused is not None:
        return Answer([f"not saved: {refused}"], lambda: {"error": refused}, exits.REFUTED)
    output.write_givens(session.story.givens, path, json=False)
    session.kept(path, digest_now(path))
    return said(f"saved: {path}", saved=path)


def load(session: Session, sentence: Sentence) -> Answer:
    """`load FILE`: go on with another file or log; with unsaved changes, by `load!` only."""
    path = sentence.of("FILE")[0].text
    if not session.is_saved and not sentence.has("FORCE"):
        refused = f"{UNSAVED}: `save`, or `load! {path}` to lose them"
        return Answer([f"not loaded: {refused}"], lambda: {"error": refused}, exits.REFUTED)
    found = opened([path], session.how)
    session.begin(found)
    return said(found.told, loaded=path)


def leave(session: Session, sentence: Sentence) -> Answer:
    """`quit`; with unsaved changes, by `quit!` only."""
    if session.is_saved or sentence.has("FORCE"):
        return said(ends=True)
    refused = f"{UNSAVED}: `save`, or `quit!` to lose them"
    return Answer([refused], lambda: {"error": refused}, exits.REFUTED)


def explain_commands(session: Session, sentence: Sentence) -> Answer:
    """`help`: what can be said; `help COMMAND`: with examples."""
    from microcosm.text.questions import complete_command

    asked = sentence.of("WORD")
    if not asked:
        wide = max(len(command.form) for command in session.commands.values())
        table = [_plain(f"{each.form.ljust(wide)}   {each.told}") for each in session.commands.values()]
        more = "Commands, and events in questions, may be cut short; names with other signs are quoted."
        forms = {name: each.form for name, each in session.commands.items()}
        return said(*table, "", more, help=forms)
    found = complete_command(asked[0].text.lower(), tuple(session.commands))
    if len(found) != 1:
        near = f": {' or '.join(found)}" if found else ""
        message = f"expected a command, not {asked[0].text!r}{near}; `help` lists them"
        raise TextError(message, column=asked[0].column)
    command = session.commands[found[0]]
    return said(
        _plain(command.form), _plain(f"  {command.told}"), *_examples(command.examples), help=command.form
    )


def _plain(text: str) -> str:
    return output.plain(text, sys.stdout)


def _examples(examples: tuple[str, ...]) -> Iterator[str]:
    if examples:
        yield "for example"
        yield from (f"  {example}" for example in examples)


def _target(session: Session, sentence: Sentence) -> str:
    """Where to save; never over a log. Raises `TextError`."""
    named = sentence.of("FILE")
    if not named and session.digest is None:
        why = "a log" if session.logs else "no file"
        raise TextError(f"expected `save FILE`: {why} was opened", column=len("save") + 2)
    path = named[0].text if named else str(session.path)
    if path == STDIN or any(_same(path, log) for log in session.logs):
        what = "standard output" if path == STDIN else "the log that was opened"
        raise TextError(f"expected the name of another file, not {what}", column=named[0].column)
    return path


def _supposed(session: Session, path: str) -> str | None:
    """Why a file must not be written of what was only supposed."""
    if not any(said.startswith(SUPPOSED) for said in session.story.since_saved()):
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
