"""CSight's three kinds of logs: with clocks and message names, of channels, of two-phase commit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from microcosm.givens.relation import Relation
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.traces.logs import read_text, told

RING = """\
0 1,0 send 1 0 m7
1 1,1 recv 1 0 m7
1 1,2 relay
1 1,2 round-done 0
"""

CHANNELS = """\
# index 0: server (127.0.0.1:80)
# index 1: client (127.0.0.1:9)
# cs = client->server
# run 1: as usual
0,1 cs!syn
1,1 cs?syn # inferred
0,2 cs!syn
--
# run 2: again
0,1 cs!syn
"""


def test_events_that_do_not_tick_are_ordered_by_their_lines() -> None:
    events, report = read_text(RING, "csight")
    assert [(event.id, event.kind, event.message) for event in events] == [
        ("0:1", "send", "m7"),
        ("1:1", "receive", "m7"),
        ("1:2", "internal", None),
        ("1:3", "internal", None),
    ]
    assert not report.counts
    clocks = extract(events).givens.clocks
    assert [clocks[name].ticked for name in ("1:1", "1:2", "1:3")] == [True, True, False]


def test_lines_that_are_no_events_are_reported() -> None:
    _, report = read_text(f"hello\n{RING}9 1,0 relay\n0 {10**30},0 relay\n", "csight")
    assert told(report) == [("bad-line", 1), ("bad-line", 6), ("bad-line", 7)]
    assert report.lost == 3


def test_channels_name_their_ends() -> None:
    events, report = read_text(CHANNELS, "csight_channels")
    assert [(event.full_id, event.kind, event.message, event.clock) for event in events] == [
        ("run 1/client:1", "send", "m1", {"server": 0, "client": 1}),
        ("run 1/server:1", "receive", "m1", {"server": 1, "client": 1}),
        ("run 1/client:2", "send", "m1.2", {"server": 0, "client": 2}),
        ("run 2/client:1", "send", "m1", {"server": 0, "client": 1}),
    ]
    assert told(report) == [("ambiguous-content", 7)]


def test_without_comments_the_clock_tells_who_acts() -> None:
    events, report = read_text("0,1 x!a\n1,1 x?a\n3,2 x!a\n", "csight_channels")
    assert [event.id for event in events] == ["1:1", "0:1"]
    assert told(report) == [("bad-line", 3)]


def test_a_line_of_two_phase_commit_is_a_sending_and_a_reception() -> None:
    events, report = read_text("TM, 0, tx_prepare, 4\nonly, three, words\n0, TM, commit, 4\n", "csight_2pc")
    assert [(event.id, event.kind, event.message) for event in events] == [
        ("TM:1", "send", "m1"),
        ("0:1", "receive", "m1"),
        ("0:2", "send", "m2"),
        ("TM:2", "receive", "m2"),
    ]
    assert all(event.attributes == {"assumed": True, "transaction": "4"} for event in events)
    assert told(report) == [("bad-line", 2)]
    assert report.lost == 2
    facts = extract(events).givens.external
    assert all(fact.relation is Relation.BEFORE for fact in facts.values())


def test_each_is_told_by_its_text() -> None:
    assert formats.detect(RING, "x").NAME == "csight"
    assert formats.detect(CHANNELS, "x").NAME == "csight_channels"
    assert formats.detect("TM, 0, tx_prepare, 4\n", "x").NAME == "csight_2pc"


def test_messages_of_several_files_are_not_taken_for_each_other(tmp_path: Path) -> None:
    names = "# index 0: p\n# index 1: q\n# x = p->q\n"
    logs = {
        "csight_2pc": ["TM, 0, tx_prepare, 0\n", "0, TM, commit, 0\n"],
        "csight_channels": [names + "1,0 x!a\n2,0 x!b\n", names + "2,1 x?b\n2,2 x?a\n"],
    }
    for form, texts in logs.items():
        paths = [tmp_path / f"{form}{number}" for number, _ in enumerate(texts)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        events = list(formats.read(paths, format=form))
        assert Counter(event.kind for event in events) == {"send": 2, "receive": 2}
        assert len({event.message for event in events}) == 2
        assert not extract(events).reported


HEADER = "# index 0: a\n# index 1: b\n# c = a->b\n"
LINES = "1,0 c!x\n2,0 c!y\n2,1 c?x\n2,2 c?y\n"


def test_the_names_in_the_first_file_hold_in_those_behind(tmp_path: Path) -> None:
    records = LINES.splitlines(keepends=True)
    for at in range(5):
        texts = [HEADER + "".join(records[:at]), "".join(records[at:])]
        paths = [tmp_path / f"{at}.{number}.log" for number in range(2)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        found = extract(formats.read(paths, format="csight_channels"))
        assert found.givens == extract(read_text(HEADER + LINES, "csight_channels")[0]).givens


def test_names_behind_events_begin_another_execution(tmp_path: Path) -> None:
    """Who was called by a number before may be any of those who have names: nothing is known across."""
    first, other = tmp_path / "first.log", tmp_path / "other.log"
    first.write_text("1,0 c!x\n2,0 c!y\n", encoding="utf-8")
    other.write_text(HEADER + "2,1 c?x\n2,2 c?y\n", encoding="utf-8")
    report = Report()
    events = [*formats.read([first, other], format="csight_channels", report=report)]
    assert [(event.process, event.trace) for event in events] == [("0", None)] * 2 + [("b", "2")] * 2
    assert report.counts["restart"] == 1
    given = extract(events).givens
    assert all(fact.left.count("/") == fact.right.count("/") for fact in given.external.values())
    assert {clock.execution for clock in given.clocks.values()} == {None, "2"}


BARE = "1,0 send m1\n1,1 recv m1\n1,2 relay\n2,0 relay\n"


def test_lines_may_do_without_the_process() -> None:
    """The entry that is beyond all that was shown is whose event it is."""
    events, report = read_text(BARE, "csight")
    assert [(e.id, e.kind, e.message) for e in events] == [
        ("0:1", "send", "m1"),
        ("1:1", "receive", "m1"),
        ("1:2", "internal", None),
        ("0:2", "internal", None),
    ]
    assert not report.counts
    assert formats.detect(BARE, "x").NAME == "csight"
    assert told(read_text("1,1 a\n1,2 b\n1,1 c\n", "csight")[1]) == [("bad-line", 1), ("bad-line", 3)]
