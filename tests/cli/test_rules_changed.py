"""Every command under edited rule files: an answer, a refusal in words, but never a fault of the program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm
from microcosm.cli.exits import FAULT
from microcosm.errors import Contradiction
from microcosm.files import shipped
from microcosm.logic.rulebook import RuleBook
from tests.cli.conftest import Run
from tests.engine.test_changed_rules import VARIANTS
from tests.naive import Naive
from tests.random_rules import random_givens, random_rules
from tests.thorough import draws

ASKED = (
    "online m.mc a b",
    "offline m.mc a b --depth 1",
    "why m.mc a c",
    "why m.mc b a --offline",
    "possible m.mc a b",
    "table m.mc",
    "table m.mc --mode offline",
    "table m.mc --mode possible",
    "check m.mc",
    "merge m.mc less.mc",
    "bisim m.mc less.mc",
    "bisim m.mc less.mc --backward",
    "diff m.mc less.mc",
    "evolve m.mc --forget a",
    "rules check",
)

SESSION = """
a ? b
why a < b
past of b
unknown with a
silent
between a and c
possible a b
offline a b
what if a < c
check
forget b
diff
undo
remove a < b
"""


def everything(run: Run, rules: RuleBook, rng: Random) -> None:
    Path("rules").mkdir()
    Path("rules", "some.rules").write_text("\n".join(rule.text for rule in rules.rules), encoding="utf-8")
    givens = random_givens(rng)
    less = givens.copy()
    less.external.popitem()
    Microcosm(givens, rules=RuleBook(())).write("m.mc")
    Microcosm(less, rules=RuleBook(())).write("less.mc")
    for line in ASKED:
        for json_asked in ((), ("--json",)):
            answer = run(*line.split(), *json_asked, "--rules", "rules")
            assert answer.code != FAULT, (line, answer.err)
    for relation in ("<", "||", "<>", "?"):
        assert run("why-not", "m.mc", f"a {relation} b", "--rules", "rules").code != FAULT
    assert run("repl", "m.mc", "--rules", "rules", stdin=SESSION.encode()).code != FAULT
    proved(run)
    try:
        Microcosm(givens, rules=rules)
    except Contradiction:
        return
    naive = Naive(rules, givens)
    told = {
        (a, b): verdict for a, b, verdict in run("table", "m.mc", "--rules", "rules", "--json").json["pairs"]
    }
    assert told == {(a, b): naive.verdict(a, b).value for a, b in told}


def proved(run: Run) -> None:
    """What is answered with a derivation, `verify` takes."""
    for line in ("online m.mc a b", "online m.mc b a", "offline m.mc a c --depth 0"):
        answer = run(*line.split(), "--rules", "rules", "--json")
        if answer.code in (0, 3) and ("derivation" in answer.out):
            found = json.loads(answer.out)
            if found.get("derivation") or found.get("derivations"):
                Path("proof.json").write_text(answer.out, encoding="utf-8")
                assert run("verify", "m.mc", "proof.json", "--rules", "rules").code == 0, line


@pytest.mark.parametrize("variant", sorted(VARIANTS)[::9])
def test_every_command_under_a_variant(run: Run, variant: str) -> None:
    everything(run, VARIANTS[variant](), Random(variant))


@pytest.mark.parametrize("seed", range(2))
def test_every_command_under_random_rules(run: Run, seed: int) -> None:
    rng = Random(seed)
    everything(run, random_rules(rng, offline=True), rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + draws(5, 58)))
def test_every_command_under_many_random_rules(run: Run, seed: int) -> None:
    rng = Random(seed)
    everything(run, random_rules(rng, offline=True), rng)


def test_what_rules_of_ones_own_contradict_is_told_by_check_as_by_offline(run: Run) -> None:
    shutil.copytree(shipped("rules"), "own")
    with Path("own", "offline.rules").open("a", encoding="utf-8") as rules:
        rules.write("\nrule Void:\n    |- a ? b\n    ----\n    ||- a !< b\n    ||- a !|| b\n")
    Path("m.mc").write_text("a < b\nc < d\n", encoding="utf-8")
    assert run("offline", "m.mc", "a", "c", "--rules", "own").code == 1
    ran = run("check", "m.mc", "--rules", "own", "--json")
    assert ran.code == 1
    Path("answer.json").write_text(ran.out, encoding="utf-8")
    assert run("verify", "m.mc", "answer.json", "--rules", "own").code == 0
    told = run("repl", "m.mc", "--rules", "own", "--json", stdin=b"check\n").json_lines
    assert told[0]["consistent"] is False
    assert run("check", "m.mc").code == 0
