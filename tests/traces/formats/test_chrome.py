"""Trace events of Chrome, Perfetto and Kineto: threads are processes, flows messages."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from tests.traces.logs import read_text, told

Record = dict[str, object]


def event(ph: str, ts: float, tid: int = 1, name: str = "x", **more: object) -> Record:
    return {"name": name, "ph": ph, "ts": ts, "pid": 9, "tid": tid, **more}


def shown(records: list[Record]) -> list[str]:
    events, report = read_text(json.dumps({"traceEvents": records}), "chrome")
    assert not report.counts
    return [f"{e.id} {e.kind} {e.label}" for e in events]


def orders(records: list[Record]) -> set[tuple[str, str]]:
    found = extract(read_text(json.dumps(records), "chrome")[0]).givens.external.values()
    return {(fact.left, fact.right) for fact in found}


def test_slices_are_two_events_in_the_order_of_their_thread() -> None:
    records = [
        event("X", 10.1, name="outer", dur=9.9),
        event("X", 10.1, name="inner", dur=9.9 - 0.1),
        event("B", 30, name="late"),
        event("i", 31, name="tick"),
        event("E", 32, name=""),
        event("X", 20, name="zero", dur=0),
    ]
    assert shown(records) == [
        "9/1:1 internal outer",
        "9/1:2 internal inner",
        "9/1:3 internal end of inner",
        "9/1:4 internal end of outer",
        "9/1:5 internal zero",
        "9/1:6 internal end of zero",
        "9/1:7 internal late",
        "9/1:8 internal tick",
        "9/1:9 internal end of late",
    ]


def test_slices_that_begin_and_end_at_one_time_nest_as_they_stand() -> None:
    for seed in range(100):
        random, records, said, under_way, now = Random(seed), [], [], [], 0
        for at in range(20):
            now += random.choice((0, 0, 1))
            if under_way and random.random() < 0.5:
                label = under_way.pop()
                records.append(event("E", now, name=random.choice((label, ""))))
                said.append(f"end of {label}")
            else:
                under_way.append(f"s{at}")
                records.append(event("B", now, name=f"s{at}"))
                said.append(f"s{at}")
        for label in reversed(
            under_way
        ):  # a slice that does not end leaves it open which of equal ends is whose
            records.append(event("E", now + 1, name=""))
            said.append(f"end of {label}")
        assert [line.split(" ", 2)[2] for line in shown(records)] == said


def test_of_slices_of_one_time_the_inner_one_ends_first_and_an_end_told_again_is_none() -> None:
    outer = [event("B", 1, name="a"), event("X", 1, name="b", dur=3), event("X", 2, name="c", dur=2)]
    records = [*outer, event("E", 5, name="")]
    labels = ["a", "b", "c", "end of c", "end of b", "end of a"]
    assert [line.split(" ", 2)[2] for line in shown(records)] == labels
    events, report = read_text(json.dumps([*records, records[-1]]), "chrome")
    assert [one.label for one in events] == labels
    assert report.counts == {"duplicate-event": 1}


@pytest.mark.parametrize("copies", [2, 3])
def test_a_copy_of_a_log_does_not_end_what_has_no_end_in_it(copies: int) -> None:
    """Equal ends are those of slices that end together, but for those of the copy."""
    ends = [event("E", 5, name=""), event("E", 5, name="")]
    for records in (
        [event("B", 1), event("B", 2), event("E", 5, name="")],
        [event("B", 1), event("B", 2), event("B", 3), *ends],
        [event("B", 1), event("B", 2), *ends],
    ):
        once, _ = read_text(json.dumps(records), "chrome")
        found, report = read_text(json.dumps(records * copies), "chrome")
        assert [(each.id, each.label) for each in found] == [(each.id, each.label) for each in once]
        assert report.counts == {"duplicate-event": (copies - 1) * len(records)}


def test_threads_have_the_names_that_the_log_gives_them() -> None:
    names = [
        {"name": "process_name", "ph": "M", "pid": 9, "args": {"name": "renderer"}},
        {"name": "thread_name", "ph": "M", "pid": 9, "tid": 1, "args": {"name": "io"}},
    ]
    assert shown([event("i", 1), *names, event("i", 1, tid=2)]) == [
        "renderer[9]/io[1]:1 internal x",
        "renderer[9]/2:1 internal x",
    ]


FLOW = [
    event("s", 1, cat="rpc", id=7),
    event("t", 2, tid=2, cat="rpc", id=7),
    event("X", 3, tid=3, name="handle", dur=5),
    event("f", 3, tid=3, cat="rpc", id=7, bp="e"),
]


@pytest.mark.parametrize("records", [FLOW, FLOW[::-1]])
def test_a_flow_is_a_message_that_arrives_before_the_slice_it_leads_to(records: list[Record]) -> None:
    assert orders(records) == {
        ("9/1:1", "9/2:1"),
        ("9/1:1", "9/3:1"),
        ("9/2:1", "9/3:1"),
        ("9/3:1", "9/3:2"),
        ("9/3:2", "9/3:3"),
    }


def test_what_is_not_plain_is_not_matched() -> None:
    events, report = read_text(json.dumps([*FLOW, event("s", 9, tid=4, cat="rpc", id=7)]), "chrome")
    assert {e.message for e in events} == {None}
    assert report.counts == {"ambiguous-content": 1}
    other = [FLOW[0], {**FLOW[3], "cat": "io"}]
    assert orders(other) == set()


def test_a_flow_within_a_thread_is_no_message() -> None:
    assert shown([FLOW[0], {**FLOW[3], "tid": 1}]) == ["9/1:1 internal x", "9/1:2 internal x"]


def test_a_flow_that_arrives_too_early_is_told() -> None:
    records = [event("s", 5, id=1), event("f", 4, tid=2, id=1)]
    events, report = read_text(json.dumps(records), "chrome")
    assert told(report) == [("clock-inversion", 1)]
    assert [e.message for e in events] == ["x:1", "x:1"]


KINETO = [
    event("X", 10, cat="cuda_runtime", name="cudaLaunchKernel", dur=2, args={"correlation": 5}),
    event("X", 20, tid=7, cat="kernel", name="gemm", dur=9, args={"correlation": 5, "stream": 7}),
    event("X", 10, tid=2, cat="cpu_op", name="aten::mm", dur=3, args={"External id": 5}),
]


def test_a_kernel_comes_after_the_call_that_launched_it() -> None:
    assert ("9/1:1", "9/7:1") in orders(KINETO)
    twice = [*KINETO, event("X", 13, cat="cuda_runtime", name="again", dur=1, args={"correlation": 5})]
    assert ("9/1:1", "9/7:1") not in orders(twice)
    flow = [event("s", 10, id=5, cat="ac2g"), event("f", 20, tid=7, id=5, cat="ac2g", bp="e")]
    assert ("9/1:2", "9/7:1") in orders([*KINETO, *flow])


def test_threads_of_two_files_are_two(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, at in zip(paths, (1, 2), strict=True):
        path.write_text(json.dumps([event("i", at), event("s", at + 0.5, id=1)]), encoding="utf-8")
    events = list(formats.read(paths))
    assert [e.id for e in events] == ["9/1:1", "9/1:2", "9/1 (b.json):1", "9/1 (b.json):2"]
    assert [e.message for e in events] == [None, "x:1", None, "x:1 (b.json)"]


@pytest.mark.parametrize("seed", range(40))
def test_events_may_stand_in_any_order(seed: int) -> None:
    """What is said of a thread does not depend on the places of events, also where they are of one time."""
    rng = Random(seed)
    records = [event("X", rng.randrange(4), name=f"x{at}", dur=rng.randrange(3)) for at in range(4)]
    records += [event("i", rng.randrange(4), name=f"i{at}") for at in range(3)]
    rng.shuffle(records)
    found = []
    for listed in (records, records[::-1], rng.sample(records, len(records))):
        events, _ = read_text(json.dumps(listed), "chrome")
        label = {one.id: one.label for one in events}
        known = Microcosm(extract(events).givens)
        pairs = permutations([one for one in label if one in known], 2)
        found.append({(label[a], label[b]) for a, b in pairs if known.online(a, b) is Relation.BEFORE})
    times = [(one["ts"], one.get("dur", 0)) for one in records]
    assert found[0] == found[1] == found[2] or len({*times}) < len(times)
    sure = {
        (f"{'end of ' if 'dur' in one else ''}{one['name']}", other["name"])
        for one, other in permutations(records, 2)
        if one["ts"] + one.get("dur", 0) < other["ts"]
    }
    assert all(sure <= said for said in found)
    for a, b in combinations(records, 2):
        if ("dur" in a, a["ts"], a.get("dur")) == ("dur" in b, b["ts"], b.get("dur")):
            either = {(a["name"], b["name"]), (b["name"], a["name"])}
            assert all(said.isdisjoint(either) for said in found)


def test_what_is_no_event_is_told() -> None:
    text = json.dumps([{"ph": 1}, event("i", 1), {**event("i", 1), "ts": None}, event("X", 1, dur=-1), 5, {}])
    events, report = read_text(text, "chrome")
    assert len(events) == 1
    assert report.counts == {"bad-line": 4}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"schemaVersion": 1, "traceEvents": KINETO}),
        json.dumps(KINETO, indent=1),
        "[\n" + "".join(json.dumps(one) + ",\n" for one in FLOW),
    ],
)
def test_it_is_told_by_its_fields(text: str) -> None:
    assert formats.detect(text, "x.json").NAME == "chrome"
    events, report = read_text(text, "chrome")
    assert len(events) >= 4
    assert not report.counts


@pytest.mark.parametrize("end", ["", ",", "\n", ",\n"])
def test_of_an_array_the_last_bracket_is_optional(end: str) -> None:
    """A program that ends in the midst of its trace does not write it."""
    text = json.dumps(FLOW).removesuffix("]")
    events, report = read_text(text + end, "chrome")
    assert events == read_text(text + "]", "chrome")[0]
    assert not report.counts
    assert read_text(text[:-9], "chrome")[1].counts["bad-line"] == 1
    assert read_text(f'{{"traceEvents": {text}{end}', "chrome")[1].counts == {"bad-line": 1}


def test_what_happened_is_said_of_each() -> None:
    events, _ = read_text(json.dumps(KINETO), "chrome")
    assert events[0].attributes == {"correlation": 5, "cat": "cuda_runtime", "time": 10}
    assert {e.file for e in events} == {"<test>"}
    assert all(e.line for e in events)


def test_slices_with_a_bind_id_are_flows() -> None:
    records = [
        event("X", 10, name="post", dur=5, bind_id="0x7", flow_out=True),
        event("X", 20, tid=2, name="relay", dur=5, bind_id="0x7", flow_in=True, flow_out=True),
        event("B", 30, tid=3, name="run", bind_id="0x7", flow_in=True),
        event("E", 35, tid=3, name="run"),
        event("X", 40, tid=4, name="other", dur=1, bind_id="0x8"),
    ]
    events, report = read_text(json.dumps(records), "chrome")
    kinds = {e.id: (e.kind, e.message) for e in events if e.kind != "internal"}
    assert kinds == {
        "9/1:1": ("send", "bind_id:0x7"),
        "9/2:1": ("receive", "bind_id:0x7"),
        "9/3:1": ("receive", "bind_id:0x7"),
    }
    assert not report.counts
    across = {(a, b) for a, b in orders(records) if a.split(":")[0] != b.split(":")[0]}
    assert across == {("9/1:1", "9/2:1"), ("9/1:1", "9/3:1"), ("9/2:1", "9/3:1")}


def test_a_bind_id_that_two_slices_send_is_matched_with_none() -> None:
    records = [
        event("X", 10, dur=5, bind_id=7, flow_out=True),
        event("X", 11, tid=2, dur=5, bind_id=7, flow_out=True),
        event("X", 20, tid=3, dur=5, bind_id=7, flow_in=True),
    ]
    events, report = read_text(json.dumps(records), "chrome")
    assert {e.kind for e in events} == {"internal"}
    assert set(report.counts) == {"ambiguous-content"}


def test_a_name_that_is_made_for_a_flow_of_another_file_is_no_other_flow(tmp_path: Path) -> None:
    for file, identity in (("a.json", "7 (b.json)"), ("b.json", "7")):
        ends = [
            {"name": "n", "ph": part, "ts": at, "pid": 1, "tid": at, "id": identity}
            for at, part in enumerate("sf")
        ]
        (tmp_path / file).write_text(json.dumps(ends), encoding="utf-8")
    events = [*formats.read([tmp_path / "a.json", tmp_path / "b.json"])]
    assert len({event.message for event in events}) == 2
