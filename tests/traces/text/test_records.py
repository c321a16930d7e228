"""Patterns: JavaScript's groups, faults shown with a caret, records in windows of lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.traces.text import records as patterns
from microcosm.traces.text.records import (
    BadRecord,
    Delimiter,
    Item,
    Left,
    Record,
    compiled,
    matched,
    record_pattern,
)
from tests.traces.logs import read_text, told

NEVER = Delimiter(re.compile("(?!)"), explicit=False)


def items(pattern: str, text: str) -> list[Item]:
    return list(matched(record_pattern(pattern, "--pattern"), enumerate(text.split("\n"), 1), NEVER))


@pytest.mark.parametrize("format", ["csight", "csight_channels", "syslog"])
@pytest.mark.parametrize(
    "line", ["=" * 100_000 + "x", "==" + " " * 100_000 + "x", f"<1>1 t h a - - [{'a' * 100_000}]"]
)
def test_a_long_line_takes_no_longer_than_as_many_short_ones(format: str, line: str) -> None:
    """Where each of its signs was tried with each other one, such a line took minutes."""
    events, report = read_text(f"{line}\n", format)
    assert len(events) + report.lost + report.counts["unparsed-text"] == 1


@pytest.mark.parametrize(
    ("javascript", "python"),
    [
        ("(?<a>x)", "(?P<a>x)"),
        ("(?P<a>x)", "(?P<a>x)"),
        ("(?<=x)(?<!y)", "(?<=x)(?<!y)"),
        (r"\(?<a>", r"\(?<a>"),
        (r"[(?<a>](?<b>y)", "[(?<a>](?P<b>y)"),
        (r"[\](?<a>](?<b>y)", r"[\](?<a>](?P<b>y)"),
        (r"(?<a>x)\k<a>", "(?P<a>x)(?P=a)"),
        ("x\\", "x\\"),
    ],
)
def test_groups_are_turned_into_pythons(javascript: str, python: str) -> None:
    assert patterns._as_python(javascript)[0] == python


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        (
            "(?<host>x)(?<clock>",
            "--pattern:11: missing ), unterminated subpattern\n  (?<host>x)(?<clock>\n            ^",
        ),
        (
            "(?<host>x)*+*(?<clock>y)",
            "--pattern:13: multiple repeat\n  (?<host>x)*+*(?<clock>y)\n              ^",
        ),
        ("(?<host>x)[", "--pattern:11: unterminated character set\n  (?<host>x)[\n            ^"),
        ("(?<host>x)", "--pattern: the pattern has no group (?<clock>…)"),
        ("x", "--pattern: the pattern has no group (?<host>…) and (?<clock>…)"),
        ("x{99999999999999999999}", "--pattern: the repetition number is too large"),
    ],
)
def test_a_faulty_pattern_is_shown(pattern: str, error: str) -> None:
    with pytest.raises(TextError) as caught:
        record_pattern(pattern, "--pattern")
    assert str(caught.value) == error + "\n" + r"For example: (?<event>.*)\n(?<host>\S*) (?<clock>{.*})"


def test_a_pattern_may_be_what_only_javascript_takes_calmly() -> None:
    assert compiled("[[a]", "--pattern").match("[")


def test_further_groups_are_attributes() -> None:
    text = '17 says hello\np {"p": 1}'
    found = items(r"(?<timestamp>\d*) (?<event>.*)\n(?<host>\w*) (?<clock>{.*})(?<more> more)?", text)
    assert found == [Record(1, "p", {"p": 1}, "says hello", attributes={"timestamp": "17"})]


def test_records_begin_lines_where_any_does() -> None:
    """Otherwise a stray line could take the beginning of the next record with it."""
    found = items(r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)", 'stray x {"x": 1}\np {"p": 1}\na')
    assert found == [Left(1, 'stray x {"x": 1}'), Record(2, "p", {"p": 1}, "a")]


def test_records_may_stand_within_lines_and_several_in_one() -> None:
    text = '1: a={"a": 1} b={"b": 1}\nnothing\n2: a={"a": 2} and so on'
    found = items("(?<host>[a-z])=(?<clock>{.*?})", text)
    assert [item.line for item in found] == [1, 1, 2, 3]
    assert [item.host for item in found if isinstance(item, Record)] == ["a", "b", "a"]
    assert isinstance(found[2], Left)


def test_records_that_are_no_events_are_reported() -> None:
    text = 'p; {"p": x}; a\n; {"p": 1}; b\np; {"p": 1}; c\np; {"p": 2}; '
    pattern = "^(?<host>.*?); (?<clock>{.*}); (?<event>.*)$"
    found = items(pattern, text)
    assert [item.kind for item in found if isinstance(item, BadRecord)] == ["bad-clock", "bad-host"]
    events, report = read_text(text, "shiviz", pattern)
    assert [event.label for event in events] == ["c", ""]
    assert told(report) == [("bad-clock", 1), ("bad-host", 2), ("no-text", 4)]
    assert (report.lost, report.lines) == (2, 2)


def test_a_pattern_that_can_match_nothing_finds_records_all_the_same() -> None:
    found = items(r"((?<host>\w+) (?<clock>{.*}))?", 'x\n\np {"p": 1}\n')
    assert [(type(item), item.line) for item in found] == [(Left, 1), (Left, 2), (Record, 3), (Left, 4)]
    found = items(r"(?<host>(?=(?<clock>{.*}))?)", 'p {"p": 1}')  # it matches nothing anywhere
    assert [type(item) for item in found] == [Left]
    found = items(r"((?<host>p) (?<clock>{.*}))?", 'in a line p {"p": 1}\n\nx')
    assert [(type(item), item.line) for item in found] == [(Record, 1), (Left, 2), (Left, 3)]


LINES = st.lists(st.sampled_from(["b {}", "a", "", "junk", "+"]), min_size=30, max_size=60)
PATTERNS = st.sampled_from([r"a\n(?<host>b) (?<clock>{})", r"(\+\n)?(\+\n)?(?<host>b) (?<clock>{})"])


@given(LINES, st.integers(1, 12), PATTERNS)
def test_the_width_of_the_window_does_not_matter(lines: list[str], window: int, pattern: str) -> None:
    text = "\n".join(lines)
    whole = items(pattern, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "_WINDOW", 10 + window)
        patch.setattr(patterns, "SPAN", 4)
        assert items(pattern, text) == whole


def test_lines_are_all_accounted_for() -> None:
    text = "\n".join(["junk"] * 2500 + ['p {"p": 1}'] + ["junk"] * 500)
    found = items(r"(?<host>\w+) (?<clock>{.*})", text)
    assert [item.line for item in found] == list(range(1, 3002))
    assert sum(isinstance(item, Record) for item in found) == 1


def test_long_lines_fill_a_window_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_WINDOW_CHARACTERS", 100)
    text = "\n".join(["x" * 150, 'p {"p": 1}'] * 20)
    found = items(r"(?<event>x+)\n(?<host>\w+) (?<clock>{.*})", text)
    assert sum(isinstance(item, Record) for item in found) == 20
