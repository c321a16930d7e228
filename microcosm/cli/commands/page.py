"""`page`: one HTML file that shows what a log or a microcosm knows, for any browser, without a network."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from microcosm.cli import exits, options, progress

app = typer.Typer()

PROOFS = ("all", "pairs", "none")


@app.command("page")
def page(
    files: options.Files,
    out: options.Out = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="T", help="What the page is called.")
    ] = None,
    pair: Annotated[
        list[str],  # of pairs, by the two words of its metavar
        typer.Option("--pair", metavar="A B", help="Two events to begin with; their proof is in the page."),
    ] = [],  # noqa: B006
    proofs: Annotated[
        str, typer.Option("--proofs", metavar="all|pairs|none", help="Of which pairs proofs are in the page.")
    ] = "all",
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Write a page that shows a log or a microcosm: lanes, messages, what is known and what is not, and why.

    It opens in any browser, without this program and without a network.

    \b
    Examples:
      microcosm page photo-album.jsonl -o album.html
      microcosm page album.mc -o album.html --pair unshare view
    """
    from microcosm.cli import reading
    from microcosm.files import STDIN, write_text
    from microcosm.page.write import page as page_of

    if proofs not in PROOFS:
        raise exits.UsageError(f"--proofs is one of {', '.join(PROOFS)}, not {proofs!r}")
    known = reading.load(files, rules, strict=strict)
    with progress.told("writing the page"):
        text = page_of(known, title=title, proofs=proofs, files=files)
    if out is None or out == STDIN:
        sys.stdout.write(text)
    else:
        write_text(out, text)
    return exits.HOLDS
