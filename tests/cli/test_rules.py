"""`rules list`, `show` and `check`, and `--rules`: other rules, other answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_other_rules_are_other_answers(run: Run, album: str) -> None:
    Path("rules").mkdir()
    Path("rules", "only.rules").write_text(
        "rule Init:\n given a R b\n ---\n |-0 a R b\n\nrule In-OK:\n |-0 a R b\n ---\n |- a R b\n",
        encoding="utf-8",
    )
    answer = run("online", album, "unshare", "view", "--rules", "rules", "--json")
    assert (answer.code, answer.json["verdict"]) == (3, None)
    proof = run("online", album, "unshare", "view", "--json").out.encode()
    assert run("verify", album, "-", stdin=proof).code == 0
    assert run("verify", album, "-", "--rules", "rules", stdin=proof).code == 1
    assert [rule["name"] for rule in run("rules", "list", "--rules", "rules", "--json").json["rules"]] == [
        "Init", "In-OK"]  # fmt: skip


def test_rules_list_and_show(run: Run) -> None:
    found = run("rules", "list", "--json").json["rules"]
    ten = {"Init", "In-Tr", "Co-Sym", "CR-Sym", "In-OK", "Un-Sym", "Un-1", "Un-2", "Un-3", "Un-4"}
    assert ten <= {rule["name"] for rule in found}
    assert all(set(rule) == {"name", "file", "line", "conclusions", "source"} for rule in found)
    shown = run("rules", "show", "In-Tr", "--json")
    assert shown.code == 0
    assert shown.json["text"].startswith("rule In-Tr:")
    assert run("rules", "show", "Nothing").code == 2


def rules(text: str) -> None:
    Path("rules").mkdir()
    Path("rules", "some.rules").write_text(text, encoding="utf-8")


def test_rules_check(run: Run) -> None:
    ran = run("rules", "check", "--json")
    assert ran.code == 0
    assert ran.json["valid"] is True
    assert (ran.json["errors"], ran.json["never_fire"]) == ([], [])


def test_rules_that_never_fire_are_a_warning(run: Run) -> None:
    rules("rule Un-Sym:\n |- a ? b\n ---\n |- b ? a\n")
    ran = run("rules", "check", "--rules", "rules", "--json")
    assert ran.code == 1
    assert [found["rule"] for found in ran.json["never_fire"]] == ["Un-Sym"]
    assert ran.err.startswith("warning: some.rules:1: Un-Sym can never fire")


@pytest.mark.parametrize(
    ("text", "line"),
    [("rule A:\n |- a R\n ---\n |- a R b\n", 2),
     ("rule Init:\n given a R b\n ---\n |-0 a R b\nrule A:\n |/- a < b\n |-0 a < b\n ---\n |- a < b\n", 5)],
)  # fmt: skip
def test_rules_in_error_are_bad_input_with_a_caret(run: Run, text: str, line: int) -> None:
    rules(text)
    ran = run("rules", "check", "--rules", "rules", "--json")
    assert ran.code == 4
    assert ran.json["valid"] is False
    [error] = ran.json["errors"]
    assert error["line"] == line
    assert f"some.rules:{line}:" in ran.err
    assert "^" in ran.err
