"""`table`: the verdicts on all pairs of events, written as they are found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from rich.table import Table

    from microcosm.givens.relation import Relation
    from microcosm.state.microcosm import Microcosm

app = typer.Typer()

MOST_EVENTS = 20
"""More events than this make a table that nobody reads: they are counted instead."""

MODES = ("online", "offline", "possible")

_BATCH = 4096


@app.command("table")
def table(
    files: options.Files,
    mode: Annotated[
        str, typer.Option("--mode", metavar="online|offline|possible", help="Verdicts, or what may be.")
    ] = "online",
    every: Annotated[bool, typer.Option("--all", help="Every pair, on a line of its own.")] = False,
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", min=0, help="For offline: how deep assumptions nest.")
    ] = 0,
    limit: options.Limit = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """The verdicts on all pairs of events.

    Up to 20 events are shown as a matrix, more are counted; --all prints every pair. With --mode
    possible, what is shown of a pair is which of <, > and || some world gives it; with --mode offline,
    which of them the offline rules leave (by default without assumptions).

    \b
    Examples:
      microcosm table album.mc
      microcosm table --mode possible album.mc
    """
    from microcosm.cli import reading
    from microcosm.cli.commands.ask import possible_table
    from microcosm.cli.commands.ask.check import stop_after, warn_if_inconsistent

    if mode not in MODES:
        raise exits.UsageError(f"there is no mode {mode!r}: it is {', '.join(MODES[:-1])} or {MODES[-1]}")
    if limit is not None and mode != "possible":
        raise exits.UsageError("--limit is for --mode possible: the others need no search")
    if depth and mode != "offline":
        raise exits.UsageError("--depth is for --mode offline")
    reading.standard_input_once(files)
    code = exits.HOLDS
    for number, file in enumerate(files):
        try:
            known = reading.load(file, rules, strict=strict)
        except exits.EXPECTED as error:
            code = exits.failure(error, "microcosm table")
            continue
        if len(files) > 1 and not json:
            output.say(*([""] if number else []), f"{file}:")
        if mode == "possible":
            code = max(code, possible_table.show(file, known, every, json, stop_after(limit)))
        elif mode == "offline":
            code = max(code, possible_table.show_offline(file, known, every, json, depth))
        else:
            warn_if_inconsistent(known, file)
            if json:
                stream(file, known.events, known.table())
            else:
                _show(known, every)
    return code


def stream(
    file: str,
    events: list[str],
    table: Iterable[tuple[str, str, Relation | tuple[Relation, ...]]],
    more: dict[str, object] | None = None,
) -> None:
    """The JSON object, piece by piece: millions of pairs are never held together; `more` comes last."""
    head = output.json_line({"file": file, "events": events})
    name = {event: output.as_json(event) for event in events}
    sign = _JSONSigns()
    sys.stdout.write(f'{head[:-1]}, "pairs": [')
    pairs = (f"[{name[a]}, {name[b]}, {sign[verdict]}]" for a, b, verdict in table)
    between = ""
    while batch := list(islice(pairs, _BATCH)):
        sys.stdout.write(between + ", ".join(batch))
        between = ", "
    output.say(
        "]" + "".join(f", {output.as_json(k)}: {output.as_json(v)}" for k, v in (more or {}).items()) + "}"
    )


class _JSONSigns(dict["Relation | tuple[Relation, ...]", str]):
    def __missing__(self, verdict: Relation | tuple[Relation, ...]) -> str:
        value = [r.value for r in verdict] if isinstance(verdict, tuple) else verdict.value
        self[verdict] = output.as_json(value)
        return self[verdict]


def _show(known: Microcosm, every: bool) -> None:
    events = known.events
    if every:
        output.say_all(_lines(known))
    elif len(events) < 2:
        output.say(f"{len(events)} events, no pair")
    elif len(events) <= MOST_EVENTS:
        _matrix(known, events)
    else:
        _counts(known, events)


def _lines(known: Microcosm) -> Iterator[str]:
    from microcosm.cli.show.style import Style
    from microcosm.givens.relation import Relation
    from microcosm.text.names import quote

    silent = Style.of(sys.stdout).signs.silent
    names = {event: quote(event) for event in known.events}
    signs = {verdict: silent if verdict is Relation.SILENT else str(verdict) for verdict in Relation}
    for a, b, verdict in known.table():
        yield f"{names[a]} {signs[verdict]} {names[b]}"


def _matrix(known: Microcosm, events: list[str]) -> None:
    from microcosm.cli.show.style import Style
    from microcosm.givens.relation import Relation

    silent = Style.of(sys.stdout).signs.silent
    cell = {}
    for a, b, verdict in known.table():
        cell[a, b] = silent if verdict is Relation.SILENT else str(verdict)
        cell[b, a] = silent if verdict is Relation.SILENT else str(verdict.converse)
    draw_matrix(events, cell)
    if silent in cell.values():
        output.say(f"{silent} is silence: no rule says anything about the pair.")


def draw_matrix(events: list[str], cell: dict[tuple[str, str], str]) -> None:
    """Row event, sign, column event; the columns are numbered as the rows are."""
    from rich.text import Text

    from microcosm.text.names import quote

    drawn = new_table("", "")
    drawn.padding = (0, 0, 0, 0)
    for number in range(1, len(events) + 1):
        drawn.add_column(str(number), justify="center", no_wrap=True, min_width=2)
    for number, a in enumerate(events, 1):
        drawn.add_row(str(number), Text(quote(a)), *(Text(cell.get((a, b), "")) for b in events))
    draw(drawn)
    output.say("", f"Read a row, then a column: 1 {cell[events[0], events[1]]} 2.")


def _counts(known: Microcosm, events: list[str]) -> None:
    from microcosm.cli.show.style import Style
    from microcosm.givens.relation import Relation

    found: Counter[Relation] = Counter(verdict for _, _, verdict in known.table())
    ordered = found[Relation.BEFORE] + found[Relation.AFTER]
    silent = Style.of(sys.stdout).signs.silent
    drawn = new_table("verdict", "")
    drawn.add_column("pairs", justify="right")
    for sign, words, count in (
        ("<", "one happens before the other", ordered),
        ("||", "concurrent", found[Relation.CONCURRENT]),
        ("<>", "causally related, direction not known", found[Relation.RELATED]),
        ("?", "unknown", found[Relation.UNKNOWN]),
        (silent, "silent: no rule says anything", found[Relation.SILENT]),
    ):
        drawn.add_row(sign, words, f"{count:,}")
    output.say(f"{len(events):,} events, {found.total():,} pairs; --all prints every pair", "")
    draw(drawn)


def new_table(*columns: str) -> Table:
    """An empty table with these columns; long cells are folded, never cut."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    return drawn


def draw(drawn: Table) -> None:
    """Draw a table: as wide as it needs to be in a pipe, folded to the width of a terminal."""
    from rich.console import Console

    wide = None if output.is_terminal(sys.stdout) else 100_000
    console = Console(file=sys.stdout, width=wide, highlight=False, no_color=not output.styled(sys.stdout))
    with console.capture() as captured:
        console.print(drawn)
    output.say(*(line.rstrip() for line in captured.get().splitlines()))
