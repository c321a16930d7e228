"""What programs read of `possible`, `table --mode possible` and a `check` that finds a deep contradiction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm.text.mc_writer import write_mc
from microcosm.worlds.world import World
from tests.cli.conftest import Run
from tests.notation import mc
from tests.queries.test_offline import FIVE_CYCLE

DEEP = "a < c\nc < b\na || d\nb || d\nc <> d\nx < y\n"
"""Both directions of c <> d are refuted, and condition (4) does not see it."""

DEEP_STATEMENTS = ["a < c", "c < b", "a || d", "b || d", "c <> d"]


@pytest.mark.parametrize(
    ("pair", "left"),
    [
        (("unshare", "view"), ["<"]),
        (("view", "unshare"), [">"]),
        (("like", "upload"), ["||"]),
        (("like", "log in"), ["<", ">"]),
        (("notify", "like"), [">", "||"]),
        (("backup", "view"), ["<", ">", "||"]),
        (("like", "nobody"), ["<", ">", "||"]),
        (("nobody", "no one"), ["<", ">", "||"]),
    ],
    ids=str,
)
def test_what_may_be_comes_with_worlds(run: Run, album: str, pair: tuple[str, str], left: list[str]) -> None:
    ran = run("possible", album, *pair, "--json")
    answer = ran.json
    asked = {"schema", "pair", "possible", "worlds", "exact"}
    assert set(answer) - {"unknown_events"} == asked
    assert (answer["pair"], answer["possible"], answer["exact"]) == (list(pair), left, True)
    assert list(answer["worlds"]) == left
    events = set(run("table", album, "--json").json["events"])
    for sign, (order, before) in answer["worlds"].items():
        assert set(order) == events | set(pair)
        assert len(order) == len(set(order))
        assert all(order.index(a) < order.index(b) for a, b in before)
        assert str(World.of(order, map(tuple, before)).relation(*pair)) == sign
    assert ran.code == 0
    assert run("possible", album, *pair).code == 0


def test_the_table_has_the_same(run: Run, album: str) -> None:
    answer = run("table", album, "--mode", "possible", "--json").json
    assert set(answer) == {"schema", "file", "events", "pairs", "exact"}
    events = answer["events"]
    assert [(a, b) for a, b, _ in answer["pairs"]] == [
        (a, b) for i, a in enumerate(events) for b in events[i + 1 :]
    ]
    for a, b, left in answer["pairs"]:
        assert run("possible", album, a, b, "--json").json["possible"] == left


def test_an_inconsistent_microcosm_gets_no_arbitrary_answer(run: Run) -> None:
    Path("deep.mc").write_text(DEEP, encoding="utf-8")
    ran = run("possible", "deep.mc", "a", "x", "--json")
    assert ran.code == 1
    assert (ran.json["possible"], ran.json["worlds"]) == ([], {})
    assert ran.json["conflict"] == DEEP_STATEMENTS
    assert "inconsistent" in ran.err
    said = run("possible", "deep.mc", "a", "x")
    assert (said.code, said.out) == (1, "")
    assert "c <> d   (given, deep.mc:5)" in said.err
    table = run("table", "deep.mc", "--mode", "possible", "--json")
    assert (table.code, table.json["pairs"], table.json["conflict"]) == (1, [], DEEP_STATEMENTS)
    checked = run("check", "deep.mc", "--json").json
    assert {k: v for k, v in checked.items() if k != "derivation"} == {
        "schema": "microcosm/1",
        "consistent": False,
        "conflict": DEEP_STATEMENTS,
    }
    assert checked["derivation"]["conclusion"]["relation"] == "contradiction"
    Path("checked.json").write_text(json.dumps(checked), encoding="utf-8")
    assert run("verify", "deep.mc", "checked.json").code == 0


def test_the_conflict_is_a_microcosm_that_is_consistent_without_any_of_its_lines(run: Run) -> None:
    text = (
        DEEP
        + 'stamp x = 9\nstamp y = 9\nclock k = p {p: 1}\nclock l = p {p: 2}\ntoken "the lock" = d, k, a\n'
    )
    Path("deep.mc").write_text(text, encoding="utf-8")
    lines = run("check", "deep.mc", "--json").json["conflict"]
    Path("part.mc").write_text("\n".join(lines), encoding="utf-8")
    assert run("check", "part.mc").code == 1
    for dropped in range(len(lines)):
        Path("part.mc").write_text("\n".join(lines[:dropped] + lines[dropped + 1 :]), encoding="utf-8")
        assert run("check", "part.mc").code == 0


@pytest.mark.parametrize("text", ["a < b\nb < a", "a < b\na || b", "a || b\na <> b"])
def test_an_initial_contradiction_is_bad_input(run: Run, text: str) -> None:
    Path("bad.mc").write_text(text, encoding="utf-8")
    assert run("possible", "bad.mc", "a", "b").code == 4
    assert run("table", "bad.mc", "--mode", "possible").code == 4


def test_out_of_time_is_said(run: Run) -> None:
    Path("open.mc").write_text("a <> b\nb <> c\nc <> d", encoding="utf-8")
    ran = run("possible", "open.mc", "a", "c", "--limit", "0", "--json")
    assert (ran.code, ran.json["exact"], ran.json["worlds"]) == (3, False, {})
    assert ran.json["possible"] == ["<", ">", "||"]
    table = run("table", "open.mc", "--mode", "possible", "--limit", "0", "--json")
    assert (table.code, table.json["exact"]) == (3, False)
    checked = run("check", "open.mc", "--limit", "0", "--json")
    assert (checked.code, checked.json["consistent"]) == (3, None)
    assert run("possible", "open.mc", "a", "c", "--limit", "60").code == 0


def test_stamps_and_refutations_count(run: Run) -> None:
    Path("late.mc").write_text(
        "stamp a = 5\nstamp b = 5\nu !< v\nstamp x = [3, 4]\nstamp y = [1, 2]", encoding="utf-8"
    )
    for pair, left in ((("a", "b"), ["||"]), (("u", "v"), [">", "||"]), (("x", "y"), [">", "||"])):
        assert run("possible", "late.mc", *pair, "--json").json["possible"] == left


@pytest.mark.parametrize(
    "argv",
    [
        ("offline", "no.mc", "a", "b"),
        ("settle", "open.mc", "a", "c"),
        ("assert", "open.mc", "-e", "event any; assert exists x: any: x < x"),
        ("check", "ordered.mc"),
    ],
)
def test_whoever_is_stopped_has_not_decided_and_says_so(run: Run, argv: tuple[str, ...]) -> None:
    Path("open.mc").write_text("a <> b \n b <> c \n ordering causal", encoding="utf-8")
    Path("ordered.mc").write_text("a <> b <> c <> d \n a || c \n ordering causal", encoding="utf-8")
    Path("no.mc").write_text(write_mc(mc(FIVE_CYCLE)), encoding="utf-8")
    ran = run(*argv, "--limit", "0")
    stopped = "error: the search was stopped before this was decided\n"
    unsettled = "warning: the search was stopped before it was known what would settle what is open\n"
    assert (ran.code, ran.err in ("", stopped, unsettled)) == (3, True)
