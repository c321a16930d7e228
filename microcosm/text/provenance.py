"""Where a given came from: stated by `from "…"`, or else the place in the file, which need not be written.

A source is plain text. One that reads like a place in a file is taken for the default and not
written, unless someone stated it: then it is `Stated`, and kept.
"""

from __future__ import annotations

import re

_place = re.compile(r"(?:(?:.*:|line )\d+|(?:.*:)?(?:external|refuted)\[\d+\])\Z", re.DOTALL).match


class Stated(str):
    """A source that looks like a place in a file and yet was stated in words."""

    __slots__ = ()


def stated(source: str) -> str:
    """`source`, marked where that is needed to tell it from a default.

    >>> is_default(stated("node.log:12")), is_default("album.mc:12"), is_default("message m7")
    (False, True, False)
    """
    return Stated(source) if _place(source) else source


def is_default(source: str | None) -> bool:
    """Whether nobody stated this source: it is none at all, or a place given by a reader."""
    return source is None or (not isinstance(source, Stated) and _place(source) is not None)


def line_of(file: str | None, line: int) -> str:
    """The default source of what stands on a line."""
    return f"line {line}" if file is None else f"{file}:{line}"


def member_of(file: str | None, field: str, index: int) -> str:
    """The default source of a member of a JSON list."""
    return f"{field}[{index}]" if file is None else f"{file}:{field}[{index}]"
