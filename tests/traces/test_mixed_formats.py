"""A log in files of several formats: what a process does in two of them is not ordered by their places."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from microcosm.errors import TextError
from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm
from microcosm.traces.extract import Extraction, microcosm_of_logs
from microcosm.traces.formats import jsonl
from microcosm.traces.formats import parquet as columns
from microcosm.traces.report import Report

OWN = '{"process": "1", "seq": %d, "kind": "internal", "label": "own"}\n'

LOGS = {
    "csight": "1 0,1,0 send 0\n0 1,1,0 relay 0\n",
    "csight_channels": "# index 0: 0\n# index 1: 1\n# c01 = 0->1\n# c10 = 1->0\n0,1 c10!x\n1,1 c10?x\n",
    "csight_2pc": "TM, 1, tx_prepare, 0\n1, TM, prepared, 0\n",
    "csv": "process,label\n1,a\n",
    "etcd": '{"tag": "trace", "ts": 1.0, "event": {"name": "Commit", "nid": "1"}}\n',
    "jepsen": "{:process 1, :type :invoke, :f :read}\n{:process 1, :type :ok, :f :read, :value 2}\n",
    "jsonl": OWN % 1,
    "jsonl later": OWN % 7,
    "jsonl without positions": '{"process": "1", "label": "own"}\n',
    "jsonl with clocks": '{"process": "1", "seq": 1, "kind": "internal", "clock": {"1": 1}}\n'
    '{"process": "2", "seq": 1, "kind": "internal", "clock": {"1": 1, "2": 1}, "after": ["1:1"]}\n',
    "logfmt": "time=2024-01-01T00:00:00Z level=info process=1 msg=a\n",
    "mpi": "1 compute 1e6\n0 compute 1e6\n1 finalize\n",
    "parquet": OWN % 2,
    "shiviz": 'x\n1 {"1": 1}\ny\n2 {"1": 1, "2": 1}\n',
    "structlog": '{"event": "a", "level": "info", "timestamp": 1, "process": "1"}\n',
    "porcupine": '{"ClientId": 1, "Input": {"Op": 0}, "Call": 0, "Output": {"Value": 0}, "Return": 9}\n',
    "tlc": '{"event": "d", "node": 1, "pkt": {"vc": {"0": 0, "1": 1}}}\n',
}
STATED = {"jsonl", "jsonl later", "jsonl with clocks", "parquet"}
"""Of those two files may be one log, for their positions are stated."""


def written(folder: Path, name: str) -> Path:
    path = folder / f"{name.replace(' ', '-')}.log"
    if name == "parquet":
        events = [jsonl.event_stated({"process": "1", "seq": 2, "kind": "internal"}, "", 0)]
        with path.open("wb") as stream:
            columns.write(events, stream)
    else:
        path.write_text(LOGS[name])
    return path


def across(found: Extraction) -> list[tuple[str, str]]:
    """The pairs of events of two files of which one is said to be before the other."""
    table, known = found.givens.events, Microcosm(found.givens)
    assert table is not None
    file = dict(zip(table.names, table.files, strict=True))
    named = sorted(name for name in file if name in known)
    pairs = ((a, b) for a, b in permutations(named, 2) if file[a] != file[b])
    return [(a, b) for a, b in pairs if known.online(a, b) is Relation.BEFORE]


@pytest.mark.parametrize("one", sorted(LOGS))
def test_a_process_of_two_formats_is_two(tmp_path: Path, one: str) -> None:
    """In the second it is called by its file, which is reported; no event is lost.

    Two logs of Synoptic are two executions. Where own lines leave positions out in one file, and state
    them in another, the log is refused.
    """
    for other in sorted({*LOGS} - {one}):
        if {one, other} <= STATED:
            continue
        paths = [written(tmp_path, name) for name in (one, other)]
        report = Report()
        if one == "jsonl without positions" and other in STATED:
            with pytest.raises(TextError, match="has positions of 1, whose lines in"):
                microcosm_of_logs(paths)
            continue
        found = microcosm_of_logs(paths, report=report)
        assert across(found) == [], (one, other)
        assert report.counts["scattered-process"] or {one, other} == {"csight", "csight_channels"}
        assert found.events == sum(microcosm_of_logs([path]).events for path in paths), (one, other)


@pytest.mark.parametrize("swapped", [False, True])
def test_what_is_said_of_a_process_means_the_one_of_its_format(tmp_path: Path, swapped: bool) -> None:
    """Clocks, receivers and links of a file speak of the process of that name there."""
    own = [
        {"process": "p", "seq": 1, "kind": "send", "message": "m", "to": ["q"], "clock": {"p": 1}},
        {"process": "q", "seq": 1, "kind": "receive", "message": "m", "clock": {"p": 1, "q": 1}},
        {"process": "q", "seq": 2, "kind": "internal", "clock": {"p": 1, "q": 2}, "after": ["p:1"]},
    ]
    lines, text = tmp_path / "a.jsonl", tmp_path / "b.log"
    lines.write_text("".join(json.dumps(event) + "\n" for event in own))
    text.write_text('x\np {"p": 1}\ny\nr {"p": 1, "r": 1}\nz\nq {"q": 1}\n')
    paths = [text, lines] if swapped else [lines, text]
    found = microcosm_of_logs(paths)
    known, place = Microcosm(found.givens), " (a.jsonl)" if swapped else ""
    assert known.online(f"p{place}:1", f"q{place}:2") is Relation.BEFORE
    assert known.online("p:1" if swapped else "p (b.log):1", "r:1") is Relation.BEFORE
    assert across(found) == []
    assert found.messages == 1
    assert not {"link-against-clock", "wrong-receiver"} & found.reported.keys()


def test_a_copy_is_of_the_file_that_it_stands_in(tmp_path: Path) -> None:
    """Wherever its events were first read: `origin` says so of each."""
    text, copy = tmp_path / "a.csv", tmp_path / "b.jsonl"
    text.write_text(LOGS["csv"])
    origin = '"origin": ["c.csv", 7]'
    copy.write_text(LOGS["jsonl later"].replace('"label"', f'{origin}, "label"'))
    for paths in ([text, copy], [copy, text]):
        found = microcosm_of_logs(paths)
        assert found.reported["scattered-process"] == 1
        assert not found.givens.external
