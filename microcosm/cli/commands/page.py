"""`page`: one HTML file that shows what a log or a microcosm knows, for any browser, without a network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microcosm.cli import exits, options, output, progress

if TYPE_CHECKING:
    from microcosm.state.microcosm import Microcosm
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
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Write a page that shows a log or a microcosm: what it knows, what it does not, and why.

    One HTML file, for any browser, without this program and without a network: the lanes of the processes,
    their messages, gaps and lost messages; choose an event, and see what came before it, what after, and what
    nobody knows. The same input gives the same page. -o - writes to standard output.

    With --json: path, bytes, digest, counts, columns (what is in the page, with the bytes of each), unsaid
    (what an event may be to another where the page says that it does not know) and pairs. Exit 2 where there
    are more events, or more bytes, than a page can have.

    \b
    Examples:
      microcosm page photo-album.jsonl -o album.html
      microcosm page run.log -o run.html --pair alice:6 bob:4 --title 'The lost order'
    """
    from microcosm.cli import reading
    from microcosm.files import STDIN, write_text
    from microcosm.page.write import TooLarge, contents, html

    if proofs not in PROOFS:
        raise exits.UsageError(f"--proofs is one of {', '.join(PROOFS)}, not {proofs!r}")
    if out is None:
        raise exits.UsageError("say where to write the page: -o OUT.html (- is standard output)")
    if json and out == STDIN:
        raise exits.UsageError(
            "--json and the page cannot both be written to standard output: say -o OUT.html"
        )
    known, report = _read(files, rules, strict)
    pairs = [reading.pair_of(known, *two) for two in pair]
    try:
        with progress.told("writing the page"):
            head, columns = contents(
                known, title=title, report=report, proofs=proofs, pairs=pairs, files=_names(files)
            )
            text = html(head, columns)
    except TooLarge as error:
        raise exits.UsageError(f"{error}: {ADVICE}") from None
    if out == STDIN:
        sys.stdout.write(text)
        return exits.HOLDS
    write_text(out, text)
    if json:
        sizes = {column.name: len(column.packed) for column in columns}
        told: dict[str, Any] = {name: head[name] for name in ("digest", "counts", "unsaid", "pairs")}
        output.emit({"path": out, "bytes": len(text.encode()), "columns": sizes, **told})
    else:
        many = head["counts"]["events"]
        output.note(f"{out}: {many:,} event{'s' if many != 1 else ''}, {len(text.encode()):,} bytes")
    return exits.HOLDS


def _read(paths: Sequence[str], rules: str | None, strict: bool) -> tuple[Microcosm, Report | None]:
    """A microcosm, and what was odd about the log that it was made of. Raises as `reading.load` does."""
    from microcosm.cli import reading

    book, source = reading.rulebook(rules), reading.one_of(paths)
    report = None if source.content is not None else reading.report_of(strict, reading.UNASKED)
    givens = reading.given_in(source, strict=strict, report=report)
    return reading.microcosm_of(givens, book, strict=strict), report


def _names(paths: Sequence[str]) -> list[str]:
    """What was read, as a command line would name it."""
    from microcosm.files import display_name

    return [*map(display_name, paths)]
