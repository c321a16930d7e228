"""Offline answers under edited rules: what a deleted rule told is told no longer, and nothing hides that.

`possible` reads no rules, and knows more than the rules that are left may say; it must not answer for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest

from microcosm import Microcosm, tuning
from microcosm.files import shipped
from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.queries.offline import Inconsistent, Offline
from tests.assuming import Assuming
from tests.cli.conftest import Run, run  # noqa: F401
from tests.enumeration import as_givens, enumerated
from tests.notation import mc
from tests.queries.test_offline import OFFLINE_RULES, OPEN_CHORD, PROFILES, without
from tests.thorough import draws

RULE_FILES = ("initial", "online", "offline")

STAMPED = "stamp a = 1\nstamp b = 1\n"


@dataclass(frozen=True)
class Loss:
    """What is told of a pair with all rules and without one: its relation, then what is refuted of it."""

    text: str
    pair: str
    told: str
    left: str
    profile: str = "full"
    depth: int | None = 0


LOSSES = {
    "Off-OK": Loss("a<b", "ab", "< | > ||", "|"),
    "Off-Init": Loss("a!<b", "ab", "| <", "|"),
    "Stamp": Loss(STAMPED, "ab", "|| | < > <>", "|"),
    "Off-Tr": Loss("a<>b b!<a b<c", "ac", "< | > ||", "| >"),
    "Ref-<": Loss("a<b", "ab", "< | > ||", "< |"),
    "Ref-||": Loss("a||b", "ab", "|| | < > <>", "|| |"),
    "Ref-<>": Loss("a<>b", "ab", "<> | ||", "<> |"),
    "NCo-CR": Loss(OPEN_CHORD, "be", "<> | ||", "| ||", depth=None),
    "Canc-<": Loss("a<>b b!<a", "ab", "< | > ||", "<> | > ||", depth=None),
    "Canc-||": Loss("a!<b b!<a", "ab", "|| | < > <>", "| < >", depth=None),
    "No-Tr-L": Loss("a<b a!<c", "bc", "| <", "|"),
    "No-Tr-R": Loss("a<b c!<b", "ac", "| >", "|"),
    "Cntrd": Loss("a<b a||c", "bc", "| <", "|", profile="paper", depth=None),
    "Up-Cntrd": Loss("a<>b c<b c||a", "ab", "< | > ||", "<> | ||", profile="paper", depth=None),
}
"""For each rule, something that no other rule makes up for (in the full profile, assumptions often do)."""

TELLING = (
    "a<>b b!<a b<c",
    "a<>b c<b c||a",
    "a!<b b!<a b<c",
    "a<>b b<>c a||c",
    "a<c b<>c",
)


def microcosm(text: str, rules: RuleBook) -> Microcosm:
    return Microcosm.parse(text, rules=rules) if "stamp" in text else Microcosm(mc(text), rules=rules)


def said(found: Offline) -> str:
    relation = "" if found.relation is None else f"{found.relation} "
    return f"{relation}| {' '.join(map(str, found.refuted))}".strip()


def test_every_offline_rule_has_its_loss() -> None:
    assert list(LOSSES) == OFFLINE_RULES


@pytest.mark.parametrize("name", OFFLINE_RULES)
def test_what_a_rule_tells_is_lost_with_it(name: str) -> None:
    loss = LOSSES[name]
    for rules, expected in ((read_rules(), loss.told), (without(name), loss.left)):
        m = microcosm(loss.text, rules)
        found = m.offline(*loss.pair, profile=loss.profile, depth=loss.depth)
        assert said(found) == expected
        for proof in found.derivations.values():
            assert proof is not None
            assert kernel.check(m.givens, rules, proof.to_json()) is None


@pytest.mark.parametrize("name", OFFLINE_RULES)
def test_the_kernel_rejects_what_a_deleted_rule_proved(name: str) -> None:
    """Each answer of the loss above has a proof by the rule, which is no proof without it."""
    loss = LOSSES[name]
    m = microcosm(loss.text, read_rules())
    found = m.offline(*loss.pair, profile=loss.profile, depth=loss.depth)
    verdicts = [
        kernel.check(m.givens, without(name), proof.to_json())
        for proof in found.derivations.values()
        if proof
    ]
    assert any(fault is not None for fault in verdicts)


def left(m: Microcosm, depth: int, profile: str) -> dict[tuple[str, str], set[str]] | None:
    try:
        table = m.offline_table(depth=depth, profile=profile)
    except Inconsistent:
        return None
    return {(a, b): {str(relation) for relation in members} for a, b, members in table}


def agrees(rules: RuleBook, givens: Givens, profile: str, depth: int) -> Assuming:
    """The table at a depth is what the rules say, read literally."""
    literally = Assuming(rules.in_profile(profile), givens, depth)
    found = left(Microcosm(givens, rules=rules), depth, profile)
    assert found == (None if literally.clash else literally.left()), givens
    return literally


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", [None, *OFFLINE_RULES])
def test_the_table_is_what_the_rules_say(name: str | None, profile: str) -> None:
    rules = read_rules() if name is None else without(name)
    deep = len(name or "") % len(TELLING)
    for at, text in enumerate(TELLING):
        agrees(rules, mc(text), profile, depth=int(at == deep))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", [None, *OFFLINE_RULES])
def test_tables_and_exact_answers_are_what_the_rules_say(name: str | None, profile: str) -> None:
    rules = read_rules() if name is None else without(name)
    start = OFFLINE_RULES.index(name) if name else 0
    for facts in enumerated("abc", superseding=True)[start % 19 :: draws(38, 19)]:
        givens = as_givens(facts)
        literally = agrees(rules, givens, profile, 1)
        m = Microcosm(givens, rules=rules)
        for pair in combinations(sorted(m.events), 2):
            found = {str(relation) for relation in m.offline(*pair, profile=profile).possible}
            assert found == literally.left()[pair], "of 3 events one assumption at a time is enough"


@pytest.mark.parametrize("name", OFFLINE_RULES)
def test_what_is_left_is_never_called_exact_where_a_world_lacks_it(name: str) -> None:
    for text in (*TELLING, OPEN_CHORD):
        m = Microcosm(mc(text), rules=without(name))
        for pair in combinations(sorted(m.events), 2):
            found, possible = m.offline(*pair), m.possible(*pair)
            assert set(possible.relations) <= set(found.possible)
            assert found.exact is (set(possible.relations) == set(found.possible))


def test_among_many_events_all_are_asked_where_rules_are_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few events are enough for the shipped rules, of which that is known; of others it is not."""
    files = {n: (shipped("rules") / f"{n}.rules").read_text(encoding="utf-8") for n in RULE_FILES}
    changed = files["offline"].replace("given a !< b\n", "given a !< c\n    ||- c < b\n")
    assert changed != files["offline"]
    rules = parse_rules("\n".join([files["initial"], files["online"], changed]))
    m = Microcosm(mc("a!<c c<b"), rules=rules)
    for few in (tuning.ALL_TAKE_PART, 0):
        monkeypatch.setattr(tuning, "ALL_TAKE_PART", few)
        assert said(m.offline("a", "b")) == "| <"


# from outside: lines of a file are deleted


def folder(*deleted: str) -> None:
    """A copy of the shipped rule files in `rules`, without the lines of some rules."""
    Path("rules").mkdir()
    for file in shipped("rules").glob("*.rules"):
        blocks = re.split(r"(?m)^(?=rule )", file.read_text(encoding="utf-8"))
        kept = [block for block in blocks if not any(block.startswith(f"rule {name}:") for name in deleted)]
        Path("rules", file.name).write_text("".join(kept), encoding="utf-8")


@pytest.mark.parametrize("name", OFFLINE_RULES)
def test_deleting_its_lines_shows_on_the_command_line(run: Run, name: str) -> None:  # noqa: F811
    loss = LOSSES[name]
    folder(name)
    m = microcosm(loss.text, read_rules())
    m.write("m.mc")
    depth = "exact" if loss.depth is None else str(loss.depth)
    asked = ("offline", "m.mc", *loss.pair, "--profile", loss.profile, "--depth", depth, "--json")
    for rules, expected in (((), loss.told), (("--rules", "rules"), loss.left)):
        answer = run(*asked, *rules).json
        verdict = "" if answer["verdict"] is None else f"{answer['verdict']} "
        assert f"{verdict}| {' '.join(answer['refuted'])}".strip() == expected
        signs = {sign for sign in ("<", ">", "||") if sign not in answer["refuted"]}
        assert set(answer["possible"]) == signs
        assert len(answer["derivations"]) == len(answer["refuted"]) + bool(verdict)


@pytest.mark.parametrize(
    ("deleted", "text", "expected"),
    [
        ((), "a<b a!<c", {"ab": "<", "ac": "> ||", "bc": "> ||"}),
        (("No-Tr-L",), "a<b a!<c", {"ab": "<", "ac": "> ||", "bc": "< > ||"}),
        (("No-Tr-R",), "a<b c!<b", {"ab": "<", "ac": "< > ||", "bc": "< ||"}),
        (("Ref-<", "Ref-||", "Ref-<>"), "a<b b||c a<>c", {"ab": "< > ||", "ac": "< > ||", "bc": "< > ||"}),
        (("Off-Tr",), "a<>b b!<a b<c", {"ab": "<", "ac": "< ||", "bc": "<"}),
        (("Cntrd", "Up-Cntrd"), "a<b b||c", {"ab": "<", "ac": "< ||", "bc": "||"}),
    ],
)
def test_a_table_of_offline_under_edited_files(
    run: Run,  # noqa: F811
    deleted: tuple[str, ...],
    text: str,
    expected: dict[str, str],
) -> None:
    folder(*deleted)
    Microcosm(mc(text)).write("m.mc")
    answer = run("table", "m.mc", "--mode", "offline", "--rules", "rules", "--json").json
    assert {a + b: " ".join(members) for a, b, members in answer["pairs"]} == expected


@pytest.mark.parametrize(("deleted", "refuted"), [((), True), (("Cntrd", "Up-Cntrd"), False)])
def test_a_table_with_assumptions_under_edited_files(
    run: Run,  # noqa: F811
    deleted: tuple[str, ...],
    refuted: bool,
) -> None:
    folder(*deleted)
    Microcosm(mc(OPEN_CHORD)).write("m.mc")
    answer = run("table", "m.mc", "--mode", "offline", "--depth", "2", "--rules", "rules", "--json").json
    [members] = [members for a, b, members in answer["pairs"] if (a, b) == ("b", "e")]
    assert ("||" in members) is not refuted
