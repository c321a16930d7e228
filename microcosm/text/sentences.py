"""What is said in a session, one line of it: a question, a statement or a command, as data.

The first word tells which. An event and a relation make a question where `?` ends the line or is the
relation, and else a statement, as in a microcosm file; any other first word is a command, which may be cut
short where no other begins so. What follows the command's word is read by the rule of `sentences.lark` under
its name: a new command is a rule there, and an entry in the table of whoever carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from microcosm.errors import TextError
from microcosm.text.names import KEYWORDS, NAME
from microcosm.text.statement import STRING, shown, unfit, unquote

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput

ASK = "ask"
"""The command that a line without a command's word stands for when it asks,"""
ADD = "add"
"""and when it states."""

STATEMENT_WORDS = KEYWORDS - {"internal", "from", "interior", "unticked"}
"""The words that begin a statement of a file, and are no commands themselves."""

_WORDS_OF_ONE = r"/(?:[^/\\]|\\.)+/(?![^\s<>|?≺≻→∥≬≮!])"
"""A regular expression by which an event is meant."""

_START = re.compile(rf"\s*(?P<event>{STRING}|{_WORDS_OF_ONE}|{NAME})\s*(?P<sign>!?(?:<>|\|\||<|>)|[?≺≻→∥≬≮])")
_QUOTED = re.compile(r'\s*"(?:[^"\\]|\\.)*+(?P<end>"?)\s*')
_WORD = re.compile(r"\s*(?P<word>[A-Za-z][\w-]*)")

_WORDS = {
    "EVENT": "an event",
    "FIELD": "what events have (process=alice)",
    "SIGN": "a relation (<, >, ||, <>, ?)",
    "FILE": "the name of a file",
    "WORD": "a command",
    "NUMBER": "a number",
    "STATEMENT": "a statement such as `a < b`",
    "$END": "the end of the line",
}


@dataclass(frozen=True, slots=True)
class SentencePart:
    """A piece of a line: its kind (a terminal of the grammar), its text without quotes, its column."""

    kind: str
    text: str
    column: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A command and what was said with it, e.g. `why` of an event, a relation and an event."""

    command: str
    parts: tuple[SentencePart, ...]

    def of(self, kind: str) -> list[SentencePart]:
        """The parts of one kind, in order."""
        return [part for part in self.parts if part.kind == kind]

    def has(self, kind: str) -> bool:
        """Whether there is a part of this kind."""
        return bool(self.of(kind))


def read_sentence(line: str, commands: Sequence[str]) -> Sentence | None:
    """The sentence on `line`, None for a blank line or a comment.

    `commands` are rules of `sentences.lark`. Raises `TextError`: its message says what was
    expected, its column where. Cost: linear in the line.

    >>> found = read_sentence("why not a < b", ["ask", "why"])
    >>> found.command, [part.text for part in found.parts]
    ('why', ['not', 'a', '<', 'b'])
    >>> found.parts[1]
    SentencePart(kind='EVENT', text='a', column=9, quoted=False)
    """
    _printable(line)
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    if (start := _START.match(line)) is not None:
        if start["sign"] == "?" or line.rstrip().endswith("?"):
            return _parsed(ASK, line, line, commands)
        return _stated(line, len(line) - len(line.lstrip()) + 1)
    if (quoted := _QUOTED.match(line)) is not None:
        what = "a relation (<, >, ||, <>, ?)" if quoted["end"] else 'the `"` that ends the quoted text'
        raise _expected(what, line, quoted.end() + 1)
    if (word := _WORD.match(line)) is None:
        column = len(line) - len(line.lstrip()) + 1
        raise _expected("a question such as `a < b?`, a statement or a command", line, column)
    if word["word"] in STATEMENT_WORDS and word["word"] not in commands:
        return _stated(line, word.start("word") + 1)
    command = _command(word["word"], line, word.start("word") + 1, commands)
    blank = " " * word.end()  # so that columns stay what they are
    return _parsed(command, blank + line[word.end() :], line, commands)


def complete_command(word: str, commands: Sequence[str]) -> list[str]:
    """The commands that `word` may stand for: itself, or all that begin so.

    >>> complete_command("u", ["undo", "update", "why"]), complete_command("w", ["undo", "why"])
    (['undo', 'update'], ['why'])
    """
    if word in commands:
        return [word]
    return sorted(command for command in commands if command != ASK and command.startswith(word))


def expected_after(text: str, commands: Sequence[str]) -> set[str] | None:
    """What may follow the beginning of a line: words as they are written, and terminals such as `EVENT`.

    None where the first word is still to come; nothing after what cannot be read.

    >>> sorted(expected_after("why ", ["ask", "why"])), expected_after("", ["ask"])
    (['EVENT', 'not'], None)
    """
    from lark.exceptions import LarkError

    if not text.strip():
        return None
    if _START.match(text):
        return {"STATEMENT"}
    if (word := _WORD.match(text)) is None or len(found := complete_command(word["word"], commands)) != 1:
        return set()
    grammar = _grammar(tuple(commands))
    written = {terminal.name: str(terminal.pattern.value) for terminal in grammar.terminals}
    accepts: Callable[[], set[str]] = grammar.parse_interactive("", start=found[0]).accepts
    if "STATEMENT" in accepts():
        return {"STATEMENT"}
    try:
        parser = grammar.parse_interactive(" " * word.end() + text[word.end() :], start=found[0])
        parser.exhaust_lexer()
    except LarkError:
        return set()
    then: Callable[[], set[str]] = parser.accepts
    return {name if name in _WORDS else written.get(name, name) for name in then()}


def _command(word: str, line: str, column: int, commands: Sequence[str]) -> str:
    found = complete_command(word.lower(), commands)
    if len(found) == 1:
        return found[0]
    if found:
        meant = " or ".join(found)
        raise TextError(f"{shown(word)} is ambiguous: {meant}", column=column, text=line)
    near = get_close_matches(word.lower(), [command for command in commands if command != ASK], 1)
    hint = f"; did you mean {near[0]}?" if near else "; `help` lists them"
    raise TextError(
        f"expected a question such as `a < b?`, a statement or a command, not {shown(word)}{hint}",
        column=column,
        text=line,
    )


def _stated(line: str, column: int) -> Sentence:
    return Sentence(ADD, (SentencePart("STATEMENT", line, column),))


@cache
def _grammar(commands: tuple[str, ...]) -> Lark:
    from lark import Lark

    return Lark.open(
        "sentences.lark",
        rel_to=__file__,
        start=list(commands),
        parser="lalr",
        lexer="contextual",
        maybe_placeholders=False,
    )


def _parsed(command: str, text: str, line: str, commands: Sequence[str]) -> Sentence:
    from lark import Token
    from lark.exceptions import UnexpectedInput

    try:
        tree = _grammar(tuple(commands)).parse(text, start=command)
    except UnexpectedInput as error:
        _explain(command, line, error, _grammar(tuple(commands)))
    tokens = [child for child in tree.children if isinstance(child, Token)]
    return Sentence(command, tuple(_part(token, line) for token in tokens))


def _part(token: Token, line: str) -> SentencePart:
    kind, column = token.type, token.column or 1
    if kind == "STATEMENT":  # it reads its own quotes, and its columns are those of the line
        return SentencePart(kind, " " * (column - 1) + str(token), column)
    begin = token.index("=") + 1 if kind == "FIELD" else 0
    written = token[begin:]
    if not (len(written) > 1 and written[0] == written[-1] == '"'):
        return SentencePart(kind, str(token), column)
    try:
        text = unquote(written)
    except ValueError:
        raise _expected("the escapes of JSON in quoted text", line, column + begin) from None
    if not begin and (fault := unfit(text)):
        raise TextError(fault, column=column, text=line)
    return SentencePart(kind, token[:begin] + text, column, quoted=True)


def _explain(command: str, line: str, error: UnexpectedInput, grammar: Lark) -> NoReturn:
    """Raise the `TextError` that says what was expected where the grammar stopped."""
    from lark.exceptions import UnexpectedToken

    accepts: Callable[[], set[str]] = error.interactive_parser.accepts
    accepted = accepts()
    written = {terminal.name: terminal.pattern.value for terminal in grammar.terminals}
    wanted = [_WORDS.get(name) or f"`{written[name]}`" for name in sorted({*accepted} - {"$END"})]
    wanted += [_WORDS["$END"]] if "$END" in accepted else []
    column = error.column
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        column = len(line.rstrip()) + 2
    if column <= len(line) and line[column - 1] == '"' and accepted & {"EVENT", "FILE"}:
        raise _expected('the `"` that ends the quoted text', line, len(line) + 1)
    raise _expected(" or ".join(wanted), line, column)


def _expected(what: str, line: str, column: int) -> TextError:
    found = line[column - 1 :].split(maxsplit=1)
    but = f", not {shown(found[0])}" if found else ""
    return TextError(f"expected {what}{but}", column=column, text=line)


def _printable(line: str) -> None:
    """Refuse control characters: they come from a paste that went wrong, and would obey nobody."""
    for column, character in enumerate(line, 1):
        if (character < " " and character != "\t") or "\x7f" <= character < "\xa0":
            message = f"expected text, not the control character U+{ord(character):04X}"
            raise TextError(message, column=column, text=line)
        if "\ud800" <= character <= "\udfff":
            raise TextError("expected text in UTF-8", column=column, text=line)
