"""Formats: found by name, told by content, brought by others; and a trace spread over files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from microcosm.errors import TextError, TraceError
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines
from tests.traces.samples import SAMPLES

OWN = '{"process": "p", "seq": 1, "kind": "internal"}\n'
SHIVIZ = 'a text\np {"p": 1}\n'


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_formats_of_this_package_are_found() -> None:
    assert {"jsonl", "shiviz"} <= formats.builtin().keys() <= set(formats.names())
    for name, form in formats.builtin().items():
        assert name == form.NAME
        assert callable(form.detects)
        assert callable(form.read)


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        (OWN, "x.log", "jsonl"),
        ("damaged\n" + OWN, "x.log", "jsonl"),
        ('{"process": "p", "seq', "x.jsonl", "jsonl"),
        ('{"process": 1, "seq": 1}\n', "x.log", "jsonl"),
        ("", "x.log", "jsonl"),
        ("\n \n", "x.log", "jsonl"),
        (SHIVIZ, "x.log", "shiviz"),
        (r'x "{\"a\": 1}"', "x.log", "shiviz"),
        ("(?<host>.*) (?<clock>.*)\n\n", "x.log", "shiviz"),
    ],
)
def test_a_format_is_told_by_its_text(text: str, path: str, name: str) -> None:
    assert name == formats.detect(text, path).NAME


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"plain", "parquet"}))
def test_no_format_is_taken_for_another(name: str) -> None:
    for seed in (1, 2):
        sample = SAMPLES[name](seed)
        text = "".join((sample.header, *sample.records, sample.footer))
        assert sample.format == formats.detect(text, "x.log").NAME
        one = f"\n{sample.header}{sample.records[0]}".rstrip("\n")
        assert sample.format == formats.detect(one, "x.log").NAME


def test_what_is_in_no_format_says_what_to_do() -> None:
    with pytest.raises(TraceError, match=r"x\.log: is in no trace format.*\n.*--format .*jsonl, .*--pattern"):
        formats.detect("hello\nworld\n", "x.log")


def test_other_json_lines_are_not_the_own_format() -> None:
    with pytest.raises(TraceError, match="is in no trace format"):
        formats.detect('{"event": "SendAppend", "from": "1"}\n{"tag": "trace"}\n', "x.ndjson")


def test_a_name_that_is_no_format_is_answered_with_those_like_it() -> None:
    with pytest.raises(TextError, match=r"no trace format 'json'\nDid you mean 'jsonl'\?"):
        formats.format_of("json")


def test_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    own, text = write(tmp_path / "a", OWN), write(tmp_path / "b", SHIVIZ.replace("1", "2"))
    events = list(formats.read([own, text]))
    found = [(event.id, event.file, event.line) for event in events]
    assert found == [("p:1", str(own), 1), ("p (b):2", str(text), 1)]


def test_a_process_may_go_on_in_another_file(tmp_path: Path) -> None:
    """Positions are shared: what is there twice is reported, and ties go on counting."""
    report = Report()
    a, b = write(tmp_path / "a", OWN), write(tmp_path / "b", OWN + OWN.replace("1", "2"))
    assert [event.seq for event in formats.read([a, b], report=report)] == [1, 2]
    assert [str(found) for found in report.findings] == [f"{b}:1: p has an event 1 already [duplicate-event]"]
    c, d = write(tmp_path / "c", SHIVIZ), write(tmp_path / "d", SHIVIZ)
    assert [event.seq for event in formats.read([c, d])] == [1, 2]


def test_one_execution_of_several_can_be_picked(tmp_path: Path) -> None:
    runs = "".join(json.dumps({**json.loads(OWN), "trace": name}) + "\n" for name in ("one", "two", "three"))
    path = write(tmp_path / "runs", runs)
    assert [event.trace for event in formats.read([path], trace="two")] == ["two"]
    with pytest.raises(TextError, match=r"no execution 'tow' in the trace\nDid you mean 'two'"):
        list(formats.read([path], trace="tow"))


def test_a_pattern_means_a_text_log(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 'p says hello at {"p": 1}\n')
    pattern = "(?<host>.*) says (?<event>.*) at (?<clock>{.*})"
    assert [event.label for event in formats.read([path], pattern=pattern)] == ["hello"]


class Morse:
    """A format that another distribution brings."""

    NAME = "morse"

    @staticmethod
    def detects(head: str, path: str) -> int:
        return 2 * head.startswith("... --- ...")

    @staticmethod
    def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
        for number, _ in stream:
            yield TraceEvent("ship", number, file=file, line=number)


def broken() -> None:
    raise ImportError("no such module")


def test_another_distribution_can_bring_formats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plugins = {"morse": SimpleNamespace(load=lambda: Morse), "rotten": SimpleNamespace(load=broken)}
    monkeypatch.setattr(formats, "_plugins", lambda: plugins)
    assert {"morse", "jsonl"} <= set(formats.names())
    path = write(tmp_path / "sos", "... --- ...\n")
    assert [event.id for event in formats.read([path])] == ["ship:1"]
    assert formats.detect(OWN, "x").NAME == "jsonl"
    with pytest.raises(TextError, match="'rotten' cannot be loaded: no such module"):
        formats.format_of("rotten")


def test_formats_of_others_are_looked_for_where_none_of_ours_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(formats, "_plugins", lambda: asked.append("") or {})
    assert formats.detect(OWN, "x").NAME == "jsonl"
    assert formats.detect('ts=1 level=info msg="in"\nts=2 level=info msg="out"\n', "x").NAME == "logfmt"
    assert not asked
    with pytest.raises(TraceError):
        formats.detect("... --- ...\n", "x")
    assert asked


def test_the_page_has_a_row_for_each_format() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "traces.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(formats.builtin()) <= named
