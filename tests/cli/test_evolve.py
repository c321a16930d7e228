"""`evolve` and `merge`: the new microcosm, all or nothing, and where it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


def microcosm(run: Run, text: str) -> dict[str, Any]:
    """The JSON form of a microcosm text."""
    ran = run("evolve", "-", "--json", stdin=text.encode())
    assert ran.code == 0
    return dict(ran.json)


def test_evolve_writes_the_new_microcosm(run: Run, album: str) -> None:
    ran = run("evolve", album, "--internal", "e", "--add", "e < view", "--remove", "like || upload", "--json")
    assert ran.code == 0
    assert ran.json["internal"] == ["unshare", "upload", "e"]
    assert ["e", "<", "view"] in ran.json["external"]
    assert ["like", "||", "upload"] not in ran.json["external"]
    text = run("evolve", album, "--internal", "e", "--add", "e < view", "--remove", "like || upload")
    assert microcosm(run, text.out) == ran.json


def test_evolve_keeps_the_order_of_different_options(run: Run) -> None:
    turned = ["--remove", "a < b", "--add", "b < a", "--remove", "b < a", "--add", "a < b"]
    assert run("evolve", "-", *turned, stdin=b"a < b").code == 0
    add_first = ["--add", "b < a", "--remove", "a < b"]
    assert run("evolve", "-", *add_first, stdin=b"a < b").code == 1
    twice = ["--internal", "x", "--add", "x < a", "--internal", "y", "--add", "a < y"]
    ran = run("evolve", "-", *twice, "--json", stdin=b"")
    assert ran.json["internal"] == ["x", "y"]


@pytest.mark.parametrize(
    "steps",
    [("--add", "z < y", "--add", "view < unshare"), ("--add", "z < y", "--remove", "p < q"),
     ("--add", "z < y", "--update", "unshare < view"), ("--add", "z < y", "--forget", "nobody")],
)  # fmt: skip
def test_evolve_is_all_or_nothing(run: Run, album: str, steps: tuple[str, ...]) -> None:
    before = Path(album).read_bytes()
    ran = run("evolve", album, *steps, "-o", album)
    assert ran.refused(1)
    assert ran.err.startswith("error: ")
    assert Path(album).read_bytes() == before
    assert run("evolve", album, *steps, "-o", "new.mc").code == 1
    assert not Path("new.mc").exists()
    assert run("evolve", album, *steps, "--json").json == microcosm(run, before.decode())


def test_evolve_writes_to_out_and_nowhere_else(run: Run, album: str) -> None:
    ran = run("evolve", album, "--add", "a < b", "-o", "new.mc")
    assert (ran.code, ran.out) == (0, "")
    assert run("online", "new.mc", "a", "b").code == 0
    ran = run("evolve", album, "--add", "a < b", "-o", "new", "--json")
    assert ran.code == 0
    assert ran.json == json.loads(Path("new").read_text(encoding="utf-8"))  # --json: always one object
    assert ran.json["schema"] == "microcosm/1"
    assert run("online", "new", "a", "b").code == 0


def test_merge(run: Run, album: str) -> None:
    Path("other.mc").write_text("view < p\np || q", encoding="utf-8")
    ran = run("merge", album, "other.mc", "--json")
    assert ran.code == 0
    assert ["view", "<", "p"] in ran.json["external"]
    assert ran.json["internal"] == ["unshare", "upload"]
    assert run("merge", album, "other.mc", "-o", "both.mc").out == ""
    assert run("merge", album, "other.mc", "-o", "both.json", "--json").json == ran.json
    assert run("online", "both.mc", "unshare", "p").code == 0
    Path("liar.mc").write_text("view < unshare", encoding="utf-8")
    refused = run("merge", album, "other.mc", "liar.mc", "-o", "none.mc")
    assert refused.refused(1)
    assert refused.err.count("\n\n  ⊢₀ ") == 2
    assert not Path("none.mc").exists()
    conflict = run("merge", album, "liar.mc", "--json")
    assert conflict.code == 1
    assert len(conflict.json["derivations"]) == 2


def test_merge_tells_which_event_it_cannot_keep(run: Run) -> None:
    for name, text in {"a.mc": "internal a", "b.mc": "internal b", "c.mc": "b < c"}.items():
        Path(name).write_text(text, encoding="utf-8")
    assert "b is a chain by itself" in run("merge", "a.mc", "b.mc").err
    assert run("merge", "a.mc", "b.mc", "c.mc").err == ""
