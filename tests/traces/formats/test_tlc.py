r"""TLC: JSON lines in any order, and states of a counterexample with escaped clocks."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.traces.logs import read_text, told


def line(what: str, node: int, clock: list[int], message: str = "", ends: tuple[int, int] = (0, 1)) -> str:
    packet: dict[str, object] = {"vc": {str(index): value for index, value in enumerate(clock)}}
    if what != "d":
        packet.update(snd=ends[0], rcv=ends[1], msg={"type": message})
    return json.dumps({"event": what, "node": node, "pkt": packet}) + "\n"


LINES = [
    line(">", 0, [1, 0], "pl"),
    line("d", 0, [2, 0]),
    line(">", 0, [3, 0], "pl"),
    line("<", 1, [1, 1], "pl"),
    line("<", 1, [3, 2], "pl"),
]


def test_messages_are_found_whatever_the_order_of_lines() -> None:
    for order in permutations(LINES):
        events, report = read_text('{"N": 2}\n' + "".join(order), "tlc")
        found = {event.id: (event.kind, event.message) for event in events}
        assert found == {
            "0:1": ("send", "0:1"),
            "0:2": ("internal", None),
            "0:3": ("send", "0:3"),
            "1:1": ("receive", "0:1"),
            "1:2": ("receive", "0:3"),
        }
        assert not report.counts
        assert not extract(events).reported
    assert formats.detect("".join(LINES), "x.ndjson").NAME == "tlc"


def test_a_message_read_again_is_the_same_message() -> None:
    again = line("<", 1, [3, 3], "pl")
    events, _ = read_text("".join((*LINES, again)), "tlc")
    assert events[-1].message == "0:3"
    assert extract(events).reported == {"duplicate-receive": 1}


def test_a_message_to_oneself() -> None:
    text = line(">", 0, [1], "x", (0, 0)) + line("<", 0, [2], "x", (0, 0))
    assert [event.message for event in read_text(text, "tlc")[0]] == ["0:1", "0:1"]


def test_messages_are_found_over_files(tmp_path: Path) -> None:
    """Whatever was sent since: what a reception is called does not hang on the file that it stands in."""
    lines = [*LINES[:3], line("<", 1, [3, 1], "pl"), line(">", 0, [4, 0], "trm"), line("<", 1, [4, 2], "pl")]
    found = {}
    for number, files in enumerate(
        ([lines], [lines[:4], lines[4:]], [lines[3::2], lines[:3], lines[4:5]], [lines, lines[3:]])
    ):
        paths = [tmp_path / f"{number}.{at}.ndjson" for at in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_text("".join(content), encoding="utf-8")
        report = Report()
        events = extract(formats.read(paths, format="tlc", report=report), report=report).givens.events
        assert events is not None
        assert report.counts.pop("duplicate-event", 0) == 3 * (number == 3)
        found[number] = {(event.name, event.kind, event.message) for event in events}, report.counts
    assert all(one == found[0] for one in found.values())


def test_lines_that_are_no_events_are_reported() -> None:
    bad = ('{"event": "d", "node": "", "pkt": {"vc": {"": 1}}}\n', '{"event": "d"}\n', "rubbish\n", '{"ev')
    _, report = read_text(LINES[0] + "".join(bad), "tlc")
    assert told(report) == [("bad-line", number) for number in (2, 3, 4, 5)]
    assert report.lost == 4


STATES = r"""TLC2 Version 2.16
State 1: <Init line 1 of module M>
/\ x = 0

State 2: <SendMsg line 118, col 3 to line 128, col 32 of module M>
/\ Host = n1
/\ Clock = "{\"n1\":1,\"n2\":0}"
/\ x = 1

State 3: <RecvMsg line 1 of module M>
/\ Host = n2
/\ Clock = "{\"n1\":1,\"n2\":1}"

State 4: <RecvMsg line 1 of module M>
/\ Host = n2
/\ Clock = "{\"n1\":1,
"""


def test_states_with_escaped_clocks() -> None:
    events, report = read_text(STATES, "tlc")
    assert [(event.id, event.label, event.clock, event.line) for event in events] == [
        ("n1:1", "SendMsg", {"n1": 1, "n2": 0}, 5),
        ("n2:1", "RecvMsg", {"n1": 1, "n2": 1}, 10),
    ]
    assert told(report) == [("bad-clock", 16)]
    assert report.lost == 1
    assert formats.detect(STATES, "x.log").NAME == "tlc"
