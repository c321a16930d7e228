"""Events that nothing names: a verdict all the same, which says so; an error where they must exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ASKING = {
    "online": ["online", "FILE", "unshare", "viev"],
    "why": ["why", "FILE", "unshare", "viev"],
    "why --offline": ["why", "FILE", "unshare", "viev", "--offline"],
    "why-not": ["why-not", "FILE", "unshare < viev"],
    "offline": ["offline", "FILE", "unshare", "viev"],
    "possible": ["possible", "FILE", "unshare", "viev"],
}


@pytest.mark.parametrize("asked", ASKING.values(), ids=ASKING)
def test_a_misspelt_event_is_listed(run: Run, album: str, asked: list[str]) -> None:
    command = [album if word == "FILE" else word for word in asked]
    ran = run(*command, "--json")
    assert ran.json["unknown_events"] == ["viev"]
    assert "viev is not in this microcosm; did you mean view?" in ran.err
    assert "did you mean view?" in run(*command).err
    assert ran.code == run(*command).code


@pytest.mark.parametrize("asked", ASKING.values(), ids=ASKING)
def test_it_is_an_error_where_events_must_exist(run: Run, album: str, asked: list[str]) -> None:
    command = [album if word == "FILE" else word for word in asked]
    ran = run(*command, "--must-exist", "--json")
    assert ran.refused(4)
    assert "nothing names the event 'viev'; did you mean 'view'?" in ran.err
    right = [word.replace("viev", "view") for word in command]
    fine = run(*right, "--must-exist", "--json")
    assert (fine.code, fine.json) == ((plain := run(*right, "--json")).code, plain.json)
    assert "unknown_events" not in fine.json


def test_a_session_lists_it_too(run: Run, album: str) -> None:
    asked = (
        "unshare ? viev",
        "unshare < viev?",
        "why unshare < viev",
        "why not unshare < viev",
        "offline {}",
    )
    asked = (*asked, "possible {}", "what if unshare < viev")
    script = "\n".join(asked).format("unshare viev", "unshare viev")
    for answer in run("repl", album, "--json", stdin=script.encode()).json_lines:
        assert answer["unknown_events"] == ["viev"], answer
    for answer in run("repl", album, "--json", stdin=script.replace("viev", "view").encode()).json_lines:
        assert "unknown_events" not in answer


def test_an_event_of_a_message_is_named(run: Run) -> None:
    Path("sent.mc").write_text("a < b\nsend s = m p\n", encoding="utf-8")
    ran = run("online", "sent.mc", "a", "s", "--must-exist", "--json")
    assert (ran.code, ran.json["verdict"]) == (3, "?")
    assert "unknown_events" not in ran.json


@pytest.mark.parametrize("asked", [ASKING["online"], ASKING["why"]], ids=["online", "why"])
def test_the_whole_answer_verifies(run: Run, album: str, asked: list[str]) -> None:
    answer = run(*[album if word == "FILE" else word for word in asked], "--json").out
    assert json.loads(answer)["verdict"] == "?"
    Path("answer.json").write_text(answer, encoding="utf-8")
    assert run("verify", album, "answer.json").code == 0


def test_names_of_the_log_that_nothing_relates_are_offered(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    runs = [{"trace": run, "process": p, "label": "x"} for run in ("one", "two") for p in "ab"]
    log.write_text("".join(json.dumps(line) + "\n" for line in runs))
    ran = run("online", str(log), "a:1", "one/b:2")
    assert ran.code == 3
    told = ran.err
    assert "a:1 is not in this microcosm; did you mean one/a:1 or two/a:1?" in told
    assert "did you mean one/b:1" in told


@pytest.mark.parametrize(
    "command", ["online", "offline", "why", "why-not", "possible", "settle", "page --pair"]
)
def test_an_event_without_a_name_is_no_event(run: Run, command: str) -> None:
    Path("ab.mc").write_text("a < b\n", encoding="utf-8")
    name, *option = command.split()
    assert run(name, "ab.mc", *option, "a", "", *(["-o", "x.html"] if option else []), "--json").refused(2)
