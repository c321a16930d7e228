"""A log that is said to be complete, as people ask about it: each answer says what was concluded offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from microcosm.cli.app import main

LOG = """\
{"process": "ann", "kind": "send", "message": "m1", "label": "asks"}
{"process": "ann", "label": "works"}
{"process": "bob", "kind": "send", "message": "m2", "label": "writes 2"}
{"process": "store", "kind": "receive", "message": "m1", "label": "lends"}
{"process": "store", "kind": "receive", "message": "m2", "label": "x is 2"}
{"process": "lonely", "label": "started"}
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(LOG)

    def run(*arguments: str, said: str = "") -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(said.encode())))
        code = main(list(arguments))
        return code, capsys.readouterr().out

    return run


def test_the_table_has_a_sign_with_a_mark(run: Run) -> None:
    _, plain = run("table", "log.jsonl")
    _, told = run("table", "log.jsonl", "--complete")
    assert "||*" not in plain
    assert "||*" in told
    assert "* concluded offline (⊩), as the log is said to be complete" in told
    _, every = run("table", "log.jsonl", "--complete", "--all")
    assert 'ann:1 "asks" ||* bob:1 "writes 2"' in every
    _, stated = run("table", "log.jsonl", "--complete", "--json")
    pairs = json.loads(stated)
    apart = [pair for pair in pairs["pairs"] if pair[2] == "||"]
    assert len(apart) == pairs["concluded_offline"] == 5
    assert ["ann:1", "bob:1", "||"] in apart


@pytest.mark.parametrize("command", ["online", "why"])
def test_one_pair_is_answered_with_the_proof_and_what_it_is(run: Run, command: str) -> None:
    code, told = run(command, "log.jsonl", "--complete", "ann:1", "bob:1")
    assert code == 0
    assert "concurrent" in told or "because" in told
    assert "Complete-Apart" in told
    assert "concluded offline" in told
    _, stated = run(command, "log.jsonl", "--complete", "ann:1", "bob:1", "--json")
    found = json.loads(stated)
    assert (found["verdict"], found["concluded"]) == ("||", "offline")
    assert found["derivation"]["rule"] == "Complete-Apart"
    Path("answer.json").write_text(stated)
    run("extract", "log.jsonl", "--complete", "-o", "log.mc")
    assert run("verify", "log.mc", "answer.json")[0] == 0
    _, ordered = run(command, "log.jsonl", "--complete", "ann:1", "store:2", "--json")
    assert "concluded" not in json.loads(ordered)


def test_why_not_tells_it_with_the_words_of_the_events(run: Run) -> None:
    code, told = run("why-not", "log.jsonl", "--complete", "ann:2 < bob:1")
    assert code == 0
    assert 'ann:2 "works" || bob:1 "writes 2" is concluded offline' in told
    assert '✗ ⊢₀ ann:2 "works" < bob:1 "writes 2"' in told
    assert run("why-not", "log.jsonl", "--complete", "ann:2 || bob:1")[0] == 1
    assert run("why-not", "log.jsonl", "ann:2 || bob:1")[0] == 0


def test_the_session_says_it_wherever_it_is_asked(run: Run) -> None:
    said = ["ann:1 ? bob:1", "ann:1 || bob:1?", "concurrent with ann:1", "unknown with ann:1", "silent"]
    _, told = run("repl", "log.jsonl", "--complete", said="\n".join([*said, "why ann:1 || bob:1"]))
    assert told.count("concluded offline (⊩)") == 4
    assert "yes: ann:1" in told
    assert "1 event concurrent with ann:1" in told
    assert "0 events unknown to ann:1" in told
    assert "0 pairs: silent" in told
    assert "Complete-Apart" in told
    _, stated = run("repl", "log.jsonl", "--complete", "--json", said="concurrent with ann:1\nconcurrent\n")
    around, pairs = map(json.loads, stated.splitlines())
    assert around["events"] == around["concluded_offline"] == ["bob:1"]
    assert [row["label"] for row in around["rows"]] == ["writes 2"]
    assert len(pairs["pairs"]) == len(pairs["concluded_offline"]) == 5
    assert pairs["events"]["bob:1"]["label"] == "writes 2"


def test_an_event_that_nothing_relates_is_told_of(run: Run) -> None:
    code, told = run("online", "log.jsonl", "--complete", "lonely:1", "bob:1")
    assert code == 3
    assert "concurrent" in " ".join(told.split()).split("nothing in the log is before lonely:1")[1]


def test_of_some_processes_it_says_why_an_internal_event_is_left_out(run: Run) -> None:
    code, told = run("online", "log.jsonl", "--complete=ann,bob", "ann:2", "bob:1")
    assert code == 3
    assert 'ann:2 "works" is neither' in " ".join(told.split())


@pytest.mark.parametrize(
    ("complete", "pair", "exact"),
    [
        ("--complete", ("lonely:1", "bob:1"), False),
        ("--complete", ("ann:2", "bob:1"), True),
        ("--complete=ann,bob", ("ann:2", "bob:1"), False),
        ("--complete=ann,bob", ("ann:1", "ann:2"), True),
        ("--complete=ann,bob", ("lonely:1", "bob:1"), True),
        ("--quiet", ("lonely:1", "bob:1"), True),
    ],
)
def test_what_a_complete_log_leaves_out_is_not_called_exact(
    run: Run, complete: str, pair: tuple[str, str], exact: bool
) -> None:
    for command in ("offline", "possible"):
        _, told = run(command, "log.jsonl", complete, *pair, "--json")
        assert json.loads(told)["exact"] is exact
    Path("answer.json").write_text(told)
    assert run("verify", "log.jsonl", complete, "answer.json")[0] == 0
    if not exact:
        Path("answer.json").write_text(told.replace('"exact": false', '"exact": true'))
        assert run("verify", "log.jsonl", complete, "answer.json")[0] == 1
