"""`draw`: a small drawing of the events around what was asked, in SVG, DOT or Mermaid."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()


@app.command("draw")
def draw(
    file: options.Files,
    around: Annotated[
        list[str] | None,
        typer.Option(
            "--around",
            metavar="EVENT",
            help="Draw what is near this event (again: near that one too, with a way between them): its "
            "name, FILE:LINE of a log, or /regex/ that one event matches.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", metavar="N", min=1, max=400, help="Draw at most so many events.")
    ] = 40,
    svg: Annotated[bool, typer.Option("--svg", help="SVG; so it is where nothing is said.")] = False,
    dot: Annotated[bool, typer.Option("--dot", help="DOT, the language of Graphviz.")] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Mermaid, for pages in Markdown.")] = False,
    hasse: Annotated[
        bool, typer.Option("--hasse", help="A Hasse diagram, upwards, without the lines of processes.")
    ] = False,
    out: options.Out = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Draw a microcosm or a log: the events around one, with what is given of them and what is missing.

    A space-time diagram where processes are known, else a Hasse diagram. A drawing that leaves out events
    says how many; that it has no line between two events says nothing about them. `page` shows a whole log.

    \b
    Examples:
      microcosm draw photo-album.jsonl -o album.svg
      microcosm draw photo-album.jsonl --around digest --most 6 --mermaid
      microcosm draw album.mc --dot | dot -Tpng > album.png
    """
    from microcosm import files
    from microcosm.cli import reading
    from microcosm.queries import diagrams
    from microcosm.queries.drawing import drawing_of

    asked = [name for name, on in (("--svg", svg), ("--dot", dot), ("--mermaid", mermaid)) if on]
    if len(asked) > 1:
        raise exits.UsageError(f"{' and '.join(asked)}: one of them at a time")
    if hasse and (dot or mermaid):
        raise exits.UsageError(f"--hasse and {asked[0]}: a Hasse diagram is drawn in SVG")
    known = reading.load(file, rules, strict=strict)
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
        if json:
            output.emit({"path": out, **counts})
        else:
            output.say(
                f"{out}: {counts['events']:,} events" + (f", {drawing.more:,} more" if drawing.more else "")
            )
    elif json:
        output.emit({**counts, "drawing": text})
    else:
        sys.stdout.write(text)
        if drawing.more:
            output.note(
                f"{drawing.more:,} more events are not drawn; --around EVENT says which are, --most how many"
            )
    return exits.HOLDS
