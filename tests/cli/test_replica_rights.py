"""Who may read the files of a replica, and what needs no file that can be written."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from microcosm.replica.journal import Journal
from microcosm.replica.journal import files as journal_files
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.cli.conftest import Run


def test_journals_and_backups_are_their_owners_only(tmp_path: Path, run: Run) -> None:
    before = os.umask(0o022)
    try:
        assert run("replica", "init", "a.journal", "--name", "a").code == 0
        assert run("replica", "backup", "a.journal", "a.backup").code == 0
        with Journal.open(tmp_path / "open", application="test", create=True) as journal:
            journal.commit([("note", b"one")])
            made = [each for each in tmp_path.iterdir() if each.is_file()]
            assert len(made) >= 9
            assert {stat.S_IMODE(each.stat().st_mode) for each in made} == {0o600}
    finally:
        os.umask(before)


ESCAPE = "\x1b]0;pwned\x07\x9b31m"


def test_status_obeys_nothing_that_a_member_wrote(tmp_path: Path, run: Run) -> None:
    other = Replica(Memory(), "b")
    with Journal.open(tmp_path / "j", application="microcosm replica", create=True) as store:
        one = Replica(store, "a")
        for each in (one, other):
            each.local(f"twice {ESCAPE}")
            each.local("here" if each is one else f"there {ESCAPE}")
        one.learn(f'here < "there {json.dumps(ESCAPE)[1:-1]}"')
        other.learn(f'"there {json.dumps(ESCAPE)[1:-1]}" < here')
        level(one, other)
        assert one.twice
        assert one.conflicts
    said = run("replica", "status", "j").out
    assert "in two places" in said
    assert "set aside" in said
    assert not {"\x1b", "\x07", "\x9b"} & set(said)


def reading(run: Run, path: str, out: str) -> list[object]:
    """What the commands that only read say of a journal."""
    found: list[object] = []
    for command in (
        ("status", path),
        ("query", path, "x", "y"),
        ("fsck", path),
        ("export", path),
        ("metrics", path),
        ("backup", path, out),
    ):
        result = run("replica", *command)
        assert (result.code, result.err) == (0, ""), command
        found.append(result.out.replace(out, "OUT"))
    return found


@pytest.mark.parametrize("left_open", [False, True])
def test_what_only_reads_needs_nothing_that_can_be_written(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, left_open: bool
) -> None:
    store = Journal.open(tmp_path / "j", application="microcosm replica", create=True)
    Replica(store, "a").learn("x < y")
    if not left_open:
        store.close()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for each in ("j", "j-wal", "j-head"):
        if (tmp_path / each).exists():
            shutil.copy(tmp_path / each, folder)
    store.close()
    wanted = reading(run, "j", str(tmp_path / "copy1"))
    monkeypatch.setattr(journal_files, "_writable", lambda path: path.resolve() != folder)
    before = sorted(each.name for each in folder.iterdir())
    assert reading(run, "elsewhere/j", str(tmp_path / "copy2")) == wanted
    assert sorted({each.name for each in folder.iterdir()} - {"j-lock"}) == before


def test_an_exchange_with_a_journal_that_was_put_back_says_so(tmp_path: Path, run: Run) -> None:
    for name in "ab":
        assert run("replica", "init", f"{name}.j", "--name", name, "--member", "a", "--member", "b").code == 0
    (tmp_path / "one.mc").write_text("internal e1 < e2\n")
    assert run("replica", "import", "a.j", "one.mc").code == 0
    assert run("replica", "exchange", "a.j", "b.j").code == 0
    old = {each.name: each.read_bytes() for each in tmp_path.glob("a.j*")}
    for content in ("internal e1 < e2 < lost\n", "internal e1 < e2 < instead\n"):
        (tmp_path / "more.mc").write_text(content)
        assert run("replica", "import", "a.j", "more.mc").code == 0
        if "lost" in content:
            assert run("replica", "exchange", "a.j", "b.j").code == 0
            for name, content_ in old.items():
                (tmp_path / name).write_bytes(content_)
    done = run("replica", "exchange", "a.j", "b.j", "--json")
    assert (done.code, "an older copy" in done.err) == (1, True)
    found = json.loads(done.out)
    assert (found["same"], len(found["diverged"])) == (True, 1)
    assert run("replica", "query", "b.j", "e2", "instead").code == 0  # it still happened after
    assert run("replica", "status", "a.j").code == 1
    assert run("replica", "exchange", "a.j", "b.j").code == 0
    assert run("replica", "renew", "a.j").code == 0
    assert run("replica", "status", "a.j").code == 0
