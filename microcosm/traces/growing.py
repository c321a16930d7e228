"""A log that is read on where it grows: of what was appended, only that, as long as all of it is plain.

A log is plain that `microcosm.traces.columns` can read: own JSON lines without clocks, each process in its
order, each reception after its sending. What was read stays true of such a log, whatever is appended: only
a message that was under way may have arrived. Everywhere else (a file put in the place of another one, lines
that were written anew, something odd in what is new) there is no answer here, and the log is to be read
whole.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO

from microcosm.givens.relation import Correspondence, Relation
from microcosm.traces.columns import LogColumns, Opening, read_columns
from microcosm.traces.report import Extraction, Report
from microcosm.traces.text.lines import Lines
from microcosm.tuning import gc_paused

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Growth:
    """What a log says now (`found`, with its `report`), and what of that is new.

    New are the events from number `first` on, and the `links` to them, each a left end, a right end and a
    source. `steady` says whether all else is as it was: no event that nothing related is related now, and
    each new one is.
    """

    found: Extraction
    report: Report
    first: int
    links: list[tuple[int, int, str]]
    steady: bool

    def facts(self) -> list[Correspondence]:
        """The new links as correspondences. Cost: linear in what is new."""
        assert self.found.givens.events is not None
        names = self.found.givens.events.names
        return [Correspondence(names[a], Relation.BEFORE, names[b], source) for a, b, source in self.links]


class GrowingLog:
    """A plain log and how much of it was read: so many bytes of that file, with that digest."""

    def __init__(self, path: str, columns: LogColumns, inode: int, size: int, content: bytes) -> None:
        self.path = path
        self._columns = columns
        self._inode, self._size, self._digest = inode, size, sha256(content)

    @classmethod
    def begun(cls, path: str) -> tuple[GrowingLog, Growth] | None:
        """A log read from its beginning as far as its lines end; None if it is not plain. Cost: linear.

        Raises `OSError`.
        """
        with open(path, "rb") as file:
            inode, content = os.fstat(file.fileno()).st_ino, _whole_lines(file)
        if not _goes_on(content):
            return None
        with gc_paused():
            opening: Opening = lambda report: nullcontext(Lines(BytesIO(content), path, report))  # noqa: E731
            columns = read_columns([opening], in_order=True)
            if columns is None or len(columns) != content.count(b"\n"):
                return None
            log = cls(path, columns, inode, len(content), content)
            return log, log._growth(0, [])

    def read_on(self) -> Growth | None:
        """What was appended since, if that is all that happened; else None, and this is of no use any more.

        Raises `OSError`. Cost: linear in what is new; a digest of what was read, to see that it still stands;
        and a few passes over columns.
        """
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_ino != self._inode or not self._stands(file):
                return None
            content = _whole_lines(file)
        columns = self._columns
        first, unlinked, unseen = len(columns), columns.unlinked(), Report()
        with gc_paused():
            columns.own()
            if content:
                if not _goes_on(content):
                    return None
                for text in Lines(BytesIO(content), self.path, unseen).texts():
                    if not columns.take(text):
                        return None
            settled = not unseen.counts and columns.settle() and not columns.late
            if not settled or len(columns) - first != content.count(b"\n"):
                return None
            self._size += len(content)
            self._digest.update(content)
            return self._growth(first, unlinked)

    def _stands(self, file: BinaryIO) -> bool:
        """Whether what was read stands at the beginning of a file, which is left behind it."""
        digest, left = sha256(), self._size
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
        return not left and digest.digest() == self._digest.digest()

    def _growth(self, first: int, unlinked: list[int]) -> Growth:
        report, columns = Report(), self._columns
        found = columns.extraction(report)
        return Growth(found, report, first, columns.into(first), columns.unlinked() == unlinked)


def _whole_lines(file: BinaryIO) -> bytes:
    """The rest of a file as far as its lines end."""
    content = file.read()
    return content[: content.rfind(b"\n") + 1]


def _goes_on(content: bytes) -> bool:
    """Whether bytes may be own JSON lines as they stand: no other encoding, nothing packed."""
    return content.startswith(b'{"') and b"\0" not in content and b"\r" not in content
