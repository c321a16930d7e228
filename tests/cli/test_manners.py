"""What every command does alike: --quiet, shell completion, three dots for an ellipsis."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from microcosm.cli import output
from microcosm.cli.app import COMMANDS
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


def test_quiet_leaves_out_notes_and_warnings_and_nothing_else(run: Run, album: str) -> None:
    loud, quiet = (run("online", album, "unshare", "uplaod", *option) for option in ((), ("--quiet",)))
    assert "did you mean upload?" in loud.err
    assert quiet.err == ""
    assert (loud.out, loud.code) == (quiet.out, quiet.code)
    assert "no such file" in run("online", "nowhere.mc", "a", "b", "-q").err
    assert run("online", album, "unshare", "uplaod").err == loud.err


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
