"""Concuerror: mailboxes are processes, receptions come after arrivals, lives after spawnings."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.formats import model_checkers
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
