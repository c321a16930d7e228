r"""Concuerror: mailboxes are processes, receptions come after arrivals, lives after spawnings.

TLC: JSON lines in any order, and states of a counterexample with escaped clocks.
"""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.formats import model_checkers
from microcosm.traces.report import Report
from tests.traces.logs import read_text, told

REPORT = """\
Concuerror v0.17 started
 Options:
################################################################################
Interleaving #1
--------------------------------------------------------------------------------
Event trace:
   1: P: P.1 = erlang:spawn(erlang, apply, [f,[]])
    in erlang.erl line 2673
   2: P: {a = b} = P.1 ! {a = b}
    in x.erl line 3
   3: Message ({a = b}) from P reaches P.1
   4: P.1: receives message ({a = b})
    in x.erl line 7
   5: P.1: exits normally
    (while exiting)
gibberish
################################################################################
Interleaving #2
--------------------------------------------------------------------------------
Event trace:
   1: Message (late) from Q reaches P
   2: P: receives message (late)
################################################################################
Exploration completed!
"""


def test_the_steps_of_interleavings() -> None:
    events, report = read_text(REPORT, "concuerror")
    assert [(event.full_id, event.kind, event.message, event.after) for event in events] == [
        ("Interleaving 1/P:1", "internal", None, ()),
        ("Interleaving 1/P:2", "send", "m1", ()),
        ("Interleaving 1/P.1 mailbox:1", "internal", None, ("P:2",)),
        ("Interleaving 1/P.1:1", "receive", "m1", ("P:1", "P.1 mailbox:1")),
        ("Interleaving 1/P.1:2", "internal", None, ()),
        ("Interleaving 2/P mailbox:1", "internal", None, ()),
        ("Interleaving 2/P:1", "receive", "m1", ("P mailbox:1",)),
    ]
    assert events[1].to == ("P.1",)
    assert told(report) == [("bad-line", 16)]
    assert extract(events).reported == {"unmatched-receive": 1}
    assert formats.detect(REPORT, "x.txt").NAME == "concuerror"


def test_a_step_that_is_cut_off_says_nothing() -> None:
    """Half of `P.12` is the name of another process."""
    steps = "   1: P: {m} = P.12 ! {m}\n   2: Message ({m}) from P reaches P.12\n"
    assert [event.process for event in read_text(steps, "concuerror")[0]] == ["P", "P.12 mailbox"]
    for size in range(27, len(steps)):
        events, report = read_text(steps[:size], "concuerror")
        assert [event.process for event in events] == ["P"]
        assert report.counts.keys() <= {"bad-line"}


def test_sendings_by_name_and_by_call_are_those_of_what_arrives() -> None:
    steps = (
        "P: true = erlang:register(srv, R)",
        "P: 1 = srv ! 1",
        "P: ok = erlang:send({srv,nonode@nohost}, 1, [nosuspend,noconnect])",
        "P: 1 = erlang:send(R, 1)",
        "P: [1, 2] = erlang:send(R, [1, 2])",
        "P: 1 = R ! 1",
        *("Message (1) from P reaches R",) * 4,
        "Message ([1, 2]) from P reaches R",
        "R: receives message (1)",
    )
    text = "Concuerror\nEvent trace:\n" + "".join(f"{n:4}: {step}\n" for n, step in enumerate(steps, 1))
    events, report = read_text(text, "concuerror")
    assert [(event.kind, event.to) for event in events[1:6]] == [("send", ("R",))] * 5
    assert [event.after for event in events[6:]] == [
        ("P:2",),
        ("P:3",),
        ("P:4",),
        ("P:6",),
        ("P:5",),
        ("R mailbox:1",),
    ]
    assert events[-1].message == "m1"
    assert not report.counts


def test_what_arrived_first_is_received_first() -> None:
    steps = (
        "P: 1 = R ! 1",
        "Q: 1 = R ! 1",
        "Message (1) from Q reaches R",
        "Message (1) from P reaches R",
        "R: receives message (1)",
        "R: receives message (1)",
    )
    text = "Event trace:\n" + "".join(f"{number:4}: {step}\n" for number, step in enumerate(steps, 1))
    events, _ = read_text("Concuerror\n" + text, "concuerror")
    assert [event.message for event in events if event.kind == "receive"] == ["m2", "m1"]
    assert not extract(events).reported


def interleaving(*steps: str, numbers: list[int] | None = None) -> str:
    numbered = zip(numbers or range(1, len(steps) + 1), steps, strict=True)
    return "Concuerror\nEvent trace:\n" + "".join(f"{number:4}: {step}\n" for number, step in numbered)


def after(text: str) -> dict[str, tuple[str, ...]]:
    return {f"{event.process} {event.label}": event.after for event in read_text(text, "concuerror")[0]}


def test_an_exit_signal_comes_after_the_exit_and_ends_who_it_reaches() -> None:
    found = after(
        interleaving(
            "P: P.1 = erlang:spawn_link(f)",
            "P: exits abnormally (boom)",
            "Exit signal (boom) from P reaches P.1",
            "P.1: exits abnormally (boom)",
        )
    )
    assert found["P.1 mailbox Exit signal (boom) from P reaches P.1"] == ("P:2",)
    assert found["P.1 exits abnormally (boom)"] == ("P:1", "P.1 mailbox:1")


def test_of_exit_signals_the_first_ends_who_it_reaches() -> None:
    """Whoever is exiting is reached by others, of which it knows nothing; a normal one ends nobody."""
    found = after(
        interleaving(
            *(f"P: true = erlang:exit(P.1, {reason})" for reason in ("normal", "boom", "boom", "normal")),
            *(
                f"Exit signal ({reason}) from P reaches P.1"
                for reason in ("normal", "boom", "boom", "normal")
            ),
            "P.1: exits abnormally (boom)",
        )
    )
    assert found["P.1 exits abnormally (boom)"] == ("P.1 mailbox:2",)


def test_an_exit_signal_may_come_of_a_call_and_be_received_as_a_message() -> None:
    found = after(
        interleaving(
            "P.1: false = erlang:process_flag(trap_exit, true)",
            "P: true = erlang:exit(P.1, stop)",
            "P: exits normally",
            "Exit signal (stop) from P reaches P.1",
            "P.1: receives message ({'EXIT',P,stop})",
            "Exit signal from Q reaches P.1",
            "P.1: exits abnormally (stop)",
        )
    )
    assert found["P.1 mailbox Exit signal (stop) from P reaches P.1"] == ("P:1",)
    assert found["P.1 receives message ({'EXIT',P,stop})"] == ("P.1 mailbox:1",)
    assert found["P.1 mailbox Exit signal from Q reaches P.1"] == ()
    assert found["P.1 exits abnormally (stop)"] == ()


def test_where_steps_are_missing_what_is_behind_is_matched_with_nothing() -> None:
    steps = ("P: a = Q ! a", "P: a = Q ! a", "Message (a) from P reaches Q", "Q: receives message (a)")
    assert after(interleaving(*steps))["Q mailbox Message (a) from P reaches Q"] == ("P:1",)
    events, report = read_text(interleaving(*steps[1:], numbers=[2, 3, 4]), "concuerror")
    assert [event.after for event in events] == [()] * 3
    assert told(report) == [("seq-gap", 3)]


def test_interleavings_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(REPORT, encoding="utf-8")
    events = list(formats.read([tmp_path / "a", tmp_path / "b"]))
    assert list(dict.fromkeys(event.trace for event in events)) == [
        "Interleaving 1",
        "Interleaving 2",
        "Interleaving 1 (2)",
        "Interleaving 2 (2)",
    ]
    half = REPORT.split("   3: ")
    (tmp_path / "c").write_text(half[0], encoding="utf-8")
    (tmp_path / "d").write_text("   3: " + half[1], encoding="utf-8")
    split = list(formats.read([tmp_path / "c", tmp_path / "d"], format="concuerror"))
    assert len(split) == 7
    assert [event.trace for event in split[:3]] == ["Interleaving 1"] * 2 + ["Interleaving"]


@pytest.mark.parametrize(
    "piece",
    [
        " = erlang:send(a, ",
        " = p ! x",
        " = erlang:exit(a, ",
        ", [a",
        ") from a reaches ",
        " = = ! ",
        "x(, [a])",
    ],
)
@pytest.mark.parametrize("end", ["", ")", " ! x"])
def test_a_long_step_is_read_in_linear_time(piece: str, end: str) -> None:
    step = f"P: x{piece * (150_000 // len(piece))}{end}"
    begun = process_time()
    events, _ = read_text(f"Concuerror\nEvent trace:\n   1: {step}\n", "concuerror")
    assert process_time() - begun < 2
    assert len(events) == 1


@given(st.lists(st.sampled_from([" = ", " ! ", "a", "b ", "erlang:send(", ", ", ")", ", [a,b]", "=", "!"])))
def test_a_sending_is_told_as_its_form_says(pieces: list[str]) -> None:
    step = "".join(pieces)
    form = re.fullmatch(
        r"(?P<sent>.*) = (?P<to>\S+) ! (?P=sent)"
        r"|.* = erlang:send\((?P<whom>\S+?), (?P<what>.*?)(?:, \[[\w,]*\])?\)",
        step,
    )
    assert model_checkers._sent(step) == (
        (form["to"] or form["whom"], form["sent"] if form["to"] else form["what"]) if form else None
    )


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
