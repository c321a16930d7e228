"""Lines: numbered, decoded, bounded, whatever the file."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError, TraceError
from microcosm.traces import lines
from microcosm.traces.lines import Lines, open_lines
from microcosm.traces.report import Report


def lines_of(content: bytes, limit: int = lines.LINE_LIMIT) -> tuple[list[tuple[int, str]], Report]:
    report = Report()
    return list(Lines(BytesIO(content), "f", report, limit)), report


LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff"))


@given(st.lists(LINE), st.booleans())
def test_lines_are_what_was_written(texts: list[str], carriage_returns: bool) -> None:
    end = "\r\n" if carriage_returns else "\n"
    found, report = lines_of("".join(text + end for text in texts).encode())
    assert found == list(enumerate(texts, 1))
    assert not report.counts


def test_a_block_may_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\ufeffä\r\nbc\n\n€\r\n".encode()
    for size in range(1, len(content) + 1):
        monkeypatch.setattr(lines, "_BLOCK", size)
        assert lines_of(content)[0] == [(1, "ä"), (2, "bc"), (3, ""), (4, "€")]


def test_the_last_line_may_lack_its_end() -> None:
    stream = Lines(BytesIO(b"a\nb"), "f", Report())
    assert [(text, stream.cut_off) for _, text in stream] == [("a", False), ("b", True)]


def test_a_log_may_stop_within_a_character() -> None:
    assert lines_of("a\nb€".encode()[:-1])[0] == [(1, "a"), (2, "b")]


def test_a_byte_that_is_no_utf8_is_shown_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (3, 1 << 20):
        monkeypatch.setattr(lines, "_BLOCK", size)
        with pytest.raises(TextError, match=r"^f:3:2: byte 0xff is not valid UTF-8"):
            lines_of(b"a\nbc\nd\xff\ne\n")


def test_a_long_line_is_reported_and_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BLOCK", 64)
    found, report = lines_of(b"a\n" + b"x" * 1000 + b"\nb\n" + b"y" * 1000, limit=100)
    assert found == [(1, "a"), (3, "b")]
    assert [(f.kind, f.line, f.lost) for f in report.findings] == [("long-line", 2, 1), ("long-line", 4, 1)]


def test_a_long_line_takes_no_more_memory_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless bytes without a line end are read block by block and dropped."""

    class Endless(BytesIO):
        left = 2000

        def read(self, size: int | None = -1) -> bytes:
            self.left -= 1
            return b"x" * 64 if self.left > 0 else b""

    monkeypatch.setattr(lines, "_BLOCK", 64)
    report = Report()
    assert list(Lines(Endless(), "f", report, limit=1000)) == []
    assert report.counts == {"long-line": 1}


def test_what_cannot_be_read_is_one_clear_error(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "is a directory, not a file"),
        (tmp_path / "absent.log", "no such file"),
        ("a\0b", "cannot be read: embedded null byte"),
    ):
        with pytest.raises(TextError, match=message), open_lines(path, Report()):
            pass


def test_a_compressed_file_is_told_from_text(tmp_path: Path) -> None:
    path = tmp_path / "a.bz2"
    path.write_bytes(bz2.compress(b"a"))
    with pytest.raises(TextError, match=r"a\.bz2: is compressed \(bzip2\)"), open_lines(path, Report()):
        pass


def test_what_gzip_packed_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(f"line {number}\n" for number in range(999)).encode()
    packed = gzip.compress(content[:5000]) + gzip.compress(content[5000:]) + b"\0\0"
    for size in (7, 1000, 1 << 20):
        monkeypatch.setattr(lines, "_BLOCK", size)
        assert lines_of(packed)[0] == lines_of(content)[0]
    assert Lines(BytesIO(packed), "f", Report()).binary().read() == content


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda packed: packed[:-12], "f: is cut off: the packed text does not end"),
        (lambda packed: packed[:12] + b"\xff" * 9 + packed[21:], "f: cannot be unpacked"),
        (lambda packed: packed[:3], "f: is cut off"),
    ],
)
def test_what_is_packed_badly_is_an_error(damage: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(TextError, match=message):
        lines_of(damage(gzip.compress(bytes(range(128)) * 9)))


def test_standard_input_is_a_file_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"a\nb\n")))
    with open_lines("-", Report()) as stream:
        assert (stream.file, list(stream)) == ("<stdin>", [(1, "a"), (2, "b")])


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\nb\n")
    os.close(writing)
    try:
        with open_lines(f"/dev/fd/{reading}", Report()) as stream:
            assert [text for _, text in stream] == ["a", "b"]
    finally:
        os.close(reading)


def test_a_text_can_be_had_whole() -> None:
    content = b"\xef\xbb\xbf{}\n" + b" " * 300_000 + b"{}"
    assert Lines(BytesIO(content), "f", Report()).text() == content[3:].decode()


def test_strict_makes_the_first_irregularity_an_error() -> None:
    report = Report(strict=True)
    with pytest.raises(TraceError, match=r"^f:1: longer than 10 bytes") as caught:
        list(Lines(BytesIO(b"x" * 300_000), "f", report, limit=10))
    assert caught.value.line == 1
    assert not report.counts
