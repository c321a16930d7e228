"""The encoding of a log: what is no UTF-8 is made so, and the bytes that are no text are told apart.

A byte order mark tells UTF-8, UTF-16 and UTF-32; UTF-16 without one is told by its zero bytes. In what
should be UTF-8, a byte that is none becomes U+FFFD and its two hexadecimal digits: by U+FFFD alone two
names that differ could become one, and with them two processes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from microcosm.traces.report import Report
from microcosm.traces.text.packed import looked_at

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
