"""The command line as one thing: both forms of a question, help, complaints, errors for programs, tables."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from microcosm.cli.app import COMMANDS
from microcosm.cli.commands.help import every_command, manual_page
from microcosm.cli.show import tables
from tests.cli.conftest import Run

STYLES = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both streams are a terminal of 80 columns, in colour."""
    monkeypatch.setattr("microcosm.cli.output.is_terminal", lambda stream: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("command", ["online", "why", "offline", "possible", "settle"])
def test_two_events_or_a_relation_of_them_are_asked_about_alike(run: Run, album: str, command: str) -> None:
    for left, right in (("view", "unshare"), ("like", "log in")):
        apart = run(command, album, left, right, "--json")
        for sign in ("<", "?"):
            together = run(command, album, f'{left} {sign} "{right}"', "--json")
            assert (together.out, together.code) == (apart.out, apart.code)
    assert run(command, album, "unshare < unshare").refused(2)
    assert run(command, album, "unshare").refused(2)


def test_why_not_takes_two_events_for_the_first_before_the_second(run: Run, album: str) -> None:
    assert run("why-not", album, "view", "unshare").out == run("why-not", album, "view < unshare").out
    assert run("why-not", album, "view", "view").refused(2)
    assert "two events and a relation" in run("why-not", album, "view").err


def test_a_relation_may_name_events_by_their_words(run: Run) -> None:
    text = '{"process": "a", "label": "write x"}\n{"process": "b", "label": "read x"}\n'
    Path("log.jsonl").write_text(text, encoding="utf-8")
    asked = run("why-not", "log.jsonl", "/write x/ < /read x/", "-q")
    assert asked.out.startswith('a:1 "write x" < b:1 "read x" does not hold')
    places = run("online", "log.jsonl", "log.jsonl:1 || log.jsonl:2", "--json")
    assert places.json["pair"] == ["a:1", "b:1"]


def test_help_is_a_command_too(run: Run) -> None:
    assert run("help").out == run("--help").out
    for command in COMMANDS:
        assert run("help", command).out == run(command, "--help").out
    assert run("help", "rules", "show").out == run("rules", "show", "--help").out
    assert run("help", "why", "--json").json["help"].startswith("Usage: microcosm why")
    near = run("help", "onlin")
    assert near.refused(2)
    assert "did you mean online" in near.err


@pytest.mark.parametrize(
    "group", [["rules"], ["spark"], ["replica"], ["replica", "member"], ["replica", "key"]]
)
def test_what_commands_of_a_group_do_is_said_in_full(run: Run, group: list[str]) -> None:
    told = " ".join(run(*group, "--help").out.partition("Commands:\n")[2].split())
    assert told
    assert "..." not in told


def test_the_manual_page_has_every_command_and_option() -> None:
    page = manual_page()
    plain = page.replace("\\-", "-").replace("\\&", "").replace("\\(dq", '"').replace("\\e", "\\")
    for _, path, _, command in every_command():
        section = plain.partition(f'.SS "microcosm {path} ')[2].partition("\n.SS ")[0]
        for parameter in command.params:
            for option in (each for each in parameter.opts if each.startswith("-")):
                assert option in section, (path, option)
    if (man := shutil.which("man")) is not None and shutil.which("groff") is not None:
        ran = subprocess.run([man, "-l", "-"], input=page, capture_output=True, text=True, check=True)
        assert not ran.stderr
        assert "microcosm online" in STYLES.sub("", ran.stdout)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("possible", "album.mc", "a", "b", "--limit", "abc"),
            "--limit is a number of SECONDS from 0, not 'abc'",
        ),
        (
            ("possible", "album.mc", "a", "b", "--limit", "nan"),
            "--limit is a number of SECONDS from 0, not 'nan'",
        ),
        (("draw", "album.mc", "--most", "1000"), "--most is a whole number from 1 to 400, not '1000'"),
        (("table", "album.mc", "--depth", "x"), "--depth is a whole number or exact, not 'x'"),
        (("possible", "album.mc", "a", "b", "--limit"), "--limit needs a value"),
        (("online",), "missing FILE... A B"),
        (("check",), "missing FILE"),
        (("trace", "x"), "missing --to OUT: The log to write; it ends in .jsonl or .parquet"),
        (("online", "--jsn"), "there is no option --jsn; did you mean --json?"),
        (("onlin",), "there is no command 'onlin'. Did you mean 'online', 'offline'?"),
    ],
)
def test_what_is_typed_wrong_is_answered_in_our_words(
    run: Run, album: str, typed: tuple[str, ...], said: str
) -> None:
    for machine in ((), ("--json",)) if typed[-1] != "--limit" else ((),):
        ran = run(*typed, *machine)
        assert ran.refused(2)
        assert f"error: {said}\n" in ran.err
        assert not machine or ran.json["error"] == said


@pytest.mark.parametrize(
    ("typed", "code", "fields"),
    [
        (("online", "bad.mc", "a", "b"), 4, {"file": "bad.mc", "line": 2, "column": 1}),
        (
            ("check", "nowhere.mc"),
            4,
            {"file": "nowhere.mc", "hint": "Check the path; `-` reads standard input."},
        ),
        (("online", "album.mc", "view", "view"), 2, {"hint": "Try `microcosm online --help`."}),
        (("online", "album.mc", "view", "x", "--must-exist"), 4, {"error": "nothing names the event 'x'"}),
        (("rules", "show", "Nix"), 2, {}),
        (("merge", "cycle.mc"), 4, {}),
        (("table", "album.mc", "--mode", "x"), 2, {}),
        (("assert", "album.mc", "-e", "never"), 4, {"line": 1}),
    ],
)
def test_errors_are_objects_where_programs_read(
    run: Run, album: str, typed: tuple[str, ...], code: int, fields: dict[str, object]
) -> None:
    Path("bad.mc").write_text("a < b\n< c\n", encoding="utf-8")
    Path("cycle.mc").write_text("a < b < a", encoding="utf-8")
    plain, ran = run(*typed), run(*typed, "--json")
    assert ran.refused(code)
    assert (plain.code, plain.out) == (code, "")
    assert plain.err == ran.err
    assert ran.json.items() >= fields.items()
    assert ran.json["error"] in " ".join(ran.err.split()) or "\n" in ran.json["error"]


def test_help_and_errors_are_coloured_in_a_terminal_only(run: Run, album: str, terminal: None) -> None:
    told = run("help", "why").out
    assert "\x1b[1mUsage:\x1b[0m microcosm why" in told
    assert "\n  \x1b[36m--json\x1b[0m " in told
    assert "  \x1b[36mwhy-not\x1b[0m" in run("help").out
    assert run("onlin").err.startswith("\x1b[1;31merror:\x1b[0m there is no command")
    wrapped = run("online", "log.txt" * 3, "x", "y", "--format", "nosuch").err
    assert max(map(len, STYLES.sub("", wrapped).splitlines())) <= 80


def test_a_pipe_has_neither_colour_nor_wrapping(run: Run) -> None:
    for ran in (run("help", "why"), run("onlin"), run("--help")):
        assert "\x1b" not in ran.out + ran.err


def test_a_table_too_wide_for_a_terminal_loses_nothing(run: Run, terminal: None) -> None:
    drawn = tables.new_table("protocol", "network")
    for number in range(9):
        drawn.add_column(f"column {number}", justify="right", no_wrap=True)
    rows = [[f"row{r}", "any", *(f"{r}.{c}e+0{c}" for c in range(9))] for r in range(4)]
    for row in rows:
        drawn.add_row(*row)
    lines = [STYLES.sub("", line) for line in tables.lines_of(drawn)]
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    for row in rows:
        held = " ".join(line for line in lines if line.startswith(row[0])).split()
        assert set(row) <= {*held}
    for number in range(9):
        assert any(f"column {number}" in line for line in lines)


@pytest.mark.parametrize("leave", ["exit", "quit", ".quit", ":q", "exit!", ".exit"])
def test_a_session_is_left_in_the_words_of_others(run: Run, album: str, leave: str) -> None:
    ran = run("repl", album, "-q", stdin=f"{leave}\nunshare ? view\n".encode())
    assert (ran.code, "happens before" in ran.out) == (0, False)


def test_a_session_takes_help_and_tables_as_they_are_asked_for_elsewhere(run: Run, album: str) -> None:
    def said(line: str) -> str:
        return run("repl", album, "-q", stdin=line.encode()).out.partition("\n")[2]

    assert said("?") == said(".help") == said(":h") == said("help") != ""
    assert said(".help past") == said("help past") != ""
    assert said("table") == run("table", album).out
    assert said("online unshare view") == said("unshare ? view") != ""
    answer = run("repl", album, "--json", "-q", stdin=b"table").json
    assert answer["pairs"] == run("table", album, "--json").json["pairs"]


def test_an_event_of_such_a_name_is_the_event(run: Run) -> None:
    Path("x.mc").write_text("exit < .help\n", encoding="utf-8")
    ran = run("repl", "x.mc", "-q", stdin=b"exit < .help?\npast of .help\nexit\n")
    assert "yes: exit < .help" in ran.out
    assert "1 event before .help" in ran.out
