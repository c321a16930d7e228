"""Tables: drawn for people, and verdicts on all pairs as JSON, written as they are found."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from microcosm.cli import output, progress

if TYPE_CHECKING:
    from rich.table import Table

    from microcosm.cli.show.verdict import Words
    from microcosm.givens.relation import Relation


MOST_IN_A_MATRIX = 20
"""More events than this make a table that nobody reads: they are counted instead."""

_BATCH = 4096


def stream_pairs(
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
    with progress.written(len(events)) as told:
        while batch := list(islice(pairs, _BATCH)):
            sys.stdout.write(between + ", ".join(batch))
            between = ", "
            told.did(len(batch))
    output.say(
        "]" + "".join(f", {output.as_json(k)}: {output.as_json(v)}" for k, v in (more or {}).items()) + "}"
    )


class _JSONSigns(dict["Relation | tuple[Relation, ...]", str]):
    def __missing__(self, verdict: Relation | tuple[Relation, ...]) -> str:
        value = [r.value for r in verdict] if isinstance(verdict, tuple) else verdict.value
        self[verdict] = output.as_json(value)
        return self[verdict]


def draw_matrix(events: list[str], cell: dict[tuple[str, str], str], words: Words) -> None:
    """Row event, sign, column event; the columns are numbered as the rows are."""
    from rich.text import Text

    drawn = new_table("", "")
    drawn.padding = (0, 0, 0, 0)
    for number in range(1, len(events) + 1):
        drawn.add_column(str(number), justify="center", no_wrap=True, min_width=2)
    for number, a in enumerate(events, 1):
        drawn.add_row(str(number), Text(words(a)), *(Text(cell.get((a, b), "")) for b in events))
    draw(drawn)
    output.say("", f"Read a row, then a column: 1 {cell[events[0], events[1]]} 2.")


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
