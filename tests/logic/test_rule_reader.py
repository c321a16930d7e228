"""The rule language: what it can say."""

from __future__ import annotations

import pytest

from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    ANY,
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
    Rule,
    RuleChange,
)
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rule_text

INITIAL, ONLINE, OFFLINE = Judgement.INITIAL, Judgement.ONLINE, Judgement.OFFLINE
BEFORE, CONCURRENT, RELATED, UNKNOWN = (
    Relation.BEFORE,
    Relation.CONCURRENT,
    Relation.RELATED,
    Relation.UNKNOWN,
)

OFFLINE_RULES = """
rule Off-OK:
    |- a R b
    ---
    ||- a R b
rule Off-Init:
    given a !< b
    ---
    ||- a !< b
rule Stamp:
    later(a, b)
    ---
    ||- a !< b
rule Off-Tr:
    ||- a < b
    ||- b < c
    ---
    ||- a < c
rule Ref-<:
    ||- a < b
    ---
    ||- b !< a
    ||- a !|| b
rule Ref-||:
    ||- a || b
    ---
    ||- a !< b
    ||- b !< a
    ||- a !<> b
rule Ref-<>:
    ||- a <> b
    ---
    ||- a !|| b
rule NCo-CR:
    ||- a !|| b
    ---
    ||- a <> b
rule Canc-<:
    ||- a <> b
    ||- b !< a
    ---
    ||- a < b
rule Canc-||:
    ||- a !< b
    ||- b !< a
    ---
    ||- a || b
rule No-Tr-L:
    ||- a < b
    ||- a !< c
    ---
    ||- b !< c
rule No-Tr-R:
    ||- a < b
    ||- c !< b
    ---
    ||- c !< a
rule Cntrd:
    assume a R b        where R in <, >, ||
    ||- c S d           where S in <, ||, <>, !<, !||, !<>, S incompatible T
    ||- c T d           where T in <, >, ||, <>, !<, !>, !||, !<>
    ---
    ||- a !R b
rule Up-Cntrd:
    given a <> b
    assume a < b
    ||- c S d           where S incompatible T
    ||- c T d           where T in <, >, ||, <>
    ---
    ||- a !< b
rule Cntrd-paper:
    |/- a _ b
    assume a R b
    ||- c S d           where S incompatible T
    ||- c T d
    ---
    ||- a !R b
"""


def one(text: str) -> Rule:
    [rule] = read_rule_text(text)
    return rule


def premises(*lines: str) -> tuple[tuple[Premise, ...], ...]:
    """The premises of a rule with these lines above its dashes."""
    return one("rule X:\n" + "\n".join(lines) + "\n a in M\n b in M\n---\n|- a ? b").premises[:-2]


def premise(line: str) -> Premise:
    [[found]] = premises(line)
    return found


# what can be said


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("|-0 a < b", Judged(INITIAL, "a", BEFORE, "b")),
        ("|- a ? b", Judged(ONLINE, "a", UNKNOWN, "b")),
        ("||- a !|| b", Judged(OFFLINE, "a", Relation.NOT_CONCURRENT, "b")),
        ("|/-0 a _ b", Not(Judged(INITIAL, "a", ANY, "b"))),
        ("|/- a R b", Not(Judged(ONLINE, "a", "R", "b"))),
        ("||/- a !R b", Not(Judged(OFFLINE, "a", "!R", "b"))),
        ("|-0 b > a", Judged(INITIAL, "b", Relation.AFTER, "a")),
        ("||- b !> a", Judged(OFFLINE, "b", Relation.NOT_AFTER, "a")),
        ("||- e1 T12 event_2", Judged(OFFLINE, "e1", "T12", "event_2")),
        ("given a R b", Given("a", "R", "b")),
        ("given a !< b", Given("a", Relation.NOT_BEFORE, "b")),
        ("c in M", In("c")),
        ("c not in M", Not(In("c"))),
        ("matches(a, b)", BasePredicate("matches", ("a", "b"))),
        ("is-send(a)", BasePredicate("is-send", ("a",))),
        ("not matches (a , b)", Not(BasePredicate("matches", ("a", "b")))),
        ("no e in M with |-0 a _ e, e in M", NoneWith("e", (Judged(INITIAL, "a", ANY, "e"), In("e")))),
        (
            "no e in M with given a < e and f(e)",
            NoneWith("e", (Given("a", BEFORE, "e"), BasePredicate("f", ("e",)))),
        ),
        ("assume a R b", Assume("a", "R", "b")),
    ],
)
def test_every_premise(line: str, meant: Premise) -> None:
    assert premise(line) == meant


@pytest.mark.parametrize(
    ("unicode", "plain"),
    [
        ("⊢₀ a ≺ b", "|-0 a < b"),
        ("⊢ a → b", "|- a < b"),
        ("⊩ b ≻ a", "||- b > a"),
        ("⊬₀ a ∥ b", "|/-0 a || b"),
        ("⊬ a ≬ b", "|/- a <> b"),
        ("⊮ a ≮ b", "||/- a !< b"),
    ],
)
def test_the_signs_of_the_papers_are_read(unicode: str, plain: str) -> None:
    assert premise(unicode) == premise(plain)


def test_alternatives_are_one_premise() -> None:
    assert premises("a not in M or |- a < b or f(a)") == (
        (Not(In("a")), Judged(ONLINE, "a", BEFORE, "b"), BasePredicate("f", ("a",))),
    )


def test_conditions() -> None:
    rule = one("""rule X:
        |-0 a R b   where R in ||, <> , < , T in ?, R is most accurate and S incompatible !R
        |- a S b
        |- b T a
        ---
        |- a R b""")
    judged = Judged(INITIAL, "a", "R", "b")
    assert rule.premises[:3] == ((judged,), (MostAccurate(judged),), (Incompatible("S", "!R"),))
    assert rule.domains == {
        "R": (CONCURRENT, RELATED, BEFORE), "S": (BEFORE, CONCURRENT, RELATED), "T": (UNKNOWN,),
    }  # fmt: skip


def test_a_condition_may_stand_on_another_line_than_its_variable() -> None:
    rule = one("rule X:\n|- a < b  where R in ||\n|- b R c\n---\n|- a R c")
    assert rule.domains == {"R": (CONCURRENT,)}


def test_a_variable_of_the_conclusion_may_be_bound_by_where_alone() -> None:
    rule = one("rule X:\n|- a < b  where R in !>, !||\n---\n||- a R b")
    assert [i.conclusion for i in rule.instances()] == [
        Judged(OFFLINE, "b", Relation.NOT_BEFORE, "a"), Judged(OFFLINE, "a", Relation.NOT_CONCURRENT, "b"),
    ]  # fmt: skip


def test_evolution() -> None:
    addition = one("rule X:\n|- a < b\n------ + c S d\n|- a S b")
    assert addition.evolution == RuleChange("c", "S", "d")
    assert len(list(addition.instances())) == 3
    update = one("rule X:\n|- a <> b\n---a <> b := b < a\n|- b < a")
    assert update.evolution == RuleChange("b", BEFORE, "a", update=True)


def test_several_conclusions() -> None:
    assert [
        str(i.conclusion.relation) for i in one("rule X:\n|- a < b\n---\n||- a < b\n||- b !< a").instances()
    ] == ["<", "!<"]


def test_the_place_and_the_text_of_a_rule() -> None:
    text = "# first\n\nrule A:  # why\n  |- a < b # so\n\n  ---\n  |- a < b  # done\n\n# of B\n"
    text += " rule B:\n a in M\n ---\n |- a ? a\n"
    a, b = read_rule_text(text, "f.rules")
    assert (a.name, a.file, a.line, b.name, b.line) == ("A", "f.rules", 3, "B", 10)
    assert a.text == "rule A:  # why\n  |- a < b # so\n\n  ---\n  |- a < b  # done"
    assert b.text.startswith(" rule B:")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_and_a_missing_last_one(end: str) -> None:
    text = "rule A:\n a in M # x\n ───\n |- a ? a"
    assert read_rule_text(text.replace("\n", end)) == read_rule_text(text)


@pytest.mark.parametrize("text", ["", "\n", "# nothing", "  \n\t# nothing\n\n"])
def test_a_text_without_rules(text: str) -> None:
    assert parse_rules(text) == RuleBook(())


def test_the_offline_rules_can_be_said() -> None:
    book = parse_rules(OFFLINE_RULES)
    assert [rule.name for rule in book.rules][:3] == ["Off-OK", "Off-Init", "Stamp"]
    assert len(book.rules) == 15
    cancel = [i for i in book.instances if i.rule.name == "Canc-<"]
    assert cancel[0].premises == (
        Judged(OFFLINE, "a", RELATED, "b"), Judged(OFFLINE, "b", Relation.NOT_BEFORE, "a"),
    )  # fmt: skip
    refuted = {str(i.conclusion.relation) for i in book.instances if i.rule.name == "Cntrd"}
    assert refuted == {"!<", "!||"}, "!> is turned into !<"
    clashes = {
        (str(s.relation), str(t.relation))
        for i in book.instances if i.rule.name == "Up-Cntrd"
        for s, t in [[p for p in i.premises if isinstance(p, Judged)]]
    }  # fmt: skip
    assert ("<", "||") in clashes
    assert ("<", "<>") not in clashes, "refinement is no contradiction"
