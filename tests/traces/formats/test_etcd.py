"""etcd-raft: messages without ids, told apart by content and order."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces import reading as formats
from microcosm.traces.event import Contents, TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats.etcd import Node
from microcosm.traces.report import Report
from tests.thorough import draws
from tests.traces.logs import REAL, closed, read_text, told


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
    assert formats.detect(SEND, "x.ndjson").NAME == "etcd"


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


@pytest.mark.parametrize("field", ["type", "from"])
@pytest.mark.parametrize("value", [["MsgApp"], {"a": 1}])
def test_a_message_whose_type_or_sender_is_no_text_is_none(field: str, value: object) -> None:
    message = {"type": "MsgApp", "from": "1", "to": "2", "term": 1, field: value}
    lines = [
        {
            "tag": "trace",
            "ts": at,
            "event": {"name": f"{what}AppendEntriesRequest", "nid": "2", "msg": message},
        }
        for at, what in enumerate(("Receive", "Send", "Receive"))
    ]
    events, report = read_text("".join(json.dumps(line) + "\n" for line in lines), "etcd")
    assert (events, told(report)) == ([], [("bad-line", number) for number in (1, 2, 3)])


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


def orders(events: list[TraceEvent]) -> set[tuple[str, str]]:
    """The orders that are stated between nodes."""
    facts = extract(events).givens.external.values()
    return {(one.left, one.right) for one in facts if one.left[0] != one.right[0]}


def heartbeat(name: str, node: str, time: float, term: int = 1) -> str:
    message = {"type": "MsgHeartbeat", "from": "1", "to": "2", "term": term}
    return (
        json.dumps({"tag": "trace", "ts": time, "event": {"name": name, "nid": node, "msg": message}}) + "\n"
    )


def test_a_reception_before_any_sending_shows_a_hole_and_nothing_is_counted() -> None:
    received, sent = "ReceiveAppendEntriesRequest", "SendAppendEntriesRequest"
    text = heartbeat(received, "2", 2) + heartbeat(sent, "1", 3) + heartbeat(received, "2", 4)
    events, report = read_text(text, "etcd")
    assert [event.message for event in events] == [None] * 3
    assert told(report) == [("log-hole", 1), ("ambiguous-content", 1)]
    assert orders(events) == set()


def test_a_line_that_cannot_be_read_is_a_hole_and_one_of_others_is_none() -> None:
    assert orders(read_text('{"tag": "other"}\n' + SEND + RECEIVE + '{"tag": "tr', "etcd")[0])
    assert not orders(read_text("damaged\n" + SEND + RECEIVE, "etcd")[0])


def test_the_files_of_nodes_are_one_log_in_any_order(tmp_path: Path) -> None:
    """The names of messages go through all files, and times tell the order of the lines."""
    received, sent = "ReceiveAppendEntriesRequest", "SendAppendEntriesRequest"
    lines = [heartbeat(sent, "1", 1), heartbeat(sent, "1", 2, 2), heartbeat(received, "2", 3, 2)]
    parts = {"one": lines[:2], "two": lines[2:], "end": [heartbeat(received, "2", 4)]}
    for name, part in parts.items():
        (tmp_path / name).write_text("".join(part), encoding="utf-8")
    whole = [(event.id, event.message) for event in read_text("".join(lines + parts["end"]), "etcd")[0]]
    for names in permutations(parts):
        report = Report()
        events = list(formats.read([tmp_path / name for name in names], report=report))
        assert [(event.id, event.message) for event in events] == whole
        assert orders(events) == {("1:1", "2:2"), ("1:2", "2:1")}
        assert not report.counts


def test_without_times_files_are_counted_together(tmp_path: Path) -> None:
    for name, text in (("a", RECEIVE), ("b", SEND)):
        (tmp_path / name).write_text(text.replace('"ts": 1.5, ', ""), encoding="utf-8")
    assert orders(list(formats.read([tmp_path / "a", tmp_path / "b"]))) == {("1:1", "2:1")}


def test_a_log_given_twice_is_two_runs(tmp_path: Path) -> None:
    """Where a node does two things at a time, or time goes back for it, there is another run."""
    first = json.dumps({"tag": "trace", "ts": 1, "event": {"name": "InitState", "nid": "1"}}) + "\n"
    one, two, twice = (tmp_path / name for name in ("one", "two", "twice"))
    one.write_text(first + SEND + RECEIVE, encoding="utf-8")
    two.write_text(first + SEND + RECEIVE, encoding="utf-8")
    twice.write_text((first + SEND + RECEIVE) * 2, encoding="utf-8")
    for paths in ([one, two], [twice]):
        events = list(formats.read(paths))
        assert {event.trace for event in events} == {"run 1", "run 2"}
        found = {(one.left, one.right) for one in extract(events).givens.external.values()}
        assert {("run 1/1:2", "run 1/2:1"), ("run 2/1:2", "run 2/2:1")} <= found
        assert all(left[:5] == right[:5] for left, right in found)


def test_a_line_that_is_there_twice_is_one() -> None:
    text = heartbeat("Ready", "1", 1) + heartbeat("Ready", "1", 2)
    events, report = read_text(text.replace("\n", "\n" + text.splitlines()[0] + "\n", 1), "etcd")
    assert (len(events), report.counts) == (2, {"duplicate-event": 1})


def test_time_that_goes_back_within_a_node_is_reported() -> None:
    _, report = read_text(heartbeat("Ready", "1", 2) + heartbeat("Ready", "1", 1), "etcd")
    assert told(report) == [("clock-inversion", 2)]


def state(term: int, commit: int, log: int) -> dict[str, object]:
    return {"state": {"term": term, "commit": commit}, "log": log}


def test_what_a_node_has_not_reached_it_has_not_sent() -> None:
    node = Node("1")
    for seq, fields in enumerate(
        [state(1, 0, 0), state(2, 0, 3), {}, state(2, 1, 4), state(2, 2, 4), state(3, 2, 2)], 1
    ):
        assert node.add(seq, "InitState" if seq == 1 else "Ready", fields) is None
    before = {
        ("MsgVote", 2): 1,
        ("MsgVote", 3): 5,
        ("MsgVote", 4): 6,
        ("MsgPreVote", 3): 0,
    }
    assert {key: node.before({"type": key[0], "term": key[1]}) for key in before} == before
    append = {"type": "MsgApp", "term": 2, "index": 3, "entries": 1, "commit": 0}
    assert node.before(append) == 2
    assert node.before({**append, "commit": 2}) == 4
    answer = {"type": "MsgAppResp", "term": 2, "index": 4, "reject": False}
    assert (node.before(answer), node.before({**answer, "reject": True})) == (2, 1)


@pytest.mark.parametrize(
    "events",
    [
        [("Ready", None)],
        [("InitState", None), ("SendAppendEntriesResponse", {"from": "1", "to": "2"})],
        [
            ("InitState", None),
            ("ReceiveAppendEntriesRequest", {"type": "MsgApp", "term": 5, "from": "2", "to": "1"}),
            ("ReceiveAppendEntriesRequest", {"type": "MsgApp", "term": 5, "from": "2", "to": "1"}),
        ],
    ],
    ids=["begins", "answers", "does not answer"],
)
def test_what_shows_that_lines_of_a_node_are_missing(events: list[tuple[str, object]]) -> None:
    node = Node("1")
    odd = [node.add(seq, name, {**state(5, 0, 0), "msg": said}) for seq, (name, said) in enumerate(events, 1)]
    assert not any(odd[:-1])
    assert odd[-1] is not None


class Claims:
    """What is claimed of some lines of a log, by the numbers of the lines."""

    def __init__(self, lines: list[str], parts: list[list[int]], folder: Path) -> None:
        paths, place = [], {}
        for name, part in enumerate(parts):
            paths.append(folder / str(name))
            paths[-1].write_text("".join(lines[at] for at in part), encoding="utf-8")
            place |= {(str(paths[-1]), number): at for number, at in enumerate(part, 1)}
        events = list(formats.read(paths, format="etcd"))
        at = {event.id: place[event.file, event.line] for event in events}
        into: dict[int, set[int]] = {one: set() for one in at.values()}
        for one in extract(events).givens.external.values():
            into[at[one.right]].add(at[one.left])
        self.past = closed(into)

    def beyond(self, whole: Claims) -> int:
        """How many orders are claimed that the whole log does not have."""
        return sum((seen & ~whole.past[one]).bit_count() for one, seen in self.past.items())


@pytest.mark.skipif(not REAL.is_dir(), reason="no collection of real logs beside the checkout")
@pytest.mark.parametrize("many", [1, pytest.param(draws(3, 40), marks=pytest.mark.slow)])
def test_the_real_log_in_parts_claims_nothing_that_the_whole_does_not(many: int, tmp_path: Path) -> None:
    (path,) = (REAL / "etcd_raft").glob("*.ndjson")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    every = list(range(len(lines)))
    whole = Claims(lines, [every], tmp_path)
    of_nodes: dict[str, list[int]] = {}
    for at in every:
        of_nodes.setdefault(json.loads(lines[at])["event"]["nid"], []).append(at)
    random = Random(many)
    for parts in ([*of_nodes.values()], [*of_nodes.values()][::-1], [every[2000:], every[:2000]]):
        assert Claims(lines, parts, tmp_path).past == whole.past
    for _ in range(many):
        cut = random.randrange(len(lines))
        for part in (
            every[cut:],
            every[:cut],
            [at for at in every if random.random() > 0.05],
            [at for at in every if random.random() > 0.3],
        ):
            found = Claims(lines, [part], tmp_path)
            assert found.beyond(whole) == 0
