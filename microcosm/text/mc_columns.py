"""Runs of correspondence lines, read up to a thousand at a time.

A microcosm of a million links is a million lines such as `a < b` or `a < b from "message m7"`. Here a
regular expression finds how far such lines go on, and the whole run is then taken apart column by
column, at a third of the price of lines read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import NamedTuple

from microcosm.givens.relation import Correspondence
from microcosm.text.names import KEYWORDS, OPERAND, SIGN, STRING
from microcosm.text.provenance import stated
from microcosm.text.short_cut import Unusual, names_of, text_of
from microcosm.text.statement import facts_of

_WORD = r"(?!-)[\w.:@/-]++(?<!-)"
_plain_lines = re.compile(rf"(?:[ \t]*+{_WORD}[ \t]++(?:<>?|>|\|\|)[ \t]++{_WORD}[ \t]*+\n){{2,1000}}").match


def _line(group: str) -> str:
    """One line of any two operands; `group` opens each of the four groups."""
    b = r"[^\S\n]*+"
    return (
        rf"{b}{group}{OPERAND}){b}{group}{SIGN}){b}{group}{OPERAND}){b}"
        rf"(?:from{b}{group}{STRING}){b})?(?:#.*)?\n"
    )


_linked_lines = re.compile(f"(?:{_line('(?:')}){{1,1000}}").match
_columns = re.compile(_line("(")).findall


class Run(NamedTuple):
    """What a run says, a fact a line: events and signs as they stand, and the sources."""

    ends: list[str]
    """Left and right by turns."""
    signs: Sequence[str]
    sources: Iterable[str | None]
    links: bool
    """Whether every fact says `<`."""

    def facts(self) -> list[Correspondence]:
        """One by one."""
        return facts_of(self.ends[0::2], self.signs, self.ends[1::2], self.sources)


@dataclass(frozen=True, slots=True)
class Places:
    """The sources of the facts of neighbouring lines, stated by nobody (`line_of`), made when asked for."""

    file: str | None
    lines: range

    def __iter__(self) -> Iterator[str]:
        place = "line " if self.file is None else f"{self.file}:"
        return map(place.__add__, map(str, self.lines))


def read_run(text: str, at: int, file: str | None, line: int) -> tuple[int, Run | None]:
    """Where the run of correspondence lines that begins at `at` ends, and what it says, a fact a line.

    An end of `at` means that no run begins here. None for the facts: some line of the run is no
    correspondence after all, or relates an event to itself, and each is to be looked at alone.
    """
    if plain := _plain_lines(text, at):
        end, words = plain.end(), plain.group().split()
        if not KEYWORDS.isdisjoint(words):
            return end, None
        signs: Sequence[str] = words[1::3]
        del words[1::3]
        names: Sequence[str] = words
        sources: Iterable[str | None] = Places(file, range(line, line + len(signs)))
    elif linked := _linked_lines(text, at):
        end = linked.end()
        lefts, signs, rights, origins = zip(*_columns(linked.group()), strict=True)
        places = Places(file, range(line, line + len(signs)))
        try:
            sources = [
                stated(text_of(origin)) if origin else place
                for origin, place in zip(origins, places, strict=True)
            ]
            names = names_of([end for pair in zip(lefts, rights, strict=True) for end in pair])
        except Unusual:
            return end, None
    else:
        return at, None
    # One string a name: neighbouring lines mostly speak of the same events.
    once = dict(zip(names, names, strict=True))
    ends = [*map(once.__getitem__, names)]
    return end, None if any(map(eq, ends[0::2], ends[1::2])) else Run(
        ends, signs, sources, signs.count("<") == len(signs)
    )
