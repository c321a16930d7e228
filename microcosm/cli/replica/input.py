"""The lines of standard input, one after the other and none of them too long."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

LONGEST = 8 << 20
"""Bytes of a line at most: the largest message as text, whatever characters it has, fits in."""

PIECE = 1 << 16


def lines() -> Iterator[str | None]:
    """Each line without its end; None for one of more than `LONGEST` bytes, which is passed over.

    Standard input is not read by its own buffer, which a thread that waits would keep locked at the end.
    """
    try:
        source = sys.stdin.fileno()
    except OSError:  # none of the system's: it is all there already
        for line in sys.stdin:
            yield line.rstrip("\n") if len(line) <= LONGEST else None
        return
    parts: list[bytes] = []
    size = 0
    while piece := os.read(source, PIECE):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield _line([*parts, end], size + len(end))
            parts, size = [], 0
        size += len(rest)
        if size <= LONGEST:
            parts.append(rest)
        else:
            parts = []
    yield _line(parts, size)


def _line(parts: list[bytes], size: int) -> str | None:
    return b"".join(parts).decode("utf-8", "replace") if size <= LONGEST else None
