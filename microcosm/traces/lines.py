"""The lines of a trace, streamed: a trace may be larger than memory, and a line must not be.

The conventions are those of `microcosm.files`: `-` is standard input, and whatever is wrong with a
path or its bytes is one `TextError`.
"""

from __future__ import annotations

import codecs
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from microcosm.errors import TextError
from microcosm.files import STDIN, decode, display_name, explaining
from microcosm.traces.report import Report

LINE_LIMIT = 64 << 20
"""Bytes of a line; a longer one is reported and skipped."""

HEAD = 64 << 10
"""Bytes at the beginning of a trace by which its format is told."""

_BLOCK = 256 << 10
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_GZIP = b"\x1f\x8b"
_COMPRESSED = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


class Lines:
    """The numbered lines of a binary stream, without their ends; to be gone through once.

    `file` is the name for messages and `head` the beginning of the text, looked at beforehand. A
    line longer than `limit` bytes is reported and skipped; `before` lines precede the stream. Bytes
    that are no UTF-8 raise `TextError` with line and column. What gzip packed is unpacked on the way.
    Memory: a few blocks, and at most one line.

    >>> from io import BytesIO
    >>> list(Lines(BytesIO(b"a\\r\\n\\nb"), "<a doctest>", Report()))
    [(1, 'a'), (2, ''), (3, 'b')]
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
        self._unzip: zlib._Decompress | None = None
        self._ahead = self._raw()
        if self._ahead.startswith(_GZIP):
            self._unzip = zlib.decompressobj(_GZIP_ONLY)
            self._packed, self._ahead = self._ahead, b""
            self._ahead = self._unzipped()
        for magic, compression in _COMPRESSED.items():
            if self._ahead.startswith(magic):
                raise TextError(f"is compressed ({compression})", file=file, hint="Unpack it first.")
        self.head = self._ahead[:HEAD].decode("utf-8", "replace").removeprefix("\ufeff")

    def text(self) -> str:
        """All that is left, as one text: for formats that are not made of lines."""
        return decode(b"".join(self._blocks()), self.file)

    def binary(self) -> BinaryIO:
        """The stream from its beginning, to seek in: for formats that are no text.

        What cannot be sought in (a pipe, a packed file) is read whole.
        """
        if self._unzip is None and self._binary.seekable():
            self._binary.seek(0)
            return self._binary
        return BytesIO(b"".join(self._blocks()))

    def texts(self) -> Iterator[str]:
        """The stream in pieces of whole lines, the end of the last one of each dropped."""
        return map(self._decoded, self._whole_lines())

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for text in self.texts():
            for line in text.split("\n"):
                self._number += 1
                yield self._number, line

    def _whole_lines(self) -> Iterator[bytes]:
        """The stream in pieces of whole lines, the end of the last one dropped."""
        begun: list[bytes] = []
        size = 0
        skipping = False
        for block in self._blocks():
            if skipping:
                _, end, block = block.partition(b"\n")  # noqa: PLW2901 (the rest of the block)
                if not end:
                    continue
                self._number += 1
                skipping = False
            whole, end, rest = block.rpartition(b"\n")
            if end:
                yield b"".join((*begun, whole))
                begun, size = [], 0
            if rest:
                begun.append(rest)
                size += len(rest)
            if size > self._limit:
                message = f"longer than {self._limit:,} bytes; skipped"
                self._report.add("long-line", message, file=self.file, line=self._number + 1, lost=1, lines=1)
                begun, size, skipping = [], 0, True
        if begun:
            self.cut_off = True
            yield b"".join(begun)

    def _decoded(self, block: bytes) -> str:
        if self.cut_off:  # the writer may have been stopped within a character
            block = block[: len(block) - _unfinished(block)]
        try:
            text = decode(block, self.file)
        except TextError as error:
            error.line = self._number + (error.line or 1)
            raise
        return text.replace("\r\n", "\n").removesuffix("\r") if "\r" in text else text

    def _blocks(self) -> Iterator[bytes]:
        block, self._ahead = self._ahead, b""
        while block:
            yield block
            block = self._block()

    def _block(self) -> bytes:
        return self._raw() if self._unzip is None else self._unzipped()

    def _unzipped(self) -> bytes:
        """The next block of what is packed; a file may be packed in several pieces."""
        assert self._unzip is not None
        while True:
            if self._unzip.eof:
                self._packed = self._unzip.unused_data.lstrip(b"\0")
            if not self._packed:
                self._packed = self._raw()
                if not self._packed:
                    if not self._unzip.eof:
                        raise TextError("is cut off: the packed text does not end", file=self.file)
                    return b""
            if self._unzip.eof:
                self._unzip = zlib.decompressobj(_GZIP_ONLY)
            try:
                block = self._unzip.decompress(self._packed, _BLOCK)
            except zlib.error as error:
                raise TextError(f"cannot be unpacked: {error}", file=self.file) from None
            self._packed = self._unzip.unconsumed_tail
            if block:
                return block

    def _raw(self) -> bytes:
        try:
            return self._binary.read(_BLOCK)
        except OSError as error:
            raise TextError(f"cannot be read: {error.strerror}", file=self.file) from None


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
        yield Lines(binary, name, report)
