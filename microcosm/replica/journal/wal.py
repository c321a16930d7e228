"""The write-ahead log of SQLite, read by eyes of our own before SQLite recovers from it.

SQLite takes the frames up to the first that does not check and forgets the rest without a word, which is
right for a transaction that a crash cut short and wrong for one that was durable. So the file is read first,
after "The Write-Ahead Log" in *SQLite File Format*: a header of 32 bytes, then frames of a header of 24 bytes
and a page; a frame counts if it has the salts of the header and its checksum continues that of the frame
before.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

HEADER, FRAME = 32, 24
MAGIC = 0x377F0682
"""Of the header; its last bit says that checksums read words with the big end first."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a log holds. Frames after the last good commit belong to no transaction that SQLite will see."""

    header: str = "none"
    """`good`, `none` (there is no log, or one that was begun and not written), or `bad`."""

    committed: int = 0
    """How many frames lie up to the last commit mark of those that check."""

    after: int = 0
    """How many whole frames after them carry the salts of the header."""

    marks: int = 0
    """How many of those carry a commit mark."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What no crash explains: only the last transaction can be torn, and it has one commit mark."""
        if self.header == "bad":
            return ("the header of the write-ahead log does not check",)
        if self.marks > 1:
            where = f"frame {self.committed + 1} of the write-ahead log or one soon after"
            return (f"{where} does not check, and {self.marks} transactions follow it",)
        return ()


def scan(path: Path) -> Scan:
    """Read a log. Cost: its size, and some 25 MB a second for the frames that are in use."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Scan()
    return scan_bytes(content)


def scan_bytes(content: bytes) -> Scan:
    """What a write-ahead log of this content holds.

    >>> scan_bytes(b"").header, scan_bytes(bytes(4128)).header, scan_bytes(b"x" * 99).header
    ('none', 'none', 'bad')
    """
    if not any(content[:HEADER]) or len(content) < HEADER:
        return Scan()
    magic, version, size, _, _, _, first, second = struct.unpack(">8I", content[:HEADER])
    order = ">" if magic & 1 else "<"
    if magic & ~1 != MAGIC or version != 3_007_000 or size < 512 or size > 65_536 or size & (size - 1):
        return Scan("bad")
    running = _checksum(content[: HEADER - 8], order, (0, 0))
    if running != (first, second):
        return Scan("bad")
    return _frames(content, size, order, running)


def _frames(content: bytes, size: int, order: str, running: tuple[int, int]) -> Scan:
    salts = content[16:24]
    view = memoryview(content)
    good, committed, after, marks = True, 0, 0, 0
    for index, at in enumerate(range(HEADER, len(content) - FRAME - size + 1, FRAME + size)):
        page, mark = struct.unpack_from(">2I", content, at)
        ours = content[at + 8 : at + 16] == salts
        if good:
            good = ours and page != 0
            if good:
                running = _checksum(view[at : at + 8], order, running)
                running = _checksum(view[at + FRAME : at + FRAME + size], order, running)
                good = running == struct.unpack_from(">2I", content, at + 16)
        if good and mark:
            committed, after, marks = index + 1, 0, 0
        elif ours:
            after += 1
            marks += mark != 0
    return Scan("good", committed, after, marks)


def _checksum(content: bytes | memoryview, order: str, running: tuple[int, int]) -> tuple[int, int]:
    """Two sums modulo 2**32 over pairs of words, each adding the other: Fibonacci-weighted."""
    one, two = running
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for i in range(0, len(words), 2):
        one = (one + words[i] + two) & 0xFFFFFFFF
        two = (two + words[i + 1] + one) & 0xFFFFFFFF
    return one, two
