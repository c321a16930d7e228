"""What a session answers: lines for people and fields for programs, of the same thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from microcosm.cli import exits

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """`lines` are made while they are read, and once; `fields` are made instead of them.

    `outcome` is the exit code that the answer alone would call for, where something went wrong.
    """

    lines: Iterable[str]
    fields: Callable[[], Fields]
    outcome: int = exits.HOLDS
    ends: bool = False
    """Whether the session is over."""


def said(*lines: str, outcome: int = exits.HOLDS, ends: bool = False, **fields: object) -> Answer:
    """A short answer; its fields are `fields`, or `said` with its lines."""
    return Answer(lines, lambda: fields or {"said": list(lines)}, outcome, ends)


def packed(names: Iterable[str], columns: int) -> Iterator[str]:
    """Names side by side, as many on a line as `columns` have room for, at least one.

    >>> list(packed(["a", "bb", "ccc"], 6))
    ['a, bb,', 'ccc']
    """
    line = ""
    for name in names:
        if line and len(line) + len(name) + 3 > columns:
            yield line + ","
            line = name
        else:
            line = f"{line}, {name}" if line else name
    if line:
        yield line
