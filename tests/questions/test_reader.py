"""The language: what abbreviates what, what is refused, and where."""

from __future__ import annotations

import re
import signal
import time
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.errors import TextError
from microcosm.queries.events import read_regex
from microcosm.questions.language import Quantified
from microcosm.questions.reader import read_questions, read_sought

PATTERNS = 'event a(k) where label ~ "(?<k>.)"; event b; state s(k) on k from label = "x" until label = "y"; '

SAME = [
    ("never a(k) || a(k)", "assert for all x: a(k), y: a(k): x = y or not x || y"),
    ("never a(k) < b", "assert for all x: a(k), y: b: x = y or not x < y"),
    ("every a(k) after some b", "assert for all x: a(k): exists y: b: y < x"),
    ("every a(k) before b", "assert for all x: a(k), y: b: x = y or x < y"),
    ("never b", "assert for all x: b: not x = x"),
    ("never a(k) !< b", "assert for all x: a(k), y: b: x = y or x < y"),
    ("never a(k) > b where k != 1", "assert for all x: a(k), y: b where k != 1: x = y or not y < x"),
]

LOG = "\n".join(
    f'{{"process": "{process}", "seq": {seq}, "label": "{label}"}}'
    for process, seq, label in [("p", 1, "1"), ("p", 2, "2"), ("q", 1, "1"), ("q", 2, "x")]
)


@pytest.mark.parametrize(("short", "long"), SAME)
def test_what_abbreviates_what(short: str, long: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(LOG)
    log = Microcosm.from_trace(tmp_path / "log.jsonl")
    one, other = (log.assert_(PATTERNS + text)[0] for text in (short, long))  # noqa: PT009
    assert one.verdict == other.verdict


def test_comments_lines_and_semicolons_mean_nothing() -> None:
    text = 'event a where label = "#x;" # a comment; never\n;;never\na\n||\na ; never a'
    read = read_questions(text)
    assert [question.text for question in read.questions] == ["never a || a", "never a"]
    assert [question.place.line for question in read.questions] == [2, 5]


def test_what_stands_in_a_question_is_one_pattern_only_where_it_is_the_same() -> None:
    """Whatever quotes, signs of comments and line ends are in its texts, and however these are written."""
    texts = [
        "a",
        "a#1",
        "a#2",
        "a # 'b",
        'a"',
        "a'",
        "a ",
        "a\n",
        "a\n ",
        "a\\ ",
        "a\\\n",
        "a\u2424",
        "\\n",
        "\n\n",
    ]
    for quote in "\"'":
        written = [
            quote + text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\\n") + quote
            for text in texts
        ]
        for (one, first), (other, second) in combinations(zip(texts, written, strict=True), 2):
            read = read_questions(f"never [label # it's \"{quote}\n = {first}] < [label\n = {second}]")
            values = [pattern.condition.right.value for pattern in read.patterns.values()]  # type: ignore[union-attr]
            assert values == [one, other]
            assert "\n" not in read.questions[0].text
            assert "label = " in read.questions[0].text


def test_strings_keep_what_regular_expressions_need() -> None:
    read = read_questions(r"""event a where label ~ 'it\'s \d' and x = "a\"b"; never a""")
    condition = read.patterns["a"].condition  # type: ignore[union-attr]
    assert condition.parts[0].pattern.pattern == r"it's \d"  # type: ignore[union-attr]
    assert condition.parts[1].right.value == 'a"b'  # type: ignore[union-attr]


def test_find_takes_patterns_pairs_and_conditions() -> None:
    for text in ('label ~ "x"', "a(k)", "a(k) || a(k)", "every a(k) after some b", "[label] < b"):
        (question,) = read_sought(PATTERNS + text).questions
        assert isinstance(question.formula, Quantified)
    with pytest.raises(TextError, match=r"defines something|expected"):
        read_sought("event a where x")


@pytest.mark.parametrize(
    "text",
    [
        *("(a+)+$", "(a*)*", "(a|aa)+$", "(.*a){20}", "(a|b|ab)*c", ".*.*.*.*.*x", "(x+x+)+y"),
        *("(a?){22}a{22}", r"\w*" * 10, r"\w{0,50}" * 10, "a?" * 22 + "a" * 22, "(a?a)*b", r"(a(\d*)?)*b"),
    ],
)
def test_what_may_run_away_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="run away"):
        read_regex(text)


@pytest.mark.parametrize(
    "text",
    [
        *(r"(\w+) did (\w+)", "a{3}b{2,4}", "(?:ab)+c", "x|y", r"^\[.*\] (?P<k>\S+)$", "(?>a+)+b"),
        *(r"\d+:\d+:\d+\.\d+ \w+ \w+=\w+ .*", r"(\d{1,3}\.){3}\d{1,3}", r"(\w+=\w+;)+", "(ab?)*c"),
    ],
)
def test_what_is_tame_is_taken_and_fast(text: str) -> None:
    begin = time.monotonic()
    re.compile(read_regex(text)).search("a" * 2000 + "b")
    assert time.monotonic() - begin < 1


PIECES = (
    "a",
    "b",
    " ",
    r"\w",
    ".",
    "[ab]",
    "[^a]",
    r"\d",
    "(?:)",
    r"\b",
    "(",
    "(?:",
    ")",
    ")*",
    ")+",
    ")?",
    "*",
    "+",
    "?",
)


@given(st.lists(st.sampled_from((*PIECES, "{2,5}", "{3}", "{0,20}", "|")), max_size=16).map("".join))
@example(r"(?:[ab](?:1{0,20})??)*?\d")
def test_what_is_taken_does_not_run_away(text: str) -> None:
    try:
        search = read_regex(text).search
    except ValueError:
        return
    for repeated in ("a", "b", "ab", "a ", "1", "aab", "a1"):
        begun = time.process_time()
        signal.alarm(20)  # it would go on for years
        search((repeated * 40)[:40] + "!")
        signal.alarm(0)
        assert time.process_time() - begun < 5


WRONG = [
    ("assert for all x: a(k): y < x", "1:", "no variable is called y"),
    ("assert for all x: a(k), x: b: x = x", "1:", "is bound already"),
    ("assert for all x: a(k): x < 3", "1:", "x is an event"),
    ("assert for all x: s(k): x < x", "1:", "events are related by"),
    ("never a(k) || a(k, k)", "1:", "has 1 parameters (k), not 2"),
    ("never a(k) || b where a || b", "1:", "`where` compares values"),
    ("event c where exists x: a: x < x; never c", "1:", "has no `for all`"),
    ("possibly a and s(k)", "1:", "states are seen at once"),
    ("know s(k) < b; never b", "1:", "events are known"),
    ("never aa(k)", "1:", "nothing above defines aa"),
    ("never message", "1:", "[message] is an event that has such a field"),
    ("state t on z from x until y", "1:", "z is no parameter of t"),
    (f"never [k = {'1' * 5000}]", "1:", "too many digits"),
    ("never a(1e400)", "1:", "too large"),
    ("event c(k, k) where k; never c", "1:", "is there twice"),
    ("""event c where "p:1" < 'q:1'; never c""", "1:", 'the event of that name is [name = "p:1"]'),
]


@pytest.mark.parametrize(("text", "place", "message"), WRONG)
def test_what_is_wrong_is_said_at_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(TextError) as wrong:
        read_questions(PATTERNS + text, "f.ask")
    assert message in str(wrong.value)
    assert wrong.value.line == 1
    assert (wrong.value.column or 0) > len(PATTERNS)
