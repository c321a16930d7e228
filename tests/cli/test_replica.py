"""`replica fsck` and `replica backup`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.replica.journal.journals import journal, left_open


def test_on_the_command_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    left_open(path, *(bytes([65 + n]) * 2000 for n in range(8)))
    well = run("replica", "fsck", "journal")
    assert (well.code, well.out.splitlines()) == (0, ["test, version 1: records 1 to 8", "all is well"])
    copied = run("replica", "backup", "journal", "copy", "--json")
    assert (copied.code, copied.json["last"]) == (0, 8)
    again = run("replica", "backup", "journal", "copy")
    assert (again.code, again.err.count("\n")) == (4, 1)
    log = path.with_name("journal-wal")
    whole = log.read_bytes()
    log.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    bad = run("replica", "fsck", "journal")
    assert bad.code == 4
    assert "damaged: records 8 to 8, which were durable, are missing" in bad.err
    assert "lost: records 8 to 8" in bad.out
    mended = run("replica", "fsck", "journal", "--repair", "--json")
    assert (mended.code, mended.json["repaired"], mended.json["last"], mended.json["lost"]) == (0, True, 7, 8)
    assert run("replica", "fsck", "journal").code == 0
    assert run("replica", "fsck", "nowhere").code == 4
    assert run("replica", "fsck", "copy", "--json").json["faults"] == []


def test_a_locked_journal_on_the_command_line(run: Run, tmp_path: Path) -> None:
    with journal(tmp_path / "journal"):
        locked = run("replica", "fsck", "journal")
        assert (locked.code, locked.err.count("\n")) == (4, 1)
        assert "locked by process" in locked.err
        assert run("replica", "backup", "journal", "copy").code == 0


def test_what_is_to_be_typed_can_be_and_no_name_reaches_a_terminal_as_it_is(run: Run) -> None:
    made = run("replica", "init", "a\x1b[2J", "--name", "my phone")
    assert made.out == "a\\x1b[2J is the replica my phone\n"
    assert run("replica", "member", "add", "a\x1b[2J", "b", "127.0.0.1:9").code == 0
    assert run("replica", "backup", "a\x1b[2J", "copy").code == 0
    assert (
        "at b: microcosm replica member replace JOURNAL 'my phone' --inc"
        in run("replica", "restore", "copy", "again").out
    )


@pytest.mark.parametrize("path", [".", "/", ""])
def test_a_path_without_a_name_is_no_journal(run: Run, path: str) -> None:
    for command in (("fsck",), ("status",), ("export",), ("init", "--name", "a")):
        said = run("replica", *command, path)
        assert (said.code, said.err.count("\n")) == (4, 1)
    assert run("replica", "init", "a", "--name", "a").code == 0
    assert "exists already" in run("replica", "backup", "a", path).err


def test_a_pipe_is_no_journal_and_no_file_of_metrics(run: Run) -> None:
    os.mkfifo("pipe")
    for command in (("status", "pipe"), ("fsck", "pipe"), ("backup", "pipe", "copy")):
        ran = run("replica", *command)
        assert (ran.code, "is not a journal" in ran.err) == (4, True)
    for metrics in ("pipe", "-"):
        assert run("replica", "serve", "a.journal", "--keys", "keys", "--metrics", metrics).refused(2)
