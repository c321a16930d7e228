"""The lines of a trace, streamed, and what one says in JSON: a trace may be larger than memory, a line not.

The conventions are those of `microcosm.files`: `-` is standard input, and whatever is wrong with a
path or its bytes is one `TextError`.

A byte order mark tells UTF-8, UTF-16 and UTF-32; UTF-16 without one is told by its zero bytes. In what
should be UTF-8, a byte that is none becomes U+FFFD and its two hexadecimal digits: by U+FFFD alone two
names that differ could become one, and with them two processes.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import BytesIO
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import BinaryIO, NoReturn

from microcosm.errors import MicrocosmError, TextError
from microcosm.files import STDIN, aside, display_name, rewind, standard_input, unreadable
from microcosm.traces.event import writable
from microcosm.traces.report import Report
from microcosm.traces.text.packed import PACKED, unpacked

LINE_LIMIT = 64 << 20
"""Bytes of a line; a longer one is reported and skipped."""

HEAD = 64 << 10
"""Bytes at the beginning of a trace by which its format is told."""

LOOKED_AT = 20
"""Lines at the beginning of a file that may tell its format: the first ones may be damaged."""

_BLOCK = 256 << 10
_MARK = "\ufeff"


class Lines:
    """The numbered lines of a binary stream, without their ends; to be gone through once.

    `file` is the name for messages and `head` the beginning of the text, looked at beforehand. A
    line longer than `limit` bytes is reported and skipped; `before` lines precede the stream. What is
    packed is unpacked on the way (`microcosm.traces.text.packed`), other encodings become UTF-8, which is
    reported, a byte that is no UTF-8 is replaced and its line reported, and a carriage return alone ends a
    line, which is reported once. Memory: a few blocks, and at most one line.

    >>> from io import BytesIO
    >>> list(Lines(BytesIO(b"a\\r\\n\\nb\\rc"), "<a doctest>", Report()))
    [(1, 'a'), (2, ''), (3, 'b'), (4, 'c')]
    """

    def __init__(
        self, binary: BinaryIO, file: str, report: Report, limit: int = LINE_LIMIT, before: int = 0
    ) -> None:
        self.file = file = file.encode(errors="backslashreplace").decode()  # `display_name`, less a call
        self.cut_off = False
        """Whether the line at hand is the last one and has no line end: it may be half-written."""
        self._binary = binary
        self._report = report
        self._limit = limit
        self._number = before
        first, blocks = _looked_at(self._raw())
        self._is_packed = first.startswith(PACKED)
        if self._is_packed:
            first, blocks = _looked_at(unpacked(first, blocks, file, report))
        if first[257:262] == b"ustar":  # its files would be read as one, each without its first line
            raise TextError("holds several files (tar)", file=file, hint="Unpack it first.")
        encoding = encoding_of(first)
        if encoding is not None:
            report.add("other-encoding", f"is {encoding}, read as such", file=file, line=1)
            first, blocks = _looked_at(_recoded(blocks, encoding))
        self._blocks = blocks
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

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for text in self.texts():
            for line in text.split("\n"):
                self._number += 1
                yield self._number, line

    def filled(self) -> Iterator[tuple[int, str]]:
        """The numbered lines that are not blank."""
        return ((number, text) for number, text in self if text and not text.isspace())

    def pieces(self) -> Iterator[str]:
        """The stream in pieces of any length, their lines ending in `\\n`: for what is not made of lines."""
        begun = b""
        for block in self._line_ends():
            pending = begun + block
            end = len(pending) - _unfinished(pending)
            begun = pending[end:]
            text = self._decoded(pending[:end])
            self._number += text.count("\n")
            yield text

    def texts(self) -> Iterator[str]:
        """The stream in pieces of whole lines, the end of the last one of each dropped."""
        begun: list[bytes] = []
        size = 0
        skipping = False
        for found in self._line_ends():
            block = found
            if skipping:
                _, ended, block = block.partition(b"\n")
                if not ended:
                    continue
                self._number += 1
                skipping = False
            end = block.rfind(b"\n")
            if end >= 0:
                yield self._decoded(b"".join((*begun, block[:end])))
                begun, size = [], 0
            rest = block[end + 1 :]
            if rest:
                begun.append(rest)
                size += len(rest)
            if size > self._limit:
                message = f"longer than {self._limit:,} bytes; skipped"
                self._report.add("long-line", message, file=self.file, line=self._number + 1, lost=1, lines=1)
                begun, size, skipping = [], 0, True
        if begun:
            self.cut_off = True
            yield self._decoded(b"".join(begun))

    def _line_ends(self) -> Iterator[bytes]:
        """The blocks, each line ending in `\\n`; the first that ends in a carriage return alone is told."""
        kept, line, told = b"", self._number + 1, False
        for found in chain(self._blocks, (b"",)):
            block = kept + found
            kept = (
                b"\r" if found and block.endswith(b"\r") else b""
            )  # its other half may be in the next block
            if b"\r" in block:
                block = block[: len(block) - len(kept)].replace(b"\r\n", b"\n")
                if (at := block.find(b"\r")) >= 0 and found and not told:
                    told = True
                    detail = "a line ends in a carriage return alone; each is taken for a line end"
                    place = line + block.count(b"\n", 0, at)
                    self._report.add("line-end", detail, file=self.file, line=place)
                block = block.replace(b"\r", b"\n")
            line += block.count(b"\n")
            yield block

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
        return text

    def _replaced(self, block: bytes) -> str:
        """Lines of which some are no UTF-8; each of these is reported."""
        for at, line in enumerate(block.split(b"\n"), self._number + 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                column = len(lenient(line[: error.start])) + 1
                detail = f"byte 0x{line[error.start]:02x} is no UTF-8 and is replaced (column {column})"
                self._report.add("bad-encoding", detail, file=self.file, line=at)
        return lenient(block)

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
        yield Lines(standard_input(), display_name(name), report)
        return
    if name in aside:
        rewind(name)
        yield Lines(aside[name], name, report)
        return
    try:
        binary = Path(name).open("rb")  # noqa: SIM115 (closed below; only opening may fail here)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
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


def _end_of_whole_lines(binary: BinaryIO) -> int | None:
    """The bytes of a file up to its last line end, the file being left at its beginning; None to read all."""
    head = binary.read(HEAD)
    first, ended, _ = head.partition(b"\n")
    end = None
    if (
        ended
        and first.strip() not in (b"{", b"[", b"")
        and b"\0" not in head
        and not head.startswith((*PACKED, b"PAR1"))
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


# -- encodings -------------------------------------------------------------------------------------------

REPLACED = "microcosm.replaced"
"""The error handler of codecs that puts U+FFFD and the hexadecimal digits for each bad byte."""

_SAMPLE = 1024
"""Bytes by which it is told what packs a file, and UTF-16 without a mark."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _with_digits(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"\ufffd{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(REPLACED, _with_digits)


def lenient(content: bytes) -> str:
    """Bytes that should be UTF-8 as text, whatever they are.

    >>> lenient(b"caf\\xe9"), lenient(b"caf\\xc3\\xa9")
    ('caf\ufffde9', 'café')
    """
    return content.decode("utf-8", REPLACED)


def encoding_of(head: bytes) -> str | None:
    """The encoding that a file begins in, None for UTF-8.

    >>> encoding_of(b"\\xef\\xbb\\xbf{}"), encoding_of("{}".encode("utf-16"))
    (None, 'utf-16-le')
    """
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


def _looked_at(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of some blocks, as many as tell what they are, and the blocks from the beginning."""
    seen = b""
    for block in blocks:
        seen += block
        if len(seen) >= _SAMPLE:
            break
    return seen, chain([seen] if seen else [], blocks)


# -- what a line says in JSON ---------------------------------------------------------------------------


class BadLine(MicrocosmError):
    """Why a line is no event, in words."""


class NotJson(BadLine):
    """The line is no JSON either; the last one of a log may be half-written."""


def why_bad(fault: BadLine, cut_off: bool) -> str:
    """What is wrong with a line, in words; `cut_off` if it is the last one and has no line end."""
    return f"half-written last line: {fault}" if cut_off and isinstance(fault, NotJson) else str(fault)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


json_text = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
"""A value as JSON, the same for equal ones."""

_decode = JSONDecoder(parse_constant=_refuse).raw_decode


def json_object(text: str, once: Collection[str] = ()) -> dict[str, object]:
    """The object that a line is. Raises `BadLine`, or `NotJson` where it is no JSON at all.

    Of two values of one field JSON keeps the last: none of `once` may have two. Only a line with more keys
    than its object and those in it is looked at for that again.

    >>> json_object(' {"a": 1} ')
    {'a': 1}
    """
    try:
        record, end = _decode(text, len(text) - len(text.lstrip()))
    except JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise NotJson(f"not JSON: {error}") from None
    except RecursionError:
        raise BadLine("not an event: nested too deeply") from None
    if end < len(text) and not text[end:].isspace():
        raise NotJson(f"not JSON: more text after the object (column {end + 1})")
    if "\\u" in text and not writable(json.dumps(record, ensure_ascii=False)):
        raise BadLine("half of a surrogate pair is no text")
    if type(record) is not dict:
        raise BadLine("not an event: a JSON object is expected")
    if once and (more := text.count('":') - len(record)) > 0:
        for value in record.values():
            if type(value) is dict:
                more -= len(value)
        if more:
            _expect_once(text, once)
    return record


def any_object(head: str, is_one: Callable[[dict[str, object]], object]) -> bool:
    """Whether one of the first lines, of which some may be damaged, is an object of a kind.

    `is_one` says so, or raises `BadLine`.
    """
    for line in head.split("\n")[:LOOKED_AT]:
        with suppress(BadLine):
            if is_one(json_object(line)):
                return True
    return False


def _expect_once(text: str, fields: Collection[str]) -> None:
    """Raises `BadLine` where an object gives a field two values."""
    stated: dict[str, object] = {}
    for name, value in json.loads(text, object_pairs_hook=list):
        if name in fields and stated.setdefault(name, value) != value:
            raise BadLine(f"`{name}` stands twice, and says two things")
