"""`bisim` and `diff`: the JSON fields and the exit codes, and what happens to bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_failures import BAD_FILES


@pytest.fixture
def files(run: Run) -> tuple[str, str, str]:
    """Two analogous microcosms and one that is not."""
    Path("one.mc").write_text("a < c < b", encoding="utf-8")
    Path("two.json").write_text('{"external": [["a","<","b"],["a","<","c"],["b",">","c"]]}', encoding="utf-8")
    Path("other.mc").write_text("a < c\nc <> b\na !< b", encoding="utf-8")
    return "one.mc", "two.json", "other.mc"


def test_bisimilar(run: Run, files: tuple[str, str, str]) -> None:
    one, two, _ = files
    ran = run("bisim", one, two, "--json")
    assert (ran.code, ran.json) == (0, {"schema": "microcosm/1", "bisimilar": True, "witness": None})
    assert run("bisim", one, two).code == 0
    assert run("bisim", one, "-", stdin=Path(two).read_bytes()).code == 0


def test_not_bisimilar_at_once(run: Run, files: tuple[str, str, str]) -> None:
    one, _, other = files
    ran = run("bisim", one, other, "--json")
    assert ran.code == 1
    assert set(ran.json) == {"schema", "bisimilar", "witness"}
    assert ran.json["bisimilar"] is False
    assert ran.json["witness"] == {"pair": ["a", "b"], "verdicts": ["<", None], "path": [], "given": None}
    assert run("bisim", one, other).code == 1


def test_not_backward_bisimilar(run: Run, files: tuple[str, str, str]) -> None:
    one, two, _ = files
    ran = run("bisim", "--backward", one, two, "--json")
    assert ran.code == 1
    witness = ran.json["witness"]
    assert (witness["pair"], witness["verdicts"]) == (["a", "b"], ["?", "<"])
    assert witness["path"] == [{"remove": ["a", "<", "c"]}]
    assert witness["given"] == {"file": 2, "statement": "a < b"}
    for file, verdict in zip((one, two), witness["verdicts"], strict=True):
        run("evolve", file, "--remove", "a < c", "-o", "after.mc")
        assert run("online", "after.mc", "a", "b", "--json").json["verdict"] == verdict


def test_the_rules_decide(run: Run, files: tuple[str, str, str]) -> None:
    """Without In-Tr the two are not analogous any more."""
    one, two, _ = files
    Path("rules").mkdir()
    for file in (Path(__file__).parents[2] / "rules").glob("*.rules"):
        text = file.read_text(encoding="utf-8")
        begin = text.find("rule In-Tr:")
        if begin >= 0:
            text = text[:begin] + text[text.index("rule Co-Sym:") :]
        Path("rules", file.name).write_text(text, encoding="utf-8")
    assert run("bisim", one, two, "--rules", "rules").code == 1
    assert run("diff", one, two, "--rules", "rules").code == 1


def test_a_difference(run: Run, files: tuple[str, str, str]) -> None:
    one, two, other = files
    same = run("diff", one, two, "--json")
    assert same.code == 0
    assert same.json == {"schema": "microcosm/1", "news": [[], []], "more": [0, 0], "conflicts": []}
    ran = run("diff", one, other, "--json")
    assert ran.code == 1
    assert ran.json["news"] == [[{"fact": ["c", "<", "b"], "instead": "<>", "decides": 2}], []]
    assert (ran.json["more"], ran.json["conflicts"]) == ([2, 0], [])
    assert run("diff", one, other).code == 1


def test_a_fact_that_has_to_be_refused_is_told_as_such(run: Run) -> None:
    Path("one.mc").write_text("a < b", encoding="utf-8")
    Path("two.mc").write_text("c < a \n b < d \n c || d", encoding="utf-8")
    assert run("diff", "one.mc", "two.mc", "--json").json["news"][0] == [
        {"fact": ["a", "<", "b"], "instead": None, "decides": 0}
    ]
    said = "  a < b   (refused there, where it contradicts what is known of others)"
    assert said in run("diff", "one.mc", "two.mc").out.splitlines()


def test_a_long_difference_is_cut(run: Run) -> None:
    Path("many.mc").write_text("\n".join(f"a{at} || b{at}" for at in range(30)), encoding="utf-8")
    Path("none.mc").write_text("", encoding="utf-8")
    shown = run("diff", "many.mc", "none.mc").out.splitlines()
    assert (len(shown), shown[-1]) == (22, "  and 10 more; --all tells them")
    assert len(run("diff", "many.mc", "none.mc", "--all").out.splitlines()) == 31
    assert len(run("diff", "many.mc", "none.mc", "--json").json["news"][0]) == 30


@pytest.mark.parametrize("command", ["bisim", "diff"])
def test_bad_input(run: Run, files: tuple[str, str, str], command: str) -> None:
    Path("cycle.mc").write_text("a < b < a", encoding="utf-8")
    for bad in ("nowhere.mc", "cycle.mc"):
        for order in ((bad, files[0]), (files[0], bad)):
            ran = run(command, *order, "--json")
            assert ran.refused(4)
            assert ran.err.startswith("error: ")
    for content in BAD_FILES.values():
        Path("bad.mc").write_bytes(content)
        ran = run(command, files[0], "bad.mc", "--json")
        assert ran.refused(4)
    Path("four.mc").write_text("a < b \n a <> b", encoding="utf-8")
    assert run(command, "four.mc", "four.mc").code == 0
    assert run(command, "four.mc", "four.mc", "--strict").code == 4


@pytest.mark.parametrize("command", ["bisim", "diff"])
def test_usage(run: Run, files: tuple[str, str, str], command: str) -> None:
    for arguments in ((), (files[0],), files, ("-", "-"), (files[0], files[1], "--nonsense")):
        ran = run(command, *arguments)
        assert ran.refused(2)


@pytest.mark.parametrize("command", ["bisim", "diff"])
def test_what_cannot_be_encoded_is_escaped(run: Run, command: str) -> None:
    Path("one.mc").write_text('"\\u001b[31m" < "事"', encoding="utf-8")
    Path("two.mc").write_text("a < b", encoding="utf-8")
    for encoding in ("utf-8", "ascii"):
        ran = run(command, "one.mc", "two.mc", encoding=encoding)
        assert ran.code == 1
        assert "\x1b" not in ran.out
