"""What is known, to be seen: `page`, one HTML file; `view`, the same with a session; `draw`, a drawing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.cli.reading import rulebook
from microcosm.files import STDIN, write_text

if TYPE_CHECKING:
    from microcosm.cli.session.page_session import SessionBackend
    from microcosm.cli.session.session import How
    from microcosm.logic.rulebook import RuleBook
    from microcosm.page.server import Turns
    from microcosm.questions.language import Questions
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Source
    from microcosm.traces.report import Report

app = Typer()

PROOFS = ("all", "pairs", "none")
"""Of which pairs a page may have proofs."""

Other = Annotated[str | None, Option(metavar="OTHER", help="Another log or microcosm, to be compared with.")]
Ask = Annotated[list[str], Option(metavar="QUESTIONS.ask", help="Questions that the page answers.")]


@app.command("page")
def page(
    files: options.Files,
    out: options.Out = None,
    title: Annotated[str | None, Option(metavar="T", help="What the page is called; else its files.")] = None,
    pair: Annotated[
        list[str],  # of pairs, by the two words of its metavar
        Option(metavar="A B", help="Two events to begin with, their proof in the page."),
    ] = [],  # noqa: B006
    proofs: Annotated[
        str, Option(metavar="WHICH", help="all (of up to 60 events; else pairs), pairs (of --pair) or none.")
    ] = "all",
    ask: Ask = [],  # noqa: B006
    other: Other = None,
    strict: options.Strict = False,
) -> int:
    """Write a page that shows a log or a microcosm: what it knows, what it does not, and why.

    One HTML file, for any browser, without this program and without a network: the lanes of the processes,
    their messages, gaps and lost messages; choose an event, and see what came before it, what after, and what
    nobody knows. Of two microcosms, or with --other, what each knows that the other does not. The same input
    gives the same page. -o - writes to standard output.

    With --json: path, bytes, digest, counts, columns (what is in the page, with the bytes of each), unsaid
    (what an event may be to another where the page says that it does not know), pairs, and with --ask
    questions, each with text and verdict. Exit 2 where there
    are more events, or more bytes, than a page can have.

    \b
    Examples:
      microcosm page photo-album.jsonl -o album.html
      microcosm page run.log -o run.html --pair alice:6 bob:4 --title 'The lost order'
      microcosm page phone.mc laptop.mc -o both.html
    """
    from microcosm.cli.show.offline import warn_if_inconsistent
    from microcosm.page.knowledge import TooLarge
    from microcosm.page.write import contents, html

    if proofs not in PROOFS:
        raise exits.UsageError(f"--proofs is one of {', '.join(PROOFS)}, not {proofs!r}")
    if out is None and output.is_terminal(sys.stdout):
        raise exits.UsageError("say where to write the page: -o OUT.html (- is standard output)")
    if output.for_machines() and out in (None, STDIN):
        raise exits.UsageError("--json and the page cannot both go to standard output: say -o OUT.html")
    questions = [*map(reading.questions_in, ask)]
    one, two = sources_of(files, other)
    reading.spare([*one.paths, *(two.paths if two is not None else ())], out)
    book = reading.rulebook()
    known, report = read_source(one, book, strict)
    beside = None if two is None else read_source(two, book, strict)[0]
    pairs = [reading.pair_of(known, *words) for words in pair]
    warn_if_inconsistent(known, one.paths)
    try:
        with output.progress("writing the page"):
            head, columns = contents(
                known,
                title=title,
                report=report,
                proofs=proofs,
                pairs=pairs,
                files=[*one.paths] if two is None else [one.name, two.name],
                other=beside,
                questions=questions,
            )
            text = html(head, columns)
    except TooLarge as error:
        advice = "cut the log down (--process, --trace), or look at it with `microcosm view`"
        raise exits.UsageError(f"{error}: {advice}") from None
    if out is None or out == STDIN:
        output.document().write(text)
        return exits.HOLDS
    write_text(out, text)
    if output.for_machines():
        fields: dict[str, Any] = {name: head[name] for name in ("digest", "counts", "unsaid", "pairs")}
        if questions:
            fields["questions"] = [
                {"text": each["text"], "verdict": each["verdict"]} for each in head["questions"]
            ]
        sizes = {column.name: len(column.packed) for column in columns}
        output.emit({"path": out, "bytes": len(text.encode()), "columns": sizes, **fields})
    else:
        many = output.counted(head["counts"]["events"], "event")
        output.note(f"{out}: {many}, {len(text.encode()):,} bytes")
    return exits.HOLDS


def sources_of(files: Sequence[str], other: str | None) -> tuple[Source, Source | None]:
    """What the page is of, and what it is compared with, if anything. Raises `UsageError`."""
    if other is not None:
        reading.standard_input_once([*files, other])
        return reading.one_of(files), reading.one_of([other])
    found = reading.sources(files)
    if len(found) != 2 or any(source.fault for source in found):
        return reading.one_of(files), None
    return found[0], found[1]


def read_source(source: Source, rules: RuleBook, strict: bool) -> tuple[Microcosm, Report | None]:
    """A microcosm, and what was odd about the log that it was made of. Raises as `reading.load` does."""
    report = None if source.content is not None else reading.report_of(strict, reading.UNASKED)
    givens = reading.given_in(source, strict=strict, report=report)
    return reading.microcosm_of(givens, rules, strict=strict), report


@app.command("view")
def view(
    file: Annotated[
        list[str],
        Argument(metavar="FILE [OTHER]", help=f"What to read: {options.WHAT} OTHER is another one."),
    ],
    other: Other = None,
    ask: Ask = [],  # noqa: B006
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="The port; else any free one.")] = 0,
    browser: Annotated[bool, Option("--no-browser", help="Open no browser; the address is printed.")] = False,
    read_only: Annotated[
        bool, Option("--read-only", help="Refuse what changes anything, and files to load and to save.")
    ] = False,
    follow: Annotated[
        bool, Option("--follow", help="Read on as the log grows; the page shows it as it comes.")
    ] = False,
    edit: options.Edit = False,
    limit: Annotated[float, Option(metavar="SECONDS", min=0, help="For one question; 0 is none.")] = 10.0,
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
    from microcosm.cli.session.page_session import Following, SessionBackend
    from microcosm.cli.session.session import How, opened
    from microcosm.cli.show.offline import warn_if_inconsistent
    from microcosm.page.server import Turns
    from microcosm.traces.text.lines import only_whole_lines

    if follow and files.STDIN in file:
        raise exits.UsageError("--follow reads files on, and standard input is none")
    questions = [*map(reading.questions_in, ask)]
    how = How(rulebook(), strict, edit)
    one, two = sources_of(file, other)
    if follow and two is not None:
        raise exits.UsageError("--follow reads one log on, and these are two")
    following = Following(file, how) if follow else None
    if two is not None:
        backend = _beside(one, two, how, read_only, questions)
    else:
        with only_whole_lines() if follow else nullcontext():
            first = opened(file, how)
        warn_if_inconsistent(first.known, file)
        backend = SessionBackend(first, how, read_only=read_only, questions=questions)
    output.tell_warnings()
    with output.progress("drawing the page"):
        backend.contents()
    gc.freeze()
    turns, ending = Turns(limit), Event()
    beside = []
    if following is not None:
        beside.append(Thread(target=following.run, args=(backend, turns, ending), daemon=True))
    try:
        serve(backend, turns, port, browser=not browser, beside=beside)
    finally:
        ending.set()
    return exits.HOLDS


def _beside(
    one: Source, two: Source, how: How, read_only: bool, questions: Sequence[Questions]
) -> SessionBackend:
    """A session about what two microcosms know together. Raises as `reading.load` does, and `TooLarge`."""
    from microcosm.cli.session.page_session import SessionBackend
    from microcosm.cli.session.session import Opened
    from microcosm.page.knowledge import replicas

    (known, report), (other, _) = (read_source(source, how.rules, how.strict) for source in (one, two))
    both = replicas(known, other)
    names = [one.name, two.name]
    joined = Opened(both.given, None, None, " and ".join(names), (), report)
    return SessionBackend(joined, how, read_only=read_only, both=both, names=names, questions=questions)


def show(known: Microcosm, *, port: int, browser: bool, read_only: bool) -> None:
    """Serve the page of a copy of a microcosm until Ctrl-C; see `Microcosm.view`."""
    from microcosm.cli.session.page_session import SessionBackend
    from microcosm.cli.session.session import How, Opened
    from microcosm.page.server import Turns

    how = How(known.rules, known.strict, edit=True)
    opened = Opened(known.copy(), None, None, "a microcosm")
    serve(SessionBackend(opened, how, read_only=read_only), Turns(), port, browser=browser)


def serve(
    backend: SessionBackend, turns: Turns, port: int, *, browser: bool, beside: Sequence[Thread] = ()
) -> None:
    """Serve until Ctrl-C, in this thread, the main one. Raises `MicrocosmError` for a port that is in use."""
    import webbrowser

    from microcosm.page.server import served

    with ExitStack() as stack:
        address = stack.enter_context(served(backend, turns, port))
        output.answer({"address": address}, address)
        output.finish()
        if browser:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        for thread in beside:
            thread.start()
        try:
            turns.run()
        except KeyboardInterrupt:
            if not backend.session.is_saved:
                output.note("the session ends with changes that are not saved")


@app.command("draw")
def draw(
    file: options.Files,
    around: Annotated[
        list[str] | None,
        Option(
            metavar="EVENT",
            help="Draw what is near this event (again: near that one too, with a way between them): its "
            "name, FILE:LINE of a log, or /regex/ that one event matches.",
        ),
    ] = None,
    most: Annotated[int, Option(metavar="N", min=1, max=400, help="Draw at most so many events.")] = 40,
    svg: Annotated[bool, Option("--svg", help="SVG; so it is where neither this nor -o says more.")] = False,
    dot: Annotated[bool, Option("--dot", help="DOT, the language of Graphviz.")] = False,
    mermaid: Annotated[bool, Option("--mermaid", help="Mermaid, for pages in Markdown.")] = False,
    hasse: Annotated[
        bool, Option("--hasse", help="A Hasse diagram, upwards, without the lines of processes.")
    ] = False,
    out: options.Out = None,
    strict: options.Strict = False,
) -> int:
    """Draw a microcosm or a log: the events around one, with what is given of them and what is missing.

    A space-time diagram where processes are known, else a Hasse diagram. A drawing that leaves out events
    says how many; that it has no line between two events says nothing about them. `page` shows a whole log.
    A name in .dot or .gv is written as DOT, in .mmd or .mermaid as Mermaid, where no option says another.

    \b
    Examples:
      microcosm draw photo-album.jsonl -o album.svg
      microcosm draw photo-album.jsonl --around digest --most 6 --mermaid
      microcosm draw album.mc --dot | dot -Tpng > album.png
    """
    from microcosm.queries import diagrams
    from microcosm.queries.drawing import drawing_of

    chosen = [name for name, on in (("--svg", svg), ("--dot", dot), ("--mermaid", mermaid)) if on]
    if len(chosen) > 1:
        raise exits.UsageError(f"{' and '.join(chosen)}: one of them at a time")
    if hasse and (dot or mermaid):
        raise exits.UsageError(f"--hasse and {chosen[0]}: a Hasse diagram is drawn in SVG")
    called = "" if chosen or hasse or out is None else out.lower()
    dot, mermaid = dot or called.endswith((".dot", ".gv")), mermaid or called.endswith((".mmd", ".mermaid"))
    reading.spare(file, out)
    known = reading.load(file, strict=strict)
    events = [known.event(each) for each in around or ()]
    known.require(*events)
    drawing = drawing_of(known.givens, known.rules, most, events)
    if dot:
        text = diagrams.dot(drawing)
    elif mermaid:
        text = diagrams.mermaid(drawing)
    else:
        text = (diagrams.hasse if hasse else diagrams.diagram)(drawing, alone=True)
    counts = {"events": len(drawing.events), "more": drawing.more}
    if out is not None and out != files.STDIN:
        files.write_text(out, text)
        more = f", {drawing.more:,} more" if drawing.more else ""
        message = f"{output.printable(out)}: {output.counted(counts['events'], 'event')}{more}"
        output.answer({"path": out, **counts}, message)
    elif output.for_machines():
        output.emit({**counts, "drawing": text})
    else:
        output.document().write(text)
        if drawing.more:
            output.note(
                f"{drawing.more:,} more events are not drawn; --around EVENT says which are, --most how many"
            )
    return exits.HOLDS
