"""The table of commands: what each looks like, what it says, an example, and what answers it.

A command is one entry here and one rule, of the same name, in `text/questions.lark`.
"""

from __future__ import annotations

from microcosm.cli.session import changes, hypotheses, keeping, questions
from microcosm.cli.session.session import Command

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
        hypotheses.possible,
        ("possible like view",),
    ),
    "offline": Command(
        "offline A B",
        "what cannot be and what must be, with proofs",
        hypotheses.offline,
        ("offline like view",),
    ),
    "what": Command(
        "what if A < B",
        "what would be ruled out then, or why it cannot be; nothing changes",
        hypotheses.assume,
        ("what if like < upload", "what if like || view"),
    ),
    "assume": Command("assume A < B", "the same as `what if`", hypotheses.assume),
    "check": Command("check", "whether all that is given can be true together", hypotheses.check),
    "events": Command("events", "every event, sorted", questions.events),
    "givens": Command("givens", "what is given, as a file says it", questions.givens),
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
        keeping.save,
        ("save", "save other.mc", "save! other.mc"),
    ),
    "load": Command(
        "load[!] FILE", "go on with another file or log; ! loses changes", keeping.load, ("load laptop.mc",)
    ),
    "help": Command("help [COMMAND]", "this list, or one command with examples", keeping.explain_commands),
    "quit": Command("quit[!]", "leave; ! loses changes", keeping.leave),
}
"""Every command, in the order of `help`."""
