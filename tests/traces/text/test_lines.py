"""Lines: numbered, decoded, bounded, whatever the file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
import tarfile
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError, TraceError
from microcosm.traces.report import Report
from microcosm.traces.text import lines
from microcosm.traces.text import packed as packing
from microcosm.traces.text.lines import Lines, open_lines


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


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_a_byte_that_is_no_utf8_is_replaced_and_its_line_reported(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two names that differ in such bytes stay two."""
    monkeypatch.setattr(lines, "_BLOCK", size)
    found, report = lines_of(b"a\nbc\nd\xff\ne\nd\xfe\xc3\n")
    assert found == [(1, "a"), (2, "bc"), (3, "d\ufffdff"), (4, "e"), (5, "d\ufffdfe\ufffdc3")]
    assert [(f.kind, f.line, f.lost) for f in report.findings] == [
        ("bad-encoding", 3, 0),
        ("bad-encoding", 5, 0),
    ]


@given(st.lists(LINE, min_size=1), st.lists(st.sampled_from(["\r", "\n", "\r\n"])), st.integers(1, 9))
def test_each_line_end_counts(texts: list[str], ends: list[str], size: int) -> None:
    ends = (ends + ["\r"] * len(texts))[: len(texts)]
    if any(end == "\r" and after == "" for end, after in zip(ends, texts[1:], strict=False)):
        texts = [text or "x" for text in texts]  # a blank line after a carriage return reads as one line end
    content = "".join(map("".join, zip(texts, ends, strict=True))).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", size)
        found, report = lines_of(content)
    assert found == list(enumerate(texts, 1))
    assert set(report.counts) <= {"line-end"}
    assert report.counts["line-end"] == int("\r" in ends[:-1])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_other_encodings_are_told(encoding: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BLOCK", size)
    content = "grün {€}\r\n𝔸 line\nof ASCII, mostly\n"
    found, report = lines_of(content.encode(encoding))
    assert [text for _, text in found] == content.splitlines()
    told = [("other-encoding", 1)] if encoding != "utf-8-sig" else []
    assert [(f.kind, f.line) for f in report.findings] == told


def test_half_a_surrogate_pair_is_replaced_and_its_line_reported() -> None:
    content = "\ufeffa line\nb ".encode("utf-16-le") + b"\x00\xd8" + " c\nd".encode("utf-16-le") + b"x"
    found, report = lines_of(content)
    assert found == [(1, "a line"), (2, "b \ufffded\ufffdbf\ufffdbf00d8 c"), (3, "d")]
    assert [(f.kind, f.line) for f in report.findings] == [("other-encoding", 1), ("bad-encoding", 2)]


def test_files_with_marks_may_be_joined() -> None:
    assert lines_of(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")[0] == [(1, "a"), (2, "b")]


@given(st.lists(LINE, min_size=1), st.integers(1, 9))
def test_pieces_are_the_text(texts: list[str], size: int) -> None:
    content = "\r\n".join(texts).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", size)
        found = "".join(Lines(BytesIO(content), "f", Report()).pieces())
    assert found == "\n".join(texts)


def test_a_long_line_is_reported_and_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BLOCK", 64)
    found, report = lines_of(b"a\n" + b"x" * 5000 + b"\nb\n" + b"y" * 5000, limit=2000)
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


def test_what_packs_several_files_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(TextError, match=r"a\.zip: is compressed \(zip\)"), open_lines(path, Report()):
        pass
    (tmp_path / "a.jsonl").write_text('{"process": "a", "label": "x"}\n', encoding="utf-8")
    for mode in ("w", "w:gz"):
        with tarfile.open(tmp_path / "a.tar", mode) as archive:
            archive.add(tmp_path / "a.jsonl", "a.jsonl")
        message = r"a\.tar: holds several files \(tar\)"
        with pytest.raises(TextError, match=message), open_lines(tmp_path / "a.tar", Report()):
            pass


def zstd(content: bytes) -> bytes:
    library = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    packed: bytes = pytest.importorskip(library).compress(content)
    return packed


PACKERS = {"gzip": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zstd": zstd}
CONTENT = "".join(f"line {number}\n" for number in range(999)).encode()


@pytest.mark.parametrize("packer", PACKERS)
def test_what_is_packed_is_unpacked(packer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several pieces, too, with zeros between and after them."""
    pack = PACKERS[packer]
    packed = pack(CONTENT[:5000]) + bytes(4) + pack(CONTENT[5000:]) + bytes(4)
    for size in (7, 1000, 1 << 20):
        monkeypatch.setattr(lines, "_BLOCK", size)
        monkeypatch.setattr(packing, "BLOCK", size)
        assert lines_of(packed)[0] == lines_of(CONTENT)[0]
        assert not lines_of(packed)[1].counts
    assert Lines(BytesIO(packed), "f", Report()).binary().read() == CONTENT


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("length", [12, 20, -30, -9])
def test_of_what_is_packed_badly_the_rest_is_read(packer: str, length: int) -> None:
    """Whole lines from the beginning, and one report; all of what stands before a damaged sum."""
    packed = PACKERS[packer](CONTENT)
    found, report = lines_of(packed[:length])
    assert found[:-1] == lines_of(CONTENT)[0][: max(len(found) - 1, 0)]
    assert report.counts == {"bad-archive": 1}
    _, report = lines_of(packed[:length] + b"\xff\x80" + packed[length:][2:])
    assert report.counts["bad-archive"] == 1


def test_all_is_read_before_a_wrong_sum() -> None:
    packed = bytearray(gzip.compress(CONTENT))
    packed[-5] ^= 255
    found, report = lines_of(bytes(packed))
    assert found == lines_of(CONTENT)[0]
    assert report.counts == {"bad-archive": 1}


def test_zstd_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(TextError, match=r"f: is packed by zstd.*\n.*pip install 'causal-microcosm\[zstd\]'"):
        lines_of(b"(\xb5/\xfd and so on")


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


def test_strict_makes_the_first_irregularity_an_error() -> None:
    report = Report(strict=True)
    with pytest.raises(TraceError, match=r"^f:1: longer than 10 bytes") as caught:
        list(Lines(BytesIO(b"x" * 300_000), "f", report, limit=10))
    assert caught.value.line == 1
    assert not report.counts
