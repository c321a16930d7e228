"""`repl`: sit down with a microcosm or a log, ask it, change it; line by line, or from a script."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Annotated

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output
from microcosm.cli.reading import rulebook
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import PROMPT, How, Session, opened
from microcosm.files import STDIN, read_bytes
from microcosm.tuning import kept

app = Typer()


@app.command("repl")
def repl(
    file: Annotated[
        list[str] | None,
        Argument(metavar="FILE", help=f"What to read: {options.WHAT} Without, an empty microcosm."),
    ] = None,
    edit: options.Edit = False,
    script: Annotated[
        str | None, Option(metavar="FILE", help="The lines are there, not on standard input.")
    ] = None,
    strict: options.Strict = False,
) -> int:
    """Ask and change a microcosm in a session.

    FILE is read as every command reads it. A log is not changed by statements unless
    --edit is given; `suppose a < b` takes one as given until `undo`. Each line is a question (`a < b?`,
    `why a < b`, `past of a`), a statement to add (`a < b`), or a command (`undo`, `diff`, `save`); `help`
    lists them. In a terminal there are history, completion (Tab) and Ctrl-C for an answer that takes too
    long. From a pipe, each line is repeated and answered: 4 is the exit code where one could not be read, 1
    where a change was refused or a question is violated, else 0. --json answers with one object a line.

    \b
    Examples:
      microcosm repl album.mc
      microcosm repl photo-album.jsonl --process phone
      zcat run.jsonl.gz | microcosm repl - --script questions.txt
      echo 'why unshare < view' | microcosm repl album.mc
    """
    from microcosm.cli.show.offline import warn_if_inconsistent

    paths = file or []
    how = How(rulebook(), strict, edit)
    lines = None if script is None else read_bytes(script).splitlines(keepends=True)
    with kept():
        session = Session(opened(paths, how), how, COMMANDS)
    warn_if_inconsistent(session.known, paths)
    output.tell_warnings()
    if STDIN in paths and lines is None:
        _ask_the_terminal()
    if output.for_machines():
        return answer_each(session, standard_input() if lines is None else lines, json=True)
    if not output.is_hushed():
        output.say(f"{session.summary}; `help` lists what can be said")
    if lines is None and output.is_terminal(sys.stdin) and output.is_terminal(sys.stdout):
        from microcosm.cli.session import terminal

        return terminal.run(session)
    return answer_each(session, standard_input() if lines is None else lines, json=False)


def _ask_the_terminal() -> None:
    """Where the log came by standard input, questions come from the terminal; else `UsageError` is raised."""
    try:
        if not output.is_terminal(sys.stdout):
            raise OSError
        sys.stdin = open("/dev/tty", encoding="utf-8")  # noqa: SIM115 (it stays open as standard input does)
    except OSError:
        message = "standard input is the log, and there is no terminal to ask questions from"
        raise exits.UsageError(f"{message}: give them with --script FILE") from None


def answer_each(session: Session, lines: Iterable[bytes], *, json: bool) -> int:
    """Answer every line; the exit code: 4 where one could not be read, 1 where one was refused or violated,
    else 0.
    """
    worst = exits.HOLDS
    for at, raw in enumerate(lines):
        text = raw.rstrip(b"\r\n").removeprefix(b"" if at else BOM_UTF8)
        line = text.decode("utf-8", "surrogateescape")  # of no UTF-8 what no line may hold
        if not json:
            output.say(f"{PROMPT}{output.printable(line)}".rstrip())
        outcome, over = exits.FAULT, False  # unless it is answered
        with session.surviving():
            outcome, over = _answer(session, line, json)
        output.finish()
        worst = max(worst, outcome)
        if over:
            return worst
    if not session.is_saved:
        output.note("the session ends with changes that are not saved")
    return worst


def _answer(session: Session, line: str, json: bool) -> tuple[int, bool]:
    """Answer a line; what it counts for the exit code, and whether it ends the session."""
    with output.progress("answering", units="steps") as session.work:
        answer = session.answer(line)
        if answer is None or answer.ends:
            return exits.HOLDS, answer is not None
        fields = answer.fields() if output.for_machines() else {}
        unseen = not json and not output.is_terminal(sys.stdout)
        if unseen:
            output.say_all(answer.lines)
    if output.for_machines():
        output.emit({"line": line, **fields})
    elif not unseen:
        output.say_all(answer.lines)
    return (answer.outcome if answer.outcome in (exits.REFUTED, exits.BAD_INPUT) else exits.HOLDS), False


def standard_input() -> Iterator[bytes]:
    """The lines of standard input as they come; none where it is closed."""
    if sys.stdin is not None:
        yield from sys.stdin.buffer
