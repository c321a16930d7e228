"""What changes the microcosm of a session, and where it is kept; and the table of all commands.

The table says of each what it looks like, what it says, an example, and what answers it. A command is one
entry there and one rule, of the same name, in `text/sentences.lark`. What changes something names events in
full: what is cut short could be a new name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.cli.session import questions
from microcosm.cli.session.session import Answer, Command, digest_now, opened, reply
from microcosm.errors import TextError
from microcosm.files import STDIN, aside
from microcosm.text.names import quote
from microcosm.text.sentences import complete_command

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.text.sentences import Sentence


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


@changing
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
    if not session.story.add(text, SUPPOSED + text, "supposed"):
        return reply(f"given already: {text}")
    return reply(f"supposed: {text} (`undo` takes it back)", supposed=text)


@changing
def update(session: Session, sentence: Sentence) -> Answer:
    """`update A < B`: a direction in the place of a given `A <> B`."""
    text = sentence.parts[0].text
    session.story.update(text)
    return _changed("updated", text)


@changing
def remove(session: Session, sentence: Sentence) -> Answer:
    """`remove A < B`: take back what is given."""
    text = sentence.parts[0].text
    session.story.remove(text)
    return _changed("removed", text)


@changing
def forget(session: Session, sentence: Sentence) -> Answer:
    """`forget A`: drop all that names an event; what follows of the others stays."""
    [part] = sentence.of("EVENT")
    session.story.forget(part.text)
    return _changed("forgot", quote(part.text))


@changing
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
    found = [*session.story.diff()]
    lines = [f"{sign} {statement}" for sign, statement in found]
    return Answer(lines or ["no difference"], lambda: {"diff": [list(line) for line in found]})


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
    refused = None if sentence.has("FORCE") else _in_the_way(session, path)
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


def _in_the_way(session: Session, path: str) -> str | None:
    """Why `path` is not to be written without being asked for: of what was only supposed, or over another."""
    if any(step.startswith(SUPPOSED) for step in session.story.since_saved()):
        return f"something is supposed (`diff` shows it): `undo` it, or `save! {path}` gives it as known"
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


def explain_commands(session: Session, sentence: Sentence) -> Answer:
    """`help`: what can be said; `help COMMAND`: with examples."""
    words = sentence.of("WORD")
    if not words:
        wide = max(len(command.form) for command in session.commands.values())
        table = [_plain(f"{each.form.ljust(wide)}   {each.summary}") for each in session.commands.values()]
        more = "Commands, and events in questions, may be cut short; names with other signs are quoted."
        forms = {name: each.form for name, each in session.commands.items()}
        return reply(*table, "", more, help=forms)
    found = complete_command(words[0].text.lower(), tuple(session.commands))
    if len(found) != 1:
        near = f": {' or '.join(found)}" if found else ""
        message = f"expected a command, not {words[0].text!r}{near}; `help` lists them"
        raise TextError(message, column=words[0].column)
    command = session.commands[found[0]]
    examples = ["for example", *(f"  {each}" for each in command.examples)] if command.examples else []
    return reply(_plain(command.form), _plain(f"  {command.summary}"), *examples, help=command.form)


def _plain(text: str) -> str:
    return output.plain(text, sys.stdout)


COMMANDS: dict[str, Command] = {
    "ask": Command(
        "A < B?",
        "whether A happens before B (also > || <> ?); `A ? B`: how they stand",
        questions.pair,
        ("unshare < view?", 'upload || "log in"?', "like ? view"),
    ),
    "why": Command(
        "why [not] A [<] B",
        "the derivation, in words and as a tree; or what each rule lacks",
        questions.why,
        ("why unshare < view", "why unshare view", "why not view < unshare"),
    ),
    "past": Command("past of A", "the events before A", questions.around, ("past of view",)),
    "future": Command("future of A", "the events after A", questions.around, ("future of upload",)),
    "concurrent": Command(
        "concurrent [with A]", "the events concurrent with A, or all such pairs", questions.around
    ),
    "related": Command("related [with A]", "the events related to A, direction not known", questions.around),
    "unknown": Command("unknown [with A]", "the events unknown to A, or all such pairs", questions.around),
    "silent": Command(
        "silent [with A]", "the events of which no rule says anything beside A", questions.around
    ),
    "between": Command(
        "between A and B", "the events after A and before B", questions.between, ("between unshare and view",)
    ),
    "possible": Command(
        "possible A B",
        "which of <, > and || may be, and a world for each",
        questions.possible,
        ("possible like view",),
    ),
    "offline": Command(
        "offline A B",
        "what cannot be and what must be, with proofs",
        questions.offline,
        ("offline like view",),
    ),
    "what": Command(
        "what if A < B",
        "what would be ruled out then, or why it cannot be; nothing changes",
        questions.assume,
        ("what if like < upload", "what if like || view"),
    ),
    "assume": Command("assume A < B", "the same as `what if`", questions.assume),
    "online": Command("online A B", "how A and B stand: `A ? B`", questions.decide, ("online like view",)),
    "table": Command("table", "how all events stand to each other", questions.table),
    "check": Command("check", "whether all that is given can be true together", questions.check),
    "events": Command(
        "events [/REGEX/] [FIELD=VALUE]",
        "every event, or those whose name or words have it; a field: process, kind, file, ...",
        questions.events,
        ("events", "events /upload/ process=phone"),
    ),
    "givens": Command("givens", "what is given, as a file says it", questions.givens),
    "find": Command(
        "find PATTERN",
        "the events that match, or the tuples for which it is true; and those of which it is open",
        questions.find,
        ('find label ~ "upload"', "find write(k) || write(k)"),
    ),
    "event": Command(
        "event NAME(…) where …",
        "name events by what they say, for questions",
        questions.define,
        (r'event write(k) where label ~ "write (?<k>\w+)"',),
    ),
    "state": Command(
        "state NAME from … until …",
        "name what a process is in between two events",
        questions.define,
        ('state holding from label ~ "got" until label ~ "gave up"',),
    ),
    "never": Command(
        "never A R B", "whether it holds for all that match", questions.ask, ("never write(k) || write(k)",)
    ),
    "every": Command(
        "every A after some B", "the same of each A", questions.ask, ("every read(k) after some write(k)",)
    ),
    "possibly": Command(
        "possibly S and T",
        "whether some consistent cut sees these states",
        questions.ask,
        ("possibly a and b",),
    ),
    "definitely": Command(
        "definitely S and T",
        "whether each run goes through one that does",
        questions.ask,
        ("definitely a and b",),
    ),
    "assert": Command(
        "assert FORMULA", "the same of any formula", questions.ask, ("assert for all w: write(_): w = w",)
    ),
    "settle": Command(
        "settle A B",
        "what would settle how they stand; or a question",
        questions.settle,
        ("settle like view",),
    ),
    "add": Command(
        "[add] STATEMENT",
        "give something, as in a file: a < b, clock, token, …",
        add,
        ("unshare < upload", 'add like < view from "message m8"', "token lock = a, b"),
    ),
    "suppose": Command(
        "suppose STATEMENT",
        "take it as given until `undo`, also on a log; proofs that rest on it say so",
        suppose,
        ("suppose like < view",),
    ),
    "update": Command(
        "update A < B", "put a direction in the place of a given A <> B", update, ("update a < b",)
    ),
    "remove": Command("remove A < B", "take back what is given", remove, ("remove upload < view",)),
    "forget": Command(
        "forget A", "drop an event; what follows of the others stays", forget, ("forget upload",)
    ),
    "internal": Command(
        "internal A [< B …]", "the next internal events", internal, ("internal shot < retouch",)
    ),
    "undo": Command("undo [N]", "go back before the last change, or the last N", undo),
    "redo": Command("redo [N]", "make again what was undone", redo),
    "diff": Command("diff", "what changed since the file was opened or saved", diff),
    "save": Command(
        "save[!] [FILE]",
        "write what is given; ! replaces what is not ours",
        save,
        ("save", "save other.mc", "save! other.mc"),
    ),
    "load": Command(
        "load[!] FILE", "go on with another file or log; ! loses changes", load, ("load laptop.mc",)
    ),
    "help": Command("help [COMMAND]", "this list (also `?`), or one command with examples", explain_commands),
    "quit": Command("quit[!]", "leave (also `exit`); ! loses changes", leave),
}
"""Every command, in the order of `help`."""
