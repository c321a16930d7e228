"""Runs of correspondence lines, read up to a thousand at a time.

A microcosm of a million links is a million lines such as `a < b` or `a < b from "message m7"`. Here a
regular expression finds how far such lines go on, and the whole run is then taken apart column by
column, at a third of the price of lines read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import eq

from microcosm.logic.names import KEYWORDS, STRING
from microcosm.logic.provenance import line_of, stated
from microcosm.logic.statement import facts_of
from microcosm.logic.statement_tokens import OPERAND, SIGN, Declined, Names, text_of
from microcosm.relations.correspondence import Correspondence

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


def read_run(text: str, at: int, file: str | None, line: int) -> tuple[int, list[Correspondence] | None]:
    """Where the run of correspondence lines that begins at `at` ends, and what it says, a fact a line.

    An end of `at` means that no run begins here. None for the facts: some line of the run is no
    correspondence after all, or relates an event to itself, and each is to be looked at alone.
    """
    if plain := _plain_lines(text, at):
        return plain.end(), _facts_of_plain(plain.group(), file, line)
    if linked := _linked_lines(text, at):
        return linked.end(), _facts_of_linked(linked.group(), file, line)
    return at, None


def _facts_of_plain(run: str, file: str | None, line: int) -> list[Correspondence] | None:
    words = run.split()
    if not KEYWORDS.isdisjoint(words):
        return None
    # One string a name: neighbouring lines mostly speak of the same events.
    once = dict(zip(words, words, strict=True))
    words = list(map(once.__getitem__, words))
    return _facts(words[0::3], words[1::3], words[2::3], _places(file, line, len(words) // 3))


def _facts_of_linked(run: str, file: str | None, line: int) -> list[Correspondence] | None:
    lefts, signs, rights, origins = zip(*_columns(run), strict=True)
    names = Names()
    try:
        sources = [
            stated(text_of(origin)) if origin else place
            for origin, place in zip(origins, _places(file, line, len(origins)), strict=True)
        ]
        return _facts(
            list(map(names.__getitem__, lefts)), signs, list(map(names.__getitem__, rights)), sources
        )
    except Declined:
        return None


def _facts(
    lefts: Sequence[str], signs: Sequence[str], rights: Sequence[str], sources: Iterable[str]
) -> list[Correspondence] | None:
    if any(map(eq, lefts, rights)):
        return None
    return facts_of(lefts, signs, rights, sources)


def _places(file: str | None, line: int, count: int) -> list[str]:
    return [line_of(file, number) for number in range(line, line + count)]
