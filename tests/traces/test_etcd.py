"""etcd-raft: messages without ids, told apart by content and order."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces import formats
from microcosm.traces.content import Contents
from microcosm.traces.correspondences import extract
from tests.traces.logs import read_text, told


def line(name: str, node: str, **message: object) -> str:
    event = {"name": name, "nid": node, **({"msg": message} if message else {})}
    return json.dumps({"tag": "trace", "ts": 1.5, "event": event}) + "\n"


SEND = line("SendVote", "1", **{"from": "1", "to": "2", "term": 1})
RECEIVE = line("ReceiveVote", "2", **{"from": "1", "to": "2", "term": 1})


def test_a_reception_meets_the_sending_of_its_content() -> None:
    events, report = read_text(line("Ready", "1") + SEND + RECEIVE, "etcd")
    assert [(event.id, event.kind, event.message, event.to) for event in events] == [
        ("1:1", "internal", None, ()),
        ("1:2", "send", "m1", ("2",)),
        ("2:1", "receive", "m1", ()),
    ]
    assert events[0].attributes == {"ts": 1.5}
    assert not report.counts
    assert formats.detect(SEND, "x.ndjson") == "etcd"


def test_equal_contents_are_told_apart_by_order_and_reported_once() -> None:
    events, report = read_text(SEND * 3 + RECEIVE * 2, "etcd")
    assert [event.message for event in events] == ["m1", "m1.2", "m1.3", "m1", "m1.2"]
    assert told(report) == [("ambiguous-content", 4)]
    assert extract(events).reported == {"unreceived-send": 1}


def test_what_is_no_event_is_reported() -> None:
    other = '{"level": "info"}\n'
    text = other + line("SendVote", "1") + '["x"]\n' + RECEIVE + '{"tag": "tr'
    events, report = read_text(text, "etcd")
    assert (len(events), report.lost) == (1, 4)
    assert told(report) == [("bad-line", number) for number in (1, 2, 3, 5)]
    assert report.findings[-1].message.startswith("half-written last line")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2))))
def test_the_kth_reception_of_a_content_comes_after_its_kth_sending(steps: list[tuple[bool, int]]) -> None:
    """Whatever the network does but duplicate, a k-th reception has k sendings before it."""
    under_way: list[tuple[int, int]] = []
    contents, sent = Contents(), dict[str, int]()
    counts = [0, 0, 0]
    for at, (sends, content) in enumerate(steps):
        if sends:
            sent[contents.sent(content)] = at
            counts[content] += 1
            under_way.append((content, at))
        elif any(one == content for one, _ in under_way):
            under_way.remove(next(pair for pair in reversed(under_way) if pair[0] == content))
            assert sent[contents.received(content)] < at
