"""What a log says of its events arrives in the table of the microcosm: whatever the lane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm import Microcosm
from microcosm.givens.event_table import EventRow
from microcosm.traces import reading
from microcosm.traces.extract import microcosm_of_logs
from microcosm.traces.formats import jsonl, parquet


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
    path = written(
        tmp_path / "log.jsonl",
        {"process": "p", "seq": 1, "kind": "send", "message": "m", "label": "asked"},
        {"process": "q", "seq": 1, "kind": "internal", "attributes": {"time": 3, "key": [1]}},
        {"process": "q", "seq": 2, "kind": "receive", "message": "m", "label": ""},
    )
    table = microcosm_of_logs([path]).givens.events
    for name in ("copy", "again"):
        copy = tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            with copy.open("wb") as binary:
                parquet.write(reading.read([path]), binary)
        else:
            with copy.open("w", encoding="utf-8") as stream:
                jsonl.write(reading.read([path]), stream)
        found = microcosm_of_logs([copy])
        assert found.givens.events == table
        assert microcosm_of_logs([copy], format=ending).givens.events == table
        path = copy


def test_what_is_no_origin_is_an_attribute(tmp_path: Path) -> None:
    line = {"process": "p", "seq": 1, "kind": "internal", "origin": "Paris"}
    events = microcosm_of_logs([written(tmp_path / "log.jsonl", line)]).givens.events
    assert events is not None
    assert [row.attributes for row in events] == [{"origin": "Paris"}]
