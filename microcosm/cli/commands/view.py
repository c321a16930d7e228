"""`view`: the page of a log or a microcosm in a browser, with a session behind it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm import files
from microcosm.cli import exits, options, output, progress

if TYPE_CHECKING:
    from microcosm.cli.session.opening import How
    from microcosm.cli.session.page_session import SessionBehind
    from microcosm.page.turns import Turns
    from microcosm.questions.language import Questions
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Source

app = typer.Typer()


@app.command("view")
def view(
    file: Annotated[
        list[str],
        typer.Argument(metavar="FILE [OTHER]", help=f"What to read: {options.WHAT} OTHER is another one."),
    ],
    other: Annotated[
        str | None,
        typer.Option("--other", metavar="OTHER", help="Another log or microcosm, to be compared with."),
    ] = None,
    ask: Annotated[
        list[str],
        typer.Option("--ask", metavar="QUESTIONS.ask", help="Questions that the page answers."),
    ] = [],  # noqa: B006
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; else any free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser; the address is printed.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse what changes anything, and files to load and to save.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read on as the log grows; the page shows it as it comes.")
    ] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Statements change what a log told; else only `suppose` does.")
    ] = False,
    limit: Annotated[
        float, typer.Option("--limit", metavar="SECONDS", min=0, help="For one question; 0 is none.")
    ] = 10.0,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Show a log or a microcosm in a browser, with a session behind the page that answers what it is asked.

    The page is that of `page`. What it asks, and what it is told to suppose, it says as lines of `repl`.
    Of two microcosms, or with --other, the page shows what each knows that the other does not, and the
    session is about what both know.

    Prints the address, with a token without which nobody is answered, and serves on 127.0.0.1 until Ctrl-C.
    Nothing is written but by `save`, which asks.

    \b
    Examples:
      microcosm view photo-album.jsonl
      microcosm view album.mc --read-only --port 8000 --no-browser
      microcosm view run.log --follow
      microcosm view phone.mc laptop.mc
    """
    from microcosm.cli.commands.page import questions_in, sources_of
    from microcosm.cli.reading import rulebook
    from microcosm.cli.session.following import Following
    from microcosm.cli.session.opening import How, opened
    from microcosm.cli.session.page_session import SessionBehind
    from microcosm.page.turns import Turns
    from microcosm.traces.text.lines import only_whole_lines

    if follow and files.STDIN in file:
        raise exits.UsageError("--follow reads files on, and standard input is none")
    questions = [*map(questions_in, ask)]
    how = How(rulebook(rules), strict, edit)
    one, two = sources_of(file, other)
    if follow and two is not None:
        raise exits.UsageError("--follow reads one log on, and these are two")
    following = Following(file, how) if follow else None
    if two is not None:
        behind = _beside(one, two, how, read_only, questions)
    else:
        with only_whole_lines() if follow else nullcontext():
            first = opened(file, how)
        behind = SessionBehind(first, how, read_only=read_only, questions=questions)
    output.tell_warnings()
    with progress.told("drawing the page"):
        behind.contents()
    gc.freeze()
    turns, ending = Turns(limit), Event()
    beside = []
    if following is not None:
        beside.append(Thread(target=following.run, args=(behind, turns, ending), daemon=True))
    try:
        serve(behind, turns, port, browser=not browser, beside=beside)
    finally:
        ending.set()
    return exits.HOLDS


def _beside(
    one: Source, two: Source, how: How, read_only: bool, questions: Sequence[Questions]
) -> SessionBehind:
    """A session about what two microcosms know together. Raises as `reading.load` does, and `TooLarge`."""
    from microcosm.cli.commands.page import read_source
    from microcosm.cli.session.opening import Opened
    from microcosm.cli.session.page_session import SessionBehind
    from microcosm.page.replicas import replicas

    (known, report), (other, _) = (read_source(source, how.rules, how.strict) for source in (one, two))
    both = replicas(known, other)
    names = [one.name, two.name]
    joined = Opened(both.given, None, None, " and ".join(names), (), report)
    return SessionBehind(joined, how, read_only=read_only, both=both, names=names, questions=questions)


def show(known: Microcosm, *, port: int, browser: bool, read_only: bool) -> None:
    """Serve the page of a copy of a microcosm until Ctrl-C; see `Microcosm.view`."""
    from microcosm.cli.session.opening import How, Opened
    from microcosm.cli.session.page_session import SessionBehind
    from microcosm.page.turns import Turns

    how = How(known.rules, known.strict, edit=True)
    opened = Opened(known.copy(), None, None, "a microcosm")
    serve(SessionBehind(opened, how, read_only=read_only), Turns(), port, browser=browser)


def serve(
    behind: SessionBehind, turns: Turns, port: int, *, browser: bool, beside: Sequence[Thread] = ()
) -> None:
    """Serve until Ctrl-C, in this thread, the main one. Raises `MicrocosmError` for a port that is in use."""
    import webbrowser

    from microcosm.page.server import served

    with ExitStack() as stack:
        address = stack.enter_context(served(behind, turns, port))
        output.say(address)
        output.finish()
        if browser:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        for thread in beside:
            thread.start()
        try:
            turns.run()
        except KeyboardInterrupt:
            if not behind.session.is_saved:
                output.note("the session ends with changes that are not saved")
