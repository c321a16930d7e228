"""Rules as text: every rule reads back from its canonical spelling, people see the papers' signs, and the
grammar is that of `rules.lark` beside this file, which Lark reads by tables.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark import Token as LarkToken
from lark.exceptions import UnexpectedInput

from microcosm.files import shipped
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
    Positive,
    Premise,
    Rule,
    RuleChange,
    Term,
)
from microcosm.logic.rule_grammar import RuleToken, Tree, UnexpectedTokenError, blocks, premise_text
from microcosm.logic.rulebook import read_rule_text, read_rules
from tests.rule_printer import print_rule
from tests.thorough import draws

EVENTS = st.sampled_from(["a", "b", "c", "e1"])
VARIABLES = ["R", "S", "T1"]
STATED = [r for r in Relation if r is not Relation.SILENT]
POSSIBLE = [r for r in STATED if r is not Relation.UNKNOWN]
REFUTABLE = [Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED]

TERMS: st.SearchStrategy[Term] = st.sampled_from([*POSSIBLE, *VARIABLES, "!R"])
JUDGED_TERMS: st.SearchStrategy[Term] = TERMS | st.sampled_from([Relation.UNKNOWN, ANY])


def positives(events: st.SearchStrategy[str]) -> st.SearchStrategy[Positive]:
    return st.one_of(
        st.builds(Judged, st.sampled_from(Judgement), events, JUDGED_TERMS, events),
        st.builds(Given, events, TERMS, events),
        st.builds(In, events),
        st.builds(
            BasePredicate,
            st.sampled_from(["f", "is-send", "x_1"]),
            st.tuples(events) | st.tuples(events, events),
        ),
    )


PREMISES: st.SearchStrategy[Premise] = st.one_of(
    positives(EVENTS),
    positives(EVENTS).filter(lambda p: not isinstance(p, Given)).map(Not),
    st.builds(
        NoneWith,
        st.just("n"),
        st.lists(positives(st.sampled_from(["a", "b", "n"])), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Assume, EVENTS, TERMS, EVENTS),
)


def variables(premises: list[tuple[Premise, ...]]) -> set[str]:
    """The relation variables of premises, by a road of its own: the repr names every field."""
    return {name for name in VARIABLES if f"'{name}'" in repr(premises) or f"'!{name}'" in repr(premises)}


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Rules that are well formed: what the conclusion speaks of, some premise speaks of."""
    evolution = draw(st.none() | st.builds(RuleChange, EVENTS, TERMS, EVENTS, st.booleans()))
    lines: list[tuple[Premise, ...]] = [(In("a"), In("b"))]
    lines += draw(st.lists(st.lists(PREMISES, min_size=1, max_size=2).map(tuple), max_size=3))
    conclusions = draw(
        st.lists(
            st.builds(
                Judged, st.sampled_from(Judgement), st.sampled_from("ab"),
                st.sampled_from([*STATED, *sorted(variables(lines))]), st.sampled_from("ab"),
            ),
            min_size=1, max_size=2,
        )
    )  # fmt: skip
    known = sorted(variables([*lines, () if evolution is None else (Given("a", evolution.relation, "b"),)]))
    premises: list[tuple[Premise, ...]] = []
    exclusive: set[Relation | str] = set()
    for line in lines:
        premises.append(line)
        match line:
            case [Judged(relation=str(term)) as judged] if term in VARIABLES and draw(st.booleans()):
                premises.append((MostAccurate(judged),))
        if known and draw(st.integers(0, 3)) == 0:
            pair = draw(st.tuples(*[st.sampled_from([*POSSIBLE, *known])] * 2))
            exclusive.update(pair)
            premises.append((Incompatible(*pair),))
    refuted = "'!R'" in repr((premises, evolution))
    domains = {
        name: tuple(draw(st.lists(st.sampled_from(
            REFUTABLE if name == "R" and refuted else POSSIBLE if name in exclusive else STATED
        ), min_size=1, max_size=4, unique=True)))
        for name in known
    }  # fmt: skip
    return Rule("X-1", tuple(premises), tuple(conclusions), domains, evolution)


@given(rules())
@settings(max_examples=300, deadline=None)
def test_a_rule_reads_back_from_its_text(rule: Rule) -> None:
    text = print_rule(rule)
    [again] = read_rule_text(text)
    assert again == rule, text
    assert print_rule(again) == print_rule(read_rule_text(print_rule(again))[0])
    assert again.text == text
    assert len(list(again.instances())) == len(list(rule.instances()))


@pytest.mark.parametrize("rule", read_rules().rules, ids=lambda rule: rule.name)
def test_a_shipped_rule_reads_back_with_the_same_instances(rule: Rule) -> None:
    [again] = read_rule_text(print_rule(rule))
    assert again == rule
    parts = [[(i.conclusion, i.premises, i.evolution) for i in r.instances()] for r in (again, rule)]
    assert parts[0] == parts[1]


def test_the_canonical_spelling() -> None:
    [rule] = read_rule_text("""
rule X :
  ⊢₀ a ≺ b or c not in M  # why
  ⊢ a R b where S incompatible T2, R is most accurate and T2 in ≬ , R in >, !||
  ||/- b !S a
  no e in M with a in M and f( a,e )
  assume a T2 b
  ─────+ a R b
  ||- a R b
  ⊢ b ? a
""")
    assert (
        print_rule(rule)
        == """\
rule X:
    |-0 a < b or c not in M
    |- a R b  where R in >, !|| and S incompatible T2 and R is most accurate
    ||/- b !S a
    no e in M with a in M, f(a, e)
    assume a T2 b  where T2 in <>
    ------------ + a R b
    ||- a R b
    |- b ? a"""
    )


def test_the_canonical_spelling_of_an_update() -> None:
    [rule] = read_rule_text("rule X:\n|- c R d\n---a ≬ b := b R a\n|- c R d")
    assert "\n    ------------ b <> a := b R a\n" in print_rule(rule)
    assert read_rule_text(print_rule(rule)) == [rule]


INITIAL, ONLINE, OFFLINE = Judgement.INITIAL, Judgement.ONLINE, Judgement.OFFLINE


@pytest.mark.parametrize(
    ("premise", "text"),
    [
        (Judged(INITIAL, "a", Relation.BEFORE, "b"), "⊢₀ log in < share"),
        (Judged(ONLINE, "a", "R", "e"), "⊢ log in R e"),
        (Judged(OFFLINE, "b", Relation.NOT_CONCURRENT, "a"), "⊩ share !|| log in"),
        (Not(Judged(INITIAL, "a", ANY, "b")), "⊬₀ log in _ share"),
        (Not(Judged(ONLINE, "a", Relation.UNKNOWN, "b")), "⊬ log in ? share"),
        (Not(Judged(OFFLINE, "a", ANY, "b")), "⊮ log in _ share"),
        (Given("a", Relation.RELATED, "b"), "given log in <> share"),
        (In("a"), "log in in M"),
        (Not(In("b")), "share not in M"),
        (BasePredicate("f", ("a", "b")), "f(log in, share)"),
        (Not(BasePredicate("f", ("b",))), "not f(share)"),
        (Assume("a", Relation.BEFORE, "b"), "assume log in < share"),
        (Incompatible(Relation.BEFORE, "T"), "< and T exclude each other"),
        (
            MostAccurate(Judged(INITIAL, "a", Relation.RELATED, "b")),
            "nothing more accurate than ⊢₀ log in <> share",
        ),
        (
            NoneWith("e", (Judged(INITIAL, "a", ANY, "e"), Judged(INITIAL, "e", ANY, "b"))),
            "no event related to both log in and share",
        ),
        (
            NoneWith("a", (Judged(INITIAL, "b", ANY, "a"), BasePredicate("f", ("a",)))),
            "no event a in M with ⊢₀ share _ a and f(a)",
        ),
        (
            NoneWith("e", (Judged(INITIAL, "a", ANY, "e"), Judged(INITIAL, "e", ANY, "e"))),
            "no event e in M with ⊢₀ log in _ e and ⊢₀ e _ e",
        ),
    ],
)
def test_a_premise_for_people(premise: Premise, text: str) -> None:
    assert premise_text(premise, {"a": "log in", "b": "share"}) == text


def test_the_readme_of_the_rules_shows_a_rule_as_it_is_read() -> None:
    readme = (Path(__file__).parents[2] / "rules" / "README.md").read_text("utf-8")
    example = readme.split("\n\n")[1]
    [rule] = read_rule_text(example)
    assert [rule] == read_rules().named("Un-1")


SHIPPED = [path.read_text("utf-8") for path in sorted(shipped("rules").glob("*.rules"))]
PIECES = re.findall(r"\w+|\s|[^\w\s]+", "".join(SHIPPED))
ODD = [
    *"_:=+#(),?§\t\f",
    "rule x:",
    "---",
    "──── + a < b",
    ":=",
    "M",
    "not",
    "A1",
    "!R",
    "||-",
    "\n\n",
    "T1x",
]


@cache
def _table() -> Lark:
    grammar = Path(__file__).with_name("rules.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", maybe_placeholders=False)


def told(node: Any) -> object:
    """A tree of either, with its places."""
    if isinstance(node, RuleToken | LarkToken):
        return node.type, str(node), node.line, node.column
    return str(node.data), [told(child) for child in node.children]


def by_table(text: str) -> object:
    try:
        return told(_table().parse(text))
    except UnexpectedInput as error:
        cursor = error.interactive_parser
        return error.line, error.column, {"$END", *cursor.accepts()}


def by_hand(text: str) -> object:
    try:
        return told(Tree("start", [*blocks(text)]))
    except UnexpectedTokenError as error:
        return error.token.line, error.token.column, {"$END", *error.accepts}


@pytest.mark.parametrize("seed", range(draws(10, 400)))
def test_texts_are_read_as_by_the_table(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice(SHIPPED) if seed else "".join(SHIPPED)
    assert by_hand(text) == by_table(text)
    parts = re.findall(r"\w+|\s|[^\w\s]+", "".join(re.split(r"(?m)^(?=rule)", text)[:4]))
    for _ in range(60):
        changed = list(parts)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(changed))
            changed[at : at + chance.choice((0, 0, 1, 1, 2))] = chance.choices(
                chance.choice((PIECES, ODD)), k=chance.choice((0, 1, 1, 2))
            )
        mutant = "".join(changed) + "\n"
        assert by_hand(mutant) == by_table(mutant), mutant
