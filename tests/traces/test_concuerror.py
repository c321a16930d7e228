"""Concuerror: mailboxes are processes, receptions come after arrivals, lives after spawnings."""

from __future__ import annotations

from microcosm.traces import formats
from microcosm.traces.correspondences import extract
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
    assert formats.detect(REPORT, "x.txt") == "concuerror"


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
