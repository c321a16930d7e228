"""Tables: drawn for people, and verdicts on all pairs as JSON, written as they are found."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import repeat
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeAlias

from microcosm.cli import output

if TYPE_CHECKING:
    from rich.table import Table

    from microcosm.givens.relation import Relation
    from microcosm.logic.derivation import Words
    from microcosm.queries.batch import Shown


MOST_IN_A_MATRIX = 20
"""More events than this make a table that nobody reads: they are counted instead."""


Verdict: TypeAlias = "Shown | tuple[Relation, ...]"
Rows: TypeAlias = "Iterable[tuple[str, list[str], Iterable[Verdict]]]"
"""Of each event those after it, and the verdict on it and each of them."""


def stream_pairs(file: str, events: list[str], rows: Rows, more: Mapping[str, object] = {}) -> None:
    """The JSON object, row by row: millions of pairs are never held together; `more` comes last."""
    head = output.json_line({"file": file, "events": events})
    name = {event: output.as_json(event) for event in events}
    sys.stdout.write(f'{head[:-1]}, "pairs": [')
    between = ""
    with output.writing(len(events)) as progress:
        for pairs in pair_texts(rows, "[{}, ", name, cache(_json_sign)):
            batch = [*pairs]
            sys.stdout.write(f"{between}{', '.join(batch)}")
            between = ", "
            progress.did(len(batch))
    output.say("]" + "".join(f", {output.as_json(k)}: {output.as_json(v)}" for k, v in more.items()) + "}")


def pair_texts(
    rows: Rows, first: str, name: Mapping[str, str], sign: Callable[[Verdict], str]
) -> Iterator[Iterator[str]]:
    """Row by row the text of each pair: the one event as `first` says, the other, and the sign at the end."""
    for a, others, verdicts in rows:
        if others:
            named = map(name.__getitem__, others)
            yield map("".join, zip(repeat(first.format(name[a])), named, map(sign, verdicts)))


def _json_sign(verdict: Verdict) -> str:
    return f", {output.as_json([r.value for r in verdict] if isinstance(verdict, tuple) else verdict.value)}]"


def matrix_lines(events: list[str], cell: dict[tuple[str, str], str], words: Words) -> list[str]:
    """Row event, sign, column event; the columns are numbered as the rows are."""
    from rich.text import Text

    drawn = new_table("", "")
    drawn.padding = (0, 0, 0, 0)
    for number in range(1, len(events) + 1):
        drawn.add_column(str(number), justify="center", no_wrap=True, min_width=2)
    for number, a in enumerate(events, 1):
        drawn.add_row(str(number), Text(words(a)), *(Text(cell.get((a, b), "")) for b in events))
    return [*lines_of(drawn), "", f"Read a row, then a column: 1 {cell[events[0], events[1]]} 2."]


def new_table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table with these columns, then those of `numbers`; long cells are folded, never cut."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for column in numbers:
        drawn.add_column(column, justify="right")
    return drawn


def draw(drawn: Table) -> None:
    """Draw a table, as `lines_of` has it."""
    output.say(*lines_of(drawn))


FOLDED_UP_TO = 4
"""Tables of more columns than this are split where they are too wide; others are folded."""


def lines_of(drawn: Table) -> list[str]:
    """A table as wide as it needs to be in a pipe; nothing of it is ever cut.

    In a terminal that is narrower its cells are folded, or of many columns some stand below the others.
    """
    for column in drawn.columns:
        column.overflow, column.no_wrap = "fold", False
    whole = _rendered(drawn, None)
    if not output.is_terminal(sys.stdout):
        return whole
    from rich.cells import cell_len

    room = get_terminal_size().columns
    if max((cell_len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in whole), default=0) <= room:
        return whole
    if len(drawn.columns) <= FOLDED_UP_TO:
        return _rendered(drawn, room)
    lines: list[str] = []
    for part in _parts(drawn, room):
        lines += [*([""] if lines else []), *_rendered(part, room)]
    return lines


def _rendered(drawn: Table, room: int | None) -> list[str]:
    from rich.console import Console

    colourless = not output.styled(sys.stdout)
    console = Console(file=sys.stdout, width=room or 100_000, highlight=False, no_color=colourless)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]


def _parts(drawn: Table, room: int) -> Iterator[Table]:
    """Tables of some columns each, as many as there is room for, behind those that say what a row is."""

    from rich.cells import cell_len

    def wide(column: int) -> int:
        cells = [drawn.columns[column].header, *drawn.columns[column].cells]
        return max(cell_len(line) for cell in cells for line in (*str(cell).split("\n"), "")) + 3

    keys = [0, 1] if not any(str(column.header) for column in drawn.columns[:2]) else [0]
    rest = [at for at in range(len(drawn.columns)) if at not in keys]
    taken = min(sum(map(wide, keys)), room // 2)
    while rest:
        shown, used = [rest.pop(0)], taken
        used += wide(shown[0])
        while rest and used + wide(rest[0]) <= room:
            shown.append(rest.pop(0))
            used += wide(shown[-1])
        part = copy(drawn)
        part.columns = [replace(drawn.columns[at], _index=n) for n, at in enumerate((*keys, *shown))]
        yield part
