"""Logs on the command line: `extract`, `trace` and `demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm import files
from microcosm.text.mc_reader import read_givens
from tests.cli.conftest import Run

LOG = """\
{"process": "alice", "seq": 1, "kind": "internal", "id": "unshare", "label": "takes Eve off the readers"}
{"process": "alice", "seq": 2, "kind": "send", "message": "m1", "id": "upload"}
{"process": "server", "seq": 1, "kind": "receive", "message": "m1", "id": "store"}
{"process": "server", "seq": 2, "kind": "send", "message": "m2", "id": "publish"}
{"process": "eve", "seq": 1, "kind": "receive", "message": "m2", "id": "view"}
{"process": "bob", "seq": 1, "kind": "internal", "id": "like", "clock": {"bob": 1}}
{"process": "carol", "seq": 1, "kind": "internal", "id": "comment", "clock": {"carol": 1}}
{"process": "carol", "seq": 2, "kind": "send", "message": "m9", "id": "post", "clock": {"carol": 2}}
"""

SHIVIZ = 'hello\nalice {"alice": 1}\nhi\nbob {"alice": 1, "bob": 1}\n'

COUNTS = {"schema", "events", "processes", "messages", "correspondences", "clocks", "reported"}


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "album.jsonl").write_text(LOG, encoding="utf-8")
    return "album.jsonl"


def test_the_microcosm_of_a_log_in_a_field(run: Run, log: str) -> None:
    ran = run("extract", log, "--json")
    assert ran.code == 0
    assert set(ran.json) == COUNTS | {"microcosm"}
    assert (ran.json["events"], ran.json["processes"], ran.json["messages"]) == (8, 5, 3)
    assert ran.json["reported"] == {"unreceived-send": 1}
    assert ran.err.count("[unreceived-send]") == 1
    microcosm = json.dumps(ran.json["microcosm"]).encode()
    assert run("online", "-", "unshare", "view", "--json", stdin=microcosm).json["verdict"] == "<"
    assert run("online", "-", "like", "comment", "--json", stdin=microcosm).json["verdict"] == "||"


def test_the_microcosm_of_a_log_as_text_and_in_a_file(run: Run, log: str) -> None:
    text = run("extract", log)
    assert text.code == 0
    assert "8 events, 5 processes, 3 messages" in text.err
    into = run("extract", log, "-o", "album.mc", "--json")
    assert set(into.json) == COUNTS
    assert Path("album.mc").read_text(encoding="utf-8") == text.out
    assert run("extract", log, "-o", "album.json").out.startswith("album.json: 8 events")
    as_json = read_givens(Path("album.json").read_text(encoding="utf-8"))
    assert as_json.external.keys() == read_givens(text.out).external.keys()
    assert as_json.clocks == read_givens(text.out).clocks


def test_what_one_process_could_know(run: Run, log: str) -> None:
    ran = run("extract", log, "--process", "eve", "--json")
    assert ran.json["events"] == 5
    assert ran.json["microcosm"]["internal"] == ["view"]
    assert "like" not in json.dumps(ran.json["microcosm"])
    assert run("extract", log, "--process", "nobody").code == 4


def test_without_clocks_nothing_is_concurrent(run: Run, log: str) -> None:
    ran = run("extract", log, "--without-clocks", "--json")
    assert ran.json["microcosm"]["clocks"] == {}


def test_an_irregularity_is_an_error_under_strict(run: Run) -> None:
    Path("gap.jsonl").write_text(LOG + "nonsense\n", encoding="utf-8")
    lenient = run("extract", "gap.jsonl", "--json")
    assert (lenient.code, lenient.json["reported"]["bad-line"]) == (0, 1)
    strict = run("extract", "gap.jsonl", "--strict", "--json")
    assert strict.refused(4)
    assert strict.err.startswith("error: gap.jsonl:")


def test_many_irregularities_of_a_kind_are_counted(run: Run) -> None:
    event = '{"process": "p", "seq": 1, "kind": "send", "message": "m"}\n'
    Path("bad.jsonl").write_text("nonsense\n" * 50 + event, encoding="utf-8")
    ran = run("extract", "bad.jsonl", "--format", "jsonl", "--json")
    assert ran.json["reported"] == {"bad-line": 50, "unreceived-send": 1}
    assert ran.err.count("[bad-line]") == 6
    assert "warning: 45 more of [bad-line] (--warnings all lists them)\n" in ran.err


def test_a_pattern_says_what_a_record_is(run: Run) -> None:
    Path("chat.log").write_text(SHIVIZ, encoding="utf-8")
    pattern = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
    ran = run("extract", "chat.log", "--pattern", pattern, "--json")
    assert (ran.code, ran.json["events"], ran.json["processes"]) == (0, 2, 2)


def test_a_log_in_the_own_format(run: Run, log: str) -> None:
    ran = run("trace", log, "--to", "copy.jsonl", "--json")
    assert (ran.code, ran.json) == (0, {"schema": "microcosm/1", "events": 8, "reported": {}})
    first, again = (run("extract", file, "--json").json["microcosm"] for file in (log, "copy.jsonl"))
    assert first == again
    Path("chat.log").write_text(SHIVIZ, encoding="utf-8")
    assert run("trace", "chat.log", "--to", "chat.jsonl").out == "chat.jsonl: 2 events\n"
    assert run("extract", "chat.jsonl", "--json").json["events"] == 2


def test_a_log_that_cannot_be_read_leaves_no_file(run: Run) -> None:
    ran = run("trace", "nowhere.jsonl", "--to", "copy.jsonl")
    assert ran.refused(4)
    assert list(Path().iterdir()) == []


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log above in the place of the one that ships."""
    (tmp_path / "photo-album.jsonl").write_text(LOG, encoding="utf-8")
    real = files.shipped
    monkeypatch.setattr(files, "shipped", lambda folder: tmp_path if folder == "examples" else real(folder))


@pytest.mark.usefixtures("shipped")
def test_the_demo_asks_one_question_of_each_kind_and_checks_the_proofs(run: Run) -> None:
    ran = run("demo", "--json")
    assert (ran.code, ran.json["valid"]) == (0, True)
    verdicts = [question["verdict"] for question in ran.json["questions"]]
    assert verdicts[:3] == ["<", "||", "?"]
    shown = run("demo").out
    assert "alice   upload   send m1\n" in shown
    assert "⊢₀ unshare < view  (In-Tr, 4 links)" in shown
    assert "has checked every proof, and accepts it" in shown
    assert "Try next:" in shown


@pytest.mark.usefixtures("shipped")
def test_the_demo_says_when_the_kernel_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microcosm.kernel.check.check", lambda givens, rules, proof: "a fault")
    ran = run("demo")
    assert ran.code == 1
    assert "The kernel refuses a proof: a fault" in ran.out
    assert "accepts" not in ran.out


def test_the_log_of_the_demo_ships_and_has_every_kind_of_answer(run: Run) -> None:
    ran = run("demo", "--json")
    assert ran.code == 0
    verdicts = [question["verdict"] for question in ran.json["questions"]]
    assert {"<", "||", "?", None} <= set(verdicts)
