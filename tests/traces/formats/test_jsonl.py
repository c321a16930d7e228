"""The own format: what is written is read back, and what is no event is said to be none."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError, TraceError
from microcosm.givens.exact import of_float
from microcosm.traces import reading as formats
from microcosm.traces.event import KINDS, LARGEST, TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats import jsonl
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from microcosm.traces.text import lines
from tests.traces.logs import damaged, read_text, told
from tests.traces.runs import RUNS, Run

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
JSON = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT

EVENTS = st.builds(
    TraceEvent,
    process=TEXT,
    seq=st.integers(1, LARGEST),
    kind=st.sampled_from(sorted(KINDS)),
    message=st.none() | TEXT,
    to=st.lists(TEXT, unique=True, max_size=3).map(tuple),
    clock=st.none() | st.dictionaries(TEXT, st.integers(0, LARGEST), max_size=3),
    stamp=st.none() | st.integers(0, LARGEST) | st.tuples(st.floats(0, 1).map(of_float), st.integers(1, 9)),
    label=st.none() | TEXT | st.just(""),
    attributes=st.dictionaries(TEXT, JSON, max_size=2),
    trace=st.none() | TEXT,
    name=st.none() | TEXT,
)


@given(EVENTS)
def test_an_event_is_read_as_it_was_written(event: TraceEvent) -> None:
    line = jsonl.line_of(event)
    assert line.count("\n") == 1
    assert read_text(line)[0] == [event]


@given(RUNS)
def test_a_run_is_read_as_it_was_written(run: Run) -> None:
    stream = io.StringIO()
    assert jsonl.write(run.events, stream) == len(run.events)
    events, report = read_text(stream.getvalue())
    assert events == run.events
    assert [event.line for event in events] == list(range(1, len(run.events) + 1))
    assert not report.counts


def test_ids_are_process_and_seq_unless_given() -> None:
    plain = {"process": "p", "seq": 3, "kind": "internal", "trace": "t"}
    (a, b), _ = read_text(json.dumps(plain) + "\n" + json.dumps({**plain, "seq": 4, "id": "x"}))
    assert [(event.id, event.full_id) for event in (a, b)] == [("p:3", "t/p:3"), ("x", "x")]


def test_unknown_fields_are_attributes() -> None:
    line = '{"process": "p", "seq": 1, "kind": "internal", "at": 3, "attributes": {"lock": "l"}}'
    assert read_text(line)[0][0].attributes == {"at": 3, "lock": "l"}


GOOD: dict[str, object] = {"process": "p", "seq": 1, "kind": "send", "message": "m"}

FAULTS = [
    ({"process": None}, "`process` must be some text, not null"),
    ({"process": ""}, '`process` must be some text, not ""'),
    ({"process": 1}, "`process` must be some text, not 1"),
    ({"seq": 0}, "`seq` must be a whole number from 1, not 0"),
    ({"seq": "1"}, '`seq` must be a whole number from 1, not "1"'),
    ({"seq": True}, "`seq` must be a whole number from 1, not true"),
    ({"seq": 1.0}, "`seq` must be a whole number from 1, not 1.0"),
    ({"seq": LARGEST + 1}, f"`seq` must be a whole number from 1, not {LARGEST + 1}"),
    ({"kind": "sent"}, "`kind` must be one of causal_send, deliver, internal, receive, send"),
    ({"kind": ["send"]}, '`kind` must be one of .*, not \\["send"\\]'),
    ({"message": 7}, "`message` must be some text, not 7"),
    ({"to": "q"}, "`to` must be a list of processes"),
    ({"to": [""]}, "`to` must be a list of processes"),
    ({"clock": [1]}, "`clock` must be an object from processes to whole numbers from 0"),
    ({"clock": {"p": -1}}, "`clock` must be"),
    ({"clock": {"p": True}}, "`clock` must be"),
    ({"clock": {"p": 1.5}}, "`clock` must be"),
    ({"stamp": -1}, "`stamp` must be a whole number from 0 or \\[earliest, latest\\]"),
    ({"stamp": [2, 1]}, "`stamp` must be"),
    ({"stamp": [1, 2, 3]}, "`stamp` must be"),
    ({"stamp": 1.5}, "`stamp` must be"),
    ({"label": 1}, "`label` must be text"),
    ({"attributes": []}, "`attributes` must be an object"),
    ({"trace": ""}, "`trace` must be some text"),
    ({"id": 5}, "`id` must be some text"),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_a_wrong_field_is_named(fault: dict[str, object], message: str) -> None:
    events, report = read_text("\n" + json.dumps({**GOOD, **fault}) + "\n" + json.dumps(GOOD))
    assert len(events) == 1
    assert told(report) == [("bad-line", 2)]
    assert report.lost == 1
    with pytest.raises(TraceError, match=f"^<test>:1: {message}"):
        read_text(json.dumps({**GOOD, **fault}), report=Report(strict=True))


@pytest.mark.parametrize(
    ("more", "bad"),
    [
        ('"seq": 2', True),
        ('"process":"q"', True),
        ('"clock": {"p": 1}, "clock": {"p": 1, "q": 1}', True),
        ('"seq": 1', False),  # the same once more
        ('"x": 1, "x": 2', False),  # no field of the format
        ('"label": "\\"seq\\": 2"', False),
        ('"attributes": {"seq": 2, "to": [{"seq": 3}]}', False),
    ],
)
def test_a_field_that_says_two_things_is_a_bad_line(more: str, bad: bool) -> None:
    """JSON keeps the last of them: an event stood at another position, or in another process."""
    events, report = read_text('{"process": "p", "seq": 1, "kind": "internal", ' + more + "}\n")
    assert (len(events), told(report)) == ((0, [("bad-line", 1)]) if bad else (1, []))


def shown(events: list[TraceEvent]) -> list[str]:
    return [f"{event.id} {event.kind} {event.message}" for event in events]


LINES = [
    {"process": "alice", "label": "wakes"},
    {"process": "bob", "message": "m1"},
    {"process": "bob", "label": "reads"},
    {"process": "alice", "message": "m1", "to": ["bob"]},
    {"process": "alice", "kind": "internal"},
]


def test_what_a_line_leaves_out_is_filled_in_where_it_is_plain() -> None:
    """The reception stands before its sending: it waits for it, and the order of lines is kept."""
    events, report = read_text("\n".join(map(json.dumps, LINES)))
    assert shown(events) == [
        "alice:1 internal None",
        "bob:1 receive m1",
        "bob:2 internal None",
        "alice:2 send m1",
        "alice:3 internal None",
    ]
    assert not report.counts
    assert [event.counted for event in events] == [["seq"]] * 5
    assert [(f.left, f.right) for f in extract(events).givens.external.values()] == [
        ("alice:1", "alice:2"),
        ("alice:2", "alice:3"),
        ("bob:1", "bob:2"),
        ("alice:2", "bob:1"),
    ]


def test_a_delivery_is_told_by_its_causal_send() -> None:
    sending = {"process": "a", "kind": "causal_send", "message": "m", "to": ["b"]}
    events, _ = read_text("\n".join(map(json.dumps, (sending, {"process": "b", "message": "m"}))))
    assert [event.kind for event in events] == ["causal_send", "deliver"]


NOT_PLAIN = [
    ([{"process": "a", "seq": 1}], 1, "an event has one of `kind`, `message` and `label`"),
    ([{"process": "a", "event": "x"}], 1, "an event has one of .*; is it `event`?"),
    ([{"proces": "a", "label": "x"}], 1, "`process` is missing; did you mean it by `proces`?"),
    ([{"host": "a", "label": "x"}], 1, "`process` is missing; did you mean it by `host`?"),
    ([{"process": "a", "to": ["b"], "label": "x"}], 1, "`to` says that a message is sent, but `message`"),
    ([{"process": "a", "message": "m"}], 1, "a does not say whether it sends or receives m"),
    ([{"process": "a", "message": "m", "to": ["b"]}, {"process": "a", "message": "m"}], 2, "a does not say"),
    (
        [{"process": p, "message": "m", "to": ["c"]} for p in "ab"] + [{"process": "c", "message": "m"}],
        3,
        "c does not say whether it sends or receives m",
    ),
    (
        [{"process": "a", "seq": 1, "label": "x"}, {"process": "a", "label": "y"}],
        2,
        "`seq` is missing, which",
    ),
    ([{"process": "a", "label": "x"}, {"process": "a", "seq": 2, "label": "y"}], 2, "`seq` is given"),
]


@pytest.mark.parametrize(("lines", "line", "message"), NOT_PLAIN)
def test_what_is_not_plain_is_not_made_up(lines: list[dict[str, object]], line: int, message: str) -> None:
    events, report = read_text("\n".join(map(json.dumps, lines)))
    assert len(events) == len(lines) - 1
    assert told(report) == [("bad-line", line)]
    assert re.match(message, report.findings[0].message)
    assert report.lost == 1


def test_a_field_that_is_like_one_of_the_format_is_told_of_once() -> None:
    line = json.dumps({"process": "a", "kind": "internal", "lable": "x", "lock": "l"})
    events, report = read_text(f"{line}\n{line}")
    assert [event.attributes for event in events] == [{"lable": "x", "lock": "l"}] * 2
    assert [str(found) for found in report.findings] == [
        "<test>:1: `lable` is no field of an event, and kept as an attribute; did you mean `label`? "
        "[misnamed-field]"
    ]


def test_a_kind_that_is_none_is_answered_with_the_one_meant() -> None:
    _, report = read_text(json.dumps({**GOOD, "kind": "recieve"}))
    assert report.findings[0].message.endswith('not "recieve"; did you mean "receive"?')


def test_a_process_without_positions_is_another_one_in_another_file(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_text('{"process": "p", "label": "x"}\n' * 2, encoding="utf-8")
    report = Report()
    events = list(formats.read(paths, report=report))
    assert [event.id for event in events] == ["p:1", "p:2", "p (b.jsonl):1", "p (b.jsonl):2"]
    assert report.counts == {"scattered-process": 1}


def test_a_reception_may_stand_in_a_file_before_that_of_its_sending(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("bob.jsonl", "alice.jsonl")]
    paths[0].write_text('{"process": "bob", "message": "m"}\n', encoding="utf-8")
    paths[1].write_text('{"process": "alice", "message": "m", "to": ["bob"]}\n', encoding="utf-8")
    assert shown(list(formats.read(paths))) == ["bob:1 receive m", "alice:1 send m"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "not an event: a JSON object is expected"),
        ("nonsense", r"not JSON: Expecting value \(column 1\)"),
        ('{"process": "p"} {}', r"not JSON: more text after the object \(column 17\)"),
        ('{"process": "p", "seq": NaN}', "not JSON: NaN is no JSON"),
        ('{"process": "\\ud800", "seq": 1, "kind": "internal"}', "half of a surrogate pair is no text"),
        ("[" * 100_000, "not an event: nested too deeply"),
        ('{"seq": ' + "1" * 5000 + "}", "not JSON: .*digits"),
    ],
)
def test_what_is_no_json_object_is_said_so(line: str, message: str) -> None:
    with pytest.raises(TraceError, match=f"^<test>:1: {message}"):
        read_text(line + "\n", report=Report(strict=True))


def test_a_half_written_last_line_is_said_so() -> None:
    line = json.dumps(GOOD)
    events, report = read_text(f"{line}\n{line[:20]}")
    assert (len(events), told(report)) == (1, [("bad-line", 2)])
    assert report.findings[0].message.startswith("half-written last line: not JSON: ")
    assert read_text(f"{line}\n{line[:20]}\n")[1].findings[0].message.startswith("not JSON: ")


def test_a_position_is_taken_once() -> None:
    lines = [{**GOOD, "seq": seq} for seq in (2, 1, 2, 3, 1)] + [{**GOOD, "seq": 2, "trace": "t"}]
    events, report = read_text("\n".join(map(json.dumps, lines)))
    assert [(event.trace, event.seq) for event in events] == [(None, 2), (None, 1), (None, 3), ("t", 2)]
    assert told(report) == [("duplicate-event", 3), ("duplicate-event", 5)]


@given(RUNS, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.integers(0, 120)), max_size=8))
def test_no_line_is_lost_silently(run: Run, damages: list[tuple[int, int, int]]) -> None:
    def deny(lines: list[str], at: int) -> None:
        lines[at] = lines[at].replace("1", "-1", 1)

    def swap(lines: list[str], at: int) -> None:
        lines[at], lines[-1] = lines[-1], lines[at]

    lines = damaged([jsonl.line_of(event).rstrip("\n") for event in run.events], damages, '"', deny, swap)
    events, report = read_text("\n".join(lines))
    assert len(events) + report.lost == sum(not line.isspace() and line != "" for line in lines)
    lossless = {"restart"}  # what follows is of another execution
    assert report.lost == sum(count for kind, count in report.counts.items() if kind not in lossless)


@given(
    st.lists(st.sampled_from((b"\xff", b"\xe2\x82", b"ok\xc3", "ä€".encode(), b"")), max_size=12),
    st.integers(1, 90),
)
def test_of_a_line_that_is_no_utf8_the_bad_bytes_are_replaced(texts: list[bytes], block: int) -> None:
    log = [
        line_of(TraceEvent("p", seq, label="?")).encode().replace(b"?", text)
        for seq, text in enumerate(texts, 1)
    ]
    whole = {at for at, text in enumerate(texts, 1) if text.decode("utf-8", "replace").encode() == text}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        events, report = read_text(b"".join(log))
    assert [event.line for event in events] == [*range(1, len(texts) + 1)]
    assert told(report) == [("bad-encoding", at) for at in range(1, len(texts) + 1) if at not in whole]
    assert report.lost == 0


def test_a_pattern_is_refused() -> None:
    with pytest.raises(TextError, match="a pattern is of no use"):
        read_text("", pattern="(?<host>.*) (?<clock>.*)")
