"""What every command does alike: --quiet, shell completion, three dots for an ellipsis."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from microcosm.cli import app, exits, output
from microcosm.cli.app import COMMANDS
from microcosm.cli.commands.help import every_command
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


def completed(*words: str) -> list[str]:
    """What bash is offered for the last of some words."""
    ran = subprocess.run(
        [sys.executable, "-m", "microcosm"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_MICROCOSM_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("microcosm", *words)),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert completed("rep") == ["repl", "replica"]
    assert completed("why") == ["why", "why-not"]
    assert "--process" in completed("repl", "--")
    assert "--quiet" in completed("extract", "--q")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_for_completion(shell: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "microcosm", "--show-completion", shell],
        env={**os.environ, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "microcosm" in ran.stdout
    assert f"complete_{shell}" in ran.stdout


BASH = """
complete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _microcosm_completion microcosm; printf '%s\\n' "${{COMPREPLY[@]}}"; echo --; }}
microcosm() {{ {python} -m microcosm "$@"; }}
{script}
{words}
"""

COMPLETED = {
    "microcosm online album.mc unshare l": ["like", "log\\ in"],
    "microcosm online album.mc 'lo": ["log in"],
    "microcosm online log.jsonl alice :": ["1", "2"],  # as bash splits `alice:`
    "microcosm online log.jsonl alice:1 bob : 1": ["1"],
    "microcosm table album.mc --mode o": ["online", "offline"],
    "microcosm extract log.jsonl --format = jso": ["jsonl"],
    "microcosm events log.jsonl --process b": ["bob"],
    "microcosm help why-": ["why-not"],
    "microcosm online nowhere.mc x": [],
}


@pytest.mark.skipif(which("bash") is None, reason="there is no bash")
def test_bash_completes_values_and_events_of_what_is_read(tmp_path: Path, album: str) -> None:
    """The script that is installed, run by bash with words as bash splits them."""
    lines = (
        '{"process": "alice", "label": "x"}',
        '{"process": "alice", "label": "y"}',
        '{"process": "bob", "label": "z"}',
    )
    (tmp_path / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = [sys.executable, "-m", "microcosm", "--show-completion", "bash"]
    script = subprocess.run(shown, env=env, capture_output=True, text=True, check=True).stdout
    script = script.replace("env COMP_WORDS", "COMP_WORDS")  # a function stands for the program
    words = "\n".join("complete_it " + " ".join(map(shlex.quote, line.split(" "))) for line in COMPLETED)
    text = BASH.format(python=sys.executable, script=script, words=words)
    ran = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    told = [[one for one in part.split("\n") if one] for part in ran.stdout.split("--\n")[:-1]]
    assert dict(zip(COMPLETED, told, strict=True)) == COMPLETED


@pytest.mark.skipif(which("fish") is None, reason="there is no fish")
def test_fish_completes_events_with_their_words(tmp_path: Path, album: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = [sys.executable, "-m", "microcosm", "--show-completion", "fish"]
    script = subprocess.run(shown, env=env, capture_output=True, text=True, check=True).stdout
    (tmp_path / "microcosm").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m microcosm "$@"\n', encoding="utf-8"
    )
    (tmp_path / "microcosm").chmod(0o755)
    text = f"set -x PATH {tmp_path} $PATH\n{script}\ncomplete -C 'microcosm online album.mc uns'"
    ran = subprocess.run(
        ["fish", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert "unshare" in ran.stdout


@pytest.mark.skipif(which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_events_as_it_is_typed_in(tmp_path: Path, album: str) -> None:
    pexpect = pytest.importorskip("pexpect")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = [sys.executable, "-m", "microcosm", "--show-completion", "zsh"]
    script = subprocess.run(shown, env=env, capture_output=True, text=True, check=True).stdout
    (tmp_path / "script").write_text(script, encoding="utf-8")
    program = tmp_path / "microcosm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m microcosm "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env |= {"PATH": f"{tmp_path}{os.pathsep}{env['PATH']}", "TERM": "xterm"}
    shell = pexpect.spawn("zsh", ["-f", "-i"], cwd=tmp_path, env=env, timeout=60, encoding="utf-8")
    try:
        shell.sendline("autoload -Uz compinit; compinit -u; source ./script; echo is load''ed")
        shell.expect("is loaded")
        shell.send("microcosm online album.mc uns\t")
        shell.expect("unshare")
    finally:
        shell.close(force=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_are_offered_events_with_their_words(tmp_path: Path, shell: str) -> None:
    """What the scripts of these shells ask for and get; the shells themselves need not be there."""
    (tmp_path / "log.jsonl").write_text('{"process": "alice", "label": "got the lease"}', encoding="utf-8")
    asked = {
        "_MICROCOSM_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "microcosm online log.jsonl al",
    }
    env = {**os.environ, **asked, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    program = [sys.executable, "-m", "microcosm"]
    ran = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "alice" in ran.stdout
    assert "got the lease" in ran.stdout


def test_quiet_leaves_out_notes_and_warnings_and_nothing_else(run: Run, album: str) -> None:
    loud, quiet = (run("online", album, "unshare", "uplaod", *option) for option in ((), ("--quiet",)))
    assert "did you mean upload?" in loud.err
    assert quiet.err == ""
    assert (loud.out, loud.code) == (quiet.out, quiet.code)
    assert "no such file" in run("online", "nowhere.mc", "a", "b", "-q").err
    assert run("online", album, "unshare", "uplaod").err == loud.err


def test_every_command_takes_json_and_rules() -> None:
    for _, path, _, command in every_command():
        if not getattr(command, "commands", None):
            names = [name for each in command.params for name in each.opts]
            assert (names.count("--json"), names.count("--rules")) == (1, 1), path


def test_a_fault_of_usage_hints_at_the_help_of_the_whole_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise exits.UsageError("not so")

    def refusing(command: Any) -> Any:
        command.params = []
        if hasattr(command, "commands"):
            command.commands = {name: refusing(part) for name, part in command.commands.items()}
        else:
            command.callback = refuse
        return command

    paths = [path for _, path, _, command in every_command() if not hasattr(command, "commands")]
    assert {len(path.split()) for path in paths} == {1, 2, 3}
    monkeypatch.setattr(app, "whole", app.whole.__wrapped__)  # or the commands are loaded already
    monkeypatch.setattr(app, "loaded", lambda name, loaded=app.loaded: refusing(loaded(name)))
    for path in paths:
        found = run(*path.split())
        assert (found.code, found.err) == (2, f"error: not so\nTry `microcosm {path} --help`.\n"), path


def test_what_goes_by_the_shipped_rules_takes_no_others(run: Run) -> None:
    run("replica", "init", "a.journal", "--name", "a")
    served = run("replica", "serve", "a.journal", "--keys", "none", "--rules", "rules")
    assert served.refused(2)
    assert "shipped rules" in served.err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_takes_quiet(run: Run, command: str) -> None:
    words = [command, *{"rules": ["list"], "spark": ["bisim"], "replica": ["fsck"]}.get(command, [])]
    assert "--quiet" in run(*words, "--help").out


def test_prose_has_three_dots_where_there_is_no_ellipsis(run: Run, tmp_path: Path) -> None:
    chain = " < ".join(f"e{k}" for k in range(30))
    (tmp_path / "long.mc").write_text(chain, encoding="utf-8")
    ran = run("why", "long.mc", "e0", "e29", encoding="ascii")
    assert "... 26 more links ..." in " ".join(ran.out.split())
    assert "\\u" not in ran.out
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert output.plain("a…", stream) == "a…"


def test_the_overview_of_all_commands_loads_none_of_them() -> None:
    code = (
        "import sys\nfrom microcosm.cli.app import main\nassert main(['--help']) == 0\n"
        "print(*sorted(name for name in sys.modules if name.startswith('microcosm.')), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ran.stderr.split()
    assert "microcosm.cli.app" in loaded
    assert not [name for name in loaded if name.startswith("microcosm.cli.") and name.count(".") > 2]
    assert all(f"\n  {name} " in ran.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    ("argument", "frozen"),
    [("", True), ("['--version']", False), ("['repl', '--script', '/dev/null']", False)],
)
def test_only_a_process_of_its_own_ends_without_looking_for_cycles(argument: str, frozen: bool) -> None:
    code = (
        "import atexit, gc, sys\nfrom microcosm.cli.app import main\n"
        f"atexit.register(lambda: print(gc.get_freeze_count() > 0))\nassert main({argument}) == 0"
    )
    ran = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, check=True)
    assert ran.stdout.split()[-1] == str(frozen).encode()
