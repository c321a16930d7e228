"""Lines of many megabytes: their shape, found in linear time and constant memory.

In a chain, a group or a clock no link says anything about the shape of those after it. So the lane can
know that a long line has the shape of a statement before it cuts it into millions of tokens, and the
grammar need not see more than the last link to find the fault of the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from microcosm.text.names import STRING
from microcosm.text.statement_tokens import ENTRY, LINE_END, OPERAND, SIGN, WORD_END

LINKS = 1000
"""So many links are matched at once; the memory of a match grows with them."""

LONG = 10_000
"""Characters above which a line is long."""


class Shape(NamedTuple):
    """Where the last links of a line (up to a thousand) begin and end, and whether the line ends well."""

    last: int
    end: int
    whole: bool


def shape(line: str) -> Shape:
    """The shape of a line, read as the one kind of list that it can be by its first word."""
    kind, last = _kind_of(line)
    end = last
    while match := kind.links(line, end):
        last, end = end, match.end()
    return Shape(last, end, kind.tail(line, end) is not None)


def pieces(line: str) -> Iterator[tuple[str, int, int]]:
    """Short statements of which one has the fault of a long one.

    Each comes with the length of the head that it shares with the line, and the number of characters
    left out after the head. If the line has not the shape of a statement, the fault is behind its last
    complete link; else it is one that a shape does not show, such as a keyword for a name.
    """
    kind, begin = _kind_of(line)
    found = shape(line)
    if found.whole:
        start = begin
        while (match := kind.links(line, start)) and match.end() < found.end:
            following = kind.item(line, match.end())
            assert following is not None
            yield f"{line[:begin]} {line[start : following.end()]}{kind.close}", begin, start - begin - 1
            start = match.end()
    yield f"{line[:begin]} {line[found.last :]}", begin, found.last - begin - 1


_Match = Callable[[str, int], re.Match[str] | None]


class _Kind(NamedTuple):
    """A kind of list: what it begins with, its items, those with the joint to the next, and its end."""

    head: Callable[[str], re.Match[str] | None]
    item: _Match
    links: _Match
    tail: _Match
    close: str


def _kind(head: str, item: str, joint: str, rest: str = "", close: str = "") -> _Kind:
    return _Kind(
        re.compile(rf"\s*{head}").match,
        re.compile(rf"\s*{item}").match,
        re.compile(rf"(?:\s*{item}\s*{joint}){{1,{LINKS}}}").match,
        re.compile(rf"\s*{item}\s*{rest}{LINE_END}").match,
        close,
    )


_KINDS = (
    _kind(rf"internal{WORD_END}", OPERAND, SIGN),
    _kind(rf"token{WORD_END}{OPERAND}\s*=", OPERAND, ","),
    _kind(rf"send{WORD_END}{OPERAND}\s*=\s*{OPERAND}\s*{OPERAND}\s*->", OPERAND, ","),
    _kind(
        rf"clock{WORD_END}{OPERAND}\s*=\s*{OPERAND}\s*\{{",
        ENTRY,
        ",",
        rf"\}}\s*(?:unticked{WORD_END})?(?:in{WORD_END}{OPERAND})?",
        "}",
    ),
    _kind("", OPERAND, SIGN, rf"(?:from\s*{STRING})?"),
)


def _kind_of(line: str) -> tuple[_Kind, int]:
    """The kind of list on a line, and where its head ends. A chain has no head, and is the last guess."""
    for kind in _KINDS:
        if head := kind.head(line):
            return kind, head.end()
    raise AssertionError
