"""The syntax of questions: the grammar, its nodes, errors with their place and what was expected there; and
their regular expressions, refused where they may run away.

Python's matcher goes back as often as a pattern lets it. What may be repeated within a repetition lets it try
exponentially many ways, and so it is refused when it is read, whatever the log; what is left takes at most a
power of the length of a text, whose exponent is how many repetitions follow one another, and one more. Of
those of any character there are at most `WIDE`. Nothing stops a match at run time: Python's matcher cannot be
stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from microcosm.errors import TextError
from microcosm.questions.language import Place
from microcosm.text.names import shown

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

    Node = Tree[Token]

_WORDS = {
    "NAME": "a name",
    "FIELD": '@"a field"',
    "STRING": "a quoted text",
    "NUMBER": "a number",
    "SIGN": "a relation (< > || <>)",
    "COMPARE": "a comparison (= != <= >= ~)",
    "ALL": "`every`",
    "SOME": "`some`",
    "FORALL": "`for all`",
    "EXISTS": "`exists`",
    "$END": "the end",
}
_UNSAID = {"RELATION", "COMMENT", "FIELD", "SEMICOLON", "__ANON_0"}


@cache
def grammar() -> Lark:
    from lark import Lark

    return Lark.open(
        "ask.lark",
        rel_to=__file__,
        start=["start", "find_tuples", "find_condition"],
        parser="lalr",
        lexer="contextual",
        maybe_placeholders=False,
        propagate_positions=True,
    )


class QuestionText:
    """A text of questions, as far as errors in it are concerned."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text, self.file = text, file
        self.lines = text.split("\n")

    # -- errors --------------------------------------------------------------------------------------------

    def _source(self, tree: Any) -> str:
        """The text of a statement, on one line."""
        said = self.text[tree.meta.start_pos : tree.meta.end_pos]
        return " ".join(
            line.split("#")[0].strip() if '"' not in line else line.strip() for line in said.split("\n")
        )

    def _fail(self, message: str, place: Place, hint: str | None = None) -> NoReturn:
        text = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        raise TextError(
            message, file=self.file, line=place.line, column=place.column, text=text, hint=hint
        ) from None

    def _explain(self, error: UnexpectedInput, start: str) -> NoReturn:
        """Raise the `TextError` that says what was expected where the grammar stopped."""
        from lark.exceptions import UnexpectedToken

        accepts: Callable[[], set[str]] = error.interactive_parser.accepts
        written = {terminal.name: str(terminal.pattern.value) for terminal in grammar().terminals}
        names = sorted(accepts() - _UNSAID, key=lambda name: (name == "$END", written.get(name, name)))
        wanted = [_WORDS.get(name) or f"`{written[name]}`" for name in names if name != "ALL"]
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        line, column = (len(self.lines), len(self.lines[-1]) + 1) if ended else (error.line, error.column)
        rest = self.lines[line - 1][column - 1 :].split(maxsplit=1)
        if rest and rest[0][0] in "\"'" and {"STRING"} & accepts():
            self._fail(f"expected the {rest[0][0]} that ends the quoted text", Place(line, column))
        but = f", not {shown(rest[0])}" if rest else ""
        self._fail(f"expected {' or '.join(wanted)}{but}", Place(line, column))


FORMULAS = ("implies", "either", "both", "no", "quantified", "comparison", "membership", "pattern", "bare")


def rule_of(tree: Any) -> str:
    """The rule that a node is of; nothing of a token."""
    return str(getattr(tree, "data", ""))


def trees(tree: Any, *rules: str) -> list[Any]:
    return [part for part in tree.children if rule_of(part) in rules]


def token_of(tree: Any) -> Token:
    """The first token of a node."""
    while rule_of(tree):
        tree = next((part for part in tree.children if not rule_of(part)), tree.children[0])
    token: Token = tree
    return token


def place_of(tree: Any) -> Place:
    return Place(tree.meta.line, tree.meta.column) if rule_of(tree) else place_at(tree)


def place_at(token: Any) -> Place:
    return Place(token.line, token.column)


def offset(error: UnexpectedInput) -> int:
    at = error.pos_in_stream
    return at if at is not None and at >= 0 else 1 << 60


def numeric(token: str) -> float:
    return float(token) if any(sign in token for sign in ".eE") else int(token)


def unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(f"\\{quote}", quote).replace("\\\\", "\\")


WIDE = 4
"""So many repetitions of what nearly any character fits may stand in one pattern."""

_GROUP = re.compile(r"\\.|\(\?<(?=[^\W\d])", re.DOTALL)


def read_regex(text: str) -> re.Pattern[str]:
    """The pattern that a text says. Raises `ValueError`, whose message says why not and, if known, where.

    >>> read_regex(r"write (?<key>\\w+)").search("write x=1")["key"]
    'x'
    >>> read_regex("(a+)+$")
    Traceback (most recent call last):
    ValueError: a repetition within a repetition may run away: write `a+` for `(a+)+`
    """
    spelled = _GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], text)
    try:
        parsed = import_module("re._parser").parse(spelled)
        compiled = re.compile(spelled)
    except (re.error, RecursionError, OverflowError) as error:
        message = getattr(error, "msg", "too deep or too large")
        raise ValueError(f"the regular expression does not compile: {message}") from None
    _expect_tame(list(parsed))
    return compiled


def _expect_tame(parsed: list[Any]) -> None:
    wide = 0
    for name, argument, repeats in _nodes(parsed):
        if repeats > 1:
            raise ValueError("a repetition within a repetition may run away: write `a+` for `(a+)+`")
        if name == "BRANCH" and repeats:
            raise ValueError(
                "alternatives within a repetition may run away: write `[ab]*` for `(a|b)*`, or atomic `(?>…)`"
            )
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            wide += argument[1] > 64 and _is_wide(list(argument[2]))
    if wide > WIDE:
        raise ValueError(f"{wide} repetitions of any character may run away: at most {WIDE} are allowed")


def _nodes(parsed: list[Any]) -> Iterator[tuple[str, Any, int]]:
    """Each node, and how many repetitions without a limit it stands in, itself included."""
    stack = [(node, 0) for node in parsed]
    while stack:
        (code, argument), repeats = stack.pop()
        name = str(code)
        inner: list[Any] = []
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            repeats += argument[1] > 1
            inner = list(argument[2])
        elif name in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP"):
            inner, repeats = list(argument[2] if name == "POSSESSIVE_REPEAT" else argument), 0
        elif name == "SUBPATTERN":
            inner = list(argument[3])
        elif name == "BRANCH":
            inner = [node for branch in argument[1] for node in branch]
        elif name in ("ASSERT", "ASSERT_NOT"):
            inner = list(argument[1])
        elif name == "GROUPREF_EXISTS":
            inner = [*argument[1], *(argument[2] or ())]
        yield name, argument, repeats
        stack += [(node, repeats) for node in inner]


def _is_wide(inner: list[Any]) -> bool:
    for code, argument in inner:
        if str(code) in ("ANY", "NOT_LITERAL"):
            return True
        if str(code) == "IN" and any(str(part[0]) == "NEGATE" or "NOT" in str(part[1]) for part in argument):
            return True
    return False
