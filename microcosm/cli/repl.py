"""`repl`: sit down with a microcosm or a log, ask it, change it."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from microcosm.cli import options, output
from microcosm.cli.traces import Execution, Format, Pattern

app = typer.Typer()


@app.command("repl")
def repl(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|TRACE", help="A microcosm or a log; without it, an empty microcosm."),
    ] = None,
    format: Format = None,
    pattern: Pattern = None,
    process: Annotated[
        str | None, typer.Option("--process", metavar="P", help="Only what process P of the log could know.")
    ] = None,
    trace: Execution = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Ask and change a microcosm in a session.

    FILE is read as `online` reads it, a log as `extract` does. Then each line is a question (`a < b?`,
    `why a < b`, `past of a`), a statement to add (`a < b`), or a command (`undo`, `diff`, `save`);
    `help` lists them. In a terminal there are history, completion (Tab) and Ctrl-C for an answer that
    takes too long. From a pipe, each line is repeated and answered: 4 is the exit code where one could not be
    read, 1 where one was refused, else 0. --json answers with one object a line.

    \b
    Examples:
      microcosm repl album.mc
      microcosm repl photo-album.jsonl --process phone
      echo 'why unshare < view' | microcosm repl album.mc
    """
    from microcosm.cli.reading import rulebook
    from microcosm.cli.session.opening import How, opened
    from microcosm.cli.session.session import Session
    from microcosm.relations.collection import without_collection

    how = How(rulebook(rules), strict, format, pattern, process, trace)
    with without_collection():
        session = Session(opened(file, how), how)
    gc.freeze()  # it stays as long as the session: no search for garbage need go through it
    if json:
        from microcosm.cli.session import script

        return script.run(session, script.standard_input(), json=True)
    if not output.is_hushed():
        output.say(f"{session.told}; `help` lists what can be said")
    if output.is_terminal(sys.stdin) and output.is_terminal(sys.stdout):
        from microcosm.cli.session import terminal

        return terminal.run(session)
    from microcosm.cli.session import script

    return script.run(session, script.standard_input(), json=False)
