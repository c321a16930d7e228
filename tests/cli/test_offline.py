"""The command `offline` and its like: every answer verifies, and where no world fits there is none."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm
from microcosm.files import shipped
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import read_rules
from microcosm.text.mc_writer import write_mc
from tests import drat
from tests.cli.conftest import Run
from tests.notation import mc
from tests.queries.test_offline import FIVE_CYCLE, OPEN_CHORD


@pytest.mark.parametrize("text", ["a<b a||c", "a<>b c<b c||a", OPEN_CHORD, "a!<b b!<a b<>c c<d", FIVE_CYCLE])
def test_every_answer_of_the_command_line_verifies(run: Run, text: str) -> None:
    givens = mc(text)
    Path("m.mc").write_text(write_mc(givens), encoding="utf-8")
    answers = [("check", "m.mc")]
    for a, b in [*combinations(givens.named(), 2)][:4]:
        answers += [("offline", "m.mc", a, b), ("offline", "m.mc", b, a, "--depth", "1")]
        answers += [("offline", "m.mc", a, b, "--profile", "paper"), ("why", "m.mc", a, b, "--offline")]
    verified = 0
    for argv in answers:
        ran = run(*argv, "--json")
        if not (ran.json.get("derivations") or ran.json.get("derivation")):
            continue
        Path("answer.json").write_text(ran.out, encoding="utf-8")
        checked = run("verify", "m.mc", "answer.json", "--json")
        assert (checked.code, checked.json["fault"]) == (0, None), argv
        verified += 1
    assert verified


@pytest.mark.parametrize("argv", [("offline", "m.mc", "a", "c"), ("possible", "m.mc", "a", "c")])
def test_an_inconsistent_microcosm_has_no_verdicts(run: Run, argv: tuple[str, ...]) -> None:
    Path("m.mc").write_text(write_mc(mc(FIVE_CYCLE)), encoding="utf-8")
    ran = run(*argv, "--json")
    assert (ran.code, ran.json["possible"]) == (1, [])
    told = run(*argv)
    assert told.code == 1
    assert "inconsistent" in told.out + told.err
    if argv[0] == "offline":
        proof = ran.json["derivation"]
        assert proof["conclusion"]["relation"] == "contradiction"
        assert kernel.check(mc(FIVE_CYCLE), read_rules(), proof) is None


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_table_of_what_fits_no_world_says_so(run: Run, mode: str) -> None:
    """Without assumptions the offline rules do not see it, and what they leave looked as if it could be."""
    Path("m.mc").write_text(write_mc(mc(FIVE_CYCLE)), encoding="utf-8")
    ran = run("table", "m.mc", "--mode", mode)
    assert ran.code == 0
    assert ran.err == "warning: no world fits all that m.mc gives: `microcosm check` says why\n"


OVERTAKEN = (
    "ordering fifo-1-1\nsend s1 = m1 p -> q\nsend s2 = m2 p -> q\nreceive r1 = m1 q\nreceive r2 = m2 q\n"
    "s1 < s2 < r2 < r1\ns1 < r1\n"
)


@pytest.mark.parametrize("text", [OVERTAKEN, write_mc(mc(FIVE_CYCLE))], ids=["ordering", "related"])
@pytest.mark.parametrize("asked", ["online m.mc", "why m.mc", "table m.mc", "repl m.mc"])
def test_a_verdict_where_no_world_fits_is_warned_of(run: Run, asked: str, text: str) -> None:
    """Also where the ordering of messages that is known says so, and whoever asks why."""
    Path("m.mc").write_text(text, encoding="utf-8")
    pair = [] if asked[:2] in ("ta", "re") else ["s1", "s2"] if text == OVERTAKEN else ["e0", "e1"]
    assert run("check", "m.mc").code == 1
    ran = run(*asked.split(), *pair)
    assert "warning: no world fits all that m.mc gives: `microcosm check` says why\n" in ran.err
    assert ran.out


def test_a_limit_ends_a_search_that_assumes_nothing(run: Run) -> None:
    """Under a known ordering propagation alone may take hours; it was never asked whether time is up."""
    chain = "\n".join(f"e{at} < e{at + 1}" for at in range(400))
    Path("m.mc").write_text(
        f"ordering causal\nsend e0 = m p -> q\nreceive e9 = m q\n{chain}\n", encoding="utf-8"
    )
    assert run("check", "m.mc", "--limit", "0.01", "--json").json["consistent"] is None
    assert run("table", "m.mc", "--mode", "possible", "--limit", "0.01", "--json").json["exact"] is False


def test_deleting_a_rule_of_a_folder_takes_its_refutations_along(run: Run) -> None:
    Path("m.mc").write_text(write_mc(mc(OPEN_CHORD)), encoding="utf-8")
    Path("rules").mkdir()
    for file in shipped("rules").glob("*.rules"):
        Path("rules", file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    offline = Path("rules/offline.rules")
    assert run("offline", "m.mc", "e", "b", "--rules", "rules").code == 0
    text = offline.read_text(encoding="utf-8")
    offline.write_text(text[: text.index("rule Cntrd:")], encoding="utf-8")
    ran = run("offline", "m.mc", "e", "b", "--rules", "rules", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["exact"]) == (3, None, False)
    assert ran.json["possible"] == ["<", ">", "||"]


def test_rules_that_see_no_contradiction_may_leave_nothing(run: Run) -> None:
    """Wherever the rules of a folder end, a pair of which all is refuted is told."""
    Path("m.mc").write_text("a <> b \n a !< b \n b !< a", encoding="utf-8")
    Path("rules").mkdir()
    for file in shipped("rules").glob("*.rules"):
        Path("rules", file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    text = Path("rules/offline.rules").read_text(encoding="utf-8")
    said = {}
    for name in re.findall("^rule (.*?):", text, re.MULTILINE):
        Path("rules/offline.rules").write_text(text[: text.index(f"rule {name}:")], encoding="utf-8")
        for asked in (["table", "m.mc", "--mode", "offline"], ["offline", "m.mc", "a", "b"]):
            for more in ([], ["--all"] if asked[0] == "table" else ["--depth", "0"]):
                ran = run(*asked, *more, "--rules", "rules")
                assert ran.code in (0, 1, 3)
                said[name, asked[0], *more] = ran.out
    assert "1 none 2" in said["NCo-CR", "table"]
    assert "a, b: nothing" in said["NCo-CR", "table", "--all"]
    assert "possible: nothing\n" in said["NCo-CR", "offline"]


def test_what_only_a_solver_decided_comes_with_all_that_checks_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pysat", reason="the extra `sat` is not installed")
    monkeypatch.setattr("microcosm.tuning.ASSUMPTIONS", 1)
    Path("m.mc").write_text(write_mc(mc(OPEN_CHORD)), encoding="utf-8")
    ran = run("offline", "m.mc", "b", "e", "--certificate", "proof", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["exact"]) == (0, "<>", True)
    assert ran.json["derivations"] == {"<>": None, "!||": None}
    assert ran.json["certificate"] == "proof.drat"
    cnf, proof = (Path(f"proof.{kind}").read_text(encoding="utf-8") for kind in ("cnf", "drat"))
    assert cnf.startswith("c assumed: b || e\nc variable 1: a < b\n")
    assert drat.fault(cnf, proof) is None
    said = run("offline", "m.mc", "b", "e")
    assert "--certificate OUT" in said.err


BIG = 2**53 + 1


@pytest.mark.parametrize("text", [f"[{BIG}, {BIG}.0]", f"[{BIG}.0, {BIG}]", f"[{BIG}.0, {BIG}.0]"])
def test_a_number_past_53_bits_is_itself(run: Run, text: str) -> None:
    Path("m.mc").write_text(f"stamp a = {text}\nstamp b = [{BIG}, {BIG}]\n", encoding="utf-8")
    for pair in (("a", "b"), ("b", "a")):
        assert run("offline", "m.mc", *pair, "--json").json["possible"] == ["<", ">", "||"]
    assert run("evolve", "m.mc").out == f"stamp a = {text}\nstamp b = [{BIG}, {BIG}]\n"
    Path("late.mc").write_text(f"stamp a = [{BIG}.5, {BIG}.5]\nstamp b = {text}\n", encoding="utf-8")
    assert run("offline", "late.mc", "a", "b", "--json").json["refuted"] == ["<"]
    Path("out.json").write_text(run("evolve", "late.mc", "--json").out, encoding="utf-8")
    assert run("offline", "out.json", "a", "b", "--json").json["refuted"] == ["<"]
    Microcosm.read("late.mc").write("again.json")
    assert Microcosm.read("again.json").givens.stamps == Microcosm.read("late.mc").givens.stamps


def test_a_limit_ends_a_table_that_assumes_something(run: Run) -> None:
    """What propagation leaves is shown then, and it is said that more may be ruled out."""
    rng = Random(1)
    pairs = [pair for pair in combinations(range(40), 2) if rng.random() < 0.3]
    Path("m.mc").write_text("".join(f"e{a} <> e{b}\n" for a, b in pairs), encoding="utf-8")
    told = run("table", "m.mc", "--mode", "offline", "--depth", "exact", "--limit", "0.2", "--json")
    assert (told.code, told.json["exact"], len(told.json["pairs"])) == (3, False, 780)
    assert run("table", "m.mc", "--mode", "offline", "--limit", "1").code == 2
    Path("m.mc").write_text("a < b\n", encoding="utf-8")
    told = run("table", "m.mc", "--mode", "offline", "--depth", "exact", "--limit", "60", "--json")
    assert (told.code, told.json["pairs"]) == (0, [["a", "b", ["<"]]])
