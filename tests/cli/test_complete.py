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
    assert len(apart) == pairs["concluded_offline"] == 10
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
    assert "2 events concurrent with ann:1" in told
    assert "0 events unknown to ann:1" in told
    assert "0 pairs: silent" in told
    assert "Complete-Apart" in told
    _, stated = run("repl", "log.jsonl", "--complete", "--json", said="concurrent with ann:1\nconcurrent\n")
    around, pairs = map(json.loads, stated.splitlines())
    assert around["events"] == around["concluded_offline"] == ["bob:1", "lonely:1"]
    assert [row["label"] for row in around["rows"]] == ["writes 2", "started"]
    assert len(pairs["pairs"]) == len(pairs["concluded_offline"]) == 10
    assert pairs["events"]["bob:1"]["label"] == "writes 2"


@pytest.mark.parametrize("said", ["--complete", "--complete=bob,lonely", "--complete=ann,lonely"])
def test_an_event_that_nothing_relates_was_concurrent(run: Run, said: str) -> None:
    """Of its process nothing left and nothing came in, whatever is missing of others."""
    other = "bob:1" if "bob" in said or "=" not in said else "ann:2"
    for command in ("online", "offline"):
        code, told = run(command, "log.jsonl", said, "lonely:1", other, "--json")
        assert code == 0
        assert json.loads(told)["verdict"] == "||"
        Path("answer.json").write_text(told)
        assert run("verify", "log.jsonl", said, "answer.json")[0] == 0
    assert run("online", "log.jsonl", "--complete=bob,lonely", "lonely:1", "ann:1")[0] == 3


def test_of_some_processes_what_happened_before_anything_was_sent(run: Run) -> None:
    """Bob heard of nothing: what ann did after her only sending, she did beside all of his."""
    code, told = run("why", "log.jsonl", "--complete=ann,bob", "ann:2", "bob:1")
    assert code == 0
    assert 'ann:2 "works" || bob:1 "writes 2"' in told
    assert "Complete-Apart" in told
    assert "concluded offline (⊩), as ann and bob are said to be complete" in told
    _, table = run("table", "log.jsonl", "--complete=ann,bob", "--all")
    assert 'ann:2 "works" ||* bob:1 "writes 2"' in table
    _, written = run("extract", "log.jsonl", "--complete=ann,bob")
    assert "process ann = ann:2\n" in written
    _, session = run("repl", "log.jsonl", said="suppose complete ann, bob\nann:2 ? bob:1\nlonely:1 ? bob:1")
    assert session.count("concluded offline (⊩)") == 1


@pytest.mark.parametrize(
    ("complete", "pair"),
    [
        ("--complete", ("ann:2", "bob:1")),
        ("--complete=ann,bob", ("ann:2", "bob:1")),
        ("--complete=ann,bob", ("ann:1", "ann:2")),
        ("--complete=ann,bob", ("lonely:1", "bob:1")),
        ("--quiet", ("lonely:1", "bob:1")),
    ],
)
def test_what_is_said_of_a_complete_log_is_exact(run: Run, complete: str, pair: tuple[str, str]) -> None:
    for command in ("offline", "possible"):
        _, told = run(command, "log.jsonl", complete, *pair, "--json")
        assert json.loads(told)["exact"] is True
    Path("answer.json").write_text(told)
    assert run("verify", "log.jsonl", complete, "answer.json")[0] == 0
