"""Sets of rules: the shipped ones, and those of a folder."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from microcosm.errors import RuleError, TextError
from microcosm.logic.rulebook import read_rule_text, read_rules

RULES = Path(__file__).parents[2] / "rules"


# the shipped rules


def test_the_shipped_rules() -> None:
    book = read_rules()
    assert [rule.name for rule in book.rules][:14] == [
        "Init", "In-Tr", "Co-Sym", "CR-Sym", "In-OK", "Un-Sym", "Un-1", "Un-2", "Un-3", "Un-4",
        "Strng", "Weak", "Up-S", "Up-W",
    ]  # fmt: skip
    assert read_rules() is book, "they are read once"
    assert [i.rule.name for i in book.instances if i.rule.name == "Init"] == ["Init"] * 3
    assert {i.rule.name for i in book.evolutions} == {"Strng", "Weak", "Up-S", "Up-W"}
    assert not {i.rule.name for i in book.instances} & {i.rule.name for i in book.evolutions}
    assert [rule.line for rule in book.named("In-Tr")] == [9]
    assert book.named("In") == []


def test_the_readme_lists_the_shipped_rules_on_one_screen() -> None:
    readme = (RULES / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= 45
    for rule in read_rules().rules:
        if Path(rule.file or "").stem in ("initial", "online"):
            assert rule.name in readme, rule.name


def test_deleting_a_block_removes_that_rule_only() -> None:
    text = (RULES / "initial.rules").read_text("utf-8")
    [rule] = [r for r in read_rule_text(text) if r.name == "Co-Sym"]
    assert [r.name for r in read_rule_text(text.replace(rule.text, ""))] == ["Init", "In-Tr", "CR-Sym"]


# folders of rules


def rule_named(name: str) -> str:
    return f"rule {name}:\n a in M\n ---\n |- a ? a\n"


def test_files_are_read_in_a_fixed_order(tmp_path: Path) -> None:
    for stem in ("zebra", "offline", "apple", "initial", "orderings", "online"):
        (tmp_path / f"{stem}.rules").write_text(rule_named(stem), "utf-8")
    (tmp_path / "notes.txt").write_text("no rules", "utf-8")
    (tmp_path / ".hidden.rules").write_text("no rules", "utf-8")
    (tmp_path / "folder.rules").mkdir()
    names = [rule.name for rule in read_rules(str(tmp_path)).rules]
    assert names == ["initial", "online", "offline", "orderings", "apple", "zebra"]


def test_a_name_in_two_files_is_refused_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text("\n" + rule_named("X"), "utf-8")
    (tmp_path / "b.rules").write_text("#\n#\n  " + rule_named("X"), "utf-8")
    with pytest.raises(RuleError) as caught:
        read_rules(str(tmp_path))
    message = str(caught.value)
    assert message.startswith(
        f"{tmp_path / 'b.rules'}:3:3: rule X stands already in {tmp_path / 'a.rules'}:2\n"
    )
    assert "\n    rule X:\n    ^\n" in message


@pytest.mark.parametrize("make", ["missing", "empty", "file", "nul"])
def test_a_folder_without_rules_is_refused_with_advice(tmp_path: Path, make: str) -> None:
    path = tmp_path / "rules"
    if make == "empty":
        path.mkdir()
    elif make == "file":
        path.write_text(rule_named("X"), "utf-8")
    with pytest.raises(RuleError) as caught:
        read_rules("nul\0" if make == "nul" else str(path))
    assert {"missing": "no such directory", "empty": "holds no rule files", "file": "is not a directory"}.get(
        make, "cannot be listed"
    ) in str(caught.value)


def test_a_rule_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.rules").write_bytes(b"# caf\xe9\n")
    with pytest.raises(TextError, match=r"x\.rules:1:6: byte 0xe9 is not valid UTF-8"):
        read_rules(str(tmp_path))


def test_a_book_is_pickled_without_what_was_worked_out_of_it() -> None:
    """Its hash above all: another process has others."""
    book = read_rules()
    assert book.in_profile("paper") in {book.in_profile("paper")}
    assert len(book.instances) > 100
    again = pickle.loads(pickle.dumps(book))
    assert vars(again).keys() == {"rules", "profile"}
    assert again == book
    assert hash(again) == hash(book)
    assert again.in_profile("paper") != book
