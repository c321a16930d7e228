"""Microcosm files that are refused: where the fault is, and what to do."""

from __future__ import annotations

import pytest

from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import read_givens
from microcosm.text.names import KEYWORDS
from microcosm.text.short_cut import short_cut
from microcosm.text.statement_reader import by_words


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        ("a < a", 1, 5, "no relation to itself: 'a'", "two different events"),
        ("a < b\nc || c", 2, 6, "no relation to itself: 'c'", None),
        ("a < b < b", 1, 9, "no relation to itself: 'b'", None),
        ('x !< "x"', 1, 6, "no relation to itself", None),
        ("internal a < b < a", 1, 18, "'a' stands twice in the internal chain", None),
        ("internal a\n\ninternal b < a", 3, 14, "'a' is in the internal chain already", "continues"),
        ("internal a < b || c", 1, 19, "joined by `<`, not by `||`", "in order"),
        ("internal", 1, 9, "ends too early: expected a name", None),
        ("clock a = p {}\nclock a = p {p: 1}", 2, 7, "the clock of 'a' is stated twice", "one of the two"),
        ("stamp a = 1\nstamp a = [1, 2]", 2, 7, "the stamp of 'a' is stated twice", None),
        ("token t = a\ntoken t = b", 2, 7, "the token 't' is stated twice", None),
        ("token t = t, a, a", 1, 17, "'a' stands twice under the token 't'", None),
        ("token t = t, a, t", 1, 17, "'t' stands twice under the token 't'", None),
        ("name a\nname b", 2, 6, "the name of the microcosm is stated twice", None),
        ("clock e = p {p: -1}", 1, 17, "a clock counts events, from 0 on", None),
        ("clock e = p {p: 1.5}", 1, 17, "a clock counts events, from 0 on", None),
        ("clock e = p {p: x}", 1, 17, "expected a number, not 'x'", None),
        ("clock e = p {p: 1, q: 2, p: 3}", 1, 26, "the entry of the clock for 'p' is stated twice", None),
        ("clock e = p {a:b: 1, a:b: 1}", 1, 22, "the entry of the clock for 'a:b' is stated twice", None),
        ("clock e = p {p 1}", 1, 14, "expected a process", None),
        ("clock e = p {p: 1", 1, 18, "ends too early: expected `,` or `}`", None),
        ("clock e = p {send: 1}", 1, 14, "`send` is a keyword", '"send"'),
        ('clock e = p {"": 1}', 1, 14, "cannot be empty", None),
        ("clock e = p {p: 1} untickd", 1, 20, "unexpected 'untickd' after the statement", None),
        ("stamp e = 5.0", 1, 11, "a Lamport time is an integer", "[5.0, 5.0]"),
        ("stamp e = [3, 1]", 1, 12, "the interval ends ('1') before it begins ('3')", "[earliest, latest]"),
        ("stamp e = [1]", 1, 13, "expected `,`, not ']'", None),
        ("stamp e = [1e999, 2]", 1, 12, "too large", None),
        ("stamp e = [1e999, nan]", 1, 19, "expected a number, not 'nan'", None),
        ("stamp e = " + "9" * 5000, 1, 11, "too many digits", None),
        ("stamp e", 1, 8, "expected `=`", None),
        ('a < "b', 1, 5, "the quoted text does not end", 'Close it with "'),
        ('a < "b\\', 1, 5, "the quoted text does not end", None),
        ('"a\tb" < c', 1, 3, "a control character", r"\t"),
        (r'a < "b\q"', 1, 7, "not an escape", None),
        (r'a < "\ud800"', 1, 5, "surrogate", None),
        ('a < "" ', 1, 5, "cannot be empty", None),
        ("a <", 1, 4, "ends too early: expected a name", None),
        ("  a < # b", 1, 6, "ends too early: expected a name", None),
        ("a", 1, 2, "ends too early: expected a relation", "A statement is"),
        ("< b", 1, 1, "no statement begins with '<'", "A statement is"),
        ("foo bar", 1, 5, "no statement begins with it", "A statement is"),
        ("intenal a < b", 1, 9, "no statement begins with it", "Did you mean `internal`?"),
        ("a < b c", 1, 7, "unexpected 'c' after the statement", "One statement a line"),
        ("a < b,", 1, 6, "unexpected ',' after the statement", None),
        ("complete x y", 1, 12, "unexpected 'y' after the statement", None),
        ("a < send", 1, 5, "`send` is a keyword", '"send"'),
        ("from < b", 1, 1, "`from` is a keyword", '"from"'),
        ("a ? b", 1, 3, "`?` cannot be given", "verdict"),
        ("a !|| b", 1, 3, "`!||` cannot be given", "a <> b"),
        ("a !<> b", 1, 3, "`!<>` cannot be given", "a || b"),
        ("a | b", 1, 3, "no relation", "||"),
        ("a- < b", 1, 2, "no relation", "hyphen"),
        ("a < b from m7", 1, 12, "expected a text in double quotes", None),
        ("ordering casual", 1, 10, "unknown ordering 'casual'", "fifo-1-1, causal, fifo-n-1"),
        ("send e = m1", 1, 12, "ends too early", None),
        ("receive e = m p -> q", 1, 17, "unexpected '->' after the statement", None),
    ],
)  # fmt: skip
def test_errors_say_where_and_what_to_do(
    text: str, line: int, column: int, message: str, hint: str | None
) -> None:
    with pytest.raises(TextError) as caught:
        read_givens(text, "f.mc")
    error = caught.value
    assert message in error.message
    assert (error.file, error.line, error.column) == ("f.mc", line, column)
    assert error.text == text.split("\n")[line - 1]
    assert hint is None or hint in (error.hint or "")
    assert str(error).startswith(f"f.mc:{line}:{column}: ")


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
@pytest.mark.parametrize(
    "text", ["x < {}", "{} < x", "token t = a, {}", "clock x = {} {{}}", "clock x = p {{{}: 1}}"]
)
def test_a_keyword_is_a_name_only_in_quotes(text: str, keyword: str) -> None:
    with pytest.raises(TextError):
        read_givens(text.format(keyword))
    for name in (f'"{keyword}"', f"{keyword}1", f"1{keyword}", f"{keyword}-{keyword}"):
        assert read_givens(text.format(name)) != Givens()
        by_itself = by_words(text.format(name))
        assert short_cut(text.format(name)) == (None if text.startswith("token") else by_itself)
