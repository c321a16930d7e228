"""What a log says of its events arrives in the table of the microcosm: whatever the lane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm import Microcosm, Relation
from microcosm.errors import MicrocosmError
from microcosm.givens.event_table import EventRow
from microcosm.kernel.check import check
from microcosm.traces import reading
from microcosm.traces.extract import microcosm_of_logs
from microcosm.traces.formats import jsonl, parquet
from microcosm.traces.report import Report
from tests.traces.samples import SAMPLES


def written(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_plain_log_tells_places(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"process": "p", "seq": 1, "kind": "send", "message": "m"},
        {"process": "q", "seq": 1, "kind": "internal"},
        {"process": "q", "seq": 2, "kind": "receive", "message": "m"},
    )
    events = Microcosm.from_trace(path).events_table
    assert events is not None
    assert [*events] == [
        EventRow("p:1", "p", 1, "send", "m", file=str(path), line=1),
        EventRow("q:1", "q", 1, "internal", file=str(path), line=2),
        EventRow("q:2", "q", 2, "receive", "m", file=str(path), line=3),
    ]


def test_a_careful_log_tells_everything_in_the_order_of_reading(tmp_path: Path) -> None:
    late = written(
        tmp_path / "a.jsonl",
        {"process": "q", "seq": 2, "kind": "receive", "message": "m", "label": "heard"},
        {"process": "q", "seq": 1, "kind": "internal", "attributes": {"time": "12:00", "key": [1]}},
    )
    other = written(
        tmp_path / "b.jsonl",
        {"process": "p", "seq": 1, "kind": "send", "message": "m", "label": "asked"},
    )
    events = microcosm_of_logs([other, late]).givens.events
    assert events is not None
    assert [*events] == [
        EventRow("p:1", "p", 1, "send", "m", "asked", file=str(other), line=1),
        EventRow("q:2", "q", 2, "receive", "m", "heard", file=str(late), line=1),
        EventRow(
            "q:1", "q", 1, "internal", None, None, None, {"time": "12:00", "key": [1]}, "12:00", str(late), 2
        ),
    ]


def test_names_are_those_of_the_microcosm_where_there_are_several_executions(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"trace": "one", "process": "p", "seq": 1, "kind": "send", "message": "m"},
        {"trace": "two", "process": "p", "seq": 1, "kind": "internal", "label": "x"},
        {"trace": "two", "process": "p", "seq": 2, "kind": "internal", "id": "named"},
    )
    events = microcosm_of_logs([path]).givens.events
    assert events is not None
    assert [(row.name, row.process, row.trace, row.message) for row in events] == [
        ("one/p:1", "one/p", "one", "one/m"),
        ("two/p:1", "two/p", "two", None),
        ("named", "two/p", "two", None),
    ]


def test_a_process_knows_the_events_of_its_past(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"process": "p", "seq": 1, "kind": "send", "message": "m", "label": "x"},
        {"process": "p", "seq": 2, "kind": "internal"},
        {"process": "q", "seq": 1, "kind": "receive", "message": "m"},
    )
    events = microcosm_of_logs([path], process="q").givens.events
    assert events is not None
    assert [*events.names] == ["p:1", "q:1"]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_copy_says_where_its_events_were_read(tmp_path: Path, ending: str) -> None:
    """So its table is that of the log of which it is a copy; also that of a copy of it."""
    path = tmp_path / "chat.log"
    path.write_text('asked\np {"p": 1}\nheard\nq {"q": 1, "p": 1}\n', "utf-8")
    table = microcosm_of_logs([path]).givens.events
    assert table is not None
    assert [(row.label, row.place) for row in table] == [("asked", f"{path}:1"), ("heard", f"{path}:3")]
    for name in ("copy", "again"):
        path = copied(path, tmp_path / f"{name}.{ending}")
        assert microcosm_of_logs([path]).givens.events == table


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_copy_of_the_own_format_is_a_log_of_its_own(tmp_path: Path, ending: str) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"process": "p", "seq": 1, "kind": "send", "message": "m", "label": "asked"},
        {"process": "q", "seq": 1, "kind": "internal", "attributes": {"time": 3, "key": [1]}},
        {"process": "q", "seq": 2, "kind": "receive", "message": "m", "label": ""},
    )
    copy = copied(path, tmp_path / f"copy.{ending}")
    first, again = (microcosm_of_logs([each]).givens.events for each in (path, copy))
    assert first is not None
    assert again is not None
    assert [row._replace(file=str(copy)) for row in first] == [*again]


def copied(path: Path, to: Path) -> Path:
    """The copy of a log that `trace --to` makes."""
    if to.suffix == ".parquet":
        with to.open("wb") as binary:
            parquet.write(reading.read([path]), binary)
    else:
        with to.open("w", encoding="utf-8") as stream:
            jsonl.write(reading.read([path]), stream)
    return to


def test_a_copy_that_stands_there_twice_does_so_where_it_was_read(tmp_path: Path) -> None:
    line = {"process": "p", "seq": 1, "kind": "internal"}
    log, report = tmp_path / "log.jsonl", Report()
    lines = [line, {**line, "origin": ["a.log", 7]}]
    log.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    assert len([*reading.read([log], report=report)]) == 1
    assert [(each.file, each.line) for each in report.findings] == [("a.log", 7)]


def test_what_is_no_origin_is_an_attribute(tmp_path: Path) -> None:
    line = {"process": "p", "seq": 1, "kind": "internal", "origin": "Paris"}
    events = microcosm_of_logs([written(tmp_path / "log.jsonl", line)]).givens.events
    assert events is not None
    assert [row.attributes for row in events] == [{"origin": "Paris"}]


def test_a_link_says_what_it_is_also_in_a_copy(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log.jsonl",
        {"process": "p", "seq": 1, "kind": "internal"},
        {"process": "q", "seq": 1, "kind": "internal"},
        {
            "process": "r",
            "seq": 1,
            "kind": "internal",
            "after": ["p:1", "q:1"],
            "links": ["spawn", "barrier"],
        },
        {"process": "s", "seq": 1, "kind": "internal", "after": ["p:1"]},
        {"process": "t", "seq": 1, "kind": "internal", "after": ["p:1"], "links": ["a", "b"]},
    )
    expected = {"r:1": ["spawn", "barrier"], "s:1": ["link"], "t:1": ["link"]}
    for path in (log, copied(log, tmp_path / "copy.jsonl"), copied(log, tmp_path / "copy.parquet")):
        found: dict[str, list[str | None]] = {}
        for fact in microcosm_of_logs([path]).givens.external.values():
            found.setdefault(fact.right, []).append(fact.source)
        assert found == expected


def test_a_log_that_cannot_be_complete_says_why(tmp_path: Path) -> None:
    """Several executions, what one process knows, spans: what they do not order need not be concurrent."""
    plain = {"process": "p", "seq": 1, "kind": "internal", "label": "x"}
    log = written(tmp_path / "log.jsonl", plain, plain | {"process": "q"})
    assert microcosm_of_logs([log]).incomplete == ()
    assert microcosm_of_logs([log], format="jsonl").incomplete == ()
    assert len(microcosm_of_logs([log], process="q").incomplete) == 1
    runs = written(tmp_path / "runs.jsonl", plain | {"trace": "a"}, plain | {"trace": "b"})
    assert "2 executions" in microcosm_of_logs([runs]).incomplete[0]
    spans = SAMPLES["zipkin"](1, 60)
    (tmp_path / "zipkin.json").write_text(spans.header + "".join(spans.records) + spans.footer, "utf-8")
    found = microcosm_of_logs([tmp_path / "zipkin.json"])
    assert any("spans" in why for why in found.incomplete)
    with pytest.raises(MicrocosmError, match="spans"):
        Microcosm.from_trace(tmp_path / "zipkin.json", complete=True)


def test_revisions_of_a_complete_history_were_concurrent(tmp_path: Path) -> None:
    log = tmp_path / "history.tsv"
    log.write_text("commit\tparents\none\t\ntwo\tone\nthree\tone\nfour\ttwo three\n", "utf-8")
    known = Microcosm.from_trace(log, complete=True)
    found = known.offline("two", "three")
    assert found.relation is Relation.CONCURRENT
    proof = found.derivations["||"]
    assert proof is not None
    assert check(known.givens, known.rules, proof.to_json()) is None
    assert known.possible("two", "three").relations == (Relation.CONCURRENT,)
