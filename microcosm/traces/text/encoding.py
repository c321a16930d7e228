"""From the bytes of a log to its text: what is packed is unpacked, what is no UTF-8 is made so.

What packs a file (gzip, bzip2, xz, zstd) is told by its first bytes, not by its name; several packed pieces
may follow one another. A piece that is damaged or cut off gives what can be unpacked of it, and one
`bad-archive` is reported.

A byte order mark tells UTF-8, UTF-16 and UTF-32; UTF-16 without one is told by its zero bytes. In what
should be UTF-8, a byte that is none becomes U+FFFD and its two hexadecimal digits: by U+FFFD alone two
names that differ could become one, and with them two processes.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol

from microcosm.errors import TextError, installing
from microcosm.traces.report import Report

REPLACED = "microcosm.replaced"
"""The error handler of codecs that puts U+FFFD and the hexadecimal digits for each bad byte."""

_SAMPLE = 1024
"""Bytes by which UTF-16 without a mark is told."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"\ufffd{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(REPLACED, _replaced)


def lenient(content: bytes) -> str:
    """Bytes that should be UTF-8 as text, whatever they are.

    >>> lenient(b"caf\\xe9"), lenient(b"caf\\xc3\\xa9")
    ('caf\ufffde9', 'café')
    """
    return content.decode("utf-8", REPLACED)


def decoded(content: bytes) -> str:
    """The text of a small file in any of these encodings, without its mark.

    >>> decoded("é".encode("utf-16")), decoded(b"\\xef\\xbb\\xbfa")
    ('é', 'a')
    """
    blocks = as_utf8(iter([content]), "", Report())
    return lenient(b"".join(blocks)).removeprefix("\ufeff")


def as_utf8(blocks: Iterator[bytes], file: str, report: Report) -> Iterator[bytes]:
    """Blocks of text in any encoding as UTF-8; faults stay bytes that are none. Memory: a block."""
    head, blocks = looked_at(blocks, _SAMPLE)
    encoding = _encoding(head)
    if encoding is None:
        return blocks
    report.add("other-encoding", f"is {encoding}, read as such", file=file, line=1)
    return _recoded(blocks, encoding)


def is_utf8(head: bytes) -> bool:
    """Whether nothing at the beginning of a file tells that it is in another encoding.

    >>> is_utf8(b"\\xef\\xbb\\xbf{}"), is_utf8("{}".encode("utf-16"))
    (True, False)
    """
    return _encoding(head) is None


def _encoding(head: bytes) -> str | None:
    """The encoding that a file begins in, None for UTF-8."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[: _SAMPLE & ~1]
    if sample[:4].count(0) != 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if others == 0 and zeros * 4 > len(sample):  # half of all second bytes
            return encoding
    return None


def _recoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Text in UTF-16 or UTF-32 as UTF-8.

    A unit that is none becomes a lone surrogate, which is no UTF-8, and its digits. Half a character at
    the very end is dropped: the writer was stopped within it.
    """
    decoder = codecs.getincrementaldecoder(encoding)("microcosm.surrogate")
    for block in blocks:
        text = decoder.decode(block)
        if text:
            yield text.encode("utf-8", "surrogatepass")


def _surrogate(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udfff" + error.object[error.start : error.end].hex(), error.end


codecs.register_error("microcosm.surrogate", _surrogate)


BLOCK = 256 << 10
"""Bytes of a block that is handed on, roughly."""

_MAGIC = 6
"""So many first bytes tell what packs a file."""

_ZSTD_SLICE = 512
"""Bytes given to zstd at a time: it unpacks all that it is given, perhaps to 32,000 times the size."""

_GZIP_ONLY = 16 + zlib.MAX_WBITS


class _Unpacking(Protocol):
    """One packed piece on its way, as `bz2` and `lzma` have it."""

    @property
    def eof(self) -> bool:
        """Whether the piece has ended."""

    @property
    def unused_data(self) -> bytes:
        """What stands after the piece."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left to be unpacked of what was given."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Take `data` and give at most `max_length` bytes."""


class _Gzip:
    """A piece packed by gzip. What stands before a fault within a block is kept, too."""

    def __init__(self) -> None:
        self._unzip = zlib.decompressobj(_GZIP_ONLY)
        self._rest = b""
        self._fault: zlib.error | None = None

    @property
    def eof(self) -> bool:
        return self._unzip.eof

    @property
    def unused_data(self) -> bytes:
        return self._unzip.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._rest and self._fault is None

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._fault is not None:
            raise self._fault
        before, data = self._unzip.copy(), self._rest + data
        try:
            block = self._unzip.decompress(data, max_length)
        except zlib.error as fault:
            self._fault = fault
            return b"".join(_until_fault(before, data))
        self._rest = self._unzip.unconsumed_tail
        return block


def _until_fault(unzip: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What can be unpacked before the first byte at which it fails."""
    try:
        for at in range(len(data)):
            yield unzip.decompress(data[at : at + 1])
    except zlib.error:
        return


class _Zstd:
    """A piece packed by zstd, by the library `zstandard`."""

    def __init__(self) -> None:
        import zstandard

        self._unpack = zstandard.ZstdDecompressor().decompressobj()
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._unpack.eof

    @property
    def unused_data(self) -> bytes:
        return self._unpack.unused_data + (self._rest if self._unpack.eof else b"")

    @property
    def needs_input(self) -> bool:
        return not self._rest

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        given = self._rest + data
        at = 0
        blocks: list[bytes] = []
        while at < len(given) and not self._unpack.eof and sum(map(len, blocks)) < BLOCK:
            blocks.append(self._unpack.decompress(given[at : at + _ZSTD_SLICE]))
            at += _ZSTD_SLICE
        self._rest = given[at:]
        return b"".join(blocks)


_PACKED: dict[bytes, tuple[str, Callable[[], _Unpacking]]] = {
    b"\x1f\x8b": ("gzip", _Gzip),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": ("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    b"(\xb5/\xfd": ("zstd", _Zstd),
}
_ZIP = b"PK\x03\x04"


def unpacked(blocks: Iterator[bytes], file: str, report: Report) -> tuple[Iterator[bytes], bool]:
    """The blocks of a file as they were before it was packed, and whether it was.

    Raises `TextError` for what packs several files, and for zstd where its library is missing. Memory: some
    blocks; cost: that of the library that unpacks.
    """
    head, blocks = looked_at(blocks, _MAGIC)
    if head.startswith(_ZIP):
        raise TextError("is compressed (zip)", file=file, hint="Unpack it first.")
    for magic, (name, new) in _PACKED.items():
        if head.startswith(magic):
            try:
                new()
            except ImportError:
                hint = f"Install it: {installing('zstd')}, or unpack the file first."
                raise TextError(
                    "is packed by zstd: `zstandard` is not installed", file=file, hint=hint
                ) from None
            return _unpack(new, name, blocks, file, report), True
    return blocks, False


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is unpacked on the way to a reader."""
    return head.startswith(tuple(_PACKED))


def looked_at(blocks: Iterator[bytes], least: int) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of some blocks, at least so many if there are, and the blocks from the beginning."""
    seen = b""
    for block in blocks:
        seen += block
        if len(seen) >= least:
            break
    return seen, chain([seen] if seen else [], blocks)


def _unpack(
    new: Callable[[], _Unpacking], name: str, packed: Iterator[bytes], file: str, report: Report
) -> Iterator[bytes]:
    def damaged(why: str) -> None:
        said = f"packed by {name}, {why}; what could be unpacked is read"
        report.add("bad-archive", said, file=file)

    piece = new()
    given = next(packed, b"")
    while True:
        try:
            block = piece.decompress(given, BLOCK)
        except Exception as fault:  # each library has its own exceptions for damage
            return damaged(f"and damaged ({fault})")
        given = b""
        if block:
            yield block
        if piece.eof:
            given = piece.unused_data.lstrip(b"\0")
            while not given:
                if not (given := next(packed, b"")):
                    return None
                given = given.lstrip(b"\0")
            piece = new()
        elif piece.needs_input and not (given := next(packed, b"")):
            return damaged("and cut off")
