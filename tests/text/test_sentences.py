"""The language of a session: what is read as what, and what is said of that which cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.cli.session.commands import COMMANDS
from microcosm.errors import TextError
from microcosm.text.names import quote
from microcosm.text.sentences import complete_command, expected_after, read_sentence
from tests.strategies import event_lists

WORDS = tuple(COMMANDS)


def read(line: str) -> list[str] | None:
    """The command of a line and the texts of its parts."""
    sentence = read_sentence(line, WORDS)
    return None if sentence is None else [sentence.command, *(part.text for part in sentence.parts)]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("a < b?", ["ask", "a", "<", "b", "?"]),
        ("a<b?", ["ask", "a", "<", "b", "?"]),
        ("a ? b", ["ask", "a", "?", "b"]),
        ("  a ∥ b ?  ", ["ask", "a", "∥", "b", "?"]),
        ('"log in" <> "b?" ?', ["ask", "log in", "<>", "b?", "?"]),
        ("why < past?", ["ask", "why", "<", "past", "?"]),
        ("why not a < b", ["why", "not", "a", "<", "b"]),
        ("why nothing < b?", ["why", "nothing", "<", "b", "?"]),
        ("past of of", ["past", "of"]),
        ("between and and and", ["between", "and", "and"]),
        ("bet a and b", ["between", "a", "b"]),
        ("WHY a < b", ["why", "a", "<", "b"]),
        ("concurrent", ["concurrent"]),
        ("concurrent with with", ["concurrent", "with"]),
        ("a < b", ["add", "a < b"]),
        ("add a < b", ["add", "    a < b"]),
        ("stamp e = 5", ["add", "stamp e = 5"]),
        ("internal a < b < c", ["internal", "a", "b", "c"]),
        ("save! my album.mc", ["save", "!", "my album.mc"]),
        ('load "my \\u0061lbum.mc"', ["load", "my album.mc"]),
        ("undo 12", ["undo", "12"]),
        ("# why", None),
        ("\t ", None),
    ],
)
def test_a_line_is_read_as_what_it_says(line: str, parts: list[str] | None) -> None:
    assert read(line) == parts


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("past of", 9, "expected an event"),
        ("past upload", 6, "expected `of`, not 'upload'"),
        ("why a", 7, "expected an event or a relation"),
        ("why a b <", 9, "expected `?` or the end of the line"),
        ("between a", 11, "expected `and`"),
        ("a < ?", 5, "expected an event, not '?'"),
        ("a < b < c?", 7, "expected `?` or the end of the line"),
        ("u", 1, "'u' is ambiguous: undo or unknown or update"),
        ("  udno", 3, "did you mean undo?"),
        ("undo more", 6, "expected a number or the end of the line"),
        ("load", 6, "expected the name of a file or `!`"),
        ('"log in', 8, 'expected the `"` that ends the quoted text'),
        ('why a < "log in', 16, 'expected the `"` that ends the quoted text'),
        ('"log in"', 9, "expected a relation"),
        ('"\\q" < b?', 1, "expected the escapes of JSON"),
        ('"\\ud800" < b?', 1, "half of a surrogate pair"),
        ('"" < b?', 1, "a name cannot be empty"),
        ("a < b\x1b[A?", 6, "the control character U+001B"),
        ("\x00", 1, "the control character U+0000"),
        ("a < b\x9b?", 6, "the control character U+009B"),
        ("a < \udcff?", 5, "expected text in UTF-8"),
        ("|- a < b", 1, "expected a question"),
        ("", None, ""),
    ],
)
def test_what_was_expected_is_said_where_it_was(line: str, column: int | None, expected: str) -> None:
    if column is None:
        assert read(line) is None
        return
    with pytest.raises(TextError) as caught:
        read(line)
    assert caught.value.column == column
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


@given(event_lists(2, 2, nasty=True), st.sampled_from(["<", ">", "||", "<>", "?"]))
def test_any_event_can_be_asked_for(events: list[str], sign: str) -> None:
    left, right = events
    asked = f"{quote(left)} {sign} {quote(right)}?"
    assert read(asked) == ["ask", left, sign, right, "?"]
    assert read(f"why not {asked}") == ["why", "not", left, sign, right, "?"]
    assert read(f"past of {quote(left)}") == ["past", left]


@given(st.text(max_size=40) | st.text(alphabet='ab <>|?"!#\\ofwhyundosave', max_size=40))
def test_no_line_does_worse_than_a_text_error(line: str) -> None:
    said, column = "", None
    try:
        read_sentence(line, WORDS)
    except TextError as error:
        said, column = error.message, error.column
    assert "\n" not in said
    assert column is None or 1 <= column <= len(line) + 2
    expected_after(line, WORDS)


def test_every_command_has_its_rule_and_its_examples_are_read() -> None:
    for name, command in COMMANDS.items():
        for example in command.examples:
            sentence = read_sentence(example, WORDS)
            assert sentence is not None
            assert sentence.command == name


def test_a_command_may_be_cut_short_as_long_as_it_is_the_only_one() -> None:
    for name in COMMANDS:
        for end in range(1, len(name)):
            word = name[:end]
            meant = [word] if word in WORDS else [n for n in WORDS if n != "ask" and n.startswith(word)]
            assert complete_command(word, WORDS) == sorted(meant)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("past ", {"of"}),
        ("past of ", {"EVENT"}),
        ("why ", {"not", "EVENT"}),
        ("why a ", {"SIGN", "EVENT"}),
        ("between a ", {"and"}),
        ("between a and ", {"EVENT"}),
        ("concurrent ", {"with", "$END"}),
        ("load ", {"FILE", "!"}),
        ("help ", {"WORD", "$END"}),
        ("a < ", {"STATEMENT"}),
        ("add ", {"STATEMENT"}),
        ("remove a < ", {"STATEMENT"}),
        ("frob ", set()),
        ("past of a b ", set()),
    ],
)
def test_what_may_follow_is_what_the_grammar_accepts(text: str, expected: set[str] | None) -> None:
    assert expected_after(text, WORDS) == expected
