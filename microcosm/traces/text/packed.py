"""What is packed, unpacked on the way to its lines: gzip, bzip2, xz, zstd.

What packs a file is told by its first bytes, not by its name; several packed pieces may follow one another. A
piece that is damaged or cut off gives what can be unpacked of it, and one `bad-archive` is reported.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from microcosm.errors import TextError, installing
from microcosm.traces.report import Report

BLOCK = 256 << 10
"""Bytes of a block that is handed on, roughly."""

_GZIP_ONLY = 16 + zlib.MAX_WBITS


class _Gzip:
    """A piece packed by gzip, as `bz2` and `lzma` have theirs. What stands before a fault within a block is
    kept, too."""

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


def _zstd() -> Any:
    """A piece packed by zstd."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor
    else:
        from backports.zstd import ZstdDecompressor

    return ZstdDecompressor()


_PACKED: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", _Gzip),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": ("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    b"(\xb5/\xfd": ("zstd", _zstd),
}
_ZIP = b"PK\x03\x04"

PACKED = (*_PACKED, _ZIP)
"""How what is packed begins."""


def unpacked(head: bytes, packed: Iterator[bytes], file: str, report: Report) -> Iterator[bytes]:
    """The blocks of a file, whose beginning says that it is packed, as they were before.

    Raises `TextError` for what packs several files, and for zstd where its library is missing. Memory: some
    blocks; cost: that of the library that unpacks.
    """
    if head.startswith(_ZIP):
        raise TextError("is compressed (zip)", file=file, hint="Unpack it first.")
    name, new = next(how for magic, how in _PACKED.items() if head.startswith(magic))
    try:
        new()
    except ImportError:
        hint = f"Install it: {installing('zstd')}, or unpack the file first."
        raise TextError(
            "is packed by zstd: `backports.zstd` is not installed", file=file, hint=hint
        ) from None
    return _unpack(new, name, packed, file, report)


def _unpack(
    new: Callable[[], Any], name: str, packed: Iterator[bytes], file: str, report: Report
) -> Iterator[bytes]:
    def damaged(why: str) -> None:
        detail = f"packed by {name}, {why}; what could be unpacked is read"
        report.add("bad-archive", detail, file=file)

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
