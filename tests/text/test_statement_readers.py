"""The short cut says what reading word by word says, and runs of lines what each line says."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.text import statement as s
from microcosm.text.mc_reader import read_givens
from microcosm.text.names import KEYWORDS
from microcosm.text.short_cut import short_cut
from microcosm.text.statement import BadStatement
from microcosm.text.statement_reader import by_words

PIECES = (
    *"<>{}[]=,:#\"\\?!|-. \t", "->", "||", "<>", "!<", "≺", "≬", "a", "b", "c1", "p:1",
    "10", "-3", "1.5", "1e3", '"a b"', '"a"', '"\\u0061"', '"send"', '"', "''", "{p: 1}",
    "{p: 3, q: 1, p:1: 2}", "[1, 2.5]", "fifo-1-1", "causal", *sorted(KEYWORDS),
)  # fmt: skip

TEMPLATES = (
    "a < b",
    "a > b > c # why",
    'a < b from "m 7"',
    'a || b from "f.mc:12"',
    "a < b || c <> d !< e",
    "internal a < b < c",
    "internal a",
    "name x",
    "stamp a = 5",
    "stamp a = [1, 2.5]",
    "clock a = p {p: 3, q: 1}",
    "clock a = p {} unticked",
    "clock a = p {p: 1} in x",
    'clock a = p {p: 1} unticked in "run-1"',
    "clock a = p {p:1: 3}",
    "send a = m p -> q, r",
    "receive b = m q",
    "ordering causal interior",
    "complete",
    "token t = a, b, c",
)

words = st.lists(st.sampled_from(PIECES), max_size=12)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A statement, or one with some words exchanged, repeated or left out, spaced anyhow."""
    tokens = draw(st.one_of(words, st.sampled_from(TEMPLATES).map(str.split)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(tokens)))
        tokens[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(PIECES), max_size=1))
    return draw(st.sampled_from([" ", "", "  ", "\t "])).join(tokens)


def outcome(read: Callable[[], s.Statement | None]) -> object:
    """What a reader answers, provenances and all, or where it finds a fault."""
    try:
        return repr(read())
    except BadStatement as fault:
        return (fault.message, fault.hint, fault.column, fault.name, fault.nth)


@given(lines())
@example("clock a = p {p: 1, p: 2}")
@example("token t = a, b, a")
@example("a < b < b")
def test_the_short_cut_says_what_reading_word_by_word_says(line: str) -> None:
    found = outcome(lambda: short_cut(line, "here"))
    if found != repr(None):
        assert found == outcome(lambda: by_words(line, "here"))


@given(st.lists(st.sampled_from(TEMPLATES), max_size=4).map(" # ".join))
def test_the_short_cut_is_taken_by_what_is_right_and_common(line: str) -> None:
    said = by_words(line) if line else None
    common = isinstance(said, s.Correspondences | s.Clocked) or (
        isinstance(said, s.Messaged) and bool(said.message.receivers)
    )
    assert (short_cut(line) is not None) == common


@given(st.lists(st.one_of(st.sampled_from(TEMPLATES), lines()), max_size=6))
@example(["a < b", "c < d", "c < d"])
@example(["a < b", "c < from"])
@example(["a < b", "c < c"])
@example(['"a b" < c from "x"', 'd < e from ""', "d > e # d"])
def test_a_file_says_what_its_lines_say_one_by_one(text: list[str]) -> None:
    """Runs of lines are read at once: with the same facts, provenances and first fault."""
    facts: dict[tuple[str, str, str], Correspondence] = {}
    fault: tuple[int, str] | None = None
    text = ["# not JSON", *text]
    for number, line in enumerate(text, 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        try:
            statement = by_words(line, f"f:{number}")
        except BadStatement as found:
            fault = (number, found.message)
            break
        for fact in statement.facts if isinstance(statement, s.Correspondences) else ():
            facts.setdefault(fact.key(), fact)
    try:
        givens = read_givens("\n".join(text), "f")
    except TextError as error:
        found_at = (error.line or 0, error.message)
        assert found_at == fault or "twice" in error.message or "already" in error.message  # noqa: PT017
        return
    assert fault is None
    assert repr({**givens.external, **givens.refuted}) == repr(
        dict(sorted(facts.items(), key=lambda each: each[1].relation is Relation.NOT_BEFORE))
    )
