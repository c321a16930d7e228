"""The commands `replica init`, `query`, `status`, `import`, `export` and `exchange`."""

from __future__ import annotations

from pathlib import Path

import pytest

from microcosm.replica.core import open_store
from tests.cli.conftest import Run

KNOWS = {
    "phone": "internal open < unshare\nunshare < upload\nupload || like\n",
    "laptop": "internal refresh < view\nupload < refresh\nlike <> view\n",
}


@pytest.fixture
def album(tmp_path: Path, run: Run) -> Path:
    """A phone and a laptop that know different things."""
    for name, known in KNOWS.items():
        (tmp_path / f"{name}.mc").write_text(known)
        assert run("replica", "init", f"{name}.j", "--name", name, "--member", name).code == 0
        assert run("replica", "import", f"{name}.j", f"{name}.mc").code == 0
    return tmp_path


@pytest.mark.usefixtures("album")
def test_two_replicas_exchange_and_know_the_same(run: Run) -> None:
    assert run("replica", "query", "laptop.j", "open", "view", "--json").json["verdict"] == "?"
    told = run("replica", "exchange", "phone.j", "laptop.j", "--json").json
    assert told["new"] == [4, 4]
    assert told["same"]
    assert told["conflicts"] == []
    again = run("replica", "exchange", "laptop.j", "phone.j", "--json").json
    assert again["new"] == [0, 0]
    assert again["messages"] == 2
    for name in KNOWS:
        found = run("replica", "query", f"{name}.j", "open", "view")
        assert found.code == 0
        assert "open < view   (happens before)" in found.out
        assert run("replica", "query", f"{name}.j", "refresh", "like", "--json").code == 3
        offline = run("replica", "query", f"{name}.j", "like", "unshare", "--offline", "--json")
        assert offline.json["verdict"] is None
        assert offline.json["refuted"] == ["<"]
        assert offline.code == 1
        possible = run("replica", "query", f"{name}.j", "like", "unshare", "--possible", "--json")
        assert possible.json["possible"] == [">", "||"]
    exported = {name: run("replica", "export", f"{name}.j", "-o", f"{name}-after.mc").code for name in KNOWS}
    assert set(exported.values()) == {0}
    assert run("bisim", "phone-after.mc", "laptop-after.mc").code == 0
    assert run("replica", "export", "phone.j", "--json").json["internal"] == ["open", "unshare"]


def test_an_event_that_nothing_relates_to_another_is_exported_and_known(tmp_path: Path, run: Run) -> None:
    for name, text in (("a", "internal first"), ("b", "internal b1 < b2")):
        (tmp_path / f"{name}.mc").write_text(text)
        run("replica", "init", f"{name}.j", "--name", name)
        run("replica", "import", f"{name}.j", f"{name}.mc")
    run("replica", "exchange", "a.j", "b.j")
    assert "process a = first" in run("replica", "export", "b.j").out
    found = run("replica", "query", "b.j", "first", "b1", "--must-exist")
    assert found.code == run("replica", "query", "a.j", "first", "b1", "--must-exist").code == 3
    assert "first is named in this microcosm, but nothing relates it to another event" in found.err


@pytest.mark.parametrize("chain", ["unshare < open", "new < open", "open < new < unshare"])
def test_events_that_happened_otherwise_are_not_imported(album: Path, run: Run, chain: str) -> None:
    """The order of the file was dropped without a word, and of what was new the opposite was known."""
    (album / "otherwise.mc").write_text(f"internal {chain}\nx < y")
    refused = run("replica", "import", "phone.j", "otherwise.mc", "--json")
    assert refused.code == 1
    assert "would close a cycle" in refused.json["error"]
    assert run("replica", "export", "phone.j", "--json").json["internal"] == ["open", "unshare"]
    (album / "alike.mc").write_text("internal open < unshare < new")
    assert run("replica", "import", "phone.j", "alike.mc", "--json").json["events"] == 1


def test_a_contradiction_is_set_aside_and_shown(album: Path, run: Run) -> None:
    (album / "one.mc").write_text("m < n")
    (album / "other.mc").write_text("n < m")
    run("replica", "import", "phone.j", "one.mc")
    run("replica", "import", "laptop.j", "other.mc")
    found = run("replica", "exchange", "phone.j", "laptop.j")
    assert found.code == 0
    assert "set aside, for it contradicts itself: m < n, n < m" in found.err
    for name in KNOWS:
        status = run("replica", "status", f"{name}.j", "--json").json
        (conflict,) = status["conflicts"]
        assert conflict["correspondences"] == ["m < n", "n < m"]
        assert [side["rule"] for side in conflict["derivations"]] == ["Init", "Init"]
        assert status["quarantined"] == 2
        assert "m < n" in run("replica", "status", f"{name}.j").out
    assert "left out, as set aside: 2 correspondences" in run("replica", "export", "phone.j").err
    refused = run("replica", "import", "phone.j", "one.mc")
    assert refused.code == 1
    assert "nothing was changed" in refused.err


def test_bad_input(album: Path, run: Run) -> None:
    assert run("replica", "init", "phone.j", "--name", "tablet").code == 4
    assert run("replica", "init", "other.j", "--name", "").code == 2
    assert not list(album.glob("other.j*"))
    assert run("replica", "status", "nothing.j").code == 4
    assert run("replica", "query", "phone.j", "open", "open").code == 2
    assert run("replica", "query", "phone.j", "a", "b", "--offline", "--possible").code == 2
    itself = run("replica", "exchange", "phone.j", "./phone.j")
    assert itself.refused(4)
    assert "one journal" in itself.err
    run("replica", "init", "twin.j", "--name", "phone")
    twins = run("replica", "exchange", "phone.j", "twin.j")
    assert twins.code == 4
    assert "each must have its own" in twins.err
    (album / "bad.mc").write_text("open < x\nx < open\n")
    assert run("replica", "import", "phone.j", "bad.mc").refused(4)  # whatever the replica knows
    (album / "stamped.mc").write_text("p < q\nstamp p = 3\n")
    stamped = run("replica", "import", "phone.j", "stamped.mc", "--json")
    assert stamped.json["left_out"] == ["stamps"]
    assert "takes over no stamps" in stamped.err


def test_a_name_that_no_member_can_have_is_refused_before_anything_is_made(tmp_path: Path, run: Run) -> None:
    """It made a replica that nobody could add as a member, and that could not be served."""
    assert run("replica", "key", "new", "keys").code == 0
    assert run("replica", "init", "p.journal", "--name", "p").code == 0
    before = {path.name for path in tmp_path.iterdir()}
    for name in ("", "a\x1b[31m", "é" * 101, "\udcff"):
        assert run("replica", "init", "q.journal", "--name", name).refused(2)
        assert run("replica", "init", "q.journal", "--name", "q", "--member", name).refused(2)
        assert run("replica", "serve", "q.journal", "--name", name, "--keys", "keys").refused(4)
        assert run("replica", "member", "add", "p.journal", name, "h:7", "--json").refused(4)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_who_was_interrupted_begins_again(run: Run, tmp_path: Path) -> None:
    """There was a journal without a replica: every command wanted a name, and `init` another place."""
    open_store(tmp_path / "n.journal", create=True).close()
    init = ("replica", "init", "n.journal", "--name", "n")
    assert run(*init).code == 0
    assert run("replica", "status", "n.journal").out.startswith("replica n,")
    assert run(*init).code == 4
