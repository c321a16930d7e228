"""The table of commands: what each looks like, what it says, an example, and what answers it.

A command is one entry here and one rule, of the same name, in `text/sentences.lark`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from microcosm.cli import output
from microcosm.cli.session import asking, changes, questions
from microcosm.cli.session.session import Answer, Command, reply
from microcosm.errors import TextError
from microcosm.text.sentences import complete_command

if TYPE_CHECKING:
    from microcosm.cli.session.session import Session
    from microcosm.text.sentences import Sentence


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
        "why [not] A < B",
        "the derivation, in words and as a tree; or what each rule lacks",
        questions.why,
        ("why unshare < view", "why not view < unshare"),
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
        asking.possible,
        ("possible like view",),
    ),
    "offline": Command(
        "offline A B",
        "what cannot be and what must be, with proofs",
        asking.offline,
        ("offline like view",),
    ),
    "what": Command(
        "what if A < B",
        "what would be ruled out then, or why it cannot be; nothing changes",
        asking.assume,
        ("what if like < upload", "what if like || view"),
    ),
    "assume": Command("assume A < B", "the same as `what if`", asking.assume),
    "online": Command("online A B", "how A and B stand: `A ? B`", questions.decide, ("online like view",)),
    "table": Command("table", "how all events stand to each other", questions.table),
    "check": Command("check", "whether all that is given can be true together", asking.check),
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
        asking.find,
        ('find label ~ "upload"', "find write(k) || write(k)"),
    ),
    "event": Command(
        "event NAME(…) where …",
        "name events by what they say, for questions",
        asking.define,
        (r'event write(k) where label ~ "write (?<k>\w+)"',),
    ),
    "state": Command(
        "state NAME from … until …",
        "name what a process is in between two events",
        asking.define,
        ('state holding from label ~ "got" until label ~ "gave up"',),
    ),
    "never": Command(
        "never A R B", "whether it holds for all that match", asking.ask, ("never write(k) || write(k)",)
    ),
    "every": Command(
        "every A after some B", "the same of each A", asking.ask, ("every read(k) after some write(k)",)
    ),
    "possibly": Command(
        "possibly S and T", "whether some consistent cut sees these states", asking.ask, ("possibly a and b",)
    ),
    "definitely": Command(
        "definitely S and T",
        "whether each run goes through one that does",
        asking.ask,
        ("definitely a and b",),
    ),
    "assert": Command(
        "assert FORMULA", "the same of any formula", asking.ask, ("assert for all w: write(_): w = w",)
    ),
    "settle": Command(
        "settle A B", "what would settle how they stand; or a question", asking.settle, ("settle like view",)
    ),
    "add": Command(
        "[add] STATEMENT",
        "give something, as in a file: a < b, clock, token, …",
        changes.changing(changes.add),
        ("unshare < upload", 'add like < view from "message m8"', "token lock = a, b"),
    ),
    "suppose": Command(
        "suppose STATEMENT",
        "take it as given until `undo`, also on a log; proofs that rest on it say so",
        changes.suppose,
        ("suppose like < view",),
    ),
    "update": Command(
        "update A < B",
        "put a direction in the place of a given A <> B",
        changes.changing(changes.update),
        ("update a < b",),
    ),
    "remove": Command(
        "remove A < B", "take back what is given", changes.changing(changes.remove), ("remove upload < view",)
    ),
    "forget": Command(
        "forget A",
        "drop an event; what follows of the others stays",
        changes.changing(changes.forget),
        ("forget upload",),
    ),
    "internal": Command(
        "internal A [< B …]",
        "the next internal events",
        changes.changing(changes.internal),
        ("internal shot < retouch",),
    ),
    "undo": Command("undo [N]", "go back before the last change, or the last N", changes.undo),
    "redo": Command("redo [N]", "make again what was undone", changes.redo),
    "diff": Command("diff", "what changed since the file was opened or saved", changes.diff),
    "save": Command(
        "save[!] [FILE]",
        "write what is given; ! replaces what is not ours",
        changes.save,
        ("save", "save other.mc", "save! other.mc"),
    ),
    "load": Command(
        "load[!] FILE", "go on with another file or log; ! loses changes", changes.load, ("load laptop.mc",)
    ),
    "help": Command("help [COMMAND]", "this list (also `?`), or one command with examples", explain_commands),
    "quit": Command("quit[!]", "leave (also `exit`); ! loses changes", changes.leave),
}
"""Every command, in the order of `help`."""
