"""Lines that are read as columns say what the reader of one line says; all others are left to it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microcosm.spark.io import events, reading
from microcosm.spark.io.inputs import Piece, by_lines
from microcosm.traces import reading as formats

TEXT = st.one_of(
    st.sampled_from(("p", "q", "a:b", "ü", "t/p", "\0", "a\nb", "\U0001f600")), st.text(max_size=3)
)
PLAIN = st.fixed_dictionaries(
    {
        "process": TEXT,
        "seq": st.integers(0, 5),
        "kind": st.sampled_from(("internal", "send", "receive", "odd")),
    },
    optional={
        "trace": TEXT,
        "message": TEXT,
        "label": TEXT,
        "to": st.lists(TEXT, max_size=2),
        "attributes": st.just({"a": 1}),
    },
)
ODD = st.sampled_from(
    (
        b'{"process": "p", "seq": 1, "kind": "internal", "kind": "send"}',
        b'{"process": "p", "seq": 1, "kind": "internal"}{"process": "p", "seq": 2, "kind": "internal"}',
        b'{"process": "p", "seq": 1, "kind": "internal"} ',
        b'{"process": "p", "seq": 1, "kind": "internal"}\r',
        b'\xef\xbb\xbf{"process": "p", "seq": 1, "kind": "internal"}',
        b'{"process": "\xff", "seq": 1, "kind": "internal"}',
        b'{"process": "\\ud800", "seq": 1, "kind": "internal"}',
        b'{"process": "\\ud83d\\ude00", "seq": 1, "kind": "internal"}',
        b'{"process": "p", "seq": 1, "kind": "internal", "label": null}',
        b'{"process": "p", "seq": 1, "kind": "internal", "to": [null]}',
        b'{"process": "p", "seq": 1.0, "kind": "internal"}',
        b'{"process": "p", "seq": 1e0, "kind": "internal"}',
        b'{"process": "p", "seq": 01, "kind": "internal"}',
        b'{"process": "p", "seq": true, "kind": "internal"}',
        b'{"process": "p", "seq": "1", "kind": "internal"}',
        b'{"process": "p", "seq": 9223372036854775807, "kind": "internal"}',
        b'{"process": "p", "seq": 9223372036854775808, "kind": "internal"}',
        b'{"process": "p", "kind": "internal"}',
        b'{"process": "p", "seq": 1, "kind": "internal"',
        b'"kind": "internal", "process": "p", "seq": 1}',
        b"{}",
        b"[]",
        b"",
        b" ",
        b"x" * 300,
    )
)
WRITTEN = st.builds(lambda each, escaped: json.dumps(each, ensure_ascii=escaped), PLAIN, st.booleans())
LINES = st.one_of(WRITTEN.map(lambda text: text.encode("utf-8", "replace")), ODD)


def said(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The events, and the kinds of what is odd."""
    good = [row for row in rows if "reported" not in row]
    counts: Counter[str] = Counter()
    for row in rows:
        if "reported" in row:
            counts[row["reported"]] += row["count"]
    return good, counts


@given(st.lists(LINES, min_size=1, max_size=12), st.booleans(), st.integers(40, 400))
@example([b'{"process": "p", "seq": 1, "kind": "internal", "to": ["q", "q"]}'], True, 100)
def test_blocks_of_lines_are_what_their_lines_are(lines: list[bytes], ended: bool, size: int) -> None:
    schema = events.arrow_schema(events.EVENT)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.jsonl"
        file.write_bytes(b"\n".join(lines) + b"\n" * ended)
        piece = Piece(str(file), 0, file.stat().st_size, trace="t")
        how = reading.Reading()
        one_by_one = list(reading.rows(piece, how))
        together: list[dict[str, Any]] = []
        with patch.object(reading, "_LINES", size):
            for name, batch in reading.read(piece, how):
                if name != "sizes":
                    together += [
                        {key: value for key, value in row.items() if key not in ("at", "trace")}
                        if name == "odd"
                        else {key: value for key, value in row.items() if key != "at"}
                        for row in batch.to_pylist()
                    ]
    good, odd = said(one_by_one)
    found, found_odd = said(together)
    in_trace = [row | {"trace": row["trace"] or "t"} for row in good]
    assert found == pa.Table.from_pylist(in_trace, schema=schema).to_pylist()
    assert found_odd == odd


@pytest.mark.parametrize("largest", range(1, 140, 3))
def test_lines_that_end_in_a_carriage_return_alone_have_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    ends = ("\n", "\r\n", "\r", "\r\r\n", "\r\n\r\n")
    lines = [f'{{"process": "p", "seq": {at}, "kind": "internal"}}{ends[at % 5]}' for at in range(1, 40)]
    log = tmp_path / "log.jsonl"
    log.write_bytes("".join(lines).encode())
    monkeypatch.setattr(reading, "_LINES", 60)
    found = [
        (row["seq"], row["line"])
        for piece in by_lines(log, largest)
        for name, batch in reading.read(piece, reading.Reading())
        if name == "events"
        for row in batch.to_pylist()
    ]
    assert found == [(event.seq, event.line) for event in formats.read([log])]
