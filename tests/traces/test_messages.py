"""Messages: copies, multicasts, retransmissions and the two levels; what is matched, and what is not."""

from __future__ import annotations

from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Report


def edges(*events: TraceEvent) -> tuple[set[str], Report]:
    """The pairs that messages order, and what was reported."""
    report = Report()
    external = extract(events, report=report).givens.external.values()
    return {f"{e.left}<{e.right}" for e in external if (e.source or "").startswith("message ")}, report


def send(process: str, seq: int, message: str = "m", *to: str, kind: str = "send") -> TraceEvent:
    return TraceEvent(process, seq, kind, message, to)


def receive(process: str, seq: int, message: str = "m", kind: str = "receive") -> TraceEvent:
    return TraceEvent(process, seq, kind, message)


def test_a_multicast_is_one_sending_and_several_receptions() -> None:
    found, report = edges(send("p", 1, "m", "q", "r"), receive("q", 1), receive("r", 1))
    assert found == {"p:1<q:1", "p:1<r:1"}
    assert not report.counts


def test_receivers_need_not_be_recorded() -> None:
    found, report = edges(receive("q", 1), receive("r", 1), send("p", 1))
    assert found == {"p:1<q:1", "p:1<r:1"}
    assert not report.counts


def test_a_copy_each_goes_to_its_own_receiver() -> None:
    found, report = edges(send("p", 1, "m", "q"), send("p", 2, "m", "r"), receive("q", 1), receive("r", 1))
    assert found == {"p:1<q:1", "p:2<r:1"}
    assert not report.counts


def test_copies_of_several_senders_are_told_apart_by_receiver() -> None:
    found, report = edges(send("p", 1, "m", "q"), send("q", 1, "m", "r"), receive("q", 2), receive("r", 1))
    assert found == {"p:1<q:2", "q:1<r:1"}
    assert not report.counts


def test_of_a_repeated_sending_the_first_counts() -> None:
    """Whichever copy arrived, the first was sent before it; the second perhaps not."""
    first, again = send("p", 1, "m", "q"), send("p", 2, "m", "q", "r")
    found, report = edges(again, first, receive("q", 1), receive("r", 1))
    assert found == {"p:1<q:1", "p:2<r:1"}
    assert not report.counts
    assert edges(send("p", 1), send("p", 2, "m", "q"), receive("q", 1))[0] == {"p:1<q:1"}
    found, report = edges(first, send("p", 2), send("p", 3, "m", "q"), receive("q", 1))
    assert found == {"p:1<q:1"}
    assert report.counts == {"repeated-send": 1}


def test_the_network_and_the_application_are_two_levels() -> None:
    found, report = edges(
        send("p", 1, kind="causal_send"),
        send("p", 2, "m", "q"),
        receive("q", 1),
        receive("q", 2, kind="deliver"),
    )
    assert found == {"p:1<q:2", "p:2<q:1"}
    assert not report.counts


def test_a_level_without_its_sendings_takes_those_of_the_other() -> None:
    assert edges(send("p", 1), receive("q", 1), receive("q", 2, kind="deliver"))[0] == {"p:1<q:1", "p:1<q:2"}
    found, report = edges(send("p", 1, kind="causal_send"), receive("q", 1))
    assert found == {"p:1<q:1"}
    assert not report.counts


def test_messages_are_kept_as_givens_of_the_level_that_counts() -> None:
    network = [send("p", 1, "m", "q"), receive("q", 1), receive("q", 2, "lost")]
    messages = extract(network).givens.messages
    assert [(m.kind, m.event, m.message, m.process, m.receivers) for m in messages] == [
        ("send", "p:1", "m", "p", ("q",)),
        ("receive", "q:1", "m", "q", ()),
        ("receive", "q:2", "lost", "q", ()),
    ]
    delivered = [send("p", 2, kind="causal_send"), receive("q", 3, kind="deliver"), *network]
    assert [m.event for m in extract(delivered).givens.messages] == ["p:2", "q:3"]


def test_a_message_to_oneself_follows_the_order_of_the_process() -> None:
    assert edges(send("p", 1), receive("p", 3), TraceEvent("p", 2))[0] == {"p:1<p:3"}
    found, report = edges(receive("p", 1), send("p", 2))
    assert found == set()
    assert report.counts == {"message-cycle": 1}
