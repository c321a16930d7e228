"""The lines of a trace, streamed: a trace may be larger than memory, and a line must not be.

The conventions are those of `microcosm.files`: `-` is standard input, and whatever is wrong with a
path or its bytes is one `TextError`.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from microcosm.errors import TextError
from microcosm.files import STDIN, display_name, explaining
from microcosm.traces.report import Report
from microcosm.traces.text.encoding import as_utf8, lenient, looked_at, unpacked

LINE_LIMIT = 64 << 20
"""Bytes of a line; a longer one is reported and skipped."""

HEAD = 64 << 10
"""Bytes at the beginning of a trace by which its format is told."""

_BLOCK = 256 << 10
_LINE_END = re.compile(rb"\r\n?|\n")
_MARK = "\ufeff"


class Lines:
    """The numbered lines of a binary stream, without their ends; to be gone through once.

    `file` is the name for messages and `head` the beginning of the text, looked at beforehand. A
    line longer than `limit` bytes is reported and skipped; `before` lines precede the stream. What is
    packed is unpacked on the way (`microcosm.traces.text.encoding`), other encodings become UTF-8
    (`microcosm.traces.text.encoding`), a byte that is no UTF-8 is replaced and its line reported, and a
    carriage return alone ends a line, which is reported once. Memory: a few blocks, and at most one line.

    >>> from io import BytesIO
    >>> list(Lines(BytesIO(b"a\\r\\n\\nb\\rc"), "<a doctest>", Report()))
    [(1, 'a'), (2, ''), (3, 'b'), (4, 'c')]
    """

    def __init__(
        self, binary: BinaryIO, file: str, report: Report, limit: int = LINE_LIMIT, before: int = 0
    ) -> None:
        self.file = file
        self.cut_off = False
        """Whether the line at hand is the last one and has no line end: it may be half-written."""
        self._binary = binary
        self._report = report
        self._limit = limit
        self._number = before
        self._returns = False
        """Whether it was reported that lines end in a carriage return."""
        blocks, self._is_packed = unpacked(self._raw(), file, report)
        first, self._blocks = looked_at(as_utf8(blocks, file, report), 1)
        head = first[:HEAD].decode("utf-8", "replace").removeprefix(_MARK)
        self.head = head.replace("\r\n", "\n").replace("\r", "\n") if "\r" in head else head

    def binary(self) -> BinaryIO:
        """The stream from its beginning, to seek in: for formats that are no text.

        What cannot be sought in (a pipe, a packed file) is read whole.
        """
        if not self._is_packed and self._binary.seekable():
            self._binary.seek(0)
            return self._binary
        return BytesIO(b"".join(self._blocks))

    def texts(self) -> Iterator[str]:
        """The stream in pieces of whole lines, the end of the last one of each dropped."""
        return map(self._decoded, self._whole_lines())

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for text in map(self._decoded, self._whole_lines()):
            for line in text.split("\n"):
                self._number += 1
                yield self._number, line

    def pieces(self) -> Iterator[str]:
        """The stream in pieces of any length, their lines ending in `\\n`: for what is not made of lines."""
        begun = b""
        for block in self._blocks:
            pending = begun + block
            end = len(pending) - (_unfinished(pending) or pending.endswith(b"\r"))
            begun = pending[end:]
            text = self._decoded(pending[:end])
            self._number += text.count("\n")
            yield text
        if begun == b"\r":
            yield "\n"

    def _whole_lines(self) -> Iterator[bytes]:
        """The stream in pieces of whole lines, the end of the last one dropped."""
        begun: list[bytes] = []
        size = 0
        skipping = False
        kept = b""  # a carriage return, of which the other half may be in the next block
        for block in self._blocks:
            if kept:
                block = kept + block  # noqa: PLW2901 (the two belong together)
            kept = block[-1:] if block.endswith(b"\r") else b""
            if kept:
                block = block[:-1]  # noqa: PLW2901 (until the next one is there)
            if skipping:
                found = _LINE_END.search(block)
                if found is None:
                    continue
                block = block[found.end() :]  # noqa: PLW2901 (the rest of the block)
                self._number += 1
                skipping = False
            stop = end = block.rfind(b"\n")
            if end < 0:
                stop = end = block.rfind(b"\r")
                if end >= 0:
                    self._ends_in_return(self._number + 1)
            elif block[end - 1 : end] == b"\r":
                stop -= 1
            if end >= 0:
                yield b"".join((*begun, block[:stop]))
                begun, size = [], 0
            rest = block[end + 1 :]
            if rest:
                begun.append(rest)
                size += len(rest)
            if size > self._limit:
                message = f"longer than {self._limit:,} bytes; skipped"
                self._report.add("long-line", message, file=self.file, line=self._number + 1, lost=1, lines=1)
                begun, size, skipping = [], 0, True
        if begun or (kept and not skipping):
            self.cut_off = not kept
            yield b"".join(begun)

    def _decoded(self, block: bytes) -> str:
        """The text of some lines, which all end in `\\n` then."""
        try:
            text = block.decode()
        except UnicodeDecodeError:
            if self.cut_off:  # the writer may have been stopped within a character
                block = block[: len(block) - _unfinished(block)]
            text = self._replaced(block)
        if _MARK in text:
            text = re.sub(f"^{_MARK}", "", text, flags=re.MULTILINE)  # files with marks may be joined
        if "\r" in text:
            text = text.replace("\r\n", "\n")
            if "\r" in text:
                self._ends_in_return(self._number + text.count("\n", 0, text.index("\r")) + 1)
                text = text.replace("\r", "\n")
        return text

    def _replaced(self, block: bytes) -> str:
        """Lines of which some are no UTF-8; each of these is reported."""
        lines = _LINE_END.split(block)
        for at, line in enumerate(lines, self._number + 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                column = len(lenient(line[: error.start])) + 1
                said = f"byte 0x{line[error.start]:02x} is no UTF-8 and is replaced (column {column})"
                self._report.add("bad-encoding", said, file=self.file, line=at)
        return lenient(block)

    def _ends_in_return(self, line: int) -> None:
        """Report the first line that ends in a carriage return alone."""
        if not self._returns:
            self._returns = True
            said = "a line ends in a carriage return alone; each is taken for a line end"
            self._report.add("line-end", said, file=self.file, line=line)

    def _raw(self) -> Iterator[bytes]:
        while True:
            try:
                block = self._binary.read(_BLOCK)
            except OSError as error:
                raise TextError(f"cannot be read: {error.strerror}", file=self.file) from None
            if not block:
                return
            if self._report.took is not None:
                self._report.took(len(block))
            yield block


def _unfinished(block: bytes) -> int:
    """How many bytes at the end of the block begin a character that the block does not end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(block[-4:])
    return len(decoder.getstate()[0])


@contextmanager
def open_lines(path: str | os.PathLike[str], report: Report) -> Iterator[Lines]:
    """The lines of the file `path` (`-`: standard input). Raises `TextError` for what cannot be read."""
    name = os.fspath(path)
    if name == STDIN:
        yield Lines(sys.stdin.buffer, display_name(name), report)
        return
    with explaining(name):
        binary = Path(name).open("rb")  # noqa: SIM115 (closed below; only opening may fail here)
    with binary:
        end = _end_of_whole_lines(binary) if _only_whole.get() else None
        yield Lines(binary if end is None else BytesIO(binary.read(end)), name, report)


_only_whole = ContextVar("_only_whole", default=False)


@contextmanager
def only_whole_lines() -> Iterator[None]:
    """While inside, a file of text is read as far as its lines end: its writer may be within the last one.

    What is packed, no text, or one document of many lines is read as it is. Such a file is held in memory.
    """
    before = _only_whole.set(True)
    try:
        yield
    finally:
        _only_whole.reset(before)


_NO_LINES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PAR1")
"""How packed files and Parquet begin."""


def _end_of_whole_lines(binary: BinaryIO) -> int | None:
    """The bytes of a file up to its last line end, the file being left at its beginning; None to read all."""
    head = binary.read(HEAD)
    first, ended, _ = head.partition(b"\n")
    end = None
    if (
        ended
        and first.strip() not in (b"{", b"[", b"")
        and b"\0" not in head
        and not head.startswith(_NO_LINES)
    ):
        at = binary.seek(0, os.SEEK_END)
        end = 0
        while at and not end:
            begin = max(0, at - _BLOCK)
            binary.seek(begin)
            block = binary.read(at - begin)
            end = begin + block.rfind(b"\n") + 1 if b"\n" in block else 0
            at = begin
    binary.seek(0)
    return end
