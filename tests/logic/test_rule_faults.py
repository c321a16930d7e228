"""Faults of rule text: one short error at the right place, in words, whatever the text is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.errors import RuleError
from microcosm.logic.rulebook import MOST_INSTANCES, parse_rules, read_rule_text

RULES = Path(__file__).parents[2] / "rules"


def fault(text: str, file: str | None = "x.rules") -> str:
    with pytest.raises(RuleError) as caught:
        parse_rules(text, file)
    return str(caught.value)


def rule_named(name: str) -> str:
    return f"rule {name}:\n a in M\n ---\n |- a ? a\n"


def test_a_missing_line_of_dashes() -> None:
    assert (
        fault("rule X:\n  a in M\n  |- a ? b")
        == """\
x.rules:1:1: rule X has no line of dashes
  rule X:
  ^
Premises stand above a line of at least three dashes, conclusions under it."""
    )


@pytest.mark.parametrize("name", ["absent", "assume", "Clash"])
def test_a_name_that_proofs_need(name: str) -> None:
    assert fault(rule_named(name)).startswith(f"x.rules:1:1: no rule is called {name}")


def test_too_few_dashes() -> None:
    assert (
        fault("rule X:\n  a in M\n  --\n  |- a ? a")
        == """\
x.rules:3:3: `--` cannot stand here
    --
    ^
The line between premises and conclusions has at least three dashes."""
    )


def test_no_premise() -> None:
    assert (
        fault("rule X:\n  ----\n  |- a ? b")
        == """\
x.rules:2:3: rule X has no premise above the dashes
    ----
    ^
A rule concludes from something, if only from `a in M`."""
    )


def test_no_conclusion() -> None:
    assert (
        fault("rule X:\n  a in M\n  ----\n# end\n" + rule_named("Y"))
        == """\
x.rules:3:3: rule X has no conclusion under the dashes
    ----
    ^
Write one judgement a line, such as `|- a R b`."""
    )


def test_an_unknown_relation() -> None:
    assert (
        fault("rule X:\n  |- a => b\n  ---\n  |- a < b")
        == """\
x.rules:2:8: `=>` is no relation
    |- a => b
         ^
The relations are < > || <> ? !< !> !|| !<> ≺ → ≻ ∥ ≬ ≮."""
    )


def test_a_word_that_cannot_stand_there() -> None:
    assert (
        fault("rule X:\n  |- a before b\n")
        == """\
x.rules:2:8: `before` cannot stand here
    |- a before b
         ^
Expected here: a relation (< > || <> ? !< !> !|| !<>, or _ for any) or a relation variable (R, S, T1)."""
    )


def test_a_line_that_ends_too_early() -> None:
    assert (
        fault("rule X:\n  matches(a\n")
        == """\
x.rules:2:12: the line ends too early
    matches(a
             ^
Expected here: `,` or `)`."""
    )


def test_no_premise_at_all() -> None:
    assert (
        fault("rule X:\n  perhaps\n  ---\n")
        == """\
x.rules:2:10: the line ends too early
    perhaps
           ^
Expected here: `in` or `not`."""
    )


def test_text_before_the_first_rule() -> None:
    assert (
        fault("In-Tr:\n  |- a < b")
        == """\
x.rules:1:1: `In` cannot stand here
  In-Tr:
  ^
Expected here: a line `rule NAME:`."""
    )


def test_a_name_line_without_its_colon() -> None:
    assert (
        fault("# one\nrule In-Tr  # two\n  |- a < b")
        == """\
x.rules:2:1: `rule In-Tr` does not begin a rule
  rule In-Tr  # two
  ^
A rule begins with a line `rule NAME:`; the name has no spaces, colons or #."""
    )


def test_the_wildcard_in_a_conclusion() -> None:
    assert (
        fault("rule X:\n  |- a < b\n  ---\n  |- a _ b")
        == """\
x.rules:4:8: a conclusion names its relation; `_` is for premises
    |- a _ b
         ^
Write a relation, or a relation variable that a premise has."""
    )


def test_an_unbound_relation() -> None:
    assert (
        fault("rule X:\n  |- a < b\n  ---\n  |- a R b")
        == """\
x.rules:4:8: the relation R of the conclusion is unbound
    |- a R b
         ^
Use R in a premise, or say `where R in <, ||`."""
    )


def test_an_unbound_event() -> None:
    assert (
        fault("rule X:\n  |- a < b\n  ---\n  |- a < c")
        == """\
x.rules:4:10: the event c of the conclusion is unbound
    |- a < c
           ^
Some premise must speak of it."""
    )


def test_two_rules_of_one_name() -> None:
    assert (
        fault(rule_named("X") + rule_named("X"))
        == """\
x.rules:5:1: rule X stands already in x.rules:1
  rule X:
  ^
Remove one of the two, or give it another name."""
    )
    assert fault(rule_named("X") * 2, file=None).startswith("5:1: rule X stands already in line 1\n")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a not M", "2:7", "`M` cannot stand here"),
        ("a in\u00a0M", "2:5", "`U+00A0` cannot stand here"),
        ("|-0 é < b", "2:5", "`é` cannot stand here"),
        ("|- a M b", "2:6", "`M` cannot stand here"),
        ("in in M", "2:1", "`in` cannot stand here"),
        ("a in M rule Y:", "2:8", "a rule begins on a line of its own"),
        ("given a _ b", "2:9", "`_` is never given"),
        ("assume a ? b", "2:10", "`?` is never given"),
        ("f(a, b, c)", "2:9", "f is said of more than two events"),
        ("no e in M with |/- a < e", "2:16", "a negated judgement inside `no … with`"),
        ("|- a < b, |- b < c", "2:9", "`,` cannot stand here"),
        ("|- a < b where <", "2:16", "`<` belongs to no variable"),
        ("|- a R b where R is most accurate, <", "2:36", "`<` belongs to no variable"),
        ("|- a R b where !R in <", "2:16", "a condition speaks of R, not of !R"),
        ("|- a R b where R in <, R in ||", "2:24", "`R in …` is said twice in rule X"),
        ("|- a R b where R in <, ||, ≺", "2:28", "`<` is listed twice for R"),
        ("|- a R b where R in <~", "2:21", "`<~` is no relation"),
        ("|- a R b where R is accurate", "2:21", "`accurate` cannot stand here"),
        ("|- a < b where R is most accurate", "2:16", "no judgement with R stands alone on this line"),
        ("|- a R b or c in M where R is most accurate", "2:26", "no judgement with R stands alone"),
        ("|/- a R b where R is most accurate", "2:17", "no judgement with R stands alone"),
        ("|- a R b where R incompatible ?", "2:31", "`?` is compatible with every relation"),
        ("|- a < b where S incompatible <", "2:16", "the rule has no S but in this condition"),
        ("|- a !R b where R in <, ?", "2:6", "R may be `?`, which has no refutation"),
        ("|- a !R b where R in !<", "2:6", "R may be `!<`, which has no refutation"),
        ("|- a R b where R in ?, R incompatible <", "2:24", "R may be `?`, which is compatible with every"),
        ("e in M\nno e in M with |- a < e", "3:4", "e is also used outside its `no e in M with …`"),
        ("no e in M with |- f < e", "2:19", "f stands inside `no … in M with …` only"),
    ],
)  # fmt: skip
def test_faults_of_premises(text: str, place: str, message: str) -> None:
    said = fault(f"rule X:\n{text}\na in M\n---\n|- a ? a")
    assert said.startswith(f"x.rules:{place}: {message}"), said
    line, column = map(int, place.split(":"))
    assert said.split("\n")[2].index("^") == column + 1
    assert line > 1
    assert "Expected" in said or said.endswith("."), "it says what to do"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("---\n|/- a < b", "4:1", "a conclusion is a judgement that affirms"),
        ("---\na in M", "4:1", "a conclusion is a judgement that affirms"),
        ("---\n|- a < b or |- b < a", "4:13", "a conclusion stands alone on its line"),
        ("---\n|- a < b where R in <", "4:16", "a conclusion stands alone on its line"),
        ("---\n|- a < b\n---\n|- a < b", "5:1", "rule X has a second line of dashes"),
        ("---\n|- a ! b", "4:6", "`!` is no relation"),
        ("--- + a _ b\n|- a < b", "3:9", "`_` is never given"),
        ("--- a < b\n|- a < b", "3:10", "the line ends too early"),
        ("--- a || b := a < b\n|- a < b", "3:7", "only a `<>` is updated"),
        ("--- a <> b := a < c\n|- a < b", "3:15", "an update speaks of one pair of events"),
    ],
)
def test_faults_of_conclusions(text: str, place: str, message: str) -> None:
    said = fault(f"rule X:\n|- a < b\n{text}")
    assert said.startswith(f"x.rules:{place}: {message}"), said


def test_a_local_event_means_nothing_in_the_conclusion() -> None:
    said = fault("rule X:\na in M\nno e in M with |- a < e\n---\n|- a ? e")
    assert said.startswith("x.rules:5:8: the event e of the conclusion is unbound")
    assert said.endswith("outside of `no … in M with`.")


def test_a_rule_that_stands_for_too_much() -> None:
    lines = "a in M or b in M\n" * 40
    assert f"stands for more than {MOST_INSTANCES} instances" in fault(f"rule X:\n{lines}---\n|- a ? b")


# size


@pytest.mark.parametrize(
    "line",
    [
        "|- a " + "<" * 1_000_000,
        "rule " + "y" * 1_000_000,
        "|- a R b  where R in " + "<," * 500_000,
        "( " * 500_000,
    ],
    ids=["signs", "name", "relations", "parentheses"],
)
def test_a_long_bad_line_gives_one_short_error(line: str) -> None:
    begin = time.process_time()
    said = fault(f"rule X:\n{line}\n---\n|- a < b")
    assert time.process_time() - begin < 2
    assert len(said) < 600
    assert said.startswith("x.rules:2:1: the line has more than 10000 characters\n")


def test_a_long_comment_is_no_fault() -> None:
    begin = time.process_time()
    text = "rule X: #" + "#" * 1_000_000 + "\n a in M  # " + "( " * 500_000 + "\n---\n|- a ? a"
    assert [rule.name for rule in read_rule_text(text)] == ["X"]
    assert time.process_time() - begin < 2


def test_a_large_file_of_comments() -> None:
    comments = "# nothing to see here\n\n   #\n" * 80_000
    begin = time.process_time()
    rules = read_rule_text(comments + rule_named("X") + comments)
    assert time.process_time() - begin < 5
    assert len(comments) > 2_000_000
    assert [(rule.name, rule.line) for rule in rules] == [("X", 240_001)]


def test_many_rules_are_read_in_linear_time() -> None:
    book = parse_rules("".join(rule_named(f"X{k}") for k in range(1_000)))
    assert len(book.rules) == len(book.instances) == 1_000
    assert book.named("X999")[0].line == 3_997


# robustness

KEYWORDS = "in not no with where is most accurate incompatible given assume or and rule M"
SIGNS = "a b e R !S _ |-0 |- ||- |/- < > || <> ? !< ≬ , ( ) f( := + # …"
LINES = ("rule X:", "rule Y", "---", "--- + a R b", "--- a <> b := a < b", "\n", "\n", "\n", "\t", "\x0b")
WORDS = (*KEYWORDS.split(), *SIGNS.split(), *LINES)


def refusal(text: str) -> RuleError | None:
    try:
        parse_rules(text, "x.rules")
    except RuleError as error:
        return error
    return None


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join) | st.text(max_size=40))
@settings(max_examples=250, deadline=None)
def test_any_text_is_read_or_refused_in_its_own_words(text: str) -> None:
    for body in (text, f"rule A:\n{text}\n a in M\n---\n|- a ? a"):
        found = refusal(body)
        if found is not None:
            assert 1 <= (found.line or 0) <= body.count("\n") + body.count("\r") + 1
            internal = ("_NL", "TURNSTILE", "SIGN", "ANON", "WILDCARD")
            assert not any(name in str(found) for name in internal if name not in body)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_shipped_rule_file_with_a_part_cut_out(data: st.DataObject) -> None:
    text = (RULES / data.draw(st.sampled_from(["initial.rules", "online.rules"]))).read_text("utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = min(len(text), start + data.draw(st.integers(0, 60)))
    found = refusal(text[:start] + text[end:])
    assert found is None or str(found).startswith("x.rules:")
