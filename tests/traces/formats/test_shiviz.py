"""Text logs with clocks: layouts, headers, executions, positions, and what is left over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError, TraceError
from microcosm.traces.formats import shiviz
from microcosm.traces.text.records import USUAL
from tests.traces.logs import damaged, read_text, told
from tests.traces.runs import TICKING_RUNS, Run, shiviz_text

BAKERY = """\
dough is ready
baker {"baker": 1}
asks for flour
baker {"baker": 2}

hears of an order
mill {"mill": 1, "baker": 2}
sends flour
mill {"mill": 2, "baker": 2}
flour arrives
baker {"baker": 3, "mill": 2}
"""

EXPECTED = [
    ("baker:1", "dough is ready", {"baker": 1}),
    ("baker:2", "asks for flour", {"baker": 2}),
    ("mill:1", "hears of an order", {"mill": 1, "baker": 2}),
    ("mill:2", "sends flour", {"mill": 2, "baker": 2}),
    ("baker:3", "flour arrives", {"baker": 3, "mill": 2}),
]


def seen(text: str, pattern: str | None = None) -> list[tuple[str, str | None, dict[str, int] | None]]:
    events, report = read_text(text, "shiviz", pattern)
    assert not report.counts, report.findings
    return [(event.id, event.label, event.clock) for event in events]


def records() -> list[tuple[str, str]]:
    lines = [line for line in BAKERY.split("\n") if line]
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_the_text_may_stand_before_the_clock() -> None:
    assert seen(BAKERY) == EXPECTED


def test_the_text_may_stand_after_the_clock() -> None:
    assert seen("".join(f"{clock}\n{text}\n" for text, clock in records())) == EXPECTED


def test_a_time_may_stand_before_the_clock() -> None:
    """So GoVector writes it where it is asked for times, without a pattern in the first line."""
    text = "".join(f"15{at} {clock}\n{label}\n" for at, (label, clock) in enumerate(records()))
    assert seen(text) == EXPECTED
    events, report = read_text(text.replace("sends flour\n", ""), "shiviz")
    assert [(e.id, e.label, e.attributes["timestamp"]) for e in events[3:]] == [
        ("mill:2", "", "153"),
        ("baker:3", "flour arrives", "154"),
    ]
    assert report.counts == {"no-text": 1}


def test_blanks_at_the_ends_of_lines_are_no_matter() -> None:
    assert seen(BAKERY.replace("\n", "  \t\r\n")) == EXPECTED
    assert seen("".join(f"{clock}  \n{text} \n" for text, clock in records())) == EXPECTED


def test_the_clock_may_stand_within_the_line() -> None:
    """As Akka's logger has it; what stands before the clock is kept."""
    text = "".join(
        f"[INFO] [04:23] [shop://oven/{clock.replace(' ', '] ', 1)} {text}\n" for text, clock in records()
    )
    assert text.startswith('[INFO] [04:23] [shop://oven/baker] {"baker": 1} dough is ready\n')
    assert seen(text) == EXPECTED
    assert read_text(text, "shiviz")[0][0].attributes == {"prefix": "[INFO] [04:23] [shop://oven/baker]"}
    pattern = r"/(?<host>[^\]/]+)\] (?<clock>{.*?}) (?<event>.*)"
    assert pattern in (shiviz.__doc__ or "")
    assert seen(text, pattern) == EXPECTED


def test_a_clock_may_be_escaped_once_more() -> None:
    assert seen(BAKERY.replace('"', '\\"')) == EXPECTED


@given(TICKING_RUNS, st.booleans())
def test_a_run_is_read_in_either_order_of_lines(run: Run, clock_first: bool) -> None:
    events = seen(shiviz_text(run.events, clock_first))
    assert events == [(event.id, event.label, event.clock) for event in run.events]


def test_the_first_line_may_hold_the_pattern() -> None:
    header = r"(?<host>\S+): (?<event>.*) (?<clock>{.*})"
    lines = "".join(f"{clock.split(' ')[0]}: {text} {clock.split(' ', 1)[1]}\n" for text, clock in records())
    for blank in ("\n\n", "\n"):
        assert seen(header + blank + lines) == EXPECTED
    assert seen(header.replace("?<", "?P<") + "\n" + lines) == EXPECTED
    assert seen(shiviz.EXAMPLE + "\n" + BAKERY) == EXPECTED


def test_a_pattern_given_by_the_user_outranks_the_header() -> None:
    assert seen("(?<host>a) (?<clock>b)\n\n" + BAKERY, shiviz.EXAMPLE) == EXPECTED


def executions(text: str) -> list[tuple[str | None, str]]:
    events, report = read_text(text, "shiviz")
    assert not report.counts, report.findings
    return [(event.trace, event.id) for event in events]


ONE = 'a\np {"p": 1}\n'
TURNED = 'p {"p": 1}\na\n'


@pytest.mark.parametrize("one", [ONE, TURNED])
def test_executions_may_be_delimited_as_usual(one: str) -> None:
    text = f"=== first ===\n{one}\n=== second ===\n{one}"
    assert executions(text) == [("first", "p:1"), ("second", "p:1")]
    again = f"=== x ===\n{one}=== x ===\n{one}"
    assert executions(again) == [("x", "p:1"), ("x (2)", "p:1")]


def test_a_text_that_looks_like_a_delimiter_is_a_text_where_one_is_due() -> None:
    assert executions('=== a ===\np {"p": 1}\nb\np {"p": 2}\n') == [(None, "p:1"), (None, "p:2")]


@pytest.mark.parametrize("pattern", [shiviz.EXAMPLE, shiviz.EXAMPLE + " *"])
def test_the_second_line_may_hold_the_delimiter(pattern: str) -> None:
    text = f"{pattern}\n^Run (?<trace>\\w+)!$\nRun one!\n{ONE}Run two!\n{ONE}"
    assert executions(text) == [("one", "p:1"), ("two", "p:1")]
    assert executions(f"{pattern}\n^----$\n{ONE}----\n{ONE}") == [(None, "p:1"), ("2", "p:1")]
    assert executions(f"{pattern}\n=== one ===\n{ONE}=== two ===\n{ONE}") == [("one", "p:1"), ("two", "p:1")]
    assert executions(f"{pattern}\n{ONE}") == [(None, "p:1")]


def test_a_delimiter_that_the_log_gives_outranks_records() -> None:
    text = f"{shiviz.EXAMPLE}\n^a$\n{ONE}"
    events, report = read_text(text, "shiviz")
    assert [(event.trace, event.label) for event in events] == [("1", "")]
    assert told(report) == [("no-text", 4)]
    with pytest.raises(TextError, match=r"^<test>:2:\d+: missing \), unterminated"):
        read_text(f"{shiviz.EXAMPLE}\n^(?<trace>\n{ONE}", "shiviz")


def test_an_event_has_the_position_of_its_own_component_wherever_that_is_free() -> None:
    text = "".join(f'a\np {{"p": {own}}}\n' for own in (0, 1, 1, 2, 5, 7, 6))
    events, report = read_text(text, "shiviz")
    assert [event.seq for event in events] == [1, 2, 3, 4, 5, 7, 6]
    assert told(report) == [("line-order", 13)]


def test_lines_out_of_order_are_reported_and_the_clock_is_believed() -> None:
    text = "".join(f'a\np {{"p": {own}}}\n' for own in (1, 4, 2, 3, 5))
    events, report = read_text(text, "shiviz")
    assert [event.seq for event in events] == [1, 4, 2, 3, 5]
    assert [str(found) for found in report.findings] == [
        "<test>:5: p: its event 2 stands after its event 4 [line-order]",
        "<test>:7: p: its event 3 stands after its event 4 [line-order]",
    ]


def test_text_that_is_left_over_is_reported_by_run() -> None:
    text = f"header\n\nmore of it\n{BAKERY}trailer\n"
    events, report = read_text(text, "shiviz")
    assert len(events) == 5
    assert [str(found) for found in report.findings] == [
        "<test>:1: 2 lines belong to no record [unparsed-text]",
        "<test>:15: a line belongs to no record [unparsed-text]",
    ]
    assert report.lines == 3


DAMAGED = ['{"p": 1', '{"p": -1}', '{"p": 1.5}', '{"p": 1,}', '{"\\ud800": 1}', '{"p": 1}}']


@pytest.mark.parametrize("clock", DAMAGED)
def test_a_clock_that_cannot_be_read_is_reported(clock: str) -> None:
    others = BAKERY.replace("baker", "boy").replace("mill", "man")
    events, report = read_text(f"{BAKERY}a\np {clock}\n{others}", "shiviz")
    assert len(events) == 10
    assert told(report) == [("unparsed-text", 12), ("bad-clock", 13)]
    assert report.lost == 1


def test_a_clock_without_a_text_is_an_event_and_reported() -> None:
    before = 'a\np {"p": 1}\np {"p": 2}\nc\np {"p": 3}\nd\np {"p": 4}\n'
    after = 'p {"p": 1}\na\np {"p": 2}\np {"p": 3}\nc\np {"p": 4}\nd\n'
    for text, lines in ((before, [3]), (after, [3])):
        events, report = read_text(text, "shiviz")
        assert [event.seq for event in events] == [1, 2, 3, 4]
        assert told(report) == [("no-text", line) for line in lines]


@given(
    TICKING_RUNS,
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), st.integers(0, 30)), max_size=8),
)
def test_no_line_is_lost_silently(run: Run, clock_first: bool, damages: list[tuple[int, int, int]]) -> None:
    """Every line that is not blank belongs to an event or to something reported."""

    def stray(lines: list[str], at: int) -> None:
        lines.insert(at, "stray {")

    def lose(lines: list[str], at: int) -> None:
        if len(lines) > 1:
            del lines[at]

    lines = damaged(shiviz_text(run.events, clock_first).splitlines(), damages, "}", stray, lose)
    lines += ['z {"z": 1}', "sound"] if clock_first else ["sound", 'z {"z": 1}']
    events, report = read_text("\n".join(lines), "shiviz")
    within = any("prefix" in event.attributes for event in events)  # little but lines "p {…}}" was left
    held = sum(1 + (bool(event.label) and not within) for event in events)
    assert held + report.lines == sum(line != "" and not line.isspace() for line in lines)
    assert within or len(events) == sum(shiviz.clock_line(line) is not None for line in lines)


def test_a_text_without_a_record_is_an_error_that_says_what_to_do() -> None:
    text = 'intro\nat p with {"p": 1} something\nat q with {"q": 1} something\n'
    with pytest.raises(TraceError) as caught:
        read_text(text, "shiviz")
    assert str(caught.value).splitlines() == [
        "<test>:1: there is no record in the whole text",
        f"Describe a record with --pattern, for example --pattern '{shiviz.EXAMPLE}'",
    ]
    assert len(read_text(text, "shiviz", "at (?<host>.*) with (?<clock>{.*}) (?<event>.*)")[0]) == 2
    with pytest.raises(TraceError, match="the pattern matches no record in the whole text"):
        read_text(text, "shiviz", "(?<host>x) (?<clock>{.*})")
    assert read_text(" \n\n", "shiviz")[0] == []


def test_a_record_may_be_half_seen_when_the_layout_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in range(2, 8):
        monkeypatch.setattr(shiviz, "_SEEN", count)
        assert seen(BAKERY) == EXPECTED
        assert seen("".join(f"{clock}\n{text}\n" for text, clock in records())) == EXPECTED


def test_the_layout_is_told_even_when_much_text_comes_first() -> None:
    noise = "noise\n" * 3000
    events, report = read_text(noise + 'p {"p": 1}\na\np {"p": 2}\nb\n', "shiviz")
    assert len(events) == 2
    assert report.counts["unparsed-text"] >= 1


@pytest.mark.parametrize("piece", ['{"', "{ ", '{"a":', '\\"', "a ", "} ", "{\\", "=== "])
@pytest.mark.parametrize("shape", shiviz.SHAPES)
def test_the_layouts_take_linear_time(shape: shiviz.Shape, piece: str) -> None:
    """A quadratic search of these lines would not end while anyone waits."""
    long = piece * (2_000_000 // len(piece))
    delimiter = USUAL
    items = list(shape(iter([(1, "p " + long), (2, 'p {"p": 1}'), (3, long)]), delimiter))
    assert 2 <= len(items) <= 3
    assert shiviz.damaged_clock_line("p " + long) in (True, False)
