"""`page`: one HTML file that shows what a log or a microcosm knows, for any browser, without a network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microcosm.cli import exits, options, output, progress

if TYPE_CHECKING:
    from microcosm.logic.rulebook import RuleBook
    from microcosm.questions.language import Questions
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Source
    from microcosm.traces.report import Report

app = typer.Typer()

PROOFS = ("all", "pairs", "none")
"""Of which pairs a page may have proofs."""

ADVICE = "cut the log down (--process, --trace), or look at it with `microcosm view`"


@app.command("page")
def page(
    files: options.Files,
    out: options.Out = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="T", help="What the page is called; else its files.")
    ] = None,
    pair: Annotated[
        list[str],  # of pairs, by the two words of its metavar
        typer.Option("--pair", metavar="A B", help="Two events to begin with, their proof in the page."),
    ] = [],  # noqa: B006
    proofs: Annotated[
        str,
        typer.Option(
            "--proofs",
            metavar="WHICH",
            help="all (of up to 60 events; else pairs), pairs (of --pair) or none.",
        ),
    ] = "all",
    ask: Annotated[
        list[str],
        typer.Option("--ask", metavar="QUESTIONS.ask", help="Questions that the page answers."),
    ] = [],  # noqa: B006
    other: Annotated[
        str | None,
        typer.Option("--other", metavar="OTHER", help="Another log or microcosm, to be compared with."),
    ] = None,
    json: options.Json = False,
    rules: options.Rules = None,
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
    from microcosm.cli import reading
    from microcosm.files import STDIN, write_text
    from microcosm.page.knowledge import TooLarge
    from microcosm.page.write import contents, html

    if proofs not in PROOFS:
        raise exits.UsageError(f"--proofs is one of {', '.join(PROOFS)}, not {proofs!r}")
    if out is None and output.is_terminal(sys.stdout):
        raise exits.UsageError("say where to write the page: -o OUT.html (- is standard output)")
    if json and out in (None, STDIN):
        raise exits.UsageError("--json and the page cannot both go to standard output: say -o OUT.html")
    questions = [*map(questions_in, ask)]
    one, two = sources_of(files, other)
    book = reading.rulebook(rules)
    known, report = read_source(one, book, strict)
    beside = None if two is None else read_source(two, book, strict)[0]
    pairs = [reading.pair_of(known, *asked) for asked in pair]
    try:
        with progress.told("writing the page"):
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
        raise exits.UsageError(f"{error}: {ADVICE}") from None
    if out is None or out == STDIN:
        sys.stdout.write(text)
        return exits.HOLDS
    write_text(out, text)
    if json:
        told: dict[str, Any] = {name: head[name] for name in ("digest", "counts", "unsaid", "pairs")}
        if questions:
            told["questions"] = [
                {"text": each["text"], "verdict": each["verdict"]} for each in head["questions"]
            ]
        sizes = {column.name: len(column.packed) for column in columns}
        output.emit({"path": out, "bytes": len(text.encode()), "columns": sizes, **told})
    else:
        many = head["counts"]["events"]
        output.note(f"{out}: {many:,} event{'s' if many != 1 else ''}, {len(text.encode()):,} bytes")
    return exits.HOLDS


def sources_of(files: Sequence[str], other: str | None) -> tuple[Source, Source | None]:
    """What the page is of, and what it is compared with, if anything. Raises `UsageError`."""
    from microcosm.cli import reading

    if other is not None:
        reading.standard_input_once([*files, other])
        return reading.one_of(files), reading.one_of([other])
    found = reading.sources(files)
    if len(found) != 2 or any(source.fault for source in found):
        return reading.one_of(files), None
    return found[0], found[1]


def questions_in(path: str) -> Questions:
    from microcosm import files as door
    from microcosm.questions.reader import read_questions

    return read_questions(door.read_text(path), door.display_name(path))


def read_source(source: Source, rules: RuleBook, strict: bool) -> tuple[Microcosm, Report | None]:
    """A microcosm, and what was odd about the log that it was made of. Raises as `reading.load` does."""
    from microcosm.cli import reading

    report = None if source.content is not None else reading.report_of(strict, reading.UNASKED)
    givens = reading.given_in(source, strict=strict, report=report)
    return reading.microcosm_of(givens, rules, strict=strict), report
