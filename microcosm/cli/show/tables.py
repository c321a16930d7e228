"""Tables: drawn for people, and verdicts on all pairs as JSON, written as they are found."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

from microcosm.cli import output, progress

if TYPE_CHECKING:
    from rich.table import Table

    from microcosm.cli.show.verdict import Words
    from microcosm.givens.relation import Relation
    from microcosm.queries.concluded import Shown


MOST_IN_A_MATRIX = 20
"""More events than this make a table that nobody reads: they are counted instead."""


Verdict: TypeAlias = "Shown | tuple[Relation, ...]"
Rows: TypeAlias = "Iterable[tuple[str, list[str], Iterable[Verdict]]]"
"""Of each event those after it, and the verdict on it and each of them."""


def stream_pairs(file: str, events: list[str], rows: Rows, more: dict[str, object] | None = None) -> None:
    """The JSON object, row by row: millions of pairs are never held together; `more` comes last."""
    head = output.json_line({"file": file, "events": events})
    name = {event: output.as_json(event) for event in events}
    sys.stdout.write(f'{head[:-1]}, "pairs": [')
    between = ""
    with progress.written(len(events)) as told:
        for pairs in pair_texts(rows, "[{}, ", name, _JSONSigns()):
            batch = [*pairs]
            sys.stdout.write(f"{between}{', '.join(batch)}")
            between = ", "
            told.did(len(batch))
    output.say(
        "]" + "".join(f", {output.as_json(k)}: {output.as_json(v)}" for k, v in (more or {}).items()) + "}"
    )


def pair_texts(
    rows: Rows, first: str, name: Mapping[str, str], sign: Mapping[Verdict, str]
) -> Iterator[Iterator[str]]:
    """Row by row the text of each pair: the one event as `first` says, the other, and the sign at the end."""
    for a, others, verdicts in rows:
        if others:
            signs = map(sign.__getitem__, verdicts)
            yield map("".join, zip(repeat(first.format(name[a])), map(name.__getitem__, others), signs))


class _JSONSigns(dict[Verdict, str]):
    def __missing__(self, verdict: Verdict) -> str:
        value = [r.value for r in verdict] if isinstance(verdict, tuple) else verdict.value
        self[verdict] = f", {output.as_json(value)}]"
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
